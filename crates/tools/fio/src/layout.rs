//! Files are made before any job begins: those that will be read with content, those that will be
//! written with room.

use std::ffi::CString;
use std::sync::Arc;

use crate::language::{Allocation, Engine};
use serde::{Deserialize, Serialize};
use treering_model::Counters;
use treering_script::{CreateHow, Dir, Expect, File, Io, Script, Stop};

use super::namespace::{Namespace, numbered};
use super::sizes::{Extent, Extents, extents};
use super::tausworthe::Use;
use super::worker::Worker;

const FILE: File = File(0);

/// What became of the files of a clone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Became {
    /// All were there, or need not be.
    #[default]
    Kept,
    /// Some were made.
    Made,
    /// Nothing says how long they are to be.
    Unsized,
    /// One could not be made, for this error.
    Failed(i32),
}

/// What was found and done before a clone begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LaidOut {
    pub(super) became: Became,
    /// The sizes of the files as they were found.
    pub(super) found_bytes: Vec<u64>,
}

/// Makes the directories of a native run.
pub(super) struct MakeDirectories {
    names: Vec<CString>,
}

impl MakeDirectories {
    /// Those of these names: letters and digits, so that there is no NUL.
    pub(super) fn of(names: &[String]) -> Self {
        let named = |name: &String| CString::new(name.as_str()).unwrap_or_default();
        Self { names: names.iter().map(named).collect() }
    }
}

impl Script for MakeDirectories {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.names.iter().try_for_each(|name| io.make_dir(Dir::TARGET, name))
    }
}

/// The names of the directories below the target.
pub(super) fn names(namespace: &Namespace) -> Vec<CString> {
    MakeDirectories::of(&numbered(namespace.directories.len())).names
}

/// Makes the files of one clone.
pub(super) struct Layout {
    worker: Arc<Worker>,
    namespace: Arc<Namespace>,
    names: Vec<CString>,
    found: Vec<u64>,
    extents: Result<Extents, super::sizes::Unsized>,
    made: bool,
    /// Why a file could not be made.
    error: Option<i32>,
}

impl Layout {
    pub(super) fn new(worker: Arc<Worker>, namespace: Arc<Namespace>) -> Self {
        let (names, extents) = (names(&namespace), Ok(Extents::default()));
        Self { names, worker, namespace, found: Vec::new(), extents, made: false, error: None }
    }

    /// Whether the files need content.
    fn fills(&self) -> bool {
        let job = &self.worker.job;
        // Nothing can be mapped that is not there: the original fills such files too.
        job.rw.reads || job.overwrite && !job.extras.appends || job.engine == Engine::Mmap
    }

    /// Makes a file anew that is too short: all of it up to its end.
    fn make(&self, io: &mut dyn Io, number: usize, end: u64) -> Result<(), Stop> {
        let (job, file) = (&self.worker.job, &self.worker.files[number]);
        let grows = job.extras.appends && !job.rw.reads;
        if !grows {
            io.unlink(file.dir(), &file.name).unless_missing()?;
        }
        let how = if grows { CreateHow::OrOpen } else { CreateHow::Truncate };
        io.create(file.dir(), &file.name, how, FILE)?;
        match job.allocation {
            Allocation::None => {}
            Allocation::Truncate => io.truncate(FILE, end)?,
            // What the filesystem cannot do is left out.
            how => _ = io.allocate(FILE, 0, end, how == Allocation::Keep).or_errno()?,
        }
        if self.fills() {
            io.truncate(FILE, end)?;
            let mut position = 0;
            while position < end {
                let bytes = job.blocks[1].most.min(end - position);
                io.write(FILE, u32::try_from(bytes).unwrap_or(0), position)?;
                position += bytes;
            }
            if job.create_fsync {
                io.fsync(FILE)?;
            }
        }
        if job.engine.uses_cache() {
            let start = self.found.get(number).copied().unwrap_or(0);
            io.forget(FILE, start, end.saturating_sub(start))?;
        }
        io.close(FILE)
    }
}

impl Script for Layout {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let worker = Arc::clone(&self.worker);
        for number in worker.directories() {
            io.call(&self.namespace.open(number, &self.names[usize::from(number)]))?;
        }
        for file in &worker.files {
            let size = io.size(file.dir(), &file.name).unless_missing()?;
            self.found.push(size.unwrap_or(0));
        }
        let draws = worker.seeds.generator(Use::FileSize);
        self.extents = extents(&worker.job, worker.number, &self.found, draws);
        let job = &worker.job;
        let leaves = job.create_on_open
            || job.engine.is_without_files()
            || job.extras.replay.is_some()
            || job.extras.is_readonly;
        let Some(extents) = self.extents.as_ref().ok().filter(|_| !leaves) else { return Ok(()) };
        let short = |(_, extent): &(usize, &Extent)| extent.is_short();
        let short: Vec<(usize, u64)> =
            extents.files.iter().enumerate().filter(short).map(|(n, one)| (n, one.end())).collect();
        self.made = !short.is_empty();
        for (number, end) in short {
            let made = self.make(io, number, end);
            if !self.namespace.classic {
                made?;
            } else if let Err(errno) = made.or_errno()? {
                // As the original: it is the error of this job, and the others run.
                self.error = Some(errno.raw_os_error());
                break;
            }
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        let became = match (&self.extents, self.error) {
            (Err(_), _) => Became::Unsized,
            (_, Some(errno)) => Became::Failed(errno),
            (Ok(_), None) if self.made => Became::Made,
            (Ok(_), None) => Became::Kept,
        };
        Counters::of(&LaidOut { became, found_bytes: std::mem::take(&mut self.found) })
    }
}
