//! Filesystem metadata and mounting.
pub(crate) mod balance;
pub(crate) mod btrfs_search;
pub(crate) mod defragmenting;
pub(crate) mod fiemap;
pub(crate) mod fsmap;
pub(crate) mod mount;
pub(crate) mod mountinfo;
pub(crate) mod sharing;
pub(crate) mod statfs;
pub(crate) mod subvolumes;
pub(crate) mod trim;
pub(crate) mod xfs;

/// ioctl type of btrfs, from linux/btrfs.h.
const BTRFS: u8 = 0x94;
