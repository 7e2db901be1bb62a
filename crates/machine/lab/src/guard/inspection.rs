//! Result of inspecting a device: its obstacles to formatting.

use std::fmt;
use std::path::PathBuf;

use super::content::SearchCoverage;
use super::signatures::{DeviceSignature, place_in_words};
use crate::machine::DeviceNumber;

/// A reason not to format a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatObstacle {
    /// The path is not a block device.
    NotABlockDevice,
    /// The device has no bytes: no medium, or a loop device without a file.
    Empty,
    /// The device is read-only.
    ReadOnly,
    /// The device, a partition or a device above it is mounted.
    Mounted {
        /// Kernel name of the mounted device.
        name: String,
        /// Mount point.
        point: PathBuf,
    },
    /// The device, a partition or a device above it is swap in use.
    Swap {
        /// Kernel name of the swap device.
        name: String,
    },
    /// Another device is built on this one: RAID, LVM, a mapping, a cache, a loop device.
    Held {
        /// Kernel name of the device or its partition.
        name: String,
        /// Kernel name of the device built on it.
        by: String,
    },
    /// The device belongs to a mounted multi-device filesystem.
    Member {
        /// Kernel name of the device.
        name: String,
        /// The mounted multi-device filesystem: type and UUID.
        of: String,
    },
    /// Another loop device on the same file or device leads to the same bytes.
    SameBytes {
        /// Kernel name of the inspected device, or of the layer below it with the same bytes.
        name: String,
        /// Kernel name of the other loop device.
        other: String,
    },
    /// A program has the device open for writing.
    OpenForWriting {
        /// Kernel name of the device.
        name: String,
        /// Process ID.
        pid: String,
        /// Name of the program.
        program: String,
    },
    /// A program has the device open for reading; formatting would change the data under it.
    OpenForReading {
        /// Kernel name of the device.
        name: String,
        /// Process ID.
        pid: String,
        /// Name of the program.
        program: String,
    },
    /// A program or the kernel has the device open exclusively.
    Busy,
    /// The device has partitions.
    Partitions {
        /// Kernel names of the partitions.
        names: Vec<String>,
    },
    /// The loop device has partitions of an earlier file; the present file has no partition table.
    LeftoverPartitions {
        /// Kernel names of the partitions.
        names: Vec<String>,
    },
    /// The device has a known signature.
    Carries(DeviceSignature),
    /// The device has data without a known signature.
    Data {
        /// Offset of the first byte of data, in bytes.
        offset: u64,
    },
}

impl FormatObstacle {
    /// True if `--erase` of the device removes this obstacle.
    pub(crate) fn is_erasable(&self) -> bool {
        matches!(
            self,
            Self::Partitions { .. }
                | Self::LeftoverPartitions { .. }
                | Self::Carries(_)
                | Self::Data { .. }
        )
    }

    /// True if the obstacle may disappear in a moment.
    pub(super) fn is_fleeting(&self) -> bool {
        matches!(self, Self::Busy | Self::OpenForWriting { .. } | Self::OpenForReading { .. })
    }
}

impl fmt::Display for FormatObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotABlockDevice => write!(f, "it is not a block device"),
            Self::Empty => write!(f, "it is empty (0 bytes)"),
            Self::ReadOnly => write!(f, "it is read-only"),
            Self::Mounted { name, point } => write!(f, "{name} is mounted at {}", point.display()),
            Self::Swap { name } => write!(f, "{name} is swap in use"),
            Self::Held { name, by } => write!(f, "{name} is held by {by}"),
            Self::Member { name, of } => write!(f, "{name} is part of {of}"),
            Self::SameBytes { name, other } => {
                write!(f, "{other} is a loop device on the same bytes as {name}")
            }
            Self::OpenForWriting { name, pid, program } => {
                write!(f, "{name} is open for writing in {program} (process {pid})")
            }
            Self::OpenForReading { name, pid, program } => {
                write!(f, "{name} is open for reading in {program} (process {pid})")
            }
            Self::Busy => write!(f, "another program or the kernel has it open exclusively"),
            Self::Partitions { names } => write!(f, "it has partitions ({})", names.join(", ")),
            Self::LeftoverPartitions { names } => write!(
                f,
                "it has partitions ({}) that an earlier file left on the loop device: its present \
                 file has no partition table",
                names.join(", ")
            ),
            Self::Carries(signature) => write!(f, "it contains {signature}"),
            Self::Data { offset } => {
                let place = place_in_words(*offset);
                write!(f, "it is not empty: there is data of an unknown kind at {place}")
            }
        }
    }
}

/// Result of inspecting a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Path as the user wrote it.
    pub asked_path: PathBuf,
    /// Path with all links resolved.
    pub resolved: PathBuf,
    /// Device number.
    pub number: DeviceNumber,
    /// Size in bytes.
    pub bytes: u64,
    /// Reasons not to format the device; none for a free and empty device.
    pub obstacles: Vec<FormatObstacle>,
    /// Part of the device that was searched for data; `None` if a signature made the search
    /// unnecessary.
    pub coverage: Option<SearchCoverage>,
}

impl Inspection {
    /// True if an obstacle remains that `--erase` does not remove.
    pub fn is_in_use(&self) -> bool {
        self.obstacles.iter().any(|obstacle| !obstacle.is_erasable())
    }

    /// True if the path is no block device at all.
    pub(crate) fn is_no_device(&self) -> bool {
        self.obstacles.iter().any(|obstacle| matches!(obstacle, FormatObstacle::NotABlockDevice))
    }

    /// Examined users and regions of the device, in words.
    pub fn examined_parts(&self) -> Vec<String> {
        if self.bytes == 0 {
            return Vec::new();
        }
        let mut words = vec![
            "who uses it: mounts, swap, what is made of it, other loop devices on its bytes, and \
             programs that have it open"
                .to_owned(),
            "the places of all known signatures, and of further copies of them".to_owned(),
        ];
        let edges = "its first, middle and last MiB";
        words.push(match self.coverage {
            None => "no search for data: a signature was found".to_owned(),
            Some(SearchCoverage::Whole) => "every byte".to_owned(),
            Some(SearchCoverage::Edges) => edges.to_owned(),
            Some(SearchCoverage::Extents { bytes }) => format!(
                "{edges}, and all that its file has blocks for ({bytes} bytes); the rest are holes"
            ),
            Some(SearchCoverage::Places { count, bytes }) => format!(
                "{edges}, and {count} places of {bytes} bytes, one in each of as many equal parts, \
                 drawn anew each time"
            ),
        });
        words
    }

    /// Advice for removing leftover partitions of a loop device, if there are any.
    pub fn leftover_hint(&self) -> Option<String> {
        let is_leftover = |obstacle: &FormatObstacle| {
            matches!(obstacle, FormatObstacle::LeftoverPartitions { .. })
        };
        let node = self.resolved.display();
        self.obstacles.iter().any(is_leftover).then(|| {
            format!("the partitions are leftovers of {node}: `partx --delete {node}` removes them")
        })
    }
}
