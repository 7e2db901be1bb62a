//! A run that replays a history: its first commit is the filling, the others age the tree.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use treering_model::{Caution, Counters, Fact, Fingerprint, Metric, Op, TaskTotals};
use treering_script::{
    CreateHow, Dir, Io, LayoutFeed, ParallelGroup, Phase, Script, Session, SessionError, Stop,
    SyncScope, Task,
};

use super::ending::Ending;
use super::history::{Effect, Replay};
use super::player::{Counted, Data, HERE, ROOT, ROOT_DIR, Wrote, create};
use super::session::{AGE, FILL, Sums, metrics};

/// The replay, and the fingerprint of what was replayed.
#[derive(Debug)]
struct Shared {
    replay: Replay,
    print: Fingerprint,
}

/// A run in progress.
pub(super) struct HistorySession {
    shared: Arc<Mutex<Shared>>,
    ending: Ending,
    measure_every: u64,
    phase: Option<&'static str>,
    is_filled: bool,
    sums: Sums,
}

impl HistorySession {
    pub(super) fn new(replay: Replay, ending: Ending, measure_every: u64) -> Self {
        let shared = Arc::new(Mutex::new(Shared { replay, print: Fingerprint::new() }));
        let (phase, is_filled, sums) = (None, false, Sums::default());
        Self { shared, ending, measure_every, phase, is_filled, sums }
    }

    fn left(&self) -> u64 {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).replay.left()
    }
}

impl Session for HistorySession {
    fn next_phase(&mut self) -> Option<Phase> {
        let (name, tasks) = match self.phase {
            None => (FILL, 1),
            Some(FILL) if self.ending.failure().is_none() && self.left() > 0 => {
                self.ending.begins();
                let left = self.ending.operations_left().unwrap_or(u64::MAX).min(self.left());
                (AGE, left.div_ceil(self.measure_every))
            }
            Some(_) => return None,
        };
        self.phase = Some(name);
        Some(Phase { name: name.to_owned(), tasks: u32::try_from(tasks).unwrap_or(u32::MAX) })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        let steps = match self.phase {
            _ if self.ending.failure().is_some() => return None,
            Some(FILL) if self.is_filled => return None,
            Some(FILL) => 1,
            _ if self.left() == 0 || self.ending.is_over() => return None,
            _ => {
                let left = self.ending.operations_left().unwrap_or(u64::MAX).min(self.left());
                left.min(self.measure_every)
            }
        };
        let is_first = !std::mem::replace(&mut self.is_filled, true);
        let shared = Arc::clone(&self.shared);
        let script = Replayer { shared, steps, is_first, counted: Counted::default() };
        let subject = format!("{steps} commits");
        let kind = self.phase.unwrap_or(FILL);
        let tasks = vec![Task::new(kind, &subject, Op::Create, Box::new(script))];
        Some(ParallelGroup { tasks, ..ParallelGroup::default() })
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        let counted: Counted = totals.counters.read().unwrap_or_default();
        let is_aging = self.phase == Some(AGE);
        self.ending.task_ended(totals, if is_aging { counted.operations } else { 0 }, 0);
        if is_aging {
            self.ending.stepped();
        }
        self.sums.operations += counted.operations;
        self.sums.wall_ns += totals.wall_ns;
        self.sums.cpu_ns += totals.cpu.total_ns();
        if counted.is_full {
            self.ending.is_full();
        }
    }

    fn failure(&self) -> Option<SessionError> {
        self.ending.failure()
    }

    fn layouts(&self) -> Option<LayoutFeed> {
        self.ending.feed()
    }

    fn facts(&self) -> Vec<Fact> {
        let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut facts = self.ending.facts();
        facts.push(fact("age.live_bytes", shared.replay.live_bytes().to_string()));
        facts.push(fact("age.fingerprint", shared.print.text()));
        facts
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics(self.sums)
    }

    fn cautions(&self) -> Vec<Caution> {
        self.ending.cautions()
    }

    fn remains(&self) -> Vec<String> {
        self.phase.map(|_| ROOT.to_owned()).into_iter().collect()
    }
}

/// Replays so many commits.
#[derive(Debug)]
struct Replayer {
    shared: Arc<Mutex<Shared>>,
    steps: u64,
    is_first: bool,
    counted: Counted,
}

fn c_string(path: &[u8]) -> CString {
    CString::new(path).expect("the reader of histories refuses NUL")
}

/// Makes a call about the last component of a path, in its directory.
fn within(
    io: &mut dyn Io,
    path: &[u8],
    call: impl FnOnce(&mut dyn Io, Dir, &CString) -> Result<(), Stop>,
) -> Result<(), Stop> {
    match path.iter().rposition(|byte| *byte == b'/') {
        None => call(io, ROOT_DIR, &c_string(path)),
        Some(slash) => {
            io.open_dir(ROOT_DIR, &c_string(&path[..slash]), HERE)?;
            call(io, HERE, &c_string(&path[slash + 1..]))
        }
    }
}

impl Replayer {
    fn one(io: &mut dyn Io, effect: &Effect) -> Result<Wrote, Stop> {
        match effect {
            Effect::MakeDir(path) => within(io, path, |io, dir, name| io.make_dir(dir, name))?,
            Effect::RemoveDir(path) => within(io, path, |io, dir, name| io.remove_dir(dir, name))?,
            Effect::Unlink(path) => io.unlink(ROOT_DIR, &c_string(path))?,
            Effect::Create(path, bytes) => {
                let data = (Data::Written, *bytes);
                return create(io, &c_string(path), CreateHow::Exclusive, data, false);
            }
        }
        Ok(Wrote::All)
    }
}

impl Script for Replayer {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let root = c_string(ROOT.as_bytes());
        if self.is_first {
            io.make_dir(Dir::TARGET, &root)?;
        }
        io.open_dir(Dir::TARGET, &root, ROOT_DIR)?;
        for _ in 0..self.steps {
            let effects = {
                let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
                let Some((effects, text)) = shared.replay.next() else { break };
                shared.print.add(&text);
                effects
            };
            for effect in &effects {
                if let Wrote::Full = Self::one(io, effect)? {
                    self.counted.is_full = true;
                    return Ok(());
                }
            }
            self.counted.operations += 1;
        }
        io.sync(SyncScope::Target)
    }

    fn counters(&mut self) -> Counters {
        Counters::of(&self.counted)
    }
}
