//! Open flags for direct and synchronous I/O.

use rustix::fs::OFlags;

/// I/O path between a file and its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoPath {
    /// `O_DIRECT`: bypasses the page cache. Addresses, sizes and offsets must be aligned as the
    /// device requires.
    pub direct: bool,
    /// Durability when a write call returns.
    pub synchronous: SyncMode,
}

/// Durability when a write call returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// No guarantee.
    #[default]
    No,
    /// Data, and the metadata needed to read it: `O_DSYNC`.
    Data,
    /// Data and all metadata: `O_SYNC`.
    All,
}

/// `O_DSYNC` from libc, because the constant of rustix 1.1 is `O_SYNC` without its libc backend.
const DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned());

impl From<bool> for SyncMode {
    /// Converts an on/off option: `O_SYNC` or nothing.
    fn from(is_on: bool) -> Self {
        if is_on { Self::All } else { Self::No }
    }
}

impl IoPath {
    #[inline]
    pub(crate) const fn flags(self) -> OFlags {
        let direct = if self.direct { OFlags::DIRECT } else { OFlags::empty() };
        match self.synchronous {
            SyncMode::No => direct,
            SyncMode::Data => direct.union(DSYNC),
            SyncMode::All => direct.union(OFlags::SYNC),
        }
    }
}
