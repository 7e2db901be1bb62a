//! Reboots into other kernels: the boot loader is set for one boot, a systemd unit continues the
//! campaign after it, and a record has the requested kernel. This module makes all changes to the
//! machine, beneath one root: `/`, or a directory in tests.

mod entries;
mod error;
mod loader;
mod record;
mod unit;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use treering_sys::{LockError, lock_exclusive, write_whole_file};

pub use error::RebootError;
pub use loader::{BootCommands, BootLoader, CommandLine};
pub use record::{BootRequest, RebootRecord};
pub use unit::ContinuationUnit;

use crate::LabError;
use crate::machine::word;
use crate::tools::run;

/// Folder of the campaign's record, beneath the root.
const FOLDER: &str = "var/lib/treering/reboot";
const LOCK: &str = "lock";
const UNITS: &str = "etc/systemd/system";
const WANTS: &str = "etc/systemd/system/multi-user.target.wants";
/// Word on the kernel's command line that ends a campaign, for machines that are accessible only in
/// the boot loader.
const STOP_WORD: &str = "treering.stop";

/// Control of the boots of a machine.
#[derive(Clone, Debug)]
pub struct RebootControl {
    root: PathBuf,
}

/// Lock of the campaign: while it is held, no other process conducts the campaign.
#[derive(Debug)]
pub struct RebootLock {
    _file: File,
}

impl RebootControl {
    /// Controls the machine with this root: `/`, or a directory in its place, with which no program
    /// or file of this machine is used.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Release of the running kernel.
    pub fn release(&self) -> String {
        word(&self.root.join("proc/sys/kernel/osrelease")).unwrap_or_default()
    }

    /// Identifier of this boot.
    pub fn boot_id(&self) -> String {
        word(&self.root.join("proc/sys/kernel/random/boot_id")).unwrap_or_default()
    }

    /// Returns the requested boot loader, or the first that can boot a kernel once.
    ///
    /// # Errors
    /// When there is no such boot loader.
    pub fn loader(&self, requested: Option<BootLoader>) -> Result<BootLoader, LabError> {
        Ok(BootLoader::choose(&self.root, requested)?)
    }

    /// Commands for a single boot of this kernel.
    ///
    /// # Errors
    /// When the kernel is not installed, or the boot loader has no entry for it.
    pub fn commands(&self, loader: BootLoader, release: &str) -> Result<BootCommands, LabError> {
        Ok(loader.commands(&self.root, release)?)
    }

    /// Command that makes the next boot the usual one again.
    pub fn cancel_command(&self, loader: BootLoader) -> CommandLine {
        loader.cancel(&self.root)
    }

    /// Path of the unit that continues the campaign after a boot.
    pub fn unit_path(&self) -> PathBuf {
        self.root.join(UNITS).join(unit::NAME)
    }

    /// Path of the link that enables the unit.
    pub fn link_path(&self) -> PathBuf {
        self.root.join(WANTS).join(unit::NAME)
    }

    /// Path of the campaign's record.
    pub fn record_path(&self) -> PathBuf {
        self.root.join(FOLDER).join("campaign")
    }

    /// Path of the stop file, whose existence ends a campaign.
    pub fn stop_path(&self) -> PathBuf {
        self.root.join(FOLDER).join("stop")
    }

    /// True if the campaign is to end: the stop file exists, or the kernel's command line has the
    /// stop word.
    pub fn is_stopped(&self) -> bool {
        let line = word(&self.root.join("proc/cmdline")).unwrap_or_default();
        self.stop_path().exists() || line.split_whitespace().any(|word| word == STOP_WORD)
    }

    /// Reads the record of the campaign; `None` without a campaign.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn record(&self) -> Result<Option<RebootRecord>, LabError> {
        let path = self.record_path();
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(
                RebootRecord::parse(&text).map_err(|why| RebootError::Damaged { path, why })?,
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(LabError::io("cannot read", path)(error)),
        }
    }

    /// True if a record, unit or link of a campaign exists.
    pub fn is_there(&self) -> bool {
        let exists = |path: PathBuf| path.symlink_metadata().is_ok();
        exists(self.record_path()) || exists(self.unit_path()) || exists(self.link_path())
    }

    /// Locks the campaign for this process, without waiting.
    ///
    /// # Errors
    /// When another process holds the lock, or the directory cannot be made.
    pub fn lock(&self) -> Result<RebootLock, LabError> {
        let folder = self.root.join(FOLDER);
        fs::create_dir_all(&folder).map_err(LabError::io("cannot make", &folder))?;
        let path = folder.join(LOCK);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(LabError::io("cannot open", path))?;
        match lock_exclusive(&file) {
            Err(LockError::Held) => Err(RebootError::Held { path: folder }.into()),
            _ => Ok(RebootLock { _file: file }),
        }
    }

    /// True if a process holds the lock of the campaign.
    pub fn is_held(&self) -> bool {
        let file = File::open(self.root.join(FOLDER).join(LOCK));
        file.is_ok_and(|file| lock_exclusive(&file) == Err(LockError::Held))
    }

    /// Writes the record and syncs it.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn save(&self, record: &RebootRecord) -> Result<(), LabError> {
        write_whole(&self.record_path(), &record.to_text())
    }

    /// Installs and enables the unit that continues the campaign after the next boot.
    ///
    /// # Errors
    /// When the unit cannot be written.
    pub fn install(&self, continuation: &ContinuationUnit, plan: &str) -> Result<(), LabError> {
        write_whole(&self.unit_path(), &continuation.unit(plan))?;
        let link = self.link_path();
        if link.symlink_metadata().is_ok() {
            return Ok(());
        }
        let folder = self.root.join(WANTS);
        fs::create_dir_all(&folder).map_err(LabError::io("cannot make", &folder))?;
        symlink(Path::new("..").join(unit::NAME), &link)
            .and_then(|()| File::open(&folder)?.sync_all())
            .map_err(LabError::io("cannot make", &link))
    }

    /// Text of the unit.
    pub fn unit_text(&self, continuation: &ContinuationUnit, plan: &str) -> String {
        continuation.unit(plan)
    }

    /// Runs a command of a boot to its end.
    ///
    /// # Errors
    /// When the command cannot be started, or fails; the error has its output.
    pub fn run(&self, command: &[String]) -> Result<(), LabError> {
        let Some((program, arguments)) = command.split_first() else { return Ok(()) };
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let finished = run(Path::new(program), &arguments, &self.root)
            .map_err(LabError::io("cannot run", program))?;
        let Some(ended) = finished.failure else { return Ok(()) };
        let (command, output) = (command.join(" "), finished.output.trim().to_owned());
        Err(RebootError::Command { command, ended: format!(" ({ended})"), output }.into())
    }

    /// Ends the campaign: makes the next boot the usual one again, and removes unit, record and
    /// stop file. Results stay in the store.
    ///
    /// # Errors
    /// When a part cannot be removed.
    pub fn end(&self) -> Result<(), LabError> {
        let campaign = self.record().ok().flatten();
        let mut removed = Ok(());
        // Removes the link first: without it the unit is not started any more.
        for path in [self.link_path(), self.unit_path(), self.stop_path()] {
            removed = removed.and(remove(&path));
        }
        let is_waiting = |record: &RebootRecord| {
            record.request.as_ref().is_some_and(|campaign| campaign.from == self.boot_id())
        };
        if let Some(record) = campaign.filter(is_waiting) {
            removed = removed.and(self.run(&self.cancel_command(record.loader)));
        }
        removed = removed.and(remove(&self.record_path()));
        let folder = self.root.join(FOLDER);
        let _another_file_is_there = remove(&folder.join(LOCK)).map(|()| fs::remove_dir(&folder));
        removed
    }
}

/// Removes a file; a missing file is no error.
fn remove(path: &Path) -> Result<(), LabError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LabError::io("cannot remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Writes a file atomically: after a crash it has either the complete old or the complete new
/// content.
fn write_whole(path: &Path, text: &str) -> Result<(), LabError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(LabError::io("cannot make", folder))?;
    let written = write_whole_file(path, |mut file| file.write_all(text.as_bytes()));
    written.map_err(LabError::io("cannot write", path))
}
