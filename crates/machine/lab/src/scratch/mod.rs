//! Empty filesystems for a copy of a tree: an image or a device formatted like the filesystem of
//! the tree, or an empty directory named by the user. They are owned until released.

mod copy;
mod fresh_copy;
mod likeness;
mod whole;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use treering_model::{DeviceSpec, Variant};
use treering_sys::{MountTable, open_top};

use crate::error::unfit;
use crate::{
    DeviceCaution, EraseList, Lab, LabDevice, LabError, MountedVolume, OwnedDirectory, PlayedModel,
};

pub use copy::CopyError;
use copy::ImageCopier;
pub use fresh_copy::{FreshCopyComparison, FreshCopyError};
pub use likeness::FilesystemProfile;
pub use whole::{TreeCopyError, copy_tree};

/// Name of the copy in a directory of the user; `treering lab clean` knows it.
const COPY_NAME: &str = "copy-1";
/// Entries of a fresh filesystem.
const FRESH_ENTRIES: [&str; 1] = ["lost+found"];
/// Trial name in the mark of a directory.
const MARK: &str = "fresh-copy";

/// An empty filesystem for a copy.
#[derive(Debug)]
pub(crate) struct ScratchFilesystem {
    storage: Option<ScratchStorage>,
    /// Directory of the copy.
    top: PathBuf,
    /// Path of the copy relative to the mount point.
    below: PathBuf,
    /// Other entries on the filesystem of the user's directory.
    other_entries: Vec<String>,
}

#[derive(Debug)]
enum ScratchStorage {
    Ours(Box<MountedVolume>),
    Theirs(Box<OwnedDirectory>),
}

impl ScratchFilesystem {
    /// Makes an empty filesystem: on an image of the lab if `on` is `None`, else by formatting a
    /// device or taking an empty directory.
    ///
    /// # Errors
    /// When the filesystem cannot be made, the guard refuses the device, or the directory is not
    /// empty.
    pub(crate) fn make(
        on: Option<&Path>,
        like: &FilesystemProfile,
        erasing: &EraseList,
        lab: &Lab,
    ) -> Result<Self, LabError> {
        if let Some(directory) = on.filter(|path| path.is_dir()) {
            return Self::in_directory(directory, like);
        }
        if let Some(file) = on.filter(|path| path.is_file()) {
            let path = file.display();
            return Err(unfit(format!(
                "{path} is a file: name an empty directory or a device; images are made by \
                 treering and removed again"
            )));
        }
        let (device, mkfs) = match on {
            Some(device) => {
                (DeviceSpec::Block { paths: vec![device.to_owned()] }, like.mkfs_without_size())
            }
            None => (like.image()?, like.mkfs.clone()),
        };
        let variant = Variant {
            mkfs,
            mount: like.mount.clone(),
            ..Variant::new("fresh copy", &like.fs_type, device)
        };
        let device = LabDevice::acquire(&variant, erasing, lab)?;
        let volume = device.format(&variant.filesystem, &variant.mkfs)?;
        let mounted = volume.mount(&variant.mount)?;
        // The copy has the same depth as the original, since filesystems spread top-level
        // directories.
        let below = like.below.clone();
        let top = mounted.root().join(&below);
        std::fs::create_dir_all(&top).map_err(LabError::io("cannot make", &top))?;
        Ok(Self {
            storage: Some(ScratchStorage::Ours(Box::new(mounted))),
            top,
            below,
            other_entries: Vec::new(),
        })
    }

    fn in_directory(directory: &Path, like: &FilesystemProfile) -> Result<Self, LabError> {
        let resolved = directory.canonicalize().map_err(LabError::io("cannot find", directory))?;
        let path = directory.display();
        if resolved.starts_with(&like.path) {
            return Err(unfit(format!("{path} is inside the tree to be copied")));
        }
        let mut place = OwnedDirectory::take(&resolved)?;
        place.refuse_leftovers()?;
        let entries = place.target().facts()?.existing;
        if let Some(name) = entries.iter().find(|name| !FRESH_ENTRIES.contains(&name.as_str())) {
            return Err(unfit(format!("{path} is not empty: it has {name}")));
        }
        let other_entries = other_entries(&resolved)?;
        place.mark(MARK, None)?;
        let top = resolved.join(COPY_NAME);
        if let Err(error) = place.target().make_tree(COPY_NAME) {
            let _reported_is_why = place.unmark();
            return Err(error.into());
        }
        let storage = ScratchStorage::Theirs(Box::new(place));
        Ok(Self { storage: Some(storage), top, below: PathBuf::from(COPY_NAME), other_entries })
    }

    /// Directory of the copy.
    pub(crate) fn path(&self) -> &Path {
        &self.top
    }

    /// Opens the directory of the copy.
    ///
    /// # Errors
    /// When the directory cannot be opened.
    pub(crate) fn open(&self) -> Result<OwnedFd, LabError> {
        let failed = LabError::io("cannot open", &self.top);
        open_top(&self.top).map_err(|errno| failed(errno.into()))
    }

    /// Command line of mkfs, one element per argument; empty for a directory.
    pub(crate) fn command(&self) -> &[String] {
        match &self.storage {
            Some(ScratchStorage::Ours(mounted)) => {
                mounted.format_record().map_or(&[], |record| &record.command)
            }
            _ => &[],
        }
    }

    /// Model of the played disk below the copy, if any.
    pub(crate) fn model(&self) -> Option<&PlayedModel> {
        match &self.storage {
            Some(ScratchStorage::Ours(mounted)) => mounted.device()?.model(),
            _ => None,
        }
    }

    /// Other entries that were on the filesystem when the directory was acquired; with any, it is
    /// not fresh.
    pub(crate) fn other_entries(&self) -> &[String] {
        &self.other_entries
    }

    /// Cautions about times measured on the copy.
    pub(crate) fn cautions(&self) -> Vec<DeviceCaution> {
        match &self.storage {
            Some(ScratchStorage::Ours(mounted)) => {
                mounted.device().map(LabDevice::cautions).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// Makes the caches cold by unmounting and mounting again; does nothing for a directory of the
    /// user.
    ///
    /// # Errors
    /// When the filesystem is in use.
    pub(crate) fn remount(&mut self) -> Result<(), LabError> {
        if !matches!(self.storage, Some(ScratchStorage::Ours(_))) {
            return Ok(());
        }
        if let Some(ScratchStorage::Ours(mounted)) = self.storage.take() {
            let mounted = mounted.remount_cold()?;
            self.top = mounted.root().join(&self.below);
            self.storage = Some(ScratchStorage::Ours(Box::new(mounted)));
        }
        Ok(())
    }

    /// Releases image and mount, or removes the copy from the user's directory.
    ///
    /// # Errors
    /// When something is in use or cannot be removed; `treering lab release` and
    /// `treering lab clean` remove that later.
    pub(crate) fn release(mut self) -> Result<(), LabError> {
        self.free()
    }

    fn free(&mut self) -> Result<(), LabError> {
        match self.storage.take() {
            None => Ok(()),
            Some(ScratchStorage::Ours(mounted)) => mounted.release()?.release(),
            Some(ScratchStorage::Theirs(mut place)) => {
                for tree in place.made_trees()? {
                    place.remove_made(&tree)?;
                }
                place.unmark()
            }
        }
    }
}

/// Entries of a filesystem that are outside of a directory: siblings of the directory and of its
/// parents up to the mount point.
fn other_entries(directory: &Path) -> Result<Vec<String>, LabError> {
    let opened = open_top(directory);
    let opened = opened.map_err(|e| LabError::io("cannot open", directory)(e.into()))?;
    let table = MountTable::read();
    let table = table.map_err(LabError::io("cannot read", "/proc/self/mountinfo"))?;
    let Some(mount) = table.mount_of(&opened) else { return Ok(Vec::new()) };
    let mut others = Vec::new();
    for inner in directory.ancestors().take_while(|inner| *inner != mount.point) {
        let Some(above) = inner.parent() else { break };
        let failed = |source| LabError::io("cannot read", above)(source);
        let entries = std::fs::read_dir(above).map_err(failed)?;
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            let name = path.strip_prefix(&mount.point).unwrap_or(&path).to_string_lossy();
            if path != inner && !FRESH_ENTRIES.contains(&name.as_ref()) {
                others.push(name.into_owned());
            }
        }
    }
    others.sort_unstable();
    Ok(others)
}

impl Drop for ScratchFilesystem {
    fn drop(&mut self) {
        // Leftovers are listed in the register, or by a mark.
        let _is_found_there = self.free();
    }
}
