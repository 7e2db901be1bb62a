//! A variant: what is compared, described so that a lab can make it real.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::GuestSpec;

/// The device or devices that a filesystem is made on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum DeviceSpec {
    /// Image files behind loop devices, made and removed by the lab.
    Loop {
        /// Bytes of each image.
        bytes: u64,
        /// How many.
        count: u16,
        /// Whether the images are sparse or have all their blocks beforehand.
        sparse: bool,
        /// Whether the loop device reads and writes its file directly, past the host's page cache.
        direct_io: bool,
        /// Bytes of a sector: 512 or 4096.
        sector_bytes: u32,
        /// Where the images are; the lab's own place when not given.
        directory: Option<PathBuf>,
        /// The disk that is played over each image: its name, or the path of its file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<String>,
    },
    /// Block devices of the machine.
    Block {
        /// Their paths.
        paths: Vec<PathBuf>,
    },
    /// A directory on a filesystem that is there already: nothing is formatted or mounted.
    Directory {
        /// Its path.
        path: PathBuf,
    },
}

/// One combination of what can differ: kernel, device, filesystem, mkfs, mount.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Variant {
    /// Its name in tables.
    pub name: String,
    /// The name of the variant that it is compared with, where that is not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The release of the kernel it must run under, when that matters.
    pub kernel: Option<String>,
    /// The kernel that is booted for it in a guest; else it runs under the one that runs.
    pub guest: Option<GuestSpec>,
    /// What it is made on.
    pub device: DeviceSpec,
    /// The filesystem's name: `ext4`; empty for a directory.
    pub filesystem: String,
    /// Options for mkfs, as typed on its command line.
    pub mkfs: Vec<String>,
    /// The saved image that each trial starts from, instead of a fresh filesystem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Mount options, as behind `mount -o`.
    pub mount: Vec<String>,
    /// By how many percent its tasks are slowed on purpose, to test what finds it: usually 0.
    pub handicap_percent: u32,
}
