//! Artifacts: products of observers beyond single numbers.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Product of an observer, such as the timeline of a phase on the disk or the layout of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Observer name, which defines the format of the body.
    pub kind: String,
    /// Format version of the body, counted from 1. Readers skip newer versions.
    pub version: u32,
    /// Phase, counted from 0; `None` for the whole trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    /// Name among the artifacts of the same kind and phase; empty for a single one.
    pub name: String,
    /// Body: one JSON value as text. The store compresses it.
    pub body: String,
}

impl Artifact {
    /// Builds an artifact of the whole trial.
    ///
    /// # Errors
    /// If the body cannot be represented in JSON, as a map with keys other than strings.
    pub fn new<T: Serialize>(kind: &str, version: u32, body: &T) -> serde_json::Result<Self> {
        let body = serde_json::to_string(body)?;
        Ok(Self { kind: kind.to_owned(), version, phase: None, name: String::new(), body })
    }

    /// Parses the body; `None` for another kind, a newer version or an invalid body.
    pub fn read<T: DeserializeOwned>(&self, kind: &str, version: u32) -> Option<T> {
        let is_such = self.kind == kind && self.version <= version;
        is_such.then(|| serde_json::from_str(&self.body).ok()).flatten()
    }
}
