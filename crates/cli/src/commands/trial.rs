//! Trials started from the command line: the code shared by classic and native runs.

use std::path::Path;
use std::sync::Arc;

pub(crate) use treering_conduct::quoted;
use treering_conduct::{
    Conclusion, Failure as ConductFailure, Remount, TrialPlan, beginning, conduct, say_left_behind,
    take,
};
use treering_engine::{EngineOptions, RunProgress, Target, TrialClock, World};
use treering_lab::OwnedDirectory;
use treering_model::{
    Artifact, Caution, Cell, Fact, IMPORT_FACT, RunMode, Trial, TrialHeader, TrialId, TrialSink,
};
use treering_observe::ObserverOptions;
use treering_script::{Job, Settings, TargetFacts, ValueKind, Workload};
use treering_store::Store;
use treering_sys::{SignalWatch, raise_open_files};

use crate::arguments::{AnyRunArgs, FIO, LOAD};
use crate::classic_output::{Speaker, Speaking, say};
use crate::clock;
use crate::failure::{Failure, Kind, is_missing};
use crate::sinks::{Recording, Whole, WithRecord};
use crate::storage::Keeping;

/// Request to run a trial.
pub(crate) struct Asked<'a> {
    pub(crate) workload: &'static dyn Workload,
    pub(crate) job: &'a dyn Job,
    pub(crate) any: &'a AnyRunArgs,
    /// Identity of the new trial.
    pub(crate) trial: TrialId,
    /// Cell of the campaign to which the trial belongs.
    pub(crate) cell: Option<Cell>,
    /// Parameters of the engine, kept beside those of the job.
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) engine: EngineOptions,
    pub(crate) keep: bool,
    /// Cautions about the target, if treering made it.
    pub(crate) cautions: Vec<Caution>,
    /// Facts about how treering made the target, if it did.
    pub(crate) facts: Vec<Fact>,
    /// Observations that are made only on request.
    pub(crate) wanted: ObserverOptions,
    /// Remounts the target between phases.
    pub(crate) remount: Option<Remount<'a>>,
    /// Ranks of a distributed trial; `None` for one process.
    pub(crate) ranks: Option<Distribution<'a>>,
    /// True if SIGINT ends the trial even when the parent process had SIGINT ignored.
    pub(crate) catches_sigint: bool,
    /// Writer of the imitated tool's output, and the artifact with the context of that output.
    pub(crate) speaker: Option<(&'a mut Speaker, Artifact)>,
    /// Sources of the job, such as its job file, if the options do not hold them all.
    pub(crate) record: Option<Artifact>,
}

/// Distribution of a trial over ranks.
#[derive(Clone)]
pub(crate) struct Distribution<'a> {
    /// The ranks of the trial.
    pub(crate) world: &'a World<'a>,
    /// The option for the number of workers of each rank, with its value; `None` if each rank runs
    /// the whole job.
    pub(crate) each: Option<(String, String)>,
}

/// Outcome of a trial.
pub(crate) struct Done {
    pub(crate) conclusion: Conclusion,
    /// The trial, complete up to its last event.
    pub(crate) trial: Option<Trial>,
    /// The store that now holds the trial.
    pub(crate) store: Option<Store>,
    /// Error that kept results out of their store; they may still wait in memory.
    pub(crate) unkept: Option<Failure>,
}

impl Done {
    /// Prints which files could not be removed after the trial; printed last, as the least
    /// important message.
    pub(crate) fn say_left_behind(&self) {
        say_left_behind(&self.conclusion.left_behind, &say);
    }
}

/// Runs a trial. `listeners` receive each event after the store; `removing` is called for each tree
/// that is removed afterwards.
pub(crate) fn run(
    asked: Asked<'_>,
    mut place: OwnedDirectory,
    listeners: Vec<Box<dyn TrialSink + '_>>,
    progress: &Arc<RunProgress>,
    removing: &mut dyn FnMut(&str),
) -> Result<Done, Failure> {
    let signals = if asked.catches_sigint {
        SignalWatch::begin_despite_ignored()
    } else {
        SignalWatch::begin()
    };
    let signals = signals.map_err(|error| {
        Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
    })?;
    let _as_many_as_we_may = raise_open_files();
    let beginning = beginning_of(&asked, &place);
    let mut keeping = keeping(&asked, &place)?;
    let plan = TrialPlan {
        beginning,
        job: asked.job,
        engine: EngineOptions { clock: TrialClock::begin(), ..asked.engine },
        keep: asked.keep,
        cautions: keeping.caution().into_iter().chain(asked.cautions.clone()).collect(),
        wanted: asked.wanted,
        facts: asked.facts.clone(),
        remount: asked.remount,
        world: asked.ranks.as_ref().map(|ranks| ranks.world),
    };
    let whole = Whole::default();
    let mut unwritten = None;
    let concluded = {
        let mut sinks: Vec<Box<dyn TrialSink + '_>> = Vec::new();
        if let Some(store) = keeping.store() {
            let is_optional = asked.job.mode() == RunMode::Classic;
            let stop = signals.flag().clone();
            let recording = Recording::new(store.recorder(), is_optional, stop, &mut unwritten);
            sinks.push(Box::new(recording));
        }
        sinks.push(Box::new(whole.clone()));
        if let Some((speaker, record)) = asked.speaker {
            let record = Some(record);
            sinks = vec![Box::new(Speaking { speaker, record, others: sinks })];
        }
        sinks.extend(listeners);
        let mut sinks = WithRecord { record: asked.record, others: sinks };
        conduct(plan, &mut place, &mut sinks, progress, signals.flag(), removing)
    };
    signals.flag().lift_halt();
    let settled = keeping.settle();
    let conclusion = concluded.map_err(ConductFailure::from)?;
    let (store, unkept) = match (settled, unwritten) {
        (Ok(store), None) => (store, None),
        (_, Some(failure)) | (Err(failure), None) => (None, Some(failure)),
    };
    Ok(Done { conclusion, trial: whole.take(), store, unkept })
}

/// Opens the destination of the results. A classic run goes on even if results cannot be stored, as
/// the imitated tool stores none; but not if the user named the store.
fn keeping(asked: &Asked<'_>, place: &OwnedDirectory) -> Result<Keeping, Failure> {
    let AnyRunArgs { store, no_store, .. } = asked.any;
    let roots: Vec<_> = place.roots().iter().map(Target::path).collect();
    let opened = Keeping::open(store.as_deref(), *no_store, &roots, asked.trial);
    match opened {
        Err(failure) if asked.job.mode() == RunMode::Classic && store.is_none() => {
            say(&format!("treering: the results are not stored: {}", failure.message()));
            Ok(Keeping::Nowhere)
        }
        opened => opened,
    }
}

/// Opens the directory that the user named. A missing directory is not made: if the filesystem
/// under test is not mounted, the new directory would be on another one.
pub(crate) fn take_named(dir: &Path) -> Result<OwnedDirectory, Failure> {
    if dir.metadata().is_err_and(|error| is_missing(&error)) {
        let message = format!("there is no directory {}", dir.display());
        let hint = format!(
            "mount the filesystem under test, then: mkdir {}",
            quoted(&dir.to_string_lossy())
        );
        return Err(Failure::new(Kind::Usage, message).hint(hint));
    }
    Ok(take(dir)?)
}

fn beginning_of(asked: &Asked<'_>, place: &OwnedDirectory) -> TrialHeader {
    let mut beginning =
        beginning(asked.trial, asked.workload.manifest().name, asked.job, clock::trial_unix_ms());
    beginning.label.clone_from(&asked.any.label);
    beginning.target = place.target().path().to_string_lossy().into_owned();
    if let Some(Distribution { each: Some((option, value)), .. }) = &asked.ranks {
        // What was asked for of each rank: the same command line repeats it.
        let own = beginning.parameters.iter_mut().filter(|(name, _)| name == option);
        own.for_each(|(_, all)| all.clone_from(value));
    }
    beginning.parameters.extend(asked.parameters.iter().cloned());
    beginning.cell.clone_from(&asked.cell);
    beginning
}

/// Prints the plan of a run: its operations, or each of their calls.
pub(crate) fn outline(job: &dyn Job, facts: &TargetFacts, calls: bool) -> Result<(), Failure> {
    let is_by_program = job.is_by_program();
    if calls && !is_by_program {
        return super::dry_calls::print(job, facts);
    }
    super::output::with_writer(None, |out| {
        if calls {
            writeln!(out, "# another program makes the calls; it is not run here")?;
        }
        job.outline(facts).iter().try_for_each(|line| writeln!(out, "{line}"))
    })
}

/// The command line that repeats a trial, quoted for a shell.
pub(crate) fn command_line(trial: &Trial) -> String {
    let beginning = &trial.beginning;
    let classic = beginning.mode == RunMode::Classic;
    let searches = beginning.workload == LOAD;
    let verb = if classic || searches { "" } else { "run " };
    // A place that was made for one cell of a plan is not there any more.
    let target = match beginning.cell {
        Some(_) => "DIR".to_owned(),
        None => quoted(&beginning.target),
    };
    // A search names its own options before the load.
    let named = if searches { FIO } else { &beginning.workload };
    let specs = super::workload(named).map_or(&[][..], |workload| {
        let manifest = workload.manifest();
        if classic { manifest.classic } else { manifest.native }
    });
    let is_operand = |name: &str| {
        let spec = specs.iter().find(|spec| spec.name == name);
        spec.is_some_and(|spec| matches!(spec.value, ValueKind::Operand | ValueKind::Operands))
    };
    // Where the tool works stands among its own options, or in the file that it is given.
    let mut names = beginning.parameters.iter().map(|(name, _)| name.as_str());
    let names_dirs =
        names.any(|name| ["dir", "directory"].contains(&name) || (classic && is_operand(name)));
    let dir = match (names_dirs, classic) {
        (true, _) => String::new(),
        (false, true) if specs.iter().any(|spec| spec.short == Some('D')) => {
            format!(" -D {target}")
        }
        (false, true) => String::new(),
        (false, false) => format!(" --dir {target}"),
    };
    let mut line = format!("treering {verb}{}{dir}", beginning.workload);
    let mut parameters = beginning.parameters.iter().peekable();
    if searches {
        let is_own = |one: &&(String, String)| !is_operand(&one.0);
        line = search_line(std::iter::from_fn(|| parameters.next_if(is_own)), &dir);
    }
    let settings = Settings::default();
    let is_command = |name: &str| {
        specs.iter().any(|spec| spec.name == name && matches!(spec.value, ValueKind::Words))
    };
    for (name, value) in parameters {
        if is_command(name) {
            // It is quoted already, and the last.
            line += &format!(" -- {value}");
            continue;
        }
        if is_operand(name) {
            line += &format!(" {}", quoted(value));
            continue;
        }
        // An option given several times is numbered; options from a job file are in the file.
        let name = match name.split_once('.') {
            Some((file, _)) if is_operand(file) => continue,
            Some((option, _)) => option,
            None => name,
        };
        let is_default = settings.text_or_default(specs, name) == Some(value);
        match value.as_str() {
            "false" => {}
            "true" => line += &format!(" --{name}"),
            _ if is_default => {}
            _ => line += &format!(" --{name} {}", quoted(value)),
        }
    }
    line
}

/// Command line of a load search up to its own options, which precede those of the load.
fn search_line<'p>(own: impl Iterator<Item = &'p (String, String)>, dir: &str) -> String {
    let own: Vec<String> =
        own.map(|(name, value)| format!("--{name} {} ", quoted(value))).collect();
    format!("treering {LOAD} {}{FIO}{dir}", own.concat())
}

/// Command line of the trial; `None` for an imported log that lacks the job or the directory.
pub(crate) fn known_command_line(trial: &Trial) -> Option<String> {
    let line = command_line(trial);
    let (target, tool) = (&trial.beginning.target, &trial.beginning.workload);
    let lacks_place = target.is_empty() && line.contains(&quoted(""));
    let is_unknown = lacks_place || line == format!("treering {tool}");
    (trial.fact(IMPORT_FACT).is_none() || !is_unknown).then_some(line)
}
