//! Memory-mapped files (`mmap`), copied from and to without system calls.
//!
//! If the file becomes shorter than the mapping, or the filesystem has no space for a page on its
//! first write, the kernel ends the process with `SIGBUS`.
#![expect(unsafe_code, reason = "memory that others may change at any time")]

use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync, munmap};

/// A MAP_SHARED mapping of the first `length` bytes of a file.
#[derive(Debug)]
pub struct FileMapping {
    at: NonNull<u8>,
    length: usize,
    writes: bool,
}

// SAFETY: accessed only by copies of bytes through its owner.
unsafe impl Send for FileMapping {}

impl FileMapping {
    /// Maps `length` bytes, read-only or writable.
    ///
    /// # Errors
    /// `EINVAL` for a length of 0, else as `mmap`.
    pub fn new(file: BorrowedFd<'_>, length: usize, writes: bool) -> Result<Self, Errno> {
        let write = if writes { ProtFlags::WRITE } else { ProtFlags::empty() };
        let (protection, flags) = (ProtFlags::READ | write, MapFlags::SHARED);
        // SAFETY: the kernel chooses the address of the new mapping.
        let at = unsafe { mmap(ptr::null_mut(), length, protection, flags, file, 0) }?;
        let at = NonNull::new(at.cast::<u8>()).ok_or(Errno::NOMEM)?;
        Ok(Self { at, length, writes })
    }

    /// Length in bytes.
    pub const fn length(&self) -> usize {
        self.length
    }

    /// Sets the access pattern of the mapping: random or sequential.
    ///
    /// # Errors
    /// As `madvise`.
    pub fn advise(&self, random: bool) -> Result<(), Errno> {
        let advice = if random { Advice::Random } else { Advice::Sequential };
        // SAFETY: covers exactly this mapping; the advice affects read-ahead only, not the content.
        unsafe { madvise(self.at.as_ptr().cast(), self.length, advice) }
    }

    /// Address of `bytes` bytes at `position`; `EFAULT` beyond the mapping.
    fn place(&self, position: u64, bytes: usize) -> Result<*mut u8, Errno> {
        let start = usize::try_from(position).map_err(|_beyond| Errno::FAULT)?;
        let end = start.checked_add(bytes).ok_or(Errno::FAULT)?;
        if end > self.length {
            return Err(Errno::FAULT);
        }
        // SAFETY: checked to be within the mapping.
        Ok(unsafe { self.at.as_ptr().add(start) })
    }

    /// Copies from the mapping.
    ///
    /// # Errors
    /// `EFAULT` beyond the mapping.
    pub fn read(&self, position: u64, into: &mut [u8]) -> Result<(), Errno> {
        let from = self.place(position, into.len())?;
        // SAFETY: the source is within the mapping, and the buffer does not overlap it. Concurrent
        // writers can change the bytes, but every byte value is valid.
        unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies to the mapping.
    ///
    /// # Errors
    /// `EFAULT` beyond the mapping, `EACCES` for a read-only mapping.
    pub fn write(&mut self, position: u64, from: &[u8]) -> Result<(), Errno> {
        if !self.writes {
            return Err(Errno::ACCESS);
        }
        let into = self.place(position, from.len())?;
        // SAFETY: as in `read`, and the mapping is writable.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), into, from.len()) };
        Ok(())
    }

    /// Waits until written data is on disk.
    ///
    /// # Errors
    /// As `msync`.
    pub fn sync(&self) -> Result<(), Errno> {
        // SAFETY: covers exactly this mapping; memory is not modified.
        unsafe { msync(self.at.as_ptr().cast(), self.length, MsyncFlags::SYNC) }
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no reference to it is left.
        let _it_was_mapped = unsafe { munmap(self.at.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::io::Errno;

    use super::FileMapping;

    #[test]
    fn copies_are_confined_to_the_mapping() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10_000).unwrap();
        let mut mapping = FileMapping::new(file.as_fd(), 10_000, true).unwrap();
        mapping.advise(true).unwrap();
        mapping.advise(false).unwrap();
        mapping.write(9_990, b"0123456789").unwrap();
        mapping.sync().unwrap();
        let mut seen = [0; 4];
        FileMapping::new(file.as_fd(), 10_000, false).unwrap().read(9_996, &mut seen).unwrap();
        assert_eq!(&seen, b"6789");
        assert_eq!(mapping.write(9_991, b"0123456789"), Err(Errno::FAULT));
        assert_eq!(mapping.read(u64::MAX, &mut seen), Err(Errno::FAULT));
        let mut reader = FileMapping::new(file.as_fd(), 10, false).unwrap();
        assert_eq!(reader.write(0, b"x"), Err(Errno::ACCESS));
        assert_eq!(FileMapping::new(file.as_fd(), 0, false).err(), Some(Errno::INVAL));
    }
}
