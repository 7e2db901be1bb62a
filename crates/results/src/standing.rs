//! Interim results of a campaign after each round, by the comparison of the report.

use std::collections::BTreeSet;

use treering_analysis::compare::{
    COMPARED_FACTS, ComparedVariant, ComparisonTerms, Factor, Outcome, compare,
};
use treering_conduct::plan::Judging;
use treering_conduct::{Comparison, Failure, FailureKind as Kind, MeasuredVariant, Standing};
use treering_report::pages::comparison::interim_lines;
use treering_stats::StoppingRule;
use treering_store::Store;

use crate::store_error::failure;

/// Compares the measured trials of variants, the first of which is the baseline.
pub(crate) fn standing(
    store: &Store,
    measured: &[MeasuredVariant],
    judging: &Judging,
) -> Result<Standing, Failure> {
    let mut incomplete = BTreeSet::new();
    let mut variants = Vec::new();
    let (mut begin, mut end) = (f64::INFINITY, 0.0_f64);
    for variant in measured {
        let trials = store.load_with_facts(&variant.trials, &COMPARED_FACTS);
        let mut trials = trials.map_err(|error| failure(&error))?;
        for trial in &trials {
            let began = trial.beginning.started_unix_ms as f64 / 1e3;
            begin = begin.min(began);
            end = end.max(began + trial.wall_ns as f64 / 1e9);
        }
        let excluded = trials.iter().filter(|trial| trial.exclusion().is_some());
        incomplete.extend(excluded.filter_map(|trial| Some(trial.beginning.cell.as_ref()?.round)));
        trials.retain(|trial| trial.exclusion().is_none());
        if !trials.is_empty() {
            let factor = if variant.is_job { Factor::Job } else { Factor::Variant };
            let (name, against) = (variant.name.clone(), Some(variant.baseline.clone()));
            variants.push(ComparedVariant { name, factor, against, trials });
        }
    }
    let mut standing = Standing {
        comparison: None,
        incomplete: u32::try_from(incomplete.len()).unwrap_or(u32::MAX),
        seconds: (end - begin).max(0.0),
    };
    if let Some((baseline, contenders)) =
        variants.split_first().filter(|(_, rest)| !rest.is_empty())
    {
        let terms =
            ComparisonTerms { threshold: judging.threshold, primary: judging.primary.clone() };
        let outcome = compare(baseline, contenders, &terms);
        let outcome = outcome.map_err(|error| Failure::of(Kind::Usage, &error))?;
        standing.comparison = Some(Box::new(ComparedRounds(outcome)));
    }
    Ok(standing)
}

struct ComparedRounds(Outcome);

impl Comparison for ComparedRounds {
    fn wants_more(&self, rule: &StoppingRule, rounds: u32) -> bool {
        self.0.wants_more(rule, rounds)
    }

    fn lines(&self) -> Vec<String> {
        interim_lines(&self.0)
    }
}
