//! Loading of trials: complete, or only the parts that a comparison of thousands needs.

use std::collections::HashSet;
use std::num::NonZero;
use std::thread;

use treering_model::{
    Annotation, Artifact, Caution, CautionCode, Cell, CellRole, Counters, CpuTime, Ending, Fact,
    IntervalTotals, Metric, Op, OpTotals, PhaseTotals, TaskTotals, Trial, TrialHeader, TrialId,
};

use crate::connection::ErrorContext;
use crate::values::fields::RowFields;
use crate::values::word;
use crate::version::Version;
use crate::{Access, Store, StoreError};

const BEGINNING: &str = "SELECT trial, event_version, started_unix_ms, treering_version, \
    workload, mode, label, target FROM trials WHERE id = ?1";
const PARAMETERS: &str = "SELECT name, value FROM parameters WHERE trial = ?1 ORDER BY ordinal";
const CELL: &str = "SELECT campaign, plan, digest, variant, job, round, role FROM cells \
    WHERE trial = ?1";
pub(crate) const FACTS: &str =
    "SELECT name, value FROM facts WHERE trial = ?1 ORDER BY seq, ordinal";
const PHASES: &str = "SELECT seq, phase, name, began_ns, wall_ns, tasks, files, bytes, user_ns, \
    system_ns FROM phases WHERE trial = ?1 ORDER BY seq";
const PHASE_OPS: &str = "SELECT seq, op, calls, errors, bytes, samples, latency FROM phase_ops \
    WHERE trial = ?1 ORDER BY seq, ordinal";
const INTERVALS: &str =
    "SELECT seq, second, calls, bytes FROM intervals WHERE trial = ?1 ORDER BY seq, ordinal";
const TASKS: &str = "SELECT seq, phase, task, worker, kind, subject, state, tally, began_ns, \
    wall_ns, sync_ns, user_ns, system_ns, sync_user_ns, sync_system_ns, files, bytes, \
    listed_bytes FROM tasks WHERE trial = ?1 ORDER BY seq";
const TASK_OPS: &str = "SELECT seq, op, calls, errors, bytes, samples, latency FROM task_ops \
    WHERE trial = ?1 ORDER BY seq, ordinal";
pub(crate) const METRICS: &str = "SELECT name, part, scope, value, unit, better, is_primary, tasks \
    FROM metrics WHERE trial = ?1 ORDER BY seq";
pub(crate) const CAUTIONS: &str =
    "SELECT code, message FROM cautions WHERE trial = ?1 ORDER BY seq";
pub(crate) const ARTIFACTS: &str = "SELECT kind, version, phase, name, bytes, body FROM artifacts \
    WHERE trial = ?1 ORDER BY seq";
const ARTIFACTS_OF_KIND: &str = "SELECT t.id, a.kind, a.version, a.phase, a.name, a.bytes, a.body \
    FROM artifacts a JOIN trials t ON t.trial = a.trial WHERE a.kind = ?1 \
    ORDER BY a.trial, a.seq";
const COUNTERS: &str = "SELECT seq, bytes, body FROM counters WHERE trial = ?1 ORDER BY seq";
pub(crate) const ENDING: &str = "SELECT why, ending, wall_ns FROM endings WHERE trial = ?1";

/// Maximum number of reader threads, and number of trials that justifies one.
const READERS_MOST: usize = 4;
const SHARE_FEWEST: usize = 500;

/// Level of detail to load for a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadDetail {
    /// Beginning, facts, metrics, cautions, ending, and phases without calls and intervals; no
    /// tasks.
    Headlines,
    /// Headlines and tasks without calls.
    Tasks,
    /// Tasks without calls, phases with calls and intervals, and observer artifacts.
    PhaseCalls,
    /// Everything, including the calls of tasks.
    Everything,
}

impl Store {
    /// Loads a complete trial, histograms included, as the model's `TrialBuilder` assembles it from
    /// events.
    ///
    /// # Errors
    /// [`StoreError::NoSuchTrial`]; [`StoreError::Content`] for contents that no
    /// treering of this version recorded.
    pub fn load(&self, trial: TrialId) -> Result<Trial, StoreError> {
        let _snapshot = self.snapshot()?;
        self.read(trial, LoadDetail::Everything)
    }

    /// Facts with these names from all trials, newest trial first.
    ///
    /// # Errors
    /// If the file cannot be read, or has invalid contents.
    pub fn facts(&self, names: &[&str]) -> Result<Vec<(TrialId, Fact)>, StoreError> {
        let query = format!(
            "SELECT t.id, f.name, f.value FROM trials t JOIN facts f ON f.trial = t.trial \
             WHERE f.name IN ({}) ORDER BY t.trial DESC",
            vec!["?"; names.len()].join(", ")
        );
        self.rows(&query, rusqlite::params_from_iter(names), "facts", |fields| {
            let trial = fields.word(|text| text.parse().ok())?;
            Ok((trial, Fact { name: fields.text()?, value: fields.text()? }))
        })
    }

    /// Artifacts of this kind from all trials, oldest trial first.
    ///
    /// # Errors
    /// If the file cannot be read, or has invalid contents.
    pub fn artifacts_of_kind(&self, kind: &str) -> Result<Vec<(TrialId, Artifact)>, StoreError> {
        if self.version() < Version::WITH_ARTIFACTS {
            return Ok(Vec::new());
        }
        self.rows(ARTIFACTS_OF_KIND, [kind], "artifacts", |fields| {
            let trial = fields.word(|text| text.parse().ok())?;
            Ok((trial, artifact(fields)?))
        })
    }

    /// Loads several trials without tasks, and with only the named facts: the data that a
    /// comparison of thousands reads.
    ///
    /// # Errors
    /// As [`Store::load`], for the first trial that cannot be read.
    pub fn load_with_facts(
        &self,
        trials: &[TrialId],
        facts: &[&str],
    ) -> Result<Vec<Trial>, StoreError> {
        let names: HashSet<&str> = facts.iter().copied().collect();
        // A store is append-only: concurrent readers see the same trials.
        let readers = thread::available_parallelism().map_or(1, NonZero::get).min(READERS_MOST);
        let share = trials.len().div_ceil(readers).max(SHARE_FEWEST);
        let (own, others) = trials.split_at(trials.len().min(share));
        let (path, names) = (self.path.as_path(), &names);
        thread::scope(|scope| {
            let readers: Vec<_> = others
                .chunks(share)
                .map(|share| {
                    let read = move || Self::open(path, Access::ReadOnly)?.headlines(share, names);
                    thread::Builder::new().spawn_scoped(scope, read)
                })
                .collect();
            let mut trials = self.headlines(own, names)?;
            for (reader, share) in readers.into_iter().zip(others.chunks(share)) {
                trials.extend(match reader.map(thread::ScopedJoinHandle::join) {
                    Ok(Ok(read)) => read?,
                    // No further thread could be started: read sequentially.
                    Ok(Err(_)) | Err(_) => self.headlines(share, names)?,
                });
            }
            Ok(trials)
        })
    }

    /// Loads trials without tasks, and with only the named facts.
    fn headlines(
        &self,
        trials: &[TrialId],
        names: &HashSet<&str>,
    ) -> Result<Vec<Trial>, StoreError> {
        let _snapshot = self.snapshot()?;
        let wanted = |name: &str| names.contains(name);
        let read = |trial: &TrialId| self.read_with(*trial, LoadDetail::Headlines, &wanted);
        trials.iter().map(read).collect()
    }

    /// Loads several trials in the requested order. Parts that `detail` excludes are empty.
    ///
    /// # Errors
    /// As [`Store::load`], for the first trial that cannot be read.
    pub fn load_many(
        &self,
        trials: &[TrialId],
        detail: LoadDetail,
    ) -> Result<Vec<Trial>, StoreError> {
        let _snapshot = self.snapshot()?;
        trials.iter().map(|trial| self.read(*trial, detail)).collect()
    }

    pub(crate) fn read(&self, id: TrialId, detail: LoadDetail) -> Result<Trial, StoreError> {
        self.read_with(id, detail, &|_| true)
    }

    /// Loads a trial with the wanted facts, which are filtered here: a query with dozens of names
    /// would build an index of them for each trial.
    fn read_with(
        &self,
        id: TrialId,
        detail: LoadDetail,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Trial, StoreError> {
        let Some((trial, mut beginning)) =
            self.read_row(BEGINNING, id.text(), "trials", |fields| {
                let trial: i64 = fields.integer()?;
                Ok((trial, beginning(id, fields)?))
            })?
        else {
            return Err(StoreError::NoSuchTrial { path: self.path.clone(), prefix: id.text() });
        };
        beginning.parameters = self.rows(PARAMETERS, [trial], "parameters", |fields| {
            Ok((fields.text()?, fields.text()?))
        })?;
        beginning.cell = self.read_row(CELL, trial, "cells", cell)?;
        let facts = self.rows(FACTS, [trial], "facts", |fields| {
            let name = fields.text()?;
            if !wanted(&name) {
                return Ok(None);
            }
            Ok(Some(Fact { name, value: fields.text()? }))
        })?;
        let annotations = self.annotations(trial, &beginning.label)?;
        if let Some(label) = annotations.iter().rev().find_map(Annotation::label) {
            label.clone_into(&mut beginning.label);
        }
        let (ending, wall_ns) =
            self.read_row(ENDING, trial, "endings", ending)?.unwrap_or((Ending::Interrupted, 0));
        Ok(Trial {
            beginning,
            facts: facts.into_iter().flatten().collect(),
            phases: without_seq(self.phases(trial, detail)?),
            tasks: without_seq(self.tasks(trial, detail)?),
            metrics: self.rows(METRICS, [trial], "metrics", metric)?,
            artifacts: self.artifacts(trial, detail)?,
            cautions: self.rows(CAUTIONS, [trial], "cautions", caution)?,
            annotations,
            ending,
            wall_ns,
        })
    }

    /// Reads the row with a key, if it exists.
    pub(crate) fn read_row<T>(
        &self,
        query: &str,
        key: impl rusqlite::ToSql,
        table: &'static str,
        make: impl FnMut(&mut RowFields<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.rows(query, [key], table, make)?.pop())
    }

    pub(crate) fn phases(
        &self,
        trial: i64,
        detail: LoadDetail,
    ) -> Result<Vec<(i64, PhaseTotals)>, StoreError> {
        let mut phases = self.rows(PHASES, [trial], "phases", phase)?;
        if detail >= LoadDetail::PhaseCalls {
            let ops = self.rows(PHASE_OPS, [trial], "phase_ops", op)?;
            self.attach(&mut phases, ops, "phase_ops", |phase, op| {
                phase.ops.push(op);
            })?;
            let intervals = self.rows(INTERVALS, [trial], "intervals", interval)?;
            self.attach(&mut phases, intervals, "intervals", |phase, interval| {
                phase.intervals.push(interval);
            })?;
        }
        Ok(phases)
    }

    fn artifacts(&self, trial: i64, detail: LoadDetail) -> Result<Vec<Artifact>, StoreError> {
        if detail < LoadDetail::PhaseCalls || self.version() < Version::WITH_ARTIFACTS {
            return Ok(Vec::new());
        }
        self.rows(ARTIFACTS, [trial], "artifacts", artifact)
    }

    pub(crate) fn tasks(
        &self,
        trial: i64,
        detail: LoadDetail,
    ) -> Result<Vec<(i64, TaskTotals)>, StoreError> {
        if detail == LoadDetail::Headlines {
            return Ok(Vec::new());
        }
        let mut tasks = self.rows(TASKS, [trial], "tasks", task)?;
        if detail == LoadDetail::Everything {
            let ops = self.rows(TASK_OPS, [trial], "task_ops", op)?;
            self.attach(&mut tasks, ops, "task_ops", |task, op| task.ops.push(op))?;
        }
        if detail == LoadDetail::Everything && self.version() >= Version::WITH_COUNTERS {
            let counted = self.rows(COUNTERS, [trial], "counters", |fields| {
                Ok((fields.integer()?, counters(fields)?))
            })?;
            self.attach(&mut tasks, counted, "counters", |task, counters| {
                task.counters = counters;
            })?;
        }
        Ok(tasks)
    }

    /// Attaches each part to the owner with its `seq`; both are sorted by it.
    fn attach<T, P>(
        &self,
        owners: &mut [(i64, T)],
        parts: Vec<(i64, P)>,
        table: &'static str,
        give: impl Fn(&mut T, P),
    ) -> Result<(), StoreError> {
        let mut at = 0;
        for (seq, part) in parts {
            while owners.get(at).is_some_and(|(owner, _)| *owner < seq) {
                at += 1;
            }
            match owners.get_mut(at) {
                Some((owner, totals)) if *owner == seq => give(totals, part),
                _ => {
                    let place = ErrorContext::table(&self.path, table);
                    return Err(place.content("seq", format!("{seq} belongs to nothing")));
                }
            }
        }
        Ok(())
    }
}

fn without_seq<T>(rows: Vec<(i64, T)>) -> Vec<T> {
    rows.into_iter().map(|(_, value)| value).collect()
}

/// Reads the last two columns of counters.
pub(crate) fn counters(fields: &mut RowFields<'_>) -> Result<Counters, StoreError> {
    let bytes = fields.integer()?;
    fields.packed(bytes).map(Counters::from_json)
}

/// Reads the row of a trial from its second column on.
pub(crate) fn beginning(
    trial: TrialId,
    fields: &mut RowFields<'_>,
) -> Result<TrialHeader, StoreError> {
    Ok(TrialHeader {
        event_version: fields.integer()?,
        trial,
        started_unix_ms: fields.integer()?,
        treering_version: fields.text()?,
        workload: fields.text()?,
        mode: fields.word(word::mode_from)?,
        label: fields.text()?,
        target: fields.text()?,
        parameters: Vec::new(),
        cell: None,
    })
}

pub(crate) fn cell(fields: &mut RowFields<'_>) -> Result<Cell, StoreError> {
    Ok(Cell {
        campaign: fields.word(|text| text.parse().ok())?,
        plan: fields.text()?,
        digest: fields.text()?,
        variant: fields.text()?,
        job: fields.text()?,
        round: fields.integer()?,
        role: fields.word(CellRole::from_name)?,
    })
}

fn cpu(fields: &mut RowFields<'_>) -> Result<CpuTime, StoreError> {
    Ok(CpuTime { user_ns: fields.integer()?, system_ns: fields.integer()? })
}

fn phase(fields: &mut RowFields<'_>) -> Result<(i64, PhaseTotals), StoreError> {
    let seq = fields.integer()?;
    let totals = PhaseTotals {
        phase: fields.integer()?,
        name: fields.text()?,
        began_ns: fields.integer()?,
        wall_ns: fields.integer()?,
        tasks: fields.integer()?,
        files: fields.integer()?,
        bytes: fields.integer()?,
        cpu: cpu(fields)?,
        ops: Vec::new(),
        intervals: Vec::new(),
    };
    Ok((seq, totals))
}

fn task(fields: &mut RowFields<'_>) -> Result<(i64, TaskTotals), StoreError> {
    let seq = fields.integer()?;
    let totals = TaskTotals {
        phase: fields.integer()?,
        task: fields.integer()?,
        worker: fields.integer()?,
        kind: fields.text()?,
        subject: fields.text()?,
        state: fields.text()?,
        tally: fields.text()?,
        began_ns: fields.integer()?,
        wall_ns: fields.integer()?,
        sync_ns: fields.integer()?,
        cpu: cpu(fields)?,
        sync_cpu: cpu(fields)?,
        files: fields.integer()?,
        bytes: fields.integer()?,
        listed_bytes: fields.integer()?,
        ops: Vec::new(),
        ..TaskTotals::default()
    };
    Ok((seq, totals))
}

fn op(fields: &mut RowFields<'_>) -> Result<(i64, OpTotals), StoreError> {
    let seq = fields.integer()?;
    let op = fields.word(Op::from_name)?;
    let (calls, errors, bytes) = (fields.integer()?, fields.integer()?, fields.integer()?);
    let samples = fields.integer()?;
    Ok((seq, OpTotals { op, calls, errors, bytes, latency: fields.latency(samples)? }))
}

fn interval(fields: &mut RowFields<'_>) -> Result<(i64, IntervalTotals), StoreError> {
    let seq = fields.integer()?;
    let (second, calls, bytes) = (fields.integer()?, fields.integer()?, fields.integer()?);
    Ok((seq, IntervalTotals { second, calls, bytes }))
}

pub(crate) fn artifact(fields: &mut RowFields<'_>) -> Result<Artifact, StoreError> {
    Ok(Artifact {
        kind: fields.text()?,
        version: fields.integer()?,
        phase: fields.integer_or_null()?,
        name: fields.text()?,
        body: {
            let bytes = fields.integer()?;
            fields.packed(bytes)?
        },
    })
}

pub(crate) fn metric(fields: &mut RowFields<'_>) -> Result<Metric, StoreError> {
    let (name, part) = (fields.text()?, fields.text()?);
    Ok(Metric {
        name,
        scope: fields.word(|word| word::scope_from(word, part))?,
        value: fields.real()?,
        unit: fields.word(word::unit_from)?,
        better: fields.word(word::better_from)?,
        primary: fields.truth()?,
        tasks: fields.integer()?,
    })
}

pub(crate) fn caution(fields: &mut RowFields<'_>) -> Result<Caution, StoreError> {
    let code = fields.word(CautionCode::from_name)?;
    Ok(Caution { code, message: fields.text()? })
}

/// Reads the ending of a trial, and its duration in nanoseconds.
pub(crate) fn ending(fields: &mut RowFields<'_>) -> Result<(Ending, u64), StoreError> {
    let why = fields.text()?;
    Ok((fields.word(|name| Ending::from_parts(name, &why))?, fields.integer()?))
}
