//! Runs the trials of a campaign, keeps them, and says how far it is.

use std::io::{ErrorKind, IsTerminal};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use treering_analysis::compare::LEVEL_FACT;
use treering_campaign::plan::{Plan, baselines};
use treering_campaign::{
    Admission, PlannedCell, Runner as Conducting, Stage, observing_rounds, rounds,
};
use treering_engine::{EngineOptions, PayloadKind, Progress};
use treering_lab::{LabError, Workplace, find_leftovers, remove_leftovers};
use treering_model::{
    Beginning, Cell, DeviceSpec, Ending, Fact, PLAN_FACT, TrialEvent, TrialId, TrialSink,
};
use treering_sys::StopFlag;

use super::following::Following;
use super::forecast::{Forecast, duration, planned_cells};
use super::guests::Guests;
use super::launches::{Launches, dir_of_all};
use super::ledger::Ledger;
use super::reboots::{Arrival, Rebooting};
use crate::arguments::{AnyRunArgs, CompareArgs};
use crate::classic_output::say;
use crate::commands::handed::HandedTrial;
use crate::commands::many::launched::RanksTrial;
use crate::commands::native::usual_latency;
use crate::commands::report::{BASELINE_FACT, PRIMARY_FACT, THRESHOLD_FACT};
use crate::commands::share::record_of;
use crate::commands::trial::{Asked, beginning, run as run_trial, take};
use crate::commands::workload;
use crate::failure::{Failure, Kind};
use crate::progress::ProgressShow;
use crate::sinks::{Recording, WithRecord};
use crate::storage::Keeping;
use treering_script::{Job, with_causes};

/// Runs a plan's trials into the store.
pub(super) struct Runner<'a> {
    plan: &'a Plan,
    args: &'a CompareArgs,
    ledger: Ledger,
    stop: &'a StopFlag,
    following: Following<'a>,
    /// The kernel that runs, when a variant asks for one.
    kernel: String,
    /// Where kernels are booted, when variants have some of their own.
    guests: Option<Guests<'a>>,
    /// What starts ranks, when jobs have some.
    launches: Option<Launches<'a>>,
    /// The boots of this machine, when it is booted for each trial.
    reboots: Option<Rebooting<'a>>,
    /// The cell for which it is booted next.
    next: Option<PlannedCell>,
    all: usize,
    /// The variant whose trial failed, and why, where that ends the plan.
    given_up: Option<(usize, String)>,
    /// Cells that were run now, and how long they took with everything around them.
    ran: usize,
    began: Instant,
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        args: &'a CompareArgs,
        ledger: Ledger,
        (guests, launches, reboots): (
            Option<Guests<'a>>,
            Option<Launches<'a>>,
            Option<Rebooting<'a>>,
        ),
        stop: &'a StopFlag,
    ) -> Self {
        Self {
            plan,
            args,
            stop,
            guests,
            launches,
            reboots,
            next: None,
            following: Following::new(plan, args),
            kernel: treering_observe::kernel_release(),
            all: planned_cells(plan),
            given_up: None,
            ran: 0,
            began: Instant::now(),
            ledger,
        }
    }

    /// The trial that ended the plan by failing, where that ends it: its variant, and why.
    pub(super) fn given_up(&mut self) -> Option<(usize, String)> {
        self.given_up.take()
    }

    /// The campaign, once it has a trial.
    pub(super) fn campaign(&self) -> Option<TrialId> {
        self.ledger.campaign
    }

    /// Says what is about to be run, and how long it takes.
    pub(super) fn announce(&self) -> Result<(), Failure> {
        let store = self.args.page.store.store.as_deref();
        let forecast = Forecast::new(self.plan, store, |cell| self.has(cell))?;
        forecast.lines().iter().for_each(|line| self.say(line));
        super::warn_of_shortfall(self.plan, self.args);
        Ok(())
    }

    /// After how many rounds it is over, where nothing is left to be run of what was begun before.
    pub(super) fn rounds_if_finished(&self) -> Result<Option<u32>, Failure> {
        if self.ledger.campaign.is_none() {
            return Ok(None);
        }
        let mut last = 0;
        for cells in rounds(self.plan) {
            if !cells.iter().all(|cell| self.has(cell)) {
                return Ok(None);
            }
            last = cells.first().map_or(last, |cell| cell.round);
            if last > 0 && !self.following.goes_on(last, &self.ledger.done)? {
                break;
            }
        }
        let observed = observing_rounds(self.plan);
        Ok(observed.iter().flatten().all(|cell| self.has(cell)).then_some(last))
    }

    fn say(&self, words: &str) {
        if !self.args.quiet {
            say(words);
        }
    }

    /// The cell as it is kept, and the identity of its trial.
    fn cell(&mut self, planned: &PlannedCell) -> (TrialId, Cell) {
        let trial = self.ledger.reserved.take().unwrap_or_default();
        let campaign = *self.ledger.campaign.get_or_insert(trial);
        let cell = Cell {
            campaign,
            plan: self.plan.name.clone(),
            digest: self.ledger.digest.clone(),
            variant: self.plan.variants[planned.variant].name.clone(),
            job: self.plan.jobs[planned.job].name.clone(),
            round: planned.round,
            role: planned.role,
        };
        (trial, cell)
    }

    /// The label of its trial: that of the variant, or of the point of a series.
    fn label(&self, planned: &PlannedCell) -> String {
        match &self.args.point {
            Some(point) => point.label.clone(),
            None => planned.label(self.plan),
        }
    }

    /// Removes what a killed run of this plan left here; one that was killed before it left its
    /// mark has made nothing yet.
    fn remove_own_leftovers(&self, work: &Path) -> Result<(), Failure> {
        let own = Some(self.ledger.identity(self.plan));
        if find_leftovers(work)?.is_some_and(|left| left.plan == own) {
            remove_leftovers(work, |_, tree| self.say(&format!("removing {}", tree.name)))?;
        }
        Ok(())
    }

    /// Who else hears of a trial as it goes: the display, where there is one.
    fn listeners(&self, job: &dyn Job, progress: &Arc<Progress>) -> Vec<Box<dyn TrialSink>> {
        let mut listeners: Vec<Box<dyn TrialSink>> = Vec::new();
        if !self.args.quiet && std::io::stderr().is_terminal() {
            let operations = job.tasks(&treering_script::TargetFacts::unknown());
            listeners.push(Box::new(ProgressShow::begin(operations, progress)));
        }
        listeners
    }

    /// The trial of a cell that another process runs, and its beginning as it is known here.
    fn handed(&mut self, planned: &PlannedCell, stage: &Stage) -> (HandedTrial, Beginning) {
        let (trial, cell) = self.cell(planned);
        let label = self.label(planned);
        let job = &self.plan.jobs[planned.job];
        let (wanted, parameters) = self.plan.observed(planned.role);
        let handed = HandedTrial {
            workload: job.workload.clone(),
            options: job.options.clone(),
            seed: self.plan.conditions.seed,
            handicap_percent: self.plan.variants[planned.variant].handicap_percent,
            trial,
            cell: cell.clone(),
            label: label.clone(),
            parameters,
            facts: [stage.facts.clone(), self.facts(&cell, trial), self.facts_of_boot()].concat(),
            cautions: stage.cautions.clone(),
            trace: wanted.trace,
            layout_every: wanted.layout.map(|layout| layout.every_tasks),
            remount: self.plan.conditions.remount,
        };
        let beginning = Beginning {
            label,
            cell: Some(cell),
            ..beginning(trial, &job.workload, job.job.as_ref())
        };
        (handed, beginning)
    }

    /// Keeps the trial of a cell that another process runs: its events go into the sink that this
    /// is given. `under_test` is where it works, on this machine.
    fn relayed(
        &mut self,
        planned: &PlannedCell,
        (trial, under_test): (TrialId, &[&Path]),
        run: impl FnOnce(&Self, &mut dyn TrialSink) -> Result<Ending, Failure>,
    ) -> Result<(), Failure> {
        let named = self.args.page.store.store.as_deref();
        let mut keeping = Keeping::open(named, false, under_test, trial)?;
        let mut unwritten = None;
        let ending = {
            let job = &self.plan.jobs[planned.job];
            let mut sinks: Vec<Box<dyn TrialSink + '_>> = Vec::new();
            if let Some(store) = keeping.store() {
                let stop = self.stop.clone();
                sinks.push(Box::new(Recording::new(store.recorder(), false, stop, &mut unwritten)));
            }
            let progress = Arc::new(Progress::new());
            for listener in self.listeners(job.job.as_ref(), &progress) {
                sinks.push(listener);
            }
            let mut sinks = WithRecord { record: record_of(job.record.clone()), others: sinks };
            run(self, &mut sinks)
        };
        keeping.settle()?;
        if let Some(failure) = unwritten {
            return Err(failure);
        }
        self.concluded(planned, trial, &ending?)
    }

    /// Runs the trial of a cell whose kernel is booted for it.
    fn run_in_guest(&mut self, planned: &PlannedCell, stage: &Stage) -> Result<(), Failure> {
        let (handed, beginning) = self.handed(planned, stage);
        self.relayed(planned, (handed.trial, &[]), |runner, sink| {
            let Some(guests) = &runner.guests else {
                return Err(Failure::new(Kind::Bug, "the guests of the plan are not prepared"));
            };
            let key = (planned.variant, planned.job);
            guests.run(key, handed, beginning, (&stage.disks(), runner.stop), sink)
        })
    }

    /// Runs the trial of a cell on the ranks that are launched for it.
    fn run_on_ranks(&mut self, planned: &PlannedCell, stage: &Stage) -> Result<(), Failure> {
        let work = stage.work()?;
        // The first rank takes the place; whether it can be had is found out here, as always.
        match occupy(&work) {
            Ok(place) => drop(place),
            Err(error @ LabError::Left { .. }) => return Err(error.into()),
            Err(error) => return self.failed(planned, &error),
        }
        let (mut handed, beginning) = self.handed(planned, stage);
        let of_variant = match &self.plan.variants[planned.variant].device {
            DeviceSpec::Directory { path } => Some(path.as_path()),
            DeviceSpec::Loop { .. } | DeviceSpec::Block { .. } => None,
        };
        let dir = dir_of_all(of_variant, &work);
        let ran = self.relayed(planned, (handed.trial, &[work.as_path()]), |runner, sink| {
            let Some(launches) = &runner.launches else {
                return Err(Failure::new(Kind::Bug, "the launchers of the plan are not prepared"));
            };
            handed.facts.extend(launches.facts(planned.job));
            let trial = RanksTrial { handed, dir, keep: stage.is_fresh() };
            launches.run(planned.job, trial, beginning, runner.stop, sink)
        });
        if !stage.is_fresh() {
            // Ranks that were ended have not removed what they had made.
            self.remove_own_leftovers(&work)?;
        }
        ran?;
        self.reboots.as_ref().map_or(Ok(()), Rebooting::is_used)
    }

    /// Notes how the trial of a cell ended, and says so where it failed.
    fn concluded(
        &mut self,
        planned: &PlannedCell,
        trial: TrialId,
        ending: &Ending,
    ) -> Result<(), Failure> {
        if let Ending::Failed { why } = ending {
            say(&format!("{}: the trial failed: {why}", planned.label(self.plan)));
        }
        if *ending != Ending::Interrupted {
            self.ledger.done.insert(*planned, trial);
        }
        self.ran += 1;
        if let (true, Ending::Failed { why }) = (self.args.gives_up, ending) {
            self.given_up = Some((planned.variant, why.clone()));
            return Err(Failure::new(Kind::Trial, why.clone()));
        }
        Ok(())
    }

    /// What is done, and about how long the rest will take.
    fn progress(&self) -> String {
        let done = self.ledger.done.len();
        let left = self.all.saturating_sub(done);
        if self.ran == 0 {
            return format!("trial {} of {}", done + 1, self.all);
        }
        let each = self.began.elapsed().as_secs_f64() / self.ran as f64;
        let left = duration(each * left as f64);
        format!("trial {} of {}, about {left} left", done + 1, self.all)
    }

    /// Facts of every trial of the plan: what a report needs to judge as the plan says. The first
    /// trial has the plan itself, too.
    fn facts(&self, cell: &Cell, trial: TrialId) -> Vec<Fact> {
        let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
        let judging = &self.plan.judging;
        let mut facts = Vec::new();
        let variants = &self.plan.variants;
        let place = variants.iter().position(|variant| variant.name == cell.variant);
        if let Some(place) = place {
            let baseline = baselines(variants)[place].unwrap_or(place);
            facts.push(fact(BASELINE_FACT, variants[baseline].name.clone()));
        }
        if !judging.primary.is_empty() {
            facts.push(fact(PRIMARY_FACT, judging.primary.join(",")));
        }
        if let Some(threshold) = judging.threshold {
            facts.push(fact(THRESHOLD_FACT, format!("{}%", threshold * 100.0)));
        }
        if let Some(level) = self.following.rule().look_alpha() {
            facts.push(fact(LEVEL_FACT, level.to_string()));
        }
        let of_series = self.args.point.iter().flat_map(|point| &point.facts);
        facts.extend(of_series.map(|(name, value)| fact(name, value.clone())));
        if cell.campaign == trial {
            facts.push(fact(PLAN_FACT, self.plan.to_toml()));
        }
        facts
    }
}

impl Conducting for Runner<'_> {
    type Error = Failure;

    fn has(&self, cell: &PlannedCell) -> bool {
        let wanted = self.plan.variants[cell.variant].kernel.as_ref();
        let elsewhere = wanted.is_some_and(|kernel| *kernel != self.kernel);
        (elsewhere && self.reboots.is_none()) || self.ledger.done.contains_key(cell)
    }

    fn admit(&mut self, cell: &PlannedCell) -> Result<Admission, Failure> {
        let arrival = match &mut self.reboots {
            None => return Ok(Admission::Run),
            Some(reboots) => {
                let wanted = self.plan.variants[cell.variant].kernel.as_deref();
                reboots.arrival(wanted.unwrap_or_default())
            }
        };
        match arrival {
            Arrival::Here => Ok(Admission::Run),
            Arrival::Failed { why } => {
                say(&format!("{}: the trial failed: {why}", cell.label(self.plan)));
                self.record_failure(cell, why)?;
                Ok(Admission::Skip)
            }
            Arrival::Nowhere => {
                self.next = Some(*cell);
                Ok(Admission::Pause)
            }
        }
    }

    fn begins(&mut self, cell: &PlannedCell) {
        self.say(&format!("{} ({})", cell.words(self.plan), self.progress()));
    }

    fn run(&mut self, planned: &PlannedCell, stage: &Stage) -> Result<(), Failure> {
        if self.plan.variants[planned.variant].guest.is_some() {
            return self.run_in_guest(planned, stage);
        }
        let work = stage.work()?;
        if self.args.resume {
            self.remove_own_leftovers(&work)?;
        }
        if self.plan.jobs[planned.job].launch.is_some() {
            return self.run_on_ranks(planned, stage);
        }
        let place = match occupy(&work) {
            Ok(place) => place,
            // No trial can run here until the user has decided what becomes of these trees.
            Err(error @ LabError::Left { .. }) => return Err(error.into()),
            Err(error) => return self.failed(planned, &error),
        };
        let (trial, cell) = self.cell(planned);
        let job = &self.plan.jobs[planned.job];
        let workload = workload(&job.workload)
            .ok_or_else(|| Failure::new(Kind::Bug, format!("no workload {}", job.workload)))?;
        let any = AnyRunArgs {
            label: self.label(planned),
            store: self.args.page.store.store.clone(),
            ..AnyRunArgs::default()
        };
        let facts = self.facts(&cell, trial);
        let facts = [stage.facts.clone(), facts, self.facts_of_boot()].concat();
        let (wanted, parameters) = self.plan.observed(planned.role);
        let remount = || stage.remount();
        let asked = Asked {
            workload,
            job: job.job.as_ref(),
            any: &any,
            trial,
            cell: Some(cell),
            parameters,
            engine: EngineOptions {
                handicap_percent: self.plan.variants[planned.variant].handicap_percent,
                ..EngineOptions::new(
                    usual_latency(job.job.as_ref()),
                    PayloadKind::Native { compressibility: 0 },
                    self.plan.conditions.seed,
                )
            },
            // The next cell formats the device: removing trees would only take time.
            keep: stage.is_fresh(),
            cautions: stage.cautions.clone(),
            facts,
            wanted,
            remount: (self.plan.conditions.remount || job.job.remounts()).then_some(&remount),
            catches_sigint: false,
            ranks: None,
            speaker: None,
            record: record_of(job.record.clone()),
        };
        let progress = Arc::new(Progress::new());
        let listeners = self.listeners(job.job.as_ref(), &progress);
        let done = run_trial(asked, place, listeners, &progress, &mut |_| {})?;
        done.say_left_behind();
        if let Some(failure) = done.unkept {
            return Err(failure);
        }
        self.concluded(planned, trial, &done.conclusion.ending)?;
        self.reboots.as_ref().map_or(Ok(()), Rebooting::is_used)
    }

    fn failed(&mut self, planned: &PlannedCell, why: &LabError) -> Result<(), Failure> {
        let why = with_causes(why);
        if self.args.gives_up {
            let message = format!("the filesystem could not be prepared: {why}");
            return Err(Failure::new(Kind::Environment, message));
        }
        say(&format!("{}: the filesystem could not be prepared: {why}", planned.label(self.plan)));
        self.record_failure(planned, why)
    }

    fn round_ended(&mut self, round: u32) -> Result<bool, Failure> {
        if self.stop.is_raised() {
            return Ok(false);
        }
        self.following.after(round, &self.ledger.done)
    }
}

impl Runner<'_> {
    /// Records a trial that failed before it could begin.
    fn record_failure(&mut self, planned: &PlannedCell, why: String) -> Result<(), Failure> {
        let (trial, cell) = self.cell(planned);
        let job = &self.plan.jobs[planned.job];
        let beginning = Beginning {
            label: self.label(planned),
            cell: Some(cell),
            ..beginning(trial, &job.workload, job.job.as_ref())
        };
        let events = [
            TrialEvent::Began(beginning),
            TrialEvent::Ended { ending: Ending::Failed { why }, at_ns: 0 },
        ];
        let named = self.args.page.store.store.as_deref();
        let mut keeping = Keeping::open(named, false, &[Path::new("/")], trial)?;
        if let Some(store) = keeping.store() {
            let mut recorder = store.recorder();
            for event in &events {
                recorder.accept(event).map_err(|error| Failure::of(Kind::Environment, &error))?;
            }
        }
        keeping.settle()?;
        self.ledger.done.insert(*planned, trial);
        Ok(())
    }

    /// Which kernel the machine was booted into for this trial, and by what.
    fn facts_of_boot(&self) -> Vec<Fact> {
        self.reboots.as_ref().map(Rebooting::facts).unwrap_or_default()
    }

    /// After the conducting: boots the machine for the next trial, and says with what this process
    /// exits then; `None` where the plan is over. Whatever else happened ends the reboots.
    pub(super) fn ended_or_rebooting(
        &mut self,
        conducted: Result<(), Failure>,
    ) -> Result<Option<ExitCode>, Failure> {
        let Some(mut reboots) = self.reboots.take() else { return conducted.map(|()| None) };
        let next = self.next.filter(|_| conducted.is_ok() && !self.stop.is_raised());
        let booted = match next {
            Some(cell) => {
                let words = format!("{} ({})", cell.words(self.plan), self.progress());
                let kernel = self.plan.variants[cell.variant].kernel.clone().unwrap_or_default();
                reboots.boot(&kernel, &words)
            }
            None => conducted,
        };
        if next.is_some() && booted.is_ok() {
            return Ok(Some(ExitCode::SUCCESS));
        }
        let ended = reboots.end();
        booted?;
        ended.map(|()| None)
    }
}

/// Takes the directory to work in. The one above it must be there: if it is lost, so is the place.
fn occupy(work: &Path) -> Result<Workplace, LabError> {
    if let Err(error) = std::fs::create_dir(work)
        && error.kind() != ErrorKind::AlreadyExists
    {
        return Err(LabError::Io { what: "cannot make", path: work.to_owned(), source: error });
    }
    take(work)
}
