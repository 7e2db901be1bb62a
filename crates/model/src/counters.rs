//! Workload-specific counters of a task, or of a session at a tick.
//!
//! Each workload declares a struct of counters. Here they are the JSON of that struct, so that
//! engine and store need not know its type.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Counters of one task or tick; empty if nothing was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    json: String,
    bulk: Vec<u64>,
}

impl Counters {
    /// Serializes a counter struct; empty if it cannot be represented in JSON, as a map with keys
    /// other than strings.
    pub fn from_value<T: Serialize>(counted: &T) -> Self {
        // Going through a value gives the same text as after embedding in other JSON.
        let value = serde_json::to_value(counted);
        Self::from_json(value.map(|value| value.to_string()).unwrap_or_default())
    }

    /// Builds counters from the text of [`Counters::json`].
    pub const fn from_json(json: String) -> Self {
        Self { json, bulk: Vec::new() }
    }

    /// Attaches bulk numbers, such as the lines of a log, for sessions and outputs; the store drops
    /// them.
    #[must_use]
    pub fn with_bulk(self, bulk: Vec<u64>) -> Self {
        Self { bulk, ..self }
    }

    /// Parses the counters; `None` if they are empty or of another type.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.json).ok()
    }

    /// Reports whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.json.is_empty()
    }

    /// JSON text; empty if nothing was counted.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Bulk numbers, which are not stored.
    pub fn bulk(&self) -> &[u64] {
        &self.bulk
    }

    /// JSON text and bulk numbers.
    pub fn into_parts(self) -> (String, Vec<u64>) {
        (self.json, self.bulk)
    }
}

/// Serializes the counters as a JSON value; empty counters are `null`.
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
    struct SampleCounters {
        files: u64,
        share: f64,
    }

    #[test]
    fn counters_round_trip_and_other_types_are_rejected() {
        let counted = SampleCounters { files: u64::MAX, share: 0.1 };
        let counters = Counters::from_value(&counted).with_bulk(vec![7]);
        assert_eq!(counters.json(), r#"{"files":18446744073709551615,"share":0.1}"#);
        assert_eq!(counters.read::<SampleCounters>(), Some(counted));
        assert_eq!(counters.read::<Vec<u64>>(), None);
        assert_eq!(Counters::default().read::<SampleCounters>(), None);
        let json = serde_json::to_string(&counters).unwrap();
        assert_eq!(json, counters.json(), "named JSON within other JSON");
        let back: Counters = serde_json::from_str(&json).unwrap();
        assert_eq!((back.json(), back.bulk()), (counters.json(), &[][..]));
        assert!(serde_json::from_str::<Counters>("null").unwrap().is_empty());
    }
}
