//! Version of a store's format. `format` decides which versions can be read and written.

use std::fmt;

/// Format version of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major version. Readers reject a newer one than theirs.
    pub major: u32,
    /// Minor version. Writers reject a newer one than theirs.
    pub minor: u32,
}

impl Version {
    /// Version that this program writes.
    pub const CURRENT: Self = Self { major: 1, minor: 4 };

    /// First version with a table of artifacts.
    pub(crate) const WITH_ARTIFACTS: Self = Self { major: 1, minor: 1 };

    /// First version with a table of annotations.
    pub(crate) const WITH_ANNOTATIONS: Self = Self { major: 1, minor: 2 };

    /// First version with task counters and ticks.
    pub(crate) const WITH_COUNTERS: Self = Self { major: 1, minor: 3 };

    /// First version with acknowledged changes among the annotations.
    pub(crate) const WITH_KNOWN_CHANGES: Self = Self { major: 1, minor: 4 };

    /// Decodes `PRAGMA user_version`: 1000 × major + minor.
    pub(crate) const fn from_number(number: u32) -> Self {
        Self { major: number / 1000, minor: number % 1000 }
    }

    /// Encodes the version for `PRAGMA user_version`.
    pub(crate) const fn number(self) -> u32 {
        self.major * 1000 + self.minor
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
