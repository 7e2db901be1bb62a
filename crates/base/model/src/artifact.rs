//! An artifact: what an observer made of a trial beyond single numbers.

use serde::{Deserialize, Serialize};

/// Something an observer made: the course of a phase on the disk, the layout of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// What it is, and so how its body is read: the observer's name.
    pub kind: String,
    /// The version of the body's form, counted from 1. Readers leave out what is newer.
    pub version: u32,
    /// The phase it is of, counted from 0; none when it is of the whole trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    /// Its name among those of its kind and phase, empty where there is one only.
    pub name: String,
    /// The thing itself, one JSON value as text. The store packs it.
    pub body: String,
}
