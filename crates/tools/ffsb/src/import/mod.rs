//! Reports of FFSB 6.0-RC2: the profile as it prints it, the table of operations, throughput,
//! latency of calls, CPU.
//!
//! A transaction of FFSB is a block for operations on data, and an operation for all others. FFSB
//! does not print the number of operations; it becomes a metric only where the printed figures
//! determine it.

mod lines;
mod operations;

use treering_kit::import::known_text::KnownText;
use treering_model::metrics::ffsb::{CALL_COUNT, CALL_LATENCY_NS, TRANSACTIONS_PER_SECOND};
use treering_model::metrics::{cpu, rates, times};
use treering_model::{
    Caution, CautionCode, IMPORT_FACT, Metric, OPERATIONS_FEW, PhaseTotals, Scope, USED_FACT,
};

use lines::{OpRow, OutputLine, line, may_begin};
use operations::ReportEvidence;
use treering_kit::import::log::{Log, first_word};
use treering_kit::import::number::{ctime_unix_ms, decimal, nanoseconds, whole};
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::ForeignTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark, any_begins};

/// Importer of FFSB reports.
pub(crate) struct FfsbImporter;

impl Importer for FfsbImporter {
    fn tool(&self) -> &'static str {
        "ffsb"
    }

    fn known_text(&self) -> &'static [KnownText] {
        &[]
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        let text = log.line(at);
        let may_begin = ["FFSB", "Starting", "Benchmark", "Op"].contains(&first_word(text));
        may_begin
            && line(text).is_some_and(|parsed| match parsed {
                OutputLine::Started(_) => true,
                // A log of which the head was cut off.
                OutputLine::StartingAt(_) | OutputLine::Took(_) | OutputLine::TableBegins => true,
                _ => false,
            })
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut report = ParsedReport::default();
        let mut stretch = LineCursor::from(at);
        while stretch.next() < log.len() {
            let next = stretch.next();
            let read = log.read_if(may_begin, next, line);
            let is_own = read.as_ref().is_some_and(|(parsed, _)| *parsed != OutputLine::Furniture);
            if next > at && !is_own && any_begins(log, next) {
                break;
            }
            let Some((parsed, count)) = read else {
                stretch.pass(log);
                log.forget_before(next);
                continue;
            };
            if next > at && report.is_over(&parsed) {
                break;
            }
            report.take(parsed);
            stretch.take(log, count);
            if report.is_complete {
                break;
            }
        }
        let end = stretch.end();
        let mut remarks = stretch.remarks();
        let trial = report.finish(at, &mut remarks);
        ParsedOutputs::new(end, [trial], remarks)
    }
}

/// Report assembled line by line.
#[derive(Default)]
struct ParsedReport {
    trial: ForeignTrial,
    /// Rows of the last table: that of the only thread group, or the totals.
    rows: Vec<OpRow>,
    seconds: Option<f64>,
    /// Numbers of thread groups and filesystems seen so far.
    groups: u32,
    filesystems: u32,
    /// Bytes of a write operation and of its blocks, by thread group.
    write_sizes: Vec<u64>,
    write_blocks: Vec<u64>,
    /// Total number of open, unlink and stat calls, and the number of thread groups that report
    /// calls.
    calls: u64,
    call_blocks: u32,
    /// True once the last line of the report was read.
    is_complete: bool,
}

impl ParsedReport {
    /// True if this line belongs to the next report.
    fn is_over(&self, parsed: &OutputLine) -> bool {
        let has_begun = self.trial.started_unix_ms.is_some() || self.seconds.is_some();
        match parsed {
            OutputLine::Started(_) => true,
            OutputLine::StartingAt(_) => has_begun || !self.rows.is_empty(),
            OutputLine::Took(_) => self.seconds.is_some() || !self.rows.is_empty(),
            _ => false,
        }
    }

    fn take(&mut self, parsed: OutputLine) {
        let trial = &mut self.trial;
        match parsed {
            OutputLine::Started(version) => {
                trial.workload = "ffsb";
                trial.fact(IMPORT_FACT, format!("ffsb {version}"));
            }
            OutputLine::Group(_) if self.seconds.is_none() => self.groups += 1,
            OutputLine::Filesystem(place) => {
                self.filesystems += 1;
                if trial.target.is_empty() {
                    place.clone_into(&mut trial.target);
                }
            }
            OutputLine::Setting(name, value) => {
                let bytes = whole(&value);
                self.write_sizes.extend(bytes.filter(|_| name == "write_size"));
                self.write_blocks.extend(bytes.filter(|_| name == "write_blocksize"));
                let section = match (self.filesystems, self.groups) {
                    (0, 0 | 1) | (1, _) => String::new(),
                    (0, group) => format!("group {} ", group - 1),
                    (number, _) => format!("filesystem {} ", number - 1),
                };
                if name == "current utilization" {
                    trial.fact(USED_FACT, value.trim_end_matches('%'));
                } else {
                    trial.parameter(&format!("{section}{name}"), value);
                }
            }
            OutputLine::SetUp(seconds) => {
                trial.metrics.push(times::SETUP_SECONDS.of(Scope::Trial, seconds as f64));
            }
            OutputLine::StartingAt(when) => trial.started_unix_ms = ctime_unix_ms(&when),
            OutputLine::Took(seconds) => {
                self.seconds = Some(seconds);
                trial.wall_ns = nanoseconds(seconds).unwrap_or(0);
            }
            // The last of several tables is that of the totals.
            OutputLine::TableBegins => self.rows.clear(),
            OutputLine::Row(row) => self.rows.push(row),
            OutputLine::Transactions(rate) => {
                self.replace(TRANSACTIONS_PER_SECOND.of(Scope::Trial, rate).primary());
            }
            OutputLine::Throughput(direction, bytes) => {
                let rate = rates::DIRECTION_MIB_PER_SECOND;
                self.replace(rate.of_member(&[direction], Scope::Trial, bytes / 1_048_576.0));
            }
            OutputLine::Call(call, [least, mean, most], calls) => {
                self.call(call, [least, mean, most], calls);
            }
            OutputLine::CallsBegin => self.call_blocks += 1,
            OutputLine::Cpu(label, percent) => {
                self.is_complete = label == "CPU Utilization";
                trial.metrics.push(share_of_cpu(label, percent));
            }
            OutputLine::Group(_) | OutputLine::Furniture => {}
        }
    }

    /// Sets a metric of the whole run; a later figure replaces an earlier one.
    fn replace(&mut self, metric: Metric) {
        self.trial.metrics.retain(|known| known.name != metric.name);
        self.trial.metrics.push(metric);
    }

    fn call(&mut self, call: &str, times_ms: [f64; 3], calls: u64) {
        if matches!(call, "open" | "unlink" | "stat") {
            self.calls = self.calls.saturating_add(calls);
        }
        let count = CALL_COUNT.of_member(&[call], Scope::Trial, calls as f64);
        match self.trial.metrics.iter_mut().find(|metric| metric.name == count.name) {
            // Same metric of another thread group.
            Some(known) => known.value += count.value,
            None => self.trial.metrics.push(count),
        }
        for (statistic, ms) in ["min", "mean", "max"].into_iter().zip(times_ms) {
            let metric = CALL_LATENCY_NS.of_member(&[call, statistic], Scope::Trial, ms * 1e6);
            // With several thread groups, that of the first is kept.
            if self.trial.metrics.iter().all(|known| known.name != metric.name) {
                self.trial.metrics.push(metric);
            }
        }
    }

    fn finish(mut self, at: usize, remarks: &mut Vec<Remark>) -> ForeignTrial {
        let mut remark = |message: String| remarks.push(Remark { line: at + 1, what: message });
        if self.trial.workload.is_empty() {
            self.trial.workload = "ffsb";
            self.trial.fact(IMPORT_FACT, "ffsb");
            remark("the head of the report is missing: its options are unknown".to_owned());
        }
        self.trial.is_interrupted = !self.is_complete;
        if self.rows.is_empty() && self.seconds.is_none() {
            self.trial.is_interrupted = true;
            remark("the report has no results; kept as interrupted".to_owned());
            return self.trial;
        }
        if !self.is_complete {
            remark("the report is not complete; kept as interrupted".to_owned());
        }
        for row in &self.rows {
            self.trial.metrics.extend(of_row(row));
        }
        let seconds = self.seconds.filter(|seconds| *seconds > 0.0);
        if let Some(seconds) = seconds {
            self.trial.phases.push(PhaseTotals {
                name: "benchmark".to_owned(),
                wall_ns: self.trial.wall_ns,
                ..PhaseTotals::default()
            });
            self.trial.metrics.push(times::ELAPSED_SECONDS.of(Scope::Trial, seconds));
        }
        // The last table of a report that was cut off may be of one thread group.
        match self.evidence().operations().filter(|_| self.is_complete) {
            Some(operations) => self.operations(operations, seconds),
            None => remark(
                "the report does not determine how many operations ran: transactions are compared"
                    .to_owned(),
            ),
        }
        self.trial
    }

    fn evidence(&self) -> ReportEvidence<'_> {
        let blocks = |(size, block): (&u64, &u64)| (*block > 0).then(|| size.div_ceil(*block));
        let mut appends = self.write_sizes.iter().zip(&self.write_blocks).map(blocks);
        let first = appends.next().flatten();
        let is_same = appends.all(|other| other == first);
        let is_whole = self.groups > 0 && self.call_blocks == self.groups;
        ReportEvidence {
            rows: &self.rows,
            append_blocks: first.filter(|_| is_same),
            calls: is_whole.then_some(self.calls),
        }
    }

    fn operations(&mut self, operations: u64, seconds: Option<f64>) {
        if let Some(seconds) = seconds {
            let rate = operations as f64 / seconds;
            self.trial.metrics.push(rates::OPERATIONS_PER_SECOND.of(Scope::Trial, rate));
        }
        self.trial.metrics.push(rates::OPERATIONS.of(Scope::Trial, operations as f64));
        if operations < OPERATIONS_FEW {
            let message = format!(
                "only {operations} operations ran; below some {OPERATIONS_FEW} the random draw \
                 decides the figures"
            );
            let caution = Caution { code: CautionCode::TooFewOperations, message };
            self.trial.cautions.push(caution);
        }
    }
}

/// CPU share as a metric.
fn share_of_cpu(label: &str, percent: f64) -> Metric {
    let spec = match label {
        "User Time" => cpu::USER_CPU_PERCENT,
        "System Time" => cpu::SYSTEM_CPU_PERCENT,
        _ => cpu::CPU_PERCENT,
    };
    spec.of(Scope::Trial, percent)
}

/// Metrics of an operation kind.
fn of_row(row: &OpRow) -> Vec<Metric> {
    let scope = || Scope::Kind(row.op.clone());
    let mut figures = vec![TRANSACTIONS_PER_SECOND.of(scope(), row.transactions_per_second)];
    let mib = row.bytes_per_second.map(|bytes| bytes / 1_048_576.0);
    figures.extend(mib.map(|mib| rates::MIB_PER_SECOND.of(scope(), mib)));
    figures
}

/// Parses a rate such as `32.5KB/sec`; returns bytes per second.
fn bytes_per_second(word: &str) -> Option<f64> {
    let size = word.strip_suffix("/sec")?;
    let units = [("GB", 30), ("MB", 20), ("KB", 10), ("B", 0)];
    let (number, shift) =
        units.into_iter().find_map(|(unit, shift)| Some((size.strip_suffix(unit)?, shift)))?;
    // 1000 to 1023 of a unit come as 1.02e+03.
    let number = match number.split_once("e+") {
        Some((number, power)) => {
            decimal(number)? * 10_f64.powi(power.parse().ok().filter(|power| *power <= 9)?)
        }
        None => decimal(number)?,
    };
    Some(number * f64::from(1_u32 << shift))
}

#[cfg(test)]
mod tests {
    use super::bytes_per_second;

    #[test]
    fn sizes_have_the_units_of_ffsb() {
        assert_eq!(bytes_per_second("32.5KB/sec"), Some(33_280.0));
        assert_eq!(bytes_per_second("2.81MB/sec"), Some(2.81 * 1_048_576.0));
        assert_eq!(bytes_per_second("1.02e+03KB/sec"), Some(1_044_480.0));
        assert_eq!(bytes_per_second("7B/sec"), Some(7.0));
        for odd in ["NA", "/sec", "7/sec", "7KB", "-7KB/sec", "1e+99KB/sec"] {
            assert_eq!(bytes_per_second(odd), None, "{odd}");
        }
    }
}
