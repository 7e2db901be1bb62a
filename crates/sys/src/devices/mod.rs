//! Block devices and loop devices.
pub(crate) mod blkdev;
pub(crate) mod loopdev;
