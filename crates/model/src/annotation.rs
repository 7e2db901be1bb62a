//! Annotations of a stored trial: a new label, or exclusion from comparisons. The trial itself
//! stays unchanged.

use serde::{Deserialize, Serialize};

/// Kind of annotation. The last one of a kind is effective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum AnnotationKind {
    /// Change of the label.
    Relabelled {
        /// New label; empty for none.
        label: String,
        /// Previous label; empty for none.
        was: String,
    },
    /// Exclusion from comparisons.
    Excluded {
        /// Reason given by the user; never empty.
        reason: String,
    },
    /// Inclusion after an exclusion.
    Included,
}

/// Change with its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// Time in milliseconds since 1970 (UTC).
    pub at_unix_ms: i64,
    /// Kind of change.
    #[serde(flatten)]
    pub change: AnnotationKind,
}

impl Annotation {
    /// New label, if this is a change of the label.
    pub fn label(&self) -> Option<&str> {
        match &self.change {
            AnnotationKind::Relabelled { label, .. } => Some(label),
            AnnotationKind::Excluded { .. } | AnnotationKind::Included => None,
        }
    }

    /// Reason for the exclusion of a trial with these annotations, in chronological order; `None`
    /// if it is included.
    pub fn exclusion(annotations: &[Self]) -> Option<&str> {
        let last = annotations.iter().rev().find_map(|annotation| match &annotation.change {
            AnnotationKind::Excluded { reason } => Some(Some(reason.as_str())),
            AnnotationKind::Included => Some(None),
            AnnotationKind::Relabelled { .. } => None,
        });
        last.flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::{Annotation, AnnotationKind};

    #[test]
    fn the_last_exclusion_or_inclusion_is_effective() {
        let at = |at_unix_ms, change| Annotation { at_unix_ms, change };
        let excluded = |reason: &str| AnnotationKind::Excluded { reason: reason.to_owned() };
        let label = AnnotationKind::Relabelled { label: "new".to_owned(), was: String::new() };
        let annotations = [
            at(1, excluded("cron")),
            at(2, AnnotationKind::Included),
            at(3, excluded("backup")),
            at(4, label),
        ];
        assert_eq!(Annotation::exclusion(&[]), None);
        assert_eq!(Annotation::exclusion(&annotations[..1]), Some("cron"));
        assert_eq!(Annotation::exclusion(&annotations[..2]), None);
        assert_eq!(Annotation::exclusion(&annotations), Some("backup"));
        for annotation in annotations {
            let json = serde_json::to_string(&annotation).unwrap();
            assert_eq!(serde_json::from_str::<Annotation>(&json).unwrap(), annotation);
        }
    }
}
