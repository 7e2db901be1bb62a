//! End of a plan after its first failed trial, with the variant that is to blame for it.

use std::collections::BTreeMap;

use treering_model::{Ending, TrialId};

use crate::cells::PlannedCell;

/// Index of the baseline, which is known to be good.
const BASELINE: usize = 0;

/// Decides when a failed trial ends a plan. A job that the baseline has not completed yet may be to
/// blame itself: the baseline then runs it before the plan ends.
#[derive(Debug, Default)]
pub(super) struct FailureJudge {
    /// Failed cell whose job the baseline has not completed yet, with its error.
    suspect: Option<(PlannedCell, String)>,
    /// Index of the variant to blame for the end of the plan, with the error of its trial.
    failure: Option<(usize, String)>,
}

impl FailureJudge {
    /// Takes the ending of a trial, and the finished cells with this one; returns the variant to
    /// blame and its error if the plan ends.
    pub(super) fn take(
        &mut self,
        cell: &PlannedCell,
        ending: &Ending,
        done: &BTreeMap<PlannedCell, TrialId>,
    ) -> Option<(usize, String)> {
        let is_baseline = cell.variant == BASELINE;
        let is_same_job = |(failed, _): &(PlannedCell, String)| failed.job == cell.job;
        match (ending, &self.suspect) {
            (Ending::Failed { why }, suspect) => {
                let is_completed = |other: &PlannedCell| {
                    other.variant == BASELINE && other.job == cell.job && other != cell
                };
                if is_baseline || suspect.is_some() || done.keys().any(is_completed) {
                    self.failure = Some((cell.variant, why.clone()));
                } else {
                    self.suspect = Some((*cell, why.clone()));
                }
            }
            (_, Some(suspect)) if is_baseline && is_same_job(suspect) => {
                self.failure = Some((suspect.0.variant, suspect.1.clone()));
            }
            _ => {}
        }
        self.failure.clone()
    }

    /// Reports whether a cell does not run because only the baseline is asked.
    pub(super) fn passes_over(&self, cell: &PlannedCell) -> bool {
        self.suspect.is_some() && cell.variant != BASELINE
    }

    /// Index of the variant to blame for the end of the plan, with the error of its trial.
    pub(super) fn failure(&self) -> Option<(usize, String)> {
        self.failure.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::FailureJudge;
    use crate::cells::PlannedCell;
    use std::collections::BTreeMap;
    use treering_model::{CellRole, Ending, TrialId};

    fn cell(variant: usize, job: usize) -> PlannedCell {
        PlannedCell { round: 1, role: CellRole::Round, variant, job }
    }

    /// Judgement after these trials: variant, job, and the error of a failed one.
    fn judged(trials: &[(usize, usize, &str)]) -> (FailureJudge, Option<(usize, String)>) {
        let (mut judge, mut done) = (FailureJudge::default(), BTreeMap::new());
        for &(variant, job, why) in trials {
            assert_eq!(judge.failure(), None, "{variant} {job}");
            let ending = match why {
                "" => Ending::Completed,
                why => Ending::Failed { why: why.to_owned() },
            };
            done.insert(cell(variant, job), TrialId::new());
            judge.take(&cell(variant, job), &ending, &done);
        }
        let failure = judge.failure();
        (judge, failure)
    }

    #[test]
    fn a_job_that_the_baseline_has_completed_is_not_to_blame() {
        assert_eq!(judged(&[(0, 0, ""), (1, 0, "panic")]).1, Some((1, "panic".to_owned())));
        assert_eq!(judged(&[(1, 0, ""), (0, 0, "panic")]).1, Some((0, "panic".to_owned())));
    }

    #[test]
    fn the_baseline_is_asked_about_a_job_that_it_has_not_completed() {
        let (judge, failure) = judged(&[(0, 1, ""), (1, 0, "no program")]);
        assert_eq!(failure, None);
        assert!(judge.passes_over(&cell(1, 1)) && !judge.passes_over(&cell(0, 0)));
        assert_eq!(judged(&[(1, 0, "no program"), (0, 0, "none")]).1, Some((0, "none".to_owned())));
        assert_eq!(judged(&[(1, 0, "panic"), (0, 0, "")]).1, Some((1, "panic".to_owned())));
        // Another job says nothing about this one.
        assert_eq!(judged(&[(1, 0, "panic"), (0, 1, "")]).1, None);
    }
}
