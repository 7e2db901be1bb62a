//! How files are opened that are read and written past the caches, or to the disk.

use rustix::fs::OFlags;

/// What lies between a file's reader or writer and its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Through {
    /// No page cache: `O_DIRECT`. Addresses, sizes and offsets must suit the device.
    pub direct: bool,
    /// What is on disk when a call that writes returns.
    pub synchronous: Synchronous,
}

/// What is on disk when a call that writes returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Nothing is promised.
    #[default]
    No,
    /// What was written, and what it takes to read it again: `O_DSYNC`.
    Data,
    /// That and all else that the file has: `O_SYNC`.
    All,
}

/// What rustix 1.1 calls so without libc is `O_SYNC`.
const DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned());

impl From<bool> for Synchronous {
    /// On or off, where there is nothing between.
    fn from(is_on: bool) -> Self {
        if is_on { Self::All } else { Self::No }
    }
}

impl Through {
    #[inline]
    pub(crate) const fn flags(self) -> OFlags {
        let direct = if self.direct { OFlags::DIRECT } else { OFlags::empty() };
        match self.synchronous {
            Synchronous::No => direct,
            Synchronous::Data => direct.union(DSYNC),
            Synchronous::All => direct.union(OFlags::SYNC),
        }
    }
}
