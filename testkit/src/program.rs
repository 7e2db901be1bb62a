//! The program as users run it, with its own home directory: no test touches the user's results.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;
use tempfile::TempDir;

use crate::running::RunningProgram;
use crate::temp_dir;

/// Environment variables that would affect a run, removed for every command.
const REMOVED_VARIABLES: [&str; 7] = [
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "NO_COLOR",
    "CLICOLOR_FORCE",
    "TERM",
    "COLUMNS",
    "RUST_BACKTRACE",
];

/// Signals that a test harness may ignore. A started program inherits this, and would ignore those
/// that a test sends.
const IGNORABLE_SIGNALS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Gives programs that are started from now on the default signal actions, as a shell does: they
/// inherit an ignored signal, but not a handler. The handlers end this process, as the defaults do.
fn restore_default_signals() {
    static RESTORED: Once = Once::new();
    RESTORED.call_once(|| {
        for signal in IGNORABLE_SIGNALS {
            let always = Arc::new(AtomicBool::new(true));
            register_conditional_shutdown(signal, 128 + signal, always).expect("a known signal");
        }
    });
}

/// The program, with a home and a data directory that are removed when this is dropped.
#[derive(Debug)]
pub struct Program {
    binary: PathBuf,
    home: TempDir,
    data: PathBuf,
}

impl Program {
    /// Creates a home for this binary: `env!("CARGO_BIN_EXE_treering")`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        restore_default_signals();
        let home = temp_dir();
        let data = home.path().join("data");
        Self { binary: binary.into(), home, data }
    }

    /// Uses another directory for results and data sets.
    pub fn with_data(self, data: impl Into<PathBuf>) -> Self {
        Self { data: data.into(), ..self }
    }

    /// Copies the program to another path.
    ///
    /// A process of its own makes the copy: a file that this process has open for writing while
    /// another test starts a program could not be executed ('Text file busy').
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

    /// Command with these arguments, which the caller may change further.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(&self.binary);
        self.prepare(&mut command).args(arguments);
        self.create_run_directory(&command);
        command
    }

    /// Creates the directory of a native run, as a user does beforehand.
    fn create_run_directory(&self, command: &Command) {
        if command.get_args().any(|word| word == "--dry-run") {
            return;
        }
        let mut words = command.get_args().skip_while(|word| *word != "run");
        if let Some(dir) = words.find(|word| *word == "--dir").and_then(|_| words.next()) {
            // Some tests name directories that cannot be created.
            let _cannot_be_made = std::fs::create_dir_all(self.home().join(dir));
        }
    }

    /// Gives another command this program's home, for starting the program through a link or
    /// another program.
    pub fn prepare<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        for name in REMOVED_VARIABLES {
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

    /// Runs the program with these arguments until it ends.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> FinishedCommand {
        FinishedCommand::run(&mut self.command(arguments))
    }

    /// Starts the program with these arguments, and leaves it running.
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
    /// Runs a command until it ends.
    pub fn run(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("the program prints text");
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Fails the test unless the command ended with this code.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Fails the test unless standard error contains this text.
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
