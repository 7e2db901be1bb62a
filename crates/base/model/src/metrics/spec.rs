//! One entry of the vocabulary, and how metrics are made of it and found again by their names.

use super::{
    blogbench, bonnie, cpu, dbench, ffsb, filebench, fio, fs_mark, latency, layout, rates, summary,
    times, trace,
};
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

/// A part of the vocabulary: its title, and its entries.
pub(super) type Section = (&'static str, &'static [MetricSpec]);

/// The whole vocabulary.
pub(super) const SECTIONS: [Section; 14] = [
    ("Rates", rates::ALL),
    ("Times", times::ALL),
    ("CPU", cpu::ALL),
    ("Latencies", latency::ALL),
    ("compilebench, summaries alone", summary::ALL),
    ("fs_mark", fs_mark::ALL),
    ("FFSB", ffsb::ALL),
    ("fio", fio::ALL),
    ("bonnie++", bonnie::ALL),
    ("dbench", dbench::ALL),
    ("blogbench", blogbench::ALL),
    ("filebench", filebench::ALL),
    ("Block traces", trace::ALL),
    ("Layouts", layout::ALL),
];

/// Whether a metric of this name is of an observer, not of the workload.
pub fn is_observation(name: &str) -> bool {
    ["trace_", "layout_"].iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::{MetricSpec, SECTIONS};
    use crate::metrics::{fio, rates};
    use crate::{Better, Scope, Unit};
    use std::collections::BTreeSet;

    /// The entry of exactly this name, else the first family that it is of.
    fn spec_of(name: &str) -> Option<&'static MetricSpec> {
        let all = || SECTIONS.iter().flat_map(|(_, specs)| specs.iter());
        let exact = all().find(|spec| spec.name == name);
        exact.or_else(|| all().find(|spec| spec.word_of(name).is_some()))
    }

    #[test]
    fn every_name_is_declared_once_and_says_its_unit() {
        let mut names = BTreeSet::new();
        for spec in SECTIONS.iter().flat_map(|(_, specs)| specs.iter()) {
            assert!(names.insert(spec.name), "{} is declared twice", spec.name);
            let meaning = spec.meaning.trim();
            assert!(meaning.len() > 10 && meaning.ends_with('.'), "{}: {meaning}", spec.name);
            let units: &[&str] = match spec.unit {
                Unit::Seconds => &["seconds"],
                Unit::Nanoseconds => &["nanoseconds", "ns"],
                Unit::Bytes => &["bytes"],
                Unit::MibPerSecond => &["mib_per_second"],
                Unit::FilesPerSecond => &["files_per_second"],
                Unit::OpsPerSecond => &["per_second"],
                Unit::Percent => &["percent"],
                Unit::Count => &[""],
            };
            assert!(units.iter().any(|unit| spec.name.contains(unit)), "{}", spec.name);
            let is_rate = spec.name.ends_with("_per_second") && !spec.name.contains("seeks");
            assert!(!is_rate || spec.better == Better::Higher, "{}", spec.name);
        }
    }

    #[test]
    fn members_of_a_family_are_made_and_found() {
        let metric = rates::DIRECTION_MIB_PER_SECOND.of_member(&["read"], Scope::Trial, 2.0);
        assert_eq!(metric.name, "read_mib_per_second");
        assert_eq!(metric.unit, Unit::MibPerSecond);
        assert_eq!(spec_of(&metric.name), Some(&rates::DIRECTION_MIB_PER_SECOND));
        assert_eq!(spec_of("mib_per_second"), Some(&rates::MIB_PER_SECOND));
        assert_eq!(rates::DIRECTION_MIB_PER_SECOND.word_of("_mib_per_second"), None);
        let name = fio::DIRECTION_LATENCY_NANOSECONDS.member(&["write", "p99"]);
        assert_eq!(name, "write_latency_p99_nanoseconds");
        assert_eq!(fio::DIRECTION_LATENCY_NANOSECONDS.word_of(&name), Some("write"));
        assert_eq!(spec_of("no_such_number"), None);
    }
}
