//! Variants: the compared configurations, described so that a lab can set them up.

pub(crate) mod guest;
pub(crate) mod layers;
pub(crate) mod second;
pub(crate) mod settings;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{GuestSpec, SecondDevice, VariantSettings};

/// Device or devices of a filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum DeviceSpec {
    /// Image files behind loop devices, created and removed by the lab.
    Loop {
        /// Size of each image, in bytes.
        bytes: u64,
        /// Number of images.
        count: u16,
        /// True for sparse images, false for preallocated ones.
        sparse: bool,
        /// True for direct I/O on the image, bypassing the host's page cache.
        direct_io: bool,
        /// Sector size in bytes: 512 or 4096.
        sector_bytes: u32,
        /// Directory of the images; `None` for the lab's own directory.
        directory: Option<PathBuf>,
        /// Disk model played over each image: name or path of its file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<String>,
    },
    /// Block devices of the machine.
    Block {
        /// Device paths.
        paths: Vec<PathBuf>,
    },
    /// Directory on an existing filesystem: nothing is formatted or mounted.
    Directory {
        /// Directory path.
        path: PathBuf,
    },
}

impl DeviceSpec {
    /// Loop image with the defaults of every plan: preallocated, with direct I/O past the host's
    /// page cache.
    pub const fn loop_image(bytes: u64) -> Self {
        Self::Loop {
            bytes,
            count: 1,
            sparse: false,
            direct_io: true,
            sector_bytes: 512,
            directory: None,
            disk: None,
        }
    }

    /// Number of devices; 0 for a directory.
    pub fn count(&self) -> usize {
        match self {
            Self::Loop { count, .. } => usize::from(*count),
            Self::Block { paths } => paths.len(),
            Self::Directory { .. } => 0,
        }
    }

    /// True for a loop device that is played as a disk.
    pub const fn is_played(&self) -> bool {
        matches!(self, Self::Loop { disk: Some(_), .. })
    }
}

/// One combination of the factors: kernel, device, filesystem, mkfs, mount.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Variant {
    /// Name in tables.
    pub name: String,
    /// Name of the baseline variant; `None` for the first variant of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Required kernel release, if it matters.
    pub kernel: Option<String>,
    /// Guest with another kernel; `None` for the running kernel.
    pub guest: Option<GuestSpec>,
    /// Device of the filesystem.
    pub device: DeviceSpec,
    /// Filesystem name, as in `ext4`; empty for a directory.
    pub filesystem: String,
    /// mkfs options, as on its command line.
    pub mkfs: Vec<String>,
    /// Saved image that each trial starts from, instead of a fresh filesystem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Age that the filesystem of each trial has; `None` for a fresh one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<VariantAge>,
    /// Mount options, as after `mount -o`.
    pub mount: Vec<String>,
    /// Artificial slowdown of its tasks in percent, to test the detection of differences; usually
    /// 0.
    pub handicap_percent: u32,
    /// Settings besides the filesystem.
    #[serde(default, skip_serializing_if = "VariantSettings::is_empty")]
    pub settings: VariantSettings,
}

/// Age of a filesystem: operations of the plan's aging run, after which its image was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VariantAge {
    /// Operations behind the filling of the tree; 0 for the filled tree.
    pub operations: u64,
    /// The filesystem of this age, or a fresh one with a copy of its files.
    pub tree: AgedTree,
}

crate::named_enum! {
    /// State of the files of a trial that starts from an age.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AgedTree {
        /// On the filesystem that has aged.
        Aged = "aged",
        /// Copied to a fresh filesystem in the order of a walk.
        Copied = "copied",
    }
}

impl Variant {
    /// Variant with this name, filesystem and device, and defaults for the rest.
    pub fn new(name: &str, filesystem: &str, device: DeviceSpec) -> Self {
        Self {
            name: name.to_owned(),
            against: None,
            kernel: None,
            guest: None,
            device,
            filesystem: filesystem.to_owned(),
            mkfs: Vec::new(),
            image: None,
            age: None,
            mount: Vec::new(),
            handicap_percent: 0,
            settings: VariantSettings::default(),
        }
    }

    /// Number of devices of the filesystem, or of the lowest layer; 0 for a directory.
    pub fn member_count(&self) -> usize {
        let second = self.settings.second_device.as_ref();
        self.device.count() + second.map_or(0, SecondDevice::members)
    }

    /// Devices of the variant: the first, and the second if there is one.
    pub fn devices(&self) -> impl Iterator<Item = &DeviceSpec> {
        let second = self.settings.second_device.as_ref();
        std::iter::once(&self.device).chain(second.map(SecondDevice::spec))
    }
}
