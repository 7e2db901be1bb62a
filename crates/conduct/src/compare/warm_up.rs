//! Failures of the warm-up: a plan ends after it if no variant can run a job.

use treering_model::{CellRole, TrialId};

use super::finished::FinishedCells;
use crate::cells::PlannedCell;
use crate::failure::{Failure, FailureKind};
use crate::plan::Plan;

/// Cells of the warm-up that failed in this run, with their errors.
#[derive(Debug, Default)]
pub(super) struct WarmUpFailures(Vec<(PlannedCell, String)>);

impl WarmUpFailures {
    /// Notes the failure of a trial, if it belongs to the warm-up.
    pub(super) fn note(&mut self, cell: &PlannedCell, why: &str) {
        if cell.role == CellRole::WarmUp {
            self.0.push((*cell, why.to_owned()));
        }
    }

    /// Ends the plan if a job failed in the warm-up of every variant.
    ///
    /// # Errors
    /// When a job failed in every variant: the error of the first.
    pub(super) fn check(&self, plan: &Plan, finished: &FinishedCells) -> Result<(), Failure> {
        let has_failed = |cell: &PlannedCell| self.0.iter().any(|(failed, _)| failed == cell);
        let is_good = |(cell, _): (&PlannedCell, &TrialId), job: usize| {
            cell.role == CellRole::WarmUp && cell.job == job && !has_failed(cell)
        };
        let fails_everywhere = |(failed, _): &&(PlannedCell, String)| {
            !finished.done.iter().any(|cell| is_good(cell, failed.job))
        };
        let Some((first, why)) = self.0.iter().find(fails_everywhere) else { return Ok(()) };
        let of_job = match plan.jobs.as_slice() {
            [_] => String::new(),
            jobs => format!(" of {}", jobs[first.job].name),
        };
        let message = format!(
            "the warm-up{of_job} failed in every variant, and so would every round; the first, \
             {}: {why}",
            first.label(plan)
        );
        Err(Failure::new(FailureKind::Trial, message))
    }
}
