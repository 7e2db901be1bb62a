//! `treering kernel bisect-step`: compares the kernel of one revision with a good one, and answers
//! with an exit code for `git bisect run`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use treering_conduct::{
    BisectOptions, BisectStep, PlanEnd, PlanOptions, bisect_step, carry_out, watch_signals,
};
use treering_sys::has_panicked;

use super::kernels::kernel_sources;
use super::{page, read_rehearsed, usual_options};
use crate::arguments::{BisectStepArgs, CompareArgs, PageArgs, percentage};
use crate::classic_output::say;
use crate::commands::lab;
use crate::exit_codes::{BISECTION_ENDS, SKIPPED, UNCLEAR};
use crate::failure::{Failure, Kind, show};
use crate::storage::plan_store;
use crate::terminal::Terminal;

/// Answer of a bisection step.
enum Answer {
    /// Exit code of the gate.
    Compared(ExitCode),
    /// The revision cannot be judged.
    Skipped(String),
}

/// Judges one revision. Every other failure ends the bisection, since git takes most exit codes for
/// 'bad'.
pub(crate) fn run(args: &BisectStepArgs) -> ExitCode {
    let step = catch_unwind(AssertUnwindSafe(|| step(args)));
    // A panic of a worker says nothing about the revision.
    if has_panicked() {
        return ExitCode::from(BISECTION_ENDS);
    }
    match step {
        Ok(Ok(Answer::Compared(code))) => code_for_git(code),
        Ok(Ok(Answer::Skipped(why))) => {
            say(&format!("skipped ({SKIPPED}): {why}"));
            ExitCode::from(SKIPPED)
        }
        Ok(Err(failure)) => {
            let code = show(&failure);
            if code == ExitCode::from(Kind::Interrupted.code()) {
                return code;
            }
            say(&format!("the bisection ends here ({BISECTION_ENDS}); no revision is blamed"));
            ExitCode::from(BISECTION_ENDS)
        }
        Err(_panicked) => ExitCode::from(BISECTION_ENDS),
    }
}

/// Exit code for git that corresponds to the exit code of the gate, which has already printed its
/// reasons.
fn code_for_git(code: ExitCode) -> ExitCode {
    if code == ExitCode::SUCCESS {
        say("good (0)");
    } else if code == ExitCode::from(1) {
        say("bad (1)");
    } else if code == ExitCode::from(UNCLEAR) {
        say(&format!("skipped ({SKIPPED})"));
        return ExitCode::from(SKIPPED);
    }
    code
}

fn step(args: &BisectStepArgs) -> Result<Answer, Failure> {
    let lab = lab::open();
    let signals = watch_signals()?;
    let threshold = args.threshold.as_deref().map(|text| percentage("--threshold", text));
    let options = BisectOptions {
        plan_file: args.plan.clone(),
        good: args.good.clone(),
        kernel: args.kernel.clone(),
        sources: kernel_sources(args.build.as_deref(), signals.flag())?,
        rounds: args.rounds.map(u32::from),
        counts_instructions: args.no_icount.then_some(false),
        threshold: threshold.transpose()?,
    };
    // The variants boot other kernels, so their filesystems are made here but not mounted.
    let read = read_rehearsed(&args.plan, false, (true, &lab))?;
    let plan = match bisect_step(read, options, &Terminal)? {
        BisectStep::Plan(plan) => plan,
        BisectStep::Skipped(why) => return Ok(Answer::Skipped(why)),
    };
    let plan_options = PlanOptions {
        erase: args.erase.clone(),
        quiet: args.quiet,
        gives_up: true,
        ..usual_options(Some(&args.plan))
    };
    let store = plan_store(&args.store);
    let code = match carry_out(&plan, &plan_options, (&store, &Terminal), &lab)? {
        PlanEnd::Done { campaign } => {
            let shown = PageArgs {
                gate: true,
                accept: args.accept.clone(),
                store: args.store.clone(),
                ..PageArgs::default()
            };
            let plan_file = Some(args.plan.clone());
            page(
                &plan,
                &CompareArgs { plan: plan_file, page: shown, ..CompareArgs::default() },
                campaign,
            )?
        }
        PlanEnd::Rebooting => ExitCode::SUCCESS,
        PlanEnd::Interrupted => ExitCode::from(Kind::Interrupted.code()),
        PlanEnd::GivenUp { variant, why } => {
            return BisectStep::reason_to_skip(variant, &why).map(Answer::Skipped);
        }
    };
    Ok(Answer::Compared(code))
}
