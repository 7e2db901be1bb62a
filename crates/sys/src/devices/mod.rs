//! Block devices, loop devices, mapped devices and arrays.
pub(crate) mod array;
pub(crate) mod blkdev;
pub(crate) mod loopdev;
pub(crate) mod mapper;
