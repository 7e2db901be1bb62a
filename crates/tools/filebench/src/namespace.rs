//! State shared by all workers of a run: the filesets with their entries, and the synchronisation
//! of the workers.

use std::ffi::CString;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use treering_script::{Deadline, DirSlot, Io, MAX_DIRS, Random, SessionError, Stop, WakeSignal};

use super::names::directory;
use super::plan::{FilesetPlan, Plan};
use super::pool::EntryPool;
use super::tally::WorkerReport;
use super::tree::{FilesetTree, ROOT};

/// Maximum number of directories that all workers together keep open.
const OPEN_MAX: u64 = 8192;
/// Minimum number of directories that a worker may keep open.
const OPEN_MIN: u64 = 8;
/// Hundred percent.
const WHOLE_PERCENT: u64 = 100;

/// Fileset of a run.
#[derive(Debug)]
pub(super) struct RunFileset {
    pub(super) plan: FilesetPlan,
    pub(super) tree: FilesetTree,
    pub(super) files: EntryPool,
    pub(super) leaves: EntryPool,
    /// Position of the rotation of listed directories.
    pub(super) dir_rotor: AtomicU32,
    /// Name within its parent directory.
    pub(super) name: CString,
    /// Index of its root among the plan's, in classic mode.
    pub(super) root: u16,
    /// Preallocated files, in the order of their creation.
    pub(super) made_before: Vec<u32>,
    /// Preallocated leaf directories.
    pub(super) leaves_before: Vec<u32>,
}

impl RunFileset {
    fn new(plan: &FilesetPlan, number: usize, root: Option<u16>, alone: bool, seed: u64) -> Self {
        let tree = FilesetTree::new(plan, seed);
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let files = EntryPool::new(count(tree.files.len()), alone, plan.deletes);
        let leaves = EntryPool::new(count(tree.leaves.len()), alone, true);
        let mut random = Random::for_part(seed, &format!("filebench prealloc {}", plan.name));
        let made_before = chosen(count(tree.files.len()), plan.prealloc, &mut random);
        let leaves_before = chosen(count(tree.leaves.len()), plan.prealloc, &mut random);
        made_before.iter().for_each(|file| files.mark_existing(*file));
        leaves_before.iter().for_each(|leaf| leaves.mark_existing(*leaf));
        let name = match root {
            None => directory(number),
            Some(_) => CString::new(plan.name.clone()).unwrap_or_default(),
        };
        Self {
            plan: plan.clone(),
            tree,
            files,
            leaves,
            dir_rotor: AtomicU32::new(0),
            name,
            root: root.unwrap_or(0),
            made_before,
            leaves_before,
        }
    }

    /// Next directory in rotation.
    pub(super) fn next_dir(&self) -> u32 {
        let count = u32::try_from(self.tree.dirs.len()).unwrap_or(u32::MAX).max(1);
        self.dir_rotor.fetch_add(1, Ordering::Relaxed) % count
    }
}

/// Chooses each entry with a probability in percent; the order is random.
fn chosen(count: u32, percent: Option<u64>, random: &mut Random) -> Vec<u32> {
    let percent = percent.unwrap_or(0);
    let mut chosen: Vec<u32> = (0..count)
        .filter(|_| percent >= WHOLE_PERCENT || random.below(WHOLE_PERCENT) < percent)
        .collect();
    random.shuffle(&mut chosen);
    chosen
}

/// Semaphore with a high-water mark, or the event that a `block` waits for.
#[derive(Debug, Default)]
pub(super) struct SyncGate {
    /// Number of posts that were not taken.
    pub(super) posted: AtomicI64,
    /// Number of posts left before blocking posters wait.
    pub(super) room: AtomicI64,
    pub(super) was_posted: WakeSignal,
    pub(super) was_taken: WakeSignal,
}

/// Executions and bytes of a row, summed over all workers.
#[derive(Debug, Default)]
pub(super) struct RowCounter {
    pub(super) count: AtomicU64,
    pub(super) bytes: AtomicU64,
}

/// Synchronisation of the workers.
#[derive(Debug)]
pub(super) struct SharedState {
    pub(super) deadline: Deadline,
    pub(super) gates: Vec<SyncGate>,
    /// Index of the first gate of each worker.
    pub(super) first_gate: Vec<usize>,
    /// Indices of the gates of each row.
    pub(super) gates_of_row: Vec<Vec<usize>>,
    pub(super) watched: Vec<RowCounter>,
    pub(super) total: RowCounter,
    /// Number of events that can be taken.
    pub(super) events: AtomicU64,
    pub(super) event_came: WakeSignal,
    /// Number of workers that have not ended, and of those that wait for another.
    pub(super) working: AtomicU32,
    pub(super) waiting: AtomicU32,
    /// Number of times any worker passed a gate.
    pub(super) passed: AtomicU64,
    /// Number of the requested snapshot, and the last report of each worker.
    pub(super) snapshot: AtomicU64,
    pub(super) reported: Vec<Mutex<WorkerReport>>,
    fatal_error: Mutex<Option<SessionError>>,
}

impl SharedState {
    fn new(plan: &Plan) -> Self {
        let mut gates = Vec::new();
        let mut first_gate = Vec::new();
        let mut gates_of_row = vec![Vec::new(); plan.rows.len()];
        for thread in &plan.threads {
            for _instance in 0..thread.instances {
                first_gate.push(gates.len());
                for (row, highwater) in &thread.gates {
                    gates_of_row[*row].push(gates.len());
                    let room = AtomicI64::new(i64::try_from(*highwater).unwrap_or(i64::MAX));
                    gates.push(SyncGate { room, ..SyncGate::default() });
                }
            }
        }
        let workers = u32::try_from(plan.workers()).unwrap_or(u32::MAX);
        Self {
            deadline: Deadline::default(),
            gates,
            first_gate,
            gates_of_row,
            watched: plan.rows.iter().map(|_| RowCounter::default()).collect(),
            total: RowCounter::default(),
            events: AtomicU64::new(0),
            event_came: WakeSignal::default(),
            working: AtomicU32::new(workers),
            waiting: AtomicU32::new(0),
            passed: AtomicU64::new(0),
            snapshot: AtomicU64::new(0),
            reported: (0..workers).map(|_| Mutex::new(WorkerReport::default())).collect(),
            fatal_error: Mutex::new(None),
        }
    }

    /// Records a fatal error and stops all workers; the first error wins.
    pub(super) fn fail(&self, why: SessionError) {
        let mut fatal_error = self.fatal_error.lock().unwrap_or_else(PoisonError::into_inner);
        fatal_error.get_or_insert(why);
        drop(fatal_error);
        self.deadline.reach();
    }

    /// Fatal error, if there was one.
    pub(super) fn fatal_error(&self) -> Option<SessionError> {
        self.fatal_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds events, of which at most `most` accumulate.
    pub(super) fn events_come(&self, events: u64, most: u64) {
        let more = |before: u64| Some(before.saturating_add(events).min(most));
        let _always = self.events.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        self.event_came.raise();
    }

    /// Takes up to `most` events, and returns their number.
    pub(super) fn take_events(&self, most: u64) -> u64 {
        let less = |before: u64| Some(before.saturating_sub(most));
        let before = self.events.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        before.unwrap_or(0).min(most)
    }
}

/// State shared by all workers of a run.
#[derive(Debug)]
pub(super) struct Namespace {
    pub(super) plan: Plan,
    pub(super) filesets: Vec<RunFileset>,
    pub(super) common: SharedState,
    pub(super) classic: bool,
    /// Number of slots that a worker may fill with directories, beside those of the filesets.
    pub(super) slots: u32,
}

/// Distinct parent paths of the plan's filesets, and for each fileset the index of its path.
pub(super) fn roots(plan: &Plan) -> (Vec<String>, Vec<u16>) {
    let (mut roots, mut of) = (Vec::new(), Vec::new());
    for fileset in &plan.filesets {
        let at = roots.iter().position(|root| *root == fileset.path).unwrap_or_else(|| {
            roots.push(fileset.path.clone());
            roots.len() - 1
        });
        of.push(u16::try_from(at).unwrap_or(0));
    }
    (roots, of)
}

impl Namespace {
    /// Creates the filesets and the synchronisation of a plan; sizes and names are drawn from the
    /// seed.
    pub(super) fn new(plan: &Plan, classic: bool, seed: u64) -> Self {
        let (_, of) = roots(plan);
        let alone = plan.workers() == 1;
        let filesets = plan.filesets.iter().zip(&of).enumerate();
        let filesets: Vec<RunFileset> = filesets
            .map(|(number, (fileset, root))| {
                RunFileset::new(fileset, number, classic.then_some(*root), alone, seed)
            })
            .collect();
        let share = (OPEN_MAX / plan.workers().max(1)).max(OPEN_MIN);
        let room = u64::from(MAX_DIRS) - u64::from(Self::first_slot(filesets.len()));
        let slots = u32::try_from(share.min(room)).unwrap_or(1).max(1);
        Self { plan: plan.clone(), filesets, common: SharedState::new(plan), classic, slots }
    }

    /// Slot of the parent directory of a fileset.
    pub(super) fn above(&self, fileset: usize) -> DirSlot {
        if self.classic { DirSlot(slot(1 + fileset)) } else { DirSlot::TARGET }
    }

    /// Slot of a fileset's root directory.
    pub(super) fn root(&self, fileset: usize) -> DirSlot {
        DirSlot(slot(1 + self.filesets.len() + fileset))
    }

    /// Slot for intermediate directories of a path.
    pub(super) fn passing(&self) -> DirSlot {
        DirSlot(slot(1 + 2 * self.filesets.len()))
    }

    const fn first_slot(filesets: usize) -> u16 {
        // Filesets are few.
        #[expect(clippy::cast_possible_truncation, reason = "at most 64 of them")]
        let first = (2 + 2 * filesets) as u16;
        first
    }

    /// Slot of an open directory, by its number among those that a worker may keep open.
    pub(super) fn slot(&self, number: u32) -> DirSlot {
        DirSlot(Self::first_slot(self.filesets.len()) + u16::try_from(number).unwrap_or(0))
    }

    /// True if the files of a fileset are addressed by paths, since a worker cannot have all of its
    /// directories open.
    pub(super) fn by_path(&self, fileset: usize) -> bool {
        let fileset = &self.filesets[fileset];
        fileset.plan.prealloc.is_some() && fileset.tree.dirs.len() > self.slots as usize
    }

    /// Opens the parent directory of a fileset, unless it is the target.
    pub(super) fn open_above(&self, io: &mut dyn Io, fileset: usize) -> Result<(), Stop> {
        if self.classic {
            io.open_root(self.filesets[fileset].root, self.above(fileset))?;
        }
        Ok(())
    }

    /// Opens a fileset's root directory.
    pub(super) fn open_root(&self, io: &mut dyn Io, fileset: usize) -> Result<(), Stop> {
        io.open_dir(self.above(fileset), &self.filesets[fileset].name, self.root(fileset))
    }

    /// Appends the serial numbers of the path from the fileset's root to a directory.
    pub(super) fn serials(&self, fileset: usize, dir: u32, into: &mut Vec<u32>) {
        debug_assert_ne!(dir, ROOT);
        self.filesets[fileset].tree.serials(dir, into);
    }
}

fn slot(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(MAX_DIRS - 1)
}
