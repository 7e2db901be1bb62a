//! A workload run natively: its arguments, its progress, and its summary.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, FromArgMatches};
use treering_conduct::trial::{NativeHost, NativeOptions, NativeRun, TrialOutcome};
use treering_conduct::{Host, say_left_behind};
use treering_engine::{EngineError, RunProgress};
use treering_lab::{Lab, RunTree};
use treering_model::{Ending, TrialSink};
use treering_report::pages::run::{StoreLocation, page};
use treering_results::PlanStore;
use treering_script::{Settings, Workload};
use treering_store::Store;

use super::many::{self, Ranks};
use super::trial::outline;
use super::{lab, output};
use crate::arguments::{AGE, AnyRunArgs, NativeRunArgs, OutputArgs, settings};
use crate::classic_output::say;
use crate::failure::{Failure, Kind, show};
use crate::progress::ProgressShow;
use crate::sinks::EventLines;
use crate::storage::run_store;
use crate::terminal::Terminal;

/// Runs the workload natively.
pub(crate) fn run(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
) -> Result<ExitCode, Failure> {
    run_then(workload, matches, |_, _| Ok(()))
}

/// Runs the workload and passes the outcome to `then` on the rank that stores it.
pub(super) fn run_then(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
    then: impl Fn(&TrialOutcome, &NativeRunArgs) -> Result<(), Failure>,
) -> Result<ExitCode, Failure> {
    let own = NativeRunArgs::from_arg_matches(matches)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let run = |own: &NativeRunArgs, ranks: Option<&Ranks<'_>>| {
        let (code, outcome) = run_as(workload, matches, own, ranks)?;
        outcome.map_or(Ok(()), |outcome| then(&outcome, own)).map(|()| code)
    };
    let many = many::run(own.rank_timeout, |ranks| {
        let dir = own.dir.as_ref().map(|dir| ranks.directory(dir));
        run(&NativeRunArgs { dir, ..own.clone() }, Some(ranks))
    });
    match many? {
        Some(code) => Ok(code),
        None => run(&own, None),
    }
}

/// Runs the workload with the options `own` instead of the parsed native ones, on one or several
/// ranks. The outcome is `None` after a dry run, and on ranks that do not store the trial.
pub(super) fn run_as(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
    own: &NativeRunArgs,
    ranks: Option<&Ranks<'_>>,
) -> Result<(ExitCode, Option<TrialOutcome>), Failure> {
    let settings = settings(workload.manifest().native, matches);
    run_with((workload, settings), matches, own, (ranks, &[]))
}

/// Runs the workload as [`run_as`], with these settings, on trees that an earlier trial made.
pub(super) fn run_with(
    (workload, settings): (&'static dyn Workload, Settings),
    matches: &ArgMatches,
    own: &NativeRunArgs,
    (ranks, kept): (Option<&Ranks<'_>>, &[RunTree]),
) -> Result<(ExitCode, Option<TrialOutcome>), Failure> {
    let any =
        AnyRunArgs::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    if any.dry_run {
        rehearse(workload, settings, (&any, own), ranks)?;
        return Ok((ExitCode::SUCCESS, None));
    }
    let (options, store) = (options(&any, own), run_store(&any));
    let host = NativeTerminal { own, store: &store, has_layouts: workload.manifest().name == AGE };
    let run = NativeRun::new(workload, settings, &options, ranks)?;
    let Some(outcome) = run.run(kept, (&store, &host))? else {
        return Ok((ExitCode::SUCCESS, None));
    };
    Ok((host.tell(&outcome)?, Some(outcome)))
}

/// Prints what a run would do; only one rank prints.
pub(super) fn rehearse(
    workload: &'static dyn Workload,
    settings: Settings,
    (any, own): (&AnyRunArgs, &NativeRunArgs),
    ranks: Option<&Ranks<'_>>,
) -> Result<(), Failure> {
    let options = options(any, own);
    let run = NativeRun::new(workload, settings, &options, ranks)?;
    run.rehearse()?.map_or(Ok(()), |facts| outline(run.job(), &facts, any.calls))
}

/// Options of a native run, from its arguments.
pub(super) fn options(any: &AnyRunArgs, own: &NativeRunArgs) -> NativeOptions {
    let own = own.clone();
    NativeOptions {
        dir: own.dir,
        label: any.label.clone(),
        payload: own.payload,
        compressibility: own.compressibility,
        latency: own.latency,
        handicap: own.handicap,
        trace: own.trace,
        functions: own.functions,
        heat: own.heat,
        heat_half_life: own.heat_half_life,
        layout: own.layout,
        layout_every: own.layout_every,
        keep: own.keep,
        erase: own.erase,
        quiet: own.quiet,
        rank_timeout: own.rank_timeout,
    }
}

/// Terminal of a native run.
pub(super) struct NativeTerminal<'a> {
    pub(super) own: &'a NativeRunArgs,
    pub(super) store: &'a PlanStore<'a>,
    /// True if the progress also shows layouts.
    pub(super) has_layouts: bool,
}

impl NativeTerminal<'_> {
    /// Prints the outcome of the run; returns the exit code.
    fn tell(&self, outcome: &TrialOutcome) -> Result<ExitCode, Failure> {
        let store = self.store.take_newest();
        // Results that could not be stored are shown even with --quiet.
        if !self.own.quiet || outcome.unkept.is_some() {
            let to_stdout = self.own.events.as_deref() != Some(Path::new("-"));
            show_summary(outcome, store.as_ref(), to_stdout)?;
        }
        let code = exit_code(outcome, store.is_some());
        say_left_behind(&outcome.conclusion.left_behind, &say);
        Ok(code)
    }
}

impl Host for NativeTerminal<'_> {
    fn say(&self, words: &str) {
        say(words);
    }

    fn unix_ms(&self) -> i64 {
        Terminal.unix_ms()
    }

    fn data_set_fingerprint(&self, name: &str) -> Option<String> {
        Terminal.data_set_fingerprint(name)
    }
}

impl NativeHost for NativeTerminal<'_> {
    fn lab(&self) -> Lab {
        lab::open()
    }

    fn mount_again(&self) {
        lab::mount_again_before_run();
    }

    fn sinks(
        &self,
        operations: u64,
        progress: &Arc<RunProgress>,
    ) -> Result<Vec<Box<dyn TrialSink>>, Failure> {
        let mut sinks: Vec<Box<dyn TrialSink>> = Vec::new();
        if !self.own.quiet {
            let show = ProgressShow::begin(operations, progress);
            sinks.push(Box::new(if self.has_layouts { show.with_layouts() } else { show }));
        }
        if let Some(path) = &self.own.events {
            sinks.push(Box::new(EventLines::open(path)?));
        }
        Ok(sinks)
    }

    fn show_ending(&self, outcome: &TrialOutcome) -> Result<(), Failure> {
        self.tell(outcome).map(|_code| ())
    }
}

fn show_summary(
    outcome: &TrialOutcome,
    store: Option<&Store>,
    to_stdout: bool,
) -> Result<(), Failure> {
    let Some(trial) = &outcome.trial else { return Ok(()) };
    let id = trial.beginning.trial;
    let (short_id, place) = match store {
        Some(store) => {
            let ids = store.short_ids(&[id]).map_err(|error| crate::storage::failure(&error))?;
            (ids.concat(), store.path().display().to_string())
        }
        None => (String::new(), String::new()),
    };
    let stored = StoreLocation { short_id: &short_id, place: &place };
    let report = page(trial, store.map(|_| &stored));
    if to_stdout {
        return output::write(&report, &OutputArgs::default());
    }
    output::write_to_stderr(&report)
}

/// Prints why the trial failed, then why its results could not be stored; the first of these
/// decides the exit code.
fn exit_code(outcome: &TrialOutcome, is_stored: bool) -> ExitCode {
    let halted = EngineError::Halted.to_string();
    let ended = match &outcome.conclusion.ending {
        Ending::Completed => None,
        // This ending is reported by the error of the store.
        Ending::Failed { why } if outcome.unkept.is_some() && *why == halted => None,
        Ending::Interrupted => Some(ExitCode::from(Kind::Interrupted.code())),
        Ending::Failed { why } | Ending::Invalid { why } => {
            let failure = Failure::new(Kind::Trial, format!("the trial failed: {why}"));
            let kept = "what was measured until then is stored; `treering show last` shows it";
            Some(show(&failure.maybe_hint(is_stored.then_some(kept))))
        }
    };
    let unkept = outcome.unkept.as_ref().map(show);
    let left = !outcome.conclusion.left_behind.is_empty();
    let left = left.then(|| ExitCode::from(Kind::Environment.code()));
    ended.or(unkept).or(left).unwrap_or(ExitCode::SUCCESS)
}
