//! The engines: how requests reach the kernel.

/// How requests reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// `pread` and `pwrite`.
    Psync,
    /// `lseek`, then `read` or `write`.
    Sync,
    /// `preadv2` and `pwritev2`.
    Pvsync2,
    /// `io_submit`.
    Libaio,
    /// `io_uring_enter`.
    IoUring,
    /// `aio_read` and `aio_write`: requests go by `io_uring_enter`, one at a time.
    PosixAio,
    /// A mapping of the file.
    Mmap,
    /// `preadv` and `pwritev`.
    Pvsync,
    /// `lseek`, then `readv` or `writev`.
    Vsync,
    /// Nothing at all.
    Null,
    /// `ftruncate` to where a write begins.
    Ftruncate,
    /// `fallocate` of what a request covers.
    Falloc,
    /// Files are made when they are opened; requests are nothing.
    FileCreate,
    /// Likewise they are looked at.
    FileStat,
    /// Likewise they are removed.
    FileDelete,
}

impl Engine {
    /// All with their names.
    pub(crate) const NAMES: [(&'static str, Self); 15] = [
        ("psync", Self::Psync),
        ("sync", Self::Sync),
        ("pvsync2", Self::Pvsync2),
        ("libaio", Self::Libaio),
        ("io_uring", Self::IoUring),
        ("posixaio", Self::PosixAio),
        ("mmap", Self::Mmap),
        ("pvsync", Self::Pvsync),
        ("vsync", Self::Vsync),
        ("null", Self::Null),
        ("ftruncate", Self::Ftruncate),
        ("falloc", Self::Falloc),
        ("filecreate", Self::FileCreate),
        ("filestat", Self::FileStat),
        ("filedelete", Self::FileDelete),
    ];

    /// Whether it has requests on the way while others are made.
    pub(crate) const fn is_queued(self) -> bool {
        matches!(self, Self::Libaio | Self::IoUring | Self::PosixAio)
    }

    /// Whether its requests count when they are issued, and not when they have ended.
    pub(crate) const fn counts_at_issue(self) -> bool {
        self.is_queued() || matches!(self, Self::Vsync)
    }

    /// Whether its requests are made by the calls that take vectors.
    pub(crate) const fn is_vectored(self) -> bool {
        matches!(self, Self::Pvsync | Self::Pvsync2 | Self::Vsync)
    }

    /// Whether opening a file is the work, and what is reported about latencies.
    pub(crate) const fn works_by_opening(self) -> bool {
        matches!(self, Self::FileCreate | Self::FileStat | Self::FileDelete)
    }

    /// Whether its requests move data.
    pub(crate) const fn moves_data(self) -> bool {
        !self.works_by_opening() && !matches!(self, Self::Null | Self::Ftruncate | Self::Falloc)
    }

    /// Whether it needs no files that are made before.
    pub(crate) const fn is_without_files(self) -> bool {
        matches!(self, Self::Null | Self::FileCreate)
    }

    /// Whether files are open while it works on them.
    pub(crate) const fn has_open_files(self) -> bool {
        !matches!(self, Self::Null | Self::FileStat | Self::FileDelete)
    }

    /// Whether the original says what the disk did meanwhile.
    pub(crate) const fn tells_disk(self) -> bool {
        !self.works_by_opening() && !matches!(self, Self::Null)
    }

    /// Whether what is read and written may be in the page cache.
    pub(crate) const fn uses_cache(self) -> bool {
        !self.works_by_opening() && !matches!(self, Self::Null)
    }
}
