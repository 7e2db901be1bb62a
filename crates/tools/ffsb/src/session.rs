//! One run: the files are made, everything is on disk, the groups work side by side, everything is
//! on disk again.

use std::sync::Arc;
use std::time::Duration;

use treering_model::{Caution, Metric, Op, TaskTotals};
use treering_script::{
    OnSignal, ParallelGroup, Phase, Random, Script, Session, SessionError, SideBySide, SyncScope,
    Task, TimeLimit, Unfinished,
};

use super::fileset::Common;
use super::headline::Headline;
use super::namespace::{Namespace, Place, directory};
use super::plan::{Kept, Manner, Plan};
use super::prepare::Prepare;
use super::tally::{Prepared, Tally};
use super::worker::{Ends, Worker};
use crate::language::{Aging, Filesystem, Profile, Sizes};
use treering_kit::sync_all::SyncAll;

/// The phases, by name.
pub(super) const SETUP: &str = "setup";
pub(super) const SYNC: &str = "sync";
pub(super) const BENCHMARK: &str = "benchmark";
pub(super) const FINAL_SYNC: &str = "final sync";
/// The kinds of tasks of the setup.
pub(super) const PREPARE: &str = "prepare";
pub(super) const AGE: &str = "age";
const FILL: &str = "make files";
const LOOK_THROUGH: &str = "look through";

/// Files that are made before a filesystem is aged.
const FILLERS: u64 = 10;

/// The kind of the tasks of a thread group.
pub(super) fn group_kind(group: usize) -> String {
    format!("threadgroup {group}")
}

/// How the profile is run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) profile: Arc<Profile>,
    pub(super) classic: bool,
    pub(super) seed: u64,
    /// Operations in all after which it ends; else its time decides.
    pub(super) operations: Option<u64>,
    /// Whether the profile's command is run.
    pub(super) callout: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Setup,
    Sync,
    Benchmark,
    FinalSync,
}

/// The groups of the setup, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetupGroup {
    /// Where there are several filesystems, none is touched before all have been looked through.
    LookThrough,
    Prepare,
    Fillers,
    Age,
    Fill,
}

const SETUP_GROUPS: [SetupGroup; 5] = [
    SetupGroup::LookThrough,
    SetupGroup::Prepare,
    SetupGroup::Fillers,
    SetupGroup::Age,
    SetupGroup::Fill,
];

/// A run in progress.
pub(super) struct BenchSession {
    run: Run,
    namespace: Namespace,
    common: Common,
    part: Option<Part>,
    group: usize,
    /// Filesystems whose files are those of an earlier run.
    reused: Vec<bool>,
    headline: Headline,
}

impl BenchSession {
    /// A run that has not begun.
    pub(super) fn new(run: Run) -> Self {
        let filesystems = &run.profile.filesystems;
        let place = |number: usize| {
            if run.classic {
                Place::Root(u16::try_from(number).unwrap_or(u16::MAX))
            } else {
                Place::Below
            }
        };
        let places = (0..filesystems.len()).map(place).collect();
        Self {
            namespace: Namespace::new(filesystems, places, run.profile.direct),
            common: Common::new(filesystems.len()),
            part: None,
            group: 0,
            reused: vec![false; filesystems.len()],
            headline: Headline::new(run.profile.groups.len()),
            run,
        }
    }

    fn next_part(&self) -> Option<Part> {
        match self.part {
            None => Some(Part::Setup),
            Some(Part::Setup) if self.run.works() => Some(Part::Sync),
            Some(Part::Sync) => Some(Part::Benchmark),
            Some(Part::Benchmark) => Some(Part::FinalSync),
            Some(Part::Setup | Part::FinalSync) => None,
        }
    }

    fn manner(&self) -> Manner {
        let Profile { align, direct, .. } = *self.run.profile;
        Manner { align, direct, classic: self.run.classic }
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

    /// Filesystems whose files must be made.
    fn to_be_made(&self) -> impl Iterator<Item = (usize, &Filesystem)> {
        let all = self.run.profile.filesystems.iter().enumerate();
        all.filter(|&(number, _)| !self.reused[number])
    }

    fn setup_tasks(&self, group: SetupGroup) -> Vec<Task> {
        match group {
            SetupGroup::LookThrough if !self.run.classic || self.reused.len() == 1 => Vec::new(),
            SetupGroup::LookThrough => self.preparers(LOOK_THROUGH, Prepare::looks_only),
            SetupGroup::Prepare => self.preparers(PREPARE, |script| script),
            SetupGroup::Fillers => self
                .to_be_made()
                .filter(|(_, filesystem)| filesystem.aging.is_some())
                .map(|(number, filesystem)| {
                    let mut plan = Plan::of_filling(filesystem, number, Kept::Fill, self.manner());
                    plan.empty_files = matches!(filesystem.sizes, Sizes::Range(..));
                    self.maker(plan, number, Ends::After(FILLERS), "fillers")
                })
                .collect(),
            SetupGroup::Age => {
                let mut tasks = Vec::new();
                for (number, filesystem) in self.to_be_made() {
                    if let Some(aging) = &filesystem.aging {
                        tasks.extend(self.agers(number, filesystem, aging));
                    }
                }
                tasks
            }
            SetupGroup::Fill => self
                .to_be_made()
                .filter_map(|(number, filesystem)| {
                    let ends = if filesystem.files > 0 {
                        Ends::After(filesystem.files)
                    } else if filesystem.init_bytes > 0 {
                        Ends::Grown(filesystem.init_bytes)
                    } else if filesystem.init_share > 0.0 {
                        Ends::Filled(filesystem.init_share)
                    } else {
                        return None;
                    };
                    let plan = Plan::of_filling(filesystem, number, Kept::Data, self.manner());
                    Some(self.maker(plan, number, ends, "files"))
                })
                .collect(),
        }
    }

    /// A task for each filesystem that lists what is there, and what else it does.
    fn preparers(&self, kind: &str, script: fn(Prepare) -> Prepare) -> Vec<Task> {
        let all = self.run.profile.filesystems.iter().enumerate();
        let tasks = all.map(|(number, filesystem)| {
            let common = self.common.another();
            let prepare = Prepare::new(filesystem, number, self.namespace.clone(), common);
            self.task(kind, &self.subject(number), Box::new(script(prepare)))
        });
        tasks.collect()
    }

    /// A task that makes files in one filesystem.
    fn maker(&self, plan: Plan, number: usize, ends: Ends, what: &str) -> Task {
        let common = self.common.another();
        let random = self.random(what, number);
        let script = Worker::new(Arc::new(plan), self.namespace.clone(), common, ends, random, 1);
        self.task(FILL, &self.subject(number), Box::new(script))
    }

    /// The tasks that age one filesystem.
    fn agers(&self, number: usize, filesystem: &Filesystem, aging: &Aging) -> Vec<Task> {
        let Aging { group, until_share } = aging;
        let block_bytes = filesystem.age_block_bytes;
        let plan = Arc::new(Plan::of_aging(group, number, block_bytes, self.manner()));
        let common = self.common.another();
        let agers = (0..group.threads).map(|worker| {
            let random = self.random(&format!("aging {number}"), worker.into());
            let (namespace, common, ends) =
                (self.namespace.clone(), common.clone(), Ends::Aged(*until_share));
            let script =
                Worker::new(Arc::clone(&plan), namespace, common, ends, random, group.threads);
            self.task(AGE, &self.subject(number), Box::new(script))
        });
        agers.collect()
    }

    /// The tasks of all groups.
    fn workers(&self, common: &Common) -> Vec<Task> {
        let groups = &self.run.profile.groups;
        let all = self.run.profile.workers();
        let mut tasks = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            let plan = Arc::new(Plan::of_group(group, self.manner()));
            for worker in 0..group.threads {
                let place = tasks.len() as u64;
                let ends = self.run.operations.map_or(Ends::AtDeadline, |operations| {
                    // Equal shares; the first ones take what is left over.
                    let (share, rest) = (operations / u64::from(all), operations % u64::from(all));
                    Ends::After(share + u64::from(place < rest))
                });
                let random = self.random(&format!("group {number} thread"), worker.into());
                let (namespace, common) = (self.namespace.clone(), common.clone());
                let script = Worker::new(Arc::clone(&plan), namespace, common, ends, random, all);
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
        let common = self.common.another();
        let tasks = self.workers(&common);
        let time_limit = match self.run.operations {
            Some(_) => None,
            None => Some(TimeLimit {
                after: Duration::from_secs(profile.seconds),
                deadline: common.deadline.clone(),
            }),
        };
        let command = profile.callout.clone().filter(|_| self.run.callout);
        let side_by_side = SideBySide {
            on_signal: OnSignal::Stop,
            unfinished: Unfinished::Reported,
            ..SideBySide::default()
        };
        ParallelGroup { command, tasks, side_by_side, time_limit, ..ParallelGroup::default() }
    }
}

impl Run {
    /// Whether there is anything to do after the files are made.
    pub(super) fn works(&self) -> bool {
        self.operations.is_some() || self.profile.seconds > 0
    }
}

impl Session for BenchSession {
    fn next_phase(&mut self) -> Option<Phase> {
        let part = self.next_part()?;
        self.part = Some(part);
        self.group = 0;
        let (name, tasks) = match part {
            Part::Setup => (SETUP, u32::try_from(self.reused.len()).unwrap_or(u32::MAX)),
            Part::Sync => (SYNC, 1),
            Part::Benchmark => (BENCHMARK, u32::from(self.run.profile.workers())),
            Part::FinalSync => (FINAL_SYNC, 1),
        };
        Some(Phase { name: name.to_owned(), tasks })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        let group = self.group;
        self.group += 1;
        match self.part? {
            Part::Setup => {
                // ParallelGroups without tasks are left out.
                let groups = SETUP_GROUPS.iter().enumerate().skip(group);
                for (number, &group) in groups {
                    let tasks = self.setup_tasks(group);
                    if !tasks.is_empty() {
                        self.group = number + 1;
                        return Some(ParallelGroup { tasks, ..ParallelGroup::default() });
                    }
                }
                None
            }
            Part::Benchmark if group == 0 => Some(self.benchmark()),
            Part::Sync | Part::FinalSync if group == 0 => {
                let scope = if self.run.classic { SyncScope::Machine } else { SyncScope::Target };
                let task = self.task(SYNC, "all", Box::new(SyncAll(scope)));
                Some(ParallelGroup { tasks: vec![task], ..ParallelGroup::default() })
            }
            _ => None,
        }
    }

    fn task_ended(&mut self, totals: &TaskTotals) {
        match self.part {
            Some(Part::Setup) => {
                if totals.kind == PREPARE
                    && totals.counters.read() == Some(Prepared { reused: true })
                {
                    self.reused[usize::from(totals.worker)] = true;
                }
                self.headline.set_up(totals);
            }
            _ => self.others_task_ended(totals),
        }
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        match self.part {
            Some(Part::Setup) => self.headline.set_up(totals),
            Some(Part::Benchmark) => {
                let number = totals.kind.rsplit(' ').next().and_then(|word| word.parse().ok());
                let tally = totals.counters.read::<Tally>();
                if let (Some(group), Some(tally)) = (number, tally) {
                    self.headline.worked(group, totals, &tally);
                }
            }
            Some(Part::FinalSync) => self.headline.synced(totals),
            Some(Part::Sync) | None => {}
        }
    }

    fn failure(&self) -> Option<SessionError> {
        self.common.trouble()
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.metrics()
    }

    fn cautions(&self) -> Vec<Caution> {
        match self.part {
            Some(Part::Benchmark | Part::FinalSync) => self.headline.cautions(&self.run.profile),
            Some(Part::Setup | Part::Sync) | None => Vec::new(),
        }
    }

    fn remains(&self) -> Vec<String> {
        if self.run.classic || self.part.is_none() {
            return Vec::new();
        }
        (0..self.reused.len()).map(|number| self.subject(number)).collect()
    }
}
