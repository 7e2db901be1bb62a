//! Changes of the environment of the measurements: at a change of level, and between neighbouring
//! points.

use std::collections::HashMap;

use treering_model::{Trial, TrialId};

use super::facts::changed_facts;
use super::{ChangedFact, EnvironmentChange, History, HistorySeries};

/// Maximum number of points whose environment is compared; longer histories are examined only at
/// changes of level.
const POINTS_FOLLOWED: usize = 2000;

/// Finds the facts that changed at each change of level and between neighbouring points. `load`
/// reads whole trials.
///
/// # Errors
/// Errors of `load`.
pub fn explain<E>(
    history: &mut History,
    load: impl Fn(&[TrialId]) -> Result<Vec<Trial>, E>,
) -> Result<(), E> {
    // Results are cached, since metrics of the same trials change at the same points.
    let mut known: HashMap<(Vec<TrialId>, Vec<TrialId>), Vec<ChangedFact>> = HashMap::new();
    for shift in history.series.iter_mut().flat_map(|series| &mut series.shifts) {
        shift.facts = match known.get(&shift.adjacent_trials) {
            Some(facts) => facts.clone(),
            None => {
                let (before, after) = &shift.adjacent_trials;
                let facts = changed_facts(load(before)?, load(after)?);
                known.insert(shift.adjacent_trials.clone(), facts.clone());
                facts
            }
        };
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
    let mut known = HashMap::new();
    for series in &mut history.series {
        series.environment = environment(series, &trials, &mut known);
    }
    Ok(())
}

/// Changes between neighbouring points. Changes between the same two trials are computed once for
/// all series.
fn environment(
    series: &HistorySeries,
    trials: &HashMap<TrialId, Trial>,
    known: &mut HashMap<[TrialId; 2], Vec<ChangedFact>>,
) -> Vec<EnvironmentChange> {
    let change = |(at, pair): (usize, &[super::SeriesPoint])| {
        let [before, after] = pair else { return None };
        let ids = [before.trials[0], after.trials[0]];
        let [first, second] = [trials.get(&ids[0])?, trials.get(&ids[1])?];
        let between = || changed_facts(vec![first.clone()], vec![second.clone()]);
        let mut facts = known.entry(ids).or_insert_with(between).clone();
        // The fact that names the points always changes.
        facts.retain(|fact| fact.before != before.key || fact.after != after.key);
        (!facts.is_empty()).then_some(EnvironmentChange { index: at + 1, facts })
    };
    series.points.windows(2).enumerate().filter_map(change).collect()
}
