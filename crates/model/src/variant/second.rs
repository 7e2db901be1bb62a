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

    /// Number of devices that are added to those of the filesystem or the lowest layer.
    pub fn members(&self) -> usize {
        if self.is_journal() { 0 } else { self.spec().count() }
    }

    /// Fact about the device, as (name, value).
    pub(super) fn fact(&self) -> (String, String) {
        let name = if self.is_journal() { Self::JOURNAL_FACT } else { Self::MEMBER_FACT };
        (name.to_owned(), self.to_string())
    }
}

impl fmt::Display for SecondDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spec() {
            DeviceSpec::Loop { bytes, count, sparse, direct_io, sector_bytes, directory, disk } => {
                let mut words = vec![format!("loop of {bytes} bytes")];
                words.extend((*count != 1).then(|| format!("{count} of them")));
                words.extend(sparse.then(|| "sparse".to_owned()));
                words.extend((!direct_io).then(|| "through the page cache".to_owned()));
                let is_other = *sector_bytes != 512;
                words.extend(is_other.then(|| format!("sectors of {sector_bytes} bytes")));
                words.extend(directory.as_ref().map(|dir| format!("in {}", dir.display())));
                words.extend(disk.as_ref().map(|disk| format!("played as {disk}")));
                f.write_str(&words.join(", "))
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
