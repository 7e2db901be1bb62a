//! All metrics, grouped by section of the page.

use super::super::spec::MetricSpec;
use super::super::{
    age, blogbench, bonnie, calls, command, cpu, dbench, deferred, device, ffsb, filebench, fio,
    fs_mark, functions, general, kernel, latency, layout, load, played, rates, summary, times,
    trace,
};

/// Section of the page: title and metrics.
pub(super) type Section = (&'static str, &'static [MetricSpec]);

/// All sections.
pub(super) const SECTIONS: [Section; 24] = [
    ("Rates", rates::ALL),
    ("Times", times::ALL),
    ("CPU", cpu::ALL),
    ("Latencies", latency::ALL),
    ("Latencies of system calls", calls::ALL),
    ("compilebench, summaries alone", summary::ALL),
    ("fs_mark", fs_mark::ALL),
    ("FFSB", ffsb::ALL),
    ("fio", fio::ALL),
    ("Offered loads", load::ALL),
    ("bonnie++", bonnie::ALL),
    ("dbench", dbench::ALL),
    ("Aging", age::ALL),
    ("blogbench", blogbench::ALL),
    ("filebench", filebench::ALL),
    ("Commands", command::ALL),
    ("hyperfine and Google Benchmark", general::ALL),
    ("Devices", device::ALL),
    ("Kernel", kernel::ALL),
    ("Functions of the kernel", functions::ALL),
    ("Deferred work", deferred::ALL),
    ("Block traces", trace::ALL),
    ("Layouts", layout::ALL),
    ("Played disks", played::ALL),
];

#[cfg(test)]
mod tests {
    use super::{MetricSpec, SECTIONS, fio, rates};
    use crate::{BetterDirection, Scope, Unit};
    use std::collections::BTreeSet;

    /// Metric with exactly this name, else the first family that includes the name.
    fn spec_of(name: &str) -> Option<&'static MetricSpec> {
        let specs_listed = || SECTIONS.iter().flat_map(|(_, specs)| specs.iter());
        let exact = specs_listed().find(|spec| spec.name == name);
        exact.or_else(|| specs_listed().find(|spec| spec.word_of(name).is_some()))
    }

    #[test]
    fn names_are_unique_and_end_in_their_unit() {
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
            assert!(!is_rate || spec.better == BetterDirection::Higher, "{}", spec.name);
        }
    }

    #[test]
    fn family_members_are_built_and_matched() {
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
