//! Layout of files before any job begins: files to be read are filled, files to be written are
//! preallocated.

use std::ffi::CString;
use std::sync::Arc;

use crate::language::{Engine, Preallocation};
use serde::{Deserialize, Serialize};
use treering_model::Counters;
use treering_script::{CreateHow, DirSlot, ExpectedErrors, FileSlot, Io, Script, Stop};

use super::namespace::Namespace;
use super::sizes::{Extent, Extents, extents};
use super::tausworthe::SeedUse;
use super::worker::Worker;

const FILE: FileSlot = FileSlot(0);

/// Outcome of laying out the files of a clone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LayoutOutcome {
    /// Every file existed, or none is needed.
    #[default]
    Kept,
    /// Some files were created or extended.
    Made,
    /// No option determines the size of the files.
    Unsized,
    /// The file of this number is missing or too short, and the job works in place.
    Absent(usize),
    /// A file could not be created, with this errno.
    Failed(i32),
}

/// State of a clone's files before the clone begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LayoutCounters {
    pub(super) became: LayoutOutcome,
    /// Sizes of the files before layout.
    pub(super) found_bytes: Vec<u64>,
}

/// Task that creates the directories of a native run.
pub(super) struct MakeDirectories {
    names: Vec<CString>,
}

impl MakeDirectories {
    /// Takes the names of the directories, which hold letters and digits only, so never a NUL.
    pub(super) fn new(names: &[String]) -> Self {
        let named = |name: &String| CString::new(name.as_str()).unwrap_or_default();
        Self { names: names.iter().map(named).collect() }
    }
}

impl Script for MakeDirectories {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.names.iter().try_for_each(|name| io.make_dir(DirSlot::TARGET, name))
    }
}

/// The names of the directories below the target.
pub(super) fn names(namespace: &Namespace) -> Vec<CString> {
    MakeDirectories::new(&namespace.names()).names
}

/// Task that creates the files of one clone.
pub(super) struct Layout {
    worker: Arc<Worker>,
    namespace: Arc<Namespace>,
    names: Vec<CString>,
    found: Vec<u64>,
    extents: Result<Extents, super::sizes::SizeError>,
    made: bool,
    /// Number of a file that is missing or too short for a job that works in place.
    absent: Option<usize>,
    /// Errno of the file that could not be created.
    error: Option<i32>,
}

impl Layout {
    pub(super) fn new(worker: Arc<Worker>, namespace: Arc<Namespace>) -> Self {
        let (names, extents) = (names(&namespace), Ok(Extents::default()));
        Self {
            names,
            worker,
            namespace,
            found: Vec::new(),
            extents,
            made: false,
            absent: None,
            error: None,
        }
    }

    /// True if the files must be filled with data.
    fn fills(&self) -> bool {
        let job = &self.worker.job;
        // Only existing data can be mapped: the original fills such files too.
        job.rw.reads || job.overwrite && !job.extras.appends || job.engine == Engine::Mmap
    }

    /// Creates a file of `end` bytes, replacing one that is too short.
    fn make(&self, io: &mut dyn Io, number: usize, end: u64) -> Result<(), Stop> {
        let (job, file) = (&self.worker.job, &self.worker.files[number]);
        let grows = job.extras.appends && !job.rw.reads;
        if !grows {
            io.unlink(file.dir(), &file.name).unless_missing()?;
        }
        let how = if grows { CreateHow::OrOpen } else { CreateHow::Truncate };
        io.create(file.dir(), &file.name, how, FILE)?;
        match job.allocation {
            Preallocation::None => {}
            Preallocation::Truncate => io.truncate(FILE, end)?,
            // Preallocation is skipped if the filesystem does not support it.
            how => _ = io.allocate(FILE, 0, end, how == Preallocation::Keep).or_errno()?,
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
            let size = io.size(file.dir(), &file.name);
            if file.is_device && self.namespace.classic {
                match size.or_errno()? {
                    Ok(bytes) => self.found.push(bytes),
                    Err(errno) => {
                        self.error = Some(errno.raw_os_error());
                        return Ok(());
                    }
                }
                continue;
            }
            let size = if file.is_device { Some(size?) } else { size.unless_missing()? };
            if self.namespace.in_place && size.is_none() {
                self.absent = Some(self.found.len());
                return Ok(());
            }
            self.found.push(size.unwrap_or(0));
        }
        let draws = worker.seeds.generator(SeedUse::FileSize);
        self.extents = extents(&worker.job, worker.number, &self.found, draws);
        let job = &worker.job;
        let leaves = job.create_on_open
            || job.engine.is_without_files()
            || job.extras.replay.is_some()
            || job.extras.is_readonly;
        let Some(extents) = self.extents.as_ref().ok().filter(|_| !leaves) else { return Ok(()) };
        // The length of a device cannot be changed.
        let short = |(number, extent): &(usize, &Extent)| {
            extent.is_short() && !worker.files[*number].is_device
        };
        let short: Vec<(usize, u64)> =
            extents.files.iter().enumerate().filter(short).map(|(n, one)| (n, one.end())).collect();
        if let (true, Some((number, _))) = (self.namespace.in_place, short.first()) {
            self.absent = Some(*number);
            return Ok(());
        }
        self.made = !short.is_empty();
        for (number, end) in short {
            let made = self.make(io, number, end);
            if !self.namespace.classic {
                made?;
            } else if let Err(errno) = made.or_errno()? {
                // As in the original, the error belongs to this job, and the others run.
                self.error = Some(errno.raw_os_error());
                break;
            }
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        let became = match (&self.extents, self.error, self.absent) {
            (_, _, Some(number)) => LayoutOutcome::Absent(number),
            (Err(_), ..) => LayoutOutcome::Unsized,
            (_, Some(errno), _) => LayoutOutcome::Failed(errno),
            (Ok(_), ..) if self.made => LayoutOutcome::Made,
            (Ok(_), ..) => LayoutOutcome::Kept,
        };
        Counters::from_value(&LayoutCounters {
            became,
            found_bytes: std::mem::take(&mut self.found),
        })
    }
}
