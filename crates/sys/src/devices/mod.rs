//! Block devices, loop devices and mapped devices.
pub(crate) mod blkdev;
pub(crate) mod loopdev;
pub(crate) mod mapper;
