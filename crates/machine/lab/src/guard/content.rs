//! Whether a device is empty where data usually is: its first, middle and last MiB.
//!
//! No list of signatures is complete: raw databases, archives, virtual disks and filesystems that
//! lost their first superblock carry none. So what is not zero in these places counts as data of
//! somebody. A device whose discarded blocks do not read as zeroes is taken for one in use, too.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes of each place.
const PLACE: u64 = 1 << 20;
/// Bytes of one read.
const PIECE: usize = 64 << 10;
/// The middle begins at a multiple of this, which no sector is larger than.
const ALIGNED: u64 = 4096;

/// The places of a device of so many bytes, in order, none overlapping another: all of it when it
/// is no larger than three MiB.
pub(super) fn places(bytes: u64) -> Vec<Range<u64>> {
    if bytes <= 3 * PLACE {
        return std::iter::once(0..bytes).collect();
    }
    let middle = (bytes / 2 - PLACE / 2) & !(ALIGNED - 1);
    let last = bytes - PLACE;
    vec![0..PLACE, middle..(middle + PLACE).min(last), last..bytes]
}

/// Where the first byte stands in these places that is not zero; `None` when all are.
///
/// # Errors
/// When the device cannot be read there.
pub(super) fn first_data(device: &File, bytes: u64) -> io::Result<Option<u64>> {
    let mut piece = vec![0; PIECE];
    for place in places(bytes) {
        let mut at = place.start;
        while at < place.end {
            let length = usize::try_from(place.end - at).unwrap_or(PIECE).min(PIECE);
            device.read_exact_at(&mut piece[..length], at)?;
            if let Some(first) = piece[..length].iter().position(|&byte| byte != 0) {
                return Ok(Some(at + first as u64));
            }
            at += length as u64;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{first_data, places};
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_places_lie_within_the_device_and_do_not_overlap() {
        assert_eq!(places(0), vec![std::ops::Range { start: 0, end: 0 }]);
        assert_eq!(places(3 * MIB), vec![std::ops::Range { start: 0, end: 3 * MIB }]);
        for bytes in [3 * MIB + 1, 3 * MIB + 512, 4 * MIB - 1, 80 * MIB + 513, 1 << 50] {
            let places = places(bytes);
            assert_eq!((places[0].clone(), places[2].clone()), (0..MIB, bytes - MIB..bytes));
            assert!(places[1].start >= MIB && places[1].end <= bytes - MIB, "{bytes}");
            assert!(
                places[1].contains(&(bytes / 2)) && places[1].start.is_multiple_of(4096),
                "{bytes}"
            );
        }
    }

    #[test]
    fn one_byte_in_any_of_the_places_is_found() {
        for bytes in [1, 511, 4096, MIB, 3 * MIB - 1, 3 * MIB + 1, 9 * MIB + 512] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(bytes).unwrap();
            assert_eq!(first_data(&file, bytes).unwrap(), None, "{bytes}");
            for at in [bytes - 1, bytes / 2, 0] {
                file.write_all_at(&[7], at).unwrap();
                assert_eq!(first_data(&file, bytes).unwrap(), Some(at), "{bytes}");
            }
        }
    }

    #[test]
    fn a_device_that_ends_too_early_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(MIB).unwrap();
        assert!(first_data(&file, 8 * MIB).is_err());
    }
}
