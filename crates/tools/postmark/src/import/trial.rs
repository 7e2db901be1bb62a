//! A report of PostMark as a trial.

use treering_kit::import::number::{decimal, nanoseconds};
use treering_kit::import::trial::ForeignTrial;
use treering_model::metrics::{rates, times};
use treering_model::{PhaseTotals, Scope};

use super::{CountAndRate, ParsedReport, ReportPreamble, TOOL};
use crate::report::{CREATE, DELETE, TRANSACTION, TRANSACTIONS, within_transactions};

/// Number of whole seconds, or of transactions per second, below which rounding exceeds 10 %.
const SECONDS_FEWEST: u64 = 10;
/// First version whose megabytes have 1024 kilobytes.
const UNITS_SINCE: f64 = 1.5;

/// Converts a report into a trial and remarks.
pub(super) fn trial(report: &ParsedReport, above: &ReportPreamble) -> (ForeignTrial, Vec<String>) {
    let mut builder = TrialBuilder {
        report,
        trial: ForeignTrial { workload: TOOL, ..ForeignTrial::default() },
        remarks: Vec::new(),
    };
    builder.trial.record_tool(above.version.as_deref());
    builder.parameters(above);
    builder.times();
    builder.files();
    let version = above.version.as_deref().and_then(decimal);
    if version.is_some_and(|version| version < UNITS_SINCE) {
        let message = "versions before 1.5 count megabytes otherwise: its data rates are left out";
        builder.remarks.push(message.to_owned());
    } else {
        builder.data();
    }
    builder.check();
    (builder.trial, builder.remarks)
}

/// Trial and remarks under construction.
struct TrialBuilder<'r> {
    report: &'r ParsedReport,
    trial: ForeignTrial,
    remarks: Vec<String>,
}

impl TrialBuilder<'_> {
    /// Adds the size of the pool, which is in the report, and the options from the lines above.
    fn parameters(&mut self, above: &ReportPreamble) {
        if let Some(pool) = self.report.creation_alone {
            self.trial.parameter("number", pool.count);
        }
        for (name, value) in above.parameters.iter().filter(|(name, _)| *name != "number") {
            self.trial.parameter(name, value);
        }
    }

    fn times(&mut self) {
        if let Some(seconds) = self.report.seconds {
            let metric = times::ELAPSED_SECONDS.of(Scope::Trial, seconds as f64);
            self.trial.metrics.push(metric);
            self.trial.wall_ns = nanoseconds(seconds as f64).unwrap_or(0);
        }
        let Some((seconds, per_second)) = self.report.transactions else { return };
        let scope = || Scope::Kind(TRANSACTION.to_owned());
        let rate = rates::OPERATIONS_PER_SECOND.of(scope(), per_second as f64).primary();
        self.trial.metrics.extend([rate, times::SECONDS.of(scope(), seconds as f64)]);
        if seconds < SECONDS_FEWEST || per_second < SECONDS_FEWEST {
            self.remarks.push(format!(
                "its clock has whole seconds and its rates are whole numbers: {seconds} seconds of \
                 transactions at {per_second} per second are known to no more than {} %",
                100 / seconds.min(per_second).max(1)
            ));
        }
    }

    /// Adds the rates of file operations as metrics, and their counts to phases.
    fn files(&mut self) {
        let report = self.report;
        let taken = report.transactions.map(|(seconds, _)| seconds);
        let kind = |kind: &str| Scope::Kind(kind.to_owned());
        for (scope, counted, seconds) in [
            (kind(CREATE), report.creation_alone, None),
            (within_transactions("create"), report.created_mixed, taken),
            (within_transactions("read"), report.read, taken),
            (within_transactions("append"), report.appended, taken),
            (kind(DELETE), report.deletion_alone, None),
            (within_transactions("delete"), report.deleted_mixed, taken),
        ] {
            let Some(counted) = counted else { continue };
            let rate = rate(counted, seconds);
            self.trial.metrics.push(rates::FILES_PER_SECOND.of(scope, rate));
        }
        let sum = |parts: [Option<CountAndRate>; 2]| {
            let counts = parts.into_iter().map(|part| part.map_or(0, |part| part.count));
            counts.fold(0_u64, u64::saturating_add)
        };
        let wall_ns = taken.and_then(|seconds| nanoseconds(seconds as f64)).unwrap_or(0);
        let phases = [
            (CREATE, sum([report.creation_alone, None]), 0),
            (TRANSACTIONS, sum([report.read, report.appended]), wall_ns),
            (DELETE, sum([report.deletion_alone, None]), 0),
        ];
        for (phase, (name, files, wall_ns)) in (0..).zip(phases) {
            let name = name.to_owned();
            let totals = PhaseTotals { phase, name, files, wall_ns, ..PhaseTotals::default() };
            self.trial.phases.push(totals);
        }
    }

    fn data(&mut self) {
        let directions = [("read", self.report.read_rate), ("write", self.report.written_rate)];
        for (direction, rate) in directions {
            let Some(rate) = rate else { continue };
            let value = rate / 1_048_576.0;
            let spec = rates::DIRECTION_MIB_PER_SECOND;
            self.trial.metrics.push(spec.of_member(&[direction], Scope::Trial, value));
        }
    }

    /// Adds remarks on contradictions and missing figures.
    fn check(&mut self) {
        let report = self.report;
        for (kind, total, parts) in [
            ("created", report.created, [report.creation_alone, report.created_mixed]),
            ("deleted", report.deleted, [report.deletion_alone, report.deleted_mixed]),
        ] {
            let (Some(total), [Some(alone), Some(mixed)]) = (total, parts) else { continue };
            if alone.count.checked_add(mixed.count) != Some(total.count) {
                self.remarks.push(format!(
                    "{} files were {kind}, but {} alone and {} with transactions",
                    total.count, alone.count, mixed.count
                ));
            }
        }
        if !report.is_whole() {
            self.trial.is_interrupted = true;
            self.remarks.push("the report is truncated; kept as interrupted".to_owned());
        }
    }
}

/// Files per second: count by seconds if that rounds down to the printed rate, else the printed
/// rate.
fn rate(counted: CountAndRate, seconds: Option<u64>) -> f64 {
    let agrees = |seconds: &u64| counted.count.checked_div(*seconds) == Some(counted.per_second);
    seconds
        .filter(agrees)
        .map_or(counted.per_second as f64, |seconds| counted.count as f64 / seconds as f64)
}
