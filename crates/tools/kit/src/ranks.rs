//! Workers of the workloads that run as ranks: fs_mark, mdtest, ior and io500.

pub mod sums;

use treering_script::{ParallelOptions, WorkerKind};

/// Exit code of mdtest and ior after `MPI_Abort`.
pub const ABORTED: u8 = 255;

/// Parses the kind of a worker.
pub fn worker_kind(word: &str) -> WorkerKind {
    if word == "processes" { WorkerKind::Process } else { WorkerKind::Thread }
}

/// Execution of parallel tasks. A single task runs in a thread of the current process: in a new
/// process, its time would include the first touch of each page, and a test may be a single call.
pub fn side_by_side(workers: WorkerKind, tasks: usize) -> ParallelOptions {
    let workers = if tasks == 1 { WorkerKind::Thread } else { workers };
    ParallelOptions { workers, ..ParallelOptions::default() }
}
