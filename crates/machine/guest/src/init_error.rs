//! Errors of a guest's init process.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use treering_sys::Errno;

use crate::protocol::PORT;

/// Failure to set up a guest.
#[derive(Debug, Error)]
pub enum InitError {
    /// A basic filesystem cannot be mounted.
    #[error("cannot mount {fs_type} at {point}: {errno}")]
    Mount {
        /// Filesystem type.
        fs_type: &'static str,
        /// Mount point.
        point: &'static str,
        /// Errno of the mount.
        errno: Errno,
    },
    /// A module cannot be loaded.
    #[error("cannot load {}: {source}", path.display())]
    Module {
        /// Module file, or the directory of all modules.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The virtio port is missing.
    #[error("there is no virtio port {PORT}")]
    NoPort,
    /// The port cannot be opened.
    #[error("cannot open {}: {source}", node.display())]
    Port {
        /// Device node of the port.
        node: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The connection to the host is lost.
    #[error("the port is lost: {0}")]
    Lost(#[source] io::Error),
    /// The host sent an invalid job.
    #[error("not a job: {0}")]
    Job(#[source] serde_json::Error),
    /// The shared root cannot be entered.
    #[error("the root of the host cannot be used: {}: {source}", path.display())]
    Root {
        /// Path in the guest.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A disk did not appear.
    #[error("there is no disk {}", disk.display())]
    NoDisk {
        /// Device node of the disk.
        disk: PathBuf,
    },
}
