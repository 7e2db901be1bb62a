//! Block devices: sizes, exclusive opening, what is cached of them, and their partition table.
//!
//! Whether a device may be written to is not decided here.
#![expect(unsafe_code, reason = "ioctls that rustix has no function for")]

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{OFlags, ioctl_blkpbszget, ioctl_blksszget};
use rustix::io::Errno;
use rustix::ioctl::{Getter, NoArg, Setter, ioctl, opcode};

/// The two numbers of a device, as `/sys/dev/block` names them.
pub fn major_minor(device: u64) -> (u32, u32) {
    (rustix::fs::major(device), rustix::fs::minor(device))
}

/// The group of these calls in linux/fs.h.
const BLOCK: u8 = 0x12;
const REREAD_PARTITIONS: u32 = opcode::none(BLOCK, 95);
const PARTITION: u32 = opcode::none(BLOCK, 105);
const FLUSH_BUFFERS: u32 = opcode::none(BLOCK, 97);
const DEVICE_BYTES: u32 = opcode::read::<usize>(BLOCK, 114);
const DISCARD: u32 = opcode::none(BLOCK, 119);

/// How a block device is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceUse {
    /// To look at it, whoever uses it.
    Look,
    /// To look at it when nobody has it for themselves, and while we have it nobody gets it.
    LookAlone,
    /// To write to it when nobody has it for themselves, and while we have it nobody gets it.
    WriteAlone,
}

/// Opens a block device.
///
/// # Errors
/// `EBUSY` when somebody has it for themselves: a mounted filesystem, swap, RAID, a mapping or
/// another program; `EROFS` when it takes no writes; else as `open`.
pub fn open_device(path: &Path, how: DeviceUse) -> Result<File, Errno> {
    let alone = if how == DeviceUse::Look { OFlags::empty() } else { OFlags::EXCL };
    // No waiting for a tape or a modem that pretends to be a disk.
    let flags = (OFlags::CLOEXEC | OFlags::NONBLOCK | alone).bits().cast_signed();
    let opened = OpenOptions::new()
        .read(true)
        .write(how == DeviceUse::WriteAlone)
        .custom_flags(flags)
        .open(path);
    opened.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Bytes of the whole device.
///
/// # Errors
/// `ENOTTY` when it is not a block device.
pub fn device_bytes(device: impl AsFd) -> Result<u64, Errno> {
    // SAFETY: BLKGETSIZE64 writes one 64-bit number, although its number names a size_t.
    let bytes: u64 = unsafe { ioctl(device, Getter::<DEVICE_BYTES, u64>::new())? };
    Ok(bytes)
}

/// The sizes of a device's sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorSizes {
    /// What it can be addressed by, in bytes.
    pub logical_bytes: u32,
    /// What it writes without reading first, in bytes.
    pub physical_bytes: u32,
}

/// The sizes of a device's sectors.
///
/// # Errors
/// `ENOTTY` when it is not a block device.
pub fn sector_sizes(device: impl AsFd) -> Result<SectorSizes, Errno> {
    let logical_bytes = ioctl_blksszget(&device)?;
    Ok(SectorSizes { logical_bytes, physical_bytes: ioctl_blkpbszget(&device)? })
}

/// Writes back and forgets what the kernel holds of the device itself (not of files on it).
///
/// # Errors
/// `EACCES` when we are not root.
pub fn flush_buffers(device: impl AsFd) -> Result<(), Errno> {
    // SAFETY: BLKFLSBUF takes no argument.
    unsafe { ioctl(device, NoArg::<FLUSH_BUFFERS>::new()) }
}

/// Lets the kernel look for partitions again.
///
/// # Errors
/// `EBUSY` when one of them is in use, `EINVAL` when the device can have none.
pub fn reread_partitions(device: impl AsFd) -> Result<(), Errno> {
    // SAFETY: BLKRRPART takes no argument.
    unsafe { ioctl(device, NoArg::<REREAD_PARTITIONS>::new()) }
}

/// `struct blkpg_partition` of linux/blkpg.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct PartitionEntry {
    start: i64,
    length: i64,
    number: i32,
    names: [[u8; 64]; 2],
}

/// `struct blkpg_ioctl_arg`.
#[repr(C)]
#[derive(Clone, Copy)]
struct PartitionCall {
    operation: i32,
    flags: i32,
    length: i32,
    entry: *mut c_void,
}

/// Makes the kernel forget a partition. Nothing on the device is changed, its table included.
///
/// # Errors
/// `EBUSY` when the partition is in use, `ENXIO` when there is none of this number.
pub fn delete_partition(device: impl AsFd, number: u32) -> Result<(), Errno> {
    const DELETE: i32 = 2;
    let number = i32::try_from(number).map_err(|_too_large| Errno::NXIO)?;
    let mut entry = PartitionEntry { start: 0, length: 0, number, names: [[0; 64]; 2] };
    let length = i32::try_from(size_of::<PartitionEntry>()).map_err(|_too_large| Errno::INVAL)?;
    let entry = (&raw mut entry).cast::<c_void>();
    let call = PartitionCall { operation: DELETE, flags: 0, length, entry };
    // SAFETY: BLKPG reads one blkpg_ioctl_arg and the blkpg_partition that it points to, which
    // lives until the call returns.
    unsafe { ioctl(device, Setter::<PARTITION, PartitionCall>::new(call)) }
}

/// Opens a device or file again to read it past the page cache.
///
/// # Errors
/// `EINVAL` where that is not possible.
pub fn open_past_cache(device: &File) -> Result<File, Errno> {
    let flags = (OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::DIRECT).bits().cast_signed();
    let path = format!("/proc/self/fd/{}", device.as_raw_fd());
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Tells the device that nothing of it is needed any more. What is read afterwards is zeroes only
/// on devices that promise so, a loop device among them.
///
/// # Errors
/// `EOPNOTSUPP` when it cannot.
pub fn discard(device: impl AsFd, bytes: u64) -> Result<(), Errno> {
    // SAFETY: BLKDISCARD reads two 64-bit numbers, begin and length.
    unsafe { ioctl(device, Setter::<DISCARD, [u64; 2]>::new([0, bytes])) }
}

#[cfg(test)]
mod tests {
    use super::{DeviceUse, device_bytes, flush_buffers, open_device, sector_sizes};
    use rustix::io::Errno;

    #[test]
    fn a_file_is_no_device() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(device_bytes(file.as_file()), Err(Errno::NOTTY));
        assert_eq!(sector_sizes(file.as_file()), Err(Errno::NOTTY));
        assert!(flush_buffers(file.as_file()).is_err());
        open_device(file.path(), DeviceUse::Look).unwrap();
        let gone = open_device(&file.path().join("x"), DeviceUse::Look);
        assert_eq!(gone.unwrap_err(), Errno::NOTDIR);
    }
}
