//! Filesystems in user space (FUSE), of which treering serves one: that of a played disk.

/// The type under which a played disk is mounted.
pub const PLAYED_MOUNT: &str = "fuse.treering";
/// By this a process is connected to what it serves.
pub const USER_SPACE_DEVICE: &str = "/dev/fuse";
/// Where connections are shown, by the minor number of the mount, where that is mounted.
pub const USER_SPACE_CONNECTIONS: &str = "/sys/fs/fuse/connections";
