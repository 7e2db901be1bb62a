//! Events of a stored trial in order, as a listener received them during the run.
//!
//! The store has no row for the start of a task, but the start occupies a position in the stream.
//! At each position without a row, the next task of the current phase began.

use std::collections::{BTreeMap, HashMap};

use treering_model::{Fact, TaskTotals, TrialEvent, TrialId};

use crate::load::{
    ARTIFACTS, CAUTIONS, ENDING, FACTS, METRICS, artifact, caution, counters, ending, metric,
};
use crate::values::fields::{RowFields, integer};
use crate::version::Version;
use crate::{LoadDetail, Store, StoreError};

const NUMBER: &str = "SELECT trial FROM trials WHERE id = ?1";
const PHASE_STARTS: &str =
    "SELECT seq, phase, name, at_ns FROM phase_starts WHERE trial = ?1 ORDER BY seq";
const TICKS: &str =
    "SELECT seq, phase, at_ns, bytes, body FROM ticks WHERE trial = ?1 ORDER BY seq";

/// Maximum number of consecutive positions examined: a group has fewer tasks.
const FREE_MOST: i64 = 1 << 17;

impl Store {
    /// Events of a trial. Starts of unfinished tasks are missing, and task starts do not include
    /// the expected number of bytes.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn events(&self, trial: TrialId) -> Result<Vec<TrialEvent>, StoreError> {
        let _snapshot = self.snapshot()?;
        let beginning = self.read(trial, LoadDetail::Headlines)?.beginning;
        let number = self.read_row(NUMBER, trial.text(), "trials", integer::<i64>)?;
        let number = number.unwrap_or_default();
        let mut events = self.stored_events(number)?;
        events.insert(0, TrialEvent::Began(beginning));
        Ok(with_beginnings(events))
    }

    /// Reads all events that have rows, by position.
    fn stored_events(&self, trial: i64) -> Result<BTreeMap<i64, TrialEvent>, StoreError> {
        let mut events = BTreeMap::new();
        let facts = self.placed(FACTS, trial, "facts", |fields| {
            Ok(Fact { name: fields.text()?, value: fields.text()? })
        })?;
        for (seq, fact) in facts {
            let none = || TrialEvent::Environment { facts: Vec::new() };
            if let TrialEvent::Environment { facts } = events.entry(seq).or_insert_with(none) {
                facts.push(fact);
            }
        }
        events.extend(self.rows(PHASE_STARTS, [trial], "phase_starts", |fields| {
            let seq = fields.integer()?;
            let (phase, name, at_ns) = (fields.integer()?, fields.text()?, fields.integer()?);
            Ok((seq, TrialEvent::PhaseBegan { phase, name, at_ns }))
        })?);
        let tasks = self.tasks(trial, LoadDetail::Everything)?.into_iter();
        events.extend(tasks.map(|(seq, task)| (seq, TrialEvent::TaskEnded(task))));
        let phases = self.phases(trial, LoadDetail::Everything)?.into_iter();
        events.extend(phases.map(|(seq, phase)| (seq, TrialEvent::PhaseEnded(phase))));
        let event = |fields: &mut RowFields<'_>| metric(fields).map(TrialEvent::Measured);
        events.extend(self.placed(METRICS, trial, "metrics", event)?);
        let event = |fields: &mut RowFields<'_>| caution(fields).map(TrialEvent::Cautioned);
        events.extend(self.placed(CAUTIONS, trial, "cautions", event)?);
        if self.version() >= Version::WITH_ARTIFACTS {
            let event = |fields: &mut RowFields<'_>| artifact(fields).map(TrialEvent::Produced);
            events.extend(self.placed(ARTIFACTS, trial, "artifacts", event)?);
        }
        if self.version() >= Version::WITH_COUNTERS {
            events.extend(self.rows(TICKS, [trial], "ticks", |fields| {
                let seq = fields.integer()?;
                let (phase, at_ns) = (fields.integer()?, fields.integer()?);
                Ok((seq, TrialEvent::Ticked { phase, at_ns, counters: counters(fields)? }))
            })?);
        }
        events.extend(self.placed(ENDING, trial, "endings", |fields| {
            let (ending, at_ns) = ending(fields)?;
            Ok(TrialEvent::Ended { ending, at_ns })
        })?);
        Ok(events)
    }

    /// Reads the rows of a query, which does not select positions, together with their positions.
    fn placed<T>(
        &self,
        query: &str,
        trial: i64,
        table: &'static str,
        mut make: impl FnMut(&mut RowFields<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<(i64, T)>, StoreError> {
        let query = query.replacen("SELECT ", "SELECT seq, ", 1);
        self.rows(&query, [trial], table, |fields| Ok((fields.integer()?, make(fields)?)))
    }
}

/// Inserts the starts of tasks at the free positions.
fn with_beginnings(kept: BTreeMap<i64, TrialEvent>) -> Vec<TrialEvent> {
    let mut begun: HashMap<(u32, u32), TrialEvent> = HashMap::new();
    for event in kept.values() {
        if let TrialEvent::TaskEnded(TaskTotals { phase, task, kind, subject, .. }) = event {
            let (phase, task) = (*phase, *task);
            let (kind, subject) = (kind.clone(), subject.clone());
            let event = TrialEvent::TaskBegan { phase, task, kind, subject, expected_bytes: 0 };
            begun.insert((phase, task), event);
        }
    }
    let (mut events, mut place, mut next) = (Vec::new(), None, 0_i64);
    for (seq, event) in kept {
        let free = seq.saturating_sub(next).clamp(0, FREE_MOST);
        if let Some((phase, task)) = &mut place {
            for _position in 0..free {
                events.extend(begun.remove(&(*phase, *task)));
                *task = u32::saturating_add(*task, 1);
            }
        }
        next = seq.saturating_add(1);
        if let TrialEvent::PhaseBegan { phase, .. } = &event {
            place = Some((*phase, 0));
        }
        events.push(event);
    }
    events
}
