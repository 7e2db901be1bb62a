//! One of the ranks of a trial that a plan has launched: the first hears what is to be done on
//! standard input, tells the others, and says on standard output what happens.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use treering_conduct::plan::{JobOfRanks, RANK_TIMEOUT_SECONDS};
use treering_conduct::{RanksJob, RanksTrial, take};
use treering_engine::{EngineOptions, Progress, RankReport};
use treering_model::{Caution, CautionCode, SinkError, TrialEvent, TrialSink};
use treering_script::Settings;

use super::connection::Connected;
use super::{Ranks, dir_of_rank, failed, together};
use crate::arguments::AnyRunArgs;
use crate::commands::trial::{Asked, Distribution, run as run_trial};
use crate::commands::workload;
use crate::failure::{Failure, Kind};

/// A rank that is silent for longer before it is known what the plan says is lost.
const TIMEOUT: Duration = Duration::from_secs(RANK_TIMEOUT_SECONDS as u64);

/// Runs this rank to its end.
pub(crate) fn run() -> ExitCode {
    let refuse = |failure: &Failure| {
        tell(&RankReport::Refused(failure.message().to_owned()));
        ExitCode::from(Kind::Environment.code())
    };
    match Connected::of_launch() {
        Ok(connected) => together(&connected, TIMEOUT, serve, refuse),
        Err(failure) => refuse(&failure),
    }
}

/// Says something to whoever has launched us; says whether that was heard.
fn tell(report: &RankReport) -> bool {
    let mut line = serde_json::to_vec(report).unwrap_or_default();
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).is_ok()
}

fn serve(ranks: &Ranks<'_>) -> Result<ExitCode, Failure> {
    let mut line = Vec::new();
    if ranks.world.is_first() {
        let read = io::stdin().lock().read_until(b'\n', &mut line);
        read.map_err(|error| lost(&format!("what is to be done cannot be read: {error}")))?;
    }
    let line = ranks.world.broadcast(&line).map_err(|error| failed(&error))?;
    let job: RanksJob = serde_json::from_slice(&line)
        .map_err(|error| lost(&format!("what is to be done is not understood: {error}")))?;
    suits(&job, ranks.world.size())?;
    let limit = Duration::from_secs(job.timeout_seconds.into());
    ranks.world.set_limit(limit);
    if ranks.world.is_first() {
        tell(&RankReport::Met(job.ranks, ranks.library.clone()));
    }
    if let Some(trial) = job.trial {
        conduct(ranks, trial, &job.host, limit)?;
    }
    if ranks.world.is_first() {
        tell(&RankReport::Done);
    }
    Ok(ExitCode::SUCCESS)
}

fn lost(why: &str) -> Failure {
    Failure::new(Kind::Environment, why)
}

/// Whether this is what was launched.
fn suits(job: &RanksJob, size: usize) -> Result<(), Failure> {
    let own = env!("CARGO_PKG_VERSION");
    if job.version != own {
        let message = format!("the ranks are treering {own}, the plan runs in {}", job.version);
        return Err(Failure::new(Kind::Usage, message));
    }
    if job.ranks != size {
        let message = format!("the launcher has started {size} ranks, not {}", job.ranks);
        return Err(Failure::new(Kind::Environment, message));
    }
    Ok(())
}

fn conduct(
    ranks: &Ranks<'_>,
    trial: RanksTrial,
    conductor: &str,
    stopped_max: Duration,
) -> Result<(), Failure> {
    let RanksTrial { handed, dir, keep } = trial;
    let dir = dir_of_rank(&dir, ranks.world.rank());
    let workload = workload(&handed.workload)
        .ok_or_else(|| Failure::new(Kind::Bug, format!("no workload {}", handed.workload)))?;
    let settings = Settings::new(handed.options.clone());
    let JobOfRanks { job, each, .. } = ranks.job(workload, &settings)?;
    let engine = EngineOptions { stopped_max, ..handed.engine(job.as_ref()) };
    if !ranks.world.is_first() {
        return ranks.assist(&[dir], job.as_ref(), &engine);
    }
    let place = take(&dir)?;
    let (facts, mut cautions) = ranks.look(place.target().path())?;
    cautions.extend(about_others(ranks, conductor));
    let wanted = handed.wanted();
    let any = AnyRunArgs { label: handed.label, no_store: true, ..AnyRunArgs::default() };
    let asked = Asked {
        workload,
        job: job.as_ref(),
        any: &any,
        trial: handed.trial,
        cell: Some(handed.cell),
        parameters: handed.parameters,
        engine,
        keep,
        cautions: [handed.cautions, cautions].concat(),
        facts: [handed.facts, facts].concat(),
        wanted,
        remount: None,
        ranks: Some(Distribution { world: ranks.world, each }),
        catches_sigint: false,
        speaker: None,
        record: None,
    };
    let ran =
        run_trial(asked, place, vec![Box::new(Host)], &Arc::new(Progress::new()), &mut |_| {});
    ran.map(|done| done.say_left_behind())
}

/// The caution about machines on which nobody has dropped caches.
fn about_others(ranks: &Ranks<'_>, conductor: &str) -> Option<Caution> {
    let mut others = ranks.world.hosts();
    others.retain(|host| host != conductor);
    others.sort();
    others.dedup();
    let message = format!(
        "caches were dropped on {conductor} only, not on {} other machines of ranks",
        others.len()
    );
    (!others.is_empty()).then_some(Caution { code: CautionCode::CachesNotDropped, message })
}

/// Whoever has launched us, as a listener.
struct Host;

impl TrialSink for Host {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if tell(&RankReport::Event(Box::new(event.clone()))) {
            return Ok(());
        }
        let gone = io::Error::from(io::ErrorKind::BrokenPipe);
        Err(SinkError::new("the plan that launched the ranks is gone", gone))
    }
}
