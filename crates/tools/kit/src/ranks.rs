//! What the workloads have in common whose workers are ranks: fs_mark, mdtest, ior and io500.

use treering_script::{SideBySide, WorkerKind};

/// The exit code of mdtest and ior after `MPI_Abort`.
pub const ABORTED: u8 = 255;

/// What a worker is, by its word.
pub fn worker_kind(word: &str) -> WorkerKind {
    if word == "processes" { WorkerKind::Process } else { WorkerKind::Thread }
}

/// How so many tasks go side by side. One alone is done by the process that is there: in a new one
/// the first touch of each page would be in its time, and a test may be a single call.
pub fn side_by_side(workers: WorkerKind, tasks: usize) -> SideBySide {
    let workers = if tasks == 1 { WorkerKind::Thread } else { workers };
    SideBySide { workers, ..SideBySide::default() }
}
