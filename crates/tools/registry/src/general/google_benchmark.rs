//! Documents of Google Benchmark (`--benchmark_out_format=json`): a file is a side, and each
//! repetition of its benchmarks is a trial. Aggregates are computed from the repetitions by it, and
//! are no rounds.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};

use serde::Deserialize;
use serde_json::Value;
use treering_kit::import::document::opening;
use treering_kit::import::log::{Log, shortened};
use treering_kit::import::number::moment_unix_ms;
use treering_kit::import::trial::ForeignTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark};
use treering_model::metrics::{general, rates};
use treering_model::{Metric, ROUND_FACT, Scope};

use super::{ParsedDocument, document, measured};

/// Name of the program.
const TOOL: &str = "google-benchmark";
/// First letters of a document, without blanks: as it is written, and with sorted keys.
const OPENINGS: [&str; 2] = ["{\"context\":{", "{\"benchmarks\":[{"];
/// Endings of the names of aggregates in versions before 1.5, which do not say what an entry is.
const AGGREGATES: [&str; 6] = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];
/// Units of times and their nanoseconds.
const TIME_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
/// Numbers that count entries, repetitions and threads.
const ENTRY_NUMBERS: [&str; 6] = [
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
];
/// Measured numbers of an entry that are no counters of the user.
const MEASURED_NUMBERS: [&str; 7] = [
    "real_time",
    "cpu_time",
    "items_per_second",
    "bytes_per_second",
    "allocs_per_iter",
    "max_bytes_used",
    "total_allocated_bytes",
];
/// Largest number of repetitions.
const REPETITIONS_MOST: usize = 100_000;

/// Importer of the documents of Google Benchmark.
pub(super) struct GoogleBenchmarkImporter;

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 3] = [
    KnownText {
        line: "_mean\"",
        numbers: LeftOutNumbers::All,
        why: "aggregates follow from the repetitions",
    },
    KnownText {
        line: "",
        numbers: LeftOutNumbers::Named(&ENTRY_NUMBERS),
        why: "numbers of entries, and how long the program chose to measure",
    },
    KnownText {
        line: "",
        numbers: LeftOutNumbers::Named(&["load_avg", "level", "size", "num_sharing"]),
        why: "the caches and the load of the machine are no results",
    },
];

impl Importer for GoogleBenchmarkImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        let opening = opening(log, at);
        let Some(tail) = OPENINGS.iter().find_map(|head| opening.strip_prefix(head)) else {
            return false;
        };
        ["\"date\":", "\"host_name\":", "\"executable\":", "\"num_cpus\":", "\"name\":"]
            .iter()
            .any(|key| tail.starts_with(key))
            || opening.starts_with(OPENINGS[1]) && tail.contains("_time\":")
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let read: ParsedDocument<Export> =
            document(log, at, "Google Benchmark", |line| self.begins(log, line));
        let mut remarks = Vec::new();
        let mut trials = Vec::new();
        match read.content {
            Ok(export) => {
                let mut say = |what: String| remarks.push(Remark { line: at + 1, what });
                trials.extend(export.trials(&mut say));
            }
            Err(remark) => remarks.push(remark),
        }
        ParsedOutputs::new(read.end, trials, remarks)
    }
}

#[derive(Deserialize)]
struct Export {
    #[serde(default)]
    context: BTreeMap<String, Value>,
    #[serde(default)]
    benchmarks: Vec<Entry>,
}

/// A repetition of a benchmark, or an aggregate.
#[derive(Deserialize)]
struct Entry {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    repetition_index: Option<usize>,
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    time_unit: Option<String>,
    items_per_second: Option<f64>,
    bytes_per_second: Option<f64>,
    #[serde(default)]
    error_occurred: bool,
    #[serde(default)]
    skipped: bool,
    error_message: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

impl Export {
    /// Trials of the repetitions, in their order.
    fn trials(&self, say: &mut dyn FnMut(String)) -> impl Iterator<Item = ForeignTrial> {
        let mut rounds: BTreeMap<usize, Vec<Metric>> = BTreeMap::new();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut counters: BTreeSet<&str> = BTreeSet::new();
        let names: HashSet<&str> = self.benchmarks.iter().map(|entry| &*entry.name).collect();
        for entry in self.benchmarks.iter().filter(|entry| !entry.is_aggregate(&names)) {
            let name = entry.benchmark();
            let count = counts.entry(name).or_default();
            let index = entry.repetition_index.unwrap_or(*count);
            *count += 1;
            if entry.error_occurred || entry.skipped {
                let why = entry.error_message.as_deref().map(shortened).unwrap_or_default();
                say(format!("{} was not measured {why}; left out", shortened(name)));
                continue;
            }
            let metrics = match entry.metrics() {
                Ok(metrics) if index < REPETITIONS_MOST => metrics,
                Ok(_) => {
                    say(format!("{}: repetition {index} cannot be; left out", shortened(name)));
                    continue;
                }
                Err(why) => {
                    say(format!("{}: {why}; left out", shortened(name)));
                    continue;
                }
            };
            counters.extend(entry.counters());
            let known = rounds.entry(index).or_default();
            if known.iter().any(|metric| metrics.iter().any(|one| is_same(metric, one))) {
                say(format!("{}: repetition {index} occurs twice; left out", shortened(name)));
                continue;
            }
            known.extend(metrics);
        }
        rounds.retain(|_, metrics| !metrics.is_empty());
        if rounds.is_empty() {
            let hint = "write it without --benchmark_report_aggregates_only";
            say(format!("this document has no repetition of a benchmark: {hint}"));
        }
        if !counters.is_empty() {
            let names = counters.into_iter().map(shortened).collect::<Vec<_>>().join(", ");
            say(format!("counters are not read, as no direction of theirs is better: {names}"));
        }
        rounds.into_iter().map(|(index, metrics)| self.trial(index, metrics))
    }

    fn trial(&self, index: usize, metrics: Vec<Metric>) -> ForeignTrial {
        let text = |name: &str| self.context.get(name).and_then(Value::as_str);
        let mut trial = ForeignTrial {
            workload: TOOL,
            started_unix_ms: text("date").and_then(moment_unix_ms),
            is_round: true,
            metrics,
            ..ForeignTrial::default()
        };
        trial.record_tool(text("library_version"));
        trial.fact(ROUND_FACT, index + 1);
        for name in ["host_name", "executable", "library_build_type", "num_cpus", "mhz_per_cpu"] {
            let Some(value) = self.context.get(name) else { continue };
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            trial.fact(&format!("benchmark.{name}"), value);
        }
        trial
    }
}

fn is_same(left: &Metric, right: &Metric) -> bool {
    left.name == right.name && left.scope == right.scope
}

impl Entry {
    /// Name of the benchmark, without the name of an aggregate.
    fn benchmark(&self) -> &str {
        self.run_name.as_deref().unwrap_or(&self.name)
    }

    fn is_aggregate(&self, names: &HashSet<&str>) -> bool {
        match self.run_type.as_deref() {
            Some(kind) => kind != "iteration",
            None => AGGREGATES
                .iter()
                .filter_map(|ending| self.name.strip_suffix(ending))
                .any(|name| names.contains(name) || self.name.ends_with("_BigO")),
        }
    }

    fn metrics(&self) -> Result<Vec<Metric>, String> {
        let unit = self.time_unit.as_deref().unwrap_or("ns");
        let known = TIME_UNITS.iter().find(|(known, _)| *known == unit);
        let Some((_, unit_ns)) = known else {
            return Err(format!("its time has the unknown unit {}", shortened(unit)));
        };
        let time = |value: Option<f64>| measured(value.map(|value| value * unit_ns));
        let Some(real) = time(self.real_time) else {
            return Err("it has no time that can be".to_owned());
        };
        let scope = || Scope::Kind(self.benchmark().to_owned());
        let mut metrics = vec![general::ITERATION_NANOSECONDS.of(scope(), real).primary()];
        let cpu = time(self.cpu_time);
        metrics.extend(cpu.map(|ns| general::ITERATION_CPU_NANOSECONDS.of(scope(), ns)));
        let items = measured(self.items_per_second);
        metrics.extend(items.map(|rate| rates::OPERATIONS_PER_SECOND.of(scope(), rate)));
        let bytes = measured(self.bytes_per_second);
        let mib = bytes.map(|bytes| bytes / 1_048_576.0);
        metrics.extend(mib.map(|rate| rates::MIB_PER_SECOND.of(scope(), rate)));
        Ok(metrics)
    }

    /// Names of the counters of the user.
    fn counters(&self) -> impl Iterator<Item = &str> {
        let numbers = self.others.iter().filter(|(_, value)| value.is_number());
        let names = numbers.map(|(name, _)| name.as_str());
        names.filter(|name| !ENTRY_NUMBERS.contains(name) && !MEASURED_NUMBERS.contains(name))
    }
}
