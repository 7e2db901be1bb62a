//! Why the first process of a guest cannot run a trial.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use treering_sys::Errno;

use crate::protocol::PORT;

/// What the first process of a guest needs and does not have.
#[derive(Debug, Error)]
pub enum InitError {
    /// A filesystem of the kernel's own cannot be mounted.
    #[error("cannot mount {fs_type} at {point}: {errno}")]
    Mount {
        /// Its type.
        fs_type: &'static str,
        /// Where.
        point: &'static str,
        /// Why not.
        errno: Errno,
    },
    /// A module cannot be loaded.
    #[error("cannot load {}: {source}", path.display())]
    Module {
        /// Its file, or the directory of all.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The kernel shows no port of ours.
    #[error("there is no virtio port {PORT}")]
    NoPort,
    /// The port cannot be opened.
    #[error("cannot open {}: {source}", node.display())]
    Port {
        /// Its device node.
        node: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The host cannot be reached any more.
    #[error("the port is lost: {0}")]
    Lost(#[source] io::Error),
    /// What the host sent is not a job.
    #[error("not a job: {0}")]
    Job(#[source] serde_json::Error),
    /// A disk did not appear.
    #[error("there is no disk {}", disk.display())]
    NoDisk {
        /// Its device node.
        disk: PathBuf,
    },
}
