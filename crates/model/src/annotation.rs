//! What was said of a trial after it was recorded: another label, or that it is left out of
//! comparisons. Nothing of the trial itself is changed by it.

use serde::{Deserialize, Serialize};

/// A change of what is said of a trial. The last of a kind holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// It has another label.
    Relabelled {
        /// The label from then on; empty for none.
        label: String,
        /// The label before; empty for none.
        was: String,
    },
    /// It is left out of comparisons.
    Excluded {
        /// Why, in the user's words; never empty.
        reason: String,
    },
    /// It included again.
    Included,
}

/// A change and when it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// Milliseconds since 1970 (UTC).
    pub at_unix_ms: i64,
    /// What was changed.
    #[serde(flatten)]
    pub change: Change,
}

impl Annotation {
    /// The label that it gives, if it gives one.
    pub fn label(&self) -> Option<&str> {
        match &self.change {
            Change::Relabelled { label, .. } => Some(label),
            Change::Excluded { .. } | Change::Included => None,
        }
    }

    /// Why a trial with these annotations, in the order in which they were made, is left out of
    /// comparisons; `None` when it is compared.
    pub fn exclusion(all: &[Self]) -> Option<&str> {
        let last = all.iter().rev().find_map(|one| match &one.change {
            Change::Excluded { reason } => Some(Some(reason.as_str())),
            Change::Included => Some(None),
            Change::Relabelled { .. } => None,
        });
        last.flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::{Annotation, Change};

    #[test]
    fn the_last_word_about_a_trial_holds() {
        let at = |at_unix_ms, change| Annotation { at_unix_ms, change };
        let excluded = |reason: &str| Change::Excluded { reason: reason.to_owned() };
        let label = Change::Relabelled { label: "new".to_owned(), was: String::new() };
        let all = [
            at(1, excluded("cron")),
            at(2, Change::Included),
            at(3, excluded("backup")),
            at(4, label),
        ];
        assert_eq!(Annotation::exclusion(&[]), None);
        assert_eq!(Annotation::exclusion(&all[..1]), Some("cron"));
        assert_eq!(Annotation::exclusion(&all[..2]), None);
        assert_eq!(Annotation::exclusion(&all), Some("backup"));
        for one in all {
            let json = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<Annotation>(&json).unwrap(), one);
        }
    }
}
