//! How a trial ended.

use serde::{Deserialize, Serialize};

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Ending {
    /// Everything was done.
    Completed,
    /// The work failed; what was measured before is kept.
    Failed {
        /// Why, with path and the system's words.
        why: String,
    },
    /// The work was done but the numbers mean nothing.
    Invalid {
        /// Why.
        why: String,
    },
    /// Stopped from outside, or killed: a trial without an end counts as interrupted.
    Interrupted,
}

impl Ending {
    /// The word used in tables and in the store.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed { .. } => "failed",
            Self::Invalid { .. } => "invalid",
            Self::Interrupted => "interrupted",
        }
    }

    /// The reason, empty where there is none.
    pub fn why(&self) -> &str {
        match self {
            Self::Failed { why } | Self::Invalid { why } => why,
            Self::Completed | Self::Interrupted => "",
        }
    }

    /// The ending with this name; unknown names are `None`.
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
