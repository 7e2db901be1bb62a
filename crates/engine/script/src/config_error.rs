//! Why settings make no job, and what would be right.

use thiserror::Error;

/// A wrong setting.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct ConfigError {
    /// The option, as `--name`, or the file and place; then what is wrong.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl ConfigError {
    /// An error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// The same with what would be right.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
