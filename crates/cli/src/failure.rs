//! Errors as the user reads them (kind, message, path, hints), with their exit codes.

use std::backtrace::Backtrace;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use treering_conduct::{Failure as ConductFailure, FailureKind};
use treering_lab::LabError;
use treering_script::{ConfigError, with_causes};
use treering_sys::{has_panicked, report_panics};

use crate::classic_output::say;
use crate::exit_codes::BISECTION_ENDS;

/// The system's words where no further file can be opened (`EMFILE`).
const TOO_MANY_FILES: &str = "Too many open files";

/// Kind of a failure; each has an exit code in the table of `exit_codes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The imitated tool fails, in its own way.
    Classic,
    /// The command line or a configuration is wrong.
    Usage,
    /// The machine lacks a required program, right, device or kernel feature.
    Environment,
    /// The trial failed; its measurements so far are stored.
    Trial,
    /// Bug in treering.
    Bug,
    /// Stopped by a signal.
    Interrupted,
}

impl Kind {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 6] =
        [Self::Classic, Self::Usage, Self::Environment, Self::Trial, Self::Bug, Self::Interrupted];

    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Classic => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Trial => 4,
            Self::Bug => 70,
            Self::Interrupted => 130,
        }
    }
}

/// A failure with everything the user needs.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    /// Builds a failure from an error and its chain of causes, without repetitions.
    pub(crate) fn of(kind: Kind, error: &dyn std::error::Error) -> Self {
        Self::new(kind, with_causes(error))
    }

    /// Error of a file or directory named on the command line: a usage error if the path does not
    /// exist.
    pub(crate) fn of_path(path: &Path, error: &io::Error) -> Self {
        let kind = if is_missing(error) { Kind::Usage } else { Kind::Environment };
        Self::new(kind, format!("{}: {error}", path.display()))
    }

    /// Adds a hint about how to fix the failure.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a hint about how to fix the failure, if there is one.
    pub(crate) fn maybe_hint(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Prefixes the message with `words` and a colon.
    pub(crate) fn context(mut self, words: impl Display) -> Self {
        self.message = format!("{words}: {}", self.message);
        self
    }

    /// Message without hints.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Prints the failure on standard error and returns the exit code.
    pub(crate) fn show(&self) -> ExitCode {
        say(&format!("treering: {}", self.message));
        for hint in &self.hints {
            say(&format!("  hint: {hint}"));
        }
        if self.message.contains(TOO_MANY_FILES) {
            eprintln!("  hint: raise the limit of open files (`ulimit -n`): `ulimit -n 1024`");
        }
        if self.kind == Kind::Bug {
            say("  hint: this is a bug in treering; please report it with the command line");
        }
        ExitCode::from(self.kind.code())
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<ConductFailure> for Failure {
    fn from(failure: ConductFailure) -> Self {
        let kind = match failure.kind {
            FailureKind::Usage => Kind::Usage,
            FailureKind::Environment => Kind::Environment,
            FailureKind::Trial => Kind::Trial,
            FailureKind::Bug => Kind::Bug,
            FailureKind::Interrupted => Kind::Interrupted,
        };
        Self { kind, message: failure.message, hints: failure.hints }
    }
}

impl From<Failure> for ConductFailure {
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind {
            Kind::Classic | Kind::Usage => FailureKind::Usage,
            Kind::Environment => FailureKind::Environment,
            Kind::Trial => FailureKind::Trial,
            Kind::Bug => FailureKind::Bug,
            Kind::Interrupted => FailureKind::Interrupted,
        };
        Self { kind, message: failure.message, hints: failure.hints }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        ConductFailure::from(error).into()
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        ConductFailure::from(error).into()
    }
}

/// True if the error is `NotFound`: the path does not exist.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Handles a failed write to standard output; a closed pipe is not an error.
pub(crate) fn output_failed(error: &io::Error) -> Result<(), Failure> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Ok(());
    }
    Err(Failure::new(Kind::Environment, format!("standard output: {error}")))
}

/// Prints clap's message: help on standard output, errors on standard error.
pub(crate) fn show_refused(refused: &clap::Error, usage_exit: u8) -> ExitCode {
    match refused.print() {
        Ok(()) => ExitCode::from(if refused.exit_code() == 0 { 0 } else { usage_exit }),
        Err(_) => ExitCode::SUCCESS, // nobody listens
    }
}

/// Runs `run` and reports panics in one line. A panic in any thread or forked process gives the
/// exit code of a bug; a bisection has its own code for that.
pub(crate) fn told_of_panics(run: impl FnOnce() -> ExitCode) -> ExitCode {
    report_panics(report_panic);
    let bug = ExitCode::from(Kind::Bug.code());
    let code = catch_unwind(AssertUnwindSafe(run)).unwrap_or(bug);
    if has_panicked() && code != ExitCode::from(BISECTION_ENDS) { bug } else { code }
}

fn report_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
    let text = panic.payload().downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str));
    let what = text.unwrap_or("a panic without words");
    let message = format!("{what}{}", place.unwrap_or_default());
    Failure::new(Kind::Bug, message).show();
    let is_off = |wanted: &std::ffi::OsString| wanted.is_empty() || wanted == "0";
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|wanted| !is_off(&wanted)) {
        say(&Backtrace::force_capture().to_string());
    }
}
