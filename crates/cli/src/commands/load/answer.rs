//! Answer of a load search, stored as a trial of its own, so that `show`, `history` and `export`
//! see it.

use treering_fio::Fio;
use treering_model::metrics::load::{
    SUSTAINED_OPERATIONS_PER_SECOND, SUSTAINED_OPERATIONS_PER_SECOND_END,
};
use treering_model::{Ending, Metric, RunMode, Scope, TrialEvent, TrialHeader, TrialId};
use treering_stats::LoadAnswer;

use super::{Found, Load};
use crate::arguments::LOAD;
use crate::clock;
use crate::failure::Failure;
use crate::storage::{Keeping, failure};

/// Stores the answer; `None` if results are not stored, or no answer was found.
pub(super) fn keep(found: &Found, load: &Load) -> Result<Option<TrialId>, Failure> {
    let LoadAnswer::At { rate, interval } = found.answer else { return Ok(None) };
    let Some(newest) = &found.newest else { return Ok(None) };
    let trial = TrialId::new();
    let target = std::path::PathBuf::from(&newest.beginning.target);
    let mut keeping =
        Keeping::open(load.any.store.as_deref(), load.any.no_store, &[target.as_path()], trial)?;
    let end =
        |word, value| SUSTAINED_OPERATIONS_PER_SECOND_END.of_member(&[word], Scope::Trial, value);
    let probes = found.probes.len() as u64;
    let metrics = [
        SUSTAINED_OPERATIONS_PER_SECOND.of(Scope::Trial, rate).primary_if(true).of_tasks(probes),
        end("low", interval.low),
        end("high", interval.high),
    ];
    let beginning = TrialHeader {
        started_unix_ms: i64::try_from(clock::unix_ms()).unwrap_or(i64::MAX),
        treering_version: env!("CARGO_PKG_VERSION").to_owned(),
        label: newest.beginning.label.clone(),
        target: newest.beginning.target.clone(),
        parameters: parameters(found, load),
        ..TrialHeader::new(trial, LOAD, RunMode::Native)
    };
    let Some(store) = keeping.store() else { return Ok(None) };
    let measured = metrics.map(|metric: Metric| TrialEvent::Measured(metric));
    let began =
        [TrialEvent::Began(beginning), TrialEvent::Environment { facts: newest.facts.clone() }];
    let ended = TrialEvent::Ended { ending: Ending::Completed, at_ns: 0 };
    let mut recorder = store.recorder();
    for event in began.into_iter().chain(measured).chain([ended]) {
        recorder.record(&event).map_err(|error| failure(&error))?;
    }
    drop(recorder);
    keeping.settle()?;
    Ok(Some(trial))
}

/// Parameters of the search, followed by those of each probe.
fn parameters(found: &Found, load: &Load) -> Vec<(String, String)> {
    let args = &load.args;
    let own = |name: &str, value: String| (name.to_owned(), value);
    let bounds = load.bounds.iter().map(|bound| own(bound.name, bound.text()));
    let mut all: Vec<_> = bounds.collect();
    all.extend([
        own("arrivals", args.arrivals.clone()),
        own("duration", args.duration.as_secs_f64().to_string()),
        own("warm-up", args.warm_up.as_secs_f64().to_string()),
        own("min-rate", args.min_rate.to_string()),
        own("max-rate", args.max_rate.to_string()),
        own("precision", args.precision.clone()),
    ]);
    let of_probe = found.newest.iter().flat_map(|trial| &trial.beginning.parameters);
    let same = of_probe.filter(|(name, _)| !Fio::of_offered_load(name) && name != "seed");
    all.extend(same.cloned());
    all.push(own("seed", load.seed.to_string()));
    all
}
