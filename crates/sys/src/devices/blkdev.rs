//! Block devices: sizes, exclusive opening, buffer cache, and partition table.
//!
//! The decision whether a device may be written is made elsewhere.
#![expect(unsafe_code, reason = "ioctls that rustix has no function for")]

use std::ffi::{CStr, c_void};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, ioctl_blkpbszget, ioctl_blksszget, openat};
use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Getter, NoArg, Setter, ioctl, opcode};

use crate::files::calls::OpenHow;
use crate::files::through::IoPath;

/// Major and minor number of a device, as in `/sys/dev/block`.
pub fn major_minor(device: u64) -> (u32, u32) {
    (rustix::fs::major(device), rustix::fs::minor(device))
}

/// ioctl type of these calls, from linux/fs.h.
const BLOCK: u8 = 0x12;
const REREAD_PARTITIONS: u32 = opcode::none(BLOCK, 95);
const PARTITION: u32 = opcode::none(BLOCK, 105);
const FLUSH_BUFFERS: u32 = opcode::none(BLOCK, 97);
const DEVICE_BYTES: u32 = opcode::read::<usize>(BLOCK, 114);
const DISCARD: u32 = opcode::none(BLOCK, 119);

/// Open mode of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceOpenMode {
    /// Read-only and shared.
    Look,
    /// Read-only and exclusive: fails while another has exclusive use, and prevents others from
    /// getting it.
    LookAlone,
    /// Read-write and exclusive.
    WriteAlone,
}

/// Opens a block device.
///
/// # Errors
/// `EBUSY` if another has exclusive use: a mounted filesystem, swap, RAID, a mapping or another
/// program; `EROFS` if the device is read-only; else as `open`.
pub fn open_device(path: &Path, how: DeviceOpenMode) -> Result<File, Errno> {
    let alone = if how == DeviceOpenMode::Look { OFlags::empty() } else { OFlags::EXCL };
    // `O_NONBLOCK`: never waits for a device that is not a disk.
    let flags = (OFlags::CLOEXEC | OFlags::NONBLOCK | alone).bits().cast_signed();
    let opened = OpenOptions::new()
        .read(true)
        .write(how == DeviceOpenMode::WriteAlone)
        .custom_flags(flags)
        .open(path);
    opened.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Opens a block device for requests.
///
/// # Errors
/// `ENOTBLK` if the path leads to no block device, `EINVAL` if the mode makes files; else as
/// `open`.
pub fn open_block_device(path: &CStr, how: OpenHow, through: IoPath) -> Result<OwnedFd, Errno> {
    if how.makes() {
        return Err(Errno::INVAL);
    }
    let flags = how.flags().union(through.flags());
    let opened = retry_on_intr(|| openat(CWD, path, flags, Mode::empty()))?;
    let kind = FileType::from_raw_mode(fstat(&opened)?.st_mode);
    if kind == FileType::BlockDevice { Ok(opened) } else { Err(Errno::NOTBLK) }
}

/// Device size in bytes.
///
/// # Errors
/// `ENOTTY` if the file is not a block device.
pub fn device_bytes(device: impl AsFd) -> Result<u64, Errno> {
    // SAFETY: BLKGETSIZE64 writes one 64-bit number, although its number encodes a size_t.
    let bytes: u64 = unsafe { ioctl(device, Getter::<DEVICE_BYTES, u64>::new())? };
    Ok(bytes)
}

/// Sector sizes of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorSizes {
    /// Unit of addressing, in bytes.
    pub logical_bytes: u32,
    /// Smallest write without read-modify-write, in bytes.
    pub physical_bytes: u32,
}

/// Sector sizes of a device.
///
/// # Errors
/// `ENOTTY` if the file is not a block device.
pub fn sector_sizes(device: impl AsFd) -> Result<SectorSizes, Errno> {
    let logical_bytes = ioctl_blksszget(&device)?;
    Ok(SectorSizes { logical_bytes, physical_bytes: ioctl_blkpbszget(&device)? })
}

/// Writes back and drops the buffer cache of the device itself (not of files on it).
///
/// # Errors
/// `EACCES` without root.
pub fn flush_buffers(device: impl AsFd) -> Result<(), Errno> {
    // SAFETY: BLKFLSBUF takes no argument.
    unsafe { ioctl(device, NoArg::<FLUSH_BUFFERS>::new()) }
}

/// Rereads the partition table.
///
/// # Errors
/// `EBUSY` if a partition is in use, `EINVAL` if the device cannot have partitions.
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

/// Removes a partition from the kernel's view. The device and its partition table stay unchanged.
///
/// # Errors
/// `EBUSY` if the partition is in use, `ENXIO` if it does not exist.
pub fn delete_partition(device: impl AsFd, number: u32) -> Result<(), Errno> {
    const DELETE: i32 = 2;
    let number = i32::try_from(number).map_err(|_too_large| Errno::NXIO)?;
    let mut entry = PartitionEntry { start: 0, length: 0, number, names: [[0; 64]; 2] };
    let length = i32::try_from(size_of::<PartitionEntry>()).map_err(|_too_large| Errno::INVAL)?;
    let entry = (&raw mut entry).cast::<c_void>();
    let call = PartitionCall { operation: DELETE, flags: 0, length, entry };
    // SAFETY: BLKPG reads one blkpg_ioctl_arg and the blkpg_partition that it points to, which is
    // valid until the call returns.
    unsafe { ioctl(device, Setter::<PARTITION, PartitionCall>::new(call)) }
}

/// Reopens a device or file for direct reads (`O_DIRECT`).
///
/// # Errors
/// `EINVAL` if direct I/O is not supported.
pub fn open_past_cache(device: &File) -> Result<File, Errno> {
    let flags = (OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::DIRECT).bits().cast_signed();
    let path = format!("/proc/self/fd/{}", device.as_raw_fd());
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Discards the whole device. Later reads return zeros only on devices that guarantee this, such as
/// loop devices.
///
/// # Errors
/// `EOPNOTSUPP` if the device does not support it.
pub fn discard(device: impl AsFd, bytes: u64) -> Result<(), Errno> {
    // SAFETY: BLKDISCARD reads two 64-bit numbers: start and length.
    unsafe { ioctl(device, Setter::<DISCARD, [u64; 2]>::new([0, bytes])) }
}

#[cfg(test)]
mod tests {
    use super::{DeviceOpenMode, device_bytes, flush_buffers, open_device, sector_sizes};
    use rustix::io::Errno;

    #[test]
    fn regular_files_are_rejected() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(device_bytes(file.as_file()), Err(Errno::NOTTY));
        assert_eq!(sector_sizes(file.as_file()), Err(Errno::NOTTY));
        assert!(flush_buffers(file.as_file()).is_err());
        open_device(file.path(), DeviceOpenMode::Look).unwrap();
        let missing = open_device(&file.path().join("x"), DeviceOpenMode::Look);
        assert_eq!(missing.unwrap_err(), Errno::NOTDIR);
    }
}
