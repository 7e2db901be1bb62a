//! Filesystem metadata and mounting.
pub(crate) mod btrfs_search;
pub(crate) mod fiemap;
pub(crate) mod fsmap;
pub(crate) mod mount;
pub(crate) mod mountinfo;
pub(crate) mod statfs;
pub(crate) mod xfs;
