//! Importer of compilebench 0.6 logs: the lines on standard error, and the summary.
//!
//! Lines of reading, stat'ing and deleting a tree do not tell whether it has build products: its
//! state is followed from the operations before. The summary is checked against the lines.

mod lines;
mod states;
mod summary;

use treering_model::{IMPORT_FACT, PhaseTotals, TaskTotals};

use lines::{LogLine, OperationLine, line, may_begin};
use states::TreeStates;
use summary::ParsedSummary;
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::Log;
use treering_kit::import::number::whole;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::ForeignTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark, any_begins};

/// Importer of compilebench logs.
pub(crate) struct CompilebenchImporter;

/// Phases of a run, named as in treering's own compilebench.
const PHASES: [&str; 3] = ["native order", "initial create", "operations"];

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 1] = [KnownText {
    line: " total runs ",
    numbers: LeftOutNumbers::Named(&["avg"]),
    why: "a mean of the operations, which is checked against them",
}];

impl Importer for CompilebenchImporter {
    fn tool(&self) -> &'static str {
        "compilebench"
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        let read = log.read_if(may_begin, at, line).map(|(line, _)| line);
        match read {
            // A row: published summaries come without their lines.
            Some(LogLine::Opening { .. } | LogLine::Operation(_) | LogLine::Row(_)) => true,
            Some(LogLine::NoRuns(_) | LogLine::Caught(_) | LogLine::Furniture) | None => false,
        }
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut run = ParsedRun::default();
        let mut stretch = LineCursor::from(at);
        while stretch.next() < log.len() {
            let next = stretch.next();
            let Some((parsed, count)) = log.read_if(may_begin, next, line) else {
                if next > at && any_begins(log, next) {
                    break;
                }
                stretch.pass(log);
                log.forget_before(next);
                continue;
            };
            if run.is_over(&parsed) {
                break;
            }
            run.take(next, parsed);
            stretch.take(log, count);
        }
        let end = stretch.end();
        let mut remarks = stretch.remarks();
        let trial = run.finish(at, &mut remarks);
        ParsedOutputs::new(end, [trial], remarks)
    }
}

/// A run, assembled line by line.
#[derive(Default)]
struct ParsedRun {
    opening: Option<(String, u64, u64)>,
    phases: [Vec<TaskTotals>; 3],
    states: TreeStates,
    summary: ParsedSummary,
    /// Signal that ended the run, if any.
    caught: Option<u64>,
    /// Remarks about operations that the preceding lines do not explain.
    remarks: Vec<Remark>,
}

impl ParsedRun {
    /// True if this line belongs to another run: it begins one, or this one has ended.
    fn is_over(&self, parsed: &LogLine) -> bool {
        let [native, initial, later] = &self.phases;
        let has_begun = !native.is_empty() || !initial.is_empty() || !later.is_empty();
        match parsed {
            LogLine::Opening { .. } => self.opening.is_some() || has_begun,
            LogLine::Operation(operation) => {
                let repeats = |tasks: &[TaskTotals]| {
                    let same = |task: &TaskTotals| task.kind.ends_with(&operation.kind);
                    tasks.iter().any(|task| task.subject == operation.subject && same(task))
                };
                // The lines and the summary may be interleaved, but only at the beginning of the
                // summary.
                let again = match operation.kind.as_str() {
                    "create" => repeats(initial),
                    kind if kind.starts_with("native") => {
                        !initial.is_empty() || !later.is_empty() || repeats(native)
                    }
                    _ => false,
                };
                again || self.summary.is_complete()
            }
            LogLine::Row(row) => self.summary.has(row.tally),
            LogLine::NoRuns(tally) => self.summary.has(tally),
            LogLine::Caught(_) | LogLine::Furniture => false,
        }
    }

    fn take(&mut self, at: usize, parsed: LogLine) {
        match parsed {
            LogLine::Opening { directory, initial_dirs, runs } => {
                self.opening = Some((directory, initial_dirs, runs));
            }
            LogLine::Operation(operation) => self.operation(at, operation),
            LogLine::Row(row) => self.summary.row(at, row),
            LogLine::NoRuns(tally) => self.summary.no_runs(at, tally),
            LogLine::Caught(signal) => self.caught = Some(signal),
            LogLine::Furniture => {}
        }
    }

    fn operation(&mut self, at: usize, operation: OperationLine) {
        let [native, initial, later] = &mut self.phases;
        let OperationLine { kind, subject, mib, wall_ns, mib_per_second } = operation;
        let listed_bytes = listed_bytes(mib, mib_per_second, wall_ns);
        let task = TaskTotals { wall_ns, subject, listed_bytes, ..TaskTotals::default() };
        if kind.starts_with("native") {
            native.push(TaskTotals { kind, ..task });
            return;
        }
        let reported = self.states.follow(&kind, &task.subject);
        if reported.is_surprising {
            let message = format!(
                "{kind} of {}, which the preceding lines do not explain: taken as {}",
                task.subject, reported.state
            );
            self.remarks.push(Remark { line: at + 1, what: message });
        }
        let wanted = self.opening.as_ref().map_or(u64::MAX, |(_, dirs, _)| *dirs);
        // Later trees have larger, drawn numbers; lines may be missing.
        let number = task.subject.strip_prefix("kernel-").and_then(whole);
        let follows = |number: u64| match &self.opening {
            Some(_) => number < wanted,
            None => number == initial.len() as u64,
        };
        let is_initial = kind == "create" && later.is_empty() && number.is_some_and(follows);
        let (kind, tally) = if is_initial {
            ("initial create", "intial create")
        } else {
            (kind.as_str(), reported.tally)
        };
        let task = TaskTotals {
            kind: kind.to_owned(),
            tally: tally.to_owned(),
            state: reported.state.to_owned(),
            ..task
        };
        self.summary.count(&task, mib_per_second);
        let [_, initial, later] = &mut self.phases;
        if is_initial { initial.push(task) } else { later.push(task) }
    }

    /// Converts the run to a trial, with remarks about disagreements.
    fn finish(mut self, at: usize, remarks: &mut Vec<Remark>) -> ForeignTrial {
        let mut trial = ForeignTrial { workload: "compilebench", ..ForeignTrial::default() };
        trial.fact(IMPORT_FACT, "compilebench");
        if let Some((directory, initial_dirs, runs)) = self.opening {
            trial.target = directory;
            trial.parameter("initial-dirs", initial_dirs);
            trial.parameter("runs", runs);
        }
        let is_sample = self.summary.has_sample_lines();
        if is_sample {
            self.phases = Default::default();
            self.remarks.clear();
        }
        let has_lines = self.phases.iter().any(|tasks| !tasks.is_empty());
        trial.metrics = if has_lines {
            self.summary.metrics(&self.phases)
        } else {
            self.summary.metrics_alone()
        };
        for (tally, times) in self.summary.cpu_times() {
            trial.fact(&format!("import.cpu.{tally}"), times);
        }
        for (tasks, name) in std::mem::take(&mut self.phases).into_iter().zip(PHASES) {
            add_phase(&mut trial, name, tasks);
        }
        let why = match self.caught {
            Some(signal) => Some(format!("signal {signal} ended it")),
            None if !self.summary.is_begun() => Some("the log has no summary".to_owned()),
            None => None,
        };
        trial.is_interrupted = why.is_some();
        if let Some(why) = why {
            let message = format!("the run is incomplete: {why}; kept as interrupted");
            remarks.push(Remark { line: at + 1, what: message });
        }
        remarks.append(&mut self.remarks);
        if has_lines {
            remarks.extend(self.summary.disagreements());
        } else if self.summary.is_begun() {
            let message = if is_sample {
                "the lines are only a sample of what the summary counts: its averages are used"
            } else {
                "a summary without the lines of the run: its averages are used"
            };
            remarks.push(Remark { line: at + 1, what: message.to_owned() });
        }
        trial
    }
}

fn add_phase(trial: &mut ForeignTrial, name: &str, tasks: Vec<TaskTotals>) {
    if tasks.is_empty() {
        return;
    }
    let phase = u32::try_from(trial.phases.len()).unwrap_or(u32::MAX);
    let began_ns = trial.wall_ns;
    let mut totals =
        PhaseTotals { phase, name: name.to_owned(), began_ns, ..PhaseTotals::default() };
    for (number, mut task) in (0..).zip(tasks) {
        (task.phase, task.task, task.began_ns) = (phase, number, trial.wall_ns);
        trial.wall_ns = trial.wall_ns.saturating_add(task.wall_ns);
        totals.tasks += 1;
        trial.tasks.push(task);
    }
    // Pauses between the operations are not in the log.
    totals.wall_ns = trial.wall_ns - began_ns;
    trial.phases.push(totals);
}

/// Bytes that an operation moved: printed rate times time, which is more exact than whole MiB.
fn listed_bytes(mib: Option<u64>, mib_per_second: Option<f64>, wall_ns: u64) -> u64 {
    let by_rate = mib_per_second.map(|rate| rate * (wall_ns as f64 / 1e9));
    let near = by_rate.or(mib.map(|mib| mib as f64)).unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let bytes = (near * 1_048_576.0).round() as u64;
    bytes.min(i64::MAX.unsigned_abs())
}
