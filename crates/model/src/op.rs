//! Kinds of operations: each is one system call.

use std::fmt;

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// Kind of operation: one system call, named in filesystem terms.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[repr(u8)]
    pub enum Op {
        /// `openat` or `openat2` with `O_CREAT`.
        Create = "create",
        /// `openat` or `openat2` of an existing file.
        Open = "open",
        /// `read` or `pread64`; or a copy out of a mapped file.
        Read = "read",
        /// `write` or `pwrite64`; or a copy into a mapped file.
        Write = "write",
        /// `ftruncate`.
        Truncate = "truncate",
        /// `close` of a file.
        Close = "close",
        /// `unlinkat` of a file.
        Unlink = "unlink",
        /// `newfstatat`, never following the last link, or `fstat`.
        Stat = "stat",
        /// `mkdirat`.
        MakeDir = "make_dir",
        /// `unlinkat` with `AT_REMOVEDIR`.
        RemoveDir = "remove_dir",
        /// `openat2` of a directory.
        OpenDir = "open_dir",
        /// `getdents64`: one batch of entries.
        ReadDir = "read_dir",
        /// `close` of a directory.
        CloseDir = "close_dir",
        /// `syncfs` of the target, or `sync` of the whole machine in classic mode.
        Sync = "sync",
        /// `fsync` or `fdatasync` of a file or directory, `msync` of a mapped file.
        Fsync = "fsync",
        /// `lseek` of a file.
        Seek = "seek",
        /// `renameat`.
        Rename = "rename",
        /// `fstatfs` of the target.
        Statfs = "statfs",
        /// `clock_nanosleep`: a pause requested by the workload.
        Pause = "pause",
        /// `linkat`.
        Link = "link",
        /// `symlinkat`.
        Symlink = "symlink",
        /// `utimensat`.
        SetTimes = "set_times",
        /// `fcntl` with `F_SETLKW`: acquires or releases a byte-range lock.
        Lock = "lock",
        /// `getxattr` or `fgetxattr`.
        GetXattr = "get_xattr",
        /// `fsetxattr`.
        SetXattr = "set_xattr",
        /// `io_submit` or `io_uring_enter`: submits requests.
        Submit = "submit",
        /// `io_getevents` or `io_uring_enter`: waits for completions.
        Reap = "reap",
        /// `posix_fadvise`.
        Advise = "advise",
        /// `fallocate`.
        Allocate = "allocate",
        /// `mmap` of a file.
        Map = "map",
        /// `ioctl` with `FITRIM`.
        Trim = "trim",
        /// `ioctl` with `FICLONE`.
        Reflink = "reflink",
        /// `ioctl` with `FIDEDUPERANGE`.
        Dedupe = "dedupe",
        /// `ioctl`s that give one file other blocks, with the calls that prepare them.
        Defragment = "defragment",
        /// `ioctl` that makes or destroys a subvolume or snapshot.
        Snapshot = "snapshot",
        /// `ioctl` that writes chunks of btrfs anew.
        Balance = "balance",
    }
}

impl Op {
    /// Number of kinds.
    pub const COUNT: usize = Self::ALL.len();

    /// Parses a name from [`Op::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Op;

    #[test]
    fn numbers_names_and_order_agree() {
        for (number, op) in Op::ALL.into_iter().enumerate() {
            assert_eq!(op as usize, number);
            assert_eq!(Op::from_name(op.name()), Some(op));
            assert_eq!(serde_json::to_value(op).unwrap(), op.name());
        }
        assert_eq!(Op::from_name("fsync?"), None);
    }
}
