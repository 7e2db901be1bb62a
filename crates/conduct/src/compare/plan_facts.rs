//! Facts that a plan gives each of its trials, so that reports can apply the rules of the plan.

use treering_model::{
    BASELINE_FACT, BETWEEN_VARIANTS_FACT, CHANGED_OPTIONS_FACT, CellRole, Fact, IGNORE_FACT,
    JOB_BASELINE_FACT, LEVEL_FACT, PRIMARY_FACT, ROUNDS_FACT, SIZED_FACT, STEP_FACT,
    THRESHOLD_FACT,
};

use crate::cells::PlannedCell;
use crate::host::SeriesPoint;
use crate::plan::{Plan, baselines};

/// Facts about a cell's trial, with the significance level of each look and the size of the job in
/// words.
pub(super) fn plan_facts(
    plan: &Plan,
    cell: &PlannedCell,
    (level, sized): (Option<f64>, Option<&str>),
    point: Option<&SeriesPoint>,
) -> Vec<Fact> {
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    let baseline = baselines(&plan.variants)[cell.variant].unwrap_or(cell.variant);
    let mut facts = vec![fact(BASELINE_FACT, plan.variants[baseline].name.clone())];
    let changes = plan.variants[cell.variant].settings.changes_in_words(&plan.jobs[cell.job].name);
    facts.extend(changes.map(|changes| fact(CHANGED_OPTIONS_FACT, changes)));
    if let Some(step) = plan.step_number(cell.job) {
        facts.push(fact(STEP_FACT, step.to_string()));
    }
    if let Some(words) = sized.filter(|_| cell.role != CellRole::WarmUp) {
        facts.push(fact(SIZED_FACT, words.to_owned()));
    }
    // Points of a series are compared with one another, not with a baseline.
    if let Some(baseline) = plan.job_baselines()[cell.job].filter(|_| point.is_none()) {
        facts.push(fact(JOB_BASELINE_FACT, plan.jobs[baseline].name.clone()));
        if plan.variants.len() > 1 && plan.is_between_variants(cell.job) {
            facts.push(fact(BETWEEN_VARIANTS_FACT, true.to_string()));
        }
    }
    if !plan.judging.primary.is_empty() {
        facts.push(fact(PRIMARY_FACT, plan.judging.primary.join(",")));
    }
    if let Some(threshold) = plan.judging.threshold {
        facts.push(fact(THRESHOLD_FACT, format!("{}%", threshold * 100.0)));
    }
    if !plan.judging.ignore.is_empty() {
        facts.push(fact(IGNORE_FACT, plan.judging.ignore.join(",")));
    }
    facts.extend(level.map(|level| fact(LEVEL_FACT, level.to_string())));
    if point.is_none() && cell.role == CellRole::Round {
        facts.push(fact(ROUNDS_FACT, plan.stopping.most_rounds().to_string()));
    }
    let of_series = point.into_iter().flat_map(|point| &point.facts);
    facts.extend(of_series.map(|(name, value)| fact(name, value.clone())));
    facts
}
