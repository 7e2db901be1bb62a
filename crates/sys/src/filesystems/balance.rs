//! Writing the chunks of a mounted btrfs anew, as `btrfs balance` does.
#![expect(unsafe_code, reason = "an ioctl that rustix has no function for")]

use std::os::fd::AsFd;

use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Updater, ioctl, opcode};

use super::BTRFS;

const BALANCE: u32 = opcode::read_write::<BalanceRequest>(BTRFS, 32);
/// Chunks of data are balanced.
const DATA: u64 = 1;
/// Only chunks that are filled less than a percentage.
const BY_USAGE: u64 = 1 << 1;

/// `struct btrfs_balance_args` of linux/btrfs.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ChunkFilter {
    profiles: u64,
    usage: u64,
    device: u64,
    physical: [u64; 2],
    logical: [u64; 2],
    target: u64,
    flags: u64,
    limit: u64,
    stripes: [u32; 2],
    unused: [u64; 6],
}

/// `struct btrfs_ioctl_balance_args`, with its progress.
#[repr(C)]
#[derive(Clone, Copy)]
struct BalanceRequest {
    flags: u64,
    state: u64,
    data: ChunkFilter,
    metadata: ChunkFilter,
    system: ChunkFilter,
    progress: [u64; 3],
    unused: [u64; 72],
}

/// Writes the data of the chunks of btrfs that are filled less than `percent` anew into others, and
/// gives the emptied ones back; from 100 on all chunks. Returns when it is done.
///
/// # Errors
/// `ENOTTY` on other filesystems, `EPERM` without root, `ENOSPC` without space for another chunk,
/// `EINPROGRESS` if it is being balanced.
pub fn balance(filesystem: impl AsFd, percent: u64) -> Result<(), Errno> {
    let flags = if percent < 100 { BY_USAGE } else { 0 };
    let data = ChunkFilter { usage: percent, flags, ..ChunkFilter::default() };
    let (metadata, system) = (ChunkFilter::default(), ChunkFilter::default());
    let mut request = BalanceRequest {
        flags: DATA,
        state: 0,
        data,
        metadata,
        system,
        progress: [0; 3],
        unused: [0; 72],
    };
    // SAFETY: the call reads and writes one `btrfs_ioctl_balance_args`, which has the layout of
    // `BalanceRequest`.
    retry_on_intr(|| unsafe {
        ioctl(filesystem.as_fd(), Updater::<BALANCE, BalanceRequest>::new(&mut request))
    })
}

#[cfg(test)]
mod tests {
    use super::{BALANCE, ChunkFilter, balance};
    use rustix::io::Errno;
    use std::fs::File;

    #[test]
    fn the_call_has_the_number_and_the_size_of_the_kernel() {
        assert_eq!(BALANCE, 0xc400_9420);
        assert_eq!(size_of::<ChunkFilter>(), 136);
    }

    #[test]
    fn proc_has_no_chunks() {
        assert_eq!(balance(File::open("/proc").unwrap(), 0), Err(Errno::NOTTY));
    }
}
