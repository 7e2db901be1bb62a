//! Trials read from logs, and their events.

use std::iter::once;

use treering_model::{
    Caution, Ending, Fact, IMPORT_COMMAND_FACT, IMPORT_FACT, Metric, PhaseTotals, RunMode,
    TaskTotals, Trial, TrialEvent, TrialHeader,
};

use crate::import::rows::PhaseRows;

/// Trial in an output.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportedTrial {
    /// Trial of another tool, which has no identity and no label yet.
    Foreign(Box<ForeignTrial>),
    /// Complete trial of treering.
    Own(Box<Trial>),
}

/// Run as the log of another tool describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignTrial {
    /// Name of the workload.
    pub workload: &'static str,
    /// Name of the run in the log, for a label; empty if there is none.
    pub name: String,
    /// Directory under test, empty when the log does not state it.
    pub target: String,
    /// Start of the run by the log, in milliseconds since 1970; local time of that machine is taken
    /// as UTC.
    pub started_unix_ms: Option<i64>,
    /// Parameters of the run.
    pub parameters: Vec<(String, String)>,
    /// Facts about the target.
    pub facts: Vec<Fact>,
    /// Cautions about the run.
    pub cautions: Vec<Caution>,
    /// Leading phases with their metrics.
    pub rows: PhaseRows,
    /// Further phases.
    pub phases: Vec<PhaseTotals>,
    /// Tasks in the order of their phases.
    pub tasks: Vec<TaskTotals>,
    /// Metrics of the run.
    pub metrics: Vec<Metric>,
    /// True if the run is incomplete, for a reason given in the remarks.
    pub is_interrupted: bool,
    /// Wall time of the run; 0 when the log does not state it.
    pub wall_ns: u64,
    /// True if the trials of the output that have the same name are rounds of one side.
    pub is_round: bool,
    /// True if the content tells the trial from all others, in whatever file and lines it stands.
    pub stands_alone: bool,
}

impl ForeignTrial {
    /// Converts the rows to phases and metrics.
    pub fn unfold(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.phases.splice(..0, rows.phases());
        self.metrics.splice(..0, rows.metrics());
    }

    /// True if the trial has any result.
    pub fn has_numbers(&self) -> bool {
        let has_totals = !self.phases.is_empty() || !self.tasks.is_empty();
        has_totals || !self.metrics.is_empty() || !self.rows.is_empty()
    }

    /// Completes the trial with the data that the log lacks: identity, label, time.
    pub fn with(mut self, beginning: TrialHeader) -> Trial {
        self.unfold();
        let ending = if self.is_interrupted { Ending::Interrupted } else { Ending::Completed };
        Trial {
            facts: self.facts,
            phases: self.phases,
            tasks: self.tasks,
            metrics: self.metrics,
            cautions: self.cautions,
            ending,
            wall_ns: self.wall_ns,
            ..Trial::new(TrialHeader {
                workload: self.workload.to_owned(),
                mode: RunMode::Classic,
                target: self.target,
                parameters: self.parameters,
                cell: None,
                ..beginning
            })
        }
    }

    /// Records the tool: the workload, and its version if the log states one.
    pub fn record_tool(&mut self, version: Option<&str>) {
        let tool = format!("{} {}", self.workload, version.unwrap_or_default());
        self.fact(IMPORT_FACT, tool.trim());
    }

    /// Records the command line that the log has: the tool with these arguments.
    pub fn record_command<W: AsRef<str>>(&mut self, arguments: &[W]) {
        if !arguments.is_empty() {
            let arguments = arguments.iter().map(AsRef::as_ref);
            let words: Vec<&str> = once(self.workload).chain(arguments).collect();
            self.fact(IMPORT_COMMAND_FACT, words.join(" "));
        }
    }

    /// Records the command line that a launcher started on so many ranks, which is an option here.
    pub fn record_launched<W: AsRef<str>>(&mut self, arguments: &[W], ranks: Option<u64>) {
        if arguments.is_empty() {
            return;
        }
        let ranks = ranks.filter(|ranks| *ranks > 1).map(|ranks| ranks.to_string());
        let launched = ranks.iter().flat_map(|ranks| ["--ranks", ranks]);
        let words: Vec<&str> = launched.chain(arguments.iter().map(AsRef::as_ref)).collect();
        self.record_command(&words);
    }

    /// Sets the end of the run, in milliseconds since 1970; if the start is known, this determines
    /// the wall time.
    pub fn ended(&mut self, ended_unix_ms: Option<i64>) {
        if let Some((began, ended)) = self.started_unix_ms.zip(ended_unix_ms) {
            let took_ms = u64::try_from(ended.saturating_sub(began)).unwrap_or(0);
            self.wall_ns = took_ms.saturating_mul(1_000_000);
        }
    }

    /// Adds a fact.
    pub fn fact(&mut self, name: &str, value: impl ToString) {
        self.facts.push(Fact { name: name.to_owned(), value: value.to_string() });
    }

    /// Adds a parameter.
    pub fn parameter(&mut self, name: &str, value: impl ToString) {
        self.parameters.push((name.to_owned(), value.to_string()));
    }
}

/// Events by which a store receives a trial and its separate rows, one at a time.
pub fn events_of<'t>(
    trial: &'t Trial,
    rows: &'t PhaseRows,
) -> impl Iterator<Item = TrialEvent> + 't {
    let Trial { facts, ending, wall_ns, .. } = trial;
    let of_phase = |phase: PhaseTotals| {
        let began = TrialEvent::PhaseBegan {
            phase: phase.phase,
            name: phase.name.clone(),
            at_ns: phase.began_ns,
        };
        let number = phase.phase;
        let tasks = trial.tasks.iter().filter(move |task| task.phase == number);
        let ended = TrialEvent::PhaseEnded(phase);
        once(began).chain(tasks.cloned().map(TrialEvent::TaskEnded)).chain(once(ended))
    };
    once(TrialEvent::Began(trial.beginning.clone()))
        .chain(once(TrialEvent::Environment { facts: facts.clone() }))
        .chain(trial.cautions.iter().cloned().map(TrialEvent::Cautioned))
        .chain(rows.phases().chain(trial.phases.iter().cloned()).flat_map(of_phase))
        .chain(rows.metrics().chain(trial.metrics.iter().cloned()).map(TrialEvent::Measured))
        .chain(trial.artifacts.iter().cloned().map(TrialEvent::Produced))
        .chain(once(TrialEvent::Ended { ending: ending.clone(), at_ns: *wall_ns }))
}
