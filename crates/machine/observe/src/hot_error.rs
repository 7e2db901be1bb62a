//! Why it cannot be said which data are hot on a device.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use treering_sys::Errno;

use crate::block_trace::BlockTraceError;

/// Why requests cannot be attributed to files.
#[derive(Debug)]
pub enum HotError {
    /// The devices under the directory cannot be found out.
    Devices(BlockTraceError),
    /// The directory cannot be looked at.
    Unreadable(io::Error),
    /// The filesystem has several devices, or addresses of its own.
    OtherAddresses {
        /// A directory on it.
        target: PathBuf,
    },
    /// A file beneath the directory cannot be looked at.
    Walk {
        /// What was to be done.
        what: &'static str,
        /// Why not.
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
            Self::Walk { what, errno } => write!(f, "cannot {what}: {errno}"),
        }
    }
}

impl Error for HotError {}
