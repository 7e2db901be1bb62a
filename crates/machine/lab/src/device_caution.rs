//! Cautions about measurements on a device.

use std::fmt;
use std::path::PathBuf;

use treering_model::{Caution, CautionCode};

/// Property of a device that makes measurements questionable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceCaution {
    /// The host's page cache stands between the loop device and its file.
    HostCacheAnswers {
        /// Path of the image file.
        image: PathBuf,
        /// True if direct I/O was requested and refused.
        direct_io: bool,
    },
    /// The image file is on a filesystem in memory.
    ImageInMemory {
        /// Directory of the image.
        directory: PathBuf,
    },
    /// The host filesystem can fill up before the sparse images do.
    HostMayFill {
        /// Directory of the images.
        directory: PathBuf,
        /// Bytes that all images need when fully written.
        needed_bytes: u64,
        /// Free bytes of the host filesystem.
        free_bytes: u64,
    },
    /// The kernel gave the loop device another sector size than requested.
    OtherSectors {
        /// Path of the device node.
        device: PathBuf,
        /// Logical sector size of the device, in bytes.
        bytes: u32,
    },
}

impl fmt::Display for DeviceCaution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostCacheAnswers { image, direct_io: true } => write!(
                f,
                "the host filesystem of {} does not support direct I/O for the loop device",
                image.display()
            ),
            Self::HostCacheAnswers { image, direct_io: false } => {
                write!(f, "the loop device on {} goes through the page cache", image.display())
            }
            Self::ImageInMemory { directory } => {
                write!(f, "the image in {} is in memory, not on a disk", directory.display())
            }
            Self::HostMayFill { directory, needed_bytes, free_bytes } => write!(
                f,
                "sparse images of {needed_bytes} bytes in total are in {}, which has {free_bytes} \
                 bytes free",
                directory.display()
            ),
            Self::OtherSectors { device, bytes } => {
                write!(f, "{} has sectors of {bytes} bytes", device.display())
            }
        }
    }
}

impl DeviceCaution {
    /// Converts to a caution of a trial.
    pub fn caution(&self) -> Caution {
        let code = match self {
            Self::HostCacheAnswers { .. } => CautionCode::HostCacheAnswers,
            Self::ImageInMemory { .. } => CautionCode::ImageInMemory,
            Self::HostMayFill { .. } => CautionCode::HostMayFill,
            Self::OtherSectors { .. } => CautionCode::OtherSectors,
        };
        Caution { code, message: self.to_string() }
    }
}
