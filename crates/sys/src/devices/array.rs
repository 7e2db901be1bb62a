//! Arrays of disks by the driver md (linux/raid/md_u.h), without a superblock: the kernel keeps the
//! array in memory only, and writes nothing about it to its disks.
#![expect(unsafe_code, reason = "the driver md is spoken to by ioctls")]

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::ioctl::{NoArg, Setter, ioctl, opcode};

use super::blkdev::major_minor;

/// ioctl type of these calls: the major number of arrays.
const MD: u8 = 9;
const ADD_NEW_DISK: u32 = opcode::write::<DiskInfo>(MD, 0x21);
const SET_ARRAY_INFO: u32 = opcode::write::<ArrayInfo>(MD, 0x23);
const RUN_ARRAY: u32 = opcode::write::<RunParameters>(MD, 0x30);
const STOP_ARRAY: u32 = opcode::none(MD, 0x32);

/// Format of superblocks that stands for none.
const VERSION: (i32, i32) = (0, 90);
/// State of an array whose disks agree: no resync is begun (`MD_SB_CLEAN`).
const CLEAN: i32 = 1;
/// State of a disk that is active and in sync (`MD_DISK_ACTIVE`, `MD_DISK_SYNC`).
const IN_SYNC: i32 = 1 << 1 | 1 << 2;

/// `mdu_array_info_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ArrayInfo {
    major_version: i32,
    minor_version: i32,
    patch_version: i32,
    created: u32,
    level: i32,
    size_kib: i32,
    disks: i32,
    raid_disks: i32,
    md_minor: i32,
    not_persistent: i32,
    updated: u32,
    state: i32,
    active_disks: i32,
    working_disks: i32,
    failed_disks: i32,
    spare_disks: i32,
    layout: i32,
    chunk_bytes: i32,
}

/// `mdu_disk_info_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct DiskInfo {
    number: i32,
    major: i32,
    minor: i32,
    raid_disk: i32,
    state: i32,
}

/// `mdu_param_t`, of which the kernel uses nothing.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RunParameters {
    personality: i32,
    chunk_bytes: i32,
    max_faults: i32,
}

/// Parameters of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArraySettings {
    /// RAID level.
    pub level: i32,
    /// Placement of data and parity within the level, as the driver numbers them.
    pub layout: i32,
    /// Bytes of a chunk; 0 for a level without chunks.
    pub chunk_bytes: i32,
}

/// Starts an array on these disks, given by their numbers in the encoding of `stat`. They are taken
/// as equal to one another: no resync is begun.
///
/// # Errors
/// `EBUSY` if a disk is in use or the array is started already, `EINVAL` if the driver does not
/// accept the disks or the level; the kernel's log has the reason.
pub fn start_array(array: impl AsFd, settings: ArraySettings, disks: &[u64]) -> Result<(), Errno> {
    let count = i32::try_from(disks.len()).map_err(|_too_many| Errno::INVAL)?;
    let info = ArrayInfo {
        major_version: VERSION.0,
        minor_version: VERSION.1,
        level: settings.level,
        disks: count,
        raid_disks: count,
        not_persistent: 1,
        state: CLEAN,
        active_disks: count,
        working_disks: count,
        layout: settings.layout,
        chunk_bytes: settings.chunk_bytes,
        ..ArrayInfo::default()
    };
    let array = array.as_fd();
    // SAFETY: the call reads a structure of the size in its number.
    unsafe { ioctl(array, Setter::<SET_ARRAY_INFO, ArrayInfo>::new(info))? };
    for (number, disk) in (0..count).zip(disks) {
        let (major, minor) = major_minor(*disk);
        let signed = |part: u32| i32::try_from(part).map_err(|_too_large| Errno::INVAL);
        let (major, minor) = (signed(major)?, signed(minor)?);
        let info = DiskInfo { number, major, minor, raid_disk: number, state: IN_SYNC };
        // SAFETY: as above.
        unsafe { ioctl(array, Setter::<ADD_NEW_DISK, DiskInfo>::new(info))? };
    }
    let parameters = RunParameters::default();
    // SAFETY: as above.
    unsafe { ioctl(array, Setter::<RUN_ARRAY, RunParameters>::new(parameters)) }
}

/// Stops an array, started or not, and lets its disks go. The device ends with its last close.
///
/// # Errors
/// `EBUSY` while the array is mounted, held or open elsewhere.
pub fn stop_array(array: impl AsFd) -> Result<(), Errno> {
    // SAFETY: the call has no argument.
    unsafe { ioctl(array, NoArg::<STOP_ARRAY>::new()) }
}

#[cfg(test)]
mod tests {
    use super::{
        ADD_NEW_DISK, ArraySettings, RUN_ARRAY, SET_ARRAY_INFO, STOP_ARRAY, start_array, stop_array,
    };
    use rustix::io::Errno;
    use std::fs::File;

    #[test]
    fn calls_have_the_numbers_of_the_kernel() {
        let numbers = [SET_ARRAY_INFO, ADD_NEW_DISK, RUN_ARRAY, STOP_ARRAY];
        assert_eq!(numbers, [0x4048_0923, 0x4014_0921, 0x400c_0930, 0x932]);
    }

    #[test]
    fn a_file_is_no_array() {
        let file = File::open("/proc/self/exe").unwrap();
        let settings = ArraySettings { level: 1, layout: 0, chunk_bytes: 0 };
        assert_eq!(start_array(&file, settings, &[0, 1]), Err(Errno::NOTTY));
        assert_eq!(stop_array(&file), Err(Errno::NOTTY));
    }
}
