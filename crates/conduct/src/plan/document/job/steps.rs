//! Steps: jobs that work on one filesystem, one after the other.

use treering_model::{DeviceSpec, Variant};

use super::super::format::{JobTable, PlanTable};
use super::super::tree::Placed;
use crate::plan::error::{Fault, quoted};
use crate::plan::{Conditions, Machine, PlanStep, PlannedJob};

/// Step of a section; `None` for a job, for which the key `measure` is refused.
pub(super) fn step(
    section: &Placed<JobTable>,
    is_step: bool,
    job: &PlannedJob,
) -> Result<Option<PlanStep>, Fault> {
    let measure = section.measure.as_ref();
    if !is_step {
        return match measure {
            None => Ok(None),
            Some(measure) => {
                Err(measure.fault("a job is always measured", "").hint("write it as a [[step]]"))
            }
        };
    }
    if job.launch.is_some() {
        let message = format!("{} is a step, which does not run on ranks", quoted(&job.name));
        return Err(Fault::at(section.span.clone(), message, "").hint("leave `ranks` out"));
    }
    // A step that is a command has its own prepare and cleanup commands.
    let command = section.prepare.as_ref().or(section.cleanup.as_ref());
    if let Some(command) = command.filter(|_| !job.around.is_empty()) {
        let message = format!("{} is a step, which has no `{}`", quoted(&job.name), command.key);
        let hint =
            "make it a step with a `command` and `measure = false`, or give it to the variant";
        return Err(command.key_fault(message, "").hint(hint));
    }
    Ok(Some(PlanStep { is_measured: measure.is_none_or(|measure| measure.value) }))
}

/// Checks that a plan with steps makes a filesystem on this machine for each trial, and measures at
/// least one step.
pub(in crate::plan::document) fn suits(
    top: &PlanTable,
    (variants, conditions, jobs): (&[Variant], &Conditions, &[PlannedJob]),
) -> Result<(), Fault> {
    let Some(sections) = &top.step else { return Ok(()) };
    let is_elsewhere = |variant: &&Variant| {
        variant.guest.is_some() || matches!(variant.device, DeviceSpec::Directory { .. })
    };
    if let Some(variant) = variants.iter().find(is_elsewhere) {
        let message =
            format!("steps need a filesystem that is made here, unlike {}", quoted(&variant.name));
        return Err(sections.fault(message, "").hint("give the variant a device and no guest"));
    }
    if conditions.machine == Machine::Reboot {
        let message = "the machine is not rebooted between steps";
        return Err(sections.fault(message, "").hint("leave `machine` out"));
    }
    let mut steps = jobs.iter().filter(|job| job.step.is_some());
    if !sections.0.is_empty() && !steps.any(PlannedJob::is_measured) {
        let message = "no step is measured";
        return Err(sections.fault(message, "").hint("leave `measure = false` out of one"));
    }
    Ok(())
}
