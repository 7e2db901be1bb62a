//! Counters: what the code of a task, or a session at a tick, counted for its own workload.
//!
//! Each workload declares a struct of them, with names and units. Here they are the JSON of that
//! struct, so that neither the engine nor the store need know it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Counters of one task or of one tick; empty where nothing was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    json: String,
    bulk: Vec<u64>,
}

impl Counters {
    /// Those of this struct. One that cannot be JSON, such as a map whose keys are no text, is
    /// empty.
    pub fn of<T: Serialize>(counted: &T) -> Self {
        // As a value first, so that the text is the same after it was part of other JSON.
        let value = serde_json::to_value(counted);
        Self::from_json(value.map(|value| value.to_string()).unwrap_or_default())
    }

    /// From the JSON text that [`Counters::json`] gave.
    pub const fn from_json(json: String) -> Self {
        Self { json, bulk: Vec::new() }
    }

    /// The same with numbers that are too many to be kept, such as the lines of a log: sessions
    /// and outputs read them, the store does not have them.
    #[must_use]
    pub fn with_bulk(self, bulk: Vec<u64>) -> Self {
        Self { bulk, ..self }
    }

    /// The struct; `None` where nothing, or something else, was counted.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.json).ok()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.json.is_empty()
    }

    /// One JSON value as text; empty where nothing was counted.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// What is not kept.
    pub fn bulk(&self) -> &[u64] {
        &self.bulk
    }

    /// JSON text and what is not kept.
    pub fn into_parts(self) -> (String, Vec<u64>) {
        (self.json, self.bulk)
    }
}

/// As the JSON value that they are; nothing is `null`.
impl Serialize for Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: Option<serde_json::Value> = self.read();
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Counters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(if value.is_null() { Self::default() } else { Self::from_json(value.to_string()) })
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::Counters;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Counted {
        files: u64,
        share: f64,
    }

    #[test]
    fn a_struct_comes_back_and_another_is_refused() {
        let counted = Counted { files: u64::MAX, share: 0.1 };
        let counters = Counters::of(&counted).with_bulk(vec![7]);
        assert_eq!(counters.json(), r#"{"files":18446744073709551615,"share":0.1}"#);
        assert_eq!(counters.read::<Counted>(), Some(counted));
        assert_eq!(counters.read::<Vec<u64>>(), None);
        assert_eq!(Counters::default().read::<Counted>(), None);
        let json = serde_json::to_string(&counters).unwrap();
        assert_eq!(json, counters.json(), "named JSON within other JSON");
        let back: Counters = serde_json::from_str(&json).unwrap();
        assert_eq!((back.json(), back.bulk()), (counters.json(), &[][..]));
        assert!(serde_json::from_str::<Counters>("null").unwrap().is_empty());
    }
}
