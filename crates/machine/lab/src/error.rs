//! Why a place cannot be had, and what to do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use treering_engine::{RemoveError, TargetError};
use treering_sys::Errno;

use crate::DeviceError;
use crate::reboot::RebootError;

/// Why a place cannot be made, used or cleaned.
#[derive(Debug, Error)]
pub enum LabError {
    /// A call on a path failed.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was being done.
        what: &'static str,
        /// To what.
        path: PathBuf,
        /// The system's words.
        #[source]
        source: io::Error,
    },
    /// Something that is not a directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// What it is not.
        path: PathBuf,
    },
    /// The filesystem takes no writes.
    #[error("{} is on a filesystem that is mounted read-only", path.display())]
    ReadOnly {
        /// The directory.
        path: PathBuf,
    },
    /// Another run holds the directory.
    #[error("another run is working in {}", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// A killed run left its trees.
    #[error("a run that was killed (trial {trial}) left its trees in {}", path.display())]
    Left {
        /// The directory.
        path: PathBuf,
        /// The trial.
        trial: String,
    },
    /// A mark belongs to another user, who could have written anything into it.
    #[error("{} belongs to user {user}: it is not believed, and nothing is removed by it",
        path.display())]
    MarkOfOther {
        /// The mark.
        path: PathBuf,
        /// Its owner.
        user: u32,
    },
    /// A mark was left in another directory and copied or moved to this one.
    #[error("{} was left in another directory: nothing is removed by it here", path.display())]
    MarkFromElsewhere {
        /// The mark.
        path: PathBuf,
    },
    /// There is nothing that treering may remove.
    #[error("{} contains no mark of a killed run", path.display())]
    NothingLeft {
        /// The directory.
        path: PathBuf,
    },
    /// The directory cannot be opened or examined.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A device cannot be had, formatted, mounted or given back.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The machine cannot be booted into another kernel.
    #[error(transparent)]
    Reboot(#[from] RebootError),
    /// A tree could not be removed.
    #[error(transparent)]
    Remove(#[from] RemoveError),
}

impl LabError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Busy { .. } => Some("wait for it, or name another directory".to_owned()),
            Self::Left { path, .. } => {
                Some(format!("`treering clean {}` removes them", path.display()))
            }
            Self::NothingLeft { .. } => {
                Some("treering removes only the trees of its own killed native runs".to_owned())
            }
            Self::MarkOfOther { path, .. } => Some(format!(
                "if a run of that user was killed here, let that user run `treering clean`; \
                 otherwise remove {}",
                path.display()
            )),
            Self::MarkFromElsewhere { path } => Some(format!(
                "remove {}, or move it back where it was left and clean that directory",
                path.display()
            )),
            Self::Device(error) => error.hint(),
            Self::Reboot(error) => error.hint(),
            Self::ReadOnly { .. } => Some("remount it read-write".to_owned()),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("choose a directory that you can write to, or run as its owner".to_owned())
            }
            Self::Io { source, .. } if is_short_of_files(source) => Some(TOO_FEW_FILES.to_owned()),
            Self::Target(error) if is_short_of_files(&error.source) => {
                Some(TOO_FEW_FILES.to_owned())
            }
            Self::Io { .. } | Self::NotADirectory { .. } | Self::Target(_) | Self::Remove(_) => {
                None
            }
        }
    }

    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }
}

const TOO_FEW_FILES: &str = "allow more open files: `ulimit -n 1024`";

/// Whether a process, or the whole machine, may open no more files.
fn is_short_of_files(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].contains(&Errno::from_io_error(error).unwrap_or(Errno::IO))
}

/// What is asked for cannot be.
pub(crate) fn unfit(why: String) -> LabError {
    DeviceError::Unfit(why).into()
}
