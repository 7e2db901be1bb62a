//! Trials outside of plans: a single one is begun, recorded and concluded here.

pub(crate) mod beginning;
mod calls;
mod classic;
mod command_line;
pub(crate) mod devices;
mod fio_check;
mod installed;
mod native;
mod outline;
mod replay;
mod sinks;
mod speaker;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use treering_engine::{EngineOptions, RunProgress, TrialClock, World};
use treering_lab::{OwnedDirectory, RunTree};
use treering_model::{Artifact, Caution, Fact, RunMode, Trial, TrialHeader, TrialId, TrialSink};
use treering_observe::ObserverOptions;
use treering_script::{Job, Workload};
use treering_sys::{SignalWatch, raise_open_files};

pub use self::classic::{ClassicEnd, ClassicRun, classic_engine};
pub use self::command_line::{command_line, known_command_line};
pub use self::devices::check_written;
pub use self::fio_check::{ComparedRequests, FioCheck, FioTurn};
pub use self::installed::{InstalledProgram, run_installed};
pub(crate) use self::native::OBSERVING_PARAMETERS;
pub(crate) use self::native::in_unit;
pub use self::native::{NativeHost, NativeOptions, NativeRun};
pub use self::outline::write_outline;
pub use self::replay::{ClassicText, replay_classic};
pub use self::sinks::EventFilter;
use self::sinks::{FilteredSinks, WholeTrial};
pub(crate) use self::sinks::{Recipients, WithSources, sources};
pub use self::speaker::ToolTerminal;
use crate::conduct::{Conclusion, Remount, TrialPlan, conduct};
use crate::failure::{Failure, FailureKind};
use crate::host::{Host, RecordedTrial, ResultStore};
use crate::shell::quoted;
use beginning::beginning;
use devices::refuse_written;

/// Request to run a trial.
pub struct TrialRequest<'a> {
    /// Workload of the job.
    pub workload: &'static dyn Workload,
    /// Job to run.
    pub job: &'a dyn Job,
    /// Label of the trial.
    pub label: String,
    /// Identity of the new trial.
    pub trial: TrialId,
    /// Parameters of the engine, kept beside those of the job.
    pub parameters: Vec<(String, String)>,
    /// Engine options of the run.
    pub engine: EngineOptions,
    /// True if the trees of the trial are kept.
    pub keep: bool,
    /// Cautions about the target that are known before the trial.
    pub cautions: Vec<Caution>,
    /// Facts about the target that observers cannot see.
    pub facts: Vec<Fact>,
    /// Observations that are made only on request.
    pub observing: ObserverOptions,
    /// Remounts the target between phases.
    pub remount: Option<Remount<'a>>,
    /// Ranks of a distributed trial; `None` for one process.
    pub ranks: Option<RankShare<'a>>,
    /// True if SIGINT ends the trial even when the parent process had SIGINT ignored.
    pub catches_sigint: bool,
    /// True if the devices that a native job writes have been acquired.
    pub has_devices: bool,
    /// Filter of the events before they are recorded.
    pub filter: Option<&'a mut (dyn EventFilter + 'a)>,
    /// Sources of the job, such as its job file, if the options do not hold them all.
    pub sources: Option<Artifact>,
}

impl<'a> TrialRequest<'a> {
    /// A trial on one process, without a label, facts and observations.
    pub fn new(workload: &'static dyn Workload, job: &'a dyn Job, engine: EngineOptions) -> Self {
        Self {
            workload,
            job,
            label: String::new(),
            trial: TrialId::new(),
            parameters: Vec::new(),
            engine,
            keep: false,
            cautions: Vec::new(),
            facts: Vec::new(),
            observing: ObserverOptions::default(),
            remount: None,
            ranks: None,
            catches_sigint: false,
            has_devices: false,
            filter: None,
            sources: None,
        }
    }

    fn beginning(&self, place: &OwnedDirectory, started_unix_ms: i64) -> TrialHeader {
        let name = self.workload.manifest().name;
        let mut beginning = beginning(self.trial, name, self.job, started_unix_ms);
        beginning.label.clone_from(&self.label);
        beginning.target = place.target().path().to_string_lossy().into_owned();
        if let Some(RankShare { each: Some((option, value)), .. }) = &self.ranks {
            // Record the value per rank: the same command line multiplies it again.
            let matching = beginning.parameters.iter_mut().filter(|(name, _)| name == option);
            matching.for_each(|(_, total)| total.clone_from(value));
        }
        beginning.parameters.extend(self.parameters.iter().cloned());
        beginning
    }
}

/// Distribution of a trial over ranks.
#[derive(Clone)]
pub struct RankShare<'a> {
    /// Ranks of the trial.
    pub world: &'a World<'a>,
    /// Option for the number of workers of each rank, with its value; `None` if each rank runs the
    /// whole job.
    pub each: Option<(String, String)>,
}

/// Outcome of a trial.
pub struct TrialOutcome {
    /// Conclusion of the trial.
    pub conclusion: Conclusion,
    /// The trial, complete up to its last event.
    pub trial: Option<Trial>,
    /// Error that prevented results from being stored; the results may still be in memory.
    pub unkept: Option<Failure>,
}

/// Runs a trial. `listeners` receive each event after the store; `removing` is called for each tree
/// that is removed afterwards.
///
/// # Errors
/// When the trial cannot begin, or cannot be recorded at all.
pub(crate) fn run_trial(
    request: TrialRequest<'_>,
    mut place: OwnedDirectory,
    listeners: Vec<Box<dyn TrialSink + '_>>,
    progress: &Arc<RunProgress>,
    removing: &mut dyn FnMut(&str),
    (store, host): (&dyn ResultStore, &dyn Host),
) -> Result<TrialOutcome, Failure> {
    if request.job.mode() == RunMode::Native && !request.has_devices {
        refuse_written(request.job)?;
    }
    let signals = if request.catches_sigint {
        SignalWatch::begin_despite_ignored()
    } else {
        SignalWatch::begin()
    };
    let signals = signals
        .map_err(|error| Failure::environment(format!("cannot watch for signals: {error}")))?;
    let _as_many_as_we_may = raise_open_files();
    let beginning = request.beginning(&place, host.unix_ms());
    let roots: Vec<PathBuf> = place.roots().iter().map(|root| root.path().to_owned()).collect();
    let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    let recorded = RecordedTrial {
        trial: request.trial,
        is_optional: request.job.mode() == RunMode::Classic,
        under_test: &roots,
        stop: signals.flag(),
    };
    let mut whole = WholeTrial::default();
    let (mut waiting, mut concluded) = (Some((request, beginning, listeners)), None);
    let record_result = store.record(&recorded, &mut |store, caution| {
        let Some((request, beginning, listeners)) = waiting.take() else { return };
        let plan = TrialPlan {
            beginning,
            job: request.job,
            engine: EngineOptions { clock: TrialClock::begin(), ..request.engine },
            keep: request.keep,
            cautions: caution.into_iter().chain(request.cautions).collect(),
            wanted: request.observing,
            facts: request.facts,
            metrics: &[],
            remount: request.remount,
            world: request.ranks.as_ref().map(|ranks| ranks.world),
            environment: &[],
        };
        let recording = FilteredSinks { filter: request.filter, store, whole: &mut whole };
        let mut sinks = WithSources {
            sources: request.sources,
            sink: Recipients { first: recording, others: listeners },
        };
        let stop = signals.flag();
        concluded = Some(conduct(plan, &mut place, &mut sinks, progress, stop, removing));
        stop.lift_halt();
    });
    let Some(concluded) = concluded else { return record_result.and(Err(unrecorded())) };
    Ok(TrialOutcome { conclusion: concluded?, trial: whole.finish(), unkept: record_result.err() })
}

/// Opens the directory that the user named, in which a trial goes on with the trees `kept` for it.
/// A missing directory is not made: if the filesystem under test is not mounted, the new directory
/// would be on another one.
///
/// # Errors
/// When the directory is missing, cannot be acquired, or has trees of a killed run.
pub(crate) fn take_named(dir: &Path, kept: &[RunTree]) -> Result<OwnedDirectory, Failure> {
    if dir.metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        let message = format!("there is no directory {}", dir.display());
        let hint = format!(
            "mount the filesystem under test, then: mkdir {}",
            quoted(&dir.to_string_lossy())
        );
        return Err(Failure::usage(message).hint(hint));
    }
    let mut place = OwnedDirectory::take(dir)?;
    place.adopt(kept);
    place.refuse_leftovers()?;
    Ok(place)
}

/// Failure of a store that did not call `run` in `record`.
pub(crate) fn unrecorded() -> Failure {
    Failure::new(FailureKind::Bug, "the store has not let a trial run")
}
