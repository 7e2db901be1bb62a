//! Kinds of operations: each is one system call.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Kind of operation: one system call, named in filesystem terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Op {
    /// `openat` or `openat2` with `O_CREAT`.
    Create,
    /// `openat` or `openat2` of an existing file.
    Open,
    /// `read` or `pread64`; or a copy out of a mapped file.
    Read,
    /// `write` or `pwrite64`; or a copy into a mapped file.
    Write,
    /// `ftruncate`.
    Truncate,
    /// `close` of a file.
    Close,
    /// `unlinkat` of a file.
    Unlink,
    /// `newfstatat`, never following the last link, or `fstat`.
    Stat,
    /// `mkdirat`.
    MakeDir,
    /// `unlinkat` with `AT_REMOVEDIR`.
    RemoveDir,
    /// `openat2` of a directory.
    OpenDir,
    /// `getdents64`: one batch of entries.
    ReadDir,
    /// `close` of a directory.
    CloseDir,
    /// `syncfs` of the target, or `sync` of the whole machine in classic mode.
    Sync,
    /// `fsync` or `fdatasync` of a file or directory, `msync` of a mapped file.
    Fsync,
    /// `lseek` of a file.
    Seek,
    /// `renameat`.
    Rename,
    /// `fstatfs` of the target.
    Statfs,
    /// `clock_nanosleep`: a pause requested by the workload.
    Pause,
    /// `linkat`.
    Link,
    /// `symlinkat`.
    Symlink,
    /// `utimensat`.
    SetTimes,
    /// `fcntl` with `F_SETLKW`: acquires or releases a byte-range lock.
    Lock,
    /// `getxattr` or `fgetxattr`.
    GetXattr,
    /// `fsetxattr`.
    SetXattr,
    /// `io_submit` or `io_uring_enter`: submits requests.
    Submit,
    /// `io_getevents` or `io_uring_enter`: waits for completions.
    Reap,
    /// `posix_fadvise`.
    Advise,
    /// `fallocate`.
    Allocate,
    /// `mmap` of a file.
    Map,
}

impl Op {
    /// Every kind, in numeric order.
    pub const ALL: [Self; 30] = [
        Self::Create,
        Self::Open,
        Self::Read,
        Self::Write,
        Self::Truncate,
        Self::Close,
        Self::Unlink,
        Self::Stat,
        Self::MakeDir,
        Self::RemoveDir,
        Self::OpenDir,
        Self::ReadDir,
        Self::CloseDir,
        Self::Sync,
        Self::Fsync,
        Self::Seek,
        Self::Rename,
        Self::Statfs,
        Self::Pause,
        Self::Link,
        Self::Symlink,
        Self::SetTimes,
        Self::Lock,
        Self::GetXattr,
        Self::SetXattr,
        Self::Submit,
        Self::Reap,
        Self::Advise,
        Self::Allocate,
        Self::Map,
    ];

    /// Number of kinds.
    pub const COUNT: usize = Self::ALL.len();

    /// Name in tables, exports and the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Truncate => "truncate",
            Self::Close => "close",
            Self::Unlink => "unlink",
            Self::Stat => "stat",
            Self::MakeDir => "make_dir",
            Self::RemoveDir => "remove_dir",
            Self::OpenDir => "open_dir",
            Self::ReadDir => "read_dir",
            Self::CloseDir => "close_dir",
            Self::Sync => "sync",
            Self::Fsync => "fsync",
            Self::Seek => "seek",
            Self::Rename => "rename",
            Self::Statfs => "statfs",
            Self::Pause => "pause",
            Self::Link => "link",
            Self::Symlink => "symlink",
            Self::SetTimes => "set_times",
            Self::Lock => "lock",
            Self::GetXattr => "get_xattr",
            Self::SetXattr => "set_xattr",
            Self::Submit => "submit",
            Self::Reap => "reap",
            Self::Advise => "advise",
            Self::Allocate => "allocate",
            Self::Map => "map",
        }
    }

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
