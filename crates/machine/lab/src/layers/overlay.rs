//! Overlayfs above a mounted filesystem, with all of its directories on that filesystem.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use treering_model::OverlayLayer;
use treering_model::filesystems::OVERLAY;
use treering_sys::{MountOptions, MountTable, explain_mount, mount};

use crate::machine::DeviceNumber;
use crate::register::{OwnedRecord, RecordId, ResourceKind, mounted_line};
use crate::release::{ExpectedMount, free_mount};
use crate::{DeviceError, Lab, LabError};

/// Name of the lower directory.
const LOWER: &str = "lower";
/// Directories on the lower filesystem, as (option of overlayfs, name).
const DIRECTORIES: [(&str, &str); 3] =
    [("lowerdir", LOWER), ("upperdir", "upper"), ("workdir", "work")];
/// Mark in the work directory that a `volatile` overlay leaves; the next mount refuses it, since
/// data may have been lost.
const VOLATILE_MARK: &str = "work/incompat";

/// Overlayfs that is mounted above a filesystem.
#[derive(Debug)]
pub(crate) struct OverlayMount {
    lab: Lab,
    layer: OverlayLayer,
    /// Root of the filesystem below.
    lower: PathBuf,
    root: PathBuf,
    /// Device number of the mount.
    number: Option<DeviceNumber>,
    /// Record of the mount; `None` after the unmount.
    record: Option<OwnedRecord>,
}

/// Refuses options that name directories, since the lab sets these.
///
/// # Errors
/// When an option is refused.
pub(super) fn check_options(layer: &OverlayLayer) -> Result<(), LabError> {
    MountOptions::parse(&layer.mount).map_err(DeviceError::MountOption)?;
    for option in layer.mount.iter().flat_map(|options| options.split(',')) {
        if option.contains('/') || DIRECTORIES.iter().any(|(name, _)| option.starts_with(name)) {
            let why = "the directories of an overlay are on the variant's filesystem".to_owned();
            return Err(DeviceError::OptionRefused { option: option.to_owned(), why }.into());
        }
    }
    Ok(())
}

/// Makes the directory that will be the lower one of an overlay, if it is missing.
///
/// # Errors
/// When it cannot be made.
pub(super) fn lower_directory(root: &Path) -> Result<PathBuf, LabError> {
    make_directory(root, LOWER)
}

/// Makes a directory of an overlay in the root of the filesystem, if it is missing.
fn make_directory(root: &Path, name: &str) -> Result<PathBuf, LabError> {
    let folder = root.join(name);
    match DirBuilder::new().mode(0o755).create(&folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.map_err(LabError::io("cannot make", &folder))?,
    }
    Ok(folder)
}

impl OverlayMount {
    /// Mounts an overlay with its directories in `lower`, making missing ones.
    pub(crate) fn new(lab: &Lab, layer: OverlayLayer, lower: &Path) -> Result<Self, LabError> {
        check_options(&layer)?;
        let mut options = Vec::new();
        for (option, name) in DIRECTORIES {
            let folder = make_directory(lower, name)?;
            let text = folder.to_string_lossy().into_owned();
            if text.contains([',', ':', '\\', '"']) {
                let why = "overlayfs takes no such path".to_owned();
                return Err(DeviceError::OptionRefused { option: text, why }.into());
            }
            options.push(format!("{option}={text}"));
        }
        options.extend(layer.mount.iter().cloned());
        let parsed = MountOptions::parse(&options).map_err(DeviceError::MountOption)?;
        let kind = |_: &RecordId| ResourceKind::Mount {
            fs_type: OVERLAY.to_owned(),
            devices: Vec::new(),
            mounted: None,
        };
        let record = lab.register.record(&lab.machine, kind)?;
        let root = lab.register.mount_point(record.id());
        let source = record.id().mark();
        let (lab, lower) = (lab.clone(), lower.to_owned());
        let mut made = Self { lab, layer, lower, root, number: None, record: Some(record) };
        let point = DirBuilder::new().mode(0o700).create(&made.root);
        point.map_err(LabError::io("cannot make the mount point", &made.root))?;
        if let Err(errno) = mount(source.as_ref(), &made.root, OVERLAY, &parsed) {
            let words = explain_mount(source.as_ref(), OVERLAY, &parsed);
            let words = words.map(|words| format!(": {words}")).unwrap_or_default();
            let (mount_source, options) = (made.lower.clone(), options.join(","));
            let (fs_type, why) = (OVERLAY, format!("{errno}{words}"));
            return Err(DeviceError::Mount { mount_source, fs_type, options, why }.into());
        }
        made.record_number()?;
        Ok(made)
    }

    /// Mount point of the overlay.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Layer that is mounted.
    pub(crate) fn layer(&self) -> &OverlayLayer {
        &self.layer
    }

    /// Unmounts the overlay. On failure it stays in the register.
    pub(crate) fn release(mut self) -> Result<(), LabError> {
        self.unmount()
    }

    fn unmount(&mut self) -> Result<(), LabError> {
        let Some(record) = self.record.take() else { return Ok(()) };
        let ours = ExpectedMount {
            id: record.id(),
            point: &self.root,
            fs_type: OVERLAY,
            devices: &[],
            mounted: self.number,
        };
        free_mount(&self.lab.machine, &ours)?;
        record.remove()?;
        let mark = self.lower.join(DIRECTORIES[2].1).join(VOLATILE_MARK);
        match fs::remove_dir_all(&mark) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(LabError::io("cannot remove", mark)(error))
            }
            _ => Ok(()),
        }
    }

    /// Records the device number of the mount in the register.
    fn record_number(&mut self) -> Result<(), LabError> {
        let root = File::open(&self.root).map_err(LabError::io("cannot open", &self.root))?;
        let table = MountTable::read();
        let table = table.map_err(LabError::io("cannot read", "/proc/self/mountinfo"))?;
        let number = table
            .mount_of(&root)
            .map(|mount| DeviceNumber { major: mount.device.0, minor: mount.device.1 });
        self.number = number;
        match (&mut self.record, number) {
            (Some(record), Some(number)) => record.append(&mounted_line(number)),
            _ => Ok(()),
        }
    }
}

impl Drop for OverlayMount {
    fn drop(&mut self) {
        // An overlay that cannot be unmounted stays in the register.
        let _in_the_register = self.unmount();
    }
}
