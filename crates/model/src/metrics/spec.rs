//! One entry of the vocabulary, and how metrics are made of it and found again by their names.

use crate::{Better, Metric, Scope, Unit};

/// What stands in a name for a word that is filled in.
const PLACE: &str = "{}";

/// A metric, or a family of metrics whose names differ in one or two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricSpec {
    /// The name. In that of a family `{}` stands for each word that is filled in.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// What it measures, in a sentence or two.
    pub meaning: &'static str,
}

impl MetricSpec {
    /// A value of it, for a part of a trial; not primary, of one task.
    pub fn of(&self, scope: Scope, value: f64) -> Metric {
        debug_assert!(!self.name.contains(PLACE), "{} is a family", self.name);
        Metric::new(self.name, scope, value, self.unit, self.better)
    }

    /// A value of a member of this family, for a part of a trial; not primary, of one task.
    pub fn of_member(&self, words: &[&str], scope: Scope, value: f64) -> Metric {
        Metric::new(self.member(words), scope, value, self.unit, self.better)
    }

    /// The name of a member of this family, with these words filled in.
    pub fn member(&self, words: &[&str]) -> String {
        let mut parts = self.name.split(PLACE);
        let mut name = parts.next().unwrap_or_default().to_owned();
        let mut words = words.iter();
        for part in parts {
            let word = words.next();
            debug_assert!(word.is_some(), "{} needs more words", self.name);
            name += word.unwrap_or(&PLACE);
            name += part;
        }
        debug_assert!(words.next().is_none(), "{} needs fewer words", self.name);
        name
    }

    /// What is filled in for the first word in the name of a member of this family; empty in that
    /// of a single metric. `None` where the name is of something else.
    pub fn word_of<'n>(&self, name: &'n str) -> Option<&'n str> {
        let Some((before, behind)) = self.name.split_once(PLACE) else {
            return (self.name == name).then_some("");
        };
        let inner = name.strip_prefix(before)?;
        let Some((middle, end)) = behind.split_once(PLACE) else {
            return inner.strip_suffix(behind).filter(|word| !word.is_empty());
        };
        let (word, rest) = inner.strip_suffix(end)?.split_once(middle)?;
        (!word.is_empty() && !rest.is_empty()).then_some(word)
    }
}

/// Declares metrics: the documentation of each is its meaning, as in docs/metrics.md.
macro_rules! metrics {
    ($($(#[doc = $meaning:literal])+ $constant:ident = $name:literal, $unit:ident, $better:ident;)+)
    => {
        $(
            $(#[doc = $meaning])+
            pub const $constant: $crate::metrics::MetricSpec = $crate::metrics::MetricSpec {
                name: $name,
                unit: $crate::Unit::$unit,
                better: $crate::Better::$better,
                meaning: concat!($($meaning),+),
            };
        )+
        /// All of this file, in their order.
        pub(super) const ALL: &[$crate::metrics::MetricSpec] = &[$($constant),+];
    };
}
pub(super) use metrics;

/// Whether a metric of this name is of an observer, not of the workload.
pub fn is_observation(name: &str) -> bool {
    ["trace_", "layout_", "played_"].iter().any(|prefix| name.starts_with(prefix))
}
