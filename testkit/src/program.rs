//! The program as users run it, with a home of its own: no test touches the user's results.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::running::RunningProgram;
use crate::temp_dir;

/// Environment variables that affect a run.
const DECIDING: [&str; 7] = [
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "NO_COLOR",
    "CLICOLOR_FORCE",
    "TERM",
    "COLUMNS",
    "RUST_BACKTRACE",
];

/// Signals that a harness may have us ignore: SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM. What is
/// started inherits that, and would not hear of those that a test sends.
const INHERITED: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 12 | 1 << 14;

/// A program as a shell starts it: whatever we ignore, it does not.
fn with_default_signals(program: &Path) -> Command {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // The runtime of our own ignores SIGPIPE, and Command gives the default back to children.
    if ignored & INHERITED & !(1 << 12) == 0 {
        return Command::new(program);
    }
    // By its place: tests may hide all programs from the one that they start.
    let mut command = Command::new("/usr/bin/env");
    command.arg("--default-signal").arg(program);
    command
}

/// The program with a home and a data directory that go away with it.
#[derive(Debug)]
pub struct Program {
    binary: PathBuf,
    home: TempDir,
    data: PathBuf,
}

impl Program {
    /// Of this binary: `env!("CARGO_BIN_EXE_treering")`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let home = temp_dir();
        let data = home.path().join("data");
        Self { binary: binary.into(), home, data }
    }

    /// The same with results and data sets elsewhere.
    pub fn with_data(self, data: impl Into<PathBuf>) -> Self {
        Self { data: data.into(), ..self }
    }

    /// A copy of the program in another place.
    ///
    /// Made by a process of its own: a file that is open for writing in this one while another test
    /// starts a program could not be executed ('Text file busy').
    pub fn copy_to(&self, place: &Path) {
        FinishedCommand::run(Command::new("cp").arg(&self.binary).arg(place)).ends_with(0);
    }

    /// The home directory, in which commands are started.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// A command, to be changed further.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = with_default_signals(&self.binary);
        self.prepare(&mut command).args(arguments);
        self.make_place(&command);
        command
    }

    /// Makes the directory that a native run is to work in, as a user does before.
    fn make_place(&self, command: &Command) {
        if command.get_args().any(|word| word == "--dry-run") {
            return;
        }
        let mut words = command.get_args().skip_while(|word| *word != "run");
        if let Some(dir) = words.find(|word| *word == "--dir").and_then(|_| words.next()) {
            // Tests name places that cannot be made, too.
            let _cannot_be_made = std::fs::create_dir_all(self.home().join(dir));
        }
    }

    /// Gives another command this program's home, as when it is started through a link or by
    /// another program.
    pub fn prepare<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        for name in DECIDING {
            command.env_remove(name);
        }
        command
            .env("HOME", self.home())
            .env("TREERING_DATA", &self.data)
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.home())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
    }

    /// Runs it to its end.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> FinishedCommand {
        FinishedCommand::run(&mut self.command(arguments))
    }

    /// Starts it, to be watched and stopped.
    pub fn start<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> RunningProgram {
        RunningProgram::start(&mut self.command(arguments))
    }
}

/// Exit code and output of a finished command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedCommand {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl FinishedCommand {
    /// Runs a command to its end.
    pub fn run(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("the program prints text");
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Fails the test unless it ended with this code.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Fails the test unless standard error has this text.
    #[track_caller]
    pub fn complains(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "not said: {text}\n{self}");
        self
    }
}

impl std::fmt::Display for FinishedCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr } = self;
        write!(f, "exit code {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n---")
    }
}
