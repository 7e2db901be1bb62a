//! Announcement of the comparisons of a plan: each contender with its baseline, on the primary
//! metrics of the jobs.

use treering_model::counted;

use crate::plan::{ComparedTrialSet, Plan, PlannedJob};

/// Maximum number of metrics of a job that are listed by name.
const METRICS_SHOWN: usize = 3;
/// Maximum number of jobs whose metrics are listed.
const JOBS_SHOWN: usize = 4;
/// Maximum number of contenders of a baseline that are listed by name.
const CONTENDERS_SHOWN: usize = 6;

/// Line about the comparisons of a plan.
pub(crate) fn announcement(plan: &Plan) -> String {
    let sets = plan.compared_sets();
    if plan.is_sweep_of_one() {
        let metrics: Vec<String> =
            plan.jobs.iter().filter_map(|job| metric_names(job, plan)).collect();
        let metrics = metrics.first().cloned().unwrap_or_else(|| "no primary metric".to_owned());
        let more = match plan.jobs.len() {
            1 => String::new(),
            jobs => format!(" and the same of {}", counted(jobs - 1, "more job")),
        };
        return format!("will measure: {metrics}{more}, on {}", plan.variants[0].name);
    }
    let pairs = match sets.as_slice() {
        [alone] => format!("{}, which is alone, with itself under another kernel", alone.name),
        sets => compared_pairs(sets).join("; "),
    };
    let baselines = plan.job_baselines();
    let are_variants_compared = sets.iter().any(|set| set.job.is_none());
    let jobs = plan.jobs.iter().zip(baselines);
    let compared = jobs.filter(|(job, baseline)| {
        job.is_measured() && (are_variants_compared || baseline.is_some())
    });
    let mut metrics: Vec<String> =
        compared.filter_map(|(job, _)| metric_names(job, plan)).collect();
    if metrics.len() > JOBS_SHOWN {
        let more = metrics.len() - JOBS_SHOWN + 1;
        metrics.truncate(JOBS_SHOWN - 1);
        metrics.push(format!("those of {more} more jobs"));
    }
    let metrics = match metrics.as_slice() {
        [] => "no primary metric".to_owned(),
        metrics => metrics.join("; "),
    };
    format!("will compare: {pairs} on {metrics}")
}

/// Contenders of each baseline, in the order of the plan.
fn compared_pairs(sets: &[ComparedTrialSet]) -> Vec<String> {
    let of = |(place, baseline): (usize, &ComparedTrialSet)| {
        let contenders = sets.iter().filter(|other| other.baseline == Some(place));
        let names: Vec<&str> = contenders.map(|other| other.name.as_str()).collect();
        let names = joined_names(&names)?;
        Some(format!("{names} with {}", baseline.name))
    };
    sets.iter().enumerate().filter_map(of).collect()
}

/// Joins names for a sentence; `None` for an empty list.
fn joined_names(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [one] => Some((*one).to_owned()),
        many if many.len() > CONTENDERS_SHOWN => {
            let more = many.len() - CONTENDERS_SHOWN + 1;
            Some(format!("{} and {more} more", many[..CONTENDERS_SHOWN - 1].join(", ")))
        }
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}

/// Names of the primary metrics of a job, as the key `primary` takes them; `None` if it has none.
fn metric_names(job: &PlannedJob, plan: &Plan) -> Option<String> {
    let names = match job.primary(&plan.judging) {
        none if none.is_empty() => return None,
        many if many.len() > METRICS_SHOWN => format!("{} metrics", many.len()),
        few => few.join(", "),
    };
    Some(format!("{names} of {}", job.name))
}
