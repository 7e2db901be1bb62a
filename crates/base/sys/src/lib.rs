//! The kernel: thin safe wrappers, one file per interface, and the only `unsafe` of the project.
//!
//! Each function is one call (or the few that make one safe) with typed results. Nothing here
//! knows steps, workloads or trials; what a call means to a run is said in the engine.

mod blkdev;
mod btrfs_search;
mod cached;
mod caches;
mod calls;
mod child;
mod clock;
mod entries;
mod fiemap;
mod fork;
mod fsmap;
mod limits;
mod lock;
mod loopdev;
mod mapping;
mod memory_file;
mod mount;
mod mountinfo;
mod pages;
mod parent;
mod perf_event;
mod positioned;
mod queue;
mod range_lock;
mod residency;
mod rusage;
mod scheduling;
mod semaphores;
mod shared;
mod signals;
mod statfs;
mod through;
mod trace_format;
mod trace_pages;
mod tracefs;
mod user;
mod xfs;

pub use blkdev::{
    DeviceUse, SectorSizes, device_bytes, discard, flush_buffers, major_minor, open_device,
    reread_partitions, sector_sizes,
};
pub use btrfs_search::{BtrfsKey, BtrfsSpace, btrfs_items, btrfs_spaces};
pub use cached::{advise, allocate, forget, punch};
pub use caches::{DropCachesError, cache_drops, drop_caches};
pub use calls::{
    Attributes, Confinement, EntryBuffer, Errno, FileType, OpenHow, attributes, close, dir_again,
    fd_path, is_single_name, make_again, make_dir, open_above, open_dir, open_file, open_subdir,
    open_to_look, open_top, read, read_entries, read_numbered_entries, remove_dir, rewind_dir,
    seek_to, seek_to_end, stat, sync_data, sync_file, sync_filesystem, sync_machine, truncate,
    unlink, write, write_both,
};
pub use child::{child_has_ended, signal_child, written_by};
pub use clock::monotonic_ns;
pub use entries::{file_xattr, link, rename, set_file_xattr, set_times, symlink, xattr};
pub use fiemap::{ExtentBuffer, FileExtent, file_extents};
pub use fork::{ForkEnd, ForkGate, Forked, fork_worker, hear_forked, own_session};
pub use fsmap::{SpaceRecord, space_map};
pub use limits::{OpenFiles, ThreadLimits, open_files, raise_open_files, thread_limits};
pub use lock::{LockError, lock_exclusive};
pub use loopdev::{
    LoopDevice, LoopError, LoopSettings, LoopStatus, attach_loop, attach_loop_to_read, detach_loop,
    loop_status,
};
pub use mapping::Mapping;
pub use memory_file::memory_file;
pub use mount::{MountOptionError, MountOptions, explain_mount, mount, mount_detached, unmount};
pub use mountinfo::{Mount, MountTable};
pub use pages::Pages;
pub use parent::{end_with_parent, interrupt, leave_with_parent};
pub use perf_event::{TraceSample, Tracepoint, Tracepoints, online_cpus, possible_cpus};
pub use positioned::{read_at, read_vector_at, write_at, write_both_at, write_vector_at};
pub use queue::{Ended, QueueKind, RequestQueue, Transfer};
pub use range_lock::lock_range;
pub use residency::{Residency, residency};
pub use rusage::{ThreadCpu, ThreadUsage, thread_cpu, thread_usage};
pub use scheduling::{Scheduled, Scheduling};
pub use semaphores::Semaphores;
pub use shared::Shared;
pub use signals::{SignalWatch, StopFlag};
pub use statfs::{FilesystemFacts, filesystem_facts};
pub use through::{Synchronous, Through};
pub use trace_format::{TraceField, TraceFormat};
pub use trace_pages::{TracePage, trace_page};
pub use tracefs::Tracefs;
pub use user::{RunAs, is_root};
pub use xfs::{XfsGeometry, xfs_geometry};
