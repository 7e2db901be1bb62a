//! The workloads: one folder each, one line each in [`ALL`].

pub mod compilebench;
pub mod fs_mark;

use treering_script::Workload;

/// Every workload, in the order in which they are listed.
pub const ALL: &[&dyn Workload] = &[&compilebench::Compilebench, &fs_mark::FsMark];
