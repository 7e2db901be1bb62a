//! Sessions against what is known beforehand: random settings of each workload, run in memory and
//! on a real disk, leave what was asked for.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod blogbench;
mod bonnie;
mod compilebench;
mod dbench;
mod ffsb;
mod filebench;
mod fio;
mod fs_mark;

use treering_model::{SinkError, TaskTotals, TrialEvent, TrialSink};

/// Keeps the tasks that ended.
#[derive(Default)]
struct Tasks(Vec<TaskTotals>);

impl TrialSink for Tasks {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if let TrialEvent::TaskEnded(task) = event {
            self.0.push(task.clone());
        }
        Ok(())
    }
}
