//! Jobs that are compared on each variant with the job that `against` names.

use treering_model::nearest::suggestion;

use super::super::format::JobTable;
use super::super::tree::{Entry, Placed};
use super::super::values::JobName;
use crate::plan::PlannedJob;
use crate::plan::error::{Fault, quoted};

/// Name of the baseline of each job.
pub(super) fn baselines(
    sections: &[&Placed<JobTable>],
    jobs: &[PlannedJob],
) -> Result<Vec<Option<String>>, Fault> {
    // All points of a sweep have the span of one section of the document.
    let first_point = |place: usize| {
        sections.iter().position(|other| other.span == sections[place].span).unwrap_or(place)
    };
    let mut places: Vec<Option<usize>> = Vec::new();
    for (place, section) in sections.iter().enumerate() {
        let is_point = sections.iter().filter(|other| other.span == section.span).count() > 1;
        let baseline = match &section.against {
            Some(name) => named(name, (place, first_point(place), is_point), jobs)?,
            None => None,
        };
        places.push(baseline.filter(|baseline| *baseline != place));
    }
    for (place, section) in sections.iter().enumerate() {
        let next = |job: &usize| places[*job];
        let mut chain = std::iter::successors(places[place], next).take(sections.len());
        if let (Some(name), true) = (&section.against, chain.any(|job| job == place)) {
            let message = format!("the jobs from {} on name one another in a circle", quoted(name));
            return Err(name.fault(message, "").hint("leave `against` out of the baseline"));
        }
    }
    Ok(places.into_iter().map(|place| Some(jobs[place?].name.clone())).collect())
}

/// Index of the job that `against` names. The name of the job's own sweep stands for the sweep's
/// first point. A point of a sweep may name itself, since the other points are compared with it.
fn named(
    name: &Entry<JobName>,
    (place, first, is_point): (usize, usize, bool),
    jobs: &[PlannedJob],
) -> Result<Option<usize>, Fault> {
    let is_sweep = || {
        let values = jobs[first].name.strip_prefix(name.text());
        is_point && values.is_some_and(|values| values.starts_with(", "))
    };
    let Some(baseline) = jobs.iter().position(|job| job.name == name.text()) else {
        if is_sweep() {
            return Ok(Some(first));
        }
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        let message = format!("no job is called {}", quoted(name));
        return Err(name.fault(message, "").hint(suggestion(name, &names, "jobs")));
    };
    if baseline == place && !is_point {
        let message = "a job cannot be compared with itself";
        let hint = "`control = true` runs the first one twice in each round";
        return Err(name.fault(message, "").hint(hint));
    }
    let (own, other) = (&jobs[place], &jobs[baseline]);
    if own.workload != other.workload {
        let message = format!("{} has other metrics: it runs {}", quoted(name), other.workload);
        let hint = format!("name a job that runs {}, too", own.workload);
        return Err(name.fault(message, "").hint(hint));
    }
    Ok(Some(baseline))
}
