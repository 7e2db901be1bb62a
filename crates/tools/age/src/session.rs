//! Session of the generator: the tree is filled, then aged step by step until a rule holds.

use std::sync::{Arc, Mutex, PoisonError};

use treering_model::{Caution, Fact, Metric, Op, TaskTotals};
use treering_script::{
    CachePolicy, Conductor, LayoutFeed, ParallelGroup, Phase, Session, SessionResult, Task,
};

use super::ending::EndingMonitor;
use super::fast_forward::FastForward;
use super::generator::OperationGenerator;
use super::maintenance::costs::MaintenanceCosts;
use super::maintenance::plan::{MaintenanceKind, MaintenancePart, MaintenancePlan};
use super::maintenance::sample::take_files;
use super::maintenance::script::MaintenanceScript;
use super::operation::LiveFile;
use super::player::{OperationScript, TaskWork};
use super::progress::{AGE, FILL, RunProgress};
use super::steps::StepRecord;
use treering_kit::ahead::WRITE;

/// Session of a run.
pub(super) struct AgeSession {
    generator: Arc<Mutex<OperationGenerator>>,
    progress: RunProgress,
    live_bytes: u64,
    measure_every: u64,
    remount_every: Option<u64>,
    /// Multiples of `remount_every` for which the filesystem was remounted.
    remounted: u64,
    reads: bool,
    forward: Option<FastForward>,
    /// Steps of the interrupted run that this one goes on from; empty for a run of its own.
    earlier: Vec<StepRecord>,
    plans: Vec<MaintenancePlan>,
    costs: MaintenanceCosts,
}

impl AgeSession {
    pub(super) fn new(
        generator: OperationGenerator,
        ending: EndingMonitor,
        live_bytes: u64,
        fast_forward: bool,
    ) -> Self {
        let measure_every = generator.model().measure_every;
        let remount_every = generator.model().remount_every;
        let reads = generator.model().read_after_remount && remount_every.is_some();
        let plans = generator.model().maintenance.clone();
        Self {
            generator: Arc::new(Mutex::new(generator)),
            progress: RunProgress::new(ending),
            live_bytes,
            measure_every,
            remount_every,
            remounted: 0,
            reads,
            forward: fast_forward.then(FastForward::default),
            earlier: Vec::new(),
            costs: MaintenanceCosts::new(&plans),
            plans,
        }
    }

    /// Sets the type of the filesystem, which errors name.
    pub(super) fn on(self, filesystem: Option<&str>) -> Self {
        Self { progress: self.progress.on(filesystem), ..self }
    }

    /// The session that goes on behind these steps, which the generator has drawn already.
    pub(super) fn going_on(mut self, earlier: Vec<StepRecord>, populations: usize) -> Self {
        let later = earlier.iter().skip(1 + populations);
        let operations: u64 = later.map(|step| step.operations).sum();
        // It is mounted anew for this run.
        self.remounted = self.remount_every.map_or(0, |every| operations / every);
        let written = earlier.iter().map(|step| step.written_bytes).sum();
        self.progress.ending.go_on_from(operations, written);
        self.earlier = earlier;
        self
    }

    /// Fills the tree, or what an interrupted run has not filled.
    fn fill(&mut self, populations: usize, conductor: &mut dyn Conductor) -> SessionResult {
        let filled = match self.earlier.len().checked_sub(1) {
            None => {
                conductor.phase(self.progress.begin(FILL, populations as u64 + 1))?;
                self.play(TaskWork::Prepare, conductor)?;
                0
            }
            Some(filled) => {
                let filled = filled.min(populations);
                let tasks = (populations - filled) as u64 + 1;
                conductor.phase(self.progress.begin(FILL, tasks))?;
                self.play(TaskWork::Restore, conductor)?;
                filled
            }
        };
        (filled..populations).try_for_each(|files| self.play(TaskWork::Fill(files), conductor))
    }

    /// True if a remount is due. Operations that found no space do not count, so that their number
    /// may pass a multiple.
    fn is_remounted(&self) -> bool {
        let aged = self.progress.ending.operations();
        let is_due = |every: u64| aged == 0 || aged / every > self.remounted;
        self.progress.phase == Some(AGE) && self.remount_every.is_some_and(is_due)
    }

    /// True if a remount is due before the next part. Excludes the first step, since the filesystem
    /// is remounted between phases anyway.
    fn remounts_now(&self) -> bool {
        self.progress.ending.operations() > 0 && self.is_remounted()
    }

    /// Runs a part in a group of its own.
    fn play(&mut self, part: TaskWork, conductor: &mut dyn Conductor) -> SessionResult {
        let (subject, op) = match part {
            TaskWork::Prepare => ("directories".to_owned(), Op::MakeDir),
            TaskWork::Restore => ("files as they were".to_owned(), Op::Stat),
            TaskWork::Fill(files) | TaskWork::Write(files) => {
                let generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
                let op = if part == TaskWork::Fill(files) { Op::Create } else { Op::Write };
                (generator.model().files[files].name.clone(), op)
            }
            TaskWork::Operate(count) | TaskWork::ReadAndOperate(count) => {
                (format!("{count} operations"), Op::Create)
            }
        };
        let script = OperationScript::new(
            part,
            &self.generator,
            self.forward.clone(),
            self.progress.ending.ends_full(),
        );
        let earlier = if part == TaskWork::Restore { self.earlier.clone() } else { Vec::new() };
        let script = Box::new(script.recording(self.live_bytes, earlier));
        let kind = self.progress.phase.unwrap_or(FILL);
        let tasks = vec![Task::new(kind, &subject, op, script)];
        let remount = self.remounts_now();
        if let (true, Some(every)) = (remount, self.remount_every) {
            self.remounted = self.progress.ending.operations() / every;
        }
        let group = ParallelGroup { remount, ..ParallelGroup::new(tasks) };
        self.progress.run_group(group, conductor)
    }
}

impl AgeSession {
    /// Ages the tree until a rule ends it, with the maintenance that is due.
    fn age(&mut self, populations: usize, conductor: &mut dyn Conductor) -> SessionResult {
        self.progress.ending.begin_first_step();
        let (mut before, mut done) = self.maintained_last(populations);
        let mut begun = false;
        loop {
            let now = self.progress.ending.operations();
            let due = self.due(before, now, &done);
            let is_over = self.progress.ending.is_over();
            self.progress.check()?;
            self.maintain(&due, conductor)?;
            if is_over {
                break;
            }
            if !begun || !due.is_empty() {
                let operations = self.progress.ending.operations_left().unwrap_or(0);
                let tasks = operations.div_ceil(self.measure_every);
                conductor.phase(self.progress.begin(AGE, tasks))?;
                begun = true;
            }
            let left = self.progress.ending.operations_left().unwrap_or(self.measure_every);
            let count = left.min(self.measure_every);
            let reads = self.reads && self.is_remounted();
            let part =
                if reads { TaskWork::ReadAndOperate(count) } else { TaskWork::Operate(count) };
            (before, done) = (now, Vec::new());
            self.play(part, conductor)?;
        }
        self.progress.check()?;
        let last: Vec<usize> = (0..self.plans.len())
            .filter(|index| self.plans[*index].every.is_none() && !done.contains(index))
            .collect();
        self.maintain(&last, conductor)
    }

    /// Operations before the last step of an interrupted run, and the maintenance done after it.
    fn maintained_last(&self, populations: usize) -> (u64, Vec<usize>) {
        let now = self.progress.ending.operations();
        let later = self.earlier.iter().skip(1 + populations);
        let trailing = later.rev().take_while(|step| step.maintained.is_some());
        let done: Vec<usize> = trailing.filter_map(|step| step.maintained).collect();
        let later = self.earlier.iter().skip(1 + populations);
        let last = later.rev().find(|step| step.maintained.is_none());
        (now.saturating_sub(last.map_or(0, |step| step.operations)), done)
    }

    /// Indices of the maintenance that is due and was not done.
    fn due(&self, before: u64, now: u64, done: &[usize]) -> Vec<usize> {
        let is_due =
            |index: &usize| self.plans[*index].is_due(before, now) && !done.contains(index);
        (0..self.plans.len()).filter(is_due).collect()
    }

    /// Runs maintenance, each part in a phase of its own.
    fn maintain(&mut self, due: &[usize], conductor: &mut dyn Conductor) -> SessionResult {
        for &index in due {
            let operations = self.progress.ending.operations();
            let taken = {
                let mut generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::new(take_files(&mut generator, index, operations))
            };
            let plan = self.plans[index].clone();
            for &part in MaintenancePart::of(&plan) {
                conductor.phase(Phase::new(part.name(&plan), part.tasks()))?;
                for _task in 0..part.tasks() {
                    self.maintain_part((index, part), &taken, operations, conductor)?;
                }
            }
        }
        Ok(())
    }

    /// Runs a task of a part of maintenance.
    fn maintain_part(
        &mut self,
        (index, part): (usize, MaintenancePart),
        taken: &Arc<Vec<(usize, LiveFile)>>,
        operations: u64,
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let plan = &self.plans[index];
        let script = MaintenanceScript::new(
            (index, part),
            &self.generator,
            taken,
            (operations, self.live_bytes),
            !self.earlier.is_empty(),
        );
        let (name, subject) = (part.name(plan), format!("after {operations} operations"));
        let op = if part == MaintenancePart::Work { Op::Sync } else { Op::Read };
        let tasks = vec![Task::new(&name, &subject, op, Box::new(script))];
        // Work on the contents of files has to read them, as long after they were written.
        let keeps = matches!(plan.kind, MaintenanceKind::Trim | MaintenanceKind::Snapshot);
        let is_warm = op == Op::Sync && keeps;
        let caches = if is_warm { CachePolicy::Keep } else { CachePolicy::Drop };
        let group = ParallelGroup { caches, ..ParallelGroup::new(tasks) };
        let costs = &mut self.costs;
        conductor.group(group, &mut |totals: &TaskTotals| {
            costs.task_ended(index, part, totals);
        })
    }
}

impl Session for AgeSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        let (populations, has_operations) = {
            let generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
            (generator.model().files.len(), generator.has_operations())
        };
        self.fill(populations, conductor)?;
        if has_operations {
            self.age(populations, conductor)?;
        }
        if self.forward.is_some() {
            conductor.phase(self.progress.begin(WRITE, populations as u64))?;
            for files in 0..populations {
                self.play(TaskWork::Write(files), conductor)?;
            }
        }
        Ok(())
    }

    fn layouts(&self) -> Option<LayoutFeed> {
        self.progress.layouts()
    }

    fn facts(&self) -> Vec<Fact> {
        let generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
        let mut facts = self.progress.facts([
            ("age.live_bytes", self.live_bytes.to_string()),
            ("age.drawn", generator.drawn().to_string()),
            ("age.fingerprint", generator.fingerprint().text()),
        ]);
        facts.extend(self.costs.facts());
        facts
    }

    fn metrics(&self) -> Vec<Metric> {
        self.progress.metrics().into_iter().chain(self.costs.metrics()).collect()
    }

    fn cautions(&self) -> Vec<Caution> {
        self.progress.cautions()
    }

    fn remains(&self) -> Vec<String> {
        self.progress.remains()
    }
}
