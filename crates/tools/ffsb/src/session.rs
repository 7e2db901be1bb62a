//! Run of ffsb: files are made, the filesystem is synced, the groups work in parallel, and the
//! filesystem is synced again.

use std::sync::Arc;
use std::time::Duration;

use treering_model::{Caution, Metric, Op, TaskTotals};
use treering_script::{
    AllRanks, Conductor, ParallelGroup, ParallelOptions, Phase, Random, Script, Session,
    SessionResult, SessionStop, SignalEffect, SyncScope, Task, TaskListener, TimeLimit,
    UnfinishedTasks,
};

use super::fileset::SharedState;
use super::headline::HeadlineSums;
use super::namespace::{FilesLocation, Namespace, directory};
use super::plan::{PopulationKind, WorkerOptions, WorkerPlan};
use super::prepare::PrepareScript;
use super::tally::{PreparationResult, WorkerCounters};
use super::worker::{EndCondition, Worker};
use crate::language::{Aging, FileSizes, Filesystem, Profile};
use treering_kit::sync_all::SyncAll;

/// Names of the phases.
pub(super) const SETUP: &str = "setup";
pub(super) const SYNC: &str = "sync";
pub(super) const BENCHMARK: &str = "benchmark";
pub(super) const FINAL_SYNC: &str = "final sync";
/// The kinds of tasks of the setup.
pub(super) const PREPARE: &str = "prepare";
pub(super) const AGE: &str = "age";
const FILL: &str = "make files";
const LOOK_THROUGH: &str = "look through";

/// Number of files created before a filesystem is aged.
const FILLERS: u64 = 10;

/// The kind of the tasks of a thread group.
pub(super) fn group_kind(group: usize) -> String {
    format!("threadgroup {group}")
}

/// Parameters of a run of the profile.
#[derive(Clone, Debug)]
pub(super) struct RunParameters {
    pub(super) profile: Arc<Profile>,
    pub(super) classic: bool,
    pub(super) seed: u64,
    /// Total number of operations after which the run ends; `None` to end by time.
    pub(super) operations: Option<u64>,
    /// True if the profile's command is run.
    pub(super) callout: bool,
}

/// Session of a run.
pub(super) struct BenchSession {
    run: RunParameters,
    namespace: Namespace,
    common: SharedState,
    has_begun: bool,
    /// True once the thread groups have begun to work.
    is_measured: bool,
    /// Per filesystem: true if the files of an earlier run are reused.
    reused: Vec<bool>,
    headline: HeadlineSums,
}

impl BenchSession {
    /// Creates a session that has not begun.
    pub(super) fn new(run: RunParameters) -> Self {
        let filesystems = &run.profile.filesystems;
        let place = |number: usize| {
            if run.classic {
                FilesLocation::Root(u16::try_from(number).unwrap_or(u16::MAX))
            } else {
                FilesLocation::Below
            }
        };
        let places = (0..filesystems.len()).map(place).collect();
        Self {
            namespace: Namespace::new(filesystems, places, run.profile.direct),
            common: SharedState::new(filesystems.len()),
            has_begun: false,
            is_measured: false,
            reused: vec![false; filesystems.len()],
            headline: HeadlineSums::new(run.profile.groups.len()),
            run,
        }
    }

    fn worker_options(&self) -> WorkerOptions {
        let Profile { align, direct, .. } = *self.run.profile;
        WorkerOptions { align, direct, classic: self.run.classic }
    }

    fn random(&self, part: &str, number: usize) -> Random {
        Random::for_part(self.run.seed, &format!("{part} {number}"))
    }

    fn subject(&self, filesystem: usize) -> String {
        if self.run.classic {
            self.run.profile.filesystems[filesystem].location.clone()
        } else {
            directory(filesystem)
        }
    }

    fn task(&self, kind: &str, subject: &str, script: Box<dyn Script>) -> Task {
        let direct = self.run.profile.direct;
        Task { direct, ..Task::new(kind, subject, Op::Create, script) }
    }

    /// Filesystems whose files must be created.
    fn to_be_made(&self) -> impl Iterator<Item = (usize, &Filesystem)> {
        let filesystems = self.run.profile.filesystems.iter().enumerate();
        filesystems.filter(|&(number, _)| !self.reused[number])
    }

    /// Tasks that create the first files of each filesystem before it is aged.
    fn filling_tasks(&self) -> Vec<Task> {
        let aged = self.to_be_made().filter(|(_, filesystem)| filesystem.aging.is_some());
        let task = |(number, filesystem): (usize, &Filesystem)| {
            let mut plan = WorkerPlan::of_filling(
                filesystem,
                number,
                PopulationKind::Fill,
                self.worker_options(),
            );
            plan.empty_files = matches!(filesystem.sizes, FileSizes::Range(..));
            self.creation_task(plan, number, EndCondition::After(FILLERS), "fillers")
        };
        aged.map(task).collect()
    }

    /// Tasks that create the files of the benchmark.
    fn creation_tasks(&self) -> Vec<Task> {
        let task = |(number, filesystem): (usize, &Filesystem)| {
            let ends = if filesystem.files > 0 {
                EndCondition::After(filesystem.files)
            } else if filesystem.init_bytes > 0 {
                EndCondition::Grown(filesystem.init_bytes)
            } else if filesystem.init_share > 0.0 {
                EndCondition::Filled(filesystem.init_share)
            } else {
                return None;
            };
            let plan = WorkerPlan::of_filling(
                filesystem,
                number,
                PopulationKind::Data,
                self.worker_options(),
            );
            Some(self.creation_task(plan, number, ends, "files"))
        };
        self.to_be_made().filter_map(task).collect()
    }

    /// Tasks that age the filesystems.
    fn all_aging_tasks(&self) -> Vec<Task> {
        let agers = |(number, filesystem): (usize, &Filesystem)| {
            let aging = filesystem.aging.as_ref()?;
            Some(self.aging_tasks(number, filesystem, aging))
        };
        self.to_be_made().filter_map(agers).flatten().collect()
    }

    /// Runs a group of the setup, unless it has no tasks.
    fn set_up(&mut self, tasks: Vec<Task>, conductor: &mut dyn Conductor) -> SessionResult {
        if tasks.is_empty() {
            return Ok(());
        }
        let Self { reused, headline, .. } = self;
        conductor.group(ParallelGroup::new(tasks), &mut SetupListener { reused, headline })?;
        self.check()
    }

    fn run_sync(
        &mut self,
        name: &str,
        listener: fn(&mut HeadlineSums, &TaskTotals),
        conductor: &mut dyn Conductor,
    ) -> SessionResult {
        let scope = if self.run.classic { SyncScope::Machine } else { SyncScope::Target };
        let task = self.task(SYNC, "all", Box::new(SyncAll(scope)));
        let headline = &mut self.headline;
        let mut listener = AllRanks(|totals: &TaskTotals| listener(headline, totals));
        conductor.run_task(name, task, &mut listener)?;
        self.check()
    }

    /// Fails if a task reported a fatal error.
    fn check(&self) -> SessionResult {
        SessionStop::check(self.common.failure())
    }

    /// Preparation task of each filesystem; `script` selects the work after listing.
    fn preparation_tasks(
        &self,
        kind: &str,
        script: fn(PrepareScript) -> PrepareScript,
    ) -> Vec<Task> {
        let filesystems = self.run.profile.filesystems.iter().enumerate();
        let tasks = filesystems.map(|(number, filesystem)| {
            let common = self.common.with_new_deadline();
            let prepare = PrepareScript::new(filesystem, number, self.namespace.clone(), common);
            self.task(kind, &self.subject(number), Box::new(script(prepare)))
        });
        tasks.collect()
    }

    /// A task that makes files in one filesystem.
    fn creation_task(
        &self,
        plan: WorkerPlan,
        number: usize,
        ends: EndCondition,
        purpose: &str,
    ) -> Task {
        let common = self.common.with_new_deadline();
        let random = self.random(purpose, number);
        let script = Worker::new(Arc::new(plan), self.namespace.clone(), common, ends, random, 1);
        self.task(FILL, &self.subject(number), Box::new(script))
    }

    /// The tasks that age one filesystem.
    fn aging_tasks(&self, number: usize, filesystem: &Filesystem, aging: &Aging) -> Vec<Task> {
        let Aging { group, until_share } = aging;
        let block_bytes = filesystem.age_block_bytes;
        let plan =
            Arc::new(WorkerPlan::of_aging(group, number, block_bytes, self.worker_options()));
        let common = self.common.with_new_deadline();
        let agers = (0..group.threads).map(|worker| {
            let random = self.random(&format!("aging {number}"), worker.into());
            let (namespace, common, ends) =
                (self.namespace.clone(), common.clone(), EndCondition::Aged(*until_share));
            let script =
                Worker::new(Arc::clone(&plan), namespace, common, ends, random, group.threads);
            self.task(AGE, &self.subject(number), Box::new(script))
        });
        agers.collect()
    }

    /// The tasks of all groups.
    fn workers(&self, common: &SharedState) -> Vec<Task> {
        let groups = &self.run.profile.groups;
        let workers = self.run.profile.workers();
        let mut tasks = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            let plan = Arc::new(WorkerPlan::of_group(group, self.worker_options()));
            for worker in 0..group.threads {
                let place = tasks.len() as u64;
                let ends = self.run.operations.map_or(EndCondition::AtDeadline, |operations| {
                    // Equal shares; the first ones take what is left over.
                    let (share, remainder) =
                        (operations / u64::from(workers), operations % u64::from(workers));
                    EndCondition::After(share + u64::from(place < remainder))
                });
                let random = self.random(&format!("group {number} thread"), worker.into());
                let (namespace, common) = (self.namespace.clone(), common.clone());
                let script =
                    Worker::new(Arc::clone(&plan), namespace, common, ends, random, workers);
                let subject = match group.bound {
                    Some(filesystem) => self.subject(filesystem),
                    None => "all".to_owned(),
                };
                tasks.push(self.task(&group_kind(number), &subject, Box::new(script)));
            }
        }
        tasks
    }

    fn benchmark(&self) -> ParallelGroup {
        let profile = &self.run.profile;
        let common = self.common.with_new_deadline();
        let tasks = self.workers(&common);
        let time_limit = match self.run.operations {
            Some(_) => None,
            None => Some(TimeLimit {
                after: Duration::from_secs(profile.seconds),
                deadline: common.deadline.clone(),
            }),
        };
        let command = profile.callout.clone().filter(|_| self.run.callout);
        let side_by_side = ParallelOptions {
            on_signal: SignalEffect::Stop,
            unfinished: UnfinishedTasks::Reported,
            ..ParallelOptions::default()
        };
        ParallelGroup { command, tasks, side_by_side, time_limit, ..ParallelGroup::default() }
    }
}

impl RunParameters {
    /// True if there is work after the files are made.
    pub(super) fn works(&self) -> bool {
        self.operations.is_some() || self.profile.seconds > 0
    }
}

/// Listener of the setup: counts its tasks, and records the filesystems whose files are reused.
struct SetupListener<'s> {
    reused: &'s mut [bool],
    headline: &'s mut HeadlineSums,
}

impl TaskListener for SetupListener<'_> {
    fn task_ended(&mut self, totals: &TaskTotals) {
        if totals.kind == PREPARE
            && totals.counters.read() == Some(PreparationResult { reused: true })
        {
            self.reused[usize::from(totals.worker)] = true;
        }
        self.headline.set_up(totals);
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        self.headline.set_up(totals);
    }
}

/// Counts the tasks of a thread group.
fn count_work(headline: &mut HeadlineSums, totals: &TaskTotals) {
    let number = totals.kind.rsplit(' ').next().and_then(|word| word.parse().ok());
    if let (Some(group), Some(tally)) = (number, totals.counters.read::<WorkerCounters>()) {
        headline.worked(group, totals, &tally);
    }
}

impl Session for BenchSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.has_begun = true;
        conductor.phase(Phase::new(SETUP, self.reused.len()))?;
        if self.run.classic && self.reused.len() > 1 {
            // None is touched before all have been looked through.
            self.set_up(
                self.preparation_tasks(LOOK_THROUGH, PrepareScript::only_lists),
                conductor,
            )?;
        }
        self.set_up(self.preparation_tasks(PREPARE, |script| script), conductor)?;
        self.set_up(self.filling_tasks(), conductor)?;
        self.set_up(self.all_aging_tasks(), conductor)?;
        self.set_up(self.creation_tasks(), conductor)?;
        if !self.run.works() {
            return Ok(());
        }
        self.run_sync(SYNC, |_, _| {}, conductor)?;
        conductor.phase(Phase::new(BENCHMARK, self.run.profile.workers()))?;
        self.is_measured = true;
        let (group, headline) = (self.benchmark(), &mut self.headline);
        conductor
            .group(group, &mut AllRanks(|totals: &TaskTotals| count_work(headline, totals)))?;
        self.check()?;
        self.run_sync(FINAL_SYNC, HeadlineSums::synced, conductor)
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.metrics()
    }

    fn cautions(&self) -> Vec<Caution> {
        if self.is_measured { self.headline.cautions(&self.run.profile) } else { Vec::new() }
    }

    fn remains(&self) -> Vec<String> {
        if self.run.classic || !self.has_begun {
            return Vec::new();
        }
        (0..self.reused.len()).map(|number| self.subject(number)).collect()
    }
}
