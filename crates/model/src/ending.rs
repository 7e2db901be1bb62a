//! Outcome of a trial.

use serde::{Deserialize, Serialize};

/// Outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Ending {
    /// All work was done.
    Completed,
    /// The work failed; earlier measurements are kept.
    Failed {
        /// Reason, with path and system error.
        why: String,
    },
    /// All work was done, but the figures are meaningless.
    Invalid {
        /// Reason.
        why: String,
    },
    /// Stopped by a signal, or killed: a trial without an end event counts as interrupted.
    Interrupted,
}

impl Ending {
    /// Name in tables and in the store.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed { .. } => "failed",
            Self::Invalid { .. } => "invalid",
            Self::Interrupted => "interrupted",
        }
    }

    /// Reason of the failure; empty for other outcomes.
    pub fn why(&self) -> &str {
        match self {
            Self::Failed { why } | Self::Invalid { why } => why,
            Self::Completed | Self::Interrupted => "",
        }
    }

    /// Parses name and reason; `None` for unknown names.
    pub fn from_parts(name: &str, why: &str) -> Option<Self> {
        match name {
            "completed" => Some(Self::Completed),
            "failed" => Some(Self::Failed { why: why.to_owned() }),
            "invalid" => Some(Self::Invalid { why: why.to_owned() }),
            "interrupted" => Some(Self::Interrupted),
            _ => None,
        }
    }
}
