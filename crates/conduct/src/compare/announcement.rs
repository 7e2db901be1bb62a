//! Announcement of the comparisons of a plan: each contender with its baseline, on the primary
//! metrics of the jobs.

use crate::plan::{Plan, PlannedJob, baselines};

/// Maximum number of metrics of a job that are listed by name.
const METRICS_TOLD: usize = 3;
/// Maximum number of jobs whose metrics are listed.
const JOBS_TOLD: usize = 4;
/// Maximum number of contenders of a baseline that are listed by name.
const CONTENDERS_TOLD: usize = 6;

/// Line about the comparisons of a plan.
pub(crate) fn announcement(plan: &Plan) -> String {
    let pairs = match plan.variants.as_slice() {
        [alone] => format!("{}, which is alone, with itself under another kernel", alone.name),
        _ => pairs(plan).join("; "),
    };
    let mut metrics: Vec<String> = plan.jobs.iter().filter_map(|job| metrics(job, plan)).collect();
    if metrics.len() > JOBS_TOLD {
        let more = metrics.len() - JOBS_TOLD + 1;
        metrics.truncate(JOBS_TOLD - 1);
        metrics.push(format!("those of {more} more jobs"));
    }
    let metrics = match metrics.as_slice() {
        [] => "no primary metric".to_owned(),
        metrics => metrics.join("; "),
    };
    format!("will compare: {pairs} on {metrics}")
}

/// Contenders of each baseline, in the order of the plan.
fn pairs(plan: &Plan) -> Vec<String> {
    let baselines = baselines(&plan.variants);
    let of = |(place, baseline): (usize, &str)| {
        let is_contender = |other: &usize| baselines[*other] == Some(place);
        let contenders = (0..plan.variants.len()).filter(is_contender);
        let names: Vec<&str> = contenders.map(|other| plan.variants[other].name.as_str()).collect();
        let names = listed(&names)?;
        Some(format!("{names} with {baseline}"))
    };
    let names = plan.variants.iter().map(|variant| variant.name.as_str());
    names.enumerate().filter_map(of).collect()
}

/// Names in a sentence; `None` for none.
fn listed(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [one] => Some((*one).to_owned()),
        many if many.len() > CONTENDERS_TOLD => {
            let more = many.len() - CONTENDERS_TOLD + 1;
            Some(format!("{} and {more} more", many[..CONTENDERS_TOLD - 1].join(", ")))
        }
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}

/// Primary metrics of a job, by the names that `primary` takes; `None` for none.
fn metrics(job: &PlannedJob, plan: &Plan) -> Option<String> {
    let names = match job.primary(&plan.judging) {
        none if none.is_empty() => return None,
        many if many.len() > METRICS_TOLD => format!("{} metrics", many.len()),
        few => few.join(", "),
    };
    Some(format!("{names} of {}", job.name))
}
