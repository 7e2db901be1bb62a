//! Checks for plans in processes that a parallel launcher has started.

use treering_conduct::plan::Plan;

use crate::failure::{Failure, Kind};
use crate::launcher::said_size;

/// Refuses to conduct a plan in each of several processes that a launcher has started, and to start
/// ranks from one of its ranks.
pub(super) fn refuse(plan: &Plan) -> Result<(), Failure> {
    let Some((size, name, launcher)) = said_size() else { return Ok(()) };
    let launches = plan.jobs.iter().any(|job| job.launch.is_some());
    if size < 2 && !(launches && name != "SLURM_STEP_NUM_TASKS") {
        return Ok(());
    }
    let message = format!(
        "a launcher has started this ({name}={size}, of {launcher}), but a plan is conducted by \
         one process, which starts the ranks itself"
    );
    let hint = "run `treering compare` without mpirun, and write into the plan how many ranks a \
                job has: ranks = 4";
    Err(Failure::new(Kind::Usage, message).hint(hint))
}
