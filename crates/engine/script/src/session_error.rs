//! Fatal error of a session, and its location.

use thiserror::Error;

/// Fatal error of a session.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}{message}", place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct SessionError {
    /// Test, job, operation, line or directory of the error; `None` for the whole run.
    pub place: Option<String>,
    /// Error message, with advice if there is any.
    pub message: String,
}

impl SessionError {
    /// Error of the whole run.
    pub fn new(message: impl Into<String>) -> Self {
        Self { place: None, message: message.into() }
    }

    /// Error at a place.
    pub fn at(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: Some(place.into()), message: message.into() }
    }
}
