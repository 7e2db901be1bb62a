//! Loop devices: files exposed as block devices.
//!
//! Kernels since 5.8 configure a device in a single call; older ones need several steps, and a
//! failed step undoes the others. Each device carries a mark of its creator (the free text
//! `lo_file_name`).
#![expect(unsafe_code, reason = "the loop driver is spoken to by ioctls")]

use std::ffi::c_void;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::ptr;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{major, makedev, minor};
use rustix::io::Errno;
use rustix::ioctl::{
    Getter, IntegerSetter, Ioctl, IoctlOutput, NoArg, Opcode, Setter, ioctl, opcode,
};

use super::blkdev::delete_partition;

/// ioctl type of these calls, from linux/loop.h.
const LOOP: u8 = 0x4c;
const SET_FD: u32 = opcode::none(LOOP, 0x00);
const CLEAR_FD: u32 = opcode::none(LOOP, 0x01);
const SET_STATUS: u32 = opcode::none(LOOP, 0x04);
const GET_STATUS: u32 = opcode::none(LOOP, 0x05);
const SET_DIRECT_IO: u32 = opcode::none(LOOP, 0x08);
const SET_BLOCK_SIZE: u32 = opcode::none(LOOP, 0x09);
const CONFIGURE: u32 = opcode::none(LOOP, 0x0a);
const CONTROL_GET_FREE: u32 = opcode::none(LOOP, 0x82);

const FLAG_READ_ONLY: u32 = 1;
const FLAG_AUTOCLEAR: u32 = 4;
const FLAG_PARTITIONS: u32 = 8;
const FLAG_DIRECT_IO: u32 = 16;

/// Attempts to get a free device before other programs take it.
const TRIES: usize = 64;
/// Delay between attempts while another process detaches a device.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// Time for udev to create the node of a new device.
const NODE_WAIT: Duration = Duration::from_secs(1);

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

impl LoopInfo {
    const fn empty() -> Self {
        Self {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: 0,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        }
    }
}

/// `struct loop_config`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// Configuration of a loop device.
#[derive(Clone, Copy, Debug)]
pub struct LoopSettings<'a> {
    /// Backing file, open for reading and writing.
    pub file: BorrowedFd<'a>,
    /// Sector size in bytes: 512 up to the page size.
    pub sector_bytes: u32,
    /// True for direct I/O on the backing file.
    pub direct_io: bool,
    /// True if the kernel scans for partitions.
    pub partitions: bool,
    /// Mark of the creator: at most 63 bytes, without NUL.
    pub mark: &'a str,
}

/// Newly attached loop device. Dropping it closes the file and leaves the device attached.
#[derive(Debug)]
pub struct LoopDevice {
    /// Device number N of `/dev/loopN`.
    pub number: u32,
    /// Path of the device node.
    pub path: PathBuf,
    /// Device, open for reading and writing.
    pub file: File,
}

/// Status of a loop device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopStatus {
    /// Filesystem of the backing file (`st_dev`).
    pub file_device: u64,
    /// Inode number of the backing file.
    pub file_inode: u64,
    /// Device number, if the backing file is a block device; else 0.
    pub file_rdevice: u64,
    /// Mark of the creator; losetup writes the path of the file.
    pub mark: String,
    /// True for direct I/O on the backing file.
    pub direct_io: bool,
    /// True if the device is detached with its last user.
    pub autoclear: bool,
}

/// Failure to attach a loop device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopError {
    /// `/dev/loop-control` cannot be used.
    Control(Errno),
    /// The node of a device cannot be opened.
    Node(PathBuf, Errno),
    /// The file cannot be attached to a device.
    Configure(PathBuf, Errno),
    /// Other programs took every free device first.
    AllTaken,
}

impl fmt::Display for LoopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control(errno) => write!(f, "cannot use /dev/loop-control: {errno}"),
            Self::Node(path, errno) => write!(f, "cannot open {}: {errno}", path.display()),
            Self::Configure(path, errno) => {
                write!(f, "cannot attach a file to {}: {errno}", path.display())
            }
            Self::AllTaken => write!(f, "other programs take every free loop device"),
        }
    }
}

impl std::error::Error for LoopError {}

/// Attaches a file to a free loop device, which persists until it is detached.
///
/// # Errors
/// Without a loop driver, without root, or if the kernel refuses the sector size.
pub fn attach_loop(settings: &LoopSettings<'_>) -> Result<LoopDevice, LoopError> {
    attach(|device| configure(device, settings))
}

/// Attaches a file opened for reading only. The device is read-only and is detached when its last
/// user closes or unmounts it, even if this process is killed.
///
/// # Errors
/// As [`attach_loop`].
pub fn attach_loop_to_read(
    file: BorrowedFd<'_>,
    sector_bytes: u32,
    mark: &str,
) -> Result<LoopDevice, LoopError> {
    let settings = LoopSettings { file, sector_bytes, direct_io: false, partitions: false, mark };
    attach(|device| configure_with(device, &settings, FLAG_READ_ONLY | FLAG_AUTOCLEAR))
}

fn attach(mut configure: impl FnMut(&File) -> Result<(), Errno>) -> Result<LoopDevice, LoopError> {
    let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control");
    let control = control.map_err(|error| LoopError::Control(errno(&error)))?;
    for _ in 0..TRIES {
        // SAFETY: LOOP_CTL_GET_FREE takes no argument and returns a number.
        let number = unsafe { ioctl(&control, GetFree)? };
        let (path, file) = match open_node(number) {
            // Another process is detaching the device: it cannot be opened until that is done.
            Err(LoopError::Node(_, Errno::NXIO)) => {
                sleep(BETWEEN_TRIES);
                continue;
            }
            opened => opened?,
        };
        match configure(&file) {
            Ok(()) => {
                forget_partitions(number, &file);
                return Ok(LoopDevice { number, path, file });
            }
            // Another process was faster.
            Err(Errno::BUSY) => {}
            Err(errno) => return Err(LoopError::Configure(path, errno)),
        }
    }
    Err(LoopError::AllTaken)
}

/// Removes partitions of an earlier file from a newly attached loop device that is not scanned for
/// partitions. They would expose parts of the new file.
fn forget_partitions(number: u32, device: &File) {
    let folder = PathBuf::from(format!("/sys/block/loop{number}"));
    let is_searched = read_number(&folder.join("loop/partscan")) == Some(1);
    if is_searched {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if let Some(partition) = read_number(&entry.path().join("partition")) {
            // A partition in use stays; a device with such a partition is never free.
            let _stays = delete_partition(device, partition);
        }
    }
}

fn read_number(path: &Path) -> Option<u32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

impl From<Errno> for LoopError {
    fn from(errno: Errno) -> Self {
        Self::Control(errno)
    }
}

/// Status of a loop device; `None` if no file is attached.
///
/// # Errors
/// `ENOTTY` if the file is not a loop device.
pub fn loop_status(device: impl AsFd) -> Result<Option<LoopStatus>, Errno> {
    // SAFETY: LOOP_GET_STATUS64 writes one loop_info64.
    let info: LoopInfo = match unsafe { ioctl(device, Getter::<GET_STATUS, LoopInfo>::new()) } {
        Ok(info) => info,
        Err(Errno::NXIO) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let mark = info.file_name.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(Some(LoopStatus {
        file_device: decode_device(info.device),
        file_inode: info.inode,
        file_rdevice: decode_device(info.rdevice),
        mark: String::from_utf8_lossy(mark).into_owned(),
        direct_io: info.flags & FLAG_DIRECT_IO != 0,
        autoclear: info.flags & FLAG_AUTOCLEAR != 0,
    }))
}

/// Requests to detach the file. If others have the device open, the kernel detaches it after the
/// last of them: check [`loop_status`] afterwards.
///
/// # Errors
/// `ENXIO` if no file is attached.
pub fn detach_loop(device: impl AsFd) -> Result<(), Errno> {
    // SAFETY: LOOP_CLR_FD takes no argument.
    unsafe { ioctl(device, NoArg::<CLEAR_FD>::new()) }
}

/// Sets whether the loop device is detached with its last user; nothing else changes.
///
/// # Errors
/// `ENXIO` when no file is attached, `EPERM` unless root.
pub fn set_loop_autoclear(device: impl AsFd, autoclear: bool) -> Result<(), Errno> {
    // SAFETY: LOOP_GET_STATUS64 writes one loop_info64.
    let mut info: LoopInfo = unsafe { ioctl(&device, Getter::<GET_STATUS, LoopInfo>::new())? };
    info.flags &= !FLAG_AUTOCLEAR;
    if autoclear {
        info.flags |= FLAG_AUTOCLEAR;
    }
    // SAFETY: LOOP_SET_STATUS64 reads one loop_info64.
    unsafe { ioctl(&device, Setter::<SET_STATUS, LoopInfo>::new(info)) }
}

fn configure(device: &File, settings: &LoopSettings<'_>) -> Result<(), Errno> {
    configure_with(device, settings, 0)
}

fn configure_with(device: &File, settings: &LoopSettings<'_>, flags: u32) -> Result<(), Errno> {
    let mut info = LoopInfo::empty();
    info.flags = flags;
    let mark = settings.mark.as_bytes();
    if mark.len() >= info.file_name.len() || mark.contains(&0) {
        return Err(Errno::INVAL);
    }
    info.file_name[..mark.len()].copy_from_slice(mark);
    if settings.direct_io {
        info.flags |= FLAG_DIRECT_IO;
    }
    if settings.partitions {
        info.flags |= FLAG_PARTITIONS;
    }
    let fd = settings.file.as_raw_fd().cast_unsigned();
    let config = LoopConfig { fd, block_size: settings.sector_bytes, info, reserved: [0; 8] };
    // SAFETY: LOOP_CONFIGURE reads one loop_config; the descriptor in it is open.
    match unsafe { ioctl(device, Setter::<CONFIGURE, LoopConfig>::new(config)) } {
        Err(Errno::INVAL | Errno::NOTTY) => configure_in_steps(device, settings, info),
        done => done,
    }
}

/// Configures a device in several calls, for kernels before 5.8.
fn configure_in_steps(
    device: &File,
    settings: &LoopSettings<'_>,
    info: LoopInfo,
) -> Result<(), Errno> {
    let fd = usize::try_from(settings.file.as_raw_fd()).map_err(|_negative| Errno::BADF)?;
    // SAFETY: LOOP_SET_FD takes an open descriptor as its argument.
    unsafe { ioctl(device, IntegerSetter::<SET_FD>::new_usize(fd))? };
    let mut plain = info;
    plain.flags &= !FLAG_DIRECT_IO;
    let set_options = || {
        // SAFETY: LOOP_SET_STATUS64 reads one loop_info64.
        unsafe { ioctl(device, Setter::<SET_STATUS, LoopInfo>::new(plain))? };
        if settings.sector_bytes != 512 {
            let bytes = settings.sector_bytes as usize;
            // SAFETY: LOOP_SET_BLOCK_SIZE takes a number.
            unsafe { ioctl(device, IntegerSetter::<SET_BLOCK_SIZE>::new_usize(bytes))? };
        }
        if settings.direct_io {
            // SAFETY: LOOP_SET_DIRECT_IO takes a number. A refusal shows in the status.
            let _seen_later =
                unsafe { ioctl(device, IntegerSetter::<SET_DIRECT_IO>::new_usize(1)) };
        }
        Ok(())
    };
    set_options().inspect_err(|_errno| {
        // The first error is more useful than one of the cleanup.
        let _less = detach_loop(device);
    })
}

/// Opens a device by its number, waiting for its node, and checks that the node is that device.
fn open_node(number: u32) -> Result<(PathBuf, File), LoopError> {
    let path = PathBuf::from(format!("/dev/loop{number}"));
    let step = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    let file = loop {
        match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => break file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && waited < NODE_WAIT => {
                sleep(step);
                waited += step;
            }
            Err(error) => return Err(LoopError::Node(path, errno(&error))),
        }
    };
    let known = std::fs::read_to_string(format!("/sys/block/loop{number}/dev"));
    let is_it = match (known, file.metadata()) {
        (Ok(known), Ok(opened)) => {
            let rdev = opened.rdev();
            opened.file_type().is_block_device()
                && known.trim() == format!("{}:{}", major(rdev), minor(rdev))
        }
        _ => false,
    };
    if is_it { Ok((path, file)) } else { Err(LoopError::Node(path, Errno::NODEV)) }
}

/// Converts a device number from the kernel's encoding (`huge_encode_dev`) to that of `stat`.
pub(super) fn decode_device(number: u64) -> u64 {
    // The kernel uses 12 bits of major and 20 of minor here.
    #[expect(clippy::cast_possible_truncation, reason = "masked to 12 and 20 bits")]
    let (major, minor) =
        (((number >> 8) & 0xfff) as u32, ((number & 0xff) | ((number >> 12) & 0xf_ff00)) as u32);
    makedev(major, minor)
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// `LOOP_CTL_GET_FREE`, which returns a device number.
struct GetFree;

// SAFETY: the call takes no argument and accesses no memory of this process.
unsafe impl Ioctl for GetFree {
    type Output = u32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        CONTROL_GET_FREE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        ptr::null_mut()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut c_void) -> Result<u32, Errno> {
        u32::try_from(out).map_err(|_negative| Errno::NODEV)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]
mod tests {
    use super::{
        LoopConfig, LoopError, LoopInfo, LoopSettings, LoopStatus, attach_loop, configure_in_steps,
        decode_device, detach_loop, loop_status,
    };
    use rustix::io::Errno;
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn the_structures_have_the_sizes_of_the_kernel() {
        assert_eq!(size_of::<LoopInfo>(), 232);
        assert_eq!(size_of::<LoopConfig>(), 304);
        assert_eq!(decode_device(0xfe00), rustix::fs::makedev(254, 0));
        assert_eq!(decode_device(0xab10_0804), rustix::fs::makedev(8, 0xab104));
    }

    #[test]
    fn stepwise_configuration_gives_the_same_device() {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(8 << 20).unwrap();
        let settings = LoopSettings {
            file: image.as_file().as_fd(),
            sector_bytes: 4096,
            direct_io: true,
            partitions: false,
            mark: "treering sys test in steps",
        };
        // One call finds a free device for us.
        let made = match attach_loop(&settings) {
            Ok(made) => made,
            Err(error) => {
                println!("skipped: no loop devices: {error}");
                return;
            }
        };
        let at_once = loop_status(&made.file).unwrap();
        // Attached, it takes no other file.
        let mut info = LoopInfo::empty();
        info.file_name[..8].copy_from_slice(b"treering");
        info.flags = super::FLAG_DIRECT_IO;
        assert_eq!(configure_in_steps(&made.file, &settings, info), Err(Errno::BUSY));
        assert_eq!(loop_status(&made.file).unwrap(), at_once);
        detach_loop(&made.file).unwrap();
        drop(made.file);
        let opened = File::options().read(true).write(true).open(&made.path);
        let free = opened.map(|device| (configure_in_steps(&device, &settings, info), device));
        let Ok((Ok(()), device)) = free else {
            println!("skipped: somebody else took the loop device");
            return;
        };
        let status = loop_status(&device).unwrap();
        let sectors = crate::sector_sizes(&device);
        detach_loop(&device).unwrap();
        let expected = at_once.map(|at_once| LoopStatus { mark: "treering".to_owned(), ..at_once });
        assert_eq!(status, expected);
        assert_eq!(sectors.unwrap().logical_bytes, 4096);
    }

    #[test]
    fn loop_devices_are_attached_and_detached() {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(8 << 20).unwrap();
        assert_eq!(loop_status(image.as_file()), Err(Errno::NOTTY));
        let settings = LoopSettings {
            file: image.as_file().as_fd(),
            sector_bytes: 4096,
            direct_io: true,
            partitions: false,
            mark: "treering sys test",
        };
        let made = match attach_loop(&settings) {
            Ok(made) => made,
            Err(LoopError::Control(errno)) => {
                println!("skipped: no loop devices: {errno}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let status = loop_status(&made.file).unwrap().unwrap();
        let metadata = image.as_file().metadata().unwrap();
        let bytes = crate::device_bytes(&made.file);
        let sectors = crate::sector_sizes(&made.file);
        detach_loop(&made.file).unwrap();
        assert_eq!((status.file_device, status.file_inode), (metadata.dev(), metadata.ino()));
        assert_eq!((status.mark.as_str(), status.file_rdevice), ("treering sys test", 0));
        assert!(!status.autoclear);
        assert_eq!(bytes, Ok(8 << 20));
        assert_eq!(sectors.unwrap().logical_bytes, 4096);
        let refused = attach_loop(&LoopSettings { sector_bytes: 513, ..settings });
        assert!(matches!(refused, Err(LoopError::Configure(_, Errno::INVAL))), "{refused:?}");
        let refused = attach_loop(&LoopSettings { mark: &"x".repeat(64), ..settings });
        assert!(matches!(refused, Err(LoopError::Configure(_, Errno::INVAL))), "{refused:?}");
    }
}
