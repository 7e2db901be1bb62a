//! What a look at a device finds, and what stands against formatting it.

use std::fmt;
use std::path::PathBuf;

use super::content::Coverage;
use super::signatures::{Signature, place_in_words};
use crate::machine::DeviceNumber;

/// Something that stands against formatting a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// It is something else than a block device.
    NotABlockDevice,
    /// It has no bytes: no medium, or a loop device without a file.
    Empty,
    /// It takes no writes.
    ReadOnly,
    /// It, a partition of it or something made of it is mounted.
    Mounted {
        /// The kernel's name of what is mounted.
        name: String,
        /// Where.
        point: PathBuf,
    },
    /// It, a partition of it or something made of it is swap in use.
    Swap {
        /// The kernel's name of it.
        name: String,
    },
    /// Something is made of it: RAID, LVM, a mapping, a cache, a loop device.
    Held {
        /// The kernel's name of it or its partition.
        name: String,
        /// What is made of it.
        by: String,
    },
    /// It belongs to a mounted filesystem of several devices.
    Member {
        /// The kernel's name of it.
        name: String,
        /// Of what.
        of: String,
    },
    /// A loop device on the same file or device leads to the same bytes.
    SameBytes {
        /// The kernel's name of the loop device that is asked for, or that it lies on.
        name: String,
        /// The name of the other.
        other: String,
    },
    /// A program has it open for writing.
    OpenForWriting {
        /// The kernel's name of it.
        name: String,
        /// The process.
        pid: String,
        /// Its program.
        program: String,
    },
    /// A program has it open for reading, and would lose what it reads.
    OpenForReading {
        /// The kernel's name of it.
        name: String,
        /// The process.
        pid: String,
        /// Its program.
        program: String,
    },
    /// Somebody has it open for themselves.
    Busy,
    /// It has partitions.
    Partitions {
        /// Their names.
        names: Vec<String>,
    },
    /// An earlier file of the loop device left partitions: the present one has no table of them.
    LeftoverPartitions {
        /// Their names.
        names: Vec<String>,
    },
    /// It carries something.
    Carries(Signature),
    /// It is not empty, and what it carries is not known.
    Data {
        /// Where a byte stands that is not zero, in bytes from the beginning.
        offset: u64,
    },
}

impl Obstacle {
    /// Whether naming the device for erasing removes it.
    pub(crate) fn is_erasable(&self) -> bool {
        matches!(
            self,
            Self::Partitions { .. }
                | Self::LeftoverPartitions { .. }
                | Self::Carries(_)
                | Self::Data { .. }
        )
    }

    /// Whether it may be gone in a moment.
    pub(super) fn is_fleeting(&self) -> bool {
        matches!(self, Self::Busy | Self::OpenForWriting { .. } | Self::OpenForReading { .. })
    }
}

impl fmt::Display for Obstacle {
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

/// A look at a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The path as the user gave it.
    pub asked: PathBuf,
    /// Where it leads.
    pub resolved: PathBuf,
    /// The number of the device there.
    pub number: DeviceNumber,
    /// Its bytes.
    pub bytes: u64,
    /// What stands against formatting it.
    pub obstacles: Vec<Obstacle>,
    /// How much was read in search of data; `None` where a signature was found before.
    pub coverage: Option<Coverage>,
}

impl Inspection {
    /// Whether something stands against it that naming the device for erasing does not remove.
    pub fn is_in_use(&self) -> bool {
        self.obstacles.iter().any(|obstacle| !obstacle.is_erasable())
    }

    /// What removes partitions that an earlier file left on a loop device, if there are some.
    pub fn leftover_hint(&self) -> Option<String> {
        let is_leftover = |one: &Obstacle| matches!(one, Obstacle::LeftoverPartitions { .. });
        let node = self.resolved.display();
        self.obstacles.iter().any(is_leftover).then(|| {
            format!("the partitions are leftovers of {node}: `partx --delete {node}` removes them")
        })
    }
}
