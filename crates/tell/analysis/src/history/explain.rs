//! What changed around the measurements: at a change of level, and from point to point.

use std::collections::HashMap;

use treering_model::{Trial, TrialId};

use super::facts::changed_facts;
use super::{EnvironmentChange, History, Series};

/// Points whose environment is followed; of longer histories only that of changes is known.
const POINTS_FOLLOWED: usize = 2000;

/// Finds out what else changed at each change of level, and where the environment changed, from
/// whole trials with their facts, as `load` reads them.
///
/// # Errors
/// Those of `load`.
pub fn explain<E>(
    history: &mut History,
    load: impl Fn(&[TrialId]) -> Result<Vec<Trial>, E>,
) -> Result<(), E> {
    for shift in history.series.iter_mut().flat_map(|series| &mut series.shifts) {
        let (before, after) = &shift.beside;
        shift.facts = changed_facts(load(before)?, load(after)?);
    }
    let points = history.series.iter().flat_map(|series| &series.points);
    let mut firsts: Vec<TrialId> = points.map(|point| point.trials[0]).collect();
    firsts.sort_unstable();
    firsts.dedup();
    if firsts.len() > POINTS_FOLLOWED {
        return Ok(());
    }
    let trials = load(&firsts)?.into_iter().map(|trial| (trial.beginning.trial, trial));
    let trials: HashMap<TrialId, Trial> = trials.collect();
    for series in &mut history.series {
        series.environment = environment(series, &trials);
    }
    Ok(())
}

fn environment(series: &Series, trials: &HashMap<TrialId, Trial>) -> Vec<EnvironmentChange> {
    let change = |(at, pair): (usize, &[super::Point])| {
        let [before, after] = pair else { return None };
        let trial = |id: TrialId| Some(vec![trials.get(&id)?.clone()]);
        let mut facts = changed_facts(trial(before.trials[0])?, trial(after.trials[0])?);
        // What the points are known by changes from each to the next.
        facts.retain(|fact| fact.before != before.key || fact.after != after.key);
        (!facts.is_empty()).then_some(EnvironmentChange { index: at + 1, facts })
    };
    series.points.windows(2).enumerate().filter_map(change).collect()
}
