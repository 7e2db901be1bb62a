//! An artifact: what an observer made of a trial beyond single numbers.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Something an observer made: the timeline of a phase on the disk, the layout of its files.
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

impl Artifact {
    /// An artifact of the whole trial with this body.
    ///
    /// # Errors
    /// When it cannot be JSON: a map whose keys are no text.
    pub fn of<T: Serialize>(kind: &str, version: u32, body: &T) -> serde_json::Result<Self> {
        let body = serde_json::to_string(body)?;
        Ok(Self { kind: kind.to_owned(), version, phase: None, name: String::new(), body })
    }

    /// The body, when it is of this kind and of no newer version; `None` also for what is no such
    /// body.
    pub fn read<T: DeserializeOwned>(&self, kind: &str, version: u32) -> Option<T> {
        let is_such = self.kind == kind && self.version <= version;
        is_such.then(|| serde_json::from_str(&self.body).ok()).flatten()
    }
}
