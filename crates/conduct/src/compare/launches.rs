//! Trials on several ranks: finds and tries the launchers of a plan once, and launches the ranks
//! for each trial. Rank 0 sends the events; this process stores and displays them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::plan::{Launch, Plan, PlannedJob};
use treering_engine::{LaunchEnd, Launcher, RankReport, USUAL_LAUNCHER, find_program};
use treering_model::{Ending, Fact, TrialHeader, TrialSink};
use treering_observe::Findings;
use treering_sys::StopFlag;

use super::relay::Relay;
use crate::failure::{Failure, FailureKind};
use crate::handed::{RanksJob, RanksTrial};
use crate::host::RankOptions;
use crate::shell::quoted;

/// Environment variable with the program to launch if the plan names none.
pub const PROGRAM: &str = "TREERING_MPI_PROGRAM";

/// The launchers of a plan.
pub(crate) struct Launches<'a> {
    plan: &'a Plan,
    options: &'a RankOptions,
    /// Launcher of each job; `None` for jobs without ranks.
    launchers: Vec<Option<Launcher>>,
}

impl<'a> Launches<'a> {
    /// Finds the launchers of a plan; `None` for a plan without ranks.
    pub(crate) fn find(
        plan: &'a Plan,
        options: &'a RankOptions,
        search: &OsStr,
    ) -> Result<Option<Self>, Failure> {
        if plan.jobs.iter().all(|job| job.launch.is_none()) {
            return Ok(None);
        }
        let of_job = |job: &PlannedJob| {
            job.launch.as_ref().map(|launch| find(launch, options, search)).transpose()
        };
        let launchers = plan.jobs.iter().map(of_job).collect::<Result<_, _>>()?;
        Ok(Some(Self { plan, options, launchers }))
    }

    /// Starts each launcher once with its maximum number of ranks, so that errors appear before the
    /// first round.
    pub(crate) fn probe(&self, stop: &StopFlag) -> Result<(), Failure> {
        let mut most: BTreeMap<Vec<OsString>, (&Launcher, &Launch)> = BTreeMap::new();
        for (job, launcher) in self.plan.jobs.iter().zip(&self.launchers) {
            let (Some(launch), Some(launcher)) = (&job.launch, launcher) else { continue };
            let (_, largest) = most.entry(launcher.words(0)).or_insert((launcher, launch));
            if largest.ranks < launch.ranks {
                *largest = launch;
            }
        }
        for (launcher, launch) in most.into_values() {
            let (ranks, asked) = (launch.ranks, job(launch, None, &self.options.host)?);
            let end = launcher.run(ranks, (&asked, &[]), stop, &mut |_| Ok::<_, Failure>(()))?;
            let why = match end {
                LaunchEnd::Done | LaunchEnd::Interrupted => continue,
                LaunchEnd::Refused { why } | LaunchEnd::Broken { why } => why,
            };
            let message = format!("{ranks} ranks cannot be started: {why}");
            let hint = format!("what was tried: {}", line(&launcher.words(ranks)));
            return Err(Failure::environment(message).hint(hint));
        }
        Ok(())
    }

    /// Lines with the launcher command of each job.
    pub(crate) fn lines(&self) -> Vec<String> {
        let jobs = self.plan.jobs.iter().zip(&self.launchers);
        let words = jobs.filter_map(|(job, launcher)| {
            let words = launcher.as_ref()?.words(job.launch.as_ref()?.ranks);
            Some(format!("{}: started by {}", job.name, line(&words)))
        });
        words.collect()
    }

    /// Runs a trial on the ranks of its job. The sink receives a first and a last event even if
    /// ranks crash.
    pub(crate) fn run(
        &self,
        place: usize,
        trial: RanksTrial,
        beginning: TrialHeader,
        stop: &StopFlag,
        sink: &mut dyn TrialSink,
    ) -> Result<Ending, Failure> {
        let of_job = self.plan.jobs[place].launch.as_ref();
        let (Some(launch), Some(launcher)) = (of_job, &self.launchers[place]) else {
            return Err(Failure::new(FailureKind::Bug, "a trial on ranks without a launcher"));
        };
        let environment = trial.handed.settings.env.clone();
        let (facts, cautions) = (trial.handed.facts.clone(), trial.handed.cautions.clone());
        let request = job(launch, Some(trial), &self.options.host)?;
        let mut relay = Relay::new(beginning, sink);
        let end =
            launcher.run(
                launch.ranks,
                (&request, &environment),
                stop,
                &mut |report| match report {
                    RankReport::Event(event) => relay.take(*event),
                    _ => Ok(()),
                },
            )?;
        let ending = match end {
            LaunchEnd::Interrupted => Ending::Interrupted,
            LaunchEnd::Refused { why } | LaunchEnd::Broken { why } => Ending::Failed { why },
            LaunchEnd::Done => {
                let why = "the ranks were done and had not said how their trial ended".to_owned();
                Ending::Failed { why }
            }
        };
        relay.finish(ending, "", (facts, cautions), Findings::default())
    }

    /// Facts about the launcher of a job.
    pub(crate) fn facts(&self, place: usize) -> Vec<Fact> {
        let launch = self.plan.jobs[place].launch.as_ref();
        let words = self.launchers[place].as_ref().zip(launch).map(|(launcher, launch)| {
            // Drops the program, whose path differs from machine to machine.
            let mut words = launcher.words(launch.ranks);
            words.truncate(words.len().saturating_sub(2));
            line(&words)
        });
        let fact = |value| Fact { name: "ranks.launcher".to_owned(), value };
        words.map(fact).into_iter().collect()
    }
}

fn line(words: &[OsString]) -> String {
    words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// Job description for the ranks, as JSON.
fn job(
    launch: &Launch,
    trial: Option<RanksTrial>,
    host: &str,
) -> Result<serde_json::Value, Failure> {
    let job = RanksJob {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host.to_owned(),
        ranks: launch.ranks as usize,
        timeout_seconds: launch.timeout_seconds,
        trial,
    };
    serde_json::to_value(job)
        .map_err(|error| Failure::new(FailureKind::Bug, format!("a trial is no JSON: {error}")))
}

/// The launcher of a job, and the program that it starts.
fn find(launch: &Launch, options: &RankOptions, search: &OsStr) -> Result<Launcher, Failure> {
    let program = launch.program.clone().or_else(|| options.program.clone());
    let program = match program {
        Some(path) => path.canonicalize().ok().filter(|path| path.is_file()).ok_or_else(|| {
            Failure::usage(format!("there is no program {}", path.display()))
                .hint(format!("it is named by mpi-program in the plan, or by {PROGRAM}"))
        })?,
        None => {
            let own = options.own_has_mpi.then(|| options.own.clone());
            own.or_else(|| find_program(&options.own, search)).ok_or_else(missing)?
        }
    };
    Ok(Launcher::find(&launch.launcher, program, search)?)
}

fn missing() -> Failure {
    let message = format!(
        "the plan has ranks, and there is no treering-mpi for {USUAL_LAUNCHER} to start: neither \
         beside this program nor in PATH"
    );
    Failure::environment(message).hint(format!(
        "build it (`make build-mpi`), or name it: mpi-program = \"/opt/treering-mpi\" in the plan, \
         or {PROGRAM}"
    ))
}

/// Work directory pattern of all ranks: the directory of the variant, which may contain `{rank}`,
/// followed by the name of rank 0's work directory.
pub(crate) fn dir_of_all(of_variant: Option<&Path>, work: &Path) -> PathBuf {
    match (of_variant, work.file_name()) {
        (Some(dir), Some(name)) => dir.join(name),
        _ => work.to_owned(),
    }
}
