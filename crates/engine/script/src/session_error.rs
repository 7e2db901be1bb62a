//! Fatal error of a session, and its place.

use thiserror::Error;

/// Fatal error of a session.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}{what}", place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct SessionError {
    /// Test, job, operation, line or directory of the error; `None` for the whole run.
    pub place: Option<String>,
    /// Error message, with advice if there is any.
    pub what: String,
}

impl SessionError {
    /// Error of the whole run.
    pub fn new(what: impl Into<String>) -> Self {
        Self { place: None, what: what.into() }
    }

    /// Error at a place.
    pub fn at(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: Some(place.into()), what: what.into() }
    }
}
