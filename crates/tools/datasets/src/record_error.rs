//! Errors of recording a dataset from trees.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use thiserror::Error;
use treering_script::NameError;

use crate::TooManyBytes;

/// Trees that make no dataset.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A file or directory that cannot be read, or that went away during the scan.
    #[error("cannot scan {}", .path.display())]
    Scan {
        /// The file or directory.
        path: PathBuf,
        /// Error of the system call.
        #[source]
        source: io::Error,
    },
    /// A path that a dataset cannot have.
    #[error("cannot record {}", .path.display())]
    Name {
        /// The file or directory.
        path: PathBuf,
        /// Error in its path.
        #[source]
        source: NameError,
    },
    /// Sizes that cannot be added up.
    #[error("cannot record {}", .root.display())]
    TooManyBytes {
        /// The tree.
        root: PathBuf,
        /// Overflow of the sum.
        #[source]
        source: TooManyBytes,
    },
    /// A tree without a single file.
    #[error("there is no file to record below {}", .root.display())]
    NoFiles {
        /// The tree.
        root: PathBuf,
    },
    /// A part of the tree that is in none of the trees.
    #[error("none of the trees has a file '{prefix}' or below it")]
    NothingBelow {
        /// The prefix.
        prefix: String,
    },
    /// Both a build command and trees that are built already.
    #[error("a build command makes the compiled trees itself; give one or the other")]
    BuildAndCompiled,
    /// The build command cannot be run.
    #[error("cannot run the build command in {}", .directory.display())]
    Build {
        /// The tree.
        directory: PathBuf,
        /// Error of the system call.
        #[source]
        source: io::Error,
    },
    /// The build command failed.
    #[error("the build command failed in {}: {status}", .directory.display())]
    BuildFailed {
        /// The tree.
        directory: PathBuf,
        /// Exit status of the command.
        status: ExitStatus,
    },
}
