//! `[report]`: the metrics and the threshold that decide.

use super::format::PlanTable;
use super::tree::Optional;
use crate::plan::error::{Fault, quoted};
use crate::plan::{Judging, PlannedJob, foreseen, known_names};

const METRICS_MAX: usize = 64;

/// Checks the metrics against those that the jobs give.
pub(super) fn judging(top: &PlanTable, jobs: &[PlannedJob]) -> Result<Judging, Fault> {
    let Some(section) = &top.report else { return Ok(Judging::default()) };
    let threshold = section.threshold.value().map(|threshold| threshold.0);
    let known = foreseen(jobs);
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
        if !known.iter().any(|job| job.has(metric)) {
            let message = format!("no job of this plan yields {}", quoted(metric));
            return Err(element.fault(message, "").hint(known_names(metric, &known)));
        }
        primary.push(metric.to_owned());
    }
    Ok(Judging { primary, threshold })
}
