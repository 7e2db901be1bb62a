//! Command lines and dry runs of trials, with the workloads of this program.

pub(crate) use treering_conduct::quoted;
use treering_conduct::trial::write_outline;
use treering_script::{Job, TargetFacts};

use crate::failure::Failure;

/// Prints the plan of a run: its operations, or each of their calls.
pub(crate) fn outline(job: &dyn Job, facts: &TargetFacts, calls: bool) -> Result<(), Failure> {
    super::output::with_writer(None, |out| write_outline(job, facts, calls, out))
}
