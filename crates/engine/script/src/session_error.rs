//! Why a session cannot go on, and where.

use thiserror::Error;

/// Something that a session cannot go on after.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}{what}", place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct SessionError {
    /// The test, job, operation, line or directory it is about; `None` where it is the whole run.
    pub place: Option<String>,
    /// What is wrong, and what to do about it where that is known.
    pub what: String,
}

impl SessionError {
    /// One about the whole run.
    pub fn new(what: impl Into<String>) -> Self {
        Self { place: None, what: what.into() }
    }

    /// One about a place in it.
    pub fn at(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: Some(place.into()), what: what.into() }
    }
}
