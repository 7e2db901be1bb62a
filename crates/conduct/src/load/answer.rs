//! Records the answer of a load search as a trial of its own.

use std::path::Path;

use treering_fio::Fio;
use treering_model::metrics::load::{
    SUSTAINED_OPERATIONS_PER_SECOND, SUSTAINED_OPERATIONS_PER_SECOND_END,
};
use treering_model::{Ending, RunMode, Scope, TrialEvent, TrialHeader, TrialId};
use treering_stats::LoadAnswer;
use treering_sys::StopFlag;

use super::{LOAD, LoadOptions, LoadResult};
use crate::failure::{Failure, FailureKind};
use crate::host::{Host, RecordedTrial, ResultStore};
use crate::trial::unrecorded;

/// Records the answer; `None` if results are not stored, or the search found no answer.
pub(super) fn record_answer(
    result: &LoadResult,
    options: &LoadOptions,
    (store, host): (&dyn ResultStore, &dyn Host),
) -> Result<Option<TrialId>, Failure> {
    let LoadAnswer::At { rate, interval } = result.answer else { return Ok(None) };
    let Some(newest) = result.newest.as_ref().filter(|_| store.keeps_results()) else {
        return Ok(None);
    };
    let trial = TrialId::new();
    let end =
        |word, value| SUSTAINED_OPERATIONS_PER_SECOND_END.of_member(&[word], Scope::Trial, value);
    let probes = result.probes.len() as u64;
    let metrics = [
        SUSTAINED_OPERATIONS_PER_SECOND.of(Scope::Trial, rate).primary_if(true).of_tasks(probes),
        end("low", interval.low),
        end("high", interval.high),
    ];
    let beginning = TrialHeader {
        started_unix_ms: host.unix_ms(),
        treering_version: env!("CARGO_PKG_VERSION").to_owned(),
        label: newest.beginning.label.clone(),
        target: newest.beginning.target.clone(),
        parameters: parameters(result, options),
        ..TrialHeader::new(trial, LOAD, RunMode::Native)
    };
    let mut events =
        vec![TrialEvent::Began(beginning), TrialEvent::Environment { facts: newest.facts.clone() }];
    events.extend(metrics.map(TrialEvent::Measured));
    events.push(TrialEvent::Ended { ending: Ending::Completed, at_ns: 0 });
    let recorded = RecordedTrial {
        trial,
        is_optional: false,
        under_test: &[Path::new(&newest.beginning.target)],
        stop: &StopFlag::new(),
    };
    let mut accepted = None;
    let record_result = store.record(&recorded, &mut |store, _caution| {
        accepted = Some(events.iter().try_for_each(|event| store.accept(event)));
    });
    let Some(accepted) = accepted else { return record_result.and(Err(unrecorded())) };
    accepted.map_err(|error| Failure::of(FailureKind::Environment, &error))?;
    record_result?;
    Ok(Some(trial))
}

/// Parameters of the search, followed by those of each probe.
fn parameters(result: &LoadResult, options: &LoadOptions) -> Vec<(String, String)> {
    let parameter = |name: &str, value: String| (name.to_owned(), value);
    let bounds = options.bounds.iter().map(|bound| parameter(bound.name, bound.text()));
    let mut parameters: Vec<_> = bounds.collect();
    parameters.extend([
        parameter("arrivals", options.arrivals.clone()),
        parameter("duration", options.duration.as_secs_f64().to_string()),
        parameter("warm-up", options.warm_up.as_secs_f64().to_string()),
        parameter("min-rate", options.min_rate.to_string()),
        parameter("max-rate", options.max_rate.to_string()),
        parameter("precision", options.precision_text.clone()),
    ]);
    let of_probe = result.newest.iter().flat_map(|trial| &trial.beginning.parameters);
    let same = of_probe.filter(|(name, _)| !Fio::of_offered_load(name) && name != "seed");
    parameters.extend(same.cloned());
    parameters.push(parameter("seed", options.seed.to_string()));
    parameters
}
