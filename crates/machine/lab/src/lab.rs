//! The lab: register, tool paths, and leftovers of killed runs.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Instant;

use treering_model::filesystems::Filesystem;
use treering_sys::{LockError, MountTable, lock_exclusive, user_id};

use crate::DeviceError;
use crate::LabError;
use crate::aged::{ImageLibrary, UnfinishedImage};
use crate::filesystems::{Availability, availability, mkfs_availability};
use crate::layers::{free_array, free_cache, free_mapping};
use crate::machine::{KernelMounts, names};
use crate::played::{OrphanDisk, rescue};
use crate::register::{
    CreationOrder, ForeignMount, LabRegister, ListedRecord, OwnedRecord, PlanIdentity, RecordFacts,
    RecordId, ResourceKind, is_private_directory, private_directory,
};
use crate::release::{
    ExpectedMount, KILLED_PATIENCE, PlayedImage, STEP, free_image, free_mount, free_played,
};
use crate::settings::cleanup::clean_up;
use crate::settings::control_group::free_group;
use crate::settings::restore::{is_final, put_back};
use crate::tools::{SelfExec, ToolPath};
use crate::unmounted::mount_again;

mod given_up;

/// Prefix of the default directory for images, which is on disk, and cleaned by the system some
/// time after a reboot. A dash and the user ID follow, so that each user has their own directory.
const IMAGES: &str = "/var/tmp/treering";
/// Default directory of saved images.
const LIBRARY: &str = "/var/lib/treering/images";

/// Factory and owner of devices and filesystems under test. Clones share the register.
#[derive(Clone, Debug)]
pub struct Lab {
    pub(crate) machine: KernelMounts,
    pub(crate) tools: ToolPath,
    pub(crate) register: Arc<LabRegister>,
    pub(crate) self_exec: SelfExec,
    /// This user's registers in other directories, which may list leftovers.
    others: Vec<Arc<LabRegister>>,
    images: PathBuf,
    /// Image directory of earlier versions.
    older_images: Option<PathBuf>,
    library: ImageLibrary,
}

impl Lab {
    /// Opens the lab with the register in this directory, making it if missing.
    ///
    /// # Errors
    /// When the directory cannot be made, belongs to others, or others can write to it.
    pub fn open(register: &Path) -> Result<Self, LabError> {
        Ok(Self::with_register(LabRegister::open(register)?))
    }

    /// Lab with the register in this directory, for inspection. A missing directory is made with
    /// the first record. Records in a directory that others can write to are ignored.
    pub fn unopened(register: &Path) -> Self {
        Self::with_register(LabRegister::unopened(register))
    }

    fn with_register(register: LabRegister) -> Self {
        Self {
            machine: KernelMounts::default(),
            tools: ToolPath::new(OsStr::new("")),
            register: Arc::new(register),
            self_exec: SelfExec::default(),
            others: Vec::new(),
            images: PathBuf::from(format!("{IMAGES}-{}", user_id())),
            older_images: Some(PathBuf::from(IMAGES)),
            library: ImageLibrary::new(Path::new(LIBRARY)),
        }
    }

    /// Adds older register folders to the search for leftovers of killed runs.
    #[must_use]
    pub fn with_older_registers(self, folders: &[PathBuf]) -> Self {
        // Named folders are checked without following a link.
        let ours = folders.iter().filter(|folder| is_private_directory(folder));
        let real = ours.filter_map(|folder| folder.canonicalize().ok());
        let others = real.filter(|folder| folder != self.register.folder());
        let others = others.map(|folder| Arc::new(LabRegister::unopened(&folder))).collect();
        Self { others, ..self }
    }

    /// Searches this `PATH` for programs before the system folders.
    #[must_use]
    pub fn with_tools_in(self, path: &OsStr) -> Self {
        Self { tools: ToolPath::new(path), ..self }
    }

    /// Sets the directory of images for plans that name none.
    #[must_use]
    pub fn with_images_in(self, directory: &Path) -> Self {
        Self { images: directory.to_owned(), older_images: None, ..self }
    }

    /// Sets the library of saved images.
    #[must_use]
    pub fn with_library(self, library: ImageLibrary) -> Self {
        Self { library, ..self }
    }

    /// Library of saved images.
    pub fn library(&self) -> &ImageLibrary {
        &self.library
    }

    /// Names this plan in the records of resources made from now on.
    #[must_use]
    pub fn for_plan(self, plan: PlanIdentity) -> Self {
        Self { register: Arc::new(self.register.for_plan(plan)), ..self }
    }

    /// Availability of this filesystem: tool and kernel support.
    pub fn availability(&self, filesystem: &Filesystem) -> Availability {
        availability(filesystem, &self.machine, &self.tools)
    }

    /// Availability of this filesystem's tool, for guests, whose own kernels mount the filesystem.
    pub fn availability_for_guests(&self, filesystem: &Filesystem) -> Availability {
        mkfs_availability(filesystem, &self.tools)
    }

    /// Directory of images: from the plan, or the default one, which is made if missing.
    pub(crate) fn images(&self, planned: Option<&Path>) -> Result<PathBuf, LabError> {
        match planned {
            Some(planned) => planned.canonicalize().map_err(LabError::io("cannot find", planned)),
            None => private_directory(&self.images),
        }
    }

    /// Lists all existing resources of this lab, also those of running processes.
    ///
    /// # Errors
    /// When the register cannot be read.
    pub fn list(&self) -> Result<Vec<LabLeftover>, LabError> {
        let mut leftovers = self.recorded()?;
        let recorded_ids: Vec<RecordId> =
            leftovers.iter().filter_map(|left| left.id.clone()).collect();
        for folder in std::iter::once(&self.images).chain(&self.older_images) {
            leftovers.extend(self.orphans(folder, &recorded_ids));
        }
        leftovers.extend(self.unfinished_images());
        leftovers.sort_by_key(LabLeftover::release_order);
        Ok(leftovers)
    }

    /// Lists foreign filesystems that killed runs had unmounted and that must be mounted again.
    ///
    /// # Errors
    /// When the register cannot be read.
    pub fn left_unmounted(&self) -> Result<Vec<LabLeftover>, LabError> {
        let mut leftovers = self.recorded()?;
        leftovers
            .retain(|left| !left.is_alive && matches!(left.kind, LeftoverKind::Unmounted { .. }));
        Ok(leftovers)
    }

    fn registers(&self) -> impl Iterator<Item = &Arc<LabRegister>> {
        std::iter::once(&self.register).chain(&self.others)
    }

    /// Resources that are recorded in one of the registers.
    fn recorded(&self) -> Result<Vec<LabLeftover>, LabError> {
        let table = MountTable::read().unwrap_or_default();
        let boot = self.machine.boot_id();
        let mut leftovers = Vec::new();
        for register in self.registers() {
            let records = register.list()?.into_iter();
            leftovers.extend(records.map(|records| leftover(register, records, &table, &boot)));
        }
        Ok(leftovers)
    }

    /// Images without a record, which exist because a reboot empties the register but not the disk.
    /// An image stays locked while a run or a loop device has it open.
    fn orphans(&self, folder: &Path, known: &[RecordId]) -> Vec<LabLeftover> {
        let mut orphans = Vec::new();
        if !is_private_directory(folder) {
            return orphans;
        }
        for name in names(folder) {
            let path = folder.join(name);
            let Some(id) = RecordId::from_image_path(&path).filter(|id| !known.contains(id)) else {
                continue;
            };
            let is_file = std::fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
            if let Some(file) = is_file.then(|| File::open(&path).ok()).flatten()
                && lock_exclusive(&file) != Err(LockError::Held)
            {
                let kind = LeftoverKind::Image { path, device: None };
                orphans.push(LabLeftover {
                    register: self.register.folder().to_owned(),
                    id: Some(id),
                    kind,
                    pid: None,
                    start: None,
                    plan: None,
                    is_alive: false,
                    is_of_this_boot: false,
                });
            }
        }
        orphans
    }

    /// Saved images that are being written, or that killed runs left unfinished.
    fn unfinished_images(&self) -> Vec<LabLeftover> {
        let unfinished = self.library.unfinished().into_iter();
        let left = unfinished.map(|UnfinishedImage { folder, pid, is_alive }| LabLeftover {
            register: self.register.folder().to_owned(),
            id: None,
            kind: LeftoverKind::UnfinishedImage { folder },
            pid: Some(pid),
            start: None,
            plan: None,
            is_alive,
            is_of_this_boot: true,
        });
        left.collect()
    }

    /// Releases leftovers of killed runs, the newest first, since a filesystem can be on a file of
    /// an older one. Resources of running processes, resources in use, and resources that may not
    /// be treering's are kept and reported.
    pub fn release(&self, leftovers: Vec<LabLeftover>) -> Vec<(LabLeftover, Result<(), LabError>)> {
        // Wakes played disks first, since unmounting a filesystem waits for its disk.
        leftovers
            .iter()
            .filter(|leftover| !leftover.is_alive)
            .for_each(|leftover| self.rescue(leftover));
        let mut ordered = leftovers;
        ordered.sort_by_key(LabLeftover::release_order);
        let free = |leftover: LabLeftover| {
            let freed = self.free(&leftover);
            (leftover, freed)
        };
        ordered.into_iter().map(free).collect()
    }

    fn rescue(&self, leftover: &LabLeftover) {
        if !matches!(leftover.kind, LeftoverKind::PlayedDisk { .. }) {
            return;
        }
        let (Some(id), register) = (&leftover.id, self.register_of(leftover)) else { return };
        let Ok(Some((_record, facts))) = register.claim(id) else { return };
        if let ResourceKind::Played { mounted, player, .. } = facts.kind
            && facts.boot == self.machine.boot_id()
        {
            let point = register.mount_point(id);
            rescue(&self.machine, OrphanDisk { point: &point, mounted, player });
        }
    }

    /// Takes over the record of a killed run; `None` if another release has freed the resource in
    /// the meantime. Waits for a release in progress.
    fn claim(
        &self,
        leftover: &LabLeftover,
        id: &RecordId,
    ) -> Result<Option<(OwnedRecord, RecordFacts)>, LabError> {
        let began = Instant::now();
        loop {
            match self.register_of(leftover).claim(id) {
                Err(LabError::Device(DeviceError::Alive { .. }))
                    if !leftover.is_alive && began.elapsed() < KILLED_PATIENCE =>
                {
                    sleep(STEP);
                }
                claimed => return claimed,
            }
        }
    }

    /// Register that holds the record of a leftover.
    fn register_of(&self, leftover: &LabLeftover) -> &LabRegister {
        let holder = self.registers().find(|register| register.folder() == leftover.register);
        holder.unwrap_or(&self.register)
    }

    fn free(&self, leftover: &LabLeftover) -> Result<(), LabError> {
        let Some(id) = &leftover.id else {
            return match &leftover.kind {
                LeftoverKind::UnfinishedImage { folder } => UnfinishedImage::remove(folder),
                _ => Ok(()),
            };
        };
        if leftover.pid.is_none()
            && let LeftoverKind::Image { path, .. } = &leftover.kind
        {
            return self.free_orphan(id, path);
        }
        let Some((record, facts)) = self.claim(leftover, id)? else { return Ok(()) };
        let point = self.register_of(leftover).mount_point(id);
        let is_of_this_boot = facts.boot == self.machine.boot_id();
        match &facts.kind {
            ResourceKind::Loop { image, file, .. } => {
                // Device numbers are valid for one boot only. After another boot the file name must
                // suffice.
                free_image(&self.machine, id, image, file.filter(|_| is_of_this_boot))?;
            }
            ResourceKind::Played { image, file, mounted, .. } => {
                let played = PlayedImage {
                    id: id.clone(),
                    image: image.clone(),
                    file: file.filter(|_| is_of_this_boot),
                    point,
                    mounted: mounted.filter(|_| is_of_this_boot),
                };
                free_played(&self.machine, &played)?;
            }
            ResourceKind::Mount { fs_type, devices, mounted } => {
                let (point, mounted) = (&point, *mounted);
                let ours = ExpectedMount { id, point, fs_type, devices, mounted };
                free_mount(&self.machine, &ours)?;
            }
            // Mapped devices, arrays and caches do not survive a boot.
            ResourceKind::Mapping { number, .. } if is_of_this_boot => {
                free_mapping(&self.machine, id, *number)?;
            }
            ResourceKind::Array(array) if is_of_this_boot => free_array(&self.machine, array)?,
            ResourceKind::Cache { devices } if is_of_this_boot => {
                free_cache(&self.machine, id, devices)?;
            }
            ResourceKind::Mapping { .. } | ResourceKind::Array(_) | ResourceKind::Cache { .. } => {}
            // After a reboot the machine has mounted its filesystems itself.
            ResourceKind::Unmounted(foreign) if is_of_this_boot => {
                mount_again(&self.machine, foreign, record.path())?;
            }
            ResourceKind::Unmounted(_) => {}
            // A reboot resets settings, and undoes the effects of commands.
            ResourceKind::Settings { changes } if is_of_this_boot => {
                let restored = put_back(&self.machine, changes.clone());
                if is_final(&restored) {
                    record.remove()?;
                }
                return restored;
            }
            ResourceKind::Cleanup(command) if is_of_this_boot => clean_up(command, &self.tools)?,
            ResourceKind::Group(group) if is_of_this_boot => {
                free_group(&self.machine, id, group)?;
            }
            ResourceKind::Settings { .. } | ResourceKind::Cleanup(_) | ResourceKind::Group(_) => {}
        }
        record.remove()
    }

    fn free_orphan(&self, id: &RecordId, path: &Path) -> Result<(), LabError> {
        let file = File::open(path).map_err(LabError::io("cannot open", path))?;
        if lock_exclusive(&file) == Err(LockError::Held) {
            let by = vec!["a run or a loop device".to_owned()];
            let what = path.display().to_string();
            return Err(DeviceError::StillUsed { what, by }.into());
        }
        free_image(&self.machine, id, path, None)
    }
}

/// Converts a record to a leftover.
fn leftover(
    register: &LabRegister,
    listed: ListedRecord,
    table: &MountTable,
    boot: &str,
) -> LabLeftover {
    let facts = listed.facts.as_ref().ok();
    let pid = facts.map(|facts| facts.pid);
    let start = facts.map(|facts| facts.start);
    let is_of_this_boot = facts.is_none_or(|facts| facts.boot == boot);
    let plan = facts.and_then(|facts| facts.plan.clone());
    let kind = match listed.facts {
        Ok(facts) => match facts.kind {
            ResourceKind::Loop { image, number, .. } => LeftoverKind::Image {
                path: image,
                device: number.map(|number| PathBuf::from(format!("/dev/loop{number}"))),
            },
            ResourceKind::Played { image, number, .. } => LeftoverKind::PlayedDisk {
                path: image,
                device: number.map(|number| PathBuf::from(format!("/dev/loop{number}"))),
            },
            ResourceKind::Unmounted(ForeignMount { point, source, fs_type, .. }) => {
                LeftoverKind::Unmounted { point, device: source, fs_type }
            }
            ResourceKind::Settings { changes } => LeftoverKind::Settings {
                paths: changes.into_iter().map(|change| change.path).collect(),
            },
            ResourceKind::Cleanup(command) => {
                LeftoverKind::Cleanup { command: command.words.join(" ") }
            }
            ResourceKind::Group(group) => LeftoverKind::ControlGroup { folder: group.folder },
            ResourceKind::Cache { .. } => LeftoverKind::Cache,
            ResourceKind::Array(array) => LeftoverKind::Array {
                level: array.level,
                device: PathBuf::from(format!("/dev/md{}", array.number)),
            },
            ResourceKind::Mapping { target, number } => LeftoverKind::Mapping {
                target,
                device: number.map(|number| PathBuf::from(format!("/dev/dm-{}", number.minor))),
            },
            ResourceKind::Mount { fs_type, .. } => {
                let point = register.mount_point(&listed.id);
                let is_mounted = table.mounts.iter().any(|mount| mount.point == point);
                LeftoverKind::Mount { point, fs_type, is_mounted }
            }
        },
        Err(why) => LeftoverKind::Damaged { path: listed.path, why },
    };
    let is_alive = listed.is_held;
    let (id, register) = (Some(listed.id), register.folder().to_owned());
    LabLeftover { register, id, kind, pid, start, plan, is_alive, is_of_this_boot }
}

/// A resource of the lab that exists now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabLeftover {
    /// Folder of the register with its record.
    register: PathBuf,
    /// Record of the resource, or the identifier in the name of an image.
    id: Option<RecordId>,
    /// Kind of the resource.
    pub kind: LeftoverKind,
    /// Process that made the resource, if known.
    pub pid: Option<u32>,
    /// Start time of that process, in clock ticks since the boot.
    pub start: Option<u64>,
    /// Plan for which the resource was made, if the record names one.
    pub plan: Option<PlanIdentity>,
    /// True if the run that made the resource is alive.
    pub is_alive: bool,
    /// True if the resource was made since the last boot.
    pub is_of_this_boot: bool,
}

/// Kind of a leftover, with paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftoverKind {
    /// A mounted filesystem, or its mount point.
    Mount {
        /// Mount point.
        point: PathBuf,
        /// Filesystem type.
        fs_type: String,
        /// False if only the mount point is left.
        is_mounted: bool,
    },
    /// An image file.
    Image {
        /// Path of the file.
        path: PathBuf,
        /// Loop device, if one was attached.
        device: Option<PathBuf>,
    },
    /// An image file with a played disk over it.
    PlayedDisk {
        /// Path of the file.
        path: PathBuf,
        /// Loop device on the played disk, if one was attached.
        device: Option<PathBuf>,
    },
    /// A device of the device mapper.
    Mapping {
        /// Type of the device's target.
        target: String,
        /// Node of the device, if it was made.
        device: Option<PathBuf>,
    },
    /// An md array.
    Array {
        /// RAID level.
        level: u32,
        /// Node of the array.
        device: PathBuf,
    },
    /// A bcache device, with its backing device and cache device.
    Cache,
    /// A foreign filesystem that was unmounted and must be mounted again.
    Unmounted {
        /// Former mount point.
        point: PathBuf,
        /// Path of the device node.
        device: PathBuf,
        /// Filesystem type.
        fs_type: String,
    },
    /// Kernel settings that have not been restored.
    Settings {
        /// Paths of the attributes.
        paths: Vec<PathBuf>,
    },
    /// A cleanup command of a trial that has not run yet.
    Cleanup {
        /// The command line.
        command: String,
    },
    /// A control group of a trial.
    ControlGroup {
        /// Folder of the group.
        folder: PathBuf,
    },
    /// A saved image whose writing was not finished.
    UnfinishedImage {
        /// Folder of the image.
        folder: PathBuf,
    },
    /// A record that cannot be read.
    Damaged {
        /// Path of the record.
        path: PathBuf,
        /// I/O or parse error.
        why: String,
    },
}

impl LabLeftover {
    /// Sort key of releases, lowest first: by kind, then the newest resource first.
    fn release_order(&self) -> (u8, Option<Reverse<CreationOrder>>) {
        (self.kind.release_order(), self.id.as_ref().map(|id| Reverse(id.creation_order())))
    }
}

impl LeftoverKind {
    /// Rank in the order of releases, lowest first.
    const fn release_order(&self) -> u8 {
        match self {
            Self::Unmounted { .. } | Self::Cleanup { .. } => 0,
            Self::Settings { .. } | Self::ControlGroup { .. } => 1,
            Self::Mount { .. }
            | Self::Image { .. }
            | Self::PlayedDisk { .. }
            | Self::Mapping { .. }
            | Self::Array { .. }
            | Self::Cache => 2,
            Self::UnfinishedImage { .. } => 3,
            Self::Damaged { .. } => 4,
        }
    }
}

impl fmt::Display for LeftoverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mount { point, fs_type, is_mounted: true } => {
                write!(f, "{fs_type} mounted at {}", point.display())
            }
            Self::Mount { point, is_mounted: false, .. } => {
                write!(f, "mount point {}", point.display())
            }
            Self::Image { path, device: Some(device) } => {
                write!(f, "image {} on {}", path.display(), device.display())
            }
            Self::Image { path, device: None } => write!(f, "image {}", path.display()),
            Self::PlayedDisk { path, device: Some(device) } => {
                write!(f, "played disk {} on {}", path.display(), device.display())
            }
            Self::PlayedDisk { path, device: None } => write!(f, "played disk {}", path.display()),
            Self::Mapping { target, device: Some(device) } => {
                write!(f, "mapped device {} ({target})", device.display())
            }
            Self::Mapping { target, device: None } => write!(f, "mapped device ({target})"),
            Self::Cache => write!(f, "cache (bcache)"),
            Self::Array { level, device } => {
                write!(f, "array {} (raid{level})", device.display())
            }
            Self::Unmounted { point, device, fs_type } => {
                let (device, point) = (device.display(), point.display());
                write!(f, "{fs_type} of {device}, unmounted from {point}")
            }
            Self::Settings { paths } => {
                let paths: Vec<String> =
                    paths.iter().map(|path| path.display().to_string()).collect();
                write!(f, "changed settings {}", paths.join(", "))
            }
            Self::ControlGroup { folder } => write!(f, "control group {}", folder.display()),
            Self::Cleanup { command } => write!(f, "the cleanup `{command}`"),
            Self::UnfinishedImage { folder } => {
                write!(f, "unfinished image {}", folder.display())
            }
            Self::Damaged { path, why } => {
                write!(f, "record {} that cannot be read ({why})", path.display())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lab, LeftoverKind};
    use crate::register::ResourceKind;
    use crate::{DeviceError, LabError};
    use std::path::PathBuf;

    #[test]
    fn an_image_that_was_never_attached_is_listed_and_removed() {
        let top = tempfile::tempdir().unwrap();
        let lab = Lab::open(&top.path().join("register")).unwrap();
        let images = top.path().canonicalize().unwrap();
        let kind = |id: &crate::register::RecordId| ResourceKind::Loop {
            image: images.join(id.image_name()),
            file: None,
            number: None,
        };
        let record = lab.register.record(&lab.machine, kind).unwrap();
        let path = images.join(record.id().image_name());
        std::fs::write(&path, "").unwrap();
        let alive = lab.list().unwrap();
        assert!(alive[0].is_alive && alive[0].is_of_this_boot);
        assert!(lab.release(alive)[0].1.is_err() && path.exists());
        drop(record);
        let left = lab.list().unwrap();
        assert_eq!(left[0].kind, LeftoverKind::Image { path: path.clone(), device: None });
        if rustix::process::geteuid().is_root() {
            assert!(lab.release(left)[0].1.is_ok());
            assert!(!path.exists() && lab.list().unwrap().is_empty());
        }
    }

    #[test]
    fn concurrent_releases_free_everything_once_without_failure() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let top = tempfile::tempdir().unwrap();
        let lab = Lab::open(&top.path().join("register")).unwrap();
        let images = top.path().canonicalize().unwrap();
        for _ in 0..20 {
            let kind = |id: &crate::register::RecordId| ResourceKind::Loop {
                image: images.join(id.image_name()),
                file: None,
                number: None,
            };
            let record = lab.register.record(&lab.machine, kind).unwrap();
            std::fs::write(images.join(record.id().image_name()), "").unwrap();
        }
        let left = lab.list().unwrap();
        assert!(left.iter().all(|leftover| !leftover.is_alive) && left.len() == 20);
        let release = || lab.release(left.clone());
        let ends = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(release)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(ends.iter().all(|(_, freed)| freed.is_ok()), "{ends:?}");
        assert!(lab.list().unwrap().is_empty());
    }

    #[test]
    fn a_foreign_file_at_an_image_path_is_left_alone() {
        let top = tempfile::tempdir().unwrap();
        let lab = Lab::open(&top.path().join("register")).unwrap();
        let images = top.path().canonicalize().unwrap();
        let file = crate::register::FileNumber { device: 1, inode: 1 };
        let kind = |id: &crate::register::RecordId| ResourceKind::Loop {
            image: images.join(id.image_name()),
            file: Some(file),
            number: None,
        };
        let record = lab.register.record(&lab.machine, kind).unwrap();
        let path = images.join(record.id().image_name());
        drop(record);
        std::fs::write(&path, "somebody else's").unwrap();
        let freed = lab.release(lab.list().unwrap()).remove(0).1;
        assert!(matches!(freed, Err(LabError::Device(DeviceError::NotOurs { .. }))), "{freed:?}");
        assert!(path.exists() && lab.list().unwrap().len() == 1);
    }

    #[test]
    fn records_in_older_registers_are_listed_and_released_if_owned() {
        let top = tempfile::tempdir().unwrap();
        let places = ["older", "open"].map(|name| top.path().join(name));
        let images = top.path().canonicalize().unwrap();
        let kind = |id: &crate::register::RecordId| ResourceKind::Loop {
            image: images.join(id.image_name()),
            file: None,
            number: None,
        };
        std::os::unix::fs::symlink("older", top.path().join("link")).unwrap();
        for place in &places {
            let older = Lab::open(place).unwrap();
            drop(older.register.record(&older.machine, kind).unwrap());
        }
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&places[1], open).unwrap();
        let register = top.path().join("register");
        let lab = Lab::unopened(&register).with_images_in(&images).with_older_registers(&places);
        let left = lab.list().unwrap();
        assert_eq!(left.len(), 1, "{left:?}");
        let linked = [top.path().join("link")];
        let linked = Lab::unopened(&register).with_images_in(&images).with_older_registers(&linked);
        assert!(linked.list().unwrap().is_empty());
        assert!(!register.exists(), "looking makes nothing");
        if rustix::process::geteuid().is_root() {
            assert!(lab.release(left)[0].1.is_ok());
            assert!(lab.list().unwrap().is_empty());
        }
        let in_others = Lab::unopened(&places[1]).with_images_in(&images).list().unwrap();
        assert!(in_others.is_empty(), "{in_others:?}");
    }

    #[test]
    fn images_of_an_earlier_boot_are_found_without_a_record() {
        let top = tempfile::tempdir().unwrap();
        let images = top.path().join("images");
        std::fs::create_dir(&images).unwrap();
        let lab = Lab::open(&top.path().join("register")).unwrap().with_images_in(&images);
        for name in ["treering-1a-2.img", "treering-XY.img", "other.img"] {
            std::fs::write(images.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("other.img", images.join("treering-3.img")).unwrap();
        let left = lab.list().unwrap();
        let paths: Vec<PathBuf> = left
            .iter()
            .map(|leftover| match &leftover.kind {
                LeftoverKind::Image { path, .. } => path.clone(),
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(paths, [images.join("treering-1a-2.img")]);
        if rustix::process::geteuid().is_root() {
            assert!(lab.release(left)[0].1.is_ok());
            assert!(!paths[0].exists());
        }
    }
}
