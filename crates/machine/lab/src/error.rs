//! Errors in acquiring, using or cleaning a target, with advice for the user.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use treering_engine::{RemoveError, TargetError};
use treering_model::nearest::suggestion;
use treering_sys::Errno;

use crate::DeviceError;
use crate::reboot::RebootError;

/// Error of the lab.
#[derive(Debug, Error)]
pub enum LabError {
    /// A system call on a path failed.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The failed action, such as `cannot open`.
        action: &'static str,
        /// Path that the action was applied to.
        path: PathBuf,
        /// Error of the system call.
        #[source]
        source: io::Error,
    },
    /// A path is not a directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// No modelled disk has a name.
    #[error("there is no disk {name:?}: {words}")]
    NoDisk {
        /// The name.
        name: String,
        /// The nearest known name, and all known ones.
        words: String,
    },
    /// No image is saved under a name.
    #[error("there is no saved image '{name}'")]
    NoImage {
        /// The name.
        name: String,
        /// Names of the saved images.
        known: Vec<String>,
    },
    /// The filesystem is mounted read-only.
    #[error("{} is on a filesystem that is mounted read-only", path.display())]
    ReadOnly {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Another run holds the lock of the directory.
    #[error("another run is working in {}", path.display())]
    Busy {
        /// Path of the directory.
        path: PathBuf,
    },
    /// A killed run left trees in the directory.
    #[error("a run that was killed (trial {trial}) left its trees in {}", path.display())]
    Left {
        /// Path of the directory.
        path: PathBuf,
        /// Identifier of the killed trial.
        trial: String,
    },
    /// A mark belongs to another user, and its content cannot be trusted.
    #[error("{} belongs to user {user}: it is not believed, and nothing is removed by it",
        path.display())]
    MarkOfOther {
        /// Path of the mark.
        path: PathBuf,
        /// User ID of the mark's owner.
        user: u32,
    },
    /// A mark was left in another directory and copied or moved to this one.
    #[error("{} was left in another directory: nothing is removed by it here", path.display())]
    MarkFromElsewhere {
        /// Path of the mark.
        path: PathBuf,
    },
    /// The directory has no mark of a killed run, so treering may remove nothing.
    #[error("{} contains no mark of a killed run", path.display())]
    NothingLeft {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The directory cannot be opened or examined.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A device cannot be acquired, formatted, mounted or released.
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
    /// Advice for the user, if any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Busy { .. } => Some("wait for it, or name another directory".to_owned()),
            Self::Left { path, .. } => {
                Some(format!("`treering lab clean {}` removes them", path.display()))
            }
            Self::NothingLeft { .. } => {
                Some("treering removes only the trees of its own killed native runs".to_owned())
            }
            Self::MarkOfOther { path, .. } => Some(format!(
                "if a run of that user was killed here, let that user run `treering lab clean`; \
                 otherwise remove {}",
                path.display()
            )),
            Self::MarkFromElsewhere { path } => Some(format!(
                "remove {}, or move it back where it was left and clean that directory",
                path.display()
            )),
            Self::Device(error) => error.hint(),
            Self::Reboot(error) => error.hint(),
            Self::NoDisk { .. } => None,
            Self::NoImage { name, known } => Some(image_hint(name, known)),
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
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

fn image_hint(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return "no image is saved: `treering age DIR --save NAME` makes one".to_owned();
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    suggestion(name, &known, "saved images")
}

const TOO_FEW_FILES: &str = "allow more open files: `ulimit -n 1024`";

/// True if the process (`EMFILE`) or the machine (`ENFILE`) is out of file descriptors.
fn is_short_of_files(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE].contains(&Errno::from_io_error(error).unwrap_or(Errno::IO))
}

/// Error for a variant that cannot be made.
pub(crate) fn unfit(why: String) -> LabError {
    DeviceError::Unfit(why).into()
}
