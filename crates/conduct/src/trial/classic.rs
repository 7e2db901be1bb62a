//! Classic runs: a workload with the output, exit codes, directories and process barriers of the
//! imitated tool.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use treering_engine::{EngineOptions, LatencyMode, RunProgress, Target};
use treering_lab::{LabError, OwnedDirectory};
use treering_model::{Artifact, Ending, TrialId, TrialSink};
use treering_script::{
    ClassicMode, ClassicRecord, ClassicScene, ClassicTraces, Job, MissingRootPolicy,
    SemaphoreBarrier, Settings, TargetFacts, ToolOutput, UnusableDirectory, Workload,
};
use treering_sys::{Errno, SemaphoreSet, raise_on_usr1};

use super::devices::check_written;
use super::native::classic_payload;
use super::speaker::{LogOpenError, Speaker, ToolOutputSink, ToolTerminal, reason};
use super::{TrialOutcome, TrialRequest, run_trial};
use crate::failure::{Failure, FailureKind};
use crate::host::{Host, ResultStore};
use crate::load::FIO;
use crate::rank_group::Ranks;

/// Command line of an imitated tool, with its ranks.
pub struct ClassicRun<'a> {
    /// The workload.
    pub workload: &'static dyn Workload,
    /// Settings of the command line.
    pub settings: &'a Settings,
    /// Label of the trial.
    pub label: String,
    /// Words of the command line, as the tool reads them.
    pub words: Vec<String>,
    /// Ranks of the run.
    pub ranks: Option<&'a Ranks<'a>>,
    /// Starts block traces for a tool that records them.
    pub traces: &'a dyn Fn(ClassicTraces) -> Result<Box<dyn TrialSink>, Failure>,
}

/// End of a classic run.
pub struct ClassicEnd {
    /// Exit code of the imitated tool.
    pub code: u8,
    /// Failure of the run.
    pub failure: Option<Failure>,
    /// Outcome of the trial; `None` if there was none.
    pub outcome: Option<TrialOutcome>,
}

impl ClassicEnd {
    /// End without a trial.
    fn without_trial(code: u8) -> Self {
        Self { code, failure: None, outcome: None }
    }
}

impl ClassicRun<'_> {
    /// Runs the tool, and writes its output.
    ///
    /// # Errors
    /// When it fails before there is a trial, or the output cannot be written.
    pub fn run(
        &self,
        job: &dyn Job,
        tool: ClassicMode,
        mut terminal: Box<dyn ToolTerminal>,
        (store, host): (&dyn ResultStore, &dyn Host),
    ) -> Result<ClassicEnd, Failure> {
        let meetings = match tool.output.meeting().map(open_semaphores).transpose()? {
            Some(OpenedSemaphores::Finished(words)) => {
                output_result(terminal.out().write_all(words.as_bytes()))?;
                return Ok(ClassicEnd::without_trial(0));
            }
            Some(OpenedSemaphores::Semaphores(meetings)) => Some(meetings),
            None => None,
        };
        self.prepare(job)?;
        let traces = tool.output.traces().map(self.traces).transpose()?;
        let scene = ClassicScene {
            words: self.words.clone(),
            started: terminal.local_time(),
            ..ClassicScene::default()
        };
        let place = match take_roots(&tool) {
            Ok(place) => place,
            Err(DirectoryError::Directory { path, error }) => {
                return without_directory(tool, &scene, (&path, &error), terminal.as_mut(), host);
            }
            Err(DirectoryError::Other(failure)) => return Err(failure),
        };
        let (facts, engine) = (facts_of_roots(&place)?, classic_engine(self.workload, job, &tool));
        let (known, cautions) = match self.ranks {
            None => (Vec::new(), Vec::new()),
            Some(ranks) => ranks.look(place.target().path())?,
        };
        let ClassicMode { log, signal_exit, catches_sigint, output, .. } = tool;
        let first = Target::open(place.target().path())
            .map_err(|error| Failure::of(FailureKind::Environment, &error))?;
        let speaker = match Speaker::begin(output, log.as_deref(), first, terminal) {
            Ok(speaker) => speaker,
            Err(unopened) => return without_log(&unopened, host),
        };
        let mut speaker = speaker.meeting_at(meetings);
        let rooms = place.roots().iter().filter_map(|root| root.room().ok()).collect();
        let scene = ClassicScene { was_made: place.was_made(), rooms, ..scene };
        let record = Some(recorded(self.settings, &scene)?);
        output_result(speaker.speak(|output| output.open(&scene)))?;
        check(job, &facts, &mut speaker)?;
        let mut speaking = ToolOutputSink { speaker: &mut speaker, record };
        let request = TrialRequest {
            label: self.label.clone(),
            trial: self.ranks.map_or_else(TrialId::new, |ranks| ranks.trial),
            keep: true,
            cautions,
            facts: known,
            catches_sigint,
            ranks: self.ranks.map(|ranks| ranks.classic_share(self.workload)),
            filter: Some(&mut speaking),
            ..TrialRequest::new(self.workload, job, engine)
        };
        let (listeners, progress) = (traces.into_iter().collect(), Arc::new(RunProgress::new()));
        let ended = run_trial(request, place, listeners, &progress, &mut |_| {}, (store, host));
        if let Some(error) = speaker.missed() {
            let message = format!("semop failed: {error}");
            return Err(Failure::new(FailureKind::Classic, message)
                .hint("make semaphores for as many processes as are started, anew for each time"));
        }
        let outcome = ended?;
        let (code, failure) = finish_output(&outcome, signal_exit, &mut speaker)?;
        Ok(ClassicEnd { code, failure, outcome: Some(outcome) })
    }

    /// Checks the devices that the job writes, and watches for the signal of an interim report.
    fn prepare(&self, job: &dyn Job) -> Result<(), Failure> {
        check_written(job.devices())?;
        self.watch_for_reports()
    }

    /// Makes SIGUSR1 request an interim report, if the tool has one.
    fn watch_for_reports(&self) -> Result<(), Failure> {
        if self.workload.manifest().name != FIO {
            return Ok(());
        }
        let watched = raise_on_usr1(Arc::clone(&self.settings.report_asked));
        watched.map_err(|error| Failure::environment(format!("SIGUSR1: {error}")))
    }
}

/// Engine options of a classic run.
pub fn classic_engine(workload: &dyn Workload, job: &dyn Job, tool: &ClassicMode) -> EngineOptions {
    let times_every_call = tool.times_all || job.times_every_call();
    let latency = if times_every_call { LatencyMode::All } else { LatencyMode::Sampled };
    EngineOptions::new(latency, classic_payload(workload.manifest().classic_payload), tool.seed)
}

/// Result of opening or making the semaphores at which processes of a tool synchronize.
enum OpenedSemaphores {
    /// The semaphore operation was the whole run; holds its output.
    Finished(String),
    /// Semaphores at which the run synchronizes with other processes.
    Semaphores(SemaphoreSet),
}

/// Makes, removes or opens the semaphores at which processes of the tool synchronize.
fn open_semaphores(meeting: SemaphoreBarrier) -> Result<OpenedSemaphores, Failure> {
    let failed = |what: &str, errno| {
        let error = io::Error::from(errno);
        Failure::new(FailureKind::Classic, format!("Can't {what}: {error}"))
    };
    let find = |key, meetings| {
        SemaphoreSet::find(key, meetings).map_err(|errno| failed("get semaphore ID", errno))
    };
    match meeting {
        SemaphoreBarrier::Make { key, meetings, processes } => {
            SemaphoreSet::make(key, meetings, processes)
                .map_err(|errno| failed("set semaphore value", errno))?;
            Ok(OpenedSemaphores::Finished(format!("Creating semaphore for {processes} procs.\n")))
        }
        SemaphoreBarrier::Remove { key, meetings } => {
            let semaphores = find(key, meetings)?;
            semaphores.remove().map_err(|errno| failed("remove semaphore", errno))?;
            Ok(OpenedSemaphores::Finished("Semaphore removed.\n".to_owned()))
        }
        SemaphoreBarrier::Join { key, meetings } => {
            find(key, meetings).map(OpenedSemaphores::Semaphores)
        }
    }
}

/// Opens the directories, unless a killed run has left trees there. A missing directory is made
/// only if the tool makes it; otherwise the tool's own error results.
fn take_roots(tool: &ClassicMode) -> Result<OwnedDirectory, DirectoryError> {
    if tool.make_roots == MissingRootPolicy::Never {
        for root in &tool.roots {
            let failed = |error| DirectoryError::Directory { path: root.clone(), error };
            root.read_dir().map_err(failed)?;
        }
    }
    let acquired = match (tool.make_roots, tool.roots.as_slice()) {
        (MissingRootPolicy::WithParents, [alone]) => OwnedDirectory::take_with_parents(alone),
        (_, several) if tool.output.shares_roots() => OwnedDirectory::take_shared_roots(several),
        (_, several) => OwnedDirectory::take_roots(several),
    };
    let place = acquired.map_err(|error| match error {
        LabError::Io { action: "cannot make", path, source } => {
            DirectoryError::Directory { path, error: source }
        }
        // The original tool fails with `ENOTDIR` if its directory is a file.
        LabError::NotADirectory { path } => {
            DirectoryError::Directory { path, error: Errno::NOTDIR.into() }
        }
        error => DirectoryError::Other(error.into()),
    })?;
    place.refuse_leftovers().map_err(|error| DirectoryError::Other(error.into()))?;
    if tool.output.always_writes() {
        let filesystem = place.target().filesystem();
        if filesystem.is_ok_and(|filesystem| filesystem.is_read_only()) {
            let path = tool.roots.first().cloned().unwrap_or_default();
            return Err(DirectoryError::Directory { path, error: Errno::ROFS.into() });
        }
    }
    Ok(place)
}

/// Error in opening or making the directories of a run.
enum DirectoryError {
    /// A directory is missing or cannot be made; the imitated tool fails with its own message.
    Directory {
        /// The directory.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// Any other failure.
    Other(Failure),
}

/// Facts of each directory of a run.
fn facts_of_roots(place: &OwnedDirectory) -> Result<Vec<TargetFacts>, Failure> {
    let facts = place.roots().iter().map(Target::facts);
    facts.collect::<Result<_, _>>().map_err(|error| Failure::of(FailureKind::Environment, &error))
}

/// Checks that the job can run in its directories; fails with the tool's own message otherwise.
fn check(job: &dyn Job, places: &[TargetFacts], speaker: &mut Speaker) -> Result<(), Failure> {
    for facts in places {
        if let Err(error) = job.check(facts) {
            output_result(speaker.speak(|output| output.refused(&error)))?;
            return Err(Failure::new(FailureKind::Classic, error.message).maybe_hint(error.hint));
        }
    }
    Ok(())
}

/// Writes the output's last lines; returns the exit code of the imitated tool, and the failure of
/// a failed run.
fn finish_output(
    outcome: &TrialOutcome,
    signal_exit: u8,
    speaker: &mut Speaker,
) -> Result<(u8, Option<Failure>), Failure> {
    if let Ending::Failed { why } = &outcome.conclusion.ending {
        let code = speaker.exit_code().unwrap_or(FailureKind::Classic.code());
        return Ok((code, Some(Failure::new(FailureKind::Classic, why.clone()))));
    }
    output_result(speaker.speak(|output| output.close(outcome.conclusion.signal)))?;
    let is_interrupted = outcome.conclusion.ending == Ending::Interrupted;
    Ok((if is_interrupted { signal_exit } else { 0 }, None))
}

/// Ends the run as the tool does if its log cannot be opened, with the tool's message, if any.
fn without_log(unopened: &LogOpenError, host: &dyn Host) -> Result<ClassicEnd, Failure> {
    if unopened.said == ToolOutput::default() {
        return Err(Failure::new(FailureKind::Classic, unopened.to_string()));
    }
    host.say(unopened.said.err.trim_end());
    Ok(ClassicEnd::without_trial(FailureKind::Classic.code()))
}

/// Artifact with the settings and context of the run, from which its output can be reproduced.
fn recorded(settings: &Settings, scene: &ClassicScene) -> Result<Artifact, Failure> {
    let record = ClassicRecord::new(settings, scene);
    Artifact::new(ClassicRecord::KIND, ClassicRecord::VERSION, &record)
        .map_err(|error| Failure::of(FailureKind::Bug, &error))
}

/// Ends the run as the tool does if a directory is missing or cannot be made, with the tool's
/// message, if any.
fn without_directory(
    tool: ClassicMode,
    scene: &ClassicScene,
    (path, error): (&Path, &io::Error),
    terminal: &mut dyn ToolTerminal,
    host: &dyn Host,
) -> Result<ClassicEnd, Failure> {
    let why = reason(error);
    let ClassicMode { mut output, log, make_roots, .. } = tool;
    let errno = error.raw_os_error().unwrap_or_default();
    let exists = path.symlink_metadata().is_ok();
    let text = output
        .without_directory(scene, &UnusableDirectory { path, why: &why, errno, is_there: exists });
    if text == ToolOutput::default() {
        let path = path.display();
        let what = match make_roots {
            MissingRootPolicy::Never => format!("open {path} failed: {error}"),
            _ => format!("cannot make {path}: {error}"),
        };
        return Err(Failure::new(FailureKind::Classic, what));
    }
    output_result(terminal.out().write_all(text.out.as_bytes()))?;
    if let Some(log) = log.filter(|_| !text.log.is_empty()) {
        let file = OpenOptions::new().create(true).append(true).open(log);
        output_result(file.and_then(|mut file| file.write_all(text.log.as_bytes())))?;
    }
    if !text.err.is_empty() {
        host.say(text.err.trim_end());
    }
    Ok(ClassicEnd::without_trial(output.exit_code().unwrap_or(FailureKind::Classic.code())))
}

/// Failure of an output that cannot be written; a closed pipe is not a failure.
fn output_result(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::environment(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
