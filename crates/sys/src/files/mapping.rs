//! A file seen as memory (`mmap`), copied from and to without system calls.
//!
//! Where the file has become shorter than the mapping, or the filesystem has no room for a page
//! that is written for the first time, the kernel ends the process with `SIGBUS`.
#![expect(unsafe_code, reason = "memory that others may change at any time")]

use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

/// The first bytes of a file as memory that is shared with it.
#[derive(Debug)]
pub struct Mapping {
    at: NonNull<u8>,
    length: usize,
    writes: bool,
}

// SAFETY: it is only touched by copies of bytes, through whoever owns it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps so many bytes, to be read or also to be written.
    ///
    /// # Errors
    /// `EINVAL` for none, else as `mmap`.
    pub fn of(file: BorrowedFd<'_>, length: usize, writes: bool) -> Result<Self, Errno> {
        let write = if writes { ProtFlags::WRITE } else { ProtFlags::empty() };
        let (protection, flags) = (ProtFlags::READ | write, MapFlags::SHARED);
        // SAFETY: the kernel chooses a free place for the new mapping.
        let at = unsafe { mmap(ptr::null_mut(), length, protection, flags, file, 0) }?;
        let at = NonNull::new(at.cast::<u8>()).ok_or(Errno::NOMEM)?;
        Ok(Self { at, length, writes })
    }

    /// Tells the kernel in which order pages will be wanted: in none, or in theirs.
    ///
    /// # Errors
    /// As `madvise`.
    pub fn advise(&self, random: bool) -> Result<(), Errno> {
        let advice = if random { Advice::Random } else { Advice::Sequential };
        // SAFETY: the whole of our mapping; the advice changes when pages come, not what they hold.
        unsafe { madvise(self.at.as_ptr().cast(), self.length, advice) }
    }

    /// The place of so many bytes.
    fn place(&self, position: u64, bytes: usize) -> Result<*mut u8, Errno> {
        let start = usize::try_from(position).map_err(|_beyond| Errno::FAULT)?;
        let end = start.checked_add(bytes).ok_or(Errno::FAULT)?;
        if end > self.length {
            return Err(Errno::FAULT);
        }
        // SAFETY: within the mapping.
        Ok(unsafe { self.at.as_ptr().add(start) })
    }

    /// Copies from the file.
    ///
    /// # Errors
    /// `EFAULT` beyond the mapping.
    pub fn read(&self, position: u64, into: &mut [u8]) -> Result<(), Errno> {
        let from = self.place(position, into.len())?;
        // SAFETY: so many bytes lie in the mapping, and the buffer is no part of it. Whatever
        // others write meanwhile, any byte is a byte.
        unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies to the file.
    ///
    /// # Errors
    /// `EFAULT` beyond the mapping, `EACCES` when it is only to be read.
    pub fn write(&mut self, position: u64, from: &[u8]) -> Result<(), Errno> {
        if !self.writes {
            return Err(Errno::ACCESS);
        }
        let into = self.place(position, from.len())?;
        // SAFETY: as in `read`, and the mapping may be written.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), into, from.len()) };
        Ok(())
    }

    /// Waits until what was written is on disk.
    ///
    /// # Errors
    /// As `msync`.
    pub fn sync(&self) -> Result<(), Errno> {
        // SAFETY: the whole of our mapping; nothing in memory changes.
        unsafe { msync(self.at.as_ptr().cast(), self.length, MsyncFlags::SYNC) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody has a way to it any more.
        let _it_was_mapped = unsafe { munmap(self.at.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::io::Errno;

    use super::Mapping;

    #[test]
    fn copies_reach_the_file_and_nothing_beyond() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10_000).unwrap();
        let mut mapping = Mapping::of(file.as_fd(), 10_000, true).unwrap();
        mapping.advise(true).unwrap();
        mapping.advise(false).unwrap();
        mapping.write(9_990, b"0123456789").unwrap();
        mapping.sync().unwrap();
        let mut seen = [0; 4];
        Mapping::of(file.as_fd(), 10_000, false).unwrap().read(9_996, &mut seen).unwrap();
        assert_eq!(&seen, b"6789");
        assert_eq!(mapping.write(9_991, b"0123456789"), Err(Errno::FAULT));
        assert_eq!(mapping.read(u64::MAX, &mut seen), Err(Errno::FAULT));
        let mut reader = Mapping::of(file.as_fd(), 10, false).unwrap();
        assert_eq!(reader.write(0, b"x"), Err(Errno::ACCESS));
        assert_eq!(Mapping::of(file.as_fd(), 0, false).err(), Some(Errno::INVAL));
    }
}
