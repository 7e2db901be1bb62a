//! Kernel interface: thin safe wrappers, one file per interface, with the only `unsafe` code of the
//! project.
//!
//! Each function is one system call (or the few needed to make one safe) with typed results. Their
//! use in steps, workloads and trials is up to the engine.

mod devices;
mod files;
mod filesystems;
mod processes;
mod queue;
mod tracing;

pub use devices::array::{ArraySettings, start_array, stop_array};
pub use devices::blkdev::{
    DeviceOpenMode, SectorSizes, delete_partition, device_bytes, discard, flush_buffers,
    major_minor, open_block_device, open_device, open_past_cache, reread_partitions, sector_sizes,
};
pub use devices::loopdev::{
    LoopDevice, LoopError, LoopSettings, LoopStatus, attach_loop, attach_loop_to_read, detach_loop,
    loop_status, set_loop_autoclear,
};
pub use devices::mapper::{DeviceMapper, MapperStatus, MapperTarget};
pub use files::cached::{advise, allocate, forget, punch, sync_range};
pub use files::caches::{DropCachesError, cache_drops, drop_caches};
pub use files::calls::{
    Confinement, EntryBuffer, Errno, FileAttributes, FileType, OpenHow, attributes, close, fd_path,
    is_single_name, make_dir, make_existing_dir, make_private_dir, open_above, open_dir, open_file,
    open_subdir, open_to_look, open_top, read, read_entries, read_numbered_entries, read_vector,
    remove_dir, reopen_dir, rewind_dir, seek_to, seek_to_end, stat, sync_data, sync_file,
    sync_filesystem, sync_machine, truncate, unlink, write, write_both,
};
pub use files::entries::{
    file_xattr, link, make_node, rename, set_file_xattr, set_times, symlink, xattr,
};
pub use files::identity::{FileIdentity, filesystem_id, identity_in, identity_of};
pub use files::lock::{LockError, lock_exclusive, lock_shared};
pub use files::mapping::FileMapping;
pub use files::memory_file::memory_file;
pub use files::pages::PageBuffer;
pub use files::positioned::{
    RequestFlags, read_at, read_vector_at, write_at, write_both_at, write_vector_at,
};
pub use files::range_lock::lock_range;
pub use files::residency::{PageResidency, residency};
pub use files::through::{IoPath, SyncMode};
pub use files::whole_file::{ExistingFile, WholeFile, write_whole_file};
pub use files::whole_paths::{
    make_dir_by_path, make_node_by_path, make_private_dir_by_path, open_by_path,
    remove_dir_by_path, rename_by_path, stat_by_path, stat_top, unlink_by_path,
};
pub use filesystems::balance::balance;
pub use filesystems::btrfs_search::{BtrfsKey, BtrfsSpace, btrfs_items, btrfs_spaces};
pub use filesystems::defragmenting::{
    CopiedState, defragment_range, has_extents, move_extents, nameless_file, swap_extents,
};
pub use filesystems::fiemap::{ExtentBuffer, FileExtent, file_extents};
pub use filesystems::fsmap::{SpaceRecord, space_map};
pub use filesystems::mount::{
    MountOptionError, MountOptions, explain_mount, mount, mount_detached, unmount,
};
pub use filesystems::mountinfo::{Mount, MountTable};
pub use filesystems::sharing::{dedupe, reflink};
pub use filesystems::statfs::{FilesystemFacts, filesystem_facts};
pub use filesystems::subvolumes::{
    destroy_subvolume, forget_btrfs_device, make_snapshot, make_subvolume,
};
pub use filesystems::trim::trim;
pub use filesystems::xfs::{XfsGeometry, xfs_directory_extents, xfs_geometry};
pub use libc::{SIGINT, SIGTERM};
pub use processes::child::{EndedChild, child_has_ended, signal_child, wait_passing_signals};
pub use processes::clock::{CallClock, monotonic_ns};
pub use processes::descendants::{
    ChildEnd, adopt_orphans, children, process_descriptor, read_without_waiting, signal_group,
    take_ended, wait_to_read,
};
pub use processes::first::{change_root, load_module, power_off};
pub use processes::fork::{
    ForkEnd, ForkGate, ForkedProcess, fork_worker, own_session, read_answers,
};
pub use processes::limits::{OpenFiles, ThreadLimits, open_files, raise_open_files, thread_limits};
pub use processes::memory::available_memory_bytes;
pub use processes::panics::{has_panicked, report_panics};
pub use processes::parent::{
    end_with_parent, interrupt, kill_group, leave_with_parent, terminate, terminate_group,
    with_read_only_mounts,
};
pub use processes::rusage::{ThreadCpu, ThreadUsage, thread_cpu, thread_usage};
pub use processes::scheduling::{SchedulingGuard, SchedulingParameters};
pub use processes::semaphores::SemaphoreSet;
pub use processes::serving::{
    RefusedServingRequests, kill_at_once, process_cpu_ns, serve_a_device, sleep_until, wake_on_time,
};
pub use processes::shared::SharedValue;
pub use processes::signals::{SignalWatch, StopFlag, raise_on_usr1};
pub use processes::user::{RunAs, is_root, user_id};
pub use queue::{CompletedRequest, QueueKind, RequestQueue, Transfer};
pub use tracing::perf_event::{TraceSample, Tracepoint, Tracepoints, online_cpus, possible_cpus};
pub use tracing::trace_format::{TraceField, TraceFormat};
pub use tracing::trace_pages::{TracePage, trace_page};
pub use tracing::tracefs::Tracefs;
