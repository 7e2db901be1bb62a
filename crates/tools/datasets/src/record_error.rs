//! Errors of recording a dataset from trees.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use thiserror::Error;
use treering_script::NameError;

use crate::TooManyBytes;

/// Error of recording a dataset.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A file or directory cannot be read, or vanished during the scan.
    #[error("cannot scan {}", .path.display())]
    Scan {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the system call.
        #[source]
        source: io::Error,
    },
    /// A path cannot be part of a dataset.
    #[error("cannot record {}", .path.display())]
    Name {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error in its path.
        #[source]
        source: NameError,
    },
    /// The sum of the sizes overflows.
    #[error("cannot record {}", .root.display())]
    TooManyBytes {
        /// Directory of the tree.
        root: PathBuf,
        /// Overflow of the sum.
        #[source]
        source: TooManyBytes,
    },
    /// A tree has no files.
    #[error("there is no file to record below {}", .root.display())]
    NoFiles {
        /// Directory of the tree.
        root: PathBuf,
    },
    /// A prefix matches no path in any tree.
    #[error("none of the trees has a file '{prefix}' or below it")]
    NothingBelow {
        /// Prefix as the user wrote it.
        prefix: String,
    },
    /// Both a build command and built trees are given.
    #[error("a build command makes the compiled trees itself; give one or the other")]
    BuildAndCompiled,
    /// The build command cannot be run.
    #[error("cannot run the build command in {}", .directory.display())]
    Build {
        /// Directory of the tree.
        directory: PathBuf,
        /// Error of the system call.
        #[source]
        source: io::Error,
    },
    /// The build command failed.
    #[error("the build command failed in {}: {status}", .directory.display())]
    BuildFailed {
        /// Directory of the tree.
        directory: PathBuf,
        /// Exit status of the command.
        status: ExitStatus,
    },
}
