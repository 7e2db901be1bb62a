//! The guard: inspects a block device and lists the obstacles to formatting it.
//!
//! A device in use (mounted, swap, held, open for writing) is never changed. A device with content
//! (a partition table, a known signature or a backup of one, any data) is erased only if the user
//! has named it with `--erase` and no program reads from it.

mod backing;
mod below;
mod content;
mod erase;
mod inspection;
mod signatures;
mod usage;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use treering_sys::{DeviceOpenMode, Errno, device_bytes, forget, open_device};

use crate::LabError;
use crate::machine::{DeviceNumber, KernelMounts, word};

pub use content::SearchCoverage;
pub(crate) use content::SearchDepth;
pub(crate) use erase::{clear_signatures, erase};
pub use inspection::{FormatObstacle, Inspection};
pub use signatures::{DeviceSignature, find_signatures};

/// Longest wait for programs that have a device open for a moment, such as probes of udev.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(100);

/// Devices that the user has named with `--erase`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EraseList {
    named: Vec<PathBuf>,
}

impl EraseList {
    /// Erase list of exactly these paths.
    pub fn new(named: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { named: named.into_iter().collect() }
    }

    /// True if one of the paths leads to exactly this device. Naming a disk does not name its
    /// partitions, or vice versa.
    pub(crate) fn names(&self, resolved: &Path) -> bool {
        self.named.iter().any(|named| named.canonicalize().is_ok_and(|path| path == resolved))
    }
}

/// Inspects a device without changing it.
///
/// # Errors
/// When the path does not exist, or the device cannot be read.
pub fn inspect(path: &Path) -> Result<Inspection, LabError> {
    inspect_on(&KernelMounts::default(), path)
}

/// Inspects a device, reading only its first, middle and last MiB and the offsets of signatures.
/// The result does not prove that the device is empty.
///
/// # Errors
/// As for [`inspect`].
pub(crate) fn glance(path: &Path) -> Result<Inspection, LabError> {
    inspection(&KernelMounts::default(), path, SearchDepth::Glance)
}

pub(crate) fn inspect_on(machine: &KernelMounts, path: &Path) -> Result<Inspection, LabError> {
    inspection(machine, path, SearchDepth::Full)
}

fn inspection(
    machine: &KernelMounts,
    path: &Path,
    depth: SearchDepth,
) -> Result<Inspection, LabError> {
    let resolved = path.canonicalize().map_err(LabError::io("cannot find", path))?;
    let metadata = resolved.metadata().map_err(LabError::io("cannot look at", &resolved))?;
    let number = DeviceNumber::from_stat(metadata.rdev());
    let mut inspection = Inspection {
        asked_path: path.to_owned(),
        resolved: resolved.clone(),
        number,
        bytes: 0,
        obstacles: Vec::new(),
        coverage: None,
    };
    if !metadata.file_type().is_block_device() {
        inspection.obstacles.push(FormatObstacle::NotABlockDevice);
        return Ok(inspection);
    }
    let failed = |errno: Errno| LabError::io("cannot open", &resolved)(errno.into());
    let device = match open_device(&resolved, DeviceOpenMode::Look) {
        Ok(device) => device,
        Err(Errno::NOMEDIUM | Errno::NXIO) => {
            inspection.obstacles.push(FormatObstacle::Empty);
            return Ok(inspection);
        }
        Err(errno) => return Err(failed(errno)),
    };
    inspection.bytes = device_bytes(&device).map_err(failed)?;
    inspection.obstacles = obstacles_to_use(machine, &resolved, number)?;
    if inspection.bytes == 0 {
        inspection.obstacles.push(FormatObstacle::Empty);
        return Ok(inspection);
    }
    let folder = machine.block_folder(number);
    if folder.as_deref().and_then(|folder| word(&folder.join("ro"))).as_deref() == Some("1") {
        inspection.obstacles.push(FormatObstacle::ReadOnly);
    }
    // A device in use is refused anyway; reading all of it would only disturb its users.
    let depth = if inspection.is_in_use() { SearchDepth::Glance } else { depth };
    let unusable = inspection.obstacles.len();
    let carried = content_of(machine, number, (&device, inspection.bytes), depth)
        .map_err(LabError::io("cannot read", &resolved))?;
    let names = usage::partitions(machine, number).into_iter().map(|(name, _)| name);
    let names: Vec<_> = names.collect();
    if !names.is_empty() {
        let is_loop = folder.is_some_and(|folder| folder.join("loop/backing_file").exists());
        let is_leftover = is_loop && !carried.has_partition_table();
        inspection.obstacles.push(if is_leftover {
            FormatObstacle::LeftoverPartitions { names }
        } else {
            FormatObstacle::Partitions { names }
        });
    }
    inspection.obstacles.extend(carried.obstacles);
    inspection.coverage = carried.coverage;
    // Readers matter only if the device has content to lose.
    if inspection.obstacles.len() > unusable {
        inspection.obstacles.extend(readers(machine, number));
    }
    Ok(inspection)
}

/// Content of a device: signatures or data.
#[derive(Debug)]
pub(crate) struct ProbedContent {
    /// All known signatures; if there are none, the first byte of data.
    pub(crate) obstacles: Vec<FormatObstacle>,
    coverage: Option<SearchCoverage>,
}

impl ProbedContent {
    fn has_partition_table(&self) -> bool {
        self.obstacles.iter().any(|obstacle| match obstacle {
            FormatObstacle::Carries(signature) => signature.is_partition_table(),
            _ => false,
        })
    }
}

/// Searches a device of `bytes` for all known signatures, and if there are none, for data.
///
/// # Errors
/// When the device cannot be read.
pub(crate) fn content_of(
    machine: &KernelMounts,
    number: DeviceNumber,
    (device, bytes): (&File, u64),
    depth: SearchDepth,
) -> io::Result<ProbedContent> {
    if depth == SearchDepth::Full {
        // While a loop device is open, its page cache may differ from the backing file.
        let _only_advice = forget(device.as_fd(), 0, 0);
    }
    let signatures = find_signatures(device, bytes)?;
    if !signatures.is_empty() {
        let obstacles = signatures.into_iter().map(FormatObstacle::Carries).collect();
        return Ok(ProbedContent { obstacles, coverage: None });
    }
    let extents = match depth {
        SearchDepth::Full => backing::extents(machine, number, device, bytes)?,
        SearchDepth::Glance => None,
    };
    let result = content::search(device, bytes, depth, extents)?;
    let data = result.first.map(|offset| FormatObstacle::Data { offset });
    Ok(ProbedContent { obstacles: data.into_iter().collect(), coverage: Some(result.coverage) })
}

/// Programs that have a device open for reading, after waiting for programs that only probe it.
pub(crate) fn readers(machine: &KernelMounts, number: DeviceNumber) -> Vec<FormatObstacle> {
    let mut waited = Duration::ZERO;
    loop {
        let readers = usage::readers(machine, number);
        if readers.is_empty() || waited >= PATIENCE {
            return readers;
        }
        sleep(STEP);
        waited += STEP;
    }
}

/// Reasons not to write to a block device, regardless of its content: it is mounted, used as swap,
/// part of another device, or read-only. Programs that have it open are no reason, since several
/// load generators may share a device.
///
/// # Errors
/// When there is no block device at the path, or its users cannot be determined.
pub fn obstacles_to_writing(path: &Path) -> Result<Vec<FormatObstacle>, LabError> {
    let machine = KernelMounts::default();
    let resolved = path.canonicalize().map_err(LabError::io("cannot find", path))?;
    let metadata = resolved.metadata().map_err(LabError::io("cannot look at", &resolved))?;
    if !metadata.file_type().is_block_device() {
        return Ok(vec![FormatObstacle::NotABlockDevice]);
    }
    let number = DeviceNumber::from_stat(metadata.rdev());
    let users = usage::users(&machine, number)
        .map_err(LabError::io("cannot find out who uses", &resolved))?;
    let mut obstacles: Vec<FormatObstacle> =
        users.into_iter().filter(|user| !user.is_fleeting()).collect();
    let is_free = obstacles.is_empty();
    if is_free && matches!(open_device(&resolved, DeviceOpenMode::LookAlone), Err(Errno::BUSY)) {
        obstacles.push(FormatObstacle::Busy);
    }
    Ok(obstacles)
}

/// Users of a device, after waiting for programs that only probe it.
pub(crate) fn obstacles_to_use(
    machine: &KernelMounts,
    resolved: &Path,
    number: DeviceNumber,
) -> Result<Vec<FormatObstacle>, LabError> {
    let mut waited = Duration::ZERO;
    loop {
        let mut obstacles = usage::users(machine, number)
            .map_err(LabError::io("cannot find out who uses", resolved))?;
        match open_device(resolved, DeviceOpenMode::LookAlone) {
            Ok(_closed) => {}
            // `BUSY` counts only if no user was found that explains it.
            Err(Errno::BUSY) if obstacles.is_empty() => obstacles.push(FormatObstacle::Busy),
            Err(Errno::BUSY | Errno::NOMEDIUM | Errno::NXIO) => {}
            Err(errno) => return Err(LabError::io("cannot open", resolved)(errno.into())),
        }
        if waited >= PATIENCE || !obstacles.iter().any(FormatObstacle::is_fleeting) {
            return Ok(obstacles);
        }
        sleep(STEP);
        waited += STEP;
    }
}

#[cfg(test)]
mod tests {
    use super::{EraseList, FormatObstacle, inspect};
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
    fn paths_to_other_files_are_refused() {
        for path in ["/dev/null", "/proc/self/stat", "/"] {
            let inspection = inspect(Path::new(path)).unwrap();
            assert_eq!(inspection.obstacles, [FormatObstacle::NotABlockDevice], "{path}");
            assert!(inspection.is_in_use());
        }
        assert!(inspect(Path::new("/dev/no/such/device")).is_err());
    }
}
