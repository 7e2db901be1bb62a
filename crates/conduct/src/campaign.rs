//! Conducts a plan: every cell in order, each on a freshly prepared target.
//!
//! The runner records each trial and shows it to the user. All devices and filesystems are released
//! before an error is returned.

use std::ops::ControlFlow;

use treering_lab::{EraseList, FilesystemTemplate, Lab, LabError};
use treering_model::{DeviceSpec, Variant};
use treering_sys::StopFlag;

use crate::aging::{AgedImages, AgingError, AgingOfRound, AgingRunner};
use crate::cells::{PlannedCell, is_next_step, observing_rounds, rounds};
use crate::plan::Plan;
use crate::ranks::dir_of_rank;
use crate::stage::{Devices, Stage};

/// Decision about the next cell of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The cell runs now.
    Run,
    /// The cell has failed without having run, and is skipped.
    Skip,
    /// No more cells run for now.
    Pause,
}

/// Runs the trials of a campaign and follows its progress.
pub(crate) trait Runner {
    /// Error that ends a campaign.
    type Error: From<LabError>;

    /// True if the cell already has a result, from before a crash.
    fn has(&self, cell: &PlannedCell) -> bool;

    /// Decides about the next cell without a result. A cell that needs another machine or a reboot
    /// of this one pauses the campaign.
    ///
    /// # Errors
    /// When the decision cannot be recorded.
    fn admit(&mut self, cell: &PlannedCell) -> Result<Admission, Self::Error>;

    /// Called before the target of a cell is prepared.
    fn begins(&mut self, cell: &PlannedCell);

    /// Runs the trial of a cell. A failing trial is not an error.
    ///
    /// # Errors
    /// When no further trial can be measured or recorded.
    fn run(&mut self, cell: &PlannedCell, stage: &Stage) -> Result<(), Self::Error>;

    /// True if the trial that ran last was completed.
    fn was_completed(&self) -> bool;

    /// Called for a cell that does not run because an earlier step was not completed.
    ///
    /// # Errors
    /// When the failure cannot be recorded.
    fn step_was_skipped(&mut self, cell: &PlannedCell) -> Result<(), Self::Error>;

    /// Called if the target of a cell cannot be prepared, although an earlier target of its variant
    /// could.
    ///
    /// # Errors
    /// When the failure cannot be recorded, or ends the plan.
    fn failed(&mut self, cell: &PlannedCell, why: &LabError) -> Result<(), Self::Error>;

    /// Called after the warm-up.
    ///
    /// # Errors
    /// When no variant can run the jobs.
    fn warmed_up(&mut self) -> Result<(), Self::Error>;

    /// Called after a complete round; returns true if another round is needed.
    ///
    /// # Errors
    /// When the interim results cannot be read.
    fn round_ended(&mut self, round: u32) -> Result<bool, Self::Error>;
}

/// Conducts the measured rounds of a plan, then its observing rounds. The measured rounds end with
/// the last one, or when the runner needs no more. The stop flag ends both. A target that cannot be
/// prepared the first time ends the plan, since the plan itself is then wrong. `templates` has the
/// filesystems of guests from an earlier run of the plan, by variant.
///
/// # Errors
/// When a device cannot be acquired, or the runner returns an error.
pub(crate) fn conduct_plan<C: Runner + AgingRunner<Failure = <C as Runner>::Error>>(
    plan: &Plan,
    (lab, erasing): (&Lab, &EraseList),
    templates: Vec<(usize, FilesystemTemplate)>,
    runner: &mut C,
    stop: &StopFlag,
) -> Result<(), C::Error> {
    let variants: Vec<Variant> = plan.variants.iter().map(for_first_rank).collect();
    let mut devices = Devices::acquire(&variants, erasing, lab)?;
    for (variant, template) in templates {
        devices.adopt(&variants[variant], template);
    }
    let ran = all_rounds((plan, &variants), &mut devices, runner, stop);
    let released = devices.release();
    ran?;
    Ok(released?)
}

/// Variant with the directory of rank 0; other ranks use the same subdirectories of their own
/// directories.
fn for_first_rank(variant: &Variant) -> Variant {
    let mut variant = variant.clone();
    if let DeviceSpec::Directory { path } = &mut variant.device {
        *path = dir_of_rank(path, 0);
    }
    variant
}

fn all_rounds<C: Runner + AgingRunner<Failure = <C as Runner>::Error>>(
    (plan, variants): (&Plan, &[Variant]),
    devices: &mut Devices<'_>,
    runner: &mut C,
    stop: &StopFlag,
) -> Result<(), C::Error> {
    let mut was_made = vec![false; plan.variants.len()];
    let mut aged = AgedImages::default();
    let devices = &mut (devices, &mut aged);
    for cells in rounds(plan) {
        let Some(round) = cells.first().map(|cell| cell.round) else { return Ok(()) };
        let flow = one_round((plan, variants), &cells, devices, &mut was_made, runner, stop)?;
        if flow.is_break() {
            return Ok(());
        }
        if round == 0 {
            runner.warmed_up()?;
        } else if !runner.round_ended(round)? {
            break;
        }
    }
    // Observing rounds follow the last measured round, however many rounds were measured.
    for cells in observing_rounds(plan) {
        let flow = one_round((plan, variants), &cells, devices, &mut was_made, runner, stop)?;
        if flow.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

fn one_round<C: Runner + AgingRunner<Failure = <C as Runner>::Error>>(
    (plan, variants): (&Plan, &[Variant]),
    cells: &[PlannedCell],
    (devices, aged): &mut (&mut Devices<'_>, &mut AgedImages),
    was_made: &mut [bool],
    runner: &mut C,
    stop: &StopFlag,
) -> Result<ControlFlow<()>, C::Error> {
    let aging = AgingOfRound::new(cells.iter().filter(|cell| !runner.has(cell)), variants);
    for steps in cells.chunk_by(|cell, next| is_next_step(plan, cell, next)) {
        let first = &steps[0];
        if stop.is_raised() {
            return Ok(ControlFlow::Break(()));
        }
        // The filesystem of earlier steps is gone, so all steps run again if one has no result.
        if steps.iter().all(|cell| runner.has(cell)) && !aging.has(&variants[first.variant]) {
            continue;
        }
        match runner.admit(first)? {
            Admission::Run => {}
            Admission::Skip => continue,
            Admission::Pause => return Ok(ControlFlow::Break(())),
        }
        runner.begins(first);
        let around = &plan.job_of(first.variant, first.job).around;
        let is_below = plan.jobs[first.job].is_below_overlay();
        let target = (&variants[first.variant], around, is_below);
        let image = aged.of(*first, (plan, variants), devices, runner, stop);
        let prepared = match image {
            Ok(image) => devices.prepare(target, image, &plan.conditions, stop),
            Err(_) if stop.is_raised() => return Ok(ControlFlow::Break(())),
            Err(AgingError::Lab(error)) => Err(error),
            Err(AgingError::Campaign(error)) => return Err(error),
        };
        match prepared {
            Ok(mut stage) => {
                was_made[first.variant] = true;
                let ran = run_steps(steps, &mut stage, plan, runner, stop);
                let cleared = devices.clear(stage);
                ran?;
                cleared?;
            }
            Err(error) if was_made[first.variant] => {
                steps.iter().try_for_each(|cell| runner.failed(cell, &error))?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(if stop.is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}

/// Runs the cells that share a filesystem. If a step is not completed, the later steps fail, since
/// they depend on it.
fn run_steps<C: Runner>(
    steps: &[PlannedCell],
    stage: &mut Stage,
    plan: &Plan,
    runner: &mut C,
    stop: &StopFlag,
) -> Result<(), C::Error> {
    for (place, cell) in steps.iter().enumerate() {
        if place > 0 {
            if stop.is_raised() {
                return Ok(());
            }
            if !runner.was_completed() {
                return steps[place..].iter().try_for_each(|cell| runner.step_was_skipped(cell));
            }
            runner.begins(cell);
            let is_below = plan.jobs[cell.job].is_below_overlay();
            stage.rest(is_below, &plan.conditions, stop)?;
        }
        runner.run(cell, stage)?;
    }
    Ok(())
}
