//! What makes the measurements of a device questionable.

use std::fmt;
use std::path::PathBuf;

use treering_model::{Caution, CautionCode};

/// Something about a device that makes its measurements questionable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceCaution {
    /// The host's page cache stands between the loop device and its file.
    HostCacheAnswers {
        /// The image.
        image: PathBuf,
        /// Whether direct I/O was asked for and refused.
        asked: bool,
    },
    /// The image is in memory.
    ImageInMemory {
        /// Its directory.
        directory: PathBuf,
    },
    /// The host filesystem can fill up before the sparse images do.
    HostMayFill {
        /// The directory of the images.
        directory: PathBuf,
        /// What they may need.
        needed_bytes: u64,
        /// What is there.
        free_bytes: u64,
    },
    /// The kernel gave the device other sectors than were asked for.
    OtherSectors {
        /// The device.
        device: PathBuf,
        /// Its sectors.
        bytes: u32,
    },
}

impl fmt::Display for DeviceCaution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostCacheAnswers { image, asked: true } => write!(
                f,
                "the host filesystem of {} does not support direct I/O for the loop device",
                image.display()
            ),
            Self::HostCacheAnswers { image, asked: false } => {
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
    /// The caution as a caution of a trial.
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
