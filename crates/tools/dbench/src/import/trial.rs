//! A run of dbench as a trial.

use treering_model::metrics::dbench::{
    CLASSIC_LATENCY_NS_MAX, FLUSH_TIME_PERCENT, PASS_SECONDS, PASS_SECONDS_QUANTILE, PASSES,
    THROUGHPUT_MIB_PER_SECOND,
};
use treering_model::metrics::{latency, rates, times};
use treering_model::{
    Caution, CautionCode, FLUSH_PERCENT_MUCH, IMPORT_FACT, Metric, PhaseTotals, Scope, WorkLimit,
};

use super::lines::{OperationRow, ProgressLine, ResultLine};
use super::rates::{MB, intervals};
use super::{ParsedRun, TOOL};
use treering_kit::import::number::nanoseconds;
use treering_kit::import::trial::ForeignTrial;

/// Fact with the full name of the load file.
const LOAD_FACT: &str = "import.loadfile";
/// Name of flush operations in the table; dbench 5 uses the same.
const FLUSH: &str = "Flush";
/// Operation names of dbench 5 with the shorter names of dbench 4.
const NAMES: [(&str, &str); 5] = [
    ("FIND_FIRST", "Find"),
    ("SET_FILE_INFORMATION", "Sfileinfo"),
    ("QUERY_FILE_INFORMATION", "Qfileinfo"),
    ("QUERY_PATH_INFORMATION", "Qpathinfo"),
    ("QUERY_FS_INFORMATION", "Qfsinfo"),
];
/// Operations of load files for files; other backends have their own.
const OPS: [&str; 17] = [
    "NTCreateX",
    "Close",
    "Rename",
    "Unlink",
    "Deltree",
    "Rmdir",
    "Mkdir",
    "Qpathinfo",
    "Qfileinfo",
    "Qfsinfo",
    "Sfileinfo",
    "Find",
    "WriteX",
    "ReadX",
    "LockX",
    "UnlockX",
    FLUSH,
];
/// Ratio of a latency to the longest operation, above which the latency cannot be that of an
/// operation.
const WAIT_RATIO: f64 = 2.0;

/// Converts a run to a trial, if possible, and remarks about it.
pub(super) fn trial(run: &ParsedRun) -> (Option<ForeignTrial>, Vec<String>) {
    let mut builder = TrialBuilder::new(run);
    if run.ticks.is_empty() && run.rows.is_empty() && run.passes.is_empty() && !builder.has_rate() {
        let message = "dbench has no result: it failed, or its output is truncated";
        return (None, vec![message.to_owned()]);
    }
    builder.parameters();
    builder.timeline();
    builder.operations();
    builder.rates();
    builder.longest();
    builder.results();
    (Some(builder.trial), builder.remarks)
}

/// Builder of the trial of an imported run.
struct TrialBuilder<'r> {
    run: &'r ParsedRun,
    trial: ForeignTrial,
    remarks: Vec<String>,
}

impl<'r> TrialBuilder<'r> {
    fn new(run: &'r ParsedRun) -> Self {
        let trial = ForeignTrial { workload: TOOL, ..ForeignTrial::default() };
        Self { run, trial, remarks: Vec::new() }
    }

    fn has_rate(&self) -> bool {
        self.run.outcome.is_some_and(|outcome| outcome.mb_per_second > 0.0)
    }

    fn remark(&mut self, message: impl Into<String>) {
        self.remarks.push(message.into());
    }

    fn measured(&mut self, metric: Metric) {
        self.trial.metrics.push(metric);
    }

    fn parameters(&mut self) {
        let version = self.run.version.as_deref().unwrap_or("");
        self.trial.fact(IMPORT_FACT, format!("{TOOL} {version}").trim());
        self.trial.fact(WorkLimit::FACT, WorkLimit::Timed.name());
        if let Some(ResultLine { clients, processes, synchronous, .. }) = self.run.outcome {
            self.trial.parameter("clients", clients);
            self.trial.parameter("procs", processes);
            if let Some((open, dirs)) = synchronous {
                self.trial.parameter("sync", open);
                self.trial.parameter("sync-dir", dirs);
            }
        } else if let Some(tick) = self.run.ticks.last() {
            self.trial.parameter("clients", tick.clients);
        }
        if let Some((seconds, load, warm_up)) = &self.run.plan {
            self.trial.parameter("timelimit", seconds);
            self.trial.parameter("warmup", warm_up);
            let file = load.rsplit('/').next().unwrap_or(load);
            self.trial.parameter("loadfile", file);
            self.trial.fact(LOAD_FACT, load);
        }
    }

    /// Adds the measured phase and the bytes moved in each of its seconds.
    fn timeline(&mut self) {
        let ticks = &self.run.ticks;
        let Some(last) = ticks.last() else { return };
        let mut phase = PhaseTotals {
            name: "execute".to_owned(),
            wall_ns: nanoseconds(last.seconds as f64).unwrap_or(0),
            bytes: whole_bytes(last.mb_per_second * MB * last.seconds as f64),
            ..PhaseTotals::default()
        };
        let has_no_warm_up = self.run.plan.as_ref().is_some_and(|(_, _, seconds)| *seconds == 0);
        let before = match self.run.warm_up.last() {
            Some(tick) => Some(tick.lines),
            None => has_no_warm_up.then_some(0),
        };
        match intervals(ticks, before) {
            Some((seconds, error)) => {
                phase.intervals = seconds;
                let mib = error / 1_048_576.0;
                self.remark(format!(
                    "dbench prints each second the mean since the start: the bytes of each second \
                     are derived from it, to within {mib:.2} MiB"
                ));
            }
            None => self.remark(
                "the bytes of each second cannot be derived from the means that dbench prints: \
                 some are missing or have too few digits",
            ),
        }
        self.trial.wall_ns = phase.wall_ns;
        self.trial.phases.push(phase);
    }

    /// Measured time in seconds. The clock is checked once a second, so the run ends at the first
    /// tick after the time limit, without printing a rate. `None` if the run ended otherwise or its
    /// end is unknown.
    fn measured_seconds(&self) -> Option<f64> {
        let (limit, _, _) = self.run.plan.as_ref()?;
        let seconds = self.run.ticks.last().map_or(0, |tick| tick.seconds) + 1;
        let has_ended = self.run.outcome.is_some() && self.run.failure.is_none();
        (has_ended && seconds >= *limit).then_some(seconds as f64)
    }

    /// Adds the rate of each operation kind, which is the deciding metric in native runs.
    fn rates(&mut self) {
        let Some(seconds) = self.measured_seconds().filter(|_| !self.run.rows.is_empty()) else {
            return;
        };
        let operations: u64 = self.run.rows.iter().map(|row| row.count).sum();
        for row in &self.run.rows {
            let scope = Scope::Kind(short_name(&row.op).to_owned());
            let rate = row.count as f64 / seconds;
            self.trial.metrics.push(rates::OPERATIONS_PER_SECOND.of(scope, rate));
        }
        let operations = operations as f64;
        self.measured(rates::OPERATIONS_PER_SECOND.of(Scope::Trial, operations / seconds));
        self.measured(rates::OPERATIONS.of(Scope::Trial, operations));
        self.measured(times::ELAPSED_SECONDS.of(Scope::Trial, seconds));
    }

    /// Adds the operation table.
    fn operations(&mut self) {
        let all_ms = time_ms(&self.run.rows);
        for row in &self.run.rows {
            let op = short_name(&row.op);
            if !OPS.contains(&op) {
                self.remark(format!("{op} is not a file operation of dbench"));
            }
            let scope = || Scope::Kind(op.to_owned());
            let latency =
                |statistic, ms: f64| latency::LATENCY_NS.of_member(&[statistic], scope(), ms * 1e6);
            self.trial.metrics.extend([
                rates::CALLS.of(scope(), row.count as f64),
                latency("mean", row.mean_ms),
                latency("max", row.longest_ms),
            ]);
        }
        if self.run.client_tables > 0 {
            self.remark("tables of single clients were skipped: the table of all includes them");
        }
        let flushes: Vec<OperationRow> =
            self.run.rows.iter().filter(|row| row.op == FLUSH).cloned().collect();
        if flushes.is_empty() || all_ms <= 0.0 {
            return;
        }
        let percent = 100.0 * time_ms(&flushes) / all_ms;
        self.measured(FLUSH_TIME_PERCENT.of(Scope::Trial, percent));
        if percent >= FLUSH_PERCENT_MUCH {
            let message = format!(
                "{percent:.0} % of the time of all operations went into Flush: throughput is the \
                 sync rate of the device"
            );
            self.trial.cautions.push(Caution { code: CautionCode::FlushesDecide, message });
        }
    }

    /// Adds the longest operation, and the maximum latency printed by dbench, which need not be
    /// that of an operation, since it includes the warm-up.
    fn longest(&mut self) {
        let of_rows = self.run.rows.iter().map(|row| row.longest_ms).reduce(f64::max);
        if let Some(ms) = of_rows {
            self.measured(latency::LATENCY_NS.of_member(&["max"], Scope::Trial, ms * 1e6));
        }
        let Some(printed) = self.run.outcome.and_then(|outcome| outcome.latency_ms) else { return };
        let first = self.run.ticks.first().and_then(|tick: &ProgressLine| tick.latency_ms);
        let is_first = first.is_some_and(|first| (first - printed).abs() < 0.001);
        let is_no_operation = of_rows.is_some_and(|longest| printed > WAIT_RATIO * longest);
        if is_no_operation {
            let whose =
                if is_first { "it is from the warm-up" } else { "it may be from the warm-up" };
            let longest = of_rows.unwrap_or(0.0);
            self.remark(format!(
                "max_latency {printed} ms was ignored: the longest operation took {longest} ms; \
                 {whose}"
            ));
        } else {
            self.measured(CLASSIC_LATENCY_NS_MAX.of(Scope::Trial, printed * 1e6));
        }
    }

    /// Adds the deciding metric: the pass time if there is one, since throughput ignores operations
    /// that move no bytes.
    fn results(&mut self) {
        let passes = self.passes();
        let printed = self.run.outcome.map(|outcome| outcome.mb_per_second);
        let last = self.run.ticks.last().map(|tick| tick.mb_per_second);
        let rate = match (printed, last) {
            (Some(printed), Some(last)) if printed <= 0.0 => {
                self.remark(
                    "its result is 0, as some versions print: the rate of the last second \
                             is used",
                );
                Some(last)
            }
            (Some(printed), None) if printed <= 0.0 => {
                self.remark("its result is 0, as with --run-once: there is no throughput");
                None
            }
            (Some(printed), last) => {
                if last.is_some_and(|last| (last - printed).abs() >= 0.01) {
                    self.remark(format!(
                        "its result, {printed} MB/sec, differs from that of the last second here"
                    ));
                }
                Some(printed)
            }
            (None, _) => None,
        };
        if let Some(rate) = rate {
            let value = rate * MB / 1_048_576.0;
            let metric = THROUGHPUT_MIB_PER_SECOND.of(Scope::Trial, value);
            self.trial.metrics.push(metric.primary_if(!passes));
        }
        if let Some(words) = &self.run.failure {
            self.remark(format!("it says {words}; kept as interrupted"));
            self.trial.is_interrupted = true;
        } else if self.run.outcome.is_none() {
            self.remark("the result is missing; kept as interrupted");
            self.trial.is_interrupted = true;
        }
    }

    /// Adds the pass times; false if there are none.
    fn passes(&mut self) -> bool {
        let seconds: Vec<f64> = self.run.passes.iter().map(|pass| pass.ms as f64 / 1e3).collect();
        let (Some(least), Some(most)) =
            (seconds.iter().copied().reduce(f64::min), seconds.iter().copied().reduce(f64::max))
        else {
            return false;
        };
        let count = seconds.len() as u64;
        let mean = seconds.iter().sum::<f64>() / count as f64;
        self.measured(PASS_SECONDS.of(Scope::Trial, mean).primary().of_tasks(count));
        self.measured(PASS_SECONDS_QUANTILE.of_member(&["min"], Scope::Trial, least));
        self.measured(PASS_SECONDS_QUANTILE.of_member(&["max"], Scope::Trial, most));
        self.measured(PASSES.of(Scope::Trial, count as f64));
        let mut clients: Vec<u64> = self.run.passes.iter().map(|pass| pass.client).collect();
        clients.sort_unstable();
        clients.dedup();
        let client_count = self.run.outcome.map_or(0, |outcome| outcome.clients);
        let without = client_count.saturating_sub(clients.len() as u64);
        if without > 0 {
            self.remark(format!("{without} of {client_count} clients completed no pass"));
        }
        if self.run.plan.as_ref().is_some_and(|(_, _, warm_up)| *warm_up > 0) {
            self.remark("the passes it lists include those of the warm-up");
        }
        true
    }
}

/// Total time of the operations in these rows, in milliseconds.
fn time_ms(rows: &[OperationRow]) -> f64 {
    rows.iter().map(|row| row.mean_ms * row.count as f64).sum()
}

fn short_name(op: &str) -> &str {
    NAMES.iter().find(|(long, _)| *long == op).map_or(op, |(_, short)| short)
}

fn whole_bytes(bytes: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let bytes = bytes.round() as u64;
    bytes
}
