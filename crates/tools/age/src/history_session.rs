//! Session that replays a history: the first commit fills the tree, the others age it. If a rule
//! that could not be foreseen ends a run in fast-forward, the remaining allocated files are written
//! then.

use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use treering_model::{Caution, Counters, Fact, Fingerprint, Metric, Op};
use treering_script::{
    Conductor, CreateHow, DirSlot, ExpectedErrors, Io, LayoutFeed, OpenHow, ParallelGroup, Script,
    Session, SessionResult, Stop, SyncScope, Task,
};

use super::calls::{DataMode, FILE, HERE, ROOT, ROOT_DIR, WriteOutcome, create, write};
use super::ending::EndingMonitor;
use super::fast_forward::ReplayLookahead;
use super::history::{FilesystemChange, ReplayState, beside};
use super::progress::{AGE, FILL, RunProgress};
use treering_kit::ahead::{AheadCounters, WRITE, can_allocate};

/// The replay, and the fingerprint of what was replayed.
#[derive(Debug)]
struct SharedReplay {
    replay: ReplayState,
    print: Fingerprint,
    lookahead: Option<ReplayLookahead>,
}

/// Session of a run.
pub(super) struct HistorySession {
    shared: Arc<Mutex<SharedReplay>>,
    progress: RunProgress,
    measure_every: u64,
}

impl HistorySession {
    pub(super) fn new(
        replay: ReplayState,
        ending: EndingMonitor,
        measure_every: u64,
        lookahead: Option<ReplayLookahead>,
    ) -> Self {
        let shared = SharedReplay { replay, print: Fingerprint::new(), lookahead };
        let shared = Arc::new(Mutex::new(shared));
        Self { shared, progress: RunProgress::new(ending), measure_every }
    }

    fn shared(&self) -> MutexGuard<'_, SharedReplay> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of commits left.
    fn remaining_steps(&self) -> u64 {
        self.shared().replay.remaining_steps()
    }

    /// Maximum number of commits still to replay, capped by a rule that counts operations.
    fn steps_to_replay(&self) -> u64 {
        self.progress.ending.operations_left().unwrap_or(u64::MAX).min(self.remaining_steps())
    }

    /// True once every live file has real data.
    fn is_written(&self) -> bool {
        self.shared().lookahead.as_ref().is_none_or(ReplayLookahead::is_written)
    }

    /// Replays this many commits in a group of their own; the first commit makes the root.
    fn replay(
        &mut self,
        steps: u64,
        is_first: bool,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let shared = Arc::clone(&self.shared);
        let script = ReplayScript { shared, steps, is_first, counted: AheadCounters::default() };
        let kind = if is_first { FILL } else { AGE };
        let task = Task::new(kind, &format!("{steps} commits"), Op::Create, Box::new(script));
        let group = ParallelGroup::new(vec![task]);
        self.progress.run_group(group, conductor)
    }
}

impl Session for HistorySession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        conductor.phase(self.progress.begin(FILL, 1))?;
        self.replay(1, true, conductor)?;
        if self.remaining_steps() > 0 {
            self.progress.ending.begin_first_step();
            let tasks = self.steps_to_replay().div_ceil(self.measure_every);
            conductor.phase(self.progress.begin(AGE, tasks))?;
            while self.remaining_steps() > 0 && !self.progress.ending.is_over() {
                self.replay(self.steps_to_replay().min(self.measure_every), false, conductor)?;
            }
            self.progress.check()?;
        }
        if !self.is_written() {
            conductor.phase(self.progress.begin(WRITE, 1))?;
            let script = WriteAllocatedScript {
                shared: Arc::clone(&self.shared),
                counted: AheadCounters::default(),
            };
            let task = Task::new(WRITE, "what was allocated", Op::Write, Box::new(script));
            self.progress.run_group(ParallelGroup::new(vec![task]), conductor)?;
        }
        Ok(())
    }

    fn layouts(&self) -> Option<LayoutFeed> {
        self.progress.layouts()
    }

    fn facts(&self) -> Vec<Fact> {
        let shared = self.shared();
        self.progress.facts([
            ("age.live_bytes", shared.replay.live_bytes().to_string()),
            ("age.fingerprint", shared.print.text()),
        ])
    }

    fn metrics(&self) -> Vec<Metric> {
        self.progress.metrics()
    }

    fn cautions(&self) -> Vec<Caution> {
        self.progress.cautions()
    }

    fn remains(&self) -> Vec<String> {
        self.progress.remains()
    }
}

/// Script that replays this many commits.
#[derive(Debug)]
struct ReplayScript {
    shared: Arc<Mutex<SharedReplay>>,
    steps: u64,
    is_first: bool,
    counted: AheadCounters,
}

fn c_string(path: &[u8]) -> CString {
    CString::new(path).expect("the reader of histories refuses NUL")
}

/// Makes a call with the last component of a path, relative to its open directory.
fn within(
    io: &mut dyn Io,
    path: &[u8],
    call: impl FnOnce(&mut dyn Io, DirSlot, &CString) -> Result<(), Stop>,
) -> Result<(), Stop> {
    match path.iter().rposition(|byte| *byte == b'/') {
        None => call(io, ROOT_DIR, &c_string(path)),
        Some(slash) => {
            io.open_dir(ROOT_DIR, &c_string(&path[..slash]), HERE)?;
            call(io, HERE, &c_string(&path[slash + 1..]))
        }
    }
}

impl ReplayScript {
    fn lock(&self) -> MutexGuard<'_, SharedReplay> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&mut self, io: &mut dyn Io, effect: &FilesystemChange) -> Result<WriteOutcome, Stop> {
        match effect {
            FilesystemChange::MakeDir(path) => {
                within(io, path, |io, dir, name| io.make_dir(dir, name))?;
            }
            FilesystemChange::RemoveDir(path) => {
                within(io, path, |io, dir, name| io.remove_dir(dir, name))?;
            }
            FilesystemChange::Unlink(path) => {
                io.unlink(ROOT_DIR, &c_string(path))?;
                if let Some(lookahead) = &mut self.lock().lookahead {
                    lookahead.deleted(path);
                }
            }
            FilesystemChange::Create(path, bytes) => {
                let mut data = (DataMode::Written, *bytes);
                let lookahead = self
                    .lock()
                    .lookahead
                    .as_mut()
                    .map(|lookahead| lookahead.allocates(path, *bytes));
                if lookahead == Some(true) {
                    let ahead_bytes = &mut self.counted.ahead_bytes;
                    *ahead_bytes = ahead_bytes.saturating_add_unsigned(*bytes);
                    data.0 = DataMode::Allocated;
                }
                return create(io, &c_string(path), CreateHow::Exclusive, data, false);
            }
            FilesystemChange::Replace { path, bytes, is_synced } => {
                let new = c_string(&beside(path));
                let data = (DataMode::Written, *bytes);
                let wrote = create(io, &new, CreateHow::Exclusive, data, *is_synced)?;
                if matches!(wrote, WriteOutcome::All) {
                    within(io, path, |io, dir, name| {
                        io.rename(dir, &c_string(&beside(name.as_bytes())), dir, name)
                    })?;
                }
                return Ok(wrote);
            }
            FilesystemChange::Append { path, from, bytes } => {
                io.open(ROOT_DIR, &c_string(path), OpenHow::Append, FILE)?;
                let wrote = write(io, *from, *bytes)?;
                io.close(FILE)?;
                return Ok(wrote);
            }
        }
        Ok(WriteOutcome::All)
    }
}

impl Script for ReplayScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let root = c_string(ROOT.as_bytes());
        if self.is_first {
            io.make_dir(DirSlot::TARGET, &root)?;
        }
        io.open_dir(DirSlot::TARGET, &root, ROOT_DIR)?;
        let probes = self.is_first && self.lock().lookahead.is_some();
        if probes && !can_allocate(io, ROOT_DIR, FILE)? {
            self.counted.cannot_allocate = true;
            return io.remove_dir(DirSlot::TARGET, &root);
        }
        for _ in 0..self.steps {
            let effects = {
                let mut shared = self.lock();
                let Some((effects, text)) = shared.replay.next() else { break };
                shared.print.add(&text);
                effects
            };
            for effect in &effects {
                if let WriteOutcome::Full = self.apply(io, effect)? {
                    self.counted.is_full = true;
                    return Ok(());
                }
            }
            self.counted.operations += 1;
        }
        io.sync(SyncScope::Target)
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.counted)
    }
}

/// Script that writes the files that were only allocated because they were to be deleted, but still
/// exist.
#[derive(Debug)]
struct WriteAllocatedScript {
    shared: Arc<Mutex<SharedReplay>>,
    counted: AheadCounters,
}

impl Script for WriteAllocatedScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        io.open_dir(DirSlot::TARGET, &c_string(ROOT.as_bytes()), ROOT_DIR)?;
        let files = {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.lookahead.as_mut().map(ReplayLookahead::take).unwrap_or_default()
        };
        for (path, bytes) in files {
            // The last one of a filesystem that became full may be missing.
            let opened = io.open(ROOT_DIR, &c_string(&path), OpenHow::Write, FILE);
            if opened.unless_missing()?.is_none() {
                continue;
            }
            let wrote = write(io, 0, bytes)?;
            io.close(FILE)?;
            self.counted.is_full |= matches!(wrote, WriteOutcome::Full);
            self.counted.ahead_bytes = self.counted.ahead_bytes.saturating_sub_unsigned(bytes);
        }
        io.sync(SyncScope::Target)
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.counted)
    }
}
