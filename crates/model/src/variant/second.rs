//! Second device of a variant, of another kind than the first.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::DeviceSpec;

/// Second device of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecondDevice {
    /// Device of the filesystem's journal.
    Journal(DeviceSpec),
    /// Further device of the filesystem, or of its lowest layer, behind the first ones.
    Member(DeviceSpec),
}

impl SecondDevice {
    /// Prefix of the fact about a second device.
    pub(super) const PREFIX: &'static str = "second_device.";
    /// Name of the fact about a journal's device.
    pub(super) const JOURNAL_FACT: &'static str = "second_device.journal";
    /// Name of the fact about a further device.
    pub(super) const MEMBER_FACT: &'static str = "second_device.member";

    /// Specification of the device.
    pub const fn spec(&self) -> &DeviceSpec {
        match self {
            Self::Journal(spec) | Self::Member(spec) => spec,
        }
    }

    /// The same role for another device.
    #[must_use]
    pub fn with_spec(&self, spec: DeviceSpec) -> Self {
        match self {
            Self::Journal(_) => Self::Journal(spec),
            Self::Member(_) => Self::Member(spec),
        }
    }

    /// True for the device of a journal.
    pub const fn is_journal(&self) -> bool {
        matches!(self, Self::Journal(_))
    }

    /// Number of devices that it adds to those of the filesystem or the lowest layer.
    pub fn members(&self) -> usize {
        if self.is_journal() { 0 } else { self.spec().count() }
    }

    /// Fact about it, as (name, value).
    pub(super) fn fact(&self) -> (String, String) {
        let name = if self.is_journal() { Self::JOURNAL_FACT } else { Self::MEMBER_FACT };
        (name.to_owned(), self.to_string())
    }
}

impl fmt::Display for SecondDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spec() {
            DeviceSpec::Loop { bytes, count, sparse, direct_io, sector_bytes, directory, disk } => {
                write!(f, "loop of {bytes} bytes")?;
                if *count != 1 {
                    write!(f, ", {count} of them")?;
                }
                if *sparse {
                    f.write_str(", sparse")?;
                }
                if !direct_io {
                    f.write_str(", through the page cache")?;
                }
                if *sector_bytes != 512 {
                    write!(f, ", sectors of {sector_bytes} bytes")?;
                }
                if let Some(directory) = directory {
                    write!(f, ", in {}", directory.display())?;
                }
                disk.as_ref().map_or(Ok(()), |disk| write!(f, ", played as {disk}"))
            }
            DeviceSpec::Block { paths } => {
                let paths: Vec<String> =
                    paths.iter().map(|path| path.display().to_string()).collect();
                f.write_str(&paths.join(" "))
            }
            DeviceSpec::Directory { path } => write!(f, "{}", path.display()),
        }
    }
}
