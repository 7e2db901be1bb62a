//! Runs the trials of a campaign, records them, and reports the progress.

mod aging;
mod here;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use treering_engine::RunProgress;
use treering_lab::{FilesystemTemplate, Lab, LabError, find_leftovers, remove_leftovers};
use treering_model::{
    Cell, CellRole, DeviceSpec, Ending, Fact, PLAN_FACT, TrialEvent, TrialHeader, TrialId,
    TrialSink,
};
use treering_script::{Job, with_causes};
use treering_sys::StopFlag;

use super::finished::FinishedCells;
use super::following::StoppingMonitor;
use super::forecast::{Forecast, duration, expected_cells, planned_cells};
use super::giving_up::FailureJudge;
use super::guests::{Guests, kept_templates};
use super::launches::{Launches, dir_of_all};
use super::plan_facts::plan_facts;
use super::reboots::{BootOutcome, Rebooting};
use super::sizing::SizedJobs;
use super::warm_up::WarmUpFailures;
use crate::aging::age_facts;
use crate::campaign::{Admission, Runner as Conducting};
use crate::cells::{PlannedCell, observing_rounds, rounds};
use crate::failure::{Failure, FailureKind};
use crate::handed::{HandedTrial, RanksTrial};
use crate::host::{Host, PlanOptions, RecordedTrial, ResultStore};
use crate::messages::warn_of_plan;
use crate::plan::{Plan, PlannedJob, Stopping, function_names};
use crate::stage::Stage;
use crate::trial::beginning::{beginning, occupy};
use crate::trial::{Recipients, WithSources, sources, unrecorded};

/// Runs a plan's trials into the store.
pub(crate) struct Runner<'a> {
    plan: &'a Plan,
    options: &'a PlanOptions<'a>,
    store: &'a dyn ResultStore,
    host: &'a dyn Host,
    finished: FinishedCells,
    stop: &'a StopFlag,
    following: StoppingMonitor<'a>,
    /// Release of the running kernel.
    kernel: String,
    /// Guests of variants with kernels of their own.
    guests: Option<Guests<'a>>,
    /// Launchers of jobs on several ranks.
    launches: Option<Launches<'a>>,
    /// Reboots of this machine, if it is rebooted for each trial.
    reboots: Option<Rebooting<'a>>,
    /// Sizes of the jobs from the warm-up.
    sized: SizedJobs,
    /// True if the trial that ran last was completed.
    was_completed: bool,
    /// Cell that needs the next reboot.
    next: Option<PlannedCell>,
    all: usize,
    /// Judge of failed trials, if the first one ends the plan.
    judge: FailureJudge,
    failed_warm_ups: WarmUpFailures,
    /// Cells run so far by this runner, and its start: they tell the time left.
    ran: usize,
    began: Instant,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        options: &'a PlanOptions<'a>,
        (store, host): (&'a dyn ResultStore, &'a dyn Host),
        finished: FinishedCells,
        (guests, launches, reboots): (
            Option<Guests<'a>>,
            Option<Launches<'a>>,
            Option<Rebooting<'a>>,
        ),
        stop: &'a StopFlag,
    ) -> Self {
        Self {
            plan,
            options,
            store,
            host,
            stop,
            guests,
            launches,
            reboots,
            sized: SizedJobs::default(),
            was_completed: false,
            next: None,
            following: StoppingMonitor::new(plan, options.quiet, (store, host)),
            kernel: treering_observe::kernel_release(),
            all: planned_cells(plan),
            judge: FailureJudge::default(),
            failed_warm_ups: WarmUpFailures::default(),
            ran: 0,
            began: Instant::now(),
            finished,
        }
    }

    /// Index of the variant whose failure ended the plan, with the error.
    pub(crate) fn given_up(&self) -> Option<(usize, String)> {
        self.judge.failure()
    }

    /// The campaign, once it has a trial.
    pub(crate) fn campaign(&self) -> Option<TrialId> {
        self.finished.campaign
    }

    /// Prints the forecast.
    pub(crate) fn announce(&self) -> Result<(), Failure> {
        let forecast = Forecast::new(self.plan, self.store, |cell| self.has(cell))?;
        forecast.lines().iter().for_each(|line| self.say(line));
        // A point of a series compares nothing, and a larger run fixes the number of rounds.
        if self.options.point.is_none() && !self.options.is_part {
            warn_of_plan(self.plan, self.host);
        }
        Ok(())
    }

    /// Filesystems from which the earlier trials in guests started, by variant. The user is told
    /// of each that is gone.
    pub(crate) fn kept_templates(
        &self,
        lab: &Lab,
    ) -> Result<Vec<(usize, FilesystemTemplate)>, Failure> {
        if self.guests.is_none() {
            return Ok(Vec::new());
        }
        let (kept, notes) = kept_templates(self.plan, &self.finished.trials, self.store, lab)?;
        notes.iter().for_each(|note| self.host.say(note));
        Ok(kept)
    }

    /// Number of rounds of a resumed campaign that has nothing left to run; `None` otherwise.
    pub(crate) fn rounds_if_finished(&self) -> Result<Option<u32>, Failure> {
        if self.finished.campaign.is_none() {
            return Ok(None);
        }
        let mut last = 0;
        for cells in rounds(self.plan) {
            if !cells.iter().all(|cell| self.has(cell)) {
                return Ok(None);
            }
            last = cells.first().map_or(last, |cell| cell.round);
            if last > 0 && !self.following.goes_on(last, &self.finished.done)? {
                break;
            }
        }
        let observed = observing_rounds(self.plan);
        Ok(observed.iter().flatten().all(|cell| self.has(cell)).then_some(last))
    }

    /// Job of a cell as its variant changes it; after the warm-up, with the size determined by it.
    fn job(&self, planned: &PlannedCell) -> &PlannedJob {
        self.sized.job(self.plan, planned)
    }

    fn say(&self, words: &str) {
        if !self.options.quiet {
            self.host.say(words);
        }
    }

    /// Stored form of a cell, and the identity of its trial.
    fn cell(&mut self, planned: &PlannedCell) -> (TrialId, Cell) {
        let trial = self.finished.reserved.take().unwrap_or_default();
        let campaign = *self.finished.campaign.get_or_insert(trial);
        let cell = Cell {
            campaign,
            plan: self.plan.name.clone(),
            digest: self.finished.digest.clone(),
            variant: self.plan.variants[planned.variant].name.clone(),
            job: self.plan.jobs[planned.job].name.clone(),
            round: planned.round,
            role: planned.role,
        };
        (trial, cell)
    }

    /// Label of the trial: the label of the cell, or of the point of a series.
    fn label(&self, planned: &PlannedCell) -> String {
        match &self.options.point {
            Some(point) => point.label.clone(),
            None => planned.label(self.plan),
        }
    }

    /// Removes trees that a killed run of this plan left here. A run killed before it wrote its
    /// mark has made nothing yet.
    fn remove_own_leftovers(&self, work: &Path) -> Result<(), Failure> {
        let own_plan = Some(self.finished.identity(self.plan));
        if find_leftovers(work)?.is_some_and(|left| left.plan == own_plan) {
            remove_leftovers(work, |_, tree| self.say(&format!("removing {}", tree.name)))?;
        }
        Ok(())
    }

    /// Additional sinks of the trial's events: the progress display, unless quiet.
    fn listeners(&self, job: &dyn Job, progress: &Arc<RunProgress>) -> Vec<Box<dyn TrialSink>> {
        if self.options.quiet { Vec::new() } else { self.host.listeners(job, progress) }
    }

    /// Sink that also receives the sources of the cell's job.
    fn with_sources<S>(&self, planned: &PlannedCell, sink: S) -> WithSources<S> {
        let record = self.job(planned).record.clone();
        WithSources { sources: sources(record, self.host), sink }
    }

    /// Trial of a cell for another process, and its header.
    fn handed(&mut self, planned: &PlannedCell, stage: &Stage) -> (HandedTrial, TrialHeader) {
        let (trial, cell) = self.cell(planned);
        let label = self.label(planned);
        let job = self.job(planned);
        let (wanted, mut parameters) = self.plan.observed(planned.role);
        parameters.extend(job.parameters_around());
        let handed = HandedTrial {
            engine: job.engine,
            workload: job.workload.clone(),
            options: job.options.clone(),
            seed: self.plan.conditions.seed,
            handicap_percent: self.plan.variants[planned.variant].handicap_percent,
            trial,
            cell: cell.clone(),
            label: label.clone(),
            parameters,
            facts: self.all_facts(planned, stage, trial),
            cautions: stage.cautions.clone(),
            settings: self.plan.variants[planned.variant].settings.clone(),
            trace: wanted.trace,
            layout_every: wanted.layout.map(|layout| layout.every_tasks),
            functions: function_names(&wanted.functions),
            remount: self.plan.conditions.remount,
        };
        let own = beginning(trial, &job.workload, job.job.as_ref(), self.host.unix_ms());
        (handed, TrialHeader { label, cell: Some(cell), ..own })
    }

    /// Records the trial of a cell in another process: `run` receives the sink for its events.
    /// `under_test` has the target directory, if it is on this machine.
    fn relay_trial(
        &mut self,
        planned: &PlannedCell,
        (trial, under_test): (TrialId, &[&Path]),
        run: impl FnOnce(&Self, &mut dyn TrialSink) -> Result<Ending, Failure>,
    ) -> Result<(), Failure> {
        let job = self.job(planned);
        let recorded = RecordedTrial { trial, is_optional: false, under_test, stop: self.stop };
        let (mut run, mut ending) = (Some(run), None);
        self.store.record(&recorded, &mut |store, _caution| {
            let others = self.listeners(job.job.as_ref(), &Arc::new(RunProgress::new()));
            let run = run.take();
            let mut sinks = self.with_sources(planned, Recipients { first: store, others });
            ending = run.map(|run| run(self, &mut sinks));
        })?;
        match ending {
            Some(ending) => self.record_ending(planned, trial, &ending?),
            None => Err(unrecorded()),
        }
    }

    /// Runs the trial of a cell whose kernel is booted for it.
    fn run_in_guest(&mut self, planned: &PlannedCell, stage: &Stage) -> Result<(), Failure> {
        let (handed, beginning) = self.handed(planned, stage);
        self.relay_trial(planned, (handed.trial, &[]), |runner, sink| {
            let Some(guests) = &runner.guests else {
                return Err(Failure::new(
                    FailureKind::Bug,
                    "the guests of the plan are not prepared",
                ));
            };
            let job = ((planned.variant, planned.job), runner.job(planned));
            guests.run(job, handed, beginning, (stage, runner.stop), sink)
        })
    }

    /// Runs the trial of a cell on the ranks that are launched for it.
    fn run_on_ranks(&mut self, planned: &PlannedCell, stage: &Stage) -> Result<(), Failure> {
        let work = stage.work()?;
        // Rank 0 will acquire the directory; this check reports an unusable one beforehand.
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
        let ran = self.relay_trial(planned, (handed.trial, &[work.as_path()]), |runner, sink| {
            let Some(launches) = &runner.launches else {
                return Err(Failure::new(
                    FailureKind::Bug,
                    "the launchers of the plan are not prepared",
                ));
            };
            handed.facts.extend(launches.facts(planned.job));
            let trial = RanksTrial { handed, dir, keep: stage.is_fresh() };
            launches.run(planned.job, trial, beginning, runner.stop, sink)
        });
        if !stage.is_fresh() {
            // Killed ranks have not removed their trees.
            self.remove_own_leftovers(&work)?;
        }
        ran?;
        self.reboots.as_ref().map_or(Ok(()), Rebooting::is_used)
    }

    /// Records the ending of a cell's trial, and reports failures.
    fn record_ending(
        &mut self,
        planned: &PlannedCell,
        trial: TrialId,
        ending: &Ending,
    ) -> Result<(), Failure> {
        if let Ending::Failed { why } = ending {
            self.host.say(&format!("{}: the trial failed: {why}", planned.label(self.plan)));
            self.failed_warm_ups.note(planned, why);
        }
        self.was_completed = *ending == Ending::Completed;
        if *ending != Ending::Interrupted {
            self.finished.done.insert(*planned, trial);
        }
        self.ran += 1;
        // Elsewhere a failed trial is one of many, and the others go on.
        let done = &self.finished.done;
        let failure =
            self.options.gives_up.then(|| self.judge.take(planned, ending, done)).flatten();
        failure.map_or(Ok(()), |(_, why)| Err(Failure::new(FailureKind::Trial, why)))
    }

    /// Number of the current trial, and the estimated time left.
    fn progress(&self) -> String {
        let done = self.finished.done.len();
        if self.ran == 0 {
            // With a limit of time, the number of trials is unknown until one has run.
            return match self.plan.stopping {
                Stopping::Time { .. } => format!("trial {}", done + 1),
                _ => format!("trial {} of {}", done + 1, self.all),
            };
        }
        let each = self.began.elapsed().as_secs_f64() / self.ran as f64;
        let all = expected_cells(self.plan, each).min(self.all).max(done + 1);
        let left = duration(each * (all - done) as f64);
        format!("trial {} of {all}, about {left} left", done + 1)
    }
}

impl Conducting for Runner<'_> {
    type Error = Failure;

    fn has(&self, cell: &PlannedCell) -> bool {
        let kernel = self.plan.variants[cell.variant].kernel.as_ref();
        let is_elsewhere = self.reboots.is_none() && kernel.is_some_and(|it| *it != self.kernel);
        is_elsewhere || self.judge.passes_over(cell) || self.finished.done.contains_key(cell)
    }

    fn admit(&mut self, cell: &PlannedCell) -> Result<Admission, Failure> {
        // Jobs are not sized within a series, whose points must all do the same work.
        if cell.role != CellRole::WarmUp && self.options.point.is_none() {
            let (done, workloads) = (&self.finished.done, self.options.workloads);
            for line in self.sized.size(self.plan, done, workloads, self.store)? {
                self.say(&line);
            }
        }
        let arrival = match &mut self.reboots {
            None => return Ok(Admission::Run),
            Some(reboots) => {
                let wanted = self.plan.variants[cell.variant].kernel.as_deref();
                reboots.boot_outcome(wanted.unwrap_or_default())
            }
        };
        match arrival {
            BootOutcome::Reached => Ok(Admission::Run),
            BootOutcome::Failed { why } => {
                self.host.say(&format!("{}: the trial failed: {why}", cell.label(self.plan)));
                self.record_failure(cell, why)?;
                Ok(Admission::Skip)
            }
            BootOutcome::NotBooted => {
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
        if self.options.resume {
            self.remove_own_leftovers(&work)?;
        }
        if self.plan.jobs[planned.job].launch.is_some() {
            return self.run_on_ranks(planned, stage);
        }
        let acquired = match self.plan.step_directory(planned.variant, planned.job) {
            None => occupy(&work),
            Some(name) => occupy(&work).map(drop).and_then(|()| occupy(&work.join(name))),
        };
        let place = match acquired {
            Ok(place) => place,
            // No trial can run here until the user has decided about these trees.
            Err(error @ LabError::Left { .. }) => return Err(error.into()),
            Err(error) => return self.failed(planned, &error),
        };
        self.run_here(planned, stage, place)
    }

    fn was_completed(&self) -> bool {
        self.was_completed
    }

    fn step_was_skipped(&mut self, planned: &PlannedCell) -> Result<(), Failure> {
        self.record_failure(planned, "an earlier step was not completed".to_owned())
    }

    fn failed(&mut self, planned: &PlannedCell, why: &LabError) -> Result<(), Failure> {
        self.was_completed = false;
        let why = with_causes(why);
        if self.options.gives_up {
            let message = format!("the filesystem could not be prepared: {why}");
            return Err(Failure::environment(message));
        }
        self.host.say(&format!(
            "{}: the filesystem could not be prepared: {why}",
            planned.label(self.plan)
        ));
        self.record_failure(planned, why)
    }

    fn warmed_up(&mut self) -> Result<(), Failure> {
        self.failed_warm_ups.check(self.plan, &self.finished)
    }

    fn round_ended(&mut self, round: u32) -> Result<bool, Failure> {
        if self.stop.is_raised() {
            return Ok(false);
        }
        self.following.after_round(round, &self.finished.done)
    }
}

impl Runner<'_> {
    /// Records a trial that failed before it could begin.
    fn record_failure(&mut self, planned: &PlannedCell, why: String) -> Result<(), Failure> {
        self.failed_warm_ups.note(planned, &why);
        let (trial, cell) = self.cell(planned);
        let job = self.job(planned);
        let beginning = TrialHeader {
            label: self.label(planned),
            cell: Some(cell),
            ..beginning(trial, &job.workload, job.job.as_ref(), self.host.unix_ms())
        };
        let events = [
            TrialEvent::Began(beginning),
            TrialEvent::Ended { ending: Ending::Failed { why }, at_ns: 0 },
        ];
        let recorded =
            RecordedTrial { trial, is_optional: false, under_test: &[], stop: self.stop };
        let mut accepted = Ok(());
        let record_result = self.store.record(&recorded, &mut |store, _caution| {
            accepted = events.iter().try_for_each(|event| store.accept(event));
        });
        accepted.map_err(|error| Failure::of(FailureKind::Environment, &error))?;
        record_result?;
        self.finished.done.insert(*planned, trial);
        Ok(())
    }

    /// Facts of a trial about its target, its plan and its boot.
    fn all_facts(&self, planned: &PlannedCell, stage: &Stage, trial: TrialId) -> Vec<Fact> {
        let level = self.following.rule().look_alpha();
        let sized = self.sized.words(planned);
        let mut facts = stage.facts.clone();
        facts.extend(age_facts(&self.plan.variants[planned.variant]));
        facts.extend(plan_facts(self.plan, planned, (level, sized), self.options.point.as_ref()));
        facts.extend(self.plan_of_campaign(trial));
        facts.extend(self.reboots.iter().flat_map(Rebooting::facts));
        facts
    }

    /// The plan, as a fact of the first trial of a campaign.
    fn plan_of_campaign(&self, trial: TrialId) -> Option<Fact> {
        let is_first = self.finished.campaign == Some(trial);
        is_first.then(|| Fact { name: PLAN_FACT.to_owned(), value: self.plan.to_toml() })
    }

    /// Reboots the machine and returns true if a trial needs it. Otherwise ends the reboots and
    /// returns false.
    pub(crate) fn ended_or_rebooting(
        &mut self,
        conducted: Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let Some(mut reboots) = self.reboots.take() else { return conducted.map(|()| false) };
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
            return Ok(true);
        }
        let ended = reboots.end();
        booted?;
        ended.map(|()| false)
    }
}
