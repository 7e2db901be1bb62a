//! `treering run fio --check`: runs the same job with the installed fio and natively, alternately
//! in the same directory, and reports the differences.

use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use treering_conduct::trial::{ComparedRequests, FioCheck, FioTurn};
use treering_fio::Fio;
use treering_fio::check::{job_pair, job_work};
use treering_model::Trial;
use treering_report::pages::tools::fio_check::{
    CheckTurn, CheckedTrial, FioComparison, SequenceComparison,
};
use treering_results::PlanStore;

use super::output;
use super::trial::outline;
use crate::arguments::{AnyRunArgs, CheckArgs, NativeRunArgs, OutputArgs, settings};
use crate::classic_output::say;
use crate::failure::Failure;
use crate::storage::{place_at, run_store};
use crate::terminal::Terminal;

/// Exit code if the results differ.
const DIFFER: u8 = 1;

/// Runs the check.
pub(crate) fn run(matches: &ArgMatches, check: &CheckArgs) -> Result<ExitCode, Failure> {
    let usage = |error: clap::Error| Failure::usage(error.to_string());
    let any = AnyRunArgs::from_arg_matches(matches).map_err(usage)?;
    let own = NativeRunArgs::from_arg_matches(matches).map_err(usage)?;
    let settings = settings(treering_script::Workload::manifest(&Fio).native, matches);
    let both = job_pair(&settings)?;
    if any.dry_run {
        let facts = treering_script::TargetFacts::unknown();
        outline(both.theirs.as_ref(), &facts, false)?;
        return Ok(ExitCode::SUCCESS);
    }
    let tell = |words: &str| {
        if !own.quiet {
            say(words);
        }
    };
    let fio_check = FioCheck {
        dir: own.dir.as_deref().ok_or_else(|| Failure::usage("--dir is missing"))?,
        label: &any.label,
        store: &run_store(&any),
        discarding: &PlanStore::of_run(place_at(None), false),
        host: &Terminal,
    };
    tell("the requests of each job: fio");
    let sequences = fio_check.sequences(&settings)?.into_iter().map(compared).collect();
    let checked = |trial: Trial| CheckedTrial { work: job_work(&trial), trial };
    let mut turns = Vec::new();
    for turn in 1..=check.turns {
        let FioTurn { ours, theirs } = fio_check.turn(&both, turn, &|program| {
            tell(&format!("turn {turn} of {}: {program}", check.turns));
        })?;
        turns.push(CheckTurn { ours: checked(ours), theirs: checked(theirs) });
    }
    let checked = FioComparison::new(&turns, sequences);
    let format = OutputArgs { format: check.format.clone(), ..OutputArgs::default() };
    output::write(&checked.page(), &format)?;
    Ok(if checked.agree() { ExitCode::SUCCESS } else { ExitCode::from(DIFFER) })
}

fn compared(requests: ComparedRequests) -> SequenceComparison {
    let ComparedRequests { job, ours, theirs } = requests;
    SequenceComparison::new(job.name, job.differs, &ours, &theirs)
}
