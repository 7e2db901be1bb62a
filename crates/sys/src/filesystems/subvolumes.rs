//! Subvolumes of btrfs: made, copied as snapshots, and destroyed (`BTRFS_IOC_SUBVOL_CREATE`,
//! `BTRFS_IOC_SNAP_CREATE`, `BTRFS_IOC_SNAP_DESTROY`); and devices that the kernel forgets
//! (`BTRFS_IOC_FORGET_DEV`).
#![expect(unsafe_code, reason = "ioctls that rustix has no function for")]

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Setter, ioctl, opcode};

use super::BTRFS;
use crate::files::calls::is_single_name;

const SNAPSHOT: u32 = opcode::write::<VolumeArguments>(BTRFS, 1);
const FORGET: u32 = opcode::write::<VolumeArguments>(BTRFS, 5);
const MAKE: u32 = opcode::write::<VolumeArguments>(BTRFS, 14);
const DESTROY: u32 = opcode::write::<VolumeArguments>(BTRFS, 15);
/// Room for a name and the NUL behind it.
const NAME_ROOM: usize = 4088;

/// `struct btrfs_ioctl_vol_args`.
#[repr(C)]
#[derive(Clone, Copy)]
struct VolumeArguments {
    source: i64,
    name: [u8; NAME_ROOM],
}

impl VolumeArguments {
    fn new(source: i64, name: &CStr) -> Result<Self, Errno> {
        if !is_single_name(name.to_bytes()) {
            return Err(Errno::XDEV);
        }
        Self::with_path(source, name.to_bytes())
    }

    fn with_path(source: i64, bytes: &[u8]) -> Result<Self, Errno> {
        let mut arguments = Self { source, name: [0; NAME_ROOM] };
        let room = arguments.name.get_mut(..bytes.len()).filter(|_| bytes.len() < NAME_ROOM);
        room.ok_or(Errno::NAMETOOLONG)?.copy_from_slice(bytes);
        Ok(arguments)
    }
}

/// Lets the kernel forget the filesystem that it found on a device; `control` is the open
/// `/dev/btrfs-control`.
///
/// # Errors
/// `ENOENT` for a device that it does not know, `EBUSY` for one that is mounted.
pub fn forget_btrfs_device(control: BorrowedFd<'_>, node: &Path) -> Result<(), Errno> {
    let arguments = VolumeArguments::with_path(0, node.as_os_str().as_bytes())?;
    // SAFETY: as in `make_subvolume`.
    retry_on_intr(|| unsafe { ioctl(control, Setter::<FORGET, VolumeArguments>::new(arguments)) })
}

/// Makes an empty subvolume in an open directory.
///
/// # Errors
/// `ENOTTY` on other filesystems, `EXDEV` for more than one name.
pub fn make_subvolume(at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let arguments = VolumeArguments::new(0, name)?;
    // SAFETY: the call reads one `btrfs_ioctl_vol_args`, which has the layout of `VolumeArguments`.
    retry_on_intr(|| unsafe { ioctl(at, Setter::<MAKE, VolumeArguments>::new(arguments)) })
}

/// Makes a snapshot of the subvolume `source`, an open directory, that can be written to.
///
/// # Errors
/// As [`make_subvolume`], and `EINVAL` if the directory is no subvolume.
pub fn make_snapshot(source: BorrowedFd<'_>, at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let arguments = VolumeArguments::new(i64::from(source.as_raw_fd()), name)?;
    // SAFETY: as in `make_subvolume`; the descriptor in it stays open during the call.
    retry_on_intr(|| unsafe { ioctl(at, Setter::<SNAPSHOT, VolumeArguments>::new(arguments)) })
}

/// Destroys a subvolume or snapshot with all that is in it; its space is free later.
///
/// # Errors
/// As [`make_subvolume`], `ENOENT` if there is none, `EPERM` without root.
pub fn destroy_subvolume(at: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let arguments = VolumeArguments::new(0, name)?;
    // SAFETY: as in `make_subvolume`.
    retry_on_intr(|| unsafe { ioctl(at, Setter::<DESTROY, VolumeArguments>::new(arguments)) })
}

#[cfg(test)]
mod tests {
    use super::{DESTROY, MAKE, SNAPSHOT, VolumeArguments, destroy_subvolume, make_subvolume};
    use std::fs::File;
    use std::os::fd::AsFd;

    use rustix::io::Errno;

    #[test]
    fn the_calls_have_the_numbers_of_the_kernel() {
        assert_eq!(size_of::<VolumeArguments>(), 4096);
        assert_eq!((SNAPSHOT, MAKE, DESTROY), (0x5000_9401, 0x5000_940e, 0x5000_940f));
    }

    #[test]
    fn names_outside_of_the_directory_are_refused() {
        let dir = File::open("/proc").unwrap();
        for name in [c"..", c"a/b", c""] {
            assert_eq!(make_subvolume(dir.as_fd(), name), Err(Errno::XDEV));
            assert_eq!(destroy_subvolume(dir.as_fd(), name), Err(Errno::XDEV));
        }
        assert!(make_subvolume(dir.as_fd(), c"one").is_err());
    }
}
