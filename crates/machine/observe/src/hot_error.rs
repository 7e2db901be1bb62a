//! Errors of the attribution of requests to files.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use treering_sys::Errno;

use crate::block_trace::BlockTraceError;

/// Failure to attribute requests to files.
#[derive(Debug)]
pub enum HotError {
    /// The devices below the directory are unknown.
    Devices(BlockTraceError),
    /// The directory cannot be read.
    Unreadable(io::Error),
    /// The filesystem has several devices, or its own address space.
    OtherAddresses {
        /// Directory on the filesystem.
        target: PathBuf,
    },
    /// The walk beneath the directory failed.
    Walk {
        /// Failed action.
        action: &'static str,
        /// Errno of the call.
        errno: Errno,
    },
}

impl fmt::Display for HotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Devices(error) => error.fmt(f),
            Self::Unreadable(error) => error.fmt(f),
            Self::OtherAddresses { target } => write!(
                f,
                "requests of {} cannot be attributed to files: its addresses are not those of a \
                 single device (btrfs, several devices, or a mapping)",
                target.display()
            ),
            Self::Walk { action, errno } => write!(f, "cannot {action}: {errno}"),
        }
    }
}

impl Error for HotError {}
