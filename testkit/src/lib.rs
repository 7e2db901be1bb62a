//! Library of the tests: temporary directories and filesystems, the program as users run it, small
//! data sets, and guards that skip a test on a machine that lacks something.
//!
//! This is a dev-dependency only. No test of treering is here.
#![expect(clippy::missing_panics_doc, reason = "a test's words panic: that is how tests fail")]

mod at_once;
mod block_device;
mod foresight;
mod four_lists;
mod gluster;
mod guard;
mod loop_fs;
mod network;
mod nfs;
mod place;
mod program;
mod running;
pub mod sequence;
mod strace;

pub use at_once::at_once;
pub use block_device::BlockDevice;
pub use foresight::{TaskCollector, assert_decides_as_foreseen, assert_was_foreseen};
pub use four_lists::{FileSizes, FourLists};
pub use gluster::{GlusterClients, cannot_gluster};
pub use guard::{cannot_loop_mount, is_root, is_tool, shared, skip};
pub use loop_fs::LoopFs;
pub use nfs::{GuestSystem, NfsGuests, cannot_nfs};
pub use place::{SpaceFiller, fill, temp_dir, temp_dir_in, tree_of};
pub use program::{FinishedCommand, Program};
pub use running::{RunningProgram, wait_until};
pub use strace::{TracedCall, traced};
pub use tempfile::TempDir;
