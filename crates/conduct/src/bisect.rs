//! A step of `git bisect run`: a plan that compares the kernel of one revision with a good one.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use treering_model::{DeviceSpec, Variant};
use treering_sys::{SIGINT, SIGTERM};

use crate::compare::check_kernel;
use crate::failure::{Failure, FailureKind};
use crate::host::Host;
use crate::plan::{Machine, Plan, Stopping, family, with_kernel};

/// Name of the variant with the good kernel, the baseline of every revision.
const GOOD_VARIANT: &str = "good";
/// Name of the tested variant if the revision is unknown.
const TESTED_VARIANT: &str = "tested";

/// Options of a step.
pub struct BisectOptions {
    /// File of the plan, for messages.
    pub plan_file: PathBuf,
    /// Kernel that is known to be good.
    pub good: PathBuf,
    /// Kernel of the revision.
    pub kernel: PathBuf,
    /// Build of the kernel; `None` if it is built already.
    pub build: Option<KernelBuild>,
    /// Number of rounds; `None` for sequential tests.
    pub rounds: Option<u32>,
    /// Minimum relevant difference, as a fraction; `None` for that of the plan.
    pub threshold: Option<f64>,
}

/// Build of the kernel of a revision.
pub struct KernelBuild {
    /// Command for `sh -c`.
    pub command: String,
    /// File that receives its output.
    pub output: OwnedFd,
}

/// A step of a bisection.
pub enum BisectStep {
    /// Plan that compares the two kernels, the good one first.
    Plan(Box<Plan>),
    /// Reason why the revision cannot be judged.
    Skipped(String),
}

impl BisectStep {
    /// Reason why a revision cannot be judged after a trial of this variant of the plan failed.
    ///
    /// # Errors
    /// When the variant is the one with the good kernel.
    pub fn reason_to_skip(variant: usize, why: &str) -> Result<String, Failure> {
        if variant == 0 {
            let message = format!("a trial of the good kernel failed: {why}");
            return Err(Failure::new(FailureKind::Trial, message));
        }
        Ok(format!("a trial of this kernel failed: {why}"))
    }
}

/// Builds the kernel of the revision, and makes the plan of a step from a plan of one variant.
///
/// # Errors
/// When the plan is not for guests, or the good kernel cannot be booted.
pub fn bisect_step(
    mut plan: Plan,
    options: BisectOptions,
    host: &dyn Host,
) -> Result<BisectStep, Failure> {
    let variant = only_variant(&plan, &options)?;
    let revision = revision();
    // Checked before the build, which can take an hour.
    let good = with_kernel(&variant, GOOD_VARIANT, &options.good)?;
    check_kernel(&good)?;
    let build = options.build.map(|build| run_build(build, host));
    if let Some(why) = build.transpose()?.flatten() {
        return Ok(BisectStep::Skipped(why));
    }
    let tested = match with_kernel(&variant, &revision, &options.kernel) {
        Ok(tested) => tested,
        Err(failure) => return Ok(BisectStep::Skipped(failure.message().to_owned())),
    };
    if let Err(failure) = check_kernel(&tested) {
        return Ok(BisectStep::Skipped(failure.message().to_owned()));
    }
    plan.variants = vec![good, tested];
    plan.conditions.machine = Machine::Guest;
    plan.judging.threshold = options.threshold.or(plan.judging.threshold);
    plan.stopping = match options.rounds {
        Some(rounds) => Stopping::Fixed { rounds },
        None => Stopping::sequential_for(family(&plan.variants, &plan.jobs, &plan.judging)),
    };
    Ok(BisectStep::Plan(Box::new(plan)))
}

/// The only variant of the plan, which works on a device.
fn only_variant(plan: &Plan, options: &BisectOptions) -> Result<Variant, Failure> {
    let [variant] = plan.variants.as_slice() else {
        let (file, variants) = (options.plan_file.display(), plan.variants.len());
        let hint =
            "leave one: bisect-step compares the kernels of two revisions, on one filesystem";
        return Err(Failure::usage(format!("{file} has {variants} variants")).hint(hint));
    };
    if let DeviceSpec::Directory { path } = &variant.device {
        let message = format!("{} is a directory of this machine", path.display());
        let hint = "a guest works on a device: device = { loop = \"4GiB\" }";
        return Err(Failure::usage(message).hint(hint));
    }
    let guest = variant.guest.clone().or_else(|| plan.guest.clone());
    Ok(Variant { guest, ..variant.clone() })
}

/// Runs the command that builds this revision; returns the reason if the build failed.
fn run_build(build: KernelBuild, host: &dyn Host) -> Result<Option<String>, Failure> {
    let KernelBuild { command, output } = build;
    host.say(&format!("building: {command}"));
    let cannot =
        |error: std::io::Error| Failure::environment(format!("cannot run sh for --build: {error}"));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &*command]).stdin(Stdio::null()).stdout(output);
    let status = shell.status().map_err(cannot)?;
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(None),
        // The user's Ctrl-C reaches the build first.
        (_, Some(signal @ (SIGINT | SIGTERM))) => {
            let message = format!("the build was ended by signal {signal}");
            Err(Failure::new(FailureKind::Interrupted, message))
        }
        _ => Ok(Some(format!("this revision does not build ({status})"))),
    }
}

/// Abbreviated hash of the revision checked out in the current directory.
fn revision() -> String {
    let answer = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let answer = answer.ok().filter(|answer| answer.status.success());
    let name = answer.and_then(|answer| String::from_utf8(answer.stdout).ok());
    let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| TESTED_VARIANT.to_owned())
}
