//! A run of the generator: the tree is filled, then aged step by step until a rule holds.

use std::sync::{Arc, Mutex, PoisonError};

use treering_model::metrics::{cpu, rates, times};
use treering_model::{Caution, Fact, Metric, Op, Scope, TaskTotals};
use treering_script::{LayoutFeed, ParallelGroup, Phase, Session, SessionError, Task};

use super::ending::Ending;
use super::fast_forward::FastForward;
use super::generator::Generator;
use super::player::{Part, Player, ROOT};
use crate::ahead::{Counted, WRITE, refusal};

/// The phases, by name.
pub(super) const FILL: &str = "fill";
pub(super) const AGE: &str = "age";

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) operations: u64,
    pub(super) wall_ns: u64,
    pub(super) cpu_ns: u64,
}

/// A run in progress.
pub(super) struct AgeSession {
    generator: Arc<Mutex<Generator>>,
    ending: Ending,
    live_bytes: u64,
    measure_every: u64,
    remount_every: Option<u64>,
    reads: bool,
    /// Parts of the present phase that are to come, the last one first.
    to_come: Vec<Part>,
    phase: Option<&'static str>,
    forward: Option<FastForward>,
    /// Why nothing was done.
    refusal: Option<SessionError>,
    sums: Sums,
    /// Operations that filled the tree.
    filled: u64,
}

impl AgeSession {
    pub(super) fn new(
        generator: Generator,
        ending: Ending,
        live_bytes: u64,
        fast_forward: bool,
    ) -> Self {
        let measure_every = generator.model().measure_every;
        let remount_every = generator.model().remount_every;
        let reads = generator.model().read_after_remount && remount_every.is_some();
        Self {
            generator: Arc::new(Mutex::new(generator)),
            ending,
            live_bytes,
            measure_every,
            remount_every,
            reads,
            to_come: Vec::new(),
            phase: None,
            forward: fast_forward.then(FastForward::default),
            refusal: None,
            sums: Sums::default(),
            filled: 0,
        }
    }

    /// Whether the filesystem is mounted anew before a part: between two steps, so often.
    fn is_remounted(&self) -> bool {
        let done = self.sums.operations - self.filled;
        let is_due = |every: u64| done.is_multiple_of(every);
        self.phase == Some(AGE) && self.remount_every.is_some_and(is_due)
    }

    /// The same, but for the first of its steps: it is mounted anew between phases.
    fn remounts_now(&self) -> bool {
        self.sums.operations > self.filled && self.is_remounted()
    }

    fn next_part(&mut self) -> Option<Part> {
        if self.failure().is_some() {
            return None;
        }
        if self.phase != Some(AGE) {
            return self.to_come.pop();
        }
        if self.ending.is_over() {
            return None;
        }
        let left = self.ending.operations_left().unwrap_or(self.measure_every);
        let count = left.min(self.measure_every);
        let reads = self.reads && self.is_remounted();
        Some(if reads { Part::ReadAndOperate(count) } else { Part::Operate(count) })
    }
}

/// The metrics of a run with these sums.
pub(super) fn metrics(sums: Sums) -> Vec<Metric> {
    let seconds = sums.wall_ns as f64 / 1e9;
    if sums.operations == 0 || seconds <= 0.0 {
        return Vec::new();
    }
    let operations = sums.operations as f64;
    vec![
        rates::OPERATIONS_PER_SECOND.of(Scope::Trial, operations / seconds).primary(),
        rates::OPERATIONS.of(Scope::Trial, operations),
        times::OPERATION_SECONDS.of(Scope::Trial, seconds),
        cpu::OPERATION_CPU_SECONDS.of(Scope::Trial, sums.cpu_ns as f64 / 1e9),
    ]
}

/// The metrics that a run will have; their values mean nothing.
pub(super) fn foreseen() -> Vec<Metric> {
    metrics(Sums { operations: 1, wall_ns: 1, cpu_ns: 1 })
}

impl Session for AgeSession {
    fn next_phase(&mut self) -> Option<Phase> {
        let (populations, has_operations) = {
            let generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
            (generator.model().files.len(), generator.has_operations())
        };
        let (name, tasks) = match self.phase {
            None => {
                self.to_come = (0..populations).rev().map(Part::Fill).collect();
                self.to_come.push(Part::Prepare);
                (FILL, self.to_come.len() as u64)
            }
            _ if self.failure().is_some() => return None,
            Some(FILL) if has_operations => {
                self.ending.begins();
                let left = self.ending.operations_left().unwrap_or(0);
                (AGE, left.div_ceil(self.measure_every))
            }
            Some(FILL | AGE) if self.forward.is_some() => {
                self.to_come = (0..populations).rev().map(Part::Write).collect();
                (WRITE, populations as u64)
            }
            Some(_) => return None,
        };
        self.phase = Some(name);
        Some(Phase { name: name.to_owned(), tasks: u32::try_from(tasks).unwrap_or(u32::MAX) })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        let part = self.next_part()?;
        let (subject, op) = match part {
            Part::Prepare => ("directories".to_owned(), Op::MakeDir),
            Part::Fill(files) | Part::Write(files) => {
                let generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
                let op = if part == Part::Fill(files) { Op::Create } else { Op::Write };
                (generator.model().files[files].name.clone(), op)
            }
            Part::Operate(count) | Part::ReadAndOperate(count) => {
                (format!("{count} operations"), Op::Create)
            }
        };
        let script = Box::new(Player::new(part, &self.generator, self.forward.clone()));
        let kind = self.phase.unwrap_or(FILL);
        let tasks = vec![Task::new(kind, &subject, op, script)];
        Some(ParallelGroup { tasks, remount: self.remounts_now(), ..ParallelGroup::default() })
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        let counted: Counted = totals.counters.read().unwrap_or_default();
        let is_aging = self.phase == Some(AGE);
        let operations = if is_aging { counted.operations } else { 0 };
        self.ending.task_ended(totals, operations, counted.ahead_bytes);
        if is_aging {
            self.ending.stepped();
        }
        self.sums.operations += counted.operations;
        self.filled += counted.operations - operations;
        self.sums.wall_ns += totals.wall_ns;
        self.sums.cpu_ns += totals.cpu.total_ns();
        if counted.is_full {
            self.ending.is_full();
        }
        if counted.cannot_allocate {
            self.refusal = Some(refusal());
        }
    }

    fn failure(&self) -> Option<SessionError> {
        self.refusal.clone().or_else(|| self.ending.failure())
    }

    fn layouts(&self) -> Option<LayoutFeed> {
        self.ending.feed()
    }

    fn facts(&self) -> Vec<Fact> {
        let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
        let generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
        let mut facts = self.ending.facts();
        facts.push(fact("age.live_bytes", self.live_bytes.to_string()));
        facts.push(fact("age.drawn", generator.drawn().to_string()));
        facts.push(fact("age.fingerprint", generator.fingerprint().text()));
        facts
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics(self.sums)
    }

    fn cautions(&self) -> Vec<Caution> {
        self.ending.cautions()
    }

    fn remains(&self) -> Vec<String> {
        let made = self.phase.filter(|_| self.refusal.is_none());
        made.map(|_| ROOT.to_owned()).into_iter().collect()
    }
}
