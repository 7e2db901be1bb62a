//! Conducts a single trial: prepares, observes, runs and releases it.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use treering_engine::{
    EngineError, EngineOptions, HeatLog, RenewablePlace, RenewableTarget, RunOptions, RunProgress,
    RunSessions, Target, World,
};
use treering_lab::{LabError, OwnedDirectory, PlanIdentity, RunTree};
use treering_model::{
    Caution, CautionCode, Ending, Fact, KEPT_TREES_FACT, LIMIT_PREFIX, Metric, RunMode, SinkError,
    TrialEvent, TrialHeader, TrialSink, WorkLimit,
};
use treering_observe::layout::LayoutSchedule;
use treering_observe::{Findings, ObserverContext, ObserverOptions, SettleTerms, look, watch};
use treering_script::{Job, Session, TargetFacts};
use treering_sys::StopFlag;

use crate::CampaignError;
use crate::cautions::{CautionFacts, Tally, compressible_caution, trial_cautions};
use crate::ranks::{about_ranks, make_directories, run_apart, tell_place};
use crate::room::shortage;
use crate::trial::devices::refuse_written;
use crate::watched::{HeatRecording, ObservedSink, tell};

/// Fact that is present if the filesystem was made for the trial.
pub(crate) const MKFS_FACT: &str = "mkfs.command";
/// Longest watch for deferred work after the last phase.
const DEFERRED_WORK_LIMIT: Duration = Duration::from_secs(10);

/// A trial to be conducted.
pub(crate) struct TrialPlan<'a> {
    /// Beginning event of the trial: identity, labels and parameters.
    pub(crate) beginning: TrialHeader,
    /// Job to run.
    pub(crate) job: &'a dyn Job,
    /// Engine options of the run.
    pub(crate) engine: EngineOptions,
    /// True if the trees are kept. Classic runs always leave their files in place, as the originals
    /// do.
    pub(crate) keep: bool,
    /// Cautions known before the trial.
    pub(crate) cautions: Vec<Caution>,
    /// Optional work of observers.
    pub(crate) wanted: ObserverOptions,
    /// Additional facts about the target that observers cannot see, such as the mkfs command.
    pub(crate) facts: Vec<Fact>,
    /// Metrics that are known before the trial, such as those of an aged filesystem.
    pub(crate) metrics: &'a [Metric],
    /// Remounts the filesystem between two phases; `None` to keep it mounted.
    pub(crate) remount: Option<Remount<'a>>,
    /// Ranks that run the trial together; `None` on a single process. Ranks other than 0 only
    /// assist.
    pub(crate) world: Option<&'a World<'a>>,
    /// Environment variables of the programs of the job, as (name, value).
    pub(crate) environment: &'a [(String, String)],
}

/// Unmounts a filesystem and mounts it again; returns the directory to work in.
pub type Remount<'a> = &'a dyn Fn() -> Result<PathBuf, LabError>;

/// Result of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// Completed, failed or interrupted.
    pub ending: Ending,
    /// Signal that interrupted the trial.
    pub signal: Option<i32>,
    /// Errors of the removals after the trial; empty if nothing was left behind.
    pub left_behind: Vec<String>,
    /// Trees that the trial made and kept.
    pub kept: Vec<RunTree>,
}

/// Conducts a trial in a directory. `removing` is called with each tree that is removed afterwards.
///
/// # Errors
/// When the trial cannot begin, or its results cannot be kept. A trial that fails or is interrupted
/// is a conclusion, not an error.
pub(crate) fn conduct(
    plan: TrialPlan<'_>,
    place: &mut OwnedDirectory,
    sink: &mut dyn TrialSink,
    progress: &RunProgress,
    stop: &StopFlag,
    removing: &mut dyn FnMut(&str),
) -> Result<Conclusion, CampaignError> {
    let target_facts = place.target().facts()?;
    let admitted = admit(&plan, place, &target_facts)?;
    let cleans = plan.job.mode() == RunMode::Native;
    if cleans {
        let of_plan = plan.beginning.cell.as_ref().map(PlanIdentity::from);
        place.mark(&plan.beginning.trial.text(), of_plan.as_ref())?;
    }
    let mut litter = Vec::new();
    let reported = perform(
        &plan,
        place,
        admitted,
        &target_facts,
        &mut TrialListeners { sink, progress, stop },
        &mut litter,
    );
    litter.retain(|name| !target_facts.existing.contains(name));
    let cleaned = if cleans {
        clean_up(place, plan.keep, removing)
    } else {
        TreeRemoval { left_behind: remove_litter(place, &litter), kept: Vec::new() }
    };
    let TreeRemoval { left_behind, kept } = cleaned;
    Ok(Conclusion { left_behind, kept, ..reported? })
}

/// Result of removing the trees of a trial.
#[derive(Default)]
struct TreeRemoval {
    left_behind: Vec<String>,
    kept: Vec<RunTree>,
}

/// Removes the trees that a trial made, even if it failed. Trees are removed before the mark that
/// lists them, and the mark stays if a tree could not be removed. Returns errors as text, since the
/// reason why the trial ended matters more.
fn clean_up(
    place: &mut OwnedDirectory,
    keeps: bool,
    removing: &mut dyn FnMut(&str),
) -> TreeRemoval {
    let made_trees = match place.made_trees() {
        Ok(made_trees) => made_trees,
        Err(error) => {
            return TreeRemoval { left_behind: vec![error.to_string()], kept: Vec::new() };
        }
    };
    let mut cleaned = TreeRemoval::default();
    for tree in made_trees {
        if keeps {
            cleaned.kept.push(tree);
            continue;
        }
        removing(&tree.name);
        cleaned.left_behind.extend(place.remove_made(&tree).err().map(|error| error.to_string()));
    }
    if cleaned.left_behind.is_empty()
        && let Err(error) = place.unmark()
    {
        cleaned.left_behind.push(error.to_string());
    }
    cleaned
}

/// Removes files that the imitated tool would have removed itself and that did not exist before the
/// run; returns the errors.
fn remove_litter(place: &OwnedDirectory, litter: &[String]) -> Vec<String> {
    let mut errors = Vec::new();
    for name in litter {
        let Ok(made) = place.target().identity(name) else { continue };
        let removed = place.target().remove(name, &made);
        errors.extend(removed.err().map(|error| error.to_string()));
    }
    errors
}

/// Recipient of the events, progress counters and stop flag of a trial.
struct TrialListeners<'a> {
    sink: &'a mut dyn TrialSink,
    progress: &'a RunProgress,
    stop: &'a StopFlag,
}

/// Runs the trial and reports all of its events, from `Began` to `Ended`.
fn perform(
    plan: &TrialPlan<'_>,
    place: &mut OwnedDirectory,
    admitted: TrialChecks,
    target_facts: &TargetFacts,
    to: &mut TrialListeners<'_>,
    litter: &mut Vec<String>,
) -> Result<Conclusion, SinkError> {
    let mut session = plan.job.begin(target_facts);
    let feed = session.layouts();
    let wanted = observer_options(plan, feed.is_some());
    let scene = ObserverContext { target: place.target().path(), options: wanted };
    to.sink.accept(&TrialEvent::Began(plan.beginning.clone()))?;
    let findings = findings_before(plan, &scene);
    let facts = initial_facts(plan, findings.facts);
    to.sink.accept(&TrialEvent::Environment { facts: facts.clone() })?;
    let cautions = merged_cautions(admitted.cautions, findings.cautions).into_iter();
    for caution in cautions.chain(handicap_caution(plan.engine.handicap_percent)) {
        to.sink.accept(&TrialEvent::Cautioned(caution))?;
    }
    let began_ns = plan.engine.clock.now_ns();
    let heat = heat_log(plan, place);
    let hot = heat.as_ref().map(|log| HeatRecording { log, map_of: mapped(plan, &scene) });
    let mut watched = ObservedSink::new(to.sink, watch(&scene), hot, feed);
    let tally = &mut Tally::new(&mut watched);
    let options = RunOptions {
        heat: heat.as_ref(),
        world: plan.world,
        apart: plan.job.works_apart(),
        environment: plan.environment,
        ..RunOptions::new(&plan.engine, tally, to.progress, to.stop)
    };
    let broadcast = plan.world.map_or(Ok(()), |world| {
        if plan.job.works_apart() {
            make_directories(world, place.target())?;
        }
        tell_place(world, target_facts).map_err(EngineError::from)
    });
    let (ran, renewals) = match broadcast {
        Ok(()) => run_session(plan, place, session.as_mut(), options),
        Err(error) => (Err(error), 0),
    };
    let done = tally.done(renewals);
    let ended_ns = plan.engine.clock.now_ns();
    let seconds = ended_ns.saturating_sub(began_ns) as f64 / 1e9;
    if ran.is_ok() {
        watch_deferred_work(plan, &mut watched, to.stop)?;
    }
    *litter = session.left_paths();
    let mut findings = watched.end();
    findings.cautions.retain(|caution| !is_limit_of_variant(plan, caution));
    findings.cautions.extend(session.cautions());
    findings.facts.extend(session.facts());
    findings.facts.extend(kept_trees_fact(plan, place));
    findings = plan.world.map(about_ranks).into_iter().fold(findings, Findings::join);
    if !matches!(ran, Err(EngineError::Sink(_))) {
        let known = CautionFacts { facts: &facts, data_bytes: admitted.data_bytes, seconds };
        // Results of an incomplete trial are not used and need no cautions.
        if ran.is_ok() {
            findings.cautions.extend(trial_cautions(done, known));
        }
        tell(findings, to.sink)?;
    }
    match ran {
        Err(EngineError::Sink(error)) => Err(error),
        ran => tell_end(ran.err(), all_metrics(plan, session.as_ref()), ended_ns, to.sink),
    }
}

/// Identities of the trees of a trial that keeps them, by which another may go on in them.
fn kept_trees_fact(plan: &TrialPlan<'_>, place: &OwnedDirectory) -> Option<Fact> {
    let mark = place.mark_text().ok().filter(|mark| plan.keep && !mark.is_empty())?;
    Some(Fact { name: KEPT_TREES_FACT.to_owned(), value: mark })
}

/// Facts that are recorded at the beginning: those of the plan, those of observers, and the amount
/// of work.
fn initial_facts(plan: &TrialPlan<'_>, observed: Vec<Fact>) -> Vec<Fact> {
    let of_plan = plan.facts.iter().cloned();
    of_plan.chain(observed).chain(work_fact(plan.job.work())).collect()
}

/// Findings about the target and the machine before the trial.
fn findings_before(plan: &TrialPlan<'_>, scene: &ObserverContext<'_>) -> Findings {
    let mut findings = look(scene);
    findings.cautions.extend(compressible_caution(plan.engine.payload, &findings.facts));
    findings.cautions.retain(|caution| !is_limit_of_variant(plan, caution));
    findings
}

/// True if a caution is about limits that the variant itself sets.
fn is_limit_of_variant(plan: &TrialPlan<'_>, caution: &Caution) -> bool {
    let codes = [CautionCode::CgroupLimits, CautionCode::MemorySqueezed];
    codes.contains(&caution.code)
        && plan.facts.iter().any(|fact| fact.name.starts_with(LIMIT_PREFIX))
}

/// Watches deferred work after the last phase. Skipped for imitated tools, which do not wait for
/// it, and for ranks, whose devices may be on several machines.
fn watch_deferred_work(
    plan: &TrialPlan<'_>,
    watched: &mut ObservedSink<'_>,
    stop: &StopFlag,
) -> Result<(), SinkError> {
    if plan.job.mode() != RunMode::Native || plan.world.is_some() {
        return Ok(());
    }
    let syncs = plan.facts.iter().any(|fact| fact.name == MKFS_FACT);
    let stop = || stop.is_raised();
    watched.settle(&SettleTerms { limit: DEFERRED_WORK_LIMIT, syncs, stop: &stop })
}

/// Observer options of a trial. A session that receives layouts gets one after each task.
fn observer_options(plan: &TrialPlan<'_>, hears_layouts: bool) -> ObserverOptions {
    let wanted =
        if hears_layouts { after_each_task(plan.wanted.clone()) } else { plan.wanted.clone() };
    ObserverOptions { deciding_sync: plan.job.deciding_sync(), ..wanted }
}

/// Copy of the observer options with a layout after each task.
fn after_each_task(wanted: ObserverOptions) -> ObserverOptions {
    let map = wanted.layout.is_some_and(|layout| layout.map);
    ObserverOptions { layout: Some(LayoutSchedule { every_tasks: 1, map }), ..wanted }
}

/// Runs the session, with remounts between its phases if requested; also returns the number of
/// remounts.
fn run_session(
    plan: &TrialPlan<'_>,
    place: &mut OwnedDirectory,
    session: &mut dyn Session,
    options: RunOptions<'_>,
) -> (Result<(), EngineError>, u32) {
    let mut renewals = 0;
    let apart = options.world.filter(|_| options.apart).map(World::rank);
    let ran = match (plan.remount, apart) {
        (None, Some(rank)) => run_apart(place.target(), rank, session, options),
        (None, None) => place.roots().run(session, options),
        (Some(again), _) => {
            let holder = &mut RemountingTarget { place, again, count: &mut renewals };
            RenewablePlace::new(holder).run(session, options)
        }
    };
    (ran, renewals)
}

/// Metrics that were known before the trial, and those of its session.
fn all_metrics(plan: &TrialPlan<'_>, session: &dyn Session) -> Vec<Metric> {
    [plan.metrics, &session.metrics()].concat()
}

/// Directory whose map the recording of hot data ends with, if one is requested.
fn mapped(plan: &TrialPlan<'_>, scene: &ObserverContext<'_>) -> Option<PathBuf> {
    let maps = plan.wanted.layout.is_some_and(|layout| layout.map);
    maps.then(|| scene.target.to_owned())
}

/// Log of reads and writes, if requested.
fn heat_log(plan: &TrialPlan<'_>, place: &OwnedDirectory) -> Option<HeatLog> {
    let name = |target: &Target| target.path().display().to_string();
    Some(HeatLog::new(plan.wanted.heat_half_life?, place.roots().iter().map(name).collect()))
}

/// Merges both lists of cautions; a caution about a machine that is not quiet appears only once.
fn merged_cautions(reported: Vec<Caution>, seen: Vec<Caution>) -> Vec<Caution> {
    let is_reported = reported.iter().any(|caution| caution.code == CautionCode::NotQuiet);
    let is_new = |caution: &Caution| !(is_reported && caution.code == CautionCode::NotQuiet);
    reported.into_iter().chain(seen.into_iter().filter(is_new)).collect()
}

/// Fact about the amount of work, unless the parameters alone fix it.
fn work_fact(work: WorkLimit) -> Option<Fact> {
    let fact = Fact { name: WorkLimit::FACT.to_owned(), value: work.name().to_owned() };
    (work != WorkLimit::Fixed).then_some(fact)
}

/// Caution about a deliberate slowdown.
fn handicap_caution(percent: u32) -> Option<Caution> {
    let message = format!("every task was deliberately slowed down by {percent} %");
    (percent > 0).then_some(Caution { code: CautionCode::Handicapped, message })
}

/// Target that is remounted between phases.
struct RemountingTarget<'a> {
    place: &'a mut OwnedDirectory,
    again: Remount<'a>,
    count: &'a mut u32,
}

impl RenewableTarget for RemountingTarget<'_> {
    fn target(&self) -> &Target {
        self.place.target()
    }

    fn renew(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let remount = self.again;
        *self.count += 1;
        self.place.renew(&mut || remount()).map_err(Into::into)
    }
}

/// Results of the checks before a trial that may begin.
struct TrialChecks {
    cautions: Vec<Caution>,
    /// Maximum number of content bytes that exist at the same time.
    data_bytes: u64,
}

/// Checks that the job can run here, and fits.
fn admit(
    plan: &TrialPlan<'_>,
    place: &OwnedDirectory,
    facts: &TargetFacts,
) -> Result<TrialChecks, CampaignError> {
    if plan.beginning.cell.is_some() {
        refuse_written(plan.job).map_err(CampaignError::Job)?;
    }
    let mut cautions = plan.cautions.clone();
    cautions.extend_from_slice(place.cautions());
    cautions.extend(plan.job.check(facts).map_err(CampaignError::Job)?);
    let footprint = plan.job.footprint(facts);
    if let Some((needs, has)) = shortage(&footprint, facts) {
        if plan.job.mode() == RunMode::Native {
            return Err(CampaignError::TooLittleRoom { needs, has });
        }
        let message = format!("{needs}, but {has}");
        cautions.push(Caution { code: CautionCode::MayNotFit, message });
    }
    Ok(TrialChecks { cautions, data_bytes: footprint.peak_bytes })
}

fn tell_end(
    error: Option<EngineError>,
    metrics: Vec<Metric>,
    ended_ns: u64,
    sink: &mut dyn TrialSink,
) -> Result<Conclusion, SinkError> {
    let (ending, signal) = match error {
        None => (Ending::Completed, None),
        Some(EngineError::Interrupted { signal }) => (Ending::Interrupted, Some(signal)),
        Some(error) => (Ending::Failed { why: error.why() }, None),
    };
    for metric in metrics {
        sink.accept(&TrialEvent::Measured(metric))?;
    }
    sink.accept(&TrialEvent::Ended { ending: ending.clone(), at_ns: ended_ns })?;
    Ok(Conclusion { ending, signal, left_behind: Vec::new(), kept: Vec::new() })
}
