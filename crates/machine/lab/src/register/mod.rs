//! The register: an on-disk record of each resource of the lab. A record is written before its
//! resource is made, and removed after it is gone, so that a killed run leaves nothing unrecorded.
//!
//! The owner holds a lock on the record, which the kernel releases when the process ends. `release`
//! frees the leftovers.

mod escaping;
mod id;
mod owner;
mod record;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use treering_sys::{LockError, lock_exclusive};

use crate::machine::{DeviceNumber, KernelMounts, names};
use crate::{DeviceError, LabError};

pub(crate) use escaping::{escape, text};
pub(crate) use id::{CreationOrder, RecordId};
pub use record::PlanIdentity;
pub(crate) use record::{
    CleanupCommand, DeviceIdentity, FileNumber, ForeignMount, RecordFacts, RecordedArray,
    RecordedGroup, ResourceKind, SettingChange, changed_line, controller_line, file_line,
    loop_line, mapped_line, mounted_line, player_line, sequence_line, setting_line,
};

/// Longest wait for another process that holds the lock of the register.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(10);
/// Largest accepted record, in bytes.
const RECORD_BYTES_MAX: u64 = 4 << 20;

/// Number of records of this process, which makes their IDs unique.
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Directory of the records.
#[derive(Debug)]
pub(crate) struct LabRegister {
    folder: PathBuf,
    /// Plan that is named in new records.
    plan: Option<PlanIdentity>,
}

/// A record owned by this process: dropping it releases the lock; the file stays until `remove`.
#[derive(Debug)]
pub(crate) struct OwnedRecord {
    path: PathBuf,
    file: File,
    id: RecordId,
}

/// A record in the register, and whether its owner is alive.
#[derive(Debug)]
pub(crate) struct ListedRecord {
    pub(crate) id: RecordId,
    pub(crate) path: PathBuf,
    pub(crate) is_held: bool,
    /// Parsed content, or the reason why it cannot be read.
    pub(crate) facts: Result<RecordFacts, String>,
}

impl LabRegister {
    /// Opens the register, making its directory if missing.
    pub(crate) fn open(folder: &Path) -> Result<Self, LabError> {
        let register = Self { folder: private_directory(folder)?, plan: None };
        register.make()?;
        Ok(register)
    }

    /// Register in this directory, which may be missing. Nothing is made before the first record,
    /// and nothing is read from a directory that others can write to.
    pub(crate) fn unopened(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), plan: None }
    }

    /// Makes the missing directories of the register.
    fn make(&self) -> Result<(), LabError> {
        for folder in [self.folder.clone(), self.folder.join("mounts")] {
            private_directory(&folder)?;
            allow_passage(&folder)?;
        }
        private_directory(&self.folder.join("devices")).map(drop)
    }

    /// Directory of the records.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Clones the register; new records name this plan.
    pub(crate) fn for_plan(&self, plan: PlanIdentity) -> Self {
        Self { folder: self.folder.clone(), plan: Some(plan) }
    }

    /// Path of the mount point of a record.
    pub(crate) fn mount_point(&self, id: &RecordId) -> PathBuf {
        self.folder.join("mounts").join(id.as_str())
    }

    /// Path of the empty directory in which programs are run.
    pub(crate) fn empty_folder(&self) -> Result<PathBuf, LabError> {
        private_directory(&self.folder.join("empty"))
    }

    /// Locks a block device against other runs of treering.
    pub(crate) fn take_device(&self, number: DeviceNumber, path: &Path) -> Result<File, LabError> {
        self.make()?;
        let name = format!("{}-{}", number.major, number.minor);
        let lock = self.folder.join("devices").join(name);
        let file = open_lock(&lock)?;
        match lock_exclusive(&file) {
            Ok(()) | Err(LockError::Unsupported(_)) => Ok(file),
            Err(LockError::Held) => Err(DeviceError::Taken { path: path.to_owned() }.into()),
        }
    }

    /// Writes a record of a resource that is about to be made. `kind` is called with its ID.
    pub(crate) fn record(
        &self,
        machine: &KernelMounts,
        kind: impl FnOnce(&RecordId) -> ResourceKind,
    ) -> Result<OwnedRecord, LabError> {
        self.make()?;
        let _register = self.lock()?;
        let pid = std::process::id();
        let start = machine.process_start(pid).unwrap_or(0);
        let boot = machine.boot_id();
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let id = RecordId::new(pid, start, &boot, count);
        let path = self.path(&id);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(LabError::io("cannot make the record", &path))?;
        let mut record = OwnedRecord { path, file, id };
        if lock_exclusive(&record.file) == Err(LockError::Held) {
            let why = "somebody else has locked it".to_owned();
            return Err(DeviceError::Damaged { path: record.path, why }.into());
        }
        let facts =
            RecordFacts::new(pid, start, boot, kind(&record.id)).with_plan(self.plan.clone());
        record.append(&facts.to_text())?;
        self.sync()?;
        Ok(record)
    }

    /// Lists all records; empty for a directory that others can write to.
    pub(crate) fn list(&self) -> Result<Vec<ListedRecord>, LabError> {
        if !is_private_directory(&self.folder) {
            return Ok(Vec::new());
        }
        let _register = self.lock()?;
        let mut records = Vec::new();
        for name in names(&self.folder) {
            let Some(id) = name.strip_suffix(".record").and_then(RecordId::parse) else {
                continue;
            };
            let path = self.path(&id);
            let file = match OpenOptions::new().read(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(LabError::io("cannot open", path)(error)),
            };
            let is_held = lock_exclusive(&file) == Err(LockError::Held);
            let facts = read(&file);
            if !is_held && file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
                // The owner was killed before it wrote the first line, so it made nothing yet.
                fs::remove_file(&path).map_err(LabError::io("cannot remove", &path))?;
                continue;
            }
            records.push(ListedRecord { id, path, is_held, facts });
        }
        Ok(records)
    }

    /// Takes over a record whose owner is dead; `None` if the record no longer exists.
    pub(crate) fn claim(
        &self,
        id: &RecordId,
    ) -> Result<Option<(OwnedRecord, RecordFacts)>, LabError> {
        let _register = self.lock()?;
        let path = self.path(id);
        let file = match OpenOptions::new().read(true).append(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LabError::io("cannot open", path)(error)),
        };
        let is_held = lock_exclusive(&file) == Err(LockError::Held);
        let facts = read(&file)
            .map_err(|why| LabError::from(DeviceError::Damaged { path: path.clone(), why }))?;
        if is_held {
            let pid = facts.pid;
            return Err(DeviceError::Alive { what: facts.kind.description(), pid }.into());
        }
        Ok(Some((OwnedRecord { path, file, id: id.clone() }, facts)))
    }

    fn path(&self, id: &RecordId) -> PathBuf {
        self.folder.join(format!("{}.record", id.as_str()))
    }

    /// Locks the register, so that one process at a time makes or lists records.
    fn lock(&self) -> Result<File, LabError> {
        let path = self.folder.join("lock");
        let file = open_lock(&path)?;
        let mut waited = Duration::ZERO;
        while lock_exclusive(&file) == Err(LockError::Held) {
            if waited >= LOCK_WAIT_MAX {
                return Err(LabError::io("cannot lock", path)(io::ErrorKind::TimedOut.into()));
            }
            sleep(STEP);
            waited += STEP;
        }
        Ok(file)
    }

    fn sync(&self) -> Result<(), LabError> {
        let failed = || LabError::io("cannot write", &self.folder);
        File::open(&self.folder).map_err(failed())?.sync_all().map_err(failed())
    }
}

impl OwnedRecord {
    /// ID of the record.
    pub(crate) fn id(&self) -> &RecordId {
        &self.id
    }

    /// Path of the record's file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends lines with facts that became known later, and syncs them.
    pub(crate) fn append(&mut self, text: &str) -> Result<(), LabError> {
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_all())
            .map_err(LabError::io("cannot write the record", &self.path))
    }

    /// Reads and parses the record.
    pub(crate) fn facts(&self) -> Result<RecordFacts, LabError> {
        let damaged = |why| DeviceError::Damaged { path: self.path.clone(), why };
        // Uses a second descriptor, since the first one is at the end of the file.
        let file = File::open(&self.path).map_err(LabError::io("cannot open", &self.path))?;
        Ok(read(&file).map_err(damaged)?)
    }

    /// Removes the record, once its resource is gone.
    pub(crate) fn remove(self) -> Result<(), LabError> {
        fs::remove_file(&self.path).map_err(LabError::io("cannot remove the record", &self.path))
    }
}

fn read(file: &File) -> Result<RecordFacts, String> {
    let mut text = String::new();
    let length = file.take(RECORD_BYTES_MAX).read_to_string(&mut text);
    length.map_err(|error| error.to_string())?;
    RecordFacts::parse(&text).map_err(|why| why.to_string())
}

fn open_lock(path: &Path) -> Result<File, LabError> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(LabError::io("cannot open", path))
}

/// Makes a missing directory, and checks that it belongs to this user and that nobody else can
/// write to it: others could name any files or devices in the records.
pub(crate) fn private_directory(path: &Path) -> Result<PathBuf, LabError> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        // A dangling link, or a file, is examined below.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.map_err(LabError::io("cannot make", path))?,
    }
    match why_not_private(path).map_err(LabError::io("cannot look at", path))? {
        Some(why) => Err(DeviceError::UnsafeDirectory { path: path.to_owned(), why }.into()),
        None => path.canonicalize().map_err(LabError::io("cannot find", path)),
    }
}

/// Lets other users pass through a directory of root without listing it, so that jobs of other
/// users reach the filesystems mounted below.
fn allow_passage(path: &Path) -> Result<(), LabError> {
    if treering_sys::user_id() != 0 {
        return Ok(());
    }
    let failed = || LabError::io("cannot change the mode of", path);
    let mode = fs::metadata(path).map_err(failed())?.mode() & 0o7777;
    if mode & 0o011 == 0o011 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o011)).map_err(failed())
}

/// True if the path is a directory of this user that nobody else can write to.
pub(crate) fn is_private_directory(path: &Path) -> bool {
    why_not_private(path).is_ok_and(|why| why.is_none())
}

fn why_not_private(path: &Path) -> io::Result<Option<&'static str>> {
    let metadata = fs::symlink_metadata(path)?;
    Ok(if metadata.is_symlink() {
        Some("it is a link, not a directory")
    } else if !metadata.is_dir() {
        Some("it is not a directory")
    } else if metadata.uid() != treering_sys::user_id() {
        Some("it belongs to another user")
    } else if metadata.mode() & 0o022 != 0 {
        Some("others can write to it")
    } else {
        None
    })
}

#[cfg(test)]
mod tests {
    use super::{LabRegister, ResourceKind, private_directory};
    use crate::machine::{DeviceNumber, KernelMounts};
    use crate::{DeviceError, LabError};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    fn image(path: &str) -> ResourceKind {
        ResourceKind::Loop { image: PathBuf::from(path), file: None, number: None }
    }

    #[test]
    fn a_record_outlives_its_owner_until_its_resource_is_gone() {
        let top = tempfile::tempdir().unwrap();
        let register = LabRegister::open(&top.path().join("register")).unwrap();
        let machine = KernelMounts::default();
        let record = register.record(&machine, |_| image("/treering-1a.img")).unwrap();
        let second = register.record(&machine, |_| image("/treering-1b.img")).unwrap();
        assert_ne!(record.id(), second.id());
        second.remove().unwrap();
        let records = register.list().unwrap();
        assert_eq!(records.len(), 1);
        assert!(records[0].is_held);
        let id = record.id().clone();
        let refused = register.claim(&id);
        assert!(matches!(refused, Err(LabError::Device(DeviceError::Alive { .. }))));
        drop(record); // as a kill would
        assert!(!register.list().unwrap()[0].is_held);
        let (claimed, facts) = register.claim(&id).unwrap().unwrap();
        assert_eq!(facts.pid, std::process::id());
        assert!(register.list().unwrap()[0].is_held);
        claimed.remove().unwrap();
        assert!(register.list().unwrap().is_empty() && register.claim(&id).unwrap().is_none());
    }

    #[test]
    fn foreign_files_in_the_register_are_ignored_or_reported() {
        let top = tempfile::tempdir().unwrap();
        let register = LabRegister::open(top.path()).unwrap();
        for (name, text) in [
            ("counters.txt", "hello"),
            ("A b.record", "not a name of ours"),
            ("1-2-3-4.record", "treering lab 1\nkind elephant\n"),
            ("1-2-3-5.record", ""),
        ] {
            std::fs::write(top.path().join(name), text).unwrap();
        }
        let records = register.list().unwrap();
        assert_eq!(records.len(), 1);
        assert!(records[0].facts.is_err());
        assert!(!top.path().join("1-2-3-5.record").exists());
        let refused = register.claim(&records[0].id);
        assert!(matches!(refused, Err(LabError::Device(DeviceError::Damaged { .. }))));
    }

    #[test]
    fn a_missing_or_foreign_register_has_no_records() {
        let top = tempfile::tempdir().unwrap();
        let missing = LabRegister::unopened(&top.path().join("missing"));
        assert!(missing.list().unwrap().is_empty() && !missing.folder().exists());
        let record =
            missing.record(&KernelMounts::default(), |_| image("/treering-1a.img")).unwrap();
        assert_eq!(missing.list().unwrap().len(), 1);
        drop(record);
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(missing.folder(), open).unwrap();
        assert!(missing.list().unwrap().is_empty());
        let refused = missing.record(&KernelMounts::default(), |_| image("/treering-1a.img"));
        let Err(LabError::Device(DeviceError::UnsafeDirectory { .. })) = refused else {
            panic!("{refused:?}")
        };
    }

    #[test]
    fn other_users_can_traverse_but_not_list_the_register_of_root() {
        let top = tempfile::tempdir().unwrap();
        let register = LabRegister::open(&top.path().join("register")).unwrap();
        let expected = if treering_sys::user_id() == 0 { 0o711 } else { 0o700 };
        for folder in [register.folder().to_owned(), register.folder().join("mounts")] {
            let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, expected, "{}", folder.display());
        }
    }

    #[test]
    fn a_device_is_taken_once() {
        let top = tempfile::tempdir().unwrap();
        let register = LabRegister::open(top.path()).unwrap();
        let number = DeviceNumber { major: 8, minor: 0 };
        let path = PathBuf::from("/dev/sda");
        let held = register.take_device(number, &path).unwrap();
        let refused = register.take_device(number, &path);
        assert!(matches!(refused, Err(LabError::Device(DeviceError::Taken { .. }))));
        drop(held);
        register.take_device(number, &path).unwrap();
    }

    #[test]
    fn a_register_directory_of_another_user_is_not_trusted() {
        let top = tempfile::tempdir().unwrap();
        let open = top.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
        symlink(top.path(), top.path().join("link")).unwrap();
        for name in ["open", "link"] {
            let refused = private_directory(&top.path().join(name));
            let unsafe_one = DeviceError::UnsafeDirectory { path: PathBuf::new(), why: "" };
            let LabError::Device(error) = refused.unwrap_err() else { panic!("{name}") };
            assert_eq!(std::mem::discriminant(&error), std::mem::discriminant(&unsafe_one));
        }
        std::fs::write(top.path().join("file"), "").unwrap();
        assert!(private_directory(&top.path().join("file")).is_err());
        assert!(private_directory(&top.path().join("a/b/c")).is_ok());
    }
}
