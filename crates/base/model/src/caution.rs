//! Cautions: a closed list of warnings attached to a result, each with what to do about it.

use serde::{Deserialize, Serialize};

/// What kind of doubt a caution raises. A closed list: a new doubt is a new code, with advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CautionCode {
    /// The kernel's caches could not be dropped although the run asks for it.
    CachesNotDropped,
    /// Classic mode appended to files that were there before.
    AppendedToExisting,
    /// The filesystem has too little room for the whole run.
    MayNotFit,
    /// The store had to wait in memory since its place is on the filesystem under test.
    StoreStaged,
    /// The directory could not be locked against a second run.
    NotLocked,
    /// Names could not be confined by the kernel (`openat2`); they were checked one by one.
    ConfinedByWalk,
    /// The loop device goes through the page cache of the host.
    HostCacheAnswers,
    /// The image behind the loop device is in memory.
    ImageInMemory,
    /// The host filesystem may fill up before the sparse images do.
    HostMayFill,
    /// The device has other sectors than were asked for.
    OtherSectors,
    /// Other programs still wrote when the trial began.
    NotQuiet,
    /// The host of the virtual machine took CPU time away.
    Stolen,
    /// Other programs used the CPUs meanwhile.
    OtherLoad,
    /// The machine swapped meanwhile.
    Swapped,
    /// The kernel warned meanwhile.
    KernelWarning,
    /// The kernel is built to find its own faults, and slow.
    DebugKernel,
    /// The CPUs change their frequency as they like.
    Governor,
    /// The payload can be compressed, and the filesystem does so.
    CompressibleData,
    /// The engine slowed every task on purpose.
    Handicapped,
    /// Files got the name of another and overwrote it.
    NamesCollided,
}

impl CautionCode {
    /// Every code.
    pub const ALL: [Self; 20] = [
        Self::CachesNotDropped,
        Self::AppendedToExisting,
        Self::MayNotFit,
        Self::StoreStaged,
        Self::NotLocked,
        Self::ConfinedByWalk,
        Self::HostCacheAnswers,
        Self::ImageInMemory,
        Self::HostMayFill,
        Self::OtherSectors,
        Self::NotQuiet,
        Self::Stolen,
        Self::OtherLoad,
        Self::Swapped,
        Self::KernelWarning,
        Self::DebugKernel,
        Self::Governor,
        Self::CompressibleData,
        Self::Handicapped,
        Self::NamesCollided,
    ];

    /// The word used in JSON and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CachesNotDropped => "caches_not_dropped",
            Self::AppendedToExisting => "appended_to_existing",
            Self::MayNotFit => "may_not_fit",
            Self::StoreStaged => "store_staged",
            Self::NotLocked => "not_locked",
            Self::ConfinedByWalk => "confined_by_walk",
            Self::HostCacheAnswers => "host_cache_answers",
            Self::ImageInMemory => "image_in_memory",
            Self::HostMayFill => "host_may_fill",
            Self::OtherSectors => "other_sectors",
            Self::NotQuiet => "not_quiet",
            Self::Stolen => "stolen",
            Self::OtherLoad => "other_load",
            Self::Swapped => "swapped",
            Self::KernelWarning => "kernel_warning",
            Self::DebugKernel => "debug_kernel",
            Self::Governor => "governor",
            Self::CompressibleData => "compressible_data",
            Self::Handicapped => "handicapped",
            Self::NamesCollided => "names_collided",
        }
    }

    /// The code with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// What to do about it.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::CachesNotDropped => {
                "run as root, or compare only with runs that did not drop caches either"
            }
            Self::AppendedToExisting => "empty the working directory first",
            Self::MayNotFit => "use a larger filesystem, fewer trees or a smaller data set",
            Self::StoreStaged => "name a store on another filesystem with --store FILE",
            Self::NotLocked => "make sure that nothing else works in the directory",
            Self::ConfinedByWalk => "use Linux 5.6 or newer, or allow openat2 in the sandbox",
            Self::HostCacheAnswers => {
                "keep the image on a filesystem that allows direct I/O (--images DIR), or use a \
                 block device"
            }
            Self::ImageInMemory => "keep the image on a disk (--images DIR)",
            Self::HostMayFill => "allocate the images beforehand, or make them smaller",
            Self::OtherSectors => "leave sector-bytes out, or use a kernel that can set them",
            Self::NotQuiet => {
                "stop what writes to the machine's disks, or repeat at a quieter time"
            }
            Self::Stolen => "measure on a quiet host, or on hardware of its own",
            Self::OtherLoad => "stop them, or repeat at a quieter time",
            Self::Swapped => "free memory, or switch swap off while measuring",
            Self::KernelWarning => {
                "read the lines in `dmesg`: the device or the filesystem may be at fault"
            }
            Self::DebugKernel => {
                "use a kernel without these options, or compare with the same only"
            }
            Self::Governor => "`cpupower frequency-set -g performance` while measuring",
            Self::CompressibleData => {
                "use --payload random --compressibility 0%, or mount without compression"
            }
            Self::NamesCollided => "use longer names or more random characters",
            Self::Handicapped => "leave --handicap out: it is there to test the verdicts",
        }
    }
}

/// A warning attached to a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caution {
    /// What kind of doubt.
    pub code: CautionCode,
    /// What was seen, with its figures.
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
        }
    }
}
