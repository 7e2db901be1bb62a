//! Conversion of a bonnie++ run to a trial.

use treering_model::metrics::bonnie::{CLASSIC_CPU_PERCENT, OPS_PER_SECOND};
use treering_model::metrics::{cpu, latency, rates};
use treering_model::{BetterDirection, IMPORT_FACT, Metric, Scope};

use super::run::{ColumnContent, FILES, NAMES, PER_CHAR, ParsedRun, SEEKS};
use treering_kit::import::number::whole;
use treering_kit::import::trial::ForeignTrial;

/// Fact with the name of the run or its machine.
const NAME_FACT: &str = "import.machine";
/// Fact with the names of the tests that were too short.
const TOO_SHORT_FACT: &str = "import.not_measured";
/// Formats in which the default seed is the start time.
const SEED_IS_TIME: [&str; 2] = ["1.96", "1.97"];
/// Times from 2008 to 2030, in seconds since 1970: the default seed is the start time, in format
/// 1.98 with the low bits of the process mixed in.
const TIMES: std::ops::Range<u64> = 1_199_145_600..1_893_456_000;

/// Converts a run to a trial, and remarks about it.
pub(super) fn trial(run: &ParsedRun) -> (ForeignTrial, Vec<String>) {
    let mut trial = ForeignTrial { workload: super::TOOL, ..ForeignTrial::default() };
    let mut remarks = run.remarks.clone();
    trial.fact(IMPORT_FACT, format!("{} {}", super::TOOL, run.version));
    if !run.name.is_empty() {
        trial.fact(NAME_FACT, &run.name);
    }
    if !run.format.is_empty() {
        trial.fact("import.format", &run.format);
    }
    let seed = run.value("seed").and_then(whole).filter(|seed| TIMES.contains(seed));
    for (name, value) in &run.parameters {
        match *name {
            // A seed that the program chose differs from run to run of the same job.
            "seed" if seed.is_some() => trial.fact("import.seed", value),
            name => trial.parameter(name, value),
        }
    }
    if let Some(seconds) = seed.filter(|_| SEED_IS_TIME.contains(&&*run.format)) {
        trial.started_unix_ms = i64::try_from(seconds * 1000).ok();
        remarks.push(format!("its seed {seconds} is taken for its start time"));
    }
    let mut short = Vec::new();
    for (test, name) in NAMES.into_iter().enumerate() {
        metrics(run, test, &mut trial, &mut remarks);
        if run.rates[test] == ColumnContent::TooShort {
            short.push(name);
        }
    }
    if !short.is_empty() {
        let short = short.join(", ");
        remarks.push(format!("too short to measure (+++++): {short}"));
        trial.fact(TOO_SHORT_FACT, short);
    }
    let is_without_rates = run.rates[FILES..]
        .iter()
        .all(|rate| matches!(rate, ColumnContent::Absent | ColumnContent::TooShort));
    if run.is_table && is_without_rates && run.cpus[FILES..].iter().any(is_value) {
        let message = "the table of this version shows wrong file rates, which are ignored";
        remarks.push(message.to_owned());
    }
    (trial, remarks)
}

fn is_value(figure: &ColumnContent) -> bool {
    matches!(figure, ColumnContent::Value { .. })
}

/// Adds the three metrics of a test.
fn metrics(run: &ParsedRun, test: usize, trial: &mut ForeignTrial, remarks: &mut Vec<String>) {
    let name = NAMES[test];
    let scope = || Scope::Kind(name.to_owned());
    let mut take = |figure: &ColumnContent, zero: Metric, size: f64| match figure {
        ColumnContent::Value { value, .. } => {
            // Rates of single bytes measure the calls, not the filesystem.
            let decides = zero.better == BetterDirection::Higher && !PER_CHAR.contains(&test);
            trial.metrics.push(Metric { value: value / size, ..zero.primary_if(decides) });
        }
        ColumnContent::Odd(word) => {
            let metric_name = zero.name;
            remarks.push(format!(
                "{name}, {metric_name}: `{word}` is not a figure of bonnie++, ignored"
            ));
        }
        ColumnContent::Absent | ColumnContent::TooShort => {}
    };
    let (rate, size) = match test {
        SEEKS => (OPS_PER_SECOND, 1.0),
        test if test >= FILES => (rates::FILES_PER_SECOND, 1.0),
        _ => (rates::MIB_PER_SECOND, 1024.0),
    };
    // Each seeker counts the CPU of all of them.
    let cpu = if test == SEEKS { CLASSIC_CPU_PERCENT } else { cpu::CPU_PERCENT };
    let longest = latency::LATENCY_NS.of_member(&["max"], scope(), 0.0);
    take(&run.rates[test], rate.of(scope(), 0.0), size);
    take(&run.cpus[test], cpu.of(scope(), 0.0), 1.0);
    take(&run.latencies[test], longest, 1.0);
}
