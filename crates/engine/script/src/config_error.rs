//! Error for invalid settings, with a hint.

use thiserror::Error;

/// Invalid setting.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct ConfigError {
    /// Error message: the option, as `--name`, or the file and position; then the problem.
    pub message: String,
    /// Hint: the valid values, or what to do instead.
    pub hint: Option<String>,
}

impl ConfigError {
    /// An error without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
