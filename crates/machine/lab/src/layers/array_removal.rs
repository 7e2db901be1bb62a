//! Stops md arrays by the recorded number, and only if the disks and the sequence number of the
//! device are the recorded ones.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use treering_sys::{DeviceOpenMode, Errno, open_device, stop_array};

use crate::machine::{KernelMounts, names, word};
use crate::register::RecordedArray;
use crate::{DeviceError, LabError};

/// Longest wait for a program that has an array open for a moment, and for the device to disappear.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(20);

/// Stops the array of a record. A missing array is no error; an array with other disks, or made
/// later, is not stopped.
pub(crate) fn free_array(machine: &KernelMounts, array: &RecordedArray) -> Result<(), LabError> {
    let name = format!("md{}", array.number);
    let folder = machine.sys.join("block").join(&name);
    let node = Path::new("/dev").join(&name);
    let failed = |errno: Errno| LabError::io("cannot stop the array", &node)(errno.into());
    let mut waited = Duration::ZERO;
    let mut is_stopped = false;
    while folder.exists() {
        if !is_stopped {
            if let Some(why) = why_not_ours(array, &folder) {
                return Err(DeviceError::NotOurs { what: name, why }.into());
            }
            let stopped = open_device(&node, DeviceOpenMode::Look).and_then(stop_array);
            is_stopped = match stopped {
                Ok(()) => true,
                // The device is in use, or has disappeared in the meantime.
                Err(Errno::BUSY | Errno::NOENT | Errno::NODEV | Errno::NXIO) => false,
                Err(errno) => return Err(failed(errno)),
            };
        }
        if waited >= PATIENCE {
            let holders = names(&folder.join("holders"));
            let unknown = || vec!["a program that has it open".to_owned()];
            let by = if holders.is_empty() { unknown() } else { holders };
            return Err(DeviceError::StillUsed { what: name, by }.into());
        }
        sleep(STEP);
        waited += STEP;
    }
    Ok(())
}

/// Difference between an array that exists and a recorded one, if any: another sequence number, or
/// another disk.
fn why_not_ours(array: &RecordedArray, folder: &Path) -> Option<String> {
    let present = sequence(folder);
    if array.sequence.is_some() && present != array.sequence {
        return Some("it was made later than the recorded array".to_owned());
    }
    let slaves = folder.join("slaves");
    let strange = names(&slaves).into_iter().find(|disk| {
        let number = word(&slaves.join(disk).join("dev")).and_then(|text| text.parse().ok());
        number.is_none_or(|number| !array.disks.contains(&number))
    });
    strange.map(|disk| format!("{disk} is no disk of the array that was made"))
}

/// Disk sequence number of a block device, if the kernel reports it (since Linux 5.15).
pub(super) fn sequence(folder: &Path) -> Option<u64> {
    word(&folder.join("diskseq"))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::why_not_ours;
    use crate::machine::DeviceNumber;
    use crate::register::RecordedArray;
    use std::fs;

    #[test]
    fn arrays_of_others_are_recognised_by_their_disks_and_their_sequence() {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("slaves/loop0");
        fs::create_dir_all(&disk).unwrap();
        fs::write(disk.join("dev"), "7:0\n").unwrap();
        fs::write(folder.path().join("diskseq"), "40\n").unwrap();
        let disks = vec![DeviceNumber { major: 7, minor: 0 }, DeviceNumber { major: 7, minor: 1 }];
        let ours = RecordedArray { level: 1, number: 127, disks, sequence: Some(40) };
        assert_eq!(why_not_ours(&ours, folder.path()), None);
        let later = RecordedArray { sequence: Some(39), ..ours.clone() };
        assert!(why_not_ours(&later, folder.path()).unwrap().contains("made later"));
        let unnumbered = RecordedArray { sequence: None, ..ours };
        assert_eq!(why_not_ours(&unnumbered, folder.path()), None);
        let strange = RecordedArray { disks: Vec::new(), ..unnumbered };
        assert!(why_not_ours(&strange, folder.path()).unwrap().contains("loop0 is no disk"));
    }
}
