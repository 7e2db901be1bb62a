//! A step of `git bisect run`: a plan that compares the kernel of one revision with a good one.

use std::path::{Path, PathBuf};
use std::process::Command;

use treering_model::{DeviceSpec, Variant};

use super::KernelSources;
use crate::compare::check_kernel;
use crate::failure::{Failure, FailureKind};
use crate::host::Host;
use crate::plan::{Machine, Plan, Stopping, emulate, family, with_kernel};

/// Name of the variant with the good kernel, the baseline of every revision.
const GOOD_VARIANT: &str = "good";
/// Name of the tested variant if the revision is unknown.
const TESTED_VARIANT: &str = "tested";

/// Options of a step.
pub struct BisectOptions {
    /// File of the plan, for messages.
    pub plan_file: PathBuf,
    /// Kernel that is known to be good: a file, or a commit as `git:REVISION`.
    pub good: PathBuf,
    /// Kernel of the revision, relative to the directory of the sources; `None` for the one that is
    /// found there.
    pub kernel: Option<PathBuf>,
    /// Sources of the kernels, with the build of the revision.
    pub sources: KernelSources,
    /// Number of rounds; `None` for sequential tests.
    pub rounds: Option<u32>,
    /// True if the guests count instructions, false if they are emulated and do not; `None` for
    /// what the plan and this machine decide.
    pub counts_instructions: Option<bool>,
    /// Minimum relevant difference, as a fraction; `None` for that of the plan.
    pub threshold: Option<f64>,
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
    let BisectOptions { sources, kernel, .. } = &options;
    // Checked before the build, which can take an hour.
    let chosen = sources.choose(std::slice::from_ref(&options.good), true, host)?;
    let file = chosen.kernels.first().map_or(&options.good, |chosen| &chosen.file);
    let good = with_kernel(&variant, GOOD_VARIANT, file)?;
    check_kernel(&good)?;
    let built = match &sources.build {
        Some(build) => sources.build_here(build, kernel.as_deref(), host)?,
        None => Ok(sources.directory.join(kernel.as_deref().unwrap_or(Path::new(".")))),
    };
    let built = match built {
        Ok(built) => built,
        Err(why) => return Ok(BisectStep::Skipped(why)),
    };
    let tested = match with_kernel(&variant, &revision, &built) {
        Ok(tested) => tested,
        Err(failure) => return Ok(BisectStep::Skipped(failure.message().to_owned())),
    };
    if let Err(failure) = check_kernel(&tested) {
        return Ok(BisectStep::Skipped(failure.message().to_owned()));
    }
    plan.variants = vec![good, tested];
    plan.conditions.machine = Machine::Guest;
    options.counts_instructions.map_or(Ok(()), |counts| emulate(&mut plan, counts))?;
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

/// Abbreviated hash of the revision checked out in the current directory.
fn revision() -> String {
    let answer = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let answer = answer.ok().filter(|answer| answer.status.success());
    let name = answer.and_then(|answer| String::from_utf8(answer.stdout).ok());
    let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| TESTED_VARIANT.to_owned())
}
