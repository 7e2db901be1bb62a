//! Annotations of a stored trial: a new label, exclusion from comparisons, or a change of level or
//! a trend from it on that is known. The trial itself stays unchanged.

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
    /// Acknowledgement of a change of level, or of a trend, whose first point has the trial.
    Acknowledged(Acknowledgement),
    /// End of an acknowledgement of the same metric, anchor and direction.
    Withdrawn(Acknowledgement),
}

/// Change of level, or trend, in a history that is known, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// Full name of the metric.
    pub metric: String,
    /// Variant that values are divided by; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub anchor: String,
    /// Logarithm of new level / old level in millionths, whose sign is the direction; the largest
    /// number for a change from zero.
    pub log_ratio_millionths: i64,
    /// Number of points of a trend, over which its level changed by this ratio; `None` for a change
    /// of level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend_points: Option<u64>,
    /// Reason given by the user.
    pub reason: String,
}

impl Acknowledgement {
    /// Logarithm of a ratio in millionths, as in [`Acknowledgement::log_ratio_millionths`].
    pub fn millionths(ratio: f64) -> i64 {
        if !ratio.is_finite() {
            return i64::MAX;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
        let millionths = (ratio.ln() * 1e6).round() as i64;
        millionths
    }

    /// True if both are about a change, or both about a trend, of the same metric in the same
    /// direction.
    fn is_alike(&self, other: &Self) -> bool {
        self.metric == other.metric
            && self.anchor == other.anchor
            && self.trend_points.is_some() == other.trend_points.is_some()
            && (self.log_ratio_millionths > 0) == (other.log_ratio_millionths > 0)
    }
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
            AnnotationKind::Excluded { .. }
            | AnnotationKind::Included
            | AnnotationKind::Acknowledged(_)
            | AnnotationKind::Withdrawn(_) => None,
        }
    }

    /// Reason for the exclusion of a trial with these annotations, in chronological order; `None`
    /// if it is included.
    pub fn exclusion(annotations: &[Self]) -> Option<&str> {
        let last = annotations.iter().rev().find_map(|annotation| match &annotation.change {
            AnnotationKind::Excluded { reason } => Some(Some(reason.as_str())),
            AnnotationKind::Included => Some(None),
            AnnotationKind::Relabelled { .. }
            | AnnotationKind::Acknowledged(_)
            | AnnotationKind::Withdrawn(_) => None,
        });
        last.flatten()
    }

    /// Changes that a trial with these annotations, in chronological order, says are known.
    pub fn acknowledgements(annotations: &[Self]) -> Vec<&Acknowledgement> {
        let mut known: Vec<&Acknowledgement> = Vec::new();
        for annotation in annotations {
            match &annotation.change {
                AnnotationKind::Acknowledged(change) => {
                    known.retain(|other| !other.is_alike(change));
                    known.push(change);
                }
                AnnotationKind::Withdrawn(change) => known.retain(|other| !other.is_alike(change)),
                AnnotationKind::Relabelled { .. }
                | AnnotationKind::Excluded { .. }
                | AnnotationKind::Included => {}
            }
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::{Acknowledgement, Annotation, AnnotationKind};

    #[test]
    fn an_acknowledgement_holds_until_it_is_withdrawn() {
        let at = |at_unix_ms, change| Annotation { at_unix_ms, change };
        let change = |metric: &str, ratio: f64| Acknowledgement {
            metric: metric.to_owned(),
            anchor: String::new(),
            log_ratio_millionths: Acknowledgement::millionths(ratio),
            trend_points: None,
            reason: "compiler 14".to_owned(),
        };
        let annotations = [
            at(1, AnnotationKind::Acknowledged(change("a", 1.3))),
            at(2, AnnotationKind::Acknowledged(change("b", f64::INFINITY))),
            at(3, AnnotationKind::Acknowledged(change("a", 0.7))),
            at(4, AnnotationKind::Withdrawn(change("a", 1.5))),
        ];
        let known = |most: usize| Annotation::acknowledgements(&annotations[..most]);
        assert_eq!(known(3), [&change("a", 1.3), &change("b", f64::INFINITY), &change("a", 0.7)]);
        assert_eq!(known(4), [&change("b", f64::INFINITY), &change("a", 0.7)]);
        let trend = Acknowledgement { trend_points: Some(60), ..change("b", f64::INFINITY) };
        let with_trend = [&annotations[1], &at(5, AnnotationKind::Acknowledged(trend.clone()))]
            .map(Clone::clone);
        assert_eq!(
            Annotation::acknowledgements(&with_trend),
            [&change("b", f64::INFINITY), &trend],
            "a trend beside a change"
        );
        assert_eq!(Annotation::exclusion(&annotations), None);
        for annotation in annotations.iter().chain(&with_trend) {
            let json = serde_json::to_string(annotation).unwrap();
            assert_eq!(serde_json::from_str::<Annotation>(&json).unwrap(), *annotation);
        }
    }

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
