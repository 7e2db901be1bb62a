//! Erases signatures from a device that the user has named with `--erase`, or from a lab image.
//!
//! Overwrites only the places by which a tool would find the old content: the first, middle and
//! last MiB, and each signature found, including backup superblocks.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use treering_sys::{
    DeviceOpenMode, Errno, delete_partition, device_bytes, open_device, reread_partitions,
};

use super::content::edges;
use super::{FormatObstacle, Inspection, find_signatures, obstacles_to_use, readers, usage};
use crate::machine::{DeviceNumber, KernelMounts};
use crate::{DeviceError, LabError};

/// Number of bytes erased around a signature, and size of one write.
const ERASED_BYTES: u64 = PIECE.len() as u64;
const PIECE: [u8; 4096] = [0; 4096];
/// Maximum number of passes over a device, since erasing a signature may reveal another one.
const PASSES_MAX: usize = 16;

/// Erases the content found by `inspection`, with the device opened exclusively.
///
/// # Errors
/// When the device is now in use, is no longer the inspected one, or still has partitions.
pub(crate) fn erase(machine: &KernelMounts, inspection: &Inspection) -> Result<(), LabError> {
    let path = &inspection.resolved;
    let failed = |errno: Errno| LabError::io("cannot open to erase", path)(errno.into());
    let mut users = obstacles_to_use(machine, path, inspection.number)?;
    users.extend(readers(machine, inspection.number));
    if !users.is_empty() {
        let refused = Inspection { obstacles: users, ..inspection.clone() };
        return Err(DeviceError::Refused(refused).into());
    }
    let device = open_device(path, DeviceOpenMode::WriteAlone).map_err(failed)?;
    let metadata = device.metadata().map_err(LabError::io("cannot look at", path))?;
    let is_same = DeviceNumber::from_stat(metadata.rdev()) == inspection.number
        && device_bytes(&device) == Ok(inspection.bytes);
    if !is_same {
        let why = "it is not the device that was inspected".to_owned();
        return Err(DeviceError::NotOurs { what: path.display().to_string(), why }.into());
    }
    let users = usage::users(machine, inspection.number)
        .map_err(LabError::io("cannot find out who uses", path))?;
    // `users` does not count the descriptor of this process, which is open for writing.
    if !users.is_empty() {
        let refused = Inspection { obstacles: users, ..inspection.clone() };
        return Err(DeviceError::Refused(refused).into());
    }
    clear_signatures(&device, inspection.bytes).map_err(LabError::io("cannot erase", path))?;
    match reread_partitions(&device) {
        // A device without partition support has no partitions to reread.
        Ok(()) | Err(Errno::INVAL | Errno::NOTTY) => {}
        Err(errno) => {
            return Err(LabError::io("cannot read the partitions of", path)(errno.into()));
        }
    }
    // The kernel rereads the partitions of a loop device only if it was attached with partition
    // scanning.
    for number in usage::partition_numbers(machine, inspection.number) {
        let _seen_below = delete_partition(&device, number);
    }
    let remaining = usage::partitions(machine, inspection.number);
    if remaining.is_empty() {
        return Ok(());
    }
    let names = remaining.into_iter().map(|(name, _)| name).collect();
    let obstacles = vec![FormatObstacle::Partitions { names }];
    Err(DeviceError::Refused(Inspection { obstacles, ..inspection.clone() }).into())
}

/// Overwrites the first, middle and last MiB and all recognised signatures with zeroes, until no
/// signature is left.
///
/// # Errors
/// When a write fails, or signatures remain after the last pass.
pub(crate) fn clear_signatures(device: &File, bytes: u64) -> io::Result<()> {
    for place in edges(bytes) {
        zero(device, bytes, place.start, place.end - place.start)?;
    }
    for _ in 0..PASSES_MAX {
        let signatures = find_signatures(device, bytes)?;
        if signatures.is_empty() {
            return device.sync_all();
        }
        for signature in signatures {
            zero(device, bytes, signature.offset & !(ERASED_BYTES - 1), ERASED_BYTES)?;
        }
    }
    let signatures = find_signatures(device, bytes)?;
    match signatures.first() {
        None => device.sync_all(),
        Some(left) => Err(io::Error::other(format!("it still contains {left}"))),
    }
}

/// Writes `length` zeroes at `begin`, but not beyond the end of the device.
fn zero(device: &File, bytes: u64, begin: u64, length: u64) -> io::Result<()> {
    let end = begin.saturating_add(length).min(bytes);
    let mut at = begin;
    while at < end {
        let length = usize::try_from(end - at).unwrap_or(PIECE.len()).min(PIECE.len());
        device.write_all_at(&PIECE[..length], at)?;
        at += length as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::clear_signatures;
    use crate::guard::content::{SearchDepth, search};
    use crate::guard::find_signatures;
    use std::os::unix::fs::FileExt;

    #[test]
    fn erasing_clears_signatures_and_copies_and_leaves_other_data() {
        let file = tempfile::tempfile().unwrap();
        let bytes = (80 << 20) + 512;
        file.set_len(bytes).unwrap();
        let elsewhere = (64 << 20) + 0x10_0000;
        for (at, word) in [
            (0, &b"LUKS\xba\xbe"[..]),
            (0x40_0000, b"SKUL\xba\xbe"),
            (0x20_0000, &[0x5e, 0xf1, 0xab, 0x2f]),
            ((64 << 20) + 64, b"_BHRfS_M"),
            (elsewhere, b"left alone"),
            (bytes / 2, b"not left alone"),
            (bytes - 512, b"EFI PART"),
        ] {
            file.write_all_at(word, at).unwrap();
        }
        assert_eq!(find_signatures(&file, bytes).unwrap().len(), 5);
        clear_signatures(&file, bytes).unwrap();
        assert_eq!(find_signatures(&file, bytes).unwrap(), []);
        let result = search(&file, bytes, SearchDepth::Glance, None).unwrap();
        assert_eq!(result.first, None);
        let mut copy = [1; 80];
        file.read_exact_at(&mut copy, 64 << 20).unwrap();
        assert_eq!(copy, [0; 80]);
        let mut tail = [0; 10];
        file.read_exact_at(&mut tail, elsewhere).unwrap();
        assert_eq!(&tail, b"left alone");
    }

    #[test]
    fn a_tiny_device_is_cleared_completely() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[0xff; 1000], 0).unwrap();
        clear_signatures(&file, 1000).unwrap();
        let mut content = vec![1; 1000];
        file.read_exact_at(&mut content, 0).unwrap();
        assert_eq!(content, vec![0; 1000]);
        assert_eq!(file.metadata().unwrap().len(), 1000);
    }
}
