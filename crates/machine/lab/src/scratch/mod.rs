//! An empty filesystem to copy a tree to: an image or a device, made like the one that the tree is
//! on, or an empty directory that was named. It is ours until it is released.

mod copy;
mod likeness;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use treering_model::{DeviceSpec, Variant};
use treering_sys::{MountTable, open_top};

use crate::error::unfit;
use crate::{Device, DeviceCaution, EraseList, Lab, LabError, Mounted, PlayedModel, Workplace};

pub use copy::{Copier, CopyError};
pub use likeness::Likeness;

/// What the copy is called in a directory that was named; `treering clean` knows it.
const TREE: &str = "copy-1";
/// What a fresh filesystem has in it.
const FRESH: [&str; 1] = ["lost+found"];
/// In the mark of a directory it stands for the name of a trial.
const MARK: &str = "fresh-copy";

/// An empty filesystem.
#[derive(Debug)]
pub struct Scratch {
    held: Option<Held>,
    /// Where the copy goes.
    top: PathBuf,
    /// The part of it below where it is mounted.
    below: PathBuf,
    /// What else is on the filesystem of a directory.
    beside: Vec<String>,
}

#[derive(Debug)]
enum Held {
    Ours(Box<Mounted>),
    Theirs(Box<Workplace>),
}

impl Scratch {
    /// Makes one: where nothing is named an image of the lab's; else a device is formatted, or an
    /// empty directory used.
    ///
    /// # Errors
    /// When it cannot be made, the guard refuses the device, or the directory is not empty.
    pub fn make(
        on: Option<&Path>,
        like: &Likeness,
        erasing: &EraseList,
        lab: &Lab,
    ) -> Result<Self, LabError> {
        if let Some(directory) = on.filter(|path| path.is_dir()) {
            return Self::in_directory(directory, like);
        }
        if let Some(file) = on.filter(|path| path.is_file()) {
            let what = file.display();
            return Err(unfit(format!(
                "{what} is a file: name an empty directory or a device; images are made by \
                 treering and removed again"
            )));
        }
        let (device, mkfs) = match on {
            Some(device) => {
                (DeviceSpec::Block { paths: vec![device.to_owned()] }, like.of_any_size())
            }
            None => (like.image()?, like.mkfs.clone()),
        };
        let variant = Variant {
            name: "fresh copy".to_owned(),
            against: None,
            kernel: None,
            guest: None,
            device,
            filesystem: like.fs_type.clone(),
            mkfs,
            image: None,
            mount: like.mount.clone(),
            handicap_percent: 0,
        };
        let device = Device::acquire(&variant, erasing, lab)?;
        let volume = device.format(&variant.filesystem, &variant.mkfs)?;
        let mounted = volume.mount(&variant.mount)?;
        // As deep as the original: filesystems spread the directories at their top.
        let below = like.below.clone();
        let top = mounted.root().join(&below);
        std::fs::create_dir_all(&top).map_err(LabError::io("cannot make", &top))?;
        Ok(Self { held: Some(Held::Ours(Box::new(mounted))), top, below, beside: Vec::new() })
    }

    fn in_directory(directory: &Path, like: &Likeness) -> Result<Self, LabError> {
        let found = directory.canonicalize().map_err(LabError::io("cannot find", directory))?;
        let what = directory.display();
        if found.starts_with(&like.path) {
            return Err(unfit(format!("{what} is inside the tree to be copied")));
        }
        let mut place = Workplace::take(&found)?;
        place.refuse_leftovers()?;
        let there = place.target().facts()?.existing;
        if let Some(name) = there.iter().find(|name| !FRESH.contains(&name.as_str())) {
            return Err(unfit(format!("{what} is not empty: it has {name}")));
        }
        let beside = beside(&found)?;
        place.mark(MARK, None)?;
        let top = found.join(TREE);
        if let Err(error) = place.target().make_tree(TREE) {
            let _reported_is_why = place.unmark();
            return Err(error.into());
        }
        let held = Held::Theirs(Box::new(place));
        Ok(Self { held: Some(held), top, below: PathBuf::from(TREE), beside })
    }

    /// Where the copy goes.
    pub fn path(&self) -> &Path {
        &self.top
    }

    /// The same, open.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(&self) -> Result<OwnedFd, LabError> {
        let failed = LabError::io("cannot open", &self.top);
        open_top(&self.top).map_err(|errno| failed(errno.into()))
    }

    /// How it was made, an element an argument; empty for a directory.
    pub fn command(&self) -> &[String] {
        match &self.held {
            Some(Held::Ours(mounted)) => {
                mounted.format_record().map_or(&[], |record| &record.command)
            }
            _ => &[],
        }
    }

    /// The disk that is played under it.
    pub fn model(&self) -> Option<&PlayedModel> {
        match &self.held {
            Some(Held::Ours(mounted)) => mounted.device()?.model(),
            _ => None,
        }
    }

    /// What else was on the filesystem when the directory was taken: it is not fresh then.
    pub fn beside(&self) -> &[String] {
        &self.beside
    }

    /// What makes times on it questionable.
    pub fn cautions(&self) -> &[DeviceCaution] {
        match &self.held {
            Some(Held::Ours(mounted)) => mounted.device().map_or(&[], Device::cautions),
            _ => &[],
        }
    }

    /// Has nothing of it in memory: it is unmounted and mounted again, where it is ours.
    ///
    /// # Errors
    /// When it is in use.
    pub fn remount(&mut self) -> Result<(), LabError> {
        if !matches!(self.held, Some(Held::Ours(_))) {
            return Ok(());
        }
        if let Some(Held::Ours(mounted)) = self.held.take() {
            let mounted = mounted.remount_cold()?;
            self.top = mounted.root().join(&self.below);
            self.held = Some(Held::Ours(Box::new(mounted)));
        }
        Ok(())
    }

    /// Takes it away: image and mount, or the copy in a directory.
    ///
    /// # Errors
    /// When something is in use or cannot be removed; `treering lab release` and `treering clean`
    /// remove that later.
    pub fn release(mut self) -> Result<(), LabError> {
        self.free()
    }

    fn free(&mut self) -> Result<(), LabError> {
        match self.held.take() {
            None => Ok(()),
            Some(Held::Ours(mounted)) => mounted.release()?.release(),
            Some(Held::Theirs(mut place)) => {
                for tree in place.made_trees()? {
                    place.remove_made(&tree)?;
                }
                place.unmark()
            }
        }
    }
}

/// What a filesystem has beside a directory, as far as it is mounted: the entries of the
/// directories above that one.
fn beside(directory: &Path) -> Result<Vec<String>, LabError> {
    let opened = open_top(directory);
    let opened = opened.map_err(|e| LabError::io("cannot open", directory)(e.into()))?;
    let table = MountTable::read();
    let table = table.map_err(LabError::io("cannot read", "/proc/self/mountinfo"))?;
    let Some(mount) = table.mount_of(&opened) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for inner in directory.ancestors().take_while(|inner| *inner != mount.point) {
        let Some(above) = inner.parent() else { break };
        let failed = |source| LabError::io("cannot read", above)(source);
        let entries = std::fs::read_dir(above).map_err(failed)?;
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            let name = path.strip_prefix(&mount.point).unwrap_or(&path).to_string_lossy();
            if path != inner && !FRESH.contains(&name.as_ref()) {
                found.push(name.into_owned());
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be taken away is in the register, or has a mark.
        let _is_found_there = self.free();
    }
}
