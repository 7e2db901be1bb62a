//! Failure of a plan as shown to users: kind, message and hints.

use std::fmt::Display;
use std::io;
use std::path::Path;

use thiserror::Error;
use treering_engine::LaunchError;
use treering_guest::GuestError;
use treering_lab::LabError;
use treering_script::{ConfigError, with_causes};

use crate::CampaignError;

/// The kinds of failure; a command line gives each an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The plan or an option is wrong.
    Usage,
    /// The machine lacks something that the plan needs.
    Environment,
    /// A trial failed; what was measured is kept.
    Trial,
    /// A fault of treering itself.
    Bug,
    /// Stopped by a signal or by the user.
    Interrupted,
}

/// Failure to conduct a plan.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct Failure {
    /// Kind of failure, which decides the exit code.
    pub kind: FailureKind,
    /// Message with the causes of the error.
    pub message: String,
    /// Suggested remedies.
    pub hints: Vec<String>,
}

impl Failure {
    /// A failure without hints.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    /// An error with its causes, each once.
    pub(crate) fn of(kind: FailureKind, error: &dyn std::error::Error) -> Self {
        Self::new(kind, with_causes(error))
    }

    /// Failure to use a path named by the user: a usage error if the path is missing.
    pub(crate) fn of_path(path: &Path, error: &io::Error) -> Self {
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
    pub(crate) fn maybe_hint(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }

    /// Prefixes the message with a context.
    pub(crate) fn context(mut self, words: impl Display) -> Self {
        self.message = format!("{words}: {}", self.message);
        self
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(FailureKind::Usage, error.message).maybe_hint(error.hint)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let is_named_wrongly = match &error {
            LabError::Io { action: "cannot find", source, .. } => {
                source.kind() == io::ErrorKind::NotFound
            }
            _ => false,
        };
        let kind = if is_named_wrongly { FailureKind::Usage } else { FailureKind::Environment };
        Self::of(kind, &error).maybe_hint(error.hint())
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
