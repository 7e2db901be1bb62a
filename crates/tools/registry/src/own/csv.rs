//! Import of exported tables of tasks and of metrics. They hold a part of a trial: its parameters
//! and its environment are only in the JSON.

use treering_model::{
    BetterDirection, CpuTime, Ending, Fact, IMPORT_FACT, Metric, PhaseTotals, RunMode, Scope,
    TaskTotals, Trial, TrialHeader, TrialId, Unit, is_formula,
};

use treering_kit::import::log::Log;
use treering_kit::import::number::{decimal, nanoseconds, whole};
use treering_kit::import::trial::ImportedTrial;
use treering_kit::import::{ParsedOutputs, Remark};

/// Leading columns of every table.
const TRIAL: [&str; 4] = ["trial", "workload", "mode", "label"];

/// Kind of an exported table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableKind {
    Tasks,
    Metrics,
    /// Table of calls or of seconds, from which no trial can be built.
    Other,
}

/// Kind of the table whose header is at this line.
pub(super) fn table(log: &Log<'_>, at: usize) -> Option<TableKind> {
    let text = log.line(at);
    if !text.trim_start_matches('"').starts_with(TRIAL[0]) {
        return None;
    }
    let names = fields(text)?;
    let begins = names.len() > TRIAL.len() && TRIAL.iter().zip(&names).all(|(a, b)| a == b);
    let has = |wanted: &[&str]| wanted.iter().all(|name| names.iter().any(|known| known == name));
    if !begins {
        return None;
    }
    Some(if has(&["subject", "seconds", "listed_bytes"]) {
        TableKind::Tasks
    } else if has(&["metric", "scope", "value", "unit", "better"]) {
        TableKind::Metrics
    } else {
        TableKind::Other
    })
}

/// Reads a table.
pub(super) fn read(log: &Log<'_>, at: usize) -> ParsedOutputs {
    let table = table(log, at).unwrap_or(TableKind::Other);
    let names = fields(log.line(at)).unwrap_or_default();
    let mut trials: Vec<Trial> = Vec::new();
    let mut remarks = Vec::new();
    let mut end = at + 1;
    while end < log.len() {
        let Some(values) = fields(log.line(end)) else { break };
        if values.len() != names.len() || values == names {
            break;
        }
        let row = CsvRow { names: &names, values: &values };
        if table != TableKind::Other && row.add_to(&mut trials, table).is_none() {
            let message = "this row of a table of treering cannot be read; skipped".to_owned();
            remarks.push(Remark { line: end + 1, what: message });
        }
        end += 1;
    }
    let message = match table {
        TableKind::Tasks => "a table of tasks, without parameters, environment and metrics",
        TableKind::Metrics => "a table of metrics, without parameters, environment and tasks",
        TableKind::Other => "a table of calls or of seconds cannot be imported",
    };
    let message = format!("{message}; `treering export --format json` keeps everything");
    remarks.push(Remark { line: at + 1, what: message });
    let outputs = trials.into_iter().map(|trial| ImportedTrial::Own(Box::new(trial))).collect();
    ParsedOutputs { end, outputs, remarks }
}

struct CsvRow<'r> {
    names: &'r [String],
    values: &'r [String],
}

impl CsvRow<'_> {
    fn get(&self, name: &str) -> &str {
        let place = self.names.iter().position(|known| known == name);
        place.and_then(|place| self.values.get(place)).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        whole(self.get(name))
    }

    /// Number of a field; 0 if the export left it empty.
    fn number_or_none(&self, name: &str) -> Option<u64> {
        if self.get(name).is_empty() { Some(0) } else { self.number(name) }
    }

    fn ns(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            "" => Some(0),
            text => nanoseconds(decimal(text)?),
        }
    }

    /// Adds the row to its trial; `None` if a field is invalid.
    fn add_to(&self, trials: &mut Vec<Trial>, table: TableKind) -> Option<()> {
        let id: TrialId = self.get("trial").parse().ok()?;
        let mode = match self.get("mode") {
            "native" => RunMode::Native,
            "classic" => RunMode::Classic,
            _ => return None,
        };
        let task = if table == TableKind::Tasks { Some(self.task()?) } else { None };
        let metric = if table == TableKind::Metrics { Some(self.metric()?) } else { None };
        let place = trials.iter().position(|trial| trial.beginning.trial == id);
        let place = place.unwrap_or_else(|| {
            trials.push(self.trial(id, mode));
            trials.len() - 1
        });
        let trial = trials.get_mut(place)?;
        if let Some(task) = task {
            let end_ns = task.began_ns.saturating_add(task.wall_ns);
            trial.wall_ns = trial.wall_ns.max(end_ns);
            self.phase(trial, &task, end_ns);
            trial.tasks.push(task);
            if self.get("user_s").is_empty() && trial.fact(IMPORT_FACT).is_none() {
                // Empty fields of the export would look like 0.
                let (name, value) = (IMPORT_FACT.to_owned(), "treering csv".to_owned());
                trial.facts.push(Fact { name, value });
            }
        }
        trial.metrics.extend(metric);
        Some(())
    }

    fn trial(&self, trial: TrialId, mode: RunMode) -> Trial {
        Trial {
            ending: Ending::Completed,
            ..Trial::new(TrialHeader {
                label: self.get("label").to_owned(),
                ..TrialHeader::new(trial, self.get("workload"), mode)
            })
        }
    }

    fn phase(&self, trial: &mut Trial, task: &TaskTotals, end_ns: u64) {
        let phase = task.phase;
        let place = trial.phases.iter().position(|known| known.phase == phase);
        if place.is_none() {
            let name = self.get("phase_name").to_owned();
            let began_ns = self.ns("began_s").unwrap_or(0);
            let phase_totals = PhaseTotals { phase, name, began_ns, ..PhaseTotals::default() };
            trial.phases.push(phase_totals);
        }
        if let Some(phase) = trial.phases.iter_mut().find(|known| known.phase == phase) {
            phase.wall_ns = phase.wall_ns.max(end_ns.saturating_sub(phase.began_ns));
            phase.tasks += 1;
            phase.files = phase.files.saturating_add(task.files);
            phase.bytes = phase.bytes.saturating_add(task.bytes);
            let sum = |so_far: u64, more: u64| so_far.saturating_add(more);
            phase.cpu.user_ns = sum(phase.cpu.user_ns, task.cpu.user_ns);
            phase.cpu.system_ns = sum(phase.cpu.system_ns, task.cpu.system_ns);
        }
    }

    fn task(&self) -> Option<TaskTotals> {
        let cpu = |user: &str, system: &str| {
            Some(CpuTime { user_ns: self.ns(user)?, system_ns: self.ns(system)? })
        };
        Some(TaskTotals {
            phase: u32::try_from(self.number("phase")?).ok()?,
            task: u32::try_from(self.number("task")?).ok()?,
            worker: u16::try_from(self.number("worker")?).ok()?,
            kind: self.get("kind").to_owned(),
            subject: self.get("subject").to_owned(),
            state: self.get("state").to_owned(),
            tally: self.get("tally").to_owned(),
            began_ns: self.ns("began_s")?,
            wall_ns: self.ns("seconds")?,
            sync_ns: self.ns("sync_seconds")?,
            cpu: cpu("user_s", "system_s")?,
            sync_cpu: cpu("sync_user_s", "sync_system_s")?,
            files: self.number_or_none("files")?,
            bytes: self.number_or_none("bytes")?,
            listed_bytes: self.number_or_none("listed_bytes")?,
            ops: Vec::new(),
            ..TaskTotals::default()
        })
    }

    fn metric(&self) -> Option<Metric> {
        let scope_name = self.get("scope_name").to_owned();
        let scope = match self.get("scope") {
            "trial" => Scope::Trial,
            "phase" => Scope::Phase(scope_name),
            "kind" => Scope::Kind(scope_name),
            _ => return None,
        };
        let better = match self.get("better") {
            "higher" => BetterDirection::Higher,
            "lower" => BetterDirection::Lower,
            _ => return None,
        };
        let value = self.get("value").parse().ok().filter(|value: &f64| value.is_finite())?;
        let unit = Unit::ALL.into_iter().find(|unit| unit.symbol() == self.get("unit"))?;
        let metric = Metric::new(self.get("metric"), scope, value, unit, better);
        Some(metric.primary_if(self.get("primary") == "true").of_tasks(self.number("tasks")?))
    }
}

/// Splits a line of CSV (RFC 4180); `None` if a quotation is not closed.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut letters = line.chars().peekable();
    loop {
        let mut field = String::new();
        if letters.next_if_eq(&'"').is_some() {
            loop {
                match letters.next()? {
                    '"' if letters.next_if_eq(&'"').is_some() => field.push('"'),
                    '"' => break,
                    letter => field.push(letter),
                }
            }
        }
        while let Some(letter) = letters.next_if(|letter| *letter != ',') {
            field.push(letter);
        }
        // An apostrophe keeps a spreadsheet from evaluating the text as a formula.
        if field.starts_with('\'') && is_formula(&field) {
            field.remove(0);
        }
        fields.push(field);
        if letters.next().is_none() {
            return Some(fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn fields_may_hold_commas_and_quotation_marks() {
        let read = fields("a,\"b, \"\"c\"\"\",,d").unwrap();
        assert_eq!(read, ["a", "b, \"c\"", "", "d"]);
        assert_eq!(fields("").unwrap(), [""]);
        assert_eq!(fields("\"open"), None);
    }

    #[test]
    fn only_the_apostrophe_before_a_formula_is_removed() {
        let read = fields("\"'=1\",\"''=1\",'a,-5,\"'-x\"").unwrap();
        assert_eq!(read, ["=1", "'=1", "'a", "-5", "-x"]);
    }
}
