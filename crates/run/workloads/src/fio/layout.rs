//! Files are made before any job begins: those that will be read with content, those that will be
//! written with room.

use std::ffi::CString;
use std::sync::Arc;

use treering_script::{Call, CreateHow, File, Outcome, Step, Steps, Tolerate};

use super::jobfile::{Allocation, Engine};
use super::land::{Land, directory};
use super::sizes::{Extents, extents};
use super::tausworthe::Use;
use super::worker::Worker;

const FILE: File = File(0);
/// What the first note says.
pub(super) const KEPT: u64 = 0;
pub(super) const MADE: u64 = 1;
pub(super) const UNSIZED: u64 = 2;

/// Makes the directories of a native run.
pub(super) struct MakeDirectories {
    names: Vec<CString>,
    next: usize,
}

impl MakeDirectories {
    pub(super) fn new(land: &Land) -> Self {
        Self::of(land.directories.len())
    }

    /// So many of them.
    pub(super) fn of(count: usize) -> Self {
        Self { names: numbered(count), next: 0 }
    }
}

impl Steps for MakeDirectories {
    fn next<'s>(&'s mut self, _last: Outcome<'_>) -> Option<Step<'s>> {
        let name = self.names.get(self.next)?;
        self.next += 1;
        Some(Call::MakeDir { at: treering_script::Dir::TARGET, name }.into())
    }
}

/// The names of the directories below the target.
pub(super) fn names(land: &Land) -> Vec<CString> {
    numbered(land.directories.len())
}

fn numbered(count: usize) -> Vec<CString> {
    // Letters and digits: there is no NUL.
    let name = |number| CString::new(directory(number)).unwrap_or_default();
    (0..count).map(name).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Directories,
    Sizes,
    Unlink,
    Create,
    Allocate,
    Truncate,
    Write,
    Fsync,
    Forget,
    Close,
    Next,
}

/// Makes the files of one clone.
pub(super) struct Layout {
    worker: Arc<Worker>,
    land: Arc<Land>,
    names: Vec<CString>,
    directories: Vec<u16>,
    stage: Stage,
    place: usize,
    found: Vec<u64>,
    extents: Result<Extents, super::sizes::Unsized>,
    written: u64,
    made: bool,
}

impl Layout {
    pub(super) fn new(worker: Arc<Worker>, land: Arc<Land>) -> Self {
        Self {
            names: names(&land),
            directories: worker.directories(),
            worker,
            land,
            stage: Stage::Directories,
            place: 0,
            found: Vec::new(),
            extents: Ok(Extents::default()),
            written: 0,
            made: false,
        }
    }

    /// Whether the files need content.
    fn fills(&self) -> bool {
        let job = &self.worker.job;
        // Nothing can be mapped that is not there: the original fills such files too.
        job.deed.reads || job.overwrite || job.engine == Engine::Mmap
    }

    fn go(&mut self, stage: Stage) {
        self.stage = stage;
    }

    fn sized(&mut self) {
        let worker = &self.worker;
        let draws = worker.seeds.generator(Use::FileSize);
        self.extents = extents(&worker.job, worker.number, &self.found, draws);
        self.place = 0;
        let short = |extents: &Extents| extents.files.iter().any(super::sizes::Extent::is_short);
        let job = &worker.job;
        let leaves =
            job.create_on_open || job.engine.is_without_files() || job.extras.replay.is_some();
        let makes = !leaves && self.extents.as_ref().is_ok_and(short);
        self.made = makes;
        self.go(Stage::Next);
        if makes {
            self.skip_whole();
        } else {
            self.place = usize::MAX;
        }
    }

    /// Goes on to the next file that is too short.
    fn skip_whole(&mut self) {
        let files = self.extents.as_ref().map_or(&[][..], |extents| extents.files.as_slice());
        let short = files.iter().skip(self.place).position(super::sizes::Extent::is_short);
        match short {
            Some(after) => {
                self.place += after;
                self.written = 0;
                self.stage = Stage::Unlink;
            }
            None => (self.place, self.stage) = (usize::MAX, Stage::Next),
        }
    }

    fn end(&self) -> u64 {
        let extents = self.extents.as_ref().ok();
        extents
            .and_then(|extents| extents.files.get(self.place))
            .map_or(0, super::sizes::Extent::end)
    }

    /// The stage after allocation.
    fn content(&self) -> Stage {
        if self.fills() { Stage::Truncate } else { self.end_stage() }
    }

    /// The stage when all is in the file.
    fn end_stage(&self) -> Stage {
        if self.worker.job.engine.uses_cache() { Stage::Forget } else { Stage::Close }
    }

    fn step(&mut self) -> Option<Step<'_>> {
        let (end, stage) = (self.end(), self.stage);
        let worker = Arc::clone(&self.worker);
        let job = &worker.job;
        let name = self.place;
        let call = match stage {
            Stage::Directories | Stage::Sizes | Stage::Next => return None,
            Stage::Unlink => {
                self.go(Stage::Create);
                let file = self.worker.files.get(name)?;
                let unlink = Call::Unlink { at: file.dir(), path: &file.name };
                return Some(Step { tolerate: Tolerate::Missing, ..unlink.into() });
            }
            Stage::Create => {
                let none = job.allocation == Allocation::None;
                self.go(if none { self.content() } else { Stage::Allocate });
                let file = self.worker.files.get(name)?;
                let (at, path) = (file.dir(), file.name.as_c_str());
                Call::Create { at, path, how: CreateHow::Truncate, into: FILE }
            }
            Stage::Allocate => {
                self.go(self.content());
                let keep_size = job.allocation == Allocation::Keep;
                if job.allocation == Allocation::Truncate {
                    return Some(Call::Truncate { file: FILE, bytes: end }.into());
                }
                let allocate = Call::Allocate { file: FILE, start: 0, bytes: end, keep_size };
                // What the filesystem cannot do is left out.
                return Some(allocate.whatever_happens());
            }
            Stage::Truncate => {
                self.go(Stage::Write);
                Call::Truncate { file: FILE, bytes: end }
            }
            Stage::Write => {
                let most = job.blocks[1].most;
                let bytes = most.min(end - self.written);
                let position = self.written;
                self.written += bytes;
                if self.written >= end {
                    self.go(if job.create_fsync { Stage::Fsync } else { self.end_stage() });
                }
                Call::Write { file: FILE, bytes: u32::try_from(bytes).unwrap_or(0), position }
            }
            Stage::Fsync => {
                self.go(self.end_stage());
                Call::Fsync { file: FILE }
            }
            Stage::Forget => {
                self.go(Stage::Close);
                let start = self.found.get(name).copied().unwrap_or(0);
                Call::Forget { file: FILE, start, bytes: end.saturating_sub(start) }
            }
            Stage::Close => {
                self.place += 1;
                self.skip_whole();
                Call::Close { file: FILE }
            }
        };
        Some(call.into())
    }
}

impl Steps for Layout {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        if self.stage == Stage::Directories {
            if let Some(&number) = self.directories.get(self.place) {
                self.place += 1;
                let name = &self.names[usize::from(number)];
                return Some(self.land.open(number, name).into());
            }
            (self.stage, self.place) = (Stage::Sizes, 0);
        } else if self.stage == Stage::Sizes {
            self.found.push(if let Outcome::Size(bytes) = last { bytes } else { 0 });
            self.place += 1;
        }
        if self.stage == Stage::Sizes {
            if self.place < self.worker.files.len() {
                let file = &self.worker.files[self.place];
                let size = Call::Size { at: file.dir(), name: &file.name };
                return Some(Step { tolerate: Tolerate::Missing, ..size.into() });
            }
            self.sized();
        }
        self.step()
    }

    /// What became of it, then the sizes that were found.
    fn notes(&mut self) -> Vec<u64> {
        let became = match (&self.extents, self.made) {
            (Err(_), _) => UNSIZED,
            (Ok(_), true) => MADE,
            (Ok(_), false) => KEPT,
        };
        let mut notes = vec![became];
        notes.append(&mut self.found);
        notes
    }
}
