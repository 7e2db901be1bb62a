//! Launch of ranks by `mpirun`, `srun` or the like, from start to end.
//!
//! The first rank receives its job on standard input, as a line of JSON, and reports on standard
//! output, a line of JSON each. The format of the job is up to its sender and receiver. The
//! launcher is started without a shell, in a process group of its own, and is asked to end when
//! this process ends.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use treering_model::TrialEvent;
use treering_sys::{StopFlag, is_root, kill_group, leave_with_parent, memory_file, terminate};

/// Argument that tells the program that a plan has launched it.
const RANK_ARGUMENT: &str = "--rank-of-a-plan";
/// Launcher used if a plan names none.
pub const USUAL_LAUNCHER: &str = "mpirun";

/// Environment variables without which Open MPI starts nothing for root.
const OF_ROOT: [&str; 2] = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
/// Interval at which the stop flag is checked.
const STEP: Duration = Duration::from_millis(200);
/// Time allowed for the launcher to end, from the termination signal or the last report of the
/// first rank.
const LEAVING_MAX: Duration = Duration::from_secs(20);
/// Maximum length of a report line in bytes.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Maximum number of bytes kept of a launcher's output, and maximum number of lines shown of them.
const TAIL_BYTES: u64 = 16 << 10;
const LINES: usize = 8;

/// Report of the first rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankReport {
    /// Handshake completed: the number of ranks, and the MPI library in use.
    Met(usize, String),
    /// Event of the trial.
    Event(Box<TrialEvent>),
    /// The trial cannot take place.
    Refused(String),
    /// The trial is over.
    Done,
}

/// Reason why nothing can be launched.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The launcher is not in the search path, or its path does not exist.
    #[error("there is no launcher {name}")]
    NoLauncher {
        /// Name of the launcher.
        name: String,
    },
    /// The launcher cannot be started or listened to.
    #[error("cannot run {name}")]
    Start {
        /// Name of the launcher.
        name: String,
        /// System error.
        #[source]
        source: io::Error,
    },
}

/// Outcome of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchEnd {
    /// The first rank reported that everything is done.
    Done,
    /// Interrupted by a stop request; all ranks were ended.
    Interrupted,
    /// The first rank reported why the trial cannot take place.
    Refused {
        /// Reason given by the first rank.
        why: String,
    },
    /// The launch failed otherwise: a rank was killed, or the launcher started nothing.
    Broken {
        /// End of the launcher, and its last output.
        why: String,
    },
}

/// Launcher with its options, and the program it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    name: String,
    path: PathBuf,
    options: Vec<String>,
    program: PathBuf,
}

impl Launcher {
    /// Launcher from its command line ([`USUAL_LAUNCHER`] if empty), looked up in the search path,
    /// for this program.
    ///
    /// # Errors
    /// When there is no such program.
    pub fn find(words: &[String], program: PathBuf, search: &OsStr) -> Result<Self, LaunchError> {
        let (name, options) = match words.split_first() {
            Some((name, options)) => (name.clone(), options.to_vec()),
            None => (USUAL_LAUNCHER.to_owned(), Vec::new()),
        };
        let places: Vec<PathBuf> = if name.contains('/') {
            vec![PathBuf::from(&name)]
        } else {
            std::env::split_paths(search).map(|dir| dir.join(&name)).collect()
        };
        match places.into_iter().find(|path| path.is_file()) {
            Some(path) => Ok(Self { name, path, options, program }),
            None => Err(LaunchError::NoLauncher { name }),
        }
    }

    /// Command line that launches `ranks` ranks; the first word is the launcher as given.
    pub fn words(&self, ranks: u32) -> Vec<OsString> {
        let own = std::iter::once(&self.name).chain(&self.options).map(OsString::from);
        own.chain(["-n".into(), ranks.to_string().into()])
            .chain([self.program.clone().into_os_string(), RANK_ARGUMENT.into()])
            .collect()
    }

    fn start(
        &self,
        ranks: u32,
        job: &Value,
        environment: &[(String, String)],
    ) -> io::Result<RunningLauncher> {
        let mut line = serde_json::to_vec(job)?;
        line.push(b'\n');
        // A file: a pipe would wait for a launcher that does not read.
        let mut input = memory_file("job")?;
        input.write_all(&line)?;
        input.seek(SeekFrom::Start(0))?;
        let errors = memory_file("errors")?;
        let mut command = Command::new(&self.path);
        command.args(&self.words(ranks)[1..]).stdin(Stdio::from(input));
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::piped()).stderr(Stdio::from(errors.try_clone()?));
        if is_root() {
            // Open MPI asks whether root is meant, by name and again; who formats devices is.
            command.envs(OF_ROOT.map(|name| (name, "1")));
        }
        let mut child = leave_with_parent(&mut command).spawn()?;
        let output = child.stdout.take();
        Ok(RunningLauncher { child, errors, output: String::new(), lines: output.map(lines) })
    }

    /// Launches `ranks` ranks with these environment variables, passes the first its job, and
    /// forwards its reports except for the last one. All ranks have ended when this returns.
    ///
    /// # Errors
    /// When the launcher cannot be started, or by whoever takes the reports.
    pub fn run<E: From<LaunchError>>(
        &self,
        ranks: u32,
        (job, environment): (&Value, &[(String, String)]),
        stop: &StopFlag,
        take: &mut dyn FnMut(RankReport) -> Result<(), E>,
    ) -> Result<LaunchEnd, E> {
        let cannot = |source| LaunchError::Start { name: self.name.clone(), source };
        let mut launched = self.start(ranks, job, environment).map_err(cannot)?;
        let (mut last_word, mut is_stopped) = (None, false);
        let mut ends_at: Option<Instant> = None;
        loop {
            if stop.is_raised() && !is_stopped {
                is_stopped = true;
                terminate(&launched.child);
                ends_at = Some(Instant::now() + LEAVING_MAX);
            }
            match launched.hear() {
                LauncherOutput::Closed => break,
                LauncherOutput::Nothing => {}
                LauncherOutput::Report(report) => match *report {
                    last @ (RankReport::Done | RankReport::Refused(_)) => {
                        last_word.get_or_insert(last);
                        ends_at.get_or_insert(Instant::now() + LEAVING_MAX);
                    }
                    report => take(report)?,
                },
            }
            if ends_at.is_some_and(|at| Instant::now() > at) {
                break;
            }
        }
        let ended = launched.leave();
        Ok(match last_word {
            _ if is_stopped => LaunchEnd::Interrupted,
            Some(RankReport::Refused(why)) => LaunchEnd::Refused { why },
            Some(_) => LaunchEnd::Done,
            None => LaunchEnd::Broken { why: launched.why(&self.name, &ended) },
        })
    }
}

/// Running launcher; it is ended when this is dropped.
struct RunningLauncher {
    child: Child,
    /// Standard error of the launcher.
    errors: File,
    /// Standard output of the launcher, without reports.
    output: String,
    lines: Option<Receiver<Vec<u8>>>,
}

impl Drop for RunningLauncher {
    fn drop(&mut self) {
        if !self.has_ended() {
            terminate(&self.child);
        }
        let _how_does_not_matter = self.leave();
    }
}

enum LauncherOutput {
    Nothing,
    Report(Box<RankReport>),
    Closed,
}

impl RunningLauncher {
    /// Waits briefly for output of the launcher.
    fn hear(&mut self) -> LauncherOutput {
        let line = match self.lines.as_ref().map(|lines| lines.recv_timeout(STEP)) {
            Some(Ok(line)) => line,
            Some(Err(RecvTimeoutError::Timeout)) => {
                return if self.has_ended() {
                    LauncherOutput::Closed
                } else {
                    LauncherOutput::Nothing
                };
            }
            Some(Err(RecvTimeoutError::Disconnected)) | None => return LauncherOutput::Closed,
        };
        match serde_json::from_slice(&line) {
            Ok(report) => LauncherOutput::Report(Box::new(report)),
            Err(_) => {
                if (self.output.len() as u64) < TAIL_BYTES {
                    self.output += &String::from_utf8_lossy(&line);
                }
                LauncherOutput::Nothing
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Waits for the launcher's end, and kills it after a timeout; returns a description of its
    /// end.
    fn leave(&mut self) -> String {
        let began = Instant::now();
        while !self.has_ended() {
            if began.elapsed() > LEAVING_MAX {
                kill_group(&self.child);
                let _killed = self.child.wait();
            }
            thread::sleep(Duration::from_millis(5));
        }
        match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// Description of the launcher's end, with its last output.
    fn why(&mut self, name: &str, ended: &str) -> String {
        let output = format!("{}\n{}", self.output, tail(&mut self.errors));
        let is_said = |line: &&str| line.chars().any(char::is_alphanumeric);
        let lines: Vec<&str> = output.lines().map(str::trim).filter(is_said).collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join(" | ");
        let message = format!("{name} ended ({ended}) before the first rank was done");
        if last.is_empty() { message } else { format!("{message}; it said last: {last}") }
    }
}

/// Reads the lines of a pipe on a thread of its own.
fn lines(from: ChildStdout) -> Receiver<Vec<u8>> {
    let (to, lines) = sync_channel(64);
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            let read = (&mut from).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
            if !read.is_ok_and(|bytes| bytes > 0) || to.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// End of a file as text, without control characters.
fn tail(file: &mut File) -> String {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    let begin = SeekFrom::Start(length.saturating_sub(TAIL_BYTES));
    if file.seek(begin).and_then(|_| file.read_to_end(&mut bytes)).is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// True if the program was launched for a plan.
pub fn is_rank_of_plan(typed: &[OsString]) -> bool {
    matches!(typed, [_, argument] if argument == RANK_ARGUMENT)
}

/// Path of the MPI build of treering, beside this program or in this search path.
pub fn find_program(own: &Path, search: &OsStr) -> Option<PathBuf> {
    const NAME: &str = "treering-mpi";
    let beside = own.parent().map(Path::to_owned);
    let places = beside.into_iter().chain(std::env::split_paths(search));
    places.map(|dir| dir.join(NAME)).find(|path| path.is_absolute() && path.is_file())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use serde_json::json;
    use treering_model::{Ending, TrialEvent};
    use treering_sys::StopFlag;

    use super::{LaunchEnd, LaunchError, Launcher, RankReport};

    /// Launcher that is a shell script.
    fn scripted(dir: &Path, script: &str) -> Launcher {
        let path = dir.join("launch");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let words = [path.to_string_lossy().into_owned(), "--bind to".to_owned()];
        Launcher::find(&words, "/opt/treering-mpi".into(), OsStr::new("")).unwrap()
    }

    fn run(launcher: &Launcher, stop: &StopFlag) -> (LaunchEnd, Vec<RankReport>) {
        let mut reports = Vec::new();
        let mut take = |report| {
            reports.push(report);
            Ok::<(), LaunchError>(())
        };
        let end = launcher.run(3, (&json!({"a": 1}), &[]), stop, &mut take).unwrap();
        (end, reports)
    }

    #[test]
    fn rank_0_gets_its_job_and_its_output_is_read_to_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let event = TrialEvent::Ended { ending: Ending::Completed, at_ns: 7 };
        let event = RankReport::Event(Box::new(event));
        let lines =
            [event.clone(), RankReport::Done].map(|report| serde_json::to_string(&report).unwrap());
        let launcher = scripted(
            dir.path(),
            &format!(
                "read job; test \"$job\" = '{{\"a\":1}}' || exit 9\n\
                 test \"$*\" = '--bind to -n 3 /opt/treering-mpi --rank-of-a-plan' || exit 8\n\
                 echo 'a word of the launcher'; echo '{}'; echo '{}'",
                lines[0], lines[1]
            ),
        );
        assert_eq!(run(&launcher, &StopFlag::new()), (LaunchEnd::Done, vec![event]));
    }

    #[test]
    fn a_failed_launcher_is_reported_with_its_output() {
        let dir = tempfile::tempdir().unwrap();
        let launcher = scripted(dir.path(), "echo '-----'; echo 'no slots' >&2; exit 7");
        let (LaunchEnd::Broken { why }, _) = run(&launcher, &StopFlag::new()) else {
            panic!("it has not launched anything")
        };
        assert!(why.contains("exit status: 7") && why.ends_with("it said last: no slots"), "{why}");
        let refusal = serde_json::to_string(&RankReport::Refused("no".to_owned())).unwrap();
        let launcher = scripted(dir.path(), &format!("echo '{refusal}'; exit 1"));
        let refused = LaunchEnd::Refused { why: "no".to_owned() };
        assert_eq!(run(&launcher, &StopFlag::new()).0, refused);
        let missing = Launcher::find(&[], "/p".into(), dir.path().as_os_str());
        assert_eq!(missing.unwrap_err().to_string(), "there is no launcher mpirun");
    }
}
