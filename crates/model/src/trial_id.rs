//! Trial identity.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Trial identity: a time-ordered UUID (version 7), 36 characters when printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrialId(Uuid);

impl TrialId {
    /// Generates an identity from the time and randomness.
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// Text form with hyphens.
    pub fn text(self) -> String {
        self.0.to_string()
    }
}

impl Default for TrialId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TrialId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::from_str(text).map(Self)
    }
}
