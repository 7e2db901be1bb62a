//! `treering run fio --check`: runs the same job with the installed fio and natively, alternately
//! in the same directory, and reports the differences.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, FromArgMatches};
use treering_conduct::trial::{TrialRequest, run_trial, take_named};
use treering_engine::{EngineOptions, LatencyMode, PayloadKind, RunProgress};
use treering_fio::Fio;
use treering_fio::check::{
    Logged, Moved, both_ways, job_work, moved, rehearsed_requests, sequences,
};
use treering_lab::RunTree;
use treering_model::{Ending, Trial};
use treering_report::pages::tools::fio_check::{
    CheckTurn, CheckedTrial, FioComparison, SequenceComparison,
};
use treering_script::{Job, Settings};

use super::output;
use super::trial::outline;
use crate::arguments::{AnyRunArgs, CheckArgs, NativeRunArgs, OutputArgs, settings};
use crate::classic_output::say;
use crate::failure::{Failure, Kind};
use crate::storage::run_store;
use crate::terminal::Terminal;

/// Maximum number of requests of a job that are compared.
const REQUESTS_MAX: usize = 200_000;
/// Maximum number of bytes read of a log.
const LOG_BYTES_MAX: u64 = 32 << 20;
/// Exit code if the results differ.
const DIFFER: u8 = 1;

/// Runs the check.
pub(crate) fn run(matches: &ArgMatches, check: &CheckArgs) -> Result<ExitCode, Failure> {
    let usage = |error: clap::Error| Failure::usage(error.to_string());
    let any = AnyRunArgs::from_arg_matches(matches).map_err(usage)?;
    let own = NativeRunArgs::from_arg_matches(matches).map_err(usage)?;
    let settings = settings(treering_script::Workload::manifest(&Fio).native, matches);
    let both = both_ways(&settings)?;
    if any.dry_run {
        let facts = treering_script::TargetFacts::unknown();
        outline(both.theirs.as_ref(), &facts, false)?;
        return Ok(ExitCode::SUCCESS);
    }
    let dir = own.dir.clone().ok_or_else(|| Failure::usage("--dir is missing"))?;
    let runner = Runner { any: &any, dir: &dir, quiet: own.quiet };
    let sequences = runner.sequences(&settings)?;
    let mut turns = Vec::new();
    for turn in 1..=check.turns {
        let one = |job: &dyn Job, how: &str| -> Result<CheckedTrial, Failure> {
            runner.tell(&format!("turn {turn} of {}: {how}", check.turns));
            let trial = runner.trial(job, any.no_store, None)?;
            Ok(CheckedTrial { work: job_work(&trial), trial })
        };
        // The program that runs first finds the directory in another state, so the order
        // alternates.
        let turn = if turn % 2 == 1 {
            let theirs = one(both.theirs.as_ref(), "fio")?;
            CheckTurn { ours: one(both.ours.as_ref(), "treering")?, theirs }
        } else {
            let ours = one(both.ours.as_ref(), "treering")?;
            CheckTurn { theirs: one(both.theirs.as_ref(), "fio")?, ours }
        };
        turns.push(turn);
    }
    let checked = FioComparison::new(&turns, sequences);
    let format = OutputArgs { format: check.format.clone(), ..OutputArgs::default() };
    output::write(&checked.page(), &format)?;
    Ok(if checked.agree() { ExitCode::SUCCESS } else { ExitCode::from(DIFFER) })
}

struct Runner<'a> {
    any: &'a AnyRunArgs,
    dir: &'a Path,
    quiet: bool,
}

impl Runner<'_> {
    fn tell(&self, what: &str) {
        if !self.quiet {
            say(what);
        }
    }

    /// Runs one trial to its end. Its trees are appended to `kept`; without such a list they are
    /// removed.
    fn trial(
        &self,
        job: &dyn Job,
        no_store: bool,
        kept: Option<&mut Vec<RunTree>>,
    ) -> Result<Trial, Failure> {
        let place = take_named(self.dir, &[])?;
        let any = AnyRunArgs {
            no_store,
            store: self.any.store.clone().filter(|_| !no_store),
            ..self.any.clone()
        };
        // fio writes one small buffer again and again, which stays in the caches of the CPU.
        let payload = PayloadKind::Zeros;
        let request = TrialRequest {
            label: any.label.clone(),
            keep: kept.is_some(),
            ..TrialRequest::new(&Fio, job, EngineOptions::new(LatencyMode::All, payload, 1))
        };
        let progress = Arc::new(RunProgress::new());
        let around = (&run_store(&any) as _, &Terminal as _);
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
                Err(Failure::new(Kind::Trial, format!("the trial failed: {why}")))
            }
            _ => Err(Failure::new(Kind::Interrupted, "interrupted: nothing was compared")),
        }
    }

    /// Compares the requests of each job's first clone.
    fn sequences(&self, settings: &Settings) -> Result<Vec<SequenceComparison>, Failure> {
        let both = sequences(settings)?;
        self.tell("the requests of each job: fio");
        let mut kept = Vec::new();
        let ran = self.trial(both.theirs.as_ref(), true, Some(&mut kept));
        let logs: Vec<Vec<Moved>> = both.jobs.iter().map(|job| self.log(&job.log)).collect();
        let removed = self.remove(&kept);
        ran?;
        removed?;
        let counts: Vec<usize> = logs.iter().map(Vec::len).collect();
        let ours = rehearsed_requests(both.ours.as_ref(), &counts)
            .map_err(|why| Failure::new(Kind::Trial, why.to_string()))?;
        let job_requests = both.jobs.into_iter().zip(ours).zip(logs);
        let compare = |((job, ours), theirs): ((Logged, Vec<Moved>), Vec<Moved>)| {
            SequenceComparison::new(job.name, job.differs, &ours, &theirs)
        };
        Ok(job_requests.map(compare).collect())
    }

    /// Reads the requests that fio logged for a job; empty without a log.
    fn log(&self, path: &str) -> Vec<Moved> {
        use std::io::Read as _;
        let mut text = Vec::new();
        let file = std::fs::File::open(self.dir.join(path));
        let read = file.and_then(|file| file.take(LOG_BYTES_MAX).read_to_end(&mut text));
        read.map_or_else(|_| Vec::new(), |_| moved(&String::from_utf8_lossy(&text), REQUESTS_MAX))
    }

    /// Removes the trees of a run that kept them.
    fn remove(&self, kept: &[RunTree]) -> Result<(), Failure> {
        let place = take_named(self.dir, &[])?;
        kept.iter().try_for_each(|tree| Ok(place.remove_made(tree)?))
    }
}
