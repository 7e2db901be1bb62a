//! Output of dbench 3, 4 and 5, and of the variant that MMTests uses: the options, a line each
//! second, the time of each pass over the load, the table of operations, and the result.
//!
//! Reports often show the table and the result with the per-second lines below them, or the result
//! alone, so each part may be missing.

mod lines;
mod rates;
mod trial;

use lines::{
    OperationRow, OutputLine, PassLine, ProgressLine, ResultLine, is_rule, line, may_begin,
};
use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::Log;
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::{Importer, ParsedOutputs, Remark, any_begins};

/// Reads output of dbench.
pub(crate) struct DbenchImporter;

/// Name of the tool and of its workload.
const TOOL: &str = "dbench";
/// Maximum number of foreign lines, or of error messages, between two lines of a run.
const GAP_LINES_MOST: usize = 200;
/// Maximum number of foreign lines between the result and per-second progress shown below it.
const DETAIL_GAP_LINES_MOST: usize = 10;

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 7] = [
    KnownText {
        line: "warmup",
        numbers: LeftOutNumbers::All,
        why: "dbench does not count its warm-up",
    },
    KnownText {
        line: "cleanup",
        numbers: LeftOutNumbers::All,
        why: "dbench does not count its cleanup",
    },
    KnownText {
        line: "@W@",
        numbers: LeftOutNumbers::All,
        why: "dbench does not count its warm-up",
    },
    KnownText {
        line: "@C@",
        numbers: LeftOutNumbers::All,
        why: "dbench does not count its cleanup",
    },
    KnownText {
        line: " execute ",
        numbers: LeftOutNumbers::All,
        why: "amounts of a second follow from two lines, the result has the largest latency",
    },
    KnownText {
        line: "processes prepared for launch",
        numbers: LeftOutNumbers::All,
        why: "how the clients were started",
    },
    KnownText {
        line: "clients started",
        numbers: LeftOutNumbers::All,
        why: "how the clients were started",
    },
];

impl Importer for DbenchImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        match log.read_if(may_begin, at, line) {
            Some((parsed, _)) => !matches!(
                parsed,
                OutputLine::Row(_)
                    | OutputLine::OfClient
                    | OutputLine::Failed(_)
                    | OutputLine::Furniture
            ),
            None => false,
        }
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let log = &*log;
        let mut reader = RunReader { log, stretch: LineCursor::from(at) };
        let mut run = ParsedRun::default();
        reader.read(&mut run);
        if let Some(detail) = reader.detail(&run) {
            while reader.stretch.next() < detail {
                reader.stretch.pass(log);
            }
            reader.read(&mut run);
        }
        let end = reader.stretch.end();
        let mut remarks = reader.stretch.remarks();
        let (trial, parsed) = trial::trial(&run);
        remarks.extend(parsed.into_iter().map(|message| Remark { line: at + 1, what: message }));
        ParsedOutputs::new(end, trial, remarks)
    }
}

/// A run, put together line by line.
#[derive(Default)]
struct ParsedRun {
    version: Option<String>,
    /// Planned seconds, load, and seconds of warm-up.
    plan: Option<(u64, String, u64)>,
    warm_up: Vec<ProgressLine>,
    ticks: Vec<ProgressLine>,
    passes: Vec<PassLine>,
    /// True once a table has begun; the second flag is true if the table is that of one client.
    has_table: bool,
    is_of_client: bool,
    /// Number of per-client tables.
    client_tables: u64,
    rows: Vec<OperationRow>,
    outcome: Option<ResultLine>,
    /// Error message of a failed run.
    failure: Option<String>,
}

impl ParsedRun {
    /// True if `parsed` can be the next line of the run.
    fn goes_on(&self, parsed: &OutputLine) -> bool {
        let is_in_table = self.has_table || !self.rows.is_empty();
        let has_begun = !self.warm_up.is_empty() || !self.ticks.is_empty() || is_in_table;
        if self.is_over() {
            // The seconds may be shown below the result.
            return match parsed {
                OutputLine::Tick(tick) => self.has_tick_before(tick),
                _ => false,
            };
        }
        match parsed {
            OutputLine::Started(_) => self.version.is_none() && self.plan.is_none() && !has_begun,
            OutputLine::Running { .. } => self.plan.is_none() && !has_begun,
            OutputLine::Tick(tick) => !is_in_table && self.has_tick_before(tick),
            OutputLine::Pass(_) => !is_in_table,
            OutputLine::TableBegins => self.is_of_client || !is_in_table,
            OutputLine::Row(row) => {
                let is_known = self.rows.iter().any(|known| known.op == row.op);
                is_in_table && (self.is_of_client || !is_known)
            }
            OutputLine::OfClient => is_in_table,
            OutputLine::Result(_) | OutputLine::Failed(_) | OutputLine::Furniture => true,
        }
    }

    /// True if the tick continues the ticks of its phase.
    fn has_tick_before(&self, tick: &ProgressLine) -> bool {
        let of_phase = if tick.is_warm_up { &self.warm_up } else { &self.ticks };
        let is_later = of_phase.last().is_none_or(|last| last.seconds < tick.seconds);
        is_later && (!tick.is_warm_up || self.ticks.is_empty())
    }

    fn take(&mut self, parsed: OutputLine) {
        match parsed {
            OutputLine::Started(version) => self.version = Some(version),
            OutputLine::Running { seconds, load, warm_up_seconds } => {
                self.plan = Some((seconds, load, warm_up_seconds));
            }
            OutputLine::Tick(tick) if tick.is_warm_up => self.warm_up.push(tick),
            OutputLine::Tick(tick) => self.ticks.push(tick),
            OutputLine::Pass(pass) => self.passes.push(pass),
            OutputLine::TableBegins => self.has_table = true,
            OutputLine::Row(row) if !self.is_of_client => self.rows.push(row),
            OutputLine::OfClient => {
                self.is_of_client = true;
                self.client_tables += 1;
            }
            OutputLine::Result(outcome) => self.outcome = Some(outcome),
            OutputLine::Failed(words) => self.failure = Some(words),
            OutputLine::Row(_) | OutputLine::Furniture => {}
        }
    }

    fn is_over(&self) -> bool {
        self.outcome.is_some() || self.failure.is_some()
    }
}

/// Reader of a run's lines.
struct RunReader<'l, 't> {
    log: &'l Log<'t>,
    stretch: LineCursor,
}

impl RunReader<'_, '_> {
    /// Reads lines up to the result, or to the start of other output.
    fn read(&mut self, run: &mut ParsedRun) {
        let was_over = run.is_over();
        while self.stretch.next() < self.log.len().min(self.stretch.end() + GAP_LINES_MOST) {
            let next = self.stretch.next();
            let Some((parsed, count)) = self.log.read(next, line) else {
                let is_rule = run.has_table && is_rule(self.log.line(next));
                if is_rule {
                    self.stretch.take(self.log, 1);
                } else if any_begins(self.log, next) {
                    break;
                } else {
                    self.stretch.pass(self.log);
                }
                continue;
            };
            if !run.goes_on(&parsed) {
                break;
            }
            run.take(parsed);
            self.stretch.take(self.log, count);
            if run.is_over() && !was_over {
                break;
            }
        }
        self.stretch.go_back();
    }

    /// First line of the per-second progress shown below the result; the last tick there has the
    /// rate of the result.
    fn detail(&self, run: &ParsedRun) -> Option<usize> {
        let outcome = run.outcome.filter(|_| run.ticks.is_empty() && run.version.is_none())?;
        let tick = |at: usize| match self.log.read(at, line) {
            Some((OutputLine::Tick(tick), count)) => Some((tick, count)),
            _ => None,
        };
        let below =
            self.stretch.end()..self.log.len().min(self.stretch.end() + DETAIL_GAP_LINES_MOST);
        let first = below.clone().find(|at| any_begins(self.log, *at))?;
        let (mut last, count) = tick(first)?;
        let mut next = first + count;
        while let Some((tick, count)) = tick(next).filter(|(tick, _)| tick.seconds > last.seconds) {
            last = tick;
            next += count;
        }
        let is_its = (last.mb_per_second - outcome.mb_per_second).abs() < 0.01;
        (is_its && last.clients == outcome.clients).then_some(first)
    }
}
