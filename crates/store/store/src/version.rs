//! The version of a store's format. Who may read and write which is in `format`.

use std::fmt;

/// A version of the store's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Readers refuse one that is newer than theirs.
    pub major: u32,
    /// Writers refuse one that is newer than theirs.
    pub minor: u32,
}

impl Version {
    /// What this program writes.
    pub const CURRENT: Self = Self { major: 1, minor: 3 };

    /// The first with a table of artifacts.
    pub(crate) const WITH_ARTIFACTS: Self = Self { major: 1, minor: 1 };

    /// The first with a table of annotations.
    pub(crate) const WITH_ANNOTATIONS: Self = Self { major: 1, minor: 2 };

    /// The first with counters of tasks and with ticks.
    pub(crate) const WITH_COUNTERS: Self = Self { major: 1, minor: 3 };

    /// From `PRAGMA user_version`: 1000 × major + minor.
    pub(crate) const fn from_number(number: u32) -> Self {
        Self { major: number / 1000, minor: number % 1000 }
    }

    /// For `PRAGMA user_version`.
    pub(crate) const fn number(self) -> u32 {
        self.major * 1000 + self.minor
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
