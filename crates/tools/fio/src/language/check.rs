//! Checks of the options of a job against each other, and of jobs against each other.

use treering_kit::faults::{Fault, Faults, shown};

use super::direction::Direction;
use super::distribution::Distribution;
use super::engine::Engine;
use super::extras::Warning;
use super::keys::WITH_FIO;
use super::section::Section;
use super::verifying::VerifyKind;

/// Keys that only some engines have.
const OF_ENGINES: [(&str, &[Engine]); 10] = [
    ("userspace_reap", &[Engine::Libaio]),
    ("fixedbufs", &[Engine::IoUring]),
    ("registerfiles", &[Engine::IoUring]),
    ("sqthread_poll", &[Engine::IoUring]),
    ("sqthread_poll_cpu", &[Engine::IoUring]),
    ("nonvectored", &[Engine::IoUring]),
    ("force_async", &[Engine::IoUring]),
    ("hipri", &[Engine::IoUring, Engine::Pvsync2]),
    ("nowait", &[Engine::IoUring, Engine::Libaio, Engine::Pvsync2]),
    ("uncached", &[Engine::IoUring, Engine::Pvsync2]),
];
impl Engine {
    /// Keys that this engine has and others have not.
    pub(crate) fn keys(self) -> impl Iterator<Item = &'static str> {
        let keys = OF_ENGINES.into_iter().filter(move |(_, engines)| engines.contains(&self));
        keys.map(|(key, _)| key)
    }
}

/// Maximum number of clones of all jobs, the same as the original's.
pub(crate) const WORKERS_MAX: u64 = 4096;
/// Maximum number of files that a clone may have open at a time.
const OPEN_FILES_MAX: u64 = 16_000;
/// Maximum number of files of all clones.
const FILES_MAX: u64 = 1 << 22;

/// True if the key may be given without a value.
pub(super) fn is_switch(name: &str) -> bool {
    is_rare_switch(name)
        || matches!(
            name,
            "bs_unaligned"
                | "bs_is_seq_rand"
                | "direct"
                | "buffered"
                | "refill_buffers"
                | "scramble_buffers"
                | "unique_filename"
                | "create_on_open"
                | "create_fsync"
                | "create_serialize"
                | "overwrite"
                | "unlink"
                | "thread"
                | "time_based"
                | "group_reporting"
                | "new_group"
                | "stonewall"
                | "exitall"
                | "end_fsync"
                | "fsync_on_close"
                | "invalidate"
                | "norandommap"
                | "randrepeat"
                | "allrandrepeat"
                | "clat_percentiles"
                | "lat_percentiles"
                | "slat_percentiles"
                | "disable_lat"
                | "disable_clat"
                | "disable_slat"
                | "disable_bw"
                | "gtod_reduce"
                | "per_job_logs"
                | "log_offset"
                | "zero_buffers"
                | "disk_util"
                | "userspace_reap"
                | "stats"
                | "pre_read"
                | "unlink_each_loop"
                | "fill_device"
                | "fill_fs"
                | "fixedbufs"
                | "registerfiles"
                | "sqthread_poll"
                | "nonvectored"
                | "force_async"
                | "libaio_vectored"
                | "serialize_overlap"
                | "softrandommap"
                | "allow_file_create"
                | "allow_mounted_write"
                | "do_verify"
                | "verify_only"
                | "verify_fatal"
                | "verify_dump"
                | "verify_state_save"
                | "experimental_verify"
                | "write_lat_log"
                | "write_bw_log"
                | "write_hist_log"
                | "write_iops_log"
        )
}

fn is_rare_switch(name: &str) -> bool {
    const RARE: [&str; 12] = [
        "rate_ignore_thinktime",
        "log_max_value",
        "file_append",
        "create_only",
        "latency_run",
        "cgroup_nodelete",
        "exitall_on_error",
        "replay_no_stall",
        "dedupe_global",
        "error_dump",
        "hipri",
        "uncached",
    ];
    RARE.contains(&name)
}

/// Checks every job, and all of them together.
pub(super) fn check(jobs: &mut [Section], to: &Faults<'_>) -> Result<(), Fault> {
    let workers = jobs.iter().fold(0_u64, |sum, job| sum.saturating_add(job.clones));
    if let Some(first) = jobs.first().filter(|_| workers > WORKERS_MAX) {
        let what = format!("the jobs have {workers} clones in all");
        return Err(to
            .error(first.heading.place, what)
            .hint(format!("there are at most {WORKERS_MAX}")));
    }
    jobs.iter_mut().try_for_each(|job| one(job, to))?;
    let differs = |pair: &&[Section]| {
        let (before, job) = (&pair[0], &pair[1]);
        let is_together = !job.stonewall && !job.new_group;
        is_together && before.extras.steady != job.extras.steady
    };
    if let Some([_, job]) = jobs.windows(2).find(differs) {
        let right = "say the same in all, or begin another group with new_group";
        return refused(job, to, "steadystate differs from that of its group", right);
    }
    let each = jobs.iter().map(|job| job.files.saturating_mul(job.clones));
    let files = each.fold(0_u64, u64::saturating_add);
    match jobs.first().filter(|_| files > FILES_MAX) {
        None => Ok(()),
        Some(first) => {
            let what = format!("the clones have {files} files in all");
            Err(to.error(first.heading.place, what).hint(format!("there are at most {FILES_MAX}")))
        }
    }
}

fn refused(job: &Section, to: &Faults<'_>, what: &str, right: &str) -> Result<(), Fault> {
    Err(to.error(job.heading.place, format!("[{}]: {what}", shown(&job.name))).hint(right))
}

fn one(job: &mut Section, to: &Faults<'_>) -> Result<(), Fault> {
    let (zones, bytes) = (job.extras.strides.are_asked, job.extras.strides.bytes);
    job.extras.warnings = warnings(job);
    // As in the original, a job without a runtime is not based on time.
    job.time_based &= job.runtime_us > 0;
    settle(job);
    let job = &*job;
    let refuse = |what: &str, right: &str| refused(job, to, what, right);
    check_zones(job, zones, bytes, to)?;
    if job.size.is_none()
        && job.file_size.is_none()
        && job.filenames.is_empty()
        && job.extras.replays.is_none()
    {
        return refuse("there is no size", "write size=..., or filename= of a file that is there");
    }
    for direction in job.directions() {
        let blocks = job.blocks(direction);
        let aligned = blocks.least.is_multiple_of(512) && blocks.most.is_multiple_of(512);
        if job.direct && (!aligned || job.unaligned) {
            return refuse(
                "direct requests of sizes that are no multiple of 512",
                "write bs=4k, or leave direct out",
            );
        }
    }
    check_mapping(job, to)?;
    if job.extras.running.is_offloaded && job.loops > 1 {
        return refuse("passes of requests that others submit", "leave io_submit_mode out");
    }
    check_vsync(job, to)?;
    if job.extras.verify.trims_written() && job.rw.writes {
        return refuse("blocks that are written, trimmed and verified", "leave trim_backlog out");
    }
    if let Some(kind) = job.extras.verify.kind {
        let least = usize::try_from(job.least_block()).unwrap_or(usize::MAX);
        let part = job.extras.verify.part_bytes(least, job.unaligned);
        if part <= kind.header_bytes() {
            return refuse("requests have no room for what verifies them", "write a larger bs");
        }
        if matches!(kind, VerifyKind::Pattern | VerifyKind::PatternHeader)
            && job.extras.verify.pattern.is_none()
        {
            return refuse("a pattern is verified, and there is none", "write verify_pattern=...");
        }
    }
    if let Some((key, engines)) =
        OF_ENGINES.iter().find(|(key, engines)| job.sets(key) && !engines.contains(&job.engine))
    {
        let names = Engine::NAMES.iter().filter(|(_, engine)| engines.contains(engine));
        let names: Vec<String> = names.map(|(name, _)| format!("ioengine={name}")).collect();
        let hint = format!("write {}", names.join(" or "));
        return refuse(&format!("{key} with another engine"), &hint);
    }
    without_data(job, to)?;
    if job.open_files > OPEN_FILES_MAX
        && job.engine.has_open_files()
        && job.service != super::section::FileOrder::Sequential
        && !job.create_on_open
    {
        return refuse("more than 16000 files open at a time", "write openfiles=16000 or less");
    }
    Ok(())
}

/// Refuses options that the vsync engine does not support.
fn check_vsync(job: &Section, to: &Faults<'_>) -> Result<(), Fault> {
    if job.engine != Engine::Vsync {
        return Ok(());
    }
    let refuse = |what: &str, right: &str| refused(job, to, what, right);
    if job.depth > 1 {
        return refuse("several requests that vsync makes by one call", "write iodepth=1");
    }
    if job.create_on_open && job.rw.reads {
        return refuse("reads by vsync of files that are not laid out", "write ioengine=psync");
    }
    if job.rw.trims {
        return refuse("ioengine=vsync with trims", "write ioengine=psync");
    }
    Ok(())
}

/// Refuses options that the mmap engine does not support.
fn check_mapping(job: &Section, to: &Faults<'_>) -> Result<(), Fault> {
    let refuse = |what: &str, right: &str| refused(job, to, what, right);
    if job.engine == Engine::Mmap && job.create_on_open {
        return refuse("a mapping of a file that is empty", "leave create_on_open out");
    }
    if job.engine == Engine::Mmap && job.extras.appends {
        return refuse("a mapping does not grow", "leave file_append out");
    }
    if job.engine == Engine::Mmap && job.direct {
        return refuse("a mapping goes through the page cache", "leave direct out");
    }
    let syncs = job.syncs_often();
    if job.engine == Engine::Mmap && syncs && !job.least_block().is_multiple_of(4096) {
        return refuse(
            "a mapping with syncs and requests that are no multiple of 4096 bytes",
            "write bs=4k, or leave fsync and fdatasync out",
        );
    }
    Ok(())
}

/// Checks that both zone keys are given, or neither.
fn check_zones(
    job: &Section,
    zones: Option<bool>,
    bytes: u64,
    to: &Faults<'_>,
) -> Result<(), Fault> {
    let refuse = |what: &str, right: &str| refused(job, to, what, right);
    if zones == Some(true) && bytes == 0 {
        return refuse("zonemode=strided without a zonesize", "write zonesize=...");
    }
    if zones != Some(true) && bytes > 0 {
        return refuse("zonemode=none with a zonesize", "leave zonesize out");
    }
    Ok(())
}

/// Refuses options that need data, for engines that move none.
fn without_data(job: &Section, to: &Faults<'_>) -> Result<(), Fault> {
    let refuse = |what: &str, right: &str| refused(job, to, what, right);
    if job.engine.moves_data() {
        return Ok(());
    }
    if job.engine == Engine::Ftruncate && job.rw.reads {
        return refuse("ioengine=ftruncate with reads", "write rw=write or rw=randwrite");
    }
    let syncs = job.syncs_often() || job.end_fsync || job.fsync_on_close;
    if syncs && job.engine != Engine::Null {
        return refuse("a sync with an engine that moves no data", WITH_FIO);
    }
    if job.create_on_open && !job.engine.is_without_files() {
        return refuse("create_on_open with an engine that moves no data", WITH_FIO);
    }
    Ok(())
}

/// Decides on strided zones, which a zone size alone implies. As in the original, there are none if
/// more than one file may be open, and none for clones but the first if there are several files.
fn settle_strides(job: &mut Section) {
    let strides = &mut job.extras.strides;
    let are_asked = strides.are_asked.unwrap_or(strides.bytes > 0);
    if !are_asked || job.open_files > 1 {
        strides.bytes = 0;
    }
    if strides.range == 0 {
        strides.range = strides.bytes;
    }
}

/// Warnings of the original about a job whose options are not settled yet, in its order.
fn warnings(job: &Section) -> Vec<Warning> {
    let verify = &job.extras.verify;
    let verifies = verify.kind.is_some();
    let is_aligned = |direction| job.align(direction) == job.blocks(direction).least;
    let sizes = Direction::ALL.map(|direction| job.blocks(direction));
    let least = sizes[0].least;
    let has_sizes = sizes.iter().any(|blocks| blocks.least != least || blocks.most != least);
    let shares_file = !job.filenames.is_empty()
        || !job.unique_filename
        || ["$jobname", "$jobnum", "$filenum"].iter().any(|key| !job.filename_format.contains(key));
    let is_without_map = !job.draws.random_map;
    let warnings = [
        (Warning::Aligned, job.rw.random && !is_without_map && !job.directions().all(is_aligned)),
        (Warning::VerifiedSizes, verifies && is_without_map && has_sizes),
        (Warning::Timeless, job.time_based && job.runtime_us == 0),
        (
            Warning::Writers,
            verifies && job.rw.writes && verify.reads_again && job.clones > 1 && shares_file,
        ),
        (
            Warning::NeverVerified,
            verifies
                && verify.reads_again
                && job.rw.writes
                && !job.rw.reads
                && verify.backlog == 0
                && job.time_based
                && job.runtime_us > 0,
        ),
    ];
    warnings.into_iter().filter(|(_, holds)| *holds).map(|(warning, _)| warning).collect()
}

/// Derives defaults and adjustments that depend on other options.
fn settle(job: &mut Section) {
    if !job.filenames.is_empty() {
        job.files = job.files.min(job.filenames.len() as u64);
    }
    job.files = job.files.max(1);
    settle_strides(job);
    if job.open_files == 0 || job.open_files > job.files {
        job.open_files = job.files;
    }
    // As in the original, there is no random map with other alignments or non-uniform
    // distributions.
    let [reads, writes] =
        [Direction::Read, Direction::Write].map(|direction| job.blocks(direction));
    let writes = [writes.least, writes.most];
    let reads = job.rw.reads.then_some(reads.least);
    job.extras.verify.settle(writes, reads);
    if job.draws.distribution != Distribution::Even {
        job.draws.random_map = false;
    }
    // The original keeps no map beside a shift register.
    job.draws.random_map &= !job.draws.register;
    if job.directions().any(|direction| job.align(direction) != job.blocks(direction).least) {
        job.draws.random_map = false;
    }
    if job.batch == 0 || job.batch > job.depth {
        job.batch = job.depth;
    }
    if job.depth_low == 0 || job.depth_low > job.depth {
        job.depth_low = job.depth;
    }
    job.most_reaped = job.most_reaped.max(job.least_reaped).max(1);
}
