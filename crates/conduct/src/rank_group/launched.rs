//! Rank of a trial launched by a plan: rank 0 receives the request, forwards it to the others, and
//! reports the events.

use std::io;
use std::time::Duration;

use treering_engine::{EngineOptions, RankReport};
use treering_model::{Caution, CautionCode, SinkError, TrialEvent, TrialSink};
use treering_script::Settings;

use super::process::failed;
use super::ranks::Ranks;
use crate::failure::{Failure, FailureKind};
use crate::handed::{HandedRun, RanksJob, RanksTrial};
use crate::messages::say_left_behind;
use crate::plan::JobOfRanks;
use crate::ranks::dir_of_rank;
use crate::trial::beginning::{named, take};

/// Interface of a launched rank to the plan that launched it.
pub trait LaunchedRank {
    /// Reads the line with the request to the ranks.
    ///
    /// # Errors
    /// When it cannot be read.
    fn job_line(&self) -> io::Result<Vec<u8>>;

    /// Reports to the plan; returns true if the report arrived.
    fn tell(&self, report: &RankReport) -> bool;

    /// Shows a message.
    fn say(&self, words: &str);

    /// The wall clock: milliseconds since 1970 (UTC).
    fn unix_ms(&self) -> i64;
}

/// Serves the request of the plan that launched the ranks.
///
/// # Errors
/// When version or number of the ranks differ from the request, a rank is lost, or the trial cannot
/// begin.
pub fn serve_launched(ranks: &Ranks<'_>, own: &dyn LaunchedRank) -> Result<(), Failure> {
    let mut line = Vec::new();
    if ranks.world.is_first() {
        line = own
            .job_line()
            .map_err(|error| lost(&format!("what is to be done cannot be read: {error}")))?;
    }
    let line = ranks.world.broadcast(&line).map_err(|error| failed(&error))?;
    let job: RanksJob = serde_json::from_slice(&line)
        .map_err(|error| lost(&format!("what is to be done is not understood: {error}")))?;
    suits(&job, ranks.world.size())?;
    let limit = Duration::from_secs(job.timeout_seconds.into());
    ranks.world.set_limit(limit);
    if ranks.world.is_first() {
        own.tell(&RankReport::Met(job.ranks, ranks.library.clone()));
    }
    if let Some(trial) = job.trial {
        conduct((ranks, own), trial, &job.host, limit)?;
    }
    if ranks.world.is_first() {
        own.tell(&RankReport::Done);
    }
    Ok(())
}

fn lost(why: &str) -> Failure {
    Failure::environment(why)
}

/// Checks that version and number of ranks are as requested.
fn suits(job: &RanksJob, size: usize) -> Result<(), Failure> {
    let own_version = env!("CARGO_PKG_VERSION");
    if job.version != own_version {
        let message =
            format!("the ranks are treering {own_version}, the plan runs in {}", job.version);
        return Err(Failure::usage(message));
    }
    if job.ranks != size {
        let message = format!("the launcher has started {size} ranks, not {}", job.ranks);
        return Err(Failure::environment(message));
    }
    Ok(())
}

fn conduct(
    (ranks, own): (&Ranks<'_>, &dyn LaunchedRank),
    trial: RanksTrial,
    conductor: &str,
    stopped_max: Duration,
) -> Result<(), Failure> {
    let RanksTrial { mut handed, dir, keep } = trial;
    let dir = dir_of_rank(&dir, ranks.world.rank());
    let workload = named(ranks.workloads, &handed.workload).ok_or_else(|| {
        Failure::new(FailureKind::Bug, format!("no workload {}", handed.workload))
    })?;
    let settings = Settings::new(handed.options.clone());
    let JobOfRanks { job, each, .. } = ranks.job(workload, &settings)?;
    let engine = EngineOptions { stopped_max, ..handed.engine_options(job.as_ref()) };
    if !ranks.world.is_first() {
        return ranks.assist(&[dir], job.as_ref(), &engine);
    }
    let mut place = take(&dir)?;
    let (facts, cautions) = ranks.look(place.target().path())?;
    handed.facts.extend(facts);
    handed.cautions.extend(cautions);
    handed.cautions.extend(about_others(ranks, conductor));
    let run = HandedRun {
        handed,
        job: job.as_ref(),
        engine,
        keep,
        remount: None,
        world: Some(ranks.world),
        each,
        started_unix_ms: own.unix_ms(),
    };
    let left_behind = run.run(&mut place, &mut Reporter(own))?;
    say_left_behind(&left_behind, &|words| own.say(words));
    Ok(())
}

/// Caution about the ranks' other hosts, on which caches were not dropped.
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

/// Reports each event of a trial to the plan.
struct Reporter<'a>(&'a dyn LaunchedRank);

impl TrialSink for Reporter<'_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if self.0.tell(&RankReport::Event(Box::new(event.clone()))) {
            return Ok(());
        }
        let gone = io::Error::from(io::ErrorKind::BrokenPipe);
        Err(SinkError::new("the plan that launched the ranks is gone", gone))
    }
}
