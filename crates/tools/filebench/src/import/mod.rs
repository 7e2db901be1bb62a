//! Importer of filebench 1.4 and 1.5: the personality, the filesets, the kinds of operation, and
//! the summary line.
//!
//! `psrun` prints tables repeatedly: cumulative ones, of which the last is kept, or one for each
//! period, which then are rows.

mod line;

use std::collections::BTreeSet;

use treering_model::metrics::filebench::{CPU_NS_MEAN, READS_PER_SECOND, WRITES_PER_SECOND};
use treering_model::metrics::latency::LATENCY_NANOSECONDS;
use treering_model::metrics::{MetricSpec, rates, times};
use treering_model::{
    Caution, CautionCode, IMPORT_FACT, ITERATION_PHASE, Metric, OPERATIONS_FEW, PhaseTotals, Scope,
};

use line::{FlowopLine, OutputLine, SummaryLine, line};
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::Log;
use treering_kit::import::number::nanoseconds;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::ForeignTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark, any_begins};

/// Name of the tool and of its workload.
const TOOL: &str = "filebench";
/// Maximum number of foreign lines between two lines of filebench.
const GAP_LINES_MOST: usize = 40;
/// Maximum number of failure messages that are kept.
const FAILURES_MOST: usize = 10;
/// Messages of failed runs that do not give a reason.
const GENERAL: [&str; 2] = ["Run stopped early", "NO VALID RESULTS"];
/// Minimum ratio of the second table's time to the first, if each table covers the whole run so
/// far.
const GROWTH: f64 = 1.05;

/// Importer of filebench's outputs.
pub(crate) struct FilebenchImporter;

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 7] = [
    KnownText {
        line: "",
        numbers: LeftOutNumbers::Stamps,
        why: "process and time of day of the line",
    },
    KnownText {
        line: "allocated ",
        numbers: LeftOutNumbers::All,
        why: "how much of a fileset was made before the run",
    },
    KnownText {
        line: "Removed any existing fileset",
        numbers: LeftOutNumbers::All,
        why: "time before the run",
    },
    KnownText {
        line: "Allocated ",
        numbers: LeftOutNumbers::All,
        why: "shared memory of the program itself",
    },
    KnownText {
        line: "Starting ",
        numbers: LeftOutNumbers::Named(&["Starting"]),
        why: "numbers of processes and threads are parameters",
    },
    KnownText { line: "on line ", numbers: LeftOutNumbers::All, why: "a place in the load" },
    KnownText {
        line: "Unexpected Process termination",
        numbers: LeftOutNumbers::All,
        why: "an error of the program, told as the reason",
    },
];

impl Importer for FilebenchImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        let text = log.line(at);
        let is_near = ["Filebench Version ", "Run took ", "Per-Operation Breakdown", "IO Summary:"]
            .into_iter()
            .any(|words| text.contains(words));
        let parsed = || log.read(at, line).map(|(parsed, _)| parsed);
        is_near
            && matches!(
                parsed(),
                Some(
                    OutputLine::Version(_)
                        | OutputLine::Took(_)
                        | OutputLine::Breakdown
                        | OutputLine::Summary(_)
                )
            )
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut output = ParsedOutput::default();
        let mut stretch = LineCursor::from(at);
        while stretch.next() < log.len().min(stretch.end() + GAP_LINES_MOST) {
            let next = stretch.next();
            let read = if log.line(next).trim().is_empty() { None } else { log.read(next, line) };
            let is_new = match &read {
                Some((OutputLine::Version(_), _)) => next > at,
                // A run says once how long it took.
                Some((OutputLine::Took(_), _)) => output.has_taken,
                Some((OutputLine::Breakdown | OutputLine::Summary(_), _)) => false,
                _ => next > at && any_begins(log, next),
            };
            if is_new {
                break;
            }
            let Some((parsed, count)) = read else {
                stretch.pass(log);
                continue;
            };
            let is_last = parsed == OutputLine::End;
            output.take(parsed);
            stretch.take(log, count);
            if is_last {
                break;
            }
        }
        let end = stretch.end();
        let mut remarks = stretch.remarks();
        let trial = output.finish(at, &mut remarks);
        ParsedOutputs::new(end, [trial], remarks)
    }
}

/// Output assembled line by line.
#[derive(Default)]
struct ParsedOutput {
    trial: ForeignTrial,
    version: String,
    /// True once the run has said how long it took.
    has_taken: bool,
    /// Processes and threads that were started, with their numbers. Each process of many says it
    /// for its own threads, in an order that chance decides.
    started: BTreeSet<(String, String)>,
    /// Failure messages of the run.
    failures: Vec<String>,
    /// Kinds of operation of the table being read.
    flows: Vec<FlowopLine>,
    /// Tables, each with its summary.
    tables: Vec<(Vec<FlowopLine>, SummaryLine)>,
}

impl ParsedOutput {
    fn take(&mut self, parsed: OutputLine) {
        let trial = &mut self.trial;
        match parsed {
            OutputLine::Version(version) => self.version = version,
            OutputLine::Personality(name) => trial.parameter("personality", name),
            // Where the files were is no parameter of the load.
            OutputLine::Variable(_, value) if value.contains('/') => {}
            OutputLine::Variable(name, value) => trial.parameter(&name, value),
            OutputLine::Fileset(name, values) => {
                for (label, value) in values {
                    match label {
                        // They follow from the load and the random draw.
                        "dir depth" | "size" => {
                            trial.fact(&format!("import.{name} {label}"), value);
                        }
                        _ => trial.parameter(&format!("{name} {label}"), value),
                    }
                }
            }
            OutputLine::Starting(count, name, label) => {
                self.started.insert((format!("{name} {label}"), count.to_string()));
            }
            OutputLine::Took(seconds) => {
                self.has_taken = true;
                trial.fact("import.nominal_seconds", seconds);
            }
            OutputLine::Breakdown => self.flows.clear(),
            OutputLine::Flow(flow) => self.flows.push(flow),
            OutputLine::Summary(summary) => {
                self.tables.push((std::mem::take(&mut self.flows), summary));
            }
            OutputLine::Failed(words) if self.failures.len() < FAILURES_MOST => {
                self.failures.push(words);
            }
            OutputLine::Failed(_) => {}
            OutputLine::End | OutputLine::Decoration => {}
        }
    }

    fn finish(mut self, at: usize, remarks: &mut Vec<Remark>) -> ForeignTrial {
        let mut remark = |message: String| remarks.push(Remark { line: at + 1, what: message });
        self.trial.workload = TOOL;
        for (what, count) in std::mem::take(&mut self.started) {
            self.trial.parameter(&what, count);
        }
        let tool = format!("{TOOL} {}", self.version);
        self.trial.facts.insert(
            0,
            treering_model::Fact {
                name: IMPORT_FACT.to_owned(),
                value: tool.trim_end().to_owned(),
            },
        );
        // The message that there are no results says less than its neighbours.
        let is_general = |words: &&String| GENERAL.iter().any(|general| words.contains(general));
        let reason = self.failures.iter().find(|words| !is_general(words));
        if let Some(words) = reason.or(self.failures.first()) {
            remark(format!("its figures are not valid: {words}; kept as interrupted"));
            self.trial.is_interrupted = true;
        }
        let Some((flows, summary)) = self.tables.last().cloned() else {
            remark("it has no summary".to_owned());
            self.trial.is_interrupted = true;
            return self.trial;
        };
        if are_of_all(&self.tables) {
            if self.tables.len() > 1 {
                let message =
                    format!("of {} cumulative tables the last is used", self.tables.len());
                remark(message);
            }
            self.add_totals(&flows, &summary);
        } else {
            self.periods();
        }
        self.trial
    }

    /// Adds the metrics of a table that covers the whole run.
    fn add_totals(&mut self, flows: &[FlowopLine], summary: &SummaryLine) {
        let seconds = seconds(summary);
        self.trial.wall_ns = nanoseconds(seconds).unwrap_or(0);
        of_summary(&Scope::Trial, summary, true, &mut self.trial.metrics);
        let operations = summary.operations as f64;
        self.trial.metrics.push(rates::OPERATIONS.of(Scope::Trial, operations));
        if seconds > 0.0 {
            self.trial.metrics.push(times::ELAPSED_SECONDS.of(Scope::Trial, seconds));
        }
        // Flowops that were never executed and only control others are not kinds of operation.
        for flow in flows.iter().filter(|flow| flow.calls > 0) {
            of_flow(flow, seconds, &mut self.trial);
        }
        self.few(summary.operations);
    }

    /// Adds the tables of periods, one row for each.
    fn periods(&mut self) {
        let mut total = SummaryLine::default();
        let mut wall = 0.0;
        for (number, (_, summary)) in (0..).zip(&self.tables) {
            let name = format!("{ITERATION_PHASE}{}", number + 1);
            let length = seconds(summary);
            wall += length;
            total.operations = total.operations.saturating_add(summary.operations);
            let scope = Scope::Phase(name.clone());
            of_summary(&scope, summary, false, &mut self.trial.metrics);
            self.trial.metrics.push(rates::OPERATIONS.of(scope, summary.operations as f64));
            self.trial.phases.push(PhaseTotals {
                phase: number,
                name,
                wall_ns: nanoseconds(length).unwrap_or(0),
                ..PhaseTotals::default()
            });
        }
        self.trial.wall_ns = nanoseconds(wall).unwrap_or(0);
        let rate = total.operations as f64 / wall;
        if rate.is_finite() {
            let rate = rates::OPERATIONS_PER_SECOND.of(Scope::Trial, rate);
            self.trial.metrics.push(rate.primary().of_tasks(self.tables.len() as u64));
            self.trial.metrics.push(rates::OPERATIONS.of(Scope::Trial, total.operations as f64));
            for flow in of_all_periods(&self.tables, wall) {
                of_flow(&flow, wall, &mut self.trial);
                let periods = self.tables.iter().flat_map(|(flows, _)| flows);
                let rows: Vec<String> =
                    periods.filter(|row| row.name == flow.name).map(period_row).collect();
                self.trial.fact(&format!("import.{}.periods", flow.name), rows.join("; "));
            }
        }
        self.few(total.operations);
    }

    fn few(&mut self, operations: u64) {
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

/// Measured time in seconds, which the output does not state: operations over their rate.
fn seconds(summary: &SummaryLine) -> f64 {
    let seconds = summary.operations as f64 / summary.ops_per_second;
    if seconds.is_finite() { seconds } else { 0.0 }
}

/// True if each table covers the whole run so far: the times of such tables grow, while those of
/// periods stay alike.
fn are_of_all(tables: &[(Vec<FlowopLine>, SummaryLine)]) -> bool {
    let [(_, first), (_, second), ..] = tables else { return true };
    let grow = |pair: &[(Vec<FlowopLine>, SummaryLine)]| match pair {
        [(_, earlier), (_, later)] => earlier.operations <= later.operations,
        _ => true,
    };
    seconds(second) > GROWTH * seconds(first) && tables.windows(2).all(grow)
}

/// Kinds of operation over all periods, in the order of the first table that has each. Figures are
/// weighted by time, means by operations.
fn of_all_periods(tables: &[(Vec<FlowopLine>, SummaryLine)], wall: f64) -> Vec<FlowopLine> {
    let mut sums: Vec<FlowopLine> = Vec::new();
    for (flows, summary) in tables {
        let share = seconds(summary) / wall;
        for flow in flows.iter().filter(|flow| flow.calls > 0) {
            let weighted = FlowopLine {
                ops_per_second: flow.ops_per_second * share,
                mib_per_second: flow.mib_per_second * share,
                ..flow.clone()
            };
            match sums.iter_mut().find(|sum| sum.name == flow.name) {
                None => sums.push(weighted),
                Some(sum) => add_period(sum, weighted),
            }
        }
    }
    sums
}

/// Figures of a kind of operation in a period, with their units.
fn period_row(flow: &FlowopLine) -> String {
    let FlowopLine { calls, ops_per_second, mib_per_second, mean_ms, least_ms, most_ms, .. } = flow;
    let cpu = flow.cpu_us.map_or(String::new(), |us| format!(" {us} us CPU"));
    format!(
        "{calls} calls {ops_per_second} ops/s {mib_per_second} MiB/s {mean_ms} ms \
         [{least_ms} to {most_ms}]{cpu}"
    )
}

fn add_period(sum: &mut FlowopLine, more: FlowopLine) {
    let (before, calls) = (sum.calls as f64, more.calls as f64);
    let mean = |one: f64, other: f64| (one * before + other * calls) / (before + calls);
    sum.mean_ms = mean(sum.mean_ms, more.mean_ms);
    sum.cpu_us = sum.cpu_us.zip(more.cpu_us).map(|(one, other)| mean(one, other));
    sum.calls = sum.calls.saturating_add(more.calls);
    sum.ops_per_second += more.ops_per_second;
    sum.mib_per_second += more.mib_per_second;
    sum.least_ms = sum.least_ms.min(more.least_ms);
    sum.most_ms = sum.most_ms.max(more.most_ms);
    let counts = sum.counts.len().max(more.counts.len());
    sum.counts.resize(counts, 0);
    sum.counts.iter_mut().zip(more.counts).for_each(|(one, other)| {
        *one = one.saturating_add(other);
    });
}

fn of_summary(scope: &Scope, of: &SummaryLine, decides: bool, metrics: &mut Vec<Metric>) {
    let rate = rates::OPERATIONS_PER_SECOND.of(scope.clone(), of.ops_per_second);
    metrics.push(rate.primary_if(decides));
    let mut take = |spec: MetricSpec, value: f64| {
        // A kind without operations has no rate, as in native runs.
        if value > 0.0 {
            metrics.push(spec.of(scope.clone(), value));
        }
    };
    take(READS_PER_SECOND, of.reads_per_second);
    take(WRITES_PER_SECOND, of.writes_per_second);
    take(rates::MIB_PER_SECOND, of.mib_per_second);
    of.cpu_us.into_iter().for_each(|us| take(CPU_NS_MEAN, us * 1e3));
    let mean_ns = of.mean_ms * 1e6;
    metrics.push(LATENCY_NANOSECONDS.of_member(&["mean"], scope.clone(), mean_ns));
}

fn of_flow(of: &FlowopLine, seconds: f64, trial: &mut ForeignTrial) {
    let scope = || Scope::Kind(of.name.clone());
    // The printed rate is an integer: the exact one follows from the number of operations.
    let exact = of.calls as f64 / seconds;
    let is_same = exact.is_finite() && (exact - of.ops_per_second).abs() <= 1.0;
    let rate = if is_same { exact } else { of.ops_per_second };
    trial.metrics.extend([
        rates::OPERATIONS_PER_SECOND.of(scope(), rate),
        rates::CALLS.of(scope(), of.calls as f64),
    ]);
    if of.mib_per_second > 0.0 {
        trial.metrics.push(rates::MIB_PER_SECOND.of(scope(), of.mib_per_second));
    }
    for (statistic, ms) in [("mean", of.mean_ms), ("min", of.least_ms), ("max", of.most_ms)] {
        trial.metrics.push(LATENCY_NANOSECONDS.of_member(&[statistic], scope(), ms * 1e6));
    }
    trial.metrics.extend(of.cpu_us.map(|us| CPU_NS_MEAN.of(scope(), us * 1e3)));
    let counts = (0..).zip(&of.counts).filter(|(_, count)| **count > 0);
    let counts: Vec<String> =
        counts.map(|(power, count): (u32, _)| format!("{power}={count}")).collect();
    if !counts.is_empty() {
        trial.fact(&format!("import.{}.latency_powers_of_two_ns", of.name), counts.join(", "));
    }
}
