//! Formatted and mounted devices: mkfs, mount, cold remount, release.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use treering_model::filesystems::Filesystem;
use treering_sys::{MountOptions, MountTable, explain_mount, mount};

use crate::aged::SavedImage;
use crate::device::{
    AcquiredStorage, LabDevice, check_device_count, check_size, find_filesystem, refused_option,
    require_available,
};
use crate::error::unfit;
use crate::filesystems::{MkfsRequest, arguments, mount_options, with_journal};
use crate::layers::OverlayMount;
use crate::machine::DeviceNumber;
use crate::register::{OwnedRecord, RecordId, ResourceKind, mounted_line};
use crate::release::{ExpectedMount, free_mount};
use crate::template::{FilesystemTemplate, FormatRecord};
use crate::tools::{self, ToolRun};
use crate::{DeviceError, Lab, LabError};

/// Filesystem label on devices formatted by treering.
const LABEL: &str = "treering";

/// Mount parameters, as the kernel reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountRecord {
    /// Mount source.
    pub source: OsString,
    /// Filesystem type.
    pub fs_type: String,
    /// Mount options, separated by commas.
    pub options: String,
    /// Filesystem options (superblock), separated by commas.
    pub super_options: String,
}

/// A device with a fresh filesystem.
#[derive(Debug)]
pub struct Volume {
    device: LabDevice,
    /// Filesystem on the device; `None` for a directory used as it is.
    filesystem: Option<&'static Filesystem>,
    record: FormatRecord,
    /// True for a copy of a filesystem; the original may be mounted at the same time.
    is_copy: bool,
}

impl LabDevice {
    /// Makes a filesystem, replacing an earlier one of this run. For a directory, the name and the
    /// options must be empty, and nothing is changed.
    ///
    /// # Errors
    /// When the filesystem cannot be made here, an option names another device, the device is now
    /// in use, or mkfs fails.
    pub fn format(mut self, filesystem: &str, options: &[String]) -> Result<Volume, LabError> {
        if filesystem.is_empty() {
            return self.use_directory(options);
        }
        let filesystem = find_filesystem(filesystem)?;
        // Kernel support is not checked: the mount does that, here or in a guest.
        let availability = self.lab.availability_for_guests(filesystem);
        let (tool, tool_version) = require_available(filesystem, availability)?;
        let members = self.members_of_data();
        let devices: Vec<PathBuf> = members.iter().map(|member| member.node.clone()).collect();
        let journal = self.journal_node();
        let (all_options, making) = match &journal {
            Some(node) => with_journal(filesystem, options, node).map_err(refused_option)?,
            None => (options.to_vec(), Vec::new()),
        };
        let request = MkfsRequest { devices: &devices, label: LABEL, options: &all_options };
        let arguments = arguments(filesystem, &request).map_err(refused_option)?;
        let Some(tool) = tool else {
            return self.in_memory(filesystem);
        };
        check_device_count(filesystem, members.len())?;
        members.iter().try_for_each(|member| check_size(filesystem, member.bytes))?;
        // mkfs runs in an empty folder, so that relative paths match no file.
        let folder = self.lab.register.empty_folder()?;
        self.refuse_other_devices(options, &folder)?;
        self.prepare()?;
        let run = |arguments: &[OsString]| {
            let run = run_when_free(|| tools::run(&tool, arguments, &folder));
            run.map_err(LabError::io("cannot run", &tool))
        };
        if !making.is_empty() {
            let ToolRun { command, output, failure } = run(&making)?;
            if let Some(failure) = failure {
                return Err(DeviceError::Tool { command, failure, output }.into());
            }
        }
        let run = run(&arguments)?;
        let failure = match run.failure {
            None if self.has_signature(filesystem.leaves)? => None,
            None => Some(format!("it made no {}", filesystem.name)),
            failure => failure,
        };
        if let Some(failure) = failure {
            let (command, output) = (run.command, run.output);
            return Err(DeviceError::Tool { command, failure, output }.into());
        }
        self.refill()?;
        let record = FormatRecord { command: run.command, output: run.output, tool_version };
        Ok(Volume { device: self, filesystem: Some(filesystem), record, is_copy: false })
    }

    fn use_directory(self, options: &[String]) -> Result<Volume, LabError> {
        if !matches!(self.storage, AcquiredStorage::Directory(_)) {
            return Err(unfit("a device needs a filesystem".to_owned()));
        }
        if !options.is_empty() {
            return Err(unfit("a directory is used as it is, without mkfs options".to_owned()));
        }
        let record = FormatRecord::default();
        Ok(Volume { device: self, filesystem: None, record, is_copy: false })
    }

    fn in_memory(self, filesystem: &'static Filesystem) -> Result<Volume, LabError> {
        match &self.storage {
            AcquiredStorage::Memory(_) | AcquiredStorage::Images(..) => {
                let record = FormatRecord::default();
                Ok(Volume { device: self, filesystem: Some(filesystem), record, is_copy: false })
            }
            AcquiredStorage::Blocks(_)
            | AcquiredStorage::Directory(_)
            | AcquiredStorage::Mapped(_)
            | AcquiredStorage::Joined(_) => {
                let name = filesystem.name;
                Err(unfit(format!("{name} is in memory and needs no device")))
            }
        }
    }
}

impl LabDevice {
    /// Restores a fresh filesystem to the images: the same bytes at the same offsets. If the host
    /// cannot empty the images, mkfs is run again with these options, and the second value is
    /// false.
    ///
    /// # Errors
    /// As for `format`, and when an image cannot be written.
    pub fn restore(
        mut self,
        pattern: &FilesystemTemplate,
        options: &[String],
    ) -> Result<(Volume, bool), LabError> {
        self.prepare()?;
        if !self.fill(&pattern.masters)? || !self.has_signature(pattern.filesystem.leaves)? {
            return Ok((self.format(pattern.filesystem.name, options)?, false));
        }
        let (filesystem, record) = (Some(pattern.filesystem), pattern.record.clone());
        Ok((Volume { device: self, filesystem, record, is_copy: false }, true))
    }

    /// Restores a saved image to the device, and verifies it: the filesystem's own checker must
    /// find no errors, and the layout of all files must be the recorded one.
    ///
    /// # Errors
    /// When the host cannot empty the image file, the image cannot be written, or the verification
    /// fails.
    pub fn restore_saved(
        mut self,
        image: &SavedImage,
        pattern: &FilesystemTemplate,
    ) -> Result<Volume, LabError> {
        self.prepare()?;
        if let AcquiredStorage::Blocks(_) = self.storage {
            self.members().iter().try_for_each(|member| image.write_to_device(&member.node))?;
        } else if !self.fill(&pattern.masters)? {
            return Err(unfit("a saved image needs a file that can be emptied".to_owned()));
        }
        // Drops the caches, so that all reads from here on come from the device.
        self.forget()?;
        for member in self.members() {
            image.check(&member.node, &self.lab)?;
        }
        self.forget()?;
        let (filesystem, record) = (Some(pattern.filesystem), pattern.record.clone());
        Ok(Volume { device: self, filesystem, record, is_copy: true })
    }
}

impl Volume {
    /// Copies the filesystem before anything is written to it; `None` if it is not on loop images.
    ///
    /// # Errors
    /// When the filesystem cannot be copied, for example if no nameless file can be made.
    pub fn template(&self) -> Result<Option<FilesystemTemplate>, LabError> {
        let Some(filesystem) = self.filesystem else { return Ok(None) };
        let masters = self.device.master_copy()?;
        if masters.is_empty() {
            return Ok(None);
        }
        FilesystemTemplate::new(filesystem, self.record.clone(), masters).map(Some)
    }

    /// Record of the mkfs run.
    pub fn record(&self) -> &FormatRecord {
        &self.record
    }

    /// Device of the filesystem.
    pub fn device(&self) -> &LabDevice {
        &self.device
    }

    /// Returns the device for the next filesystem.
    pub fn into_device(self) -> LabDevice {
        self.device
    }

    /// Mounts the filesystem at a mount point of the register. A directory is used in place, and
    /// the options must be empty.
    ///
    /// # Errors
    /// When an option is not meant for the kernel or names another device, or the kernel refuses
    /// the mount.
    pub fn mount(self, options: &[String]) -> Result<MountedVolume, LabError> {
        let Some(filesystem) = self.filesystem else {
            return self.enter(options);
        };
        let lab = self.device.lab.clone();
        self.device.refuse_other_devices(options, Path::new("/"))?;
        let members = self.device.members();
        let bytes = match self.device.storage {
            AcquiredStorage::Memory(bytes) | AcquiredStorage::Images(_, bytes) => bytes,
            _ => 0,
        };
        let is_in_memory = filesystem.mkfs().is_none();
        let of_data = self.device.members_of_data();
        let devices: Vec<PathBuf> = of_data.iter().map(|member| member.node.clone()).collect();
        let journal = self.device.journal_node();
        let numbers: Vec<DeviceNumber> =
            members.iter().filter(|_| !is_in_memory).map(|member| member.number).collect();
        let mut all_options =
            mount_options(filesystem, (&devices, journal.as_deref()), bytes, options);
        if self.is_copy {
            all_options.extend(filesystem.of_copies.iter().map(|&option| option.to_owned()));
        }
        all_options.extend(options.iter().cloned());
        let parsed = MountOptions::parse(&all_options).map_err(DeviceError::MountOption)?;
        if !rustix::process::geteuid().is_root() {
            return Err(DeviceError::NotRoot { what: "mounting" }.into());
        }
        let kind = |_: &RecordId| ResourceKind::Mount {
            fs_type: filesystem.name.to_owned(),
            devices: numbers.clone(),
            mounted: None,
        };
        let record = lab.register.record(&lab.machine, kind)?;
        let root = lab.register.mount_point(record.id());
        let source = match devices.first() {
            Some(device) if !is_in_memory => device.clone().into_os_string(),
            _ => OsString::from(record.id().mark()),
        };
        let mut mounted = MountedVolume {
            overlay: None,
            root,
            options: options.to_vec(),
            facts: None,
            record: Some(record),
            numbers,
            number: None,
            volume: Some(self),
        };
        let made = DirBuilder::new().mode(0o700).create(&mounted.root);
        made.map_err(LabError::io("cannot make the mount point", &mounted.root))?;
        if let Some(volume) = &mounted.volume {
            volume.device.play(true)?;
        }
        if let Err(errno) = mount(&source, &mounted.root, filesystem.name, &parsed) {
            let words = explain_mount(&source, filesystem.name, &parsed);
            let why = match words {
                Some(words) => format!("{errno}: {words}"),
                None => errno.to_string(),
            };
            let (mount_source, options) = (PathBuf::from(source), all_options.join(","));
            let fs_type = filesystem.name;
            return Err(DeviceError::Mount { mount_source, fs_type, options, why }.into());
        }
        mounted.record_number()?;
        Ok(mounted)
    }

    fn enter(self, options: &[String]) -> Result<MountedVolume, LabError> {
        let AcquiredStorage::Directory(root) = &self.device.storage else {
            return Err(unfit("nothing to mount".to_owned()));
        };
        if !options.is_empty() {
            return Err(unfit("a directory is used as it is, without mount options".to_owned()));
        }
        let root = root.clone();
        let mut mounted = MountedVolume {
            overlay: None,
            root,
            options: Vec::new(),
            facts: None,
            record: None,
            numbers: Vec::new(),
            number: None,
            volume: Some(self),
        };
        mounted.read_mount_record()?;
        Ok(mounted)
    }
}

/// A mounted filesystem, or a directory on an existing one.
#[derive(Debug)]
pub struct MountedVolume {
    // Drop order matters: the overlay is dropped first.
    /// Overlay above the filesystem, if any.
    pub(crate) overlay: Option<OverlayMount>,
    root: PathBuf,
    /// Mount options of the user.
    options: Vec<String>,
    facts: Option<MountRecord>,
    /// Record of the mount; `None` for a directory, and after the unmount.
    record: Option<OwnedRecord>,
    numbers: Vec<DeviceNumber>,
    /// Device number of the mount.
    number: Option<DeviceNumber>,
    /// `None` only during the release.
    volume: Option<Volume>,
}

impl MountedVolume {
    /// Target directory: the root of the overlay if there is one, else of the filesystem.
    pub fn root(&self) -> &Path {
        self.overlay.as_ref().map_or(&self.root, OverlayMount::root)
    }

    /// Root of the filesystem itself.
    pub(crate) fn own_root(&self) -> &Path {
        &self.root
    }

    /// Lab of the device.
    pub(crate) fn lab(&self) -> Result<&Lab, LabError> {
        let device = self.device().ok_or_else(|| unfit("it is released".to_owned()))?;
        Ok(&device.lab)
    }

    /// Mount parameters as reported by the kernel, with the effective instead of the requested
    /// options.
    pub fn record(&self) -> Option<&MountRecord> {
        self.facts.as_ref()
    }

    /// Record of the mkfs run.
    pub fn format_record(&self) -> Option<&FormatRecord> {
        self.volume.as_ref().map(Volume::record)
    }

    /// Device of the filesystem.
    pub fn device(&self) -> Option<&LabDevice> {
        self.volume.as_ref().map(Volume::device)
    }

    /// True if the filesystem is on a device, so that its files survive a remount.
    pub fn can_remount(&self) -> bool {
        let filesystem = self.volume.as_ref().and_then(|volume| volume.filesystem);
        filesystem.is_some_and(|filesystem| filesystem.mkfs().is_some())
    }

    /// Unmounts the filesystem, drops the kernel's caches of its devices, and mounts it with the
    /// same options, so that the next phase starts with cold caches. The root directory may change.
    ///
    /// # Errors
    /// When the filesystem is in use, or is not on a device: a host directory, or a filesystem in
    /// memory.
    pub fn remount_cold(mut self) -> Result<Self, LabError> {
        if !self.can_remount() {
            let root = self.root.display();
            return Err(unfit(format!("{root} cannot be unmounted and mounted again")));
        }
        let layer = self.overlay.as_ref().map(|overlay| overlay.layer().clone());
        self.unmount()?;
        let options = std::mem::take(&mut self.options);
        let volume = self.volume.take().ok_or_else(|| unfit("it is released".to_owned()))?;
        volume.device.forget()?;
        let mounted = volume.mount(&options)?;
        match layer {
            Some(layer) => mounted.overlaid(&layer),
            None => Ok(mounted),
        }
    }

    /// Unmounts the filesystem, copies it as it is on its images, and mounts it again with the same
    /// options. The root directory may change.
    ///
    /// # Errors
    /// When the filesystem is in use, is below an overlay, is not on loop images, or cannot be
    /// copied.
    pub fn imaged(mut self) -> Result<(Self, FilesystemTemplate), LabError> {
        if self.overlay.is_some() {
            return Err(unfit("a filesystem below an overlay has no image of its own".to_owned()));
        }
        self.unmount()?;
        let options = std::mem::take(&mut self.options);
        let volume = self.volume.take().ok_or_else(|| unfit("it is released".to_owned()))?;
        volume.device.forget()?;
        let template = volume.template()?;
        let template = template
            .ok_or_else(|| unfit("only filesystems on loop images are copied whole".to_owned()))?;
        Ok((volume.mount(&options)?, template))
    }

    /// Unmounts the filesystem and returns its device.
    ///
    /// # Errors
    /// When the filesystem is in use; it then stays mounted, and in the register.
    pub fn release(mut self) -> Result<LabDevice, LabError> {
        self.answer_at_once();
        self.unmount()?;
        let volume = self.volume.take().ok_or_else(|| unfit("it is released".to_owned()))?;
        Ok(volume.device)
    }

    /// Lets played disks answer at once, for work that is not measured.
    pub fn answer_at_once(&self) {
        if let Some(volume) = &self.volume {
            // The release of the disk reports one that does not answer.
            let _unmounted_slowly = volume.device.play(false);
        }
    }

    /// Unmounts at most once. If that fails, the mount stays in the register.
    fn unmount(&mut self) -> Result<(), LabError> {
        self.overlay.take().map_or(Ok(()), OverlayMount::release)?;
        let Some(record) = self.record.take() else {
            return Ok(());
        };
        let Some(volume) = &self.volume else {
            return Ok(());
        };
        let fs_type = volume.filesystem.map(|filesystem| filesystem.name).unwrap_or_default();
        let ours = ExpectedMount {
            id: record.id(),
            point: &self.root,
            fs_type,
            devices: &self.numbers,
            mounted: self.number,
        };
        free_mount(&volume.device.lab.machine, &ours)?;
        record.remove()
    }

    /// Records the device number of the mount in the register.
    fn record_number(&mut self) -> Result<(), LabError> {
        let number = self.read_mount_record()?;
        self.number = number;
        match (&mut self.record, number) {
            (Some(record), Some(number)) => record.append(&mounted_line(number)),
            _ => Ok(()),
        }
    }

    /// Reads the mount parameters from the mount table.
    fn read_mount_record(&mut self) -> Result<Option<DeviceNumber>, LabError> {
        let root = File::open(&self.root).map_err(LabError::io("cannot open", &self.root))?;
        let table = MountTable::read();
        let table = table.map_err(LabError::io("cannot read", "/proc/self/mountinfo"))?;
        let entry = table.mount_of(&root).cloned();
        let number = entry
            .as_ref()
            .map(|mount| DeviceNumber { major: mount.device.0, minor: mount.device.1 });
        self.facts = entry.map(|mount| MountRecord {
            source: mount.source,
            fs_type: mount.fs_type,
            options: mount.options,
            super_options: mount.super_options,
        });
        Ok(number)
    }
}

impl Drop for MountedVolume {
    fn drop(&mut self) {
        self.answer_at_once();
        // A mount that cannot be unmounted stays in the register.
        let _in_the_register = self.unmount();
    }
}
/// Maximum number of retries of mkfs while another program has the device open; [`BUSY_PAUSE`]
/// precedes each.
const BUSY_TRIES: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(100);

/// Message of mkfs.btrfs, which examines the files of all loop devices, about a file served by a
/// dead process, such as a played disk that is not released yet.
const DEAD_FILE: &str = "Software caused connection abort";

/// Runs mkfs, and retries if it reports the device as in use. Programs that check devices, such as
/// partitioning tools and treering's own inspection, may open even an acquired device for a moment.
fn run_when_free(run: impl Fn() -> io::Result<ToolRun>) -> io::Result<ToolRun> {
    let is_busy = |run: &ToolRun| {
        let busy = ["in use by the system", "Device or resource busy", DEAD_FILE];
        run.failure.is_some() && busy.iter().any(|words| run.output.contains(words))
    };
    let mut last = run()?;
    for _ in 0..BUSY_TRIES {
        if !is_busy(&last) {
            break;
        }
        sleep(BUSY_PAUSE);
        last = run()?;
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{BUSY_TRIES, run_when_free};
    use crate::tools::ToolRun;

    /// Number of runs made for a program that fails this many times with this output.
    fn runs(failures: u32, output: &str) -> u32 {
        let count = Cell::new(0);
        let ran = run_when_free(|| {
            count.set(count.get() + 1);
            let failure = (count.get() <= failures).then(|| "exit status: 1".to_owned());
            Ok(ToolRun { command: Vec::new(), output: output.to_owned(), failure })
        });
        assert_eq!(ran.unwrap().failure.is_some(), count.get() <= failures);
        count.get()
    }

    #[test]
    fn mkfs_is_retried_only_while_the_device_is_in_use() {
        let busy = "/dev/loop0 is apparently in use by the system; will not make a filesystem";
        assert_eq!(runs(2, busy), 3);
        assert_eq!(runs(1, "ERROR: unable to open /dev/loop0: Device or resource busy"), 2);
        let dead =
            "ERROR: cannot check mount status of /dev/loop1: Software caused connection abort";
        assert_eq!(runs(1, dead), 2);
        assert_eq!(runs(1, "Invalid filesystem option set: x"), 1);
        assert_eq!(runs(u32::MAX, busy), 1 + BUSY_TRIES);
    }
}
