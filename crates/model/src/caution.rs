//! Cautions: a closed list of warnings attached to a result, each with advice.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// Kind of caution: a closed list; a new caution is a new code, with advice.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CautionCode {
        /// The run asks for dropped caches, but the kernel's caches could not be dropped.
        CachesNotDropped = "caches_not_dropped",
        /// Classic mode appended to files of an earlier run.
        AppendedToExisting = "appended_to_existing",
        /// The filesystem has too little free space for the whole run.
        MayNotFit = "may_not_fit",
        /// The store is on the filesystem under test and was kept in memory during the trial.
        StoreStaged = "store_staged",
        /// The directory could not be locked against a second run.
        NotLocked = "not_locked",
        /// The kernel lacks `openat2`, so path components were checked one by one.
        ConfinedByWalk = "confined_by_walk",
        /// The loop device uses the host's page cache.
        HostCacheAnswers = "host_cache_answers",
        /// The image behind the loop device is in memory.
        ImageInMemory = "image_in_memory",
        /// The host filesystem may fill up before the sparse images do.
        HostMayFill = "host_may_fill",
        /// The device has a different sector size than requested.
        OtherSectors = "other_sectors",
        /// Other programs were still writing when the trial began.
        NotQuiet = "not_quiet",
        /// The host of the virtual machine took CPU time away (steal time).
        Stolen = "stolen",
        /// Other programs used the CPUs during the trial.
        OtherLoad = "other_load",
        /// The machine swapped during the trial.
        Swapped = "swapped",
        /// The kernel logged a warning during the trial.
        KernelWarning = "kernel_warning",
        /// The kernel has debugging options enabled that make it slow.
        DebugKernel = "debug_kernel",
        /// The CPU frequency governor is not set to performance.
        Governor = "governor",
        /// The payload is compressible, and the filesystem compresses it.
        CompressibleData = "compressible_data",
        /// The engine slowed every task on purpose.
        Handicapped = "handicapped",
        /// Too few operations: the random choice of operations decides the figures.
        TooFewOperations = "too_few_operations",
        /// Operations of an aging found no space, and files were deleted for it.
        ShortOfSpace = "short_of_space",
        /// A control group or the CPU affinity provides less than the machine has.
        CgroupLimits = "cgroup_limits",
        /// Memory ran short during the trial, and cached data were evicted.
        MemorySqueezed = "memory_squeezed",
        /// Reads may have come from memory instead of the device.
        DataFitInMemory = "data_fit_in_memory",
        /// The trial ended before anything had to be written to the device.
        TooShort = "too_short",
        /// Another program dropped the kernel's caches during the trial.
        CachesDroppedOutside = "caches_dropped_outside",
        /// The CPUs were thermally throttled.
        Throttled = "throttled",
        /// The partition is not aligned to the device's blocks.
        Misaligned = "misaligned",
        /// Files got the names of others and overwrote them.
        NamesCollided = "names_collided",
        /// Syncing took most of the time: the figures measure the device's cache.
        FlushesDecide = "flushes_decide",
        /// The log does not name the tool's version, and versions measure different things.
        VersionUnknown = "version_unknown",
        /// Operations of a recorded load had other outcomes than in the recording.
        OtherwiseThanRecorded = "otherwise_than_recorded",
        /// Requests of the devices could not be traced completely.
        TraceIncomplete = "trace_incomplete",
        /// The output of a command lacks a requested number.
        MetricMissing = "metric_missing",
        /// A command ended while processes started by it were still running.
        ProcessesLeft = "processes_left",
        /// The processor of the guest was emulated.
        Emulated = "emulated",
        /// The ranks of a run do not share one filesystem.
        NotShared = "not_shared",
        /// The ranks of a run mounted their filesystem with different options.
        MountsDiffer = "mounts_differ",
        /// The machine could not play a disk in real time.
        PlayedLate = "played_late",
        /// The trial should start on a fresh filesystem, but it had been used before.
        NotFresh = "not_fresh",
        /// Requests of a closed loop with a rate began after they were due: the latencies leave out
        /// the time that they waited to begin.
        RequestsLate = "requests_late",
        /// The log has means of runs, and not the runs.
        MeansOnly = "means_only",
    }
}

/// Operations below which random draws decide the figures of a mix: with the published mix of FFSB
/// the coefficient of variation of the transactions is 13 % at this number.
pub const OPERATIONS_FEW: u64 = 5_000;

/// Share of syncing in the time of all operations, in percent, from which on it decides the
/// figures.
pub const FLUSH_PERCENT_MUCH: f64 = 50.0;

impl CautionCode {
    /// Parses a name from [`CautionCode::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// Advice for the user.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::CachesNotDropped => {
                "run as root with --drop-caches each, or compare only with runs that did not drop \
                 caches either"
            }
            Self::AppendedToExisting => {
                "empty the working directory first (`treering lab clean DIR` for what a killed run \
                 left)"
            }
            Self::MayNotFit => "use a larger filesystem, fewer trees or a smaller data set",
            Self::StoreStaged => "name a store on another filesystem with --store FILE",
            Self::NotLocked => {
                "make sure that nothing else works in the directory (`fuser -vm DIR`)"
            }
            Self::ConfinedByWalk => "use Linux 5.6 or newer, or allow openat2 in the sandbox",
            Self::HostCacheAnswers => {
                "`losetup --direct-io=on LOOP`; keep the image on a filesystem that allows direct \
                 I/O (--images DIR), or use a block device"
            }
            Self::ImageInMemory => "keep the image on a disk (--images DIR)",
            Self::HostMayFill => {
                "allocate the images beforehand (`fallocate -l SIZE IMAGE`), or make them smaller"
            }
            Self::OtherSectors => "leave sector-bytes out, or use a kernel that can set them",
            Self::CompressibleData => {
                "use --payload random --compressibility 0%, or `mount -o remount,compress=no DIR`"
            }
            Self::DataFitInMemory => {
                "drop caches between operations (compilebench: --drop-caches each, as root), read \
                 past them (directio of a profile, direct=1 of fio), or work on twice as much data \
                 as there is memory"
            }
            Self::Misaligned => {
                "make it anew from a whole MiB on: `parted -a optimal DISK mkpart NAME 1MiB 100%` \
                 (all of it is lost)"
            }
            Self::Handicapped
            | Self::NamesCollided
            | Self::TooShort
            | Self::FlushesDecide
            | Self::VersionUnknown
            | Self::OtherwiseThanRecorded
            | Self::MetricMissing
            | Self::ProcessesLeft
            | Self::NotFresh
            | Self::RequestsLate
            | Self::MeansOnly
            | Self::ShortOfSpace
            | Self::TooFewOperations => self.advice_about_workload(),
            Self::NotQuiet
            | Self::Stolen
            | Self::OtherLoad
            | Self::Swapped
            | Self::KernelWarning
            | Self::DebugKernel
            | Self::Governor
            | Self::CgroupLimits
            | Self::MemorySqueezed
            | Self::CachesDroppedOutside
            | Self::Emulated
            | Self::NotShared
            | Self::MountsDiffer
            | Self::PlayedLate
            | Self::TraceIncomplete
            | Self::Throttled => self.advice_about_machine(),
        }
    }

    /// Advice on cautions about the workload.
    const fn advice_about_workload(self) -> &'static str {
        match self {
            Self::Handicapped => "leave --handicap out: it is there to test the verdicts",
            Self::TooShort => {
                "count the writing too (compilebench: --sync each, fio: end_fsync=1), or run for \
                 longer than a minute: more runs, files or time"
            }
            Self::NamesCollided => "use longer names or more random characters",
            Self::FlushesDecide => {
                "compare the time of a pass and the latency of each operation, and use throughput \
                 for the sync rate of the device only"
            }
            Self::VersionUnknown => {
                "find out which version it was, and compare with logs of the same only"
            }
            Self::OtherwiseThanRecorded => {
                "begin in an empty directory, and play the lines that make the files before \
                 others (dbench: --fill-lines)"
            }
            Self::MetricMissing => {
                "try the expression on the output that is kept with the trial (`treering export`)"
            }
            Self::ProcessesLeft => {
                "let the command wait for what it starts, or end it in --cleanup"
            }
            Self::NotFresh => {
                "format it: `treering layout TREE --fresh-copy --on DEVICE` and plans do that, and \
                 fail where mkfs does"
            }
            Self::RequestsLate => {
                "`treering run fio --offered-rate N` offers the rate whatever is slow, and counts \
                 latencies from when requests were due"
            }
            Self::MeansOnly => {
                "a verdict needs the runs: ask for them, or measure both commits by turns \
                 (`treering compare --kernel`)"
            }
            Self::ShortOfSpace => {
                "to age without it give a smaller --live or a lower --hold-full; close to full it \
                 is what the filesystem is asked for"
            }
            // Only `TooFewOperations` is left; the other codes have advice above.
            _ => "let it run longer, until some thousands of operations ran",
        }
    }

    /// Advice on cautions about the machine: load, heat, missing resources.
    const fn advice_about_machine(self) -> &'static str {
        match self {
            Self::NotQuiet => {
                "`sync` and wait; stop what writes to the machine's disks (`iotop -o`), or repeat \
                 at a quieter time"
            }
            Self::Stolen => {
                "measure on a quiet host, or on hardware of its own; see it with `vmstat 1`, \
                 column st"
            }
            Self::OtherLoad => "find them with `top` and stop them, or repeat at a quieter time",
            Self::Swapped => {
                "`swapoff -a` while measuring (`swapon -a` afterwards), or free memory"
            }
            Self::KernelWarning => {
                "read the lines with `dmesg --level warn+`: the device or the filesystem may be at \
                 fault"
            }
            Self::DebugKernel => {
                "boot a kernel without these options (`ls /boot`), or compare with the same kernel \
                 only"
            }
            Self::Governor => "`cpupower frequency-set -g performance` while measuring",
            Self::CgroupLimits => {
                "measure outside: from a login shell of root, or give the unit MemoryMax=infinity, \
                 CPUQuota= and no IO…Max= (`systemctl set-property --runtime UNIT …`)"
            }
            Self::MemorySqueezed => {
                "stop what uses memory (`ps aux --sort -rss | head`), raise memory.max of the \
                 control group, or use a smaller data set"
            }
            Self::CachesDroppedOutside => {
                "find who writes to /proc/sys/vm/drop_caches (`grep -rl drop_caches /etc/cron* \
                 /etc/systemd`), stop it and repeat"
            }
            Self::NotShared => {
                "mount the shared filesystem on every client (`mpirun … findmnt --target DIR`), or \
                 take the figures as those of several filesystems"
            }
            Self::MountsDiffer => {
                "mount it on every client with the same type and options (`mpirun … findmnt \
                 --target DIR`)"
            }
            Self::TraceIncomplete => {
                "trace as root where the kernel lets, on a machine that is less busy"
            }
            Self::Emulated => {
                "take it as a comparison of the work that kernels do, not of their speed: repeat \
                 on a machine with KVM, or boot the kernels on hardware"
            }
            Self::PlayedLate => {
                "stop what else uses the CPUs and the disk behind the image, put the image into \
                 memory (--images /dev/shm), or play a slower disk"
            }
            // Only `Throttled` is left; the other codes have advice above.
            _ => {
                "cool the machine, limit its clock (`cpupower frequency-set -u 2GHz`), or rest \
                 between trials (settle-seconds)"
            }
        }
    }
}

/// Warning attached to a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caution {
    /// Kind of caution.
    pub code: CautionCode,
    /// Finding in words, with figures.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::CautionCode;

    #[test]
    fn every_code_has_a_name_and_advice() {
        for code in CautionCode::ALL {
            assert_eq!(CautionCode::from_name(code.name()), Some(code));
            assert_eq!(serde_json::to_value(code).unwrap(), code.name());
            assert!(code.advice().len() > 10);
            let twins = CautionCode::ALL
                .into_iter()
                .filter(|other_code| other_code.advice() == code.advice());
            assert_eq!(twins.count(), 1, "{code:?}");
        }
    }
}
