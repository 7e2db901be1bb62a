//! Failures as users see them: kind, message and hints.

use std::fmt::Display;
use std::io;
use std::path::Path;

use thiserror::Error;
use treering_engine::LaunchError;
use treering_guest::GuestError;
use treering_lab::{FreshCopyError, LabError};
use treering_observe::block_trace::TraceFilesError;
use treering_script::{ConfigError, with_causes};
use treering_sys::SignalWatch;

use crate::CampaignError;

/// The kinds of failure, each with an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The imitated tool fails, in its own way.
    Classic,
    /// The command line, the plan or an option is wrong.
    Usage,
    /// The machine lacks a required program, right, device or kernel feature.
    Environment,
    /// A trial failed; what was measured is kept.
    Trial,
    /// A fault of treering itself.
    Bug,
    /// Stopped by a signal or by the user.
    Interrupted,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Classic, Self::Usage, Self::Environment, Self::Trial, Self::Bug, Self::Interrupted];

    /// Exit code of a program that ends with such a failure.
    pub const fn code(self) -> u8 {
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

/// A failure with its message and hints for the user.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct Failure {
    kind: FailureKind,
    message: String,
    hints: Vec<String>,
}

impl Failure {
    /// A failure without hints.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    /// A wrong command line, plan or option.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// A machine that lacks a required program, right, device or kernel feature.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Environment, message)
    }

    /// Kind of failure, which decides the exit code.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Message with the causes of the error, without hints.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Suggested remedies.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// An error with its causes, without duplicates.
    pub fn of(kind: FailureKind, error: &dyn std::error::Error) -> Self {
        Self::new(kind, with_causes(error))
    }

    /// Failure to use a path named by the user: a usage error if the path is missing.
    pub fn of_path(path: &Path, error: &io::Error) -> Self {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        let kind = if is_missing { FailureKind::Usage } else { FailureKind::Environment };
        Self::new(kind, format!("{}: {error}", path.display()))
    }

    /// Appends a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Appends a hint, if any.
    #[must_use]
    pub fn maybe_hint(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Prefixes the message with a context.
    #[must_use]
    pub fn context(mut self, words: impl Display) -> Self {
        self.message = format!("{words}: {}", self.message);
        self
    }
}

/// Begins to watch for signals.
///
/// # Errors
/// When the kernel refuses it.
pub fn watch_signals() -> Result<SignalWatch, Failure> {
    let failed = |error| Failure::environment(format!("cannot watch for signals: {error}"));
    SignalWatch::begin().map_err(failed)
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.message).maybe_hint(error.hint)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let is_named_wrongly = match &error {
            LabError::Io { action: "cannot find", source, .. } => {
                source.kind() == io::ErrorKind::NotFound
            }
            LabError::NotADirectory { .. } | LabError::NoImage { .. } | LabError::NoDisk { .. } => {
                true
            }
            _ => false,
        };
        let kind = if is_named_wrongly { FailureKind::Usage } else { FailureKind::Environment };
        Self::of(kind, &error).maybe_hint(error.hint())
    }
}

impl From<FreshCopyError> for Failure {
    fn from(error: FreshCopyError) -> Self {
        match error {
            FreshCopyError::Lab(error) => error.into(),
            FreshCopyError::Stopped => Self::new(FailureKind::Interrupted, error.to_string()),
            _ => Self::of(FailureKind::Environment, &error).maybe_hint(error.hint()),
        }
    }
}

impl From<TraceFilesError> for Failure {
    fn from(error: TraceFilesError) -> Self {
        match &error {
            TraceFilesError::Unopened { path, error: cause } => {
                Self::of_path(path, cause).maybe_hint(error.hint())
            }
            _ => Self::environment(error.to_string()).maybe_hint(error.hint()),
        }
    }
}

impl From<CampaignError> for Failure {
    fn from(error: CampaignError) -> Self {
        let kind = match error {
            CampaignError::Job(_) => FailureKind::Usage,
            _ => FailureKind::Environment,
        };
        Self::of(kind, &error).maybe_hint(error.hint())
    }
}

impl From<GuestError> for Failure {
    fn from(error: GuestError) -> Self {
        Self::of(FailureKind::Environment, &error).maybe_hint(error.hint())
    }
}

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        let hint = match &error {
            LaunchError::NoLauncher { .. } => Some(
                "install an MPI (apt-get install openmpi-bin, or mpich), or name the launcher that \
                 is here: launcher = \"srun\"",
            ),
            LaunchError::Start { .. } => None,
        };
        Self::of(FailureKind::Environment, &error).maybe_hint(hint)
    }
}
