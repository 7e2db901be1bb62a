//! Classic runs: a workload with the options, the output and the exit codes of the imitated tool.

mod ranks;
mod traces;

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, FromArgMatches};
use treering_engine::{EngineOptions, LatencyMode, RunProgress, Target};
use treering_lab::{LabError, OwnedDirectory};
use treering_model::{Artifact, Ending, TrialId, TrialSink};
use treering_observe::ObserverOptions;
use treering_script::{
    ClassicMode, ClassicRecord, ClassicScene, ConfigError, Job, MissingRootPolicy, OptionSpec,
    OptionSupport, SemaphoreBarrier, Settings, TargetFacts, ToolOutput, UnusableDirectory,
    Workload,
};
use treering_sys::{Errno, SemaphoreSet, raise_on_usr1};

use crate::arguments::{AnyRunArgs, FIO, classic_words, settings};
use crate::classic_output::{Speaker, Unopened, reason, say};
use crate::clock::local_time;
use crate::commands::many::Ranks;
use crate::commands::native::classic_payload;
use crate::commands::original_fio;
use crate::commands::trial::{Asked, Done, outline, run as run_trial};
use crate::failure::{Failure, Kind, output_failed};
use traces::PhaseTraces;

/// Runs the tool; on every rank if a launcher started several and the tool supports ranks.
pub(crate) fn run(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
) -> Result<ExitCode, Failure> {
    match ranks::run(workload, matches)? {
        Some(code) => Ok(code),
        None => run_on(workload, matches, None),
    }
}

/// Parsed command line of a classic run, with its ranks.
struct Called<'c> {
    workload: &'static dyn Workload,
    any: &'c AnyRunArgs,
    settings: &'c Settings,
    ranks: Option<&'c Ranks<'c>>,
}

/// Runs the tool on the rank that prints the output.
fn run_on(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
    ranks: Option<&Ranks<'_>>,
) -> Result<ExitCode, Failure> {
    let manifest = workload.manifest();
    let is_fio = manifest.name == FIO;
    match refuse_rejected(manifest.classic, matches) {
        Err(refusal) if is_fio => return original_fio::run(refusal, None),
        checked => checked?,
    }
    let any = AnyRunArgs::from_arg_matches(matches)
        .map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
    let mut settings = settings(manifest.classic, matches);
    let reads_input = is_fio && settings.options().iter().any(|(_, value)| value == "-");
    if reads_input {
        settings.input = standard_input()?;
    }
    if let Some(ranks) = ranks {
        settings = ranks::settings_of_all(workload, &settings, ranks)?;
    }
    let configured = configure(workload, &settings);
    // With the files that were read for it.
    ranks.map_or(Ok(()), |ranks| ranks.shared(&settings).map(|_same| ()))?;
    match configured {
        Ok((job, _)) if any.dry_run => {
            outline(job.as_ref(), &TargetFacts::unknown(), any.calls)?;
            Ok(ExitCode::SUCCESS)
        }
        Ok((job, tool)) => match tool.output.only_says() {
            Some(words) => done(&words),
            None => {
                let called = Called { workload, any: &any, settings: &settings, ranks };
                perform(&called, job.as_ref(), tool)
            }
        },
        Err(error) if is_fio => {
            let refusal = Failure::new(Kind::Classic, error.message);
            let input = reads_input.then_some(settings.input);
            original_fio::run(refusal.maybe_hint(error.hint), input)
        }
        // In the words of the tool, and with its exit code.
        Err(error) if manifest.classic_usage_exit == Kind::Classic.code() => {
            say(&error.message);
            error.hint.iter().for_each(|hint| say(hint));
            Ok(ExitCode::from(manifest.classic_usage_exit))
        }
        Err(error) => Err(error.into()),
    }
}

/// Checks a command line without running it; returns the error message, if any. Standard input is
/// not read.
pub(crate) fn fault(workload: &'static dyn Workload, matches: &ArgMatches) -> Option<String> {
    let settings = settings(workload.manifest().classic, matches);
    let reads_input = settings.options().iter().any(|(_, value)| value == "-");
    configure(workload, &settings).err().filter(|_| !reads_input).map(|error| error.message)
}

/// Maximum number of bytes read of a file on standard input; valid files are shorter.
const INPUT_BYTES_MAX: u64 = 2 << 20;

fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut input = Vec::new();
    let read = io::stdin().lock().take(INPUT_BYTES_MAX).read_to_end(&mut input);
    let failed = |error| Failure::new(Kind::Environment, format!("standard input: {error}"));
    read.map(|_| input).map_err(failed)
}

fn configure(
    workload: &'static dyn Workload,
    settings: &Settings,
) -> Result<(Box<dyn Job>, ClassicMode), ConfigError> {
    Ok((workload.classic(settings)?, workload.classic_mode(settings)?))
}

/// Checks that the job can run in its directories; fails with the tool's own message otherwise.
fn check(job: &dyn Job, places: &[TargetFacts], speaker: &mut Speaker) -> Result<(), Failure> {
    for facts in places {
        if let Err(error) = job.check(facts) {
            reported(speaker.speak(|output| output.refused(&error)))?;
            return Err(Failure::new(Kind::Classic, error.message).maybe_hint(error.hint));
        }
    }
    Ok(())
}

fn perform(called: &Called<'_>, job: &dyn Job, tool: ClassicMode) -> Result<ExitCode, Failure> {
    let &Called { workload, any, settings, ranks } = called;
    let meetings = match tool.output.meeting().map(meet).transpose()? {
        Some(Met::Done(words)) => return done(&words),
        met => met.and_then(Met::meetings),
    };
    watch_for_reports(workload, settings)?;
    let traces = tool.output.traces().map(PhaseTraces::begin).transpose()?;
    let place = match take(&tool) {
        Ok(place) => place,
        Err(Untaken::Directory { path, error }) => return without(tool, &path, &error),
        Err(Untaken::Other(failure)) => return Err(failure),
    };
    let facts = facts(&place)?;
    let (known, cautions) = match ranks {
        None => (Vec::new(), Vec::new()),
        Some(ranks) => ranks.look(place.target().path())?,
    };
    let engine = engine(workload, job, &tool);
    let ClassicMode { log, signal_exit, catches_sigint, output, .. } = tool;
    let first = Target::open(place.target().path())
        .map_err(|error| Failure::of(Kind::Environment, &error))?;
    let speaker = match Speaker::begin(output, log.as_deref(), first) {
        Ok(speaker) => speaker,
        Err(unopened) => return without_log(&unopened),
    };
    let mut speaker = speaker.meeting_at(meetings);
    let rooms = place.roots().iter().filter_map(|root| root.room().ok()).collect();
    let scene = ClassicScene { was_made: place.was_made(), rooms, ..scene() };
    let record = recorded(settings, &scene)?;
    reported(speaker.speak(|output| output.open(&scene)))?;
    check(job, &facts, &mut speaker)?;
    let asked = Asked {
        workload,
        job,
        any,
        trial: ranks.map_or_else(TrialId::new, |ranks| ranks.trial),
        cell: None,
        parameters: Vec::new(),
        engine,
        keep: true,
        cautions,
        facts: known,
        wanted: ObserverOptions::default(),
        remount: None,
        catches_sigint,
        ranks: ranks.map(|ranks| ranks::distribution(workload, ranks)),
        speaker: Some((&mut speaker, record)),
        record: None,
    };
    let traces = traces.into_iter().map(|traces| Box::new(traces) as Box<dyn TrialSink>);
    let done =
        run_trial(asked, place, traces.collect(), &Arc::new(RunProgress::new()), &mut |_| {});
    if let Some(error) = speaker.missed() {
        return Err(Failure::new(Kind::Classic, format!("semop failed: {error}"))
            .hint("make semaphores for as many processes as are started, anew for each time"));
    }
    let done = done?;
    let code = exit_code(&done, signal_exit, &mut speaker)?;
    // The imitated tool stores no results, so its exit code does not depend on them.
    done.unkept.iter().for_each(|failure| say(&format!("treering: {}", failure.message())));
    done.say_left_behind();
    Ok(code)
}

/// Engine options of a classic run.
fn engine(workload: &dyn Workload, job: &dyn Job, tool: &ClassicMode) -> EngineOptions {
    let all = tool.times_all || job.times_every_call();
    let latency = if all { LatencyMode::All } else { LatencyMode::Sampled };
    EngineOptions::new(latency, classic_payload(workload.manifest().classic_payload), tool.seed)
}

/// Prints the output's last lines; returns the exit code of the imitated tool.
fn exit_code(done: &Done, signal_exit: u8, speaker: &mut Speaker) -> Result<ExitCode, Failure> {
    Ok(match &done.conclusion.ending {
        Ending::Failed { why } => failed(why, speaker),
        ending => {
            reported(speaker.speak(|output| output.close(done.conclusion.signal)))?;
            ExitCode::from(if *ending == Ending::Interrupted { signal_exit } else { 0 })
        }
    })
}

/// Makes SIGUSR1 request an interim report, if the tool has one.
fn watch_for_reports(workload: &dyn Workload, settings: &Settings) -> Result<(), Failure> {
    if workload.manifest().name != FIO {
        return Ok(());
    }
    let watched = raise_on_usr1(Arc::clone(&settings.report_asked));
    watched.map_err(|error| Failure::new(Kind::Environment, format!("SIGUSR1: {error}")))
}

/// Prints why a run failed, and returns the tool's exit code for failed runs.
fn failed(why: &str, speaker: &Speaker) -> ExitCode {
    let code = Failure::new(Kind::Classic, why.to_owned()).show();
    speaker.exit_code().map_or(code, ExitCode::from)
}

/// Fails as the tool does if its log cannot be opened, with the tool's message if it has one.
fn without_log(unopened: &Unopened) -> Result<ExitCode, Failure> {
    if unopened.said == ToolOutput::default() {
        return Err(Failure::new(Kind::Classic, unopened.to_string()));
    }
    say(unopened.said.err.trim_end());
    Ok(ExitCode::from(Kind::Classic.code()))
}

/// Artifact with the settings and context of the run, from which its output can be reproduced.
fn recorded(settings: &Settings, scene: &ClassicScene) -> Result<Artifact, Failure> {
    let record = ClassicRecord::new(settings, scene);
    Artifact::new(ClassicRecord::KIND, ClassicRecord::VERSION, &record)
        .map_err(|error| Failure::of(Kind::Bug, &error))
}

/// Result of opening or making the semaphores.
enum Met {
    /// The semaphore operation was the whole run; holds its output.
    Done(String),
    /// Semaphores at which the run synchronizes with other processes.
    At(SemaphoreSet),
}

impl Met {
    fn meetings(self) -> Option<SemaphoreSet> {
        match self {
            Self::At(meetings) => Some(meetings),
            Self::Done(_) => None,
        }
    }
}

/// Makes, removes or opens the semaphores at which processes of the tool synchronize.
fn meet(meeting: SemaphoreBarrier) -> Result<Met, Failure> {
    let failed = |what: &str, errno| {
        let error = io::Error::from(errno);
        Failure::new(Kind::Classic, format!("Can't {what}: {error}"))
    };
    let find = |key, meetings| {
        SemaphoreSet::find(key, meetings).map_err(|errno| failed("get semaphore ID", errno))
    };
    match meeting {
        SemaphoreBarrier::Make { key, meetings, processes } => {
            SemaphoreSet::make(key, meetings, processes)
                .map_err(|errno| failed("set semaphore value", errno))?;
            Ok(Met::Done(format!("Creating semaphore for {processes} procs.\n")))
        }
        SemaphoreBarrier::Remove { key, meetings } => {
            let found = find(key, meetings)?;
            found.remove().map_err(|errno| failed("remove semaphore", errno))?;
            Ok(Met::Done("Semaphore removed.\n".to_owned()))
        }
        SemaphoreBarrier::Join { key, meetings } => find(key, meetings).map(Met::At),
    }
}

/// Prints the text and returns success.
fn done(words: &str) -> Result<ExitCode, Failure> {
    reported(io::stdout().lock().write_all(words.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the directories, unless a killed run has left its trees there. The tool itself fails if a
/// directory that it does not make is missing, or if one cannot be made.
fn take(tool: &ClassicMode) -> Result<OwnedDirectory, Untaken> {
    if tool.make_roots == MissingRootPolicy::Never {
        for root in &tool.roots {
            let failed = |error| Untaken::Directory { path: root.clone(), error };
            root.read_dir().map_err(failed)?;
        }
    }
    let taken = match (tool.make_roots, tool.roots.as_slice()) {
        (MissingRootPolicy::WithParents, [alone]) => OwnedDirectory::take_with_parents(alone),
        (_, several) => OwnedDirectory::take_roots(several),
    };
    let place = taken.map_err(|error| match error {
        LabError::Io { action: "cannot make", path, source } => {
            Untaken::Directory { path, error: source }
        }
        // The original meets a file where it works, and fails of that.
        LabError::NotADirectory { path } => {
            Untaken::Directory { path, error: Errno::NOTDIR.into() }
        }
        error => Untaken::Other(error.into()),
    })?;
    place.refuse_leftovers().map_err(|error| Untaken::Other(error.into()))?;
    if tool.output.always_writes() {
        let filesystem = place.target().filesystem();
        if filesystem.is_ok_and(|filesystem| filesystem.is_read_only()) {
            let path = tool.roots.first().cloned().unwrap_or_default();
            return Err(Untaken::Directory { path, error: Errno::ROFS.into() });
        }
    }
    Ok(place)
}

/// Error in opening or making the directories of a run.
enum Untaken {
    /// A directory is missing or cannot be made; the imitated tool fails with its own message.
    Directory {
        path: PathBuf,
        error: io::Error,
    },
    Other(Failure),
}

/// Fails as the tool does if a directory is missing or cannot be made, with the tool's message if
/// it has one.
fn without(tool: ClassicMode, path: &Path, error: &io::Error) -> Result<ExitCode, Failure> {
    let why = reason(error);
    let ClassicMode { mut output, log, make_roots, .. } = tool;
    let errno = error.raw_os_error().unwrap_or_default();
    let is_there = path.symlink_metadata().is_ok();
    let said =
        output.without_directory(&scene(), &UnusableDirectory { path, why: &why, errno, is_there });
    if said == ToolOutput::default() {
        let path = path.display();
        let what = match make_roots {
            MissingRootPolicy::Never => format!("open {path} failed: {error}"),
            _ => format!("cannot make {path}: {error}"),
        };
        return Err(Failure::new(Kind::Classic, what));
    }
    reported(io::stdout().lock().write_all(said.out.as_bytes()))?;
    if let Some(log) = log.filter(|_| !said.log.is_empty()) {
        let file = OpenOptions::new().create(true).append(true).open(log);
        reported(file.and_then(|mut file| file.write_all(said.log.as_bytes())))?;
    }
    if !said.err.is_empty() {
        say(said.err.trim_end());
    }
    Ok(ExitCode::from(output.exit_code().unwrap_or(Kind::Classic.code())))
}

/// Context of the output as known before the directories exist.
fn scene() -> ClassicScene {
    ClassicScene { words: classic_words(), started: local_time(), ..ClassicScene::default() }
}

fn facts(place: &OwnedDirectory) -> Result<Vec<TargetFacts>, Failure> {
    let facts = place.roots().iter().map(Target::facts);
    facts.collect::<Result<_, _>>().map_err(|error| Failure::of(Kind::Environment, &error))
}

/// Converts an error in writing the output to a failure.
fn reported(result: io::Result<()>) -> Result<(), Failure> {
    result.or_else(|error| output_failed(&error))
}

fn refuse_rejected(specs: &[OptionSpec], matches: &ArgMatches) -> Result<(), Failure> {
    for spec in specs {
        if let OptionSupport::Rejected(why) = spec.support
            && matches.contains_id(spec.name)
            && matches.value_source(spec.name) == Some(clap::parser::ValueSource::CommandLine)
        {
            return Err(Failure::new(Kind::Usage, format!("--{}: {why}", spec.name)));
        }
    }
    Ok(())
}
