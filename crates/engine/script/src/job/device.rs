//! Block devices of jobs, which need no filesystem.

use std::path::PathBuf;

/// Block device to which a job's requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDevice {
    /// Path of the device.
    pub path: PathBuf,
    /// True if requests write to it or discard its blocks.
    pub is_written: bool,
    /// True if it may be written though it is mounted: the user asks for it in so many words.
    pub may_be_mounted: bool,
}
