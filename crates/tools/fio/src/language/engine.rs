//! I/O engines.

/// I/O engine: the calls by which requests reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Uses `pread` and `pwrite`.
    Psync,
    /// Uses `lseek`, then `read` or `write`.
    Sync,
    /// Uses `preadv2` and `pwritev2`.
    Pvsync2,
    /// Uses `io_submit`.
    Libaio,
    /// Uses `io_uring_enter`.
    IoUring,
    /// Emulates `aio_read` and `aio_write` by `io_uring_enter`, one request a call.
    PosixAio,
    /// Copies from and to a mapping of the file.
    Mmap,
    /// Uses `preadv` and `pwritev`.
    Pvsync,
    /// Uses `lseek`, then `readv` or `writev`.
    Vsync,
    /// No call at all.
    Null,
    /// Writes become `ftruncate` to their offset.
    Ftruncate,
    /// Requests become `fallocate` of their range.
    Falloc,
    /// Files are created when they are opened; requests are nothing.
    FileCreate,
    /// Files are looked up by `stat` when they are opened; requests are nothing.
    FileStat,
    /// Files are unlinked when they are opened; requests are nothing.
    FileDelete,
}

impl Engine {
    /// Engines by name.
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

    /// True if requests are in flight while others are issued.
    pub(crate) const fn is_queued(self) -> bool {
        matches!(self, Self::Libaio | Self::IoUring | Self::PosixAio)
    }

    /// True if requests count at issue and not at completion.
    pub(crate) const fn counts_at_issue(self) -> bool {
        self.is_queued() || matches!(self, Self::Vsync)
    }

    /// True if requests use vectored calls.
    pub(crate) const fn is_vectored(self) -> bool {
        matches!(self, Self::Pvsync | Self::Pvsync2 | Self::Vsync)
    }

    /// True if the work is to create, stat or unlink files, whose latency is the one reported.
    pub(crate) const fn works_by_opening(self) -> bool {
        matches!(self, Self::FileCreate | Self::FileStat | Self::FileDelete)
    }

    /// True if requests move data.
    pub(crate) const fn moves_data(self) -> bool {
        !self.works_by_opening() && !matches!(self, Self::Null | Self::Ftruncate | Self::Falloc)
    }

    /// True if no files are laid out before the work.
    pub(crate) const fn is_without_files(self) -> bool {
        matches!(self, Self::Null | Self::FileCreate)
    }

    /// True if files are open during the work.
    pub(crate) const fn has_open_files(self) -> bool {
        !matches!(self, Self::Null | Self::FileStat | Self::FileDelete)
    }

    /// True if the original reports disk utilisation.
    pub(crate) const fn reports_disk(self) -> bool {
        !self.works_by_opening() && !matches!(self, Self::Null)
    }

    /// True if data may pass through the page cache.
    pub(crate) const fn uses_cache(self) -> bool {
        !self.works_by_opening() && !matches!(self, Self::Null)
    }
}
