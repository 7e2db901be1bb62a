//! Bulk reading for histories: the primary metrics and a few facts of each trial, with one query
//! for each table instead of ten for each trial, so that a hundred thousand trials take about a
//! second.

use std::thread;

use rusqlite::{Params, ToSql, params_from_iter};
use treering_model::{Fact, Scope, Trial};

use crate::annotate::annotation;
use crate::load::{beginning, cell, ending, metric};
use crate::values::fields::RowFields;
use crate::values::word;
use crate::version::Version;
use crate::{Access, Store, StoreError};

const TRIALS: &str = "SELECT t.trial, t.id, t.event_version, t.started_unix_ms, \
    t.treering_version, t.workload, t.mode, t.label, t.target, e.why, e.ending, e.wall_ns, \
    c.campaign, c.plan, c.digest, c.variant, c.job, c.round, c.role \
    FROM trials t JOIN endings e ON e.trial = t.trial LEFT JOIN cells c ON c.trial = t.trial \
    WHERE (?1 IS NULL OR t.workload = ?1) AND (?2 IS NULL OR c.plan = ?2) ORDER BY t.trial";
const PARAMETERS: &str = "SELECT trial, name, value FROM parameters ORDER BY trial, ordinal";
const ANNOTATIONS: &str =
    "SELECT trial, at_unix_ms, change, text FROM annotations ORDER BY trial, ordinal";
const PRIMARY: &str = "SELECT trial, name, part, scope, value, unit, better, is_primary, tasks \
    FROM metrics WHERE is_primary = 1 ORDER BY trial, seq";
/// Query for metrics that may have a given full name.
const NAMED: &str = "SELECT trial, name, part, scope, value, unit, better, is_primary, tasks \
    FROM metrics WHERE substr(?1, -length(name)) = name ORDER BY trial, seq";
/// Query for facts of trials outside plans. CROSS JOIN keeps SQLite from scanning all facts first.
const OUTSIDE_PLANS: &str = "SELECT f.trial, f.name, f.value FROM trials t \
    LEFT JOIN cells c ON c.trial = t.trial CROSS JOIN facts f ON f.trial = t.trial \
    WHERE c.trial IS NULL";
const NAMES: &str = "SELECT DISTINCT name, part, scope FROM metrics";

/// Selection of the data a history reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadingsQuery<'a> {
    /// Workload to which trials are limited.
    pub workload: Option<&'a str>,
    /// Plan, by name, to which trials are limited.
    pub plan: Option<&'a str>,
    /// Full name of the metric to read; `None` for the primary metrics.
    pub metric: Option<&'a str>,
    /// Names of the facts to read.
    pub facts: &'a [&'a str],
    /// Additional facts for trials outside plans, or for all trials where `facts` is not empty.
    /// Most of a store is facts, so those of plans are skipped otherwise.
    pub facts_outside_plans: &'a [&'a str],
}

/// Result of the second thread: parameters and facts, with the row numbers of their trials.
type ParametersAndFacts = (Vec<(i64, (String, String))>, Vec<(i64, Fact)>);

/// A trial with its row number.
type NumberedTrial = (i64, Trial);

impl Store {
    /// Trials that ended, oldest first, with their parameters, annotations, and the requested
    /// metrics and facts only.
    ///
    /// # Errors
    /// If the file cannot be read, or has invalid contents.
    pub fn readings(&self, wanted: &ReadingsQuery<'_>) -> Result<Vec<Trial>, StoreError> {
        let (mut trials, (parameters, facts)) = thread::scope(|scope| {
            // A store is append-only: a reader that starts later misses nothing.
            let path = self.path.as_path();
            let read = move || Self::open(path, Access::ReadOnly)?.parameters_and_facts(wanted);
            let reader = thread::Builder::new().spawn_scoped(scope, read);
            let trials = self.numbers(wanted)?;
            let parameters_and_facts = match reader.map(thread::ScopedJoinHandle::join) {
                Ok(Ok(parameters_and_facts)) => parameters_and_facts?,
                // No further thread could be started.
                Ok(Err(_)) | Err(_) => self.parameters_and_facts(wanted)?,
            };
            Ok::<_, StoreError>((trials, parameters_and_facts))
        })?;
        let mut trials_by_row = TrialsByRow::new(&mut trials);
        for (row, parameter) in parameters {
            if let Some(trial) = trials_by_row.find(row) {
                trial.beginning.parameters.push(parameter);
            }
        }
        let mut trials_by_row = TrialsByRow::new(&mut trials);
        for (row, fact) in facts {
            if let Some(trial) = trials_by_row.find(row) {
                trial.facts.push(fact);
            }
        }
        let mut trials: Vec<Trial> = trials.into_iter().map(|(_, trial)| trial).collect();
        trials.sort_by_key(|trial| (trial.beginning.started_unix_ms, trial.beginning.trial));
        Ok(trials)
    }

    /// Full names of all metrics in the store, sorted.
    ///
    /// # Errors
    /// If the file cannot be read, or has invalid contents.
    pub fn metric_names(&self) -> Result<Vec<String>, StoreError> {
        let mut names = self.rows(NAMES, [], "metrics", |fields| {
            let (name, part) = (fields.text()?, fields.text()?);
            let scope: Scope = fields.word(|word| word::scope_from(word, part))?;
            Ok(scope.metric_name(&name))
        })?;
        names.sort_unstable();
        Ok(names)
    }

    fn numbers(&self, wanted: &ReadingsQuery<'_>) -> Result<Vec<NumberedTrial>, StoreError> {
        let _snapshot = self.snapshot()?;
        let parameters: [&dyn ToSql; 2] = [&wanted.workload, &wanted.plan];
        let mut trials = self.rows(TRIALS, parameters, "trials", trial)?;
        let number = |trial: &mut Trial, fields: &mut RowFields<'_>| {
            trial.metrics.push(metric(fields)?);
            Ok(())
        };
        match wanted.metric {
            None => self.attach_rows(&mut trials, PRIMARY, [], "metrics", number)?,
            Some(name) => self.attach_rows(&mut trials, NAMED, [name], "metrics", number)?,
        }
        if self.version() >= Version::WITH_ANNOTATIONS {
            self.attach_rows(&mut trials, ANNOTATIONS, [], "annotations", |trial, fields| {
                let annotated = annotation(fields, &mut trial.beginning.label.clone())?;
                if let Some(label) = annotated.label() {
                    label.clone_into(&mut trial.beginning.label);
                }
                trial.annotations.push(annotated);
                Ok(())
            })?;
        }
        Ok(trials)
    }

    /// Attaches the rows of a query to the trials. Rows are sorted by trial, their first column.
    fn attach_rows(
        &self,
        trials: &mut [NumberedTrial],
        query: &str,
        parameters: impl Params,
        table: &'static str,
        attach_row: impl Fn(&mut Trial, &mut RowFields<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut trials_by_row = TrialsByRow::new(trials);
        self.rows(query, parameters, table, |fields| match trials_by_row.find(fields.integer()?) {
            Some(trial) => attach_row(trial, fields),
            None => Ok(()),
        })
        .map(drop)
    }

    fn parameters_and_facts(
        &self,
        wanted: &ReadingsQuery<'_>,
    ) -> Result<ParametersAndFacts, StoreError> {
        let parameters = self.rows(PARAMETERS, [], "parameters", |fields| {
            Ok((fields.integer()?, (fields.text()?, fields.text()?)))
        })?;
        Ok((parameters, self.wanted_facts(wanted)?))
    }

    fn wanted_facts(&self, wanted: &ReadingsQuery<'_>) -> Result<Vec<(i64, Fact)>, StoreError> {
        let names = [wanted.facts, wanted.facts_outside_plans].concat();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let places = vec!["?"; names.len()].join(", ");
        let query = if wanted.facts.is_empty() {
            format!("{OUTSIDE_PLANS} AND f.name IN ({places}) ORDER BY t.trial, f.seq, f.ordinal")
        } else {
            format!(
                "SELECT trial, name, value FROM facts WHERE name IN ({places}) \
                 ORDER BY trial, seq, ordinal"
            )
        };
        self.rows(&query, params_from_iter(names), "facts", |fields| {
            let row = fields.integer()?;
            Ok((row, Fact { name: fields.text()?, value: fields.text()? }))
        })
    }
}

/// Trials by row number, looked up in ascending order.
struct TrialsByRow<'t> {
    trials: &'t mut [NumberedTrial],
    at: usize,
}

impl<'t> TrialsByRow<'t> {
    const fn new(trials: &'t mut [NumberedTrial]) -> Self {
        Self { trials, at: 0 }
    }

    fn find(&mut self, row: i64) -> Option<&mut Trial> {
        while self.trials.get(self.at).is_some_and(|(owner, _)| *owner < row) {
            self.at += 1;
        }
        let (owner, trial) = self.trials.get_mut(self.at)?;
        (*owner == row).then_some(trial)
    }
}

fn trial(fields: &mut RowFields<'_>) -> Result<NumberedTrial, StoreError> {
    let row = fields.integer()?;
    let id = fields.word(|text| text.parse().ok())?;
    let mut beginning = beginning(id, fields)?;
    let (ending, wall_ns) = ending(fields)?;
    if !fields.is_null() {
        beginning.cell = Some(cell(fields)?);
    }
    let trial = Trial { ending, wall_ns, ..Trial::new(beginning) };
    Ok((row, trial))
}
