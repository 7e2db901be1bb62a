//! Classic output of FFSB: the configuration, progress lines, and the report.

use std::path::PathBuf;

use treering_model::{CautionCode, Ending, TaskTotals, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, MissingRootPolicy, OutputContext,
    Settings, ToolOutput, UnusableDirectory,
};

use super::job::read_profile;
use super::options::ClassicOptions;
use super::session::{AGE, BENCHMARK, FINAL_SYNC, PREPARE, SETUP, SYNC, group_kind};
use super::tally::{PreparationResult, WorkerCounters};
use super::text::{self, GroupReport};
use crate::language::Profile;
use treering_kit::cautions;

/// Output of a classic command line.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let options = ClassicOptions::read(settings)?;
    let (_, profile) = read_profile(settings, options.profile.as_deref())?;
    let roots: Vec<PathBuf> =
        profile.filesystems.iter().map(|filesystem| filesystem.location.clone().into()).collect();
    let groups = vec![WorkerCounters::default(); profile.groups.len()];
    Ok(ClassicMode {
        roots,
        make_roots: MissingRootPolicy::OneLevel,
        log: None,
        times_all: profile.groups.iter().any(|group| group.stats.is_some()),
        seed: options.seed.unwrap_or(settings.started_unix_ms),
        signal_exit: 130,
        catches_sigint: false,
        output: Box::new(FfsbOutput {
            shares: vec![0.0; profile.filesystems.len()],
            aging: vec![false; profile.filesystems.len()],
            profile,
            groups,
            began_ns: None,
            ended_ns: 0,
            user_ns: 0,
            system_ns: 0,
            final_sync: false,
            starting: false,
            set_up_ns: None,
            reported: false,
        }),
    })
}

struct FfsbOutput {
    profile: Profile,
    /// Used share of each filesystem at the start.
    shares: Vec<f64>,
    /// Per filesystem: true once its aging was announced.
    aging: Vec<bool>,
    /// Duration of the file setup, until it is printed.
    set_up_ns: Option<u64>,
    groups: Vec<WorkerCounters>,
    /// Start of the first thread's work, and end of the sync after the work.
    began_ns: Option<u64>,
    ended_ns: u64,
    user_ns: u64,
    system_ns: u64,
    final_sync: bool,
    /// True until the start was reported.
    starting: bool,
    reported: bool,
}

/// Whole seconds, rounded down.
const fn seconds(ns: u64) -> u64 {
    ns / 1_000_000_000
}

impl FfsbOutput {
    fn filesystem(&self, location: &str) -> Option<usize> {
        self.profile.filesystems.iter().position(|filesystem| filesystem.location == location)
    }

    fn is_reused(&self, location: &str) -> bool {
        self.filesystem(location).is_some_and(|number| self.profile.filesystems[number].reuse)
    }

    fn work(&mut self, task: &TaskTotals) {
        let began_ns = self.began_ns.map_or(task.began_ns, |began| began.min(task.began_ns));
        self.began_ns = Some(began_ns);
        self.until(task);
        let group = (0..self.groups.len()).find(|&group| group_kind(group) == task.kind);
        if let (Some(group), Some(tally)) = (group, task.counters.read::<WorkerCounters>()) {
            self.groups[group].add(&tally);
        }
    }

    fn until(&mut self, task: &TaskTotals) {
        self.ended_ns = self.ended_ns.max(task.began_ns + task.wall_ns);
        self.user_ns += task.cpu.user_ns;
        self.system_ns += task.cpu.system_ns;
    }

    fn task_began(&mut self, kind: &str, subject: &str) -> ToolOutput {
        let Some(number) = self.filesystem(subject).filter(|_| kind == AGE) else {
            return ToolOutput::default();
        };
        let aging = self.profile.filesystems[number].aging.as_ref();
        match aging.filter(|_| !std::mem::replace(&mut self.aging[number], true)) {
            Some(aging) => {
                ToolOutput::to_stdout(text::aging(subject, self.shares[number], aging.until_share))
            }
            None => ToolOutput::default(),
        }
    }

    fn task_ended(&mut self, task: &TaskTotals, witness: &mut dyn OutputContext) -> ToolOutput {
        if task.kind == PREPARE {
            let Some(PreparationResult { reused }) = task.counters.read() else {
                return ToolOutput::default();
            };
            return ToolOutput::to_stdout(match (reused, self.is_reused(&task.subject)) {
                (true, _) => text::reusing(&task.subject),
                (false, true) => text::recreating(&task.subject),
                (false, false) => text::creating(&task.subject),
            });
        }
        if task.kind != SYNC {
            if task.kind.starts_with("threadgroup") {
                self.work(task);
            }
            return ToolOutput::default();
        }
        let syncing = text::syncing(seconds(task.wall_ns));
        if !self.final_sync {
            return ToolOutput::to_stdout(syncing);
        }
        self.until(task);
        ToolOutput::to_stdout(syncing + &text::finished(&witness.time()))
    }

    /// Setup time, printed once the next phase begins; a failed setup prints none.
    fn set_up(&mut self) -> ToolOutput {
        let words = self.set_up_ns.take().map(|ns| text::set_up(seconds(ns)));
        words.map(ToolOutput::to_stdout).unwrap_or_default()
    }

    /// Report of the work done so far; printed only once.
    fn report(&mut self) -> ToolOutput {
        let Some(began_ns) = self.began_ns.filter(|_| !std::mem::replace(&mut self.reported, true))
        else {
            return ToolOutput::default();
        };
        let groups = self.profile.groups.iter().zip(&self.groups);
        let groups: Vec<GroupReport<'_>> = groups
            .map(|(group, tally)| GroupReport { tally, stats: group.stats.as_ref() })
            .collect();
        let in_seconds = |ns: u64| ns as f64 / 1e9;
        let took = in_seconds(self.ended_ns.saturating_sub(began_ns));
        let (user, system) = (in_seconds(self.user_ns), in_seconds(self.system_ns));
        ToolOutput::to_stdout(text::report(&groups, took, user, system))
    }
}

impl ClassicOutput for FfsbOutput {
    fn open(&mut self, scene: &ClassicScene) -> ToolOutput {
        for (share, room) in self.shares.iter_mut().zip(&scene.rooms) {
            let used = room.capacity_bytes.saturating_sub(room.unused_bytes);
            *share = used as f64 / room.capacity_bytes.max(1) as f64;
        }
        let lines = self
            .profile
            .warnings
            .iter()
            .fold(String::new(), |lines, warning| lines + "treering: " + warning + "\n");
        let out = text::configuration(&self.profile, &self.shares);
        ToolOutput { out, err: lines, ..ToolOutput::default() }
    }

    fn without_directory(
        &mut self,
        scene: &ClassicScene,
        lacking: &UnusableDirectory<'_>,
    ) -> ToolOutput {
        let mut printed = self.open(scene);
        printed.err += &format!("{}: {}\n", lacking.path.display(), lacking.why);
        printed
    }

    fn refused(&mut self, error: &ConfigError) -> ToolOutput {
        ToolOutput::to_stdout(format!("{}\n", error.message))
    }

    fn hear(&mut self, event: &TrialEvent, witness: &mut dyn OutputContext) -> ToolOutput {
        match event {
            TrialEvent::PhaseBegan { name, .. } if name == BENCHMARK => {
                // A command comes between the sync and the start.
                let command = self.profile.callout.as_deref().map(text::calling_out);
                match command {
                    Some(words) => {
                        self.starting = true;
                        ToolOutput::to_stdout(words)
                    }
                    None => ToolOutput::to_stdout(text::starting(&witness.time())),
                }
            }
            TrialEvent::TaskBegan { kind, .. }
                if kind.starts_with("threadgroup") && std::mem::take(&mut self.starting) =>
            {
                ToolOutput::to_stdout(text::starting(&witness.time()))
            }
            TrialEvent::PhaseBegan { name, .. } => {
                self.final_sync = name == FINAL_SYNC;
                self.set_up()
            }
            TrialEvent::TaskBegan { kind, subject, .. } => self.task_began(kind, subject),
            TrialEvent::TaskEnded(task) => self.task_ended(task, witness),
            TrialEvent::PhaseEnded(phase) if phase.name == SETUP => {
                self.set_up_ns = Some(phase.wall_ns);
                ToolOutput::default()
            }
            TrialEvent::Ended { ending: Ending::Completed, .. } => {
                self.set_up_ns.take().map_or_else(ToolOutput::default, |wall_ns| {
                    ToolOutput::to_stdout(text::set_up(seconds(wall_ns)) + &text::set_up_only())
                })
            }
            // A failed run still reports the work done before the failure.
            TrialEvent::Ended { ending: Ending::Failed { .. }, .. } => {
                let has_done = self.groups.iter().any(|group| group.operations() > 0);
                if has_done { self.report() } else { ToolOutput::default() }
            }
            TrialEvent::Cautioned(caution) => {
                cautions::reported(caution, &[CautionCode::TooFewOperations])
            }
            _ => ToolOutput::default(),
        }
    }

    fn close(&mut self, _signal: Option<i32>) -> ToolOutput {
        self.report()
    }
}
