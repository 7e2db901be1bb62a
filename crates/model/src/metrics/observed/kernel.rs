//! Metrics of the kernel's own work for the target: threads, journal, page cache, pressure. Of the
//! phases together, and of each phase when there are several.

use crate::metrics::spec::metrics;

metrics! {
    /// CPU time of all kernel threads of the machine. The workload's own CPU time has none of it.
    THREADS_CPU_SECONDS = "kernel_threads_cpu_seconds", Seconds, Lower;
    /// CPU time of all kworkers of the machine together: writeback, checksums, compression,
    /// encryption, loop devices and all else that workqueues do.
    WORKERS_CPU_SECONDS = "kernel_workers_cpu_seconds", Seconds, Lower;
    /// CPU time of one kind of kernel thread that the filesystem or its device has to itself
    /// (`jbd2`, `xfsaild`, `btrfs_transacti`).
    THREAD_CPU_SECONDS = "kernel_thread_{}_cpu_seconds", Seconds, Lower;
    /// CPU time of the workers of io_uring that run in treering's process.
    IO_URING_WORKERS_CPU_SECONDS = "kernel_io_uring_workers_cpu_seconds", Seconds, Lower;
    /// Commits of the journal (jbd2) or of the whole tree (btrfs), or checkpoints (f2fs).
    JOURNAL_COMMITS = "kernel_journal_commits", Count, Lower;
    /// Fast commits of ext4, which are not among the commits of the journal, and cheaper.
    FAST_COMMITS = "kernel_fast_commits", Count, Higher;
    /// Writes to the log of XFS.
    LOG_WRITES = "kernel_log_writes", Count, Lower;
    /// Forces of the log of XFS: requests to write what is not yet written of it.
    LOG_FORCES = "kernel_log_forces", Count, Lower;
    /// Time for which btrfs was committing transactions.
    COMMIT_SECONDS = "kernel_commit_seconds", Seconds, Lower;
    /// Bytes of the page cache that were made dirty, on the whole machine.
    DIRTIED_BYTES = "kernel_dirtied_bytes", Bytes, Lower;
    /// Bytes of the page cache that were written back, on the whole machine.
    WRITTEN_BACK_BYTES = "kernel_written_back_bytes", Bytes, Lower;
    /// Bytes of the page cache that were dirty or under writeback at the end, on the whole machine.
    DIRTY_BYTES = "kernel_dirty_bytes", Bytes, Lower;
    /// Pages that were scanned in search of memory to free, on the whole machine.
    SCANNED_PAGES = "kernel_scanned_pages", Count, Lower;
    /// Time in which at least one task of the machine waited for I/O.
    IO_PRESSURE_SECONDS = "kernel_io_pressure_seconds", Seconds, Lower;
    /// Time in which at least one runnable task of the machine waited for a CPU.
    CPU_PRESSURE_SECONDS = "kernel_cpu_pressure_seconds", Seconds, Lower;
    /// Time in which at least one task of the machine waited for memory.
    MEMORY_PRESSURE_SECONDS = "kernel_memory_pressure_seconds", Seconds, Lower;
}
