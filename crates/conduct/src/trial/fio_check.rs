//! Runs of a fio job for a comparison of the installed fio with the native one: alternating turns,
//! and the requests of each.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use treering_engine::{EngineOptions, LatencyMode, PayloadKind, RunProgress};
use treering_fio::Fio;
use treering_fio::check::{JobPair, Logged, Moved, moved, rehearsed_requests, sequences};
use treering_lab::RunTree;
use treering_model::{Ending, Trial};
use treering_script::{Job, Settings};

use super::{TrialRequest, run_trial, take_named};
use crate::failure::{Failure, FailureKind};
use crate::host::{Host, ResultStore};

/// Maximum number of requests of a job that are compared.
const REQUESTS_MAX: usize = 200_000;
/// Maximum number of bytes read of a log.
const LOG_BYTES_MAX: u64 = 32 << 20;

/// Comparison of fio with its native imitation, in a directory.
pub struct FioCheck<'a> {
    /// Directory of the jobs.
    pub dir: &'a Path,
    /// Label of the trials.
    pub label: &'a str,
    /// Store of the trials.
    pub store: &'a dyn ResultStore,
    /// Store that discards trials, for runs that only log requests.
    pub discarding: &'a dyn ResultStore,
    /// Program that asked for the comparison.
    pub host: &'a dyn Host,
}

/// Requests of a job's first clone.
pub struct ComparedRequests {
    /// The job, and whether its requests must be equal.
    pub job: Logged,
    /// Requests of the native job.
    pub ours: Vec<Moved>,
    /// Requests that fio logged; empty without a log.
    pub theirs: Vec<Moved>,
}

/// Trials of a turn.
pub struct FioTurn {
    /// The native trial.
    pub ours: Trial,
    /// The trial of fio.
    pub theirs: Trial,
}

impl FioCheck<'_> {
    /// Runs the turn with this number, counted from 1. The program that runs first finds the
    /// directory in another state, so the order alternates. `tell` hears which program runs.
    ///
    /// # Errors
    /// When a trial fails, or cannot be stored.
    pub fn turn(&self, jobs: &JobPair, turn: u32, tell: &dyn Fn(&str)) -> Result<FioTurn, Failure> {
        let one = |job: &dyn Job, program: &str| {
            tell(program);
            self.run_trial(job, self.store, None)
        };
        if turn % 2 == 1 {
            let theirs = one(jobs.theirs.as_ref(), "fio")?;
            Ok(FioTurn { ours: one(jobs.ours.as_ref(), "treering")?, theirs })
        } else {
            let ours = one(jobs.ours.as_ref(), "treering")?;
            Ok(FioTurn { theirs: one(jobs.theirs.as_ref(), "fio")?, ours })
        }
    }

    /// Requests of each job's first clone, by both programs.
    ///
    /// # Errors
    /// When a job fails.
    pub fn sequences(&self, settings: &Settings) -> Result<Vec<ComparedRequests>, Failure> {
        let both = sequences(settings)?;
        let mut kept = Vec::new();
        let ran = self.run_trial(both.theirs.as_ref(), self.discarding, Some(&mut kept));
        let logs: Vec<Vec<Moved>> = both.jobs.iter().map(|job| self.log(&job.log)).collect();
        let removed = self.remove(&kept);
        ran?;
        removed?;
        let counts: Vec<usize> = logs.iter().map(Vec::len).collect();
        let ours = rehearsed_requests(both.ours.as_ref(), &counts)
            .map_err(|why| Failure::new(FailureKind::Trial, why.to_string()))?;
        let requests = both.jobs.into_iter().zip(ours).zip(logs);
        Ok(requests.map(|((job, ours), theirs)| ComparedRequests { job, ours, theirs }).collect())
    }

    /// Runs one trial to its end. Its trees are appended to `kept`; without such a list they are
    /// removed.
    fn run_trial(
        &self,
        job: &dyn Job,
        store: &dyn ResultStore,
        kept: Option<&mut Vec<RunTree>>,
    ) -> Result<Trial, Failure> {
        let place = take_named(self.dir, &[])?;
        // fio writes one small buffer again and again, which stays in the caches of the CPU.
        let payload = PayloadKind::Zeros;
        let request = TrialRequest {
            label: self.label.to_owned(),
            keep: kept.is_some(),
            ..TrialRequest::new(&Fio, job, EngineOptions::new(LatencyMode::All, payload, 1))
        };
        let progress = Arc::new(RunProgress::new());
        let around = (store, self.host);
        let done = run_trial(request, place, Vec::new(), &progress, &mut |_| (), around)?;
        if let Some(kept) = kept {
            kept.clone_from(&done.conclusion.kept);
        }
        if let Some(unkept) = done.unkept {
            return Err(unkept);
        }
        match (done.conclusion.ending, done.trial) {
            (Ending::Completed, Some(trial)) => Ok(trial),
            (Ending::Failed { why } | Ending::Invalid { why }, _) => {
                Err(Failure::new(FailureKind::Trial, format!("the trial failed: {why}")))
            }
            _ => Err(Failure::new(FailureKind::Interrupted, "interrupted: nothing was compared")),
        }
    }

    /// Reads the requests that fio logged for a job; empty without a log.
    fn log(&self, path: &str) -> Vec<Moved> {
        let mut text = Vec::new();
        let file = File::open(self.dir.join(path));
        let read = file.and_then(|file| file.take(LOG_BYTES_MAX).read_to_end(&mut text));
        read.map_or_else(|_| Vec::new(), |_| moved(&String::from_utf8_lossy(&text), REQUESTS_MAX))
    }

    /// Removes the trees of a run that kept them.
    fn remove(&self, kept: &[RunTree]) -> Result<(), Failure> {
        let place = take_named(self.dir, &[])?;
        kept.iter().try_for_each(|tree| Ok(place.remove_made(tree)?))
    }
}
