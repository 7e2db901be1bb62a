//! Failures of the warm-up: a plan ends after it if no variant can run its jobs.

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

    /// Ends the plan if every trial of the warm-up failed.
    ///
    /// # Errors
    /// When every trial failed: the error of the first.
    pub(super) fn check(&self, plan: &Plan, finished: &FinishedCells) -> Result<(), Failure> {
        let Some((first, why)) = self.0.first() else { return Ok(()) };
        let has_failed = |cell: &PlannedCell| self.0.iter().any(|(failed, _)| failed == cell);
        let is_good = |(cell, _): (&PlannedCell, &TrialId)| {
            cell.role == CellRole::WarmUp && !has_failed(cell)
        };
        if finished.done.iter().any(is_good) {
            return Ok(());
        }
        let message = format!(
            "the warm-up failed in every variant, and so would every round; the first, {}: {why}",
            first.label(plan)
        );
        Err(Failure::new(FailureKind::Trial, message))
    }
}
