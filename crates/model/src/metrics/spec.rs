//! Metric definitions: building metrics from them, and matching names.

use crate::{BetterDirection, Metric, Scope, Unit};

/// Placeholder in the name of a metric family.
const PLACE: &str = "{}";

/// Definition of a metric, or of a family of metrics whose names differ in one or two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricSpec {
    /// Metric name; a family has `{}` for each variable word.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: Unit,
    /// Better direction.
    pub better: BetterDirection,
    /// Definition for users, one or two sentences.
    pub meaning: &'static str,
}

impl MetricSpec {
    /// Builds a metric of one task, not primary.
    pub fn of(&self, scope: Scope, value: f64) -> Metric {
        debug_assert!(!self.name.contains(PLACE), "{} is a family", self.name);
        Metric::new(self.name, scope, value, self.unit, self.better)
    }

    /// Builds a metric of this family for one task, not primary.
    pub fn of_member(&self, words: &[&str], scope: Scope, value: f64) -> Metric {
        Metric::new(self.member(words), scope, value, self.unit, self.better)
    }

    /// Name of a family member, with these words filled in.
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

    /// First variable word in the name of a family member; empty for a single metric. `None` for
    /// names outside the family.
    pub fn word_of<'n>(&self, name: &'n str) -> Option<&'n str> {
        let Some((before, behind)) = self.name.split_once(PLACE) else {
            return (self.name == name).then_some("");
        };
        let inner = name.strip_prefix(before)?;
        let Some((middle, end)) = behind.split_once(PLACE) else {
            return inner.strip_suffix(behind).filter(|word| !word.is_empty());
        };
        let (word, second_word) = inner.strip_suffix(end)?.split_once(middle)?;
        (!word.is_empty() && !second_word.is_empty()).then_some(word)
    }
}

/// Declares metrics: the doc comment of each is its meaning in docs/metrics.md.
macro_rules! metrics {
    ($($(#[doc = $meaning:literal])+ $constant:ident = $name:literal, $unit:ident, $better:ident;)+)
    => {
        $(
            $(#[doc = $meaning])+
            pub const $constant: $crate::metrics::MetricSpec = $crate::metrics::MetricSpec {
                name: $name,
                unit: $crate::Unit::$unit,
                better: $crate::BetterDirection::$better,
                meaning: concat!($($meaning),+),
            };
        )+
        /// Metrics of this file, in declaration order.
        pub(in crate::metrics) const ALL: &[$crate::metrics::MetricSpec] = &[$($constant),+];
    };
}
pub(super) use metrics;
