//! Carries out maintenance: the code of its tasks, and the check that the filesystem can do it.

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

use treering_model::Counters;
use treering_script::{
    CreateHow, DirSlot, Errno, ExpectedErrors, Io, OpenHow, Script, Stop, SyncScope,
};

use super::plan::{MaintenanceKind, MaintenancePart, MaintenancePlan};
use crate::calls::{FILE, HERE, OTHER, ROOT, ROOT_DIR, c_string, path, root_path, write};
use crate::generator::OperationGenerator;
use crate::operation::LiveFile;
use crate::profile::{FilesPlan, Model, OperationKind};
use crate::steps::{StepCounters, StepRecord};

/// Size of one read, in bytes.
const READ_BYTES: u32 = 1 << 17;
/// Size of the ranges that deduplication compares between a copy and its original. A range with one
/// changed block stays unshared.
const DEDUPE_BYTES: u64 = 1 << 17;
/// Unit in which all of these filesystems store data, in bytes.
const BLOCK_BYTES: u64 = 4096;
/// Size of the file on which required calls are tested, in bytes.
const PROBE_BYTES: u64 = 1 << 16;
/// Size of the range whose free space is discarded to test the call, in bytes.
const TRIM_PROBE_BYTES: u64 = 1 << 20;
/// Subvolume made to test snapshots.
const PROBE_VOLUME: &CStr = c"probe-3";

/// Writes back dirty data; a full filesystem is tolerated.
fn sync_what_fits(io: &mut dyn Io) -> Result<(), Stop> {
    io.sync(SyncScope::Target).unless_full().map(|_without_space| ())
}

/// Code of a part of a run of maintenance.
#[derive(Debug)]
pub(crate) struct MaintenanceScript {
    index: usize,
    part: MaintenancePart,
    generator: Arc<Mutex<OperationGenerator>>,
    /// Files to work on, each with the index of its population.
    taken: Arc<Vec<(usize, LiveFile)>>,
    /// Number of operations before this run.
    operations: u64,
    live_bytes: u64,
    /// True if an interrupted run may have left a snapshot of the same number.
    is_resumed: bool,
}

impl MaintenanceScript {
    pub(crate) fn new(
        (index, part): (usize, MaintenancePart),
        generator: &Arc<Mutex<OperationGenerator>>,
        taken: &Arc<Vec<(usize, LiveFile)>>,
        (operations, live_bytes): (u64, u64),
        is_resumed: bool,
    ) -> Self {
        let (generator, taken) = (Arc::clone(generator), Arc::clone(taken));
        Self { index, part, generator, taken, operations, live_bytes, is_resumed }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, OperationGenerator> {
        self.generator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_all(&self, io: &mut dyn Io, plans: &[FilesPlan]) -> Result<(), Stop> {
        for (files, live) in self.taken.iter() {
            for path in paths(&plans[*files], live) {
                io.open(ROOT_DIR, &c_string(path), OpenHow::Read, FILE)?;
                while io.read(FILE, READ_BYTES)? > 0 {}
                io.close(FILE)?;
            }
        }
        Ok(())
    }

    fn defragment(&self, io: &mut dyn Io, plans: &[FilesPlan]) -> Result<(), Stop> {
        for (files, live) in self.taken.iter() {
            for path in paths(&plans[*files], live) {
                let (parent, _) = path.rsplit_once('/').unwrap_or(("", &path));
                io.open_dir(ROOT_DIR, &c_string(parent.to_owned()), HERE)?;
                io.open(ROOT_DIR, &c_string(path), OpenHow::ReadWrite, FILE)?;
                // A file that finds no other place stays where it is.
                let _without_space = io.defragment(FILE, HERE).unless_full()?;
                io.close(FILE)?;
            }
        }
        sync_what_fits(io)
    }

    /// Shares the blocks of copies with their originals where both are still equal.
    fn dedupe(&self, io: &mut dyn Io, plans: &[FilesPlan]) -> Result<(), Stop> {
        for (files, plan) in plans.iter().enumerate() {
            let standing = self.lock().standing(files);
            let standing: HashMap<u64, &LiveFile> =
                standing.iter().map(|live| (live.id, live)).collect();
            for (_, copy) in self.taken.iter().filter(|(own, _)| *own == files) {
                let original = self.lock().original(files, copy.id);
                let Some(original) = original.and_then(|id| standing.get(&id)) else { continue };
                io.open(ROOT_DIR, &c_string(path(plan, original)), OpenHow::Read, FILE)?;
                io.open(ROOT_DIR, &c_string(path(plan, copy)), OpenHow::ReadWrite, OTHER)?;
                let common = if original.bytes == copy.bytes {
                    copy.bytes
                } else {
                    // A range that ends inside of a block must end both files.
                    original.bytes.min(copy.bytes) / BLOCK_BYTES * BLOCK_BYTES
                };
                let mut start = 0;
                while start < common {
                    let bytes = (common - start).min(DEDUPE_BYTES);
                    if io.dedupe(FILE, OTHER, start, bytes).unless_full()?.is_err() {
                        break;
                    }
                    start += bytes;
                }
                io.close(FILE)?;
                io.close(OTHER)?;
            }
        }
        sync_what_fits(io)
    }

    /// Makes a snapshot of all files, and deletes the oldest beyond the number to keep. A full
    /// filesystem is left without a new snapshot.
    fn snapshot(&self, io: &mut dyn Io, plan: &MaintenancePlan) -> Result<(), Stop> {
        let number = plan.number(self.operations);
        let name = |number: u64| c_string(format!("snapshot-{number}"));
        io.open_dir(DirSlot::TARGET, &c_string(ROOT.to_owned()), HERE)?;
        if let Some(oldest) = number.checked_sub(plan.keep).filter(|oldest| *oldest > 0) {
            io.destroy_subvolume(HERE, &name(oldest)).unless_missing()?;
        }
        let made = io.snapshot(ROOT_DIR, HERE, &name(number));
        if !self.is_resumed {
            let _without_space = made.unless_full()?;
        } else if matches!(made.unless_existing().unless_full()?, Ok(None)) {
            // The interrupted run has made it, with other files.
            io.destroy_subvolume(HERE, &name(number))?;
            let _without_space = io.snapshot(ROOT_DIR, HERE, &name(number)).unless_full()?;
        }
        sync_what_fits(io)
    }

    fn work(&self, io: &mut dyn Io) -> Result<(), Stop> {
        let model = self.lock().model().clone();
        let Some(plan) = model.maintenance.get(self.index) else { return Ok(()) };
        io.open_dir(DirSlot::TARGET, &c_string(root_path(&model)), ROOT_DIR)?;
        if self.part != MaintenancePart::Work {
            return self.read_all(io, &model.files);
        }
        match plan.kind {
            MaintenanceKind::Read => self.read_all(io, &model.files),
            MaintenanceKind::Trim => io.trim(ROOT_DIR, u64::MAX),
            MaintenanceKind::Balance => {
                // Without space for another chunk it ends early, and what it moved stays.
                let _without_space = io.balance(ROOT_DIR, plan.usage).unless_full()?;
                Ok(())
            }
            MaintenanceKind::Defrag => self.defragment(io, &model.files),
            MaintenanceKind::Dedupe => self.dedupe(io, &model.files),
            MaintenanceKind::Snapshot => self.snapshot(io, plan),
        }
    }
}

/// Paths of the files of a plain file or of a unit.
fn paths(plan: &FilesPlan, live: &LiveFile) -> Vec<String> {
    let path = path(plan, live);
    match live.files {
        None => vec![path],
        Some(count) => (0..count).map(|number| format!("{path}/f{number}")).collect(),
    }
}

impl Script for MaintenanceScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.work(io)
    }

    fn counters(&mut self) -> Counters {
        let step = StepRecord {
            live_bytes: self.live_bytes,
            drawn_print: self.lock().fingerprint().number(),
            maintained: Some(self.index),
            ..StepRecord::default()
        };
        let only_reads = self.part != MaintenancePart::Work;
        Counters::from_value(&StepCounters { step, only_reads, ..StepCounters::default() })
    }
}

/// Tests the calls that a profile needs on a file in the root of the run. Returns the first that
/// fails, with its error.
pub(crate) fn first_refused(io: &mut dyn Io, model: &Model) -> Result<Option<String>, Stop> {
    let has = |kind: MaintenanceKind| model.maintenance.iter().any(|plan| plan.kind == kind);
    let (probe, other) = (c"probe", c"probe-2");
    let wants: [(&str, bool); 7] = [
        ("trim", has(MaintenanceKind::Trim)),
        ("balance", has(MaintenanceKind::Balance)),
        ("defrag", has(MaintenanceKind::Defrag)),
        ("dedupe", has(MaintenanceKind::Dedupe)),
        ("snapshot", has(MaintenanceKind::Snapshot)),
        ("reflink", model.does(OperationKind::Reflink)),
        ("punch", model.does(OperationKind::Punch)),
    ];
    if wants.iter().all(|(_, is_wanted)| !is_wanted) {
        return Ok(None);
    }
    io.create(ROOT_DIR, probe, CreateHow::ExclusiveToRead, FILE)?;
    io.create(ROOT_DIR, other, CreateHow::ExclusiveToRead, OTHER)?;
    write(io, 0, PROBE_BYTES)?;
    io.fsync(FILE)?;
    let mut refused = None;
    for (what, _) in wants.iter().filter(|(_, is_wanted)| *is_wanted) {
        let tried = match *what {
            "trim" => io.trim(ROOT_DIR, TRIM_PROBE_BYTES),
            // Chunks without data are given back at any time.
            "balance" => io.balance(ROOT_DIR, 0),
            "defrag" => io.defragment(FILE, ROOT_DIR),
            "dedupe" => {
                io.copy(FILE, OTHER, READ_BYTES, 0)?;
                io.dedupe(FILE, OTHER, 0, PROBE_BYTES).map(|_bytes| ())
            }
            "snapshot" => io.make_subvolume(ROOT_DIR, PROBE_VOLUME).and_then(|()| {
                let destroyed = io.destroy_subvolume(ROOT_DIR, PROBE_VOLUME);
                destroyed.or_else(|stop| io.remove_dir(ROOT_DIR, PROBE_VOLUME).and(Err(stop)))
            }),
            "reflink" => io.reflink(FILE, OTHER),
            _ => io.punch(FILE, 0, BLOCK_BYTES),
        };
        if let Err(errno) = tried.or_errno()? {
            refused = Some(format!("{what} ({})", why(errno)));
            break;
        }
    }
    io.close(FILE)?;
    io.close(OTHER)?;
    io.unlink(ROOT_DIR, probe)?;
    io.unlink(ROOT_DIR, other)?;
    Ok(refused)
}

/// Reason of a failed call in words.
fn why(errno: Errno) -> String {
    match errno {
        Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS => {
            "not supported by it as it was made, or by its device".to_owned()
        }
        Errno::PERM | Errno::ACCESS => "root is needed".to_owned(),
        errno => errno.to_string(),
    }
}
