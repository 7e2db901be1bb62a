//! Restores a saved image to a block device. Blocks absent from the image must be zero: the device
//! is emptied first, or, if that is not supported, read and zeroed where needed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use treering_sys::{DeviceOpenMode, open_device};

use super::library::SavedImage;
use crate::LabError;

/// Size of a read, and of a write of zeros, in bytes.
const PIECE_BYTES: usize = 1 << 20;

impl SavedImage {
    /// Writes the image to an acquired, unused device that is large enough.
    ///
    /// # Errors
    /// When the device cannot be written, or the image is damaged.
    pub(crate) fn write_to_device(&self, node: &Path) -> Result<(), LabError> {
        let failed = || LabError::io("cannot write", node);
        let device = open_device(node, DeviceOpenMode::WriteAlone)
            .map_err(|errno| LabError::io("cannot open", node)(errno.into()))?;
        let bytes = self.record.device_bytes;
        let mut gaps =
            ImageGaps { device: &device, is_emptied: empty(&device, bytes), position: 0 };
        self.unpack(&mut |place, piece| {
            gaps.zero_up_to(place)?;
            device.write_all_at(piece, place)?;
            gaps.position = place + piece.len() as u64;
            Ok(())
        })?;
        gaps.zero_up_to(bytes).map_err(failed())?;
        device.sync_all().map_err(failed())
    }
}

/// Makes a whole device read as zeros without writing them. The kernel guarantees zeros for a
/// punched hole on a block device, but not after a discard.
fn empty(device: &File, bytes: u64) -> bool {
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(device, hole, 0, bytes).is_ok()
}

/// Ranges between the pieces of an image, which must read as zeros.
struct ImageGaps<'d> {
    device: &'d File,
    is_emptied: bool,
    /// Offset up to which the device has its final content.
    position: u64,
}

impl ImageGaps<'_> {
    /// Zeroes the non-zero parts of the range up to `end`.
    fn zero_up_to(&mut self, end: u64) -> io::Result<()> {
        if self.is_emptied {
            return Ok(());
        }
        let (mut present, zeros) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
        while self.position < end {
            let left = usize::try_from(end - self.position).unwrap_or(PIECE_BYTES);
            let length = left.min(PIECE_BYTES);
            self.device.read_exact_at(&mut present[..length], self.position)?;
            if present[..length] != zeros[..length] {
                self.device.write_all_at(&zeros[..length], self.position)?;
            }
            self.position += length as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;

    use super::{ImageGaps, PIECE_BYTES};

    #[test]
    fn gaps_between_pieces_are_zeroed_on_a_device_that_cannot_be_emptied() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("device");
        fs::write(&path, vec![7; 3 * PIECE_BYTES]).unwrap();
        let device = File::options().read(true).write(true).open(&path).unwrap();
        let mut gaps = ImageGaps { device: &device, is_emptied: false, position: 0 };
        gaps.zero_up_to(10).unwrap();
        device.write_all_at(b"piece", 10).unwrap();
        gaps.position = 15;
        gaps.zero_up_to(2 * PIECE_BYTES as u64 + 5).unwrap();
        let mut expected = vec![7; 3 * PIECE_BYTES];
        expected[..2 * PIECE_BYTES + 5].fill(0);
        expected[10..15].copy_from_slice(b"piece");
        assert!(fs::read(&path).unwrap() == expected);
    }
}
