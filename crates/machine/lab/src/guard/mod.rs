//! The guard: looks at a block device and says what stands against formatting it.
//!
//! What is in use (mounted, swap, held, open for writing) is never touched. What only lies on it
//! (a partition table, a known signature, any data in its first, middle or last MiB) is touched
//! when the user has named that device to be erased.

mod below;
mod content;
mod erase;
mod inspection;
mod signatures;
mod usage;

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use treering_sys::{DeviceUse, Errno, device_bytes, open_device};

use crate::LabError;
use crate::machine::{DeviceNumber, Machine, word};

pub(crate) use erase::{clear_signatures, erase};
pub use inspection::{Inspection, Obstacle};
pub use signatures::{Signature, find_signatures};

/// Probes of udev and its like have a device open for a moment only; this long we wait for them.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(100);

/// Devices that the user has named to be erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EraseList {
    named: Vec<PathBuf>,
}

impl EraseList {
    /// The devices with these paths and no others.
    pub fn new(named: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { named: named.into_iter().collect() }
    }

    /// Whether one of the paths leads to this very device: naming a disk does not name its
    /// partitions, nor the other way round.
    pub(crate) fn names(&self, resolved: &Path) -> bool {
        self.named.iter().any(|named| named.canonicalize().is_ok_and(|path| path == resolved))
    }
}

/// Looks at a device. Nothing is changed by it.
///
/// # Errors
/// When there is nothing at the path, or the device cannot be read: what cannot be looked at is not
/// formatted either.
pub fn inspect(path: &Path) -> Result<Inspection, LabError> {
    inspect_on(&Machine::default(), path)
}

pub(crate) fn inspect_on(machine: &Machine, path: &Path) -> Result<Inspection, LabError> {
    let resolved = path.canonicalize().map_err(LabError::io("cannot find", path))?;
    let metadata = resolved.metadata().map_err(LabError::io("cannot look at", &resolved))?;
    let number = DeviceNumber::from_stat(metadata.rdev());
    let mut inspection = Inspection {
        asked: path.to_owned(),
        resolved: resolved.clone(),
        number,
        bytes: 0,
        obstacles: Vec::new(),
    };
    if !metadata.file_type().is_block_device() {
        inspection.obstacles.push(Obstacle::NotABlockDevice);
        return Ok(inspection);
    }
    let failed = |errno: Errno| LabError::io("cannot open", &resolved)(errno.into());
    let device = match open_device(&resolved, DeviceUse::Look) {
        Ok(device) => device,
        Err(Errno::NOMEDIUM | Errno::NXIO) => {
            inspection.obstacles.push(Obstacle::Empty);
            return Ok(inspection);
        }
        Err(errno) => return Err(failed(errno)),
    };
    inspection.bytes = device_bytes(&device).map_err(failed)?;
    inspection.obstacles = obstacles_to_use(machine, &resolved, number)?;
    if inspection.bytes == 0 {
        inspection.obstacles.push(Obstacle::Empty);
        return Ok(inspection);
    }
    let folder = machine.block_folder(number);
    if folder.as_deref().and_then(|folder| word(&folder.join("ro"))).as_deref() == Some("1") {
        inspection.obstacles.push(Obstacle::ReadOnly);
    }
    let names = usage::partitions(machine, number).into_iter().map(|(name, _)| name);
    let names: Vec<_> = names.collect();
    if !names.is_empty() {
        inspection.obstacles.push(Obstacle::Partitions { names });
    }
    let found = what_it_carries(&device, inspection.bytes);
    inspection.obstacles.extend(found.map_err(LabError::io("cannot read", &resolved))?);
    Ok(inspection)
}

/// All known signatures on a device of so many bytes; without any, where its first data is.
///
/// # Errors
/// When the device cannot be read.
pub(crate) fn what_it_carries(device: &File, bytes: u64) -> io::Result<Vec<Obstacle>> {
    let known = find_signatures(device, bytes)?;
    if !known.is_empty() {
        return Ok(known.into_iter().map(Obstacle::Carries).collect());
    }
    let data = content::first_data(device, bytes)?;
    Ok(data.map(|offset| Obstacle::Data { offset }).into_iter().collect())
}

/// Who uses a device, waiting a moment for those that only look at it.
pub(crate) fn obstacles_to_use(
    machine: &Machine,
    resolved: &Path,
    number: DeviceNumber,
) -> Result<Vec<Obstacle>, LabError> {
    let mut waited = Duration::ZERO;
    loop {
        let mut obstacles = usage::users(machine, number)
            .map_err(LabError::io("cannot find out who uses", resolved))?;
        match open_device(resolved, DeviceUse::LookAlone) {
            Ok(_closed) => {}
            // Whoever it is has been named already.
            Err(Errno::BUSY) if obstacles.is_empty() => obstacles.push(Obstacle::Busy),
            Err(Errno::BUSY | Errno::NOMEDIUM | Errno::NXIO) => {}
            Err(errno) => return Err(LabError::io("cannot open", resolved)(errno.into())),
        }
        if waited >= PATIENCE || !obstacles.iter().any(Obstacle::is_fleeting) {
            return Ok(obstacles);
        }
        sleep(STEP);
        waited += STEP;
    }
}

#[cfg(test)]
mod tests {
    use super::{EraseList, Obstacle, inspect};
    use std::path::{Path, PathBuf};

    #[test]
    fn only_the_named_device_is_erased() {
        let top = tempfile::tempdir().unwrap();
        let disk = top.path().canonicalize().unwrap().join("sda");
        std::fs::write(&disk, "").unwrap();
        std::fs::write(top.path().join("sda1"), "").unwrap();
        std::os::unix::fs::symlink("sda", top.path().join("by-id")).unwrap();
        let list = |name: &str| EraseList::new([top.path().join(name)]);
        assert!(list("sda").names(&disk) && list("by-id").names(&disk));
        assert!(!list("sda1").names(&disk) && !list("gone").names(&disk));
        assert!(!EraseList::default().names(&disk));
        assert!(!EraseList::new([PathBuf::new()]).names(&disk));
    }

    #[test]
    fn what_is_no_block_device_is_refused() {
        for path in ["/dev/null", "/proc/self/stat", "/"] {
            let found = inspect(Path::new(path)).unwrap();
            assert_eq!(found.obstacles, [Obstacle::NotABlockDevice], "{path}");
            assert!(found.is_in_use());
        }
        assert!(inspect(Path::new("/dev/no/such/device")).is_err());
    }
}
