//! `[report]`: the deciding metrics, the threshold, and parameters that may differ.

use std::collections::BTreeSet;

use treering_model::nearest::nearest;

use super::format::{PlanTable, ReportTable};
use super::tree::Optional;
use crate::plan::error::{Fault, quoted};
use crate::plan::{Judging, PlannedJob, foreseen, metric_hint};

const METRICS_MAX: usize = 64;

/// Checks that the jobs have the named metrics.
pub(super) fn judging(top: &PlanTable, jobs: &[PlannedJob]) -> Result<Judging, Fault> {
    let Some(section) = &top.report else { return Ok(Judging::default()) };
    let threshold = section.threshold.value().map(|threshold| threshold.0);
    let job_metrics = foreseen(jobs);
    let mut primary: Vec<String> = Vec::new();
    for element in section.primary.iter().flat_map(|metrics| &metrics.0) {
        let metric = element.text();
        let last = metric.rsplit('/').next().unwrap_or_default();
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if last.is_empty() || !last.chars().all(is_word) || metric.starts_with('/') {
            let message = format!("{} is no metric", quoted(metric));
            let hint = "use the JSON names of metrics: \"create/mib_per_second\"";
            return Err(element.fault(message, "").hint(hint));
        }
        if primary.iter().any(|other| other == metric) {
            return Err(element.fault(format!("{} appears twice", quoted(metric)), "again"));
        }
        if primary.len() == METRICS_MAX {
            let message = format!("more than {METRICS_MAX} primary metrics are not supported");
            let hint = "choose few: they are corrected together";
            return Err(element.fault(message, "").hint(hint));
        }
        if !job_metrics.iter().any(|job| job.has(metric)) {
            let message = format!("no job of this plan yields {}", quoted(metric));
            return Err(element.fault(message, "").hint(metric_hint(metric, &job_metrics)));
        }
        primary.push(metric.to_owned());
    }
    Ok(Judging { primary, threshold, ignore: ignored(section, jobs)? })
}

/// Parameters that may differ: each one is a parameter of some job.
fn ignored(section: &ReportTable, jobs: &[PlannedJob]) -> Result<Vec<String>, Fault> {
    let of_job = |job: &PlannedJob| {
        let own = job.job.parameters().into_iter().chain(job.parameters_around());
        let changed = job.changed.iter().flat_map(|changed| changed.job.job.parameters());
        own.chain(changed).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let parameter_names: BTreeSet<String> = jobs.iter().flat_map(of_job).collect();
    let mut names: Vec<String> = Vec::new();
    for element in section.ignore.iter().flat_map(|names| &names.0) {
        let name = element.text();
        if !parameter_names.contains(name) {
            let message = format!("no job of this plan has the parameter {}", quoted(name));
            let list = parameter_names.iter().map(String::as_str);
            let hint = match nearest(name, list.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("parameters of its jobs: {}", list.collect::<Vec<_>>().join(", ")),
            };
            return Err(element.fault(message, "").hint(hint));
        }
        if names.iter().any(|other| other == name) {
            return Err(element.fault(format!("{} appears twice", quoted(name)), "again"));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}
