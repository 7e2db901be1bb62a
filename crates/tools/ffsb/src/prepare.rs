//! Preparation of a filesystem: leftovers of an earlier run are reused or removed, and the
//! directories are created.
//!
//! Only entries with names that a run can have created are removed. Any other entry in `data` or
//! `meta` ends the run, since it belongs to somebody else.

use std::collections::HashSet;
use std::ffi::{CStr, CString};

use treering_model::Counters;
use treering_script::{DirSlot, EntryKind, ExpectedErrors, Io, Script, SessionError, Stop};

use super::fileset::{Fileset, SharedState};
use super::names::{DATA, DATADIR, GeneratedName, META};
use super::namespace::{FilesLocation, Namespace, directory};
use super::tally::PreparationResult;
use crate::language::Filesystem;

const ROOT: DirSlot = DirSlot(1);
const DATA_DIR: DirSlot = DirSlot(2);
const META_DIR: DirSlot = DirSlot(3);
const SUB_DIR: DirSlot = DirSlot(4);

/// Largest file number of an earlier run that is reused; no run creates as many.
const NUMBERS_MAX: u64 = 1 << 32;

/// Leftovers of an earlier run in a filesystem.
#[derive(Debug, Default)]
struct Leftovers {
    /// Files, each with its directory; 0 is `data`.
    files: Vec<(u32, GeneratedName)>,
    dirs: Vec<u32>,
    metas: Vec<GeneratedName>,
    data: bool,
    meta: bool,
}

/// Script that prepares one filesystem.
pub(super) struct PrepareScript {
    filesystem: Filesystem,
    number: usize,
    namespace: Namespace,
    common: SharedState,
    left: Leftovers,
    reused: bool,
    only_lists: bool,
}

fn c(bytes: impl Into<Vec<u8>>) -> CString {
    CString::new(bytes).unwrap_or_default()
}

fn datadir(number: u32) -> CString {
    c([DATADIR, number.to_string().as_bytes()].concat())
}

/// Open directory of a found file; `open` caches the one opened last.
fn open_datadir(io: &mut dyn Io, dir: u32, open: &mut u32) -> Result<DirSlot, Stop> {
    if dir == 0 {
        return Ok(DATA_DIR);
    }
    if *open != dir {
        io.open_dir(DATA_DIR, &datadir(dir - 1), SUB_DIR)?;
        *open = dir;
    }
    Ok(SUB_DIR)
}

impl PrepareScript {
    /// Preparation of filesystem `number`.
    pub(super) fn new(
        filesystem: &Filesystem,
        number: usize,
        namespace: Namespace,
        common: SharedState,
    ) -> Self {
        Self {
            filesystem: filesystem.clone(),
            number,
            namespace,
            common,
            left: Leftovers::default(),
            reused: false,
            only_lists: false,
        }
    }

    /// Only checks for foreign entries.
    pub(super) fn only_lists(self) -> Self {
        Self { only_lists: true, ..self }
    }

    fn fileset(&self) -> &Fileset {
        &self.namespace.filesets[self.number]
    }

    /// True once foreign entries were found, in this or another filesystem.
    fn is_hindered(&self) -> bool {
        self.common.failure().is_some()
    }

    /// Lists `data` and its subdirectories, and `meta`.
    fn list_all(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.left.data = self.list(io, ROOT, DATA, DATA_DIR, 0)?;
        for place in 0..self.left.dirs.len() {
            if self.is_hindered() {
                return Ok(());
            }
            let number = self.left.dirs[place];
            self.list(io, DATA_DIR, &datadir(number), SUB_DIR, number + 1)?;
        }
        if !self.is_hindered() {
            self.left.meta = self.list(io, ROOT, META, META_DIR, 0)?;
        }
        Ok(())
    }

    /// Lists a directory up to the first foreign entry; false if it does not exist.
    fn list(
        &mut self,
        io: &mut dyn Io,
        at: DirSlot,
        name: &CStr,
        into: DirSlot,
        number: u32,
    ) -> Result<bool, Stop> {
        if io.open_dir(at, name, into).unless_missing()?.is_none() {
            return Ok(false);
        }
        loop {
            let entries = io.read_dir(into)?;
            if entries.is_empty() {
                return Ok(true);
            }
            for entry in entries {
                let (name, kind) = (entry.name.to_bytes(), entry.kind);
                let generated = match into {
                    DATA_DIR => GeneratedName::in_data(name, kind),
                    META_DIR => GeneratedName::in_meta(name, kind),
                    _ => GeneratedName::in_datadir(name, kind),
                };
                match generated {
                    Some(GeneratedName::Dir(number)) => self.left.dirs.push(number),
                    Some(meta @ GeneratedName::Meta(..)) => self.left.metas.push(meta),
                    Some(file) => self.left.files.push((number, file)),
                    None => {
                        self.foreign(into, number, entry.name, kind);
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn foreign(&self, dir: DirSlot, number: u32, name: &CStr, kind: EntryKind) {
        let place = match dir {
            DATA_DIR => "data".to_owned(),
            META_DIR => "meta".to_owned(),
            _ => format!("data/datadir{}", number.saturating_sub(1)),
        };
        let entry_word = if kind == EntryKind::Directory { "directory" } else { "entry" };
        let name: String = name.to_string_lossy().chars().flat_map(char::escape_debug).collect();
        self.common.fail(SessionError::new(format!(
            "{}/{place} holds the {entry_word} {name}, which no run has made: nothing was removed; move \
             it away, or name another location",
            self.filesystem.location
        )));
    }

    /// True if the leftovers match what a run of this profile creates, apart from the sizes.
    fn could_be_reused(&self) -> bool {
        let Leftovers { files, dirs, metas, data, meta } = &self.left;
        let mut numbers = HashSet::new();
        let plain = files.iter().all(|(_, file)| match file {
            GeneratedName::Data(number) => *number < NUMBERS_MAX && numbers.insert(number),
            _ => false,
        });
        let wanted = self.filesystem.files;
        let count = wanted == 0 || files.len() as u64 == wanted;
        let below = dirs.iter().all(|&dir| dir < self.filesystem.dirs);
        let all_dirs = below && dirs.len() == self.filesystem.dirs as usize;
        *data && *meta && metas.is_empty() && plain && count && all_dirs && !files.is_empty()
    }

    /// Reuses the files of the earlier run if their sizes match the profile; true if they do.
    fn reuse_files(&self, io: &mut dyn Io) -> Result<bool, Stop> {
        let (mut sizes, mut open) = (Vec::new(), 0);
        for &(dir, file) in &self.left.files {
            let at = open_datadir(io, dir, &mut open)?;
            sizes.push(io.size(at, &c(file.name()))?);
        }
        if !sizes.iter().all(|&bytes| self.fileset().is_possible_size(bytes)) {
            return Ok(false);
        }
        for (&(dir, file), bytes) in self.left.files.iter().zip(sizes) {
            if let GeneratedName::Data(number) = file {
                self.fileset().data.adopt(number, dir, bytes);
            }
        }
        self.fileset().record_initial_space(io.room(ROOT)?);
        Ok(true)
    }

    /// Removes the leftovers and makes the directories.
    fn build(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.left.files.sort_unstable();
        let mut open = 0;
        for &(dir, file) in &self.left.files {
            let at = open_datadir(io, dir, &mut open)?;
            io.unlink(at, &c(file.name()))?;
        }
        for &number in &self.left.dirs {
            io.remove_dir(DATA_DIR, &datadir(number))?;
        }
        for meta in &self.left.metas {
            io.remove_dir(META_DIR, &c(meta.name()))?;
        }
        for (is_there, name) in [(self.left.data, DATA), (self.left.meta, META)] {
            if !is_there {
                io.make_dir(ROOT, name)?;
            }
        }
        self.fileset().record_initial_space(io.room(ROOT)?);
        io.open_dir(ROOT, DATA, DATA_DIR)?;
        for number in 0..self.filesystem.dirs {
            io.make_dir(DATA_DIR, &datadir(number))?;
        }
        Ok(())
    }
}

impl Script for PrepareScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        match self.namespace.places[self.number] {
            FilesLocation::Root(root) => {
                io.open_root(root, ROOT)?;
                self.list_all(io)?;
            }
            FilesLocation::Below => {
                let name = c(directory(self.number));
                io.make_dir(DirSlot::TARGET, &name)?;
                io.open_dir(DirSlot::TARGET, &name, ROOT)?;
            }
        }
        if self.only_lists || self.is_hindered() {
            return Ok(());
        }
        self.reused = self.filesystem.reuse && self.could_be_reused() && self.reuse_files(io)?;
        if !self.reused {
            self.build(io)?;
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        if self.is_hindered() {
            return Counters::default();
        }
        Counters::from_value(&PreparationResult { reused: self.reused })
    }
}
