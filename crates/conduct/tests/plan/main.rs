//! Plan documents: accepted ones, refused ones with their messages, and written ones.

#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

mod changed_jobs;
mod deciding;
mod documents;
mod errors;
mod forecasts;
mod hostile;
mod observing;
mod order;
mod ranks;
mod rehearsing;
mod round_trip;
mod running;
mod shipped;

use std::path::Path;

use treering_conduct::plan::document::{Known, read};
use treering_conduct::plan::{Plan, PlanError};

/// Reads a plan with all workloads and filesystems of this program.
fn read_plan(text: &str) -> Result<Plan, PlanError> {
    read_file(text, "plan.toml")
}

fn read_file(text: &str, name: &str) -> Result<Plan, PlanError> {
    read_sized(text, name, false)
}

/// Reads a plan, with its jobs at full size if `is_full_size`.
fn read_sized(text: &str, name: &str, is_full_size: bool) -> Result<Plan, PlanError> {
    let filesystems = ["ext4", "ext3", "ext2", "xfs", "btrfs", "f2fs", "tmpfs"];
    let known = Known {
        workloads: treering_registry::workloads(),
        filesystems: &filesystems,
        data_dirs: Vec::new(),
        is_full_size,
        environment: vec![("NUMBER".to_owned(), "3".to_owned())],
        base_dir: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plans")),
        ..Known::default()
    };
    read(text, name, &known)
}
