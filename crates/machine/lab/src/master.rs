//! Master copies of freshly formatted images, so that later trials start from identical bytes, with
//! the same UUID, hash seed and offsets. A master is a nameless file in the directory of the
//! images, which disappears with this process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, SeekFrom, copy_file_range, seek};
use rustix::io::Errno;
use treering_model::Fingerprint;

/// Size of a piece, the unit in which zeros are left out.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Copy of the content of an image.
#[derive(Debug)]
pub(crate) struct MasterImage {
    file: File,
}

impl MasterImage {
    /// Copies this image into a nameless file in its directory.
    pub(crate) fn copy_of(image: &File, directory: &Path) -> io::Result<Self> {
        let master = Self::empty(directory, image.metadata()?.len())?;
        copy(image, &master.file)?;
        Ok(master)
    }

    /// Makes a nameless sparse file of this size.
    pub(crate) fn empty(directory: &Path, bytes: u64) -> io::Result<Self> {
        let nameless = i32::try_from(OFlags::TMPFILE.bits()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600).custom_flags(nameless);
        let master = Self { file: options.open(directory)? };
        master.file.set_len(bytes)?;
        Ok(master)
    }

    /// Writes a piece at this offset.
    pub(crate) fn write_at(&self, piece: &[u8], place: u64) -> io::Result<()> {
        self.file.write_all_at(piece, place)
    }

    /// Writes the content into an empty image.
    pub(crate) fn write_to(&self, image: &File) -> io::Result<()> {
        copy(&self.file, image)
    }

    /// Adds all non-zero data, with offsets, to a fingerprint. Equal bytes have the same one,
    /// wherever the host has holes.
    pub(crate) fn print(&self, print: &mut Fingerprint) -> io::Result<()> {
        self.each_piece(&mut |place, piece| {
            print.add(&place.to_le_bytes());
            print.add(piece);
            Ok(())
        })
    }

    /// Passes all pieces with data to `each`, in order of their offsets, which are multiples of
    /// [`PIECE_BYTES`].
    pub(crate) fn each_piece(
        &self,
        each: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let bytes = self.file.metadata()?.len();
        let mut piece = vec![0; PIECE_BYTES];
        let mut from = 0;
        while let Some((begin, end)) = next_data(&self.file, from)? {
            from = begin - begin % PIECE_BYTES as u64;
            while from < end {
                let left = usize::try_from(bytes - from).unwrap_or(PIECE_BYTES);
                let piece = &mut piece[..left.min(PIECE_BYTES)];
                self.file.read_exact_at(piece, from)?;
                if piece.iter().any(|byte| *byte != 0) {
                    each(from, piece)?;
                }
                from += piece.len() as u64;
            }
        }
        Ok(())
    }
}

/// True if a file has only holes and unwritten blocks.
pub(crate) fn is_empty(image: &File) -> io::Result<bool> {
    Ok(next_data(image, 0)?.is_none())
}

/// Copies all data to the same offsets. Blocks are shared if the host's filesystem supports that.
fn copy(from: &File, to: &File) -> io::Result<()> {
    let mut at = 0;
    while let Some((begin, end)) = next_data(from, at)? {
        at = begin;
        while at < end {
            let length = usize::try_from(end - at).unwrap_or(usize::MAX);
            let (mut source, mut target) = (at, at);
            match copy_file_range(from, Some(&mut source), to, Some(&mut target), length)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                copied => at += copied as u64,
            }
        }
    }
    Ok(())
}

/// Next range of data at or after this offset, as (begin, end).
pub(crate) fn next_data(file: &File, from: u64) -> io::Result<Option<(u64, u64)>> {
    match seek(file, SeekFrom::Data(from)) {
        Ok(begin) => Ok(Some((begin, seek(file, SeekFrom::Hole(begin))?))),
        Err(Errno::NXIO) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::os::unix::fs::FileExt;

    use treering_model::Fingerprint;

    use super::{MasterImage, is_empty};

    #[test]
    fn a_master_copy_keeps_bytes_and_holes_and_has_no_name() {
        let top = tempfile::tempdir().unwrap();
        let image = |name: &str| -> File {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true);
            let file = file.open(top.path().join(name)).unwrap();
            file.set_len(64 << 20).unwrap();
            file
        };
        let (first, second) = (image("first"), image("second"));
        assert!(is_empty(&first).unwrap());
        for (place, text) in
            [(0, "superblock"), ((33 << 20) + 5, "journal"), ((64 << 20) - 3, "end")]
        {
            first.write_all_at(text.as_bytes(), place).unwrap();
        }
        assert!(!is_empty(&first).unwrap());
        let master = MasterImage::copy_of(&first, top.path()).unwrap();
        first.write_all_at(b"what a trial writes", 4096).unwrap();
        master.write_to(&second).unwrap();
        let restored = fs::read(top.path().join("second")).unwrap();
        let mut expected = fs::read(top.path().join("first")).unwrap();
        expected[4096..4096 + 19].fill(0);
        assert!(restored == expected);
        let print = |file: &File| {
            let mut print = Fingerprint::new();
            MasterImage::copy_of(file, top.path()).unwrap().print(&mut print).unwrap();
            print.text()
        };
        assert_ne!(print(&first), print(&second));
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 2);
    }
}
