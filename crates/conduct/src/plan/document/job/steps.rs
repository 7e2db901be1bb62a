//! Steps: jobs that work on one filesystem, one after the other.

use treering_model::{DeviceSpec, Layer, Variant};

use super::super::format::{JobTable, JobTables, PlanTable};
use super::super::tree::{Entry, Placed};
use super::super::values::DirectoryName;
use crate::plan::error::{Fault, quoted};
use crate::plan::{Conditions, Machine, PlanStep, PlannedJob, rewriting};

/// Step of a section; `None` for a job, for which the keys of steps are refused.
pub(super) fn step(
    section: &Placed<JobTable>,
    is_step: bool,
    job: &PlannedJob,
) -> Result<Option<PlanStep>, Fault> {
    let measure = section.measure.as_ref();
    if !is_step {
        let hint = "write it as a [[step]]";
        if let Some(measure) = measure {
            return Err(measure.fault("a job is always measured", "").hint(hint));
        }
        if let Some(directory) = &section.directory {
            let message = "a job has a directory of its own on a fresh filesystem";
            return Err(directory.key_fault(message, "").hint(hint));
        }
        if let Some(below) = &section.below_overlay {
            let message = "a job runs when the overlay is mounted";
            return Err(below.key_fault(message, "").hint(hint));
        }
        return Ok(None);
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
    let directory = section.directory.as_ref().map(directory).transpose()?;
    let is_below_overlay = section.below_overlay.as_ref().is_some_and(|below| below.value);
    let is_measured = measure.is_none_or(|measure| measure.value);
    Ok(Some(PlanStep { is_measured, directory, is_below_overlay }))
}

/// Checks that a directory is one beneath that of all steps, or that one itself.
fn directory(name: &Entry<DirectoryName>) -> Result<String, Fault> {
    let text: &str = name;
    if text.is_empty() || text == ".." || text.len() > 255 || text.contains('/') {
        let message = "the directory of a step is a single name";
        return Err(name.fault(message, "").hint(
            "steps with the same `directory` share it; \".\" is the directory of the commands",
        ));
    }
    Ok(text.to_owned())
}

/// Checks that jobs overwrite files only on filesystems that are made for them.
pub(in crate::plan::document) fn rewrite_own_files(
    top: &PlanTable,
    (variants, jobs): (&[Variant], &[PlannedJob]),
) -> Result<(), Fault> {
    let Some((variant, place)) = rewriting(variants, jobs) else { return Ok(()) };
    let sections = top.job.iter().chain(&top.step).flat_map(|sections| &sections.0);
    let span = sections.map(|section| section.span.clone()).nth(place).unwrap_or_default();
    let (job, name) = (quoted(&jobs[place].name), quoted(&variant.name));
    let message = format!("{job} would overwrite files in the directory of {name}");
    let hint = "give the variant a device: only a filesystem that is made here is overwritten";
    Err(Fault::at(span, message, "").hint(hint))
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
    fill_lower_directories(sections, variants)?;
    let mut steps = jobs.iter().filter(|job| job.step.is_some());
    if !sections.0.is_empty() && !steps.any(PlannedJob::is_measured) {
        let message = "no step is measured";
        return Err(sections.fault(message, "").hint("leave `measure = false` out of one"));
    }
    Ok(())
}

/// Checks that steps below an overlay come first, and that a variant has one.
fn fill_lower_directories(sections: &JobTables, variants: &[Variant]) -> Result<(), Fault> {
    let mut steps = sections.0.iter();
    let is_below =
        |step: &&Placed<JobTable>| step.below_overlay.as_ref().is_some_and(|below| below.value);
    let Some(first) = sections.0.iter().find(is_below) else { return Ok(()) };
    let place = |step: &Placed<JobTable>| {
        step.below_overlay.as_ref().map_or(step.span.clone(), |below| below.key_span.clone())
    };
    let has_overlay =
        |variant: &Variant| variant.settings.layers.iter().any(Layer::is_above_filesystem);
    if !variants.iter().any(has_overlay) {
        let message = "no variant has an overlay";
        let hint = "write layers = [\"overlay\"] into a variant, or leave `below-overlay` out";
        return Err(Fault::at(place(first), message, "").hint(hint));
    }
    steps.find(|step| !is_below(step));
    if let Some(late) = steps.find(is_below) {
        let message = "the overlay is mounted before this step, and the files below it stay as \
                       they are";
        let hint = "write the steps with `below-overlay = true` before all others";
        return Err(Fault::at(place(late), message, "").hint(hint));
    }
    Ok(())
}
