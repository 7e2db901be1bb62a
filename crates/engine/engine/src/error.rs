//! Errors of a run, with path, call and the system's own message.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use treering_model::SinkError;
use treering_script::SessionError;
use treering_sys::{Errno, open_files};

use crate::{CallFailure, RankError};

/// Reason why a run ended early. Everything done until then has been passed to the sink.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A call failed in a way that its script did not expect.
    #[error("{failure}")]
    Call {
        /// Kind and subject of the task that made the call.
        task: String,
        /// Failed call.
        #[source]
        failure: Box<CallFailure>,
    },
    /// A signal requested the end of the run.
    #[error("interrupted by signal {signal}")]
    Interrupted {
        /// Signal number.
        signal: i32,
    },
    /// The stop flag was halted, not by a signal and not by a worker of this run.
    #[error("stopped before its end")]
    Halted,
    /// Defect of treering: a worker panicked.
    #[error("{task}: the worker panicked: {message}")]
    Panicked {
        /// Kind and subject of the task.
        task: String,
        /// Panic message.
        message: String,
    },
    /// The process of a worker ended without a result.
    #[error("{task}: the worker's process was lost: {why}")]
    Lost {
        /// Kind and subject of the task.
        task: String,
        /// End of the process: exit code or signal.
        why: String,
    },
    /// A rank failed or was lost.
    #[error(transparent)]
    Rank(#[from] RankError),
    /// The session itself cannot go on.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A shell command of the session could not be run.
    #[error("the command '{command}' could not be run: {source}")]
    Command {
        /// Shell command.
        command: String,
        /// System error.
        #[source]
        source: io::Error,
    },
    /// The program that does the work of the run could not be started.
    #[error("{} cannot be run: {source}", path.display())]
    Program {
        /// Path of the program.
        path: PathBuf,
        /// System error.
        #[source]
        source: io::Error,
    },
    /// The directory of a rank of its own could not be created.
    #[error(transparent)]
    Place(#[from] TargetError),
    /// A worker could not be set up.
    #[error("worker {worker} cannot be started: {source}")]
    Start {
        /// Number of the worker, counted from 0.
        worker: usize,
        /// System error.
        #[source]
        source: io::Error,
    },
    /// The target could not be remounted between two phases.
    #[error("the place could not be had again between two phases: {source}")]
    Renewal {
        /// Cause.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A listener could not take an event.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

impl EngineError {
    /// Error message, with advice if a system limit was reached.
    pub fn why(&self) -> String {
        let errno = match self {
            Self::Call { failure, .. } => Some(failure.errno),
            Self::Start { source, .. } => source.raw_os_error(),
            _ => None,
        };
        match errno.and_then(limit) {
            Some(limit) => format!("{self}; {limit}"),
            None => self.to_string(),
        }
    }
}

/// Limit behind an errno, and advice on raising it.
fn limit(errno: i32) -> Option<String> {
    match Errno::from_raw_os_error(errno) {
        Errno::MFILE => {
            let files = open_files().soft.map_or("none".to_owned(), |soft| soft.to_string());
            Some(format!(
                "the limit of open files is {files} for each process (RLIMIT_NOFILE, raised to the \
                 hard limit already): as root raise it with `ulimit -Hn`, or ask for fewer files \
                 open at a time"
            ))
        }
        Errno::NFILE => Some(
            "the limit of open files of the whole system is reached: raise the setting fs.file-max"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Error of a directory that is to be a target.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}: {source}", path.display())]
pub struct TargetError {
    /// Failed operation, such as `open`.
    pub operation: &'static str,
    /// The directory.
    pub path: PathBuf,
    /// System error.
    #[source]
    pub source: io::Error,
}

#[cfg(test)]
mod tests {
    use super::EngineError;

    #[test]
    fn exceeded_limits_are_named_with_advice() {
        let start = |errno| {
            let source = std::io::Error::from_raw_os_error(errno);
            EngineError::Start { worker: 3, source }.why()
        };
        let why = start(24);
        assert!(why.starts_with("worker 3 cannot be started: Too many open files"), "{why}");
        assert!(why.contains("RLIMIT_NOFILE") && why.contains("ulimit -Hn"), "{why}");
        assert!(start(23).contains("fs.file-max"));
        assert!(start(28).ends_with("(os error 28)"));
    }
}
