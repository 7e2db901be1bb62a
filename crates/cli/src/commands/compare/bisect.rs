//! `treering bisect-step`: compares the kernel of one revision with a good one, and answers with an
//! exit code for `git bisect run`.

use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use treering_conduct::check_kernel;
use treering_conduct::plan::{Machine, Plan, Stopping, family};
use treering_model::{DeviceSpec, GuestSpec, Variant};
use treering_sys::{SIGINT, SIGTERM, has_panicked};

use super::{Conducted, conduct, read_plan};
use crate::arguments::{BisectStepArgs, CompareArgs, PageArgs, percentage};
use crate::classic_output::say;
use crate::commands::lab;
use crate::exit_codes::{BISECTION_ENDS, SKIPPED, UNCLEAR};
use crate::failure::{Failure, Kind};

/// Name of the variant with the good kernel, the baseline of every revision.
const GOOD: &str = "good";
/// Name of the tested variant if the revision is unknown.
const TESTED: &str = "tested";

/// Answer of a bisection step.
enum Answer {
    /// The exit code of the gate.
    Compared(ExitCode),
    /// The revision cannot be judged.
    Skipped(String),
}

/// Judges one revision. Every other failure ends the bisection: git takes most codes for 'bad'.
pub(crate) fn run(args: &BisectStepArgs) -> ExitCode {
    let step = catch_unwind(AssertUnwindSafe(|| step(args)));
    // A worker that panicked is no evidence about the revision.
    if has_panicked() {
        return ExitCode::from(BISECTION_ENDS);
    }
    match step {
        Ok(Ok(Answer::Compared(code))) => said(code),
        Ok(Ok(Answer::Skipped(why))) => {
            say(&format!("skipped ({SKIPPED}): {why}"));
            ExitCode::from(SKIPPED)
        }
        Ok(Err(failure)) => {
            let code = failure.show();
            if code == ExitCode::from(Kind::Interrupted.code()) {
                return code;
            }
            say(&format!("the bisection ends here ({BISECTION_ENDS}); no revision is blamed"));
            ExitCode::from(BISECTION_ENDS)
        }
        Err(_panicked) => ExitCode::from(BISECTION_ENDS),
    }
}

/// Exit code for git that corresponds to the exit code of the gate, which has printed its reasons.
fn said(code: ExitCode) -> ExitCode {
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
    let mut plan = read_plan(&args.plan, false)?;
    let [variant] = plan.variants.as_slice() else {
        let message = format!("{} has {} variants", args.plan.display(), plan.variants.len());
        let hint =
            "leave one: bisect-step compares the kernels of two revisions, on one filesystem";
        return Err(Failure::new(Kind::Usage, message).hint(hint));
    };
    if let DeviceSpec::Directory { path } = &variant.device {
        let message = format!("{} is a directory of this machine", path.display());
        let hint = "a guest works on a device: device = { loop = \"4GiB\" }";
        return Err(Failure::new(Kind::Usage, message).hint(hint));
    }
    let guest = variant.guest.clone().or_else(|| plan.guest.clone());
    let variant = Variant { guest, ..variant.clone() };
    let revision = revision();
    // Before an hour of compiling.
    let good = named(&variant, GOOD, &args.good)?;
    check_kernel(&good)?;
    if let Some(why) = args.build.as_deref().map(build).transpose()?.flatten() {
        return Ok(Answer::Skipped(why));
    }
    let tested = match named(&variant, &revision, &args.kernel) {
        Ok(tested) => tested,
        Err(failure) => return Ok(Answer::Skipped(failure.message().to_owned())),
    };
    if let Err(failure) = check_kernel(&tested) {
        return Ok(Answer::Skipped(failure.message));
    }
    plan.variants = vec![good, tested];
    plan.conditions.machine = Machine::Guest;
    judge(&mut plan, args)?;
    let compare = CompareArgs {
        plan: Some(args.plan.clone()),
        erase: args.erase.clone(),
        quiet: args.quiet,
        gives_up: true,
        page: PageArgs {
            gate: true,
            accept: args.accept.clone(),
            store: args.store.clone(),
            ..PageArgs::default()
        },
        ..CompareArgs::default()
    };
    Ok(match conduct(&plan, &compare, &lab)? {
        Conducted::Done(code) => Answer::Compared(code),
        Conducted::GivenUp { variant: 0, why } => {
            let message = format!("a trial of the good kernel failed: {why}");
            return Err(Failure::new(Kind::Trial, message));
        }
        Conducted::GivenUp { why, .. } => {
            Answer::Skipped(format!("a trial of this kernel failed: {why}"))
        }
    })
}

/// Copy of a variant under another kernel.
pub(in crate::commands) fn named(
    variant: &Variant,
    name: &str,
    kernel: &Path,
) -> Result<Variant, Failure> {
    let found: PathBuf = kernel.canonicalize().map_err(|error| {
        Failure::of_path(kernel, &error).context(format!("{name}: no kernel can be read"))
    })?;
    let spec = variant.guest.clone().unwrap_or_else(|| GuestSpec::new(PathBuf::new()));
    let guest = Some(GuestSpec { kernel: found, ..spec });
    Ok(Variant { name: name.to_owned(), kernel: None, guest, ..variant.clone() })
}

/// Sets the threshold and the stopping rule of the plan from the arguments.
fn judge(plan: &mut Plan, args: &BisectStepArgs) -> Result<(), Failure> {
    if let Some(text) = &args.threshold {
        plan.judging.threshold = Some(percentage("--threshold", text)?);
    }
    plan.stopping = match args.rounds {
        Some(rounds) => Stopping::Fixed { rounds: rounds.into() },
        None => Stopping::sequential_for(family(&plan.variants, &plan.jobs, &plan.judging)),
    };
    Ok(())
}

/// Runs the command that builds this revision; returns the reason if the build failed.
fn build(command: &str) -> Result<Option<String>, Failure> {
    say(&format!("building: {command}"));
    let cannot = |error: std::io::Error| {
        Failure::new(Kind::Environment, format!("cannot run sh for --build: {error}"))
    };
    // What it says is for the log; standard output has the page alone.
    let stdout = std::io::stderr();
    let stdout = std::os::fd::AsFd::as_fd(&stdout).try_clone_to_owned().map_err(cannot)?;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(stdout);
    let status = shell.status().map_err(cannot)?;
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(None),
        // The user's Ctrl-C reaches the build first.
        (_, Some(signal @ (SIGINT | SIGTERM))) => {
            let message = format!("the build was ended by signal {signal}");
            Err(Failure::new(Kind::Interrupted, message))
        }
        _ => Ok(Some(format!("this revision does not build ({status})"))),
    }
}

/// Abbreviated hash of the revision checked out in the current directory.
fn revision() -> String {
    let asked = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let said = asked.ok().filter(|said| said.status.success());
    let name = said.and_then(|said| String::from_utf8(said.stdout).ok());
    let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| TESTED.to_owned())
}
