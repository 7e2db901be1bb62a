//! One tree made by treering's engine, exactly as `treering run compilebench` makes it, and what
//! that cost by the kernel's account of this thread.

use rustix::time::{ClockId, clock_gettime};
use treering_compilebench::Compilebench;
use treering_engine::{
    EngineOptions, LatencyMode, PayloadKind, RunOptions, RunProgress, RunSessions,
};
use treering_model::{Op, SinkError, TaskTotals, TrialEvent, TrialSink};
use treering_script::{Job, Settings, TargetFacts, Workload};
use treering_sys::{StopFlag, ThreadCpu, monotonic_ns, thread_cpu};

use crate::Fault;

/// The name of the first tree of a run.
pub const FIRST_TREE: &str = "kernel-0";

/// CPU and wall time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// User and system time of this thread.
    pub cpu_ns: u64,
    /// The user's share.
    pub user_ns: u64,
    /// By the clock.
    pub wall_ns: u64,
}

/// Takes the cost of something that runs on this thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    user_ns: u64,
    system_ns: u64,
    began_ns: u64,
}

impl Stopwatch {
    /// Begins.
    pub(crate) fn begin() -> Self {
        let cpu = present_cpu();
        Self { user_ns: cpu.user_ns, system_ns: cpu.system_ns, began_ns: monotonic_ns() }
    }

    /// What it was since then.
    pub(crate) fn cost(self) -> Cost {
        let wall_ns = monotonic_ns() - self.began_ns;
        let cpu = present_cpu();
        let user_ns = cpu.user_ns - self.user_ns;
        Cost { cpu_ns: user_ns + cpu.system_ns - self.system_ns, user_ns, wall_ns }
    }
}

/// CPU of this thread up to now. `getrusage` alone may tell that of the last timer tick; asking for
/// the thread's clock brings the kernel's account up to date.
fn present_cpu() -> ThreadCpu {
    let _brought_up_to_date = clock_gettime(ClockId::ThreadCPUTime);
    thread_cpu()
}

/// The options of a run that creates `trees` trees, one after the other, in sorted order, and
/// neither syncs nor drops caches.
pub(crate) fn create_options(dataset: &str, trees: u32) -> Vec<(String, String)> {
    let options = [
        ("dataset", dataset.to_owned()),
        ("initial-dirs", trees.to_string()),
        ("runs", "0".to_owned()),
        ("order", "sorted".to_owned()),
        ("sync", "none".to_owned()),
        ("drop-caches", "none".to_owned()),
    ];
    options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The job that creates one tree of a data set.
///
/// # Errors
/// When the data set cannot be read.
pub fn create_job(dataset: &str) -> Result<Box<dyn Job>, Fault> {
    Ok(Compilebench.native(&Settings::new(create_options(dataset, 1)))?)
}

/// A tree that the engine made.
#[derive(Clone, Debug)]
pub struct Created {
    /// From the event before the task to the event after it, taken by ourselves.
    pub cost: Cost,
    /// What the engine says of it.
    pub totals: TaskTotals,
}

/// Runs a job with a single task in a place.
///
/// # Errors
/// When it fails, or has no task.
pub fn create<P: RunSessions>(
    job: &dyn Job,
    place: &P,
    latency: LatencyMode,
) -> Result<Created, Fault> {
    let options = EngineOptions::new(latency, PayloadKind::Native { compressibility: 0 }, 1);
    let mut watch = TaskWatch::default();
    let mut session = job.begin(&TargetFacts::unknown());
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    place.run(session.as_mut(), RunOptions::new(&options, &mut watch, &progress, &stop))?;
    watch.created.ok_or_else(|| "the job had no task".into())
}

/// Takes the cost between the beginning and the end of each task; the last one counts.
#[derive(Debug, Default)]
struct TaskWatch {
    began: Option<Stopwatch>,
    created: Option<Created>,
}

impl TrialSink for TaskWatch {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        match event {
            TrialEvent::TaskBegan { .. } => self.began = Some(Stopwatch::begin()),
            TrialEvent::TaskEnded(totals) => {
                // First of all, before anything is copied.
                let cost = self.began.take().map(Stopwatch::cost).unwrap_or_default();
                self.created = Some(Created { cost, totals: totals.clone() });
            }
            _ => {}
        }
        Ok(())
    }
}

/// System calls of a task by kind, in the engine's own count.
pub fn calls(totals: &TaskTotals) -> Vec<(Op, u64)> {
    totals.ops.iter().map(|op| (op.op, op.calls)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Stopwatch, create_options};

    #[test]
    fn a_stopwatch_goes_forward() {
        let watch = Stopwatch::begin();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let cost = watch.cost();
        assert!(cost.wall_ns >= 2_000_000 && cost.cpu_ns < cost.wall_ns);
        assert!(cost.user_ns <= cost.cpu_ns);
    }

    #[test]
    fn the_options_are_those_of_the_program() {
        let options = create_options("linux-6.1", 2);
        assert!(options.contains(&("initial-dirs".to_owned(), "2".to_owned())));
    }
}
