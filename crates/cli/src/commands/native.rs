//! A workload run natively: progress, summary, trees removed at the end.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

use clap::{ArgMatches, FromArgMatches};
use treering_conduct::plan::JobOfRanks;
use treering_conduct::usual_latency;
use treering_engine::{
    EngineError, EngineOptions, HANDICAP_PERCENT_MAX, LatencyMode, PayloadKind, RunProgress, Target,
};
use treering_lab::{OwnedDirectory, RemountableFilesystem, RunTree};
use treering_model::{Ending, TrialId, TrialSink};
use treering_observe::ObserverOptions;
use treering_observe::layout::LayoutSchedule;
use treering_report::pages::run::{StoreLocation, page};
use treering_script::{ClassicPayload, Footprint, Job, JobRecord, Settings, TargetFacts, Workload};

use super::many::{self, Ranks};
use super::trial::{Asked, Distribution, Done, outline, run as run_trial, take_named};
use super::{lab, output, share};
use crate::arguments::{AGE, AnyRunArgs, NativeRunArgs, OutputArgs, settings};
use crate::classic_output::say;
use crate::failure::{Failure, Kind};
use crate::progress::ProgressShow;
use crate::sinks::EventLines;

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
    then: impl Fn(&Done, &NativeRunArgs) -> Result<(), Failure>,
) -> Result<ExitCode, Failure> {
    let own = NativeRunArgs::from_arg_matches(matches)
        .map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
    let run = |own: &NativeRunArgs, ranks: Option<&Ranks<'_>>| {
        let (code, done) = run_as(workload, matches, own, ranks)?;
        done.map_or(Ok(()), |done| then(&done, own)).map(|()| code)
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

/// Runs the workload with `own` in place of the parsed native options, on one or several ranks. The
/// outcome is `None` after a dry run, and on ranks that do not store the trial.
pub(super) fn run_as(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
    own: &NativeRunArgs,
    ranks: Option<&Ranks<'_>>,
) -> Result<(ExitCode, Option<Done>), Failure> {
    let any = AnyRunArgs::from_arg_matches(matches)
        .map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
    let settings = settings(workload.manifest().native, matches);
    run_with(workload, settings, &any, own, (ranks, &[]))
}

/// Runs the workload with these settings, and on trees that earlier trials made and kept for it.
pub(super) fn run_with(
    workload: &'static dyn Workload,
    settings: Settings,
    any: &AnyRunArgs,
    own: &NativeRunArgs,
    (ranks, kept): (Option<&Ranks<'_>>, &[RunTree]),
) -> Result<(ExitCode, Option<Done>), Failure> {
    let JobOfRanks { job, settings, each } = job_of(workload, settings, ranks)?;
    let engine = engine(workload, &settings, own, job.as_ref())?;
    let assists = ranks.filter(|ranks| !ranks.world.is_first());
    if any.dry_run {
        return rehearse(own, job.as_ref(), any.calls, assists.is_some());
    }
    if ranks.is_some() && job.remounts() {
        let message = "with several ranks nothing is unmounted and mounted again";
        return Err(Failure::new(Kind::Usage, message).hint("leave --remount-every out"));
    }
    let dir = own.dir.clone().ok_or_else(|| Failure::new(Kind::Usage, "--dir is missing"))?;
    if let Some(ranks) = assists {
        ranks.assist(&[dir], job.as_ref(), &engine)?;
        return Ok((ExitCode::SUCCESS, None));
    }
    lab::mount_again_before_run();
    let mut place = take_named(&dir)?;
    place.adopt(kept);
    let again =
        job.remounts().then(|| RemountableFilesystem::examine(place.target().path(), &lab::open()));
    let again = again.transpose()?;
    let remount = || again.as_ref().map_or_else(|| Ok(dir.clone()), RemountableFilesystem::remount);
    let (facts, cautions) = match ranks {
        None => (Vec::new(), Vec::new()),
        Some(ranks) => ranks.look(place.target().path())?,
    };
    if !own.quiet {
        announce(job.as_ref(), &place)?;
    }
    let progress = Arc::new(RunProgress::new());
    let listeners = listeners(workload, own, job.tasks(&facts_of(&place)?), &progress)?;
    let asked = Asked {
        workload,
        job: job.as_ref(),
        any,
        trial: ranks.map_or_else(TrialId::new, |ranks| ranks.trial),
        cell: None,
        parameters: if job.is_by_program() {
            Vec::new()
        } else {
            parameters(own, engine.latency, engine.handicap_percent)
        },
        engine,
        keep: own.keep,
        cautions,
        facts,
        wanted: wanted(own),
        remount: job.remounts().then_some(&remount),
        ranks: ranks.map(|ranks| Distribution { world: ranks.world, each }),
        catches_sigint: false,
        speaker: None,
        record: share::record_of(JobRecord::from_settings(&settings)),
    };
    let mut removing = |tree: &str| {
        if !own.quiet {
            say(&format!("removing {tree}"));
        }
    };
    let done = run_trial(asked, place, listeners, &progress, &mut removing)?;
    let code = tell(&done, own)?;
    Ok((code, Some(done)))
}

/// Prints the plan of a dry run; only one rank prints.
fn rehearse(
    own: &NativeRunArgs,
    job: &dyn Job,
    prints_calls: bool,
    is_told_elsewhere: bool,
) -> Result<(ExitCode, Option<Done>), Failure> {
    if !is_told_elsewhere {
        let facts = dry_facts(own.dir.as_deref())?;
        job.check(&facts)?;
        outline(job, &facts, prints_calls)?;
    }
    Ok((ExitCode::SUCCESS, None))
}

/// Prints the outcome of the run; returns the exit code.
fn tell(done: &Done, own: &NativeRunArgs) -> Result<ExitCode, Failure> {
    // What is kept nowhere is shown in any case.
    if !own.quiet || done.unkept.is_some() {
        show_summary(done, own.events.as_deref() != Some(Path::new("-")))?;
    }
    let code = exit_code(done);
    done.say_left_behind();
    Ok(code)
}

/// Job for these settings, shared by the ranks, or of the only process.
fn job_of(
    workload: &dyn Workload,
    settings: Settings,
    ranks: Option<&Ranks<'_>>,
) -> Result<JobOfRanks, Failure> {
    match ranks {
        Some(ranks) => Ok(ranks.job(workload, &settings)?),
        None => Ok(JobOfRanks { job: workload.native(&settings)?, settings, each: None }),
    }
}

/// Engine options of a native run.
fn engine(
    workload: &dyn Workload,
    settings: &Settings,
    own: &NativeRunArgs,
    job: &dyn Job,
) -> Result<EngineOptions, Failure> {
    let payload = payload(own, workload.manifest().classic_payload)?;
    let handicap_percent = percentage("--handicap", &own.handicap, HANDICAP_PERCENT_MAX)?;
    if job.is_by_program() {
        refuse_engine(own)?;
    }
    let latency = latency(&own.latency, job);
    let seed = settings.number(workload.manifest().native, "seed", 0..=u64::MAX)?.unwrap_or(1);
    let stopped_max = own.rank_timeout;
    let usual = EngineOptions::new(latency, payload, seed);
    Ok(EngineOptions { handicap_percent, stopped_max, ..usual })
}

/// Sinks of trial events besides the store: the progress display and the event file.
fn listeners(
    workload: &dyn Workload,
    own: &NativeRunArgs,
    operations: u64,
    progress: &Arc<RunProgress>,
) -> Result<Vec<Box<dyn TrialSink>>, Failure> {
    let mut listeners: Vec<Box<dyn TrialSink>> = Vec::new();
    if !own.quiet {
        let show = ProgressShow::begin(operations, progress);
        let ages = workload.manifest().name == AGE;
        listeners.push(Box::new(if ages { show.with_layouts() } else { show }));
    }
    if let Some(path) = &own.events {
        listeners.push(Box::new(EventLines::open(path)?));
    }
    Ok(listeners)
}

/// Observer options that the command line asks for.
fn wanted(own: &NativeRunArgs) -> ObserverOptions {
    let every_tasks = own.layout_every.unwrap_or(0);
    let is_wanted = own.layout || own.layout_every.is_some();
    ObserverOptions {
        heat_half_life: own.heat.then_some(own.heat_half_life),
        layout: is_wanted.then_some(LayoutSchedule { every_tasks, map: true }),
        trace: own.trace,
        ..ObserverOptions::default()
    }
}

/// Refuses engine options that have no effect on an external program.
fn refuse_engine(own: &NativeRunArgs) -> Result<(), Failure> {
    let given = [
        ("--payload", own.payload != "random"),
        ("--compressibility", own.compressibility != "0%"),
        ("--latency", own.latency != "sampled"),
        ("--handicap", own.handicap != "0%"),
        ("--heat", own.heat && !own.trace),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => {
            let message = format!("{option} has no effect on the external program");
            Err(Failure::new(Kind::Usage, message).hint("leave it out, or run the job natively"))
        }
    }
}

/// Target facts for a dry run: read from the filesystem if the directory exists, else unknown.
fn dry_facts(dir: Option<&Path>) -> Result<TargetFacts, Failure> {
    let Some(dir) = dir.filter(|dir| dir.is_dir()) else { return Ok(TargetFacts::unknown()) };
    Target::open(dir)
        .and_then(|target| target.facts())
        .map_err(|error| Failure::of(Kind::Environment, &error))
}

fn facts_of(place: &OwnedDirectory) -> Result<TargetFacts, Failure> {
    place.target().facts().map_err(|error| Failure::of(Kind::Environment, &error))
}

/// Prints how much the job is going to write.
fn announce(job: &dyn Job, place: &OwnedDirectory) -> Result<(), Failure> {
    let facts = facts_of(place)?;
    let footprint = job.footprint(&facts);
    let mib = |bytes: u64| bytes >> 20;
    if job.is_by_program() && footprint == Footprint::default() {
        let (path, free) = (place.target().path().display(), mib(facts.free_bytes));
        say(&format!("{path}: what will be written is not known; {free} MiB are free"));
        return Ok(());
    }
    say(&format!(
        "{}: {} files, {} MiB will be written; at most {} files and {} MiB at a time; {} MiB are \
         free",
        place.target().path().display(),
        footprint.written_files,
        mib(footprint.written_bytes),
        footprint.peak_files,
        mib(footprint.peak_block_bytes),
        mib(facts.free_bytes)
    ));
    Ok(())
}

fn payload(own: &NativeRunArgs, classic: ClassicPayload) -> Result<PayloadKind, Failure> {
    let percent = percentage("--compressibility", &own.compressibility, 100)?;
    match own.payload.as_str() {
        "classic" if percent > 0 => {
            Err(Failure::new(Kind::Usage, "--compressibility goes with --payload random only"))
        }
        "classic" => Ok(classic_payload(classic)),
        _ => Ok(PayloadKind::Native { compressibility: percent }),
    }
}

/// Payload kind that the imitated tool writes.
pub(crate) fn classic_payload(payload: ClassicPayload) -> PayloadKind {
    match payload {
        ClassicPayload::LetterA => PayloadKind::Classic,
        ClassicPayload::Zeros => PayloadKind::Zeros,
    }
}

/// A whole number of percent, with or without its sign.
fn percentage<N: FromStr + PartialOrd + Display>(
    option: &str,
    given: &str,
    most: N,
) -> Result<N, Failure> {
    let number = given.strip_suffix('%').unwrap_or(given).parse::<N>().ok();
    number.filter(|percent| *percent <= most).ok_or_else(|| {
        let message = format!("{option}: '{given}' is not a percentage");
        let hint = format!("a percentage is a whole number from 0 to {most}, as 30%");
        Failure::new(Kind::Usage, message).hint(hint)
    })
}

/// Names of the engine parameters that only change what is observed, not what is written.
pub(super) const OF_LOOKING: [&str; 5] =
    ["latency", "layout", "layout-every", "heat", "heat-half-life"];

/// Engine parameters of the run, stored beside the parameters of the job.
fn parameters(
    own: &NativeRunArgs,
    latency: LatencyMode,
    handicap_percent: u32,
) -> Vec<(String, String)> {
    let latency = match latency {
        LatencyMode::All => "all",
        LatencyMode::Sampled => "sampled",
        LatencyMode::Off => "off",
    };
    let parameter = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut all = vec![
        parameter("payload", &own.payload),
        parameter("compressibility", &own.compressibility),
        parameter("latency", latency),
    ];
    if handicap_percent > 0 {
        all.push(parameter("handicap", &format!("{handicap_percent}%")));
    }
    // Writing back before each look is work that others do not have.
    if own.layout {
        all.push(parameter("layout", "true"));
    }
    if let Some(tasks) = own.layout_every {
        all.push(parameter("layout-every", &tasks.to_string()));
    }
    if own.heat {
        all.push(parameter("heat", "true"));
        all.push(parameter("heat-half-life", &own.heat_half_life.as_secs_f64().to_string()));
    }
    if own.trace {
        all.push(parameter("trace", "true"));
    }
    all
}

/// Parses `--latency`; `sampled` becomes `all` for a job that needs every call timed.
fn latency(word: &str, job: &dyn Job) -> LatencyMode {
    match word {
        "all" => LatencyMode::All,
        "off" => LatencyMode::Off,
        _ => usual_latency(job),
    }
}

fn show_summary(done: &Done, to_stdout: bool) -> Result<(), Failure> {
    let Some(trial) = &done.trial else { return Ok(()) };
    let id = trial.beginning.trial;
    let (short_id, place) = match &done.store {
        Some(store) => {
            let ids = store.short_ids(&[id]).map_err(|error| crate::storage::failure(&error))?;
            (ids.concat(), store.path().display().to_string())
        }
        None => (String::new(), String::new()),
    };
    let stored = StoreLocation { short_id: &short_id, place: &place };
    let report = page(trial, done.store.as_ref().map(|_| &stored));
    if to_stdout {
        return output::write(&report, &OutputArgs::default());
    }
    output::write_to_stderr(&report)
}

/// Prints why the trial failed, then why its results could not be stored; the first of these
/// decides the exit code.
fn exit_code(done: &Done) -> ExitCode {
    let halted = EngineError::Halted.to_string();
    let ended = match &done.conclusion.ending {
        Ending::Completed => None,
        // It was ended because its results cannot be kept.
        Ending::Failed { why } if done.unkept.is_some() && *why == halted => None,
        Ending::Interrupted => Some(ExitCode::from(Kind::Interrupted.code())),
        Ending::Failed { why } | Ending::Invalid { why } => {
            let failure = Failure::new(Kind::Trial, format!("the trial failed: {why}"));
            let kept = "what was measured until then is stored; `treering show last` shows it";
            Some(failure.maybe_hint(done.store.is_some().then_some(kept)).show())
        }
    };
    let unkept = done.unkept.as_ref().map(Failure::show);
    let left = !done.conclusion.left_behind.is_empty();
    let left = left.then(|| ExitCode::from(Kind::Environment.code()));
    ended.or(unkept).or(left).unwrap_or(ExitCode::SUCCESS)
}
