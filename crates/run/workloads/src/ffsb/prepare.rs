//! Before anything is made in a filesystem: what an earlier run left is taken over or removed, and
//! the directories are made.
//!
//! Removed is what a run can have made, by its names. Anything else in `data` or `meta` ends the
//! run: it is somebody's.

use std::collections::{HashSet, VecDeque};
use std::ffi::{CStr, CString};

use treering_script::{Call, Dir, Entries, EntryKind, Outcome, Step, Steps};

use super::fileset::{Crew, Fileset};
use super::land::{Land, Place, directory};
use super::names::{DATADIR, Ours};
use super::profile::Filesystem;

const ROOT: Dir = Dir(1);
const DATA_DIR: Dir = Dir(2);
const META_DIR: Dir = Dir(3);
const SUB_DIR: Dir = Dir(4);

/// Files of an earlier run are taken over up to this number: no run has made as many.
const NUMBERS_MAX: u64 = 1 << 32;

/// What is to be done next; names are owned, since this is not what is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Doing {
    /// A part of the work is planned when what comes before it is done.
    Then(Part),
    OpenRoot(u16),
    Open(Dir, CString, Dir),
    /// Opens a directory that may be missing; then all of it is listed.
    List(Dir, CString, Dir),
    ReadOn(Dir),
    /// Opens the directory in which files come that are looked at.
    Size(Dir, u32, Ours),
    Make(Dir, CString),
    Unlink(Dir, Ours),
    Remove(Dir, CString),
    Room,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The directories in `data` are listed.
    ListDirs,
    /// It is decided what becomes of what was found.
    Decide,
    /// What was found is judged now that the sizes are known.
    Judge,
    /// Directories are made from this one on: there can be millions.
    MakeDirs(u32),
}

/// What was found in a filesystem.
#[derive(Debug, Default)]
struct Left {
    /// Files: directory (0 is `data`), and which.
    files: Vec<(u32, Ours)>,
    dirs: Vec<u32>,
    metas: Vec<Ours>,
    data: bool,
    meta: bool,
    /// Sizes of the files, in their order, when they were asked for.
    sizes: Vec<u64>,
}

/// The script.
pub(super) struct Prepare {
    filesystem: Filesystem,
    number: usize,
    land: Land,
    crew: Crew,
    todo: VecDeque<Doing>,
    doing: Option<Doing>,
    name: CString,
    left: Left,
    /// The directory whose entries come.
    listed: (Dir, u32),
    reused: bool,
    looks_only: bool,
}

fn c(bytes: &[u8]) -> CString {
    CString::new(bytes).unwrap_or_default()
}

fn datadir(number: u32) -> CString {
    c(&[DATADIR, number.to_string().as_bytes()].concat())
}

impl Prepare {
    /// The preparation of one filesystem.
    pub(super) fn new(filesystem: &Filesystem, number: usize, land: Land, crew: Crew) -> Self {
        let mut todo = VecDeque::new();
        match land.places[number] {
            Place::Root(root) => {
                todo.push_back(Doing::OpenRoot(root));
                todo.push_back(Doing::List(ROOT, c(b"data"), DATA_DIR));
                todo.push_back(Doing::Then(Part::ListDirs));
            }
            Place::Below => {
                let name = c(directory(number).as_bytes());
                todo.push_back(Doing::Make(Dir::TARGET, name.clone()));
                todo.push_back(Doing::Open(Dir::TARGET, name, ROOT));
                todo.push_back(Doing::Then(Part::Decide));
            }
        }
        Self {
            filesystem: filesystem.clone(),
            number,
            land,
            crew,
            todo,
            doing: None,
            name: CString::default(),
            left: Left::default(),
            listed: (DATA_DIR, 0),
            reused: false,
            looks_only: false,
        }
    }

    /// The same, which only looks for what no run has made.
    pub(super) fn looks_only(self) -> Self {
        Self { looks_only: true, ..self }
    }

    fn fileset(&self) -> &Fileset {
        &self.land.filesets[self.number]
    }

    /// What came of the last step.
    fn hear(&mut self, last: Outcome<'_>) {
        match (self.doing.take(), last) {
            (Some(Doing::List(_, _, dir)), Outcome::Done) => {
                match dir {
                    DATA_DIR => self.left.data = true,
                    META_DIR => self.left.meta = true,
                    _ => {}
                }
                self.todo.push_front(Doing::ReadOn(dir));
            }
            (Some(Doing::ReadOn(dir)), Outcome::Entries(entries)) if !entries.is_empty() => {
                self.take(dir, entries);
                self.todo.push_front(Doing::ReadOn(dir));
            }
            (Some(Doing::Size(..)), Outcome::Size(bytes)) => self.left.sizes.push(bytes),
            (Some(Doing::Room), Outcome::Room(room)) => self.fileset().begins_with(room),
            _ => {}
        }
    }

    fn take(&mut self, dir: Dir, entries: Entries<'_>) {
        for entry in entries {
            let (name, kind) = (entry.name.to_bytes(), entry.kind);
            let ours = match dir {
                DATA_DIR => Ours::in_data(name, kind),
                META_DIR => Ours::in_meta(name, kind),
                _ => Ours::in_datadir(name, kind),
            };
            match ours {
                Some(Ours::Dir(number)) => self.left.dirs.push(number),
                Some(meta @ Ours::Meta(..)) => self.left.metas.push(meta),
                Some(file) => self.left.files.push((self.listed.1, file)),
                None => return self.foreign(dir, entry.name, kind),
            }
        }
    }

    fn foreign(&mut self, dir: Dir, name: &CStr, kind: EntryKind) {
        let place = match dir {
            DATA_DIR => "data".to_owned(),
            META_DIR => "meta".to_owned(),
            _ => format!("data/datadir{}", self.listed.1.saturating_sub(1)),
        };
        let what = if kind == EntryKind::Directory { "directory" } else { "entry" };
        let name: String = name.to_string_lossy().chars().flat_map(char::escape_debug).collect();
        self.crew.fail(format!(
            "{}/{place} holds the {what} {name}, which no run has made: nothing was removed; move \
             it away, or name another location",
            self.filesystem.location
        ));
        self.todo.clear();
    }

    /// Plans a part of the work.
    fn plan(&mut self, part: Part) {
        match part {
            Part::ListDirs => {
                let dirs = self.left.dirs.clone();
                for dir in dirs {
                    self.todo.push_back(Doing::List(DATA_DIR, datadir(dir), SUB_DIR));
                }
                self.todo.push_back(Doing::List(ROOT, c(b"meta"), META_DIR));
                self.todo.push_back(Doing::Then(Part::Decide));
            }
            Part::Decide if self.looks_only => {}
            Part::Decide if self.filesystem.reuse && self.could_be_reused() => {
                for &(dir, file) in &self.left.files {
                    self.todo.push_back(Doing::Size(DATA_DIR, dir, file));
                }
                self.todo.push_back(Doing::Then(Part::Judge));
            }
            Part::Judge if self.sizes_suit() => {
                self.reused = true;
                for (&(dir, file), &bytes) in self.left.files.iter().zip(&self.left.sizes) {
                    if let Ours::Data(number) = file {
                        self.fileset().data.adopt(number, dir, bytes);
                    }
                }
                self.todo.push_back(Doing::Room);
            }
            Part::MakeDirs(number) if number < self.filesystem.dirs => {
                self.todo.push_back(Doing::Make(DATA_DIR, datadir(number)));
                self.todo.push_back(Doing::Then(Part::MakeDirs(number + 1)));
            }
            Part::MakeDirs(_) => {}
            Part::Decide | Part::Judge => self.build(),
        }
    }

    /// Removes what was found, and makes the directories.
    fn build(&mut self) {
        self.left.files.sort_unstable();
        let mut dir = 0;
        for &(of, file) in &self.left.files {
            if of != dir {
                dir = of;
                self.todo.push_back(Doing::Open(DATA_DIR, datadir(of - 1), SUB_DIR));
            }
            self.todo.push_back(Doing::Unlink(if of == 0 { DATA_DIR } else { SUB_DIR }, file));
        }
        for &number in &self.left.dirs {
            self.todo.push_back(Doing::Remove(DATA_DIR, datadir(number)));
        }
        for meta in &self.left.metas {
            self.todo.push_back(Doing::Remove(META_DIR, c(&meta.name())));
        }
        for (is_there, name) in [(self.left.data, b"data"), (self.left.meta, b"meta")] {
            if !is_there {
                self.todo.push_back(Doing::Make(ROOT, c(name)));
            }
        }
        self.todo.push_back(Doing::Room);
        self.todo.push_back(Doing::Open(ROOT, c(b"data"), DATA_DIR));
        self.todo.push_back(Doing::Then(Part::MakeDirs(0)));
    }

    /// Whether all is there that a run of this profile would make, but for the sizes.
    fn could_be_reused(&self) -> bool {
        let Left { files, dirs, metas, data, meta, .. } = &self.left;
        let mut numbers = HashSet::new();
        let plain = files.iter().all(|(_, file)| match file {
            Ours::Data(number) => *number < NUMBERS_MAX && numbers.insert(number),
            _ => false,
        });
        let wanted = self.filesystem.files;
        let count = wanted == 0 || files.len() as u64 == wanted;
        let below = dirs.iter().all(|&dir| dir < self.filesystem.dirs);
        let all_dirs = below && dirs.len() == self.filesystem.dirs as usize;
        *data && *meta && metas.is_empty() && plain && count && all_dirs && !files.is_empty()
    }

    fn sizes_suit(&self) -> bool {
        self.left.sizes.iter().all(|&bytes| self.fileset().could_make(bytes))
    }

    /// The step of a deed; `None` when it is only a plan.
    fn begin(&mut self, doing: &Doing) -> Option<()> {
        match doing {
            Doing::Then(part) => {
                self.plan(*part);
                return None;
            }
            Doing::List(_, name, dir) => {
                self.name.clone_from(name);
                let number = name.to_bytes().strip_prefix(DATADIR);
                let number =
                    number.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
                self.listed = (*dir, number.map_or(0, |number: u32| number + 1));
            }
            Doing::Open(_, name, _) | Doing::Make(_, name) | Doing::Remove(_, name) => {
                self.name.clone_from(name);
            }
            Doing::Unlink(_, file) => self.name = c(&file.name()),
            Doing::Size(_, dir, file) if *dir == self.listed.1 => self.name = c(&file.name()),
            Doing::Size(_, dir, _) => {
                // First its directory is opened.
                self.listed = (SUB_DIR, *dir);
                if *dir > 0 {
                    self.name = datadir(dir - 1);
                    self.todo.push_front(doing.clone());
                    self.doing = Some(Doing::Open(DATA_DIR, self.name.clone(), SUB_DIR));
                    return Some(());
                }
                self.todo.push_front(doing.clone());
                return None;
            }
            Doing::OpenRoot(_) | Doing::ReadOn(_) | Doing::Room => {}
        }
        self.doing = Some(doing.clone());
        Some(())
    }
}

impl Steps for Prepare {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        self.hear(last);
        loop {
            if self.crew.trouble().is_some() {
                return None;
            }
            let doing = self.todo.pop_front()?;
            if self.begin(&doing).is_some() {
                break;
            }
        }
        let name = self.name.as_c_str();
        Some(match *self.doing.as_ref()? {
            Doing::OpenRoot(root) => Call::OpenRoot { root, into: ROOT }.into(),
            Doing::List(at, _, into) => Call::OpenDir { at, path: name, into }.unless_missing(),
            Doing::Open(at, _, into) => Call::OpenDir { at, path: name, into }.into(),
            Doing::ReadOn(dir) => Call::ReadDir { dir }.into(),
            Doing::Size(at, dir, _) => {
                Call::Size { at: if dir == 0 { at } else { SUB_DIR }, name }.into()
            }
            Doing::Make(at, _) => Call::MakeDir { at, name }.into(),
            Doing::Unlink(at, _) => Call::Unlink { at, path: name }.into(),
            Doing::Remove(at, _) => Call::RemoveDir { at, name }.into(),
            Doing::Room => Call::Statfs { dir: ROOT }.into(),
            Doing::Then(_) => return None,
        })
    }

    /// Whether the files of an earlier run were taken over; nothing when it went no further.
    fn notes(&mut self) -> Vec<u64> {
        if self.crew.trouble().is_some() { Vec::new() } else { vec![u64::from(self.reused)] }
    }
}
