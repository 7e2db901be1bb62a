//! The dry run of a plan: lines about every cell in order, with estimates of time and space.

use std::collections::BTreeSet;
use std::path::Path;

use treering_lab::{Lab, LabDevice};
use treering_model::filesystems::is_in_memory;
use treering_model::{DeviceSpec, Variant};
use treering_sys::is_root;

use super::forecast::Forecast;
use super::guests::check_kernels;
use super::launches::Launches;
use super::reboots;
use crate::cells::{observing_rounds, rounds};
use crate::failure::Failure;
use crate::host::{Host, PlanOptions, ResultStore};
use crate::plan::{Machine, Plan};
use crate::trial::in_unit;

/// The lines of a dry run.
///
/// # Errors
/// When a launcher or a boot loader is missing, a kernel is not usable in its guests, or the store
/// cannot be read.
pub fn dry_run(
    plan: &Plan,
    options: &PlanOptions<'_>,
    (store, host): (&dyn ResultStore, &dyn Host),
) -> Result<Vec<String>, Failure> {
    let cells = [rounds(plan), observing_rounds(plan)].concat();
    let reboots = match plan.conditions.machine {
        Machine::Guest => Vec::new(),
        Machine::Reboot => reboots::dry_lines(plan, &options.reboots, host)?,
    };
    let kernels = check_kernels(plan)?;
    let launches = Launches::find(plan, &options.ranks, &options.search_path)?;
    let launches = launches.map(|launches| launches.lines()).unwrap_or_default();
    let forecast = Forecast::new(plan, store, |_| false)?;
    let mut lines: Vec<String> = cells.iter().flatten().map(|cell| cell.words(plan)).collect();
    for (job, estimate) in plan.jobs.iter().zip(&forecast.jobs) {
        let footprint = &estimate.footprint;
        lines.push(format!(
            "{}: each trial writes {} files, {}, at most {} at a time; {}",
            job.name,
            footprint.written_files,
            in_unit(footprint.written_bytes),
            in_unit(footprint.peak_block_bytes),
            estimate.words()
        ));
    }
    lines.extend(changed_options(plan));
    lines.extend_from_slice(forecast.lines());
    lines.extend(kernels);
    lines.extend(launches);
    lines.extend(space(plan));
    lines.extend(reboots);
    Ok(lines)
}

/// Checks as root that this machine has what the variants need that run on it: filesystems, layers
/// and control groups. Those for guests and for kernels to be booted are left out.
///
/// # Errors
/// When it lacks something.
pub fn check_variants(plan: &Plan, lab: &Lab) -> Result<(), Failure> {
    let is_elsewhere = |variant: &&Variant| variant.guest.is_some() || variant.kernel.is_some();
    if is_root() && plan.conditions.machine == Machine::Guest {
        for variant in plan.variants.iter().filter(|variant| !is_elsewhere(variant)) {
            LabDevice::check(variant, lab)?;
        }
    }
    Ok(())
}

/// Lines about the options that variants change in jobs.
fn changed_options(plan: &Plan) -> Vec<String> {
    let changes = plan.variants.iter().flat_map(|variant| {
        let of_job = |name: &String| {
            let words = variant.settings.changes_in_words(name)?;
            Some(format!("{name}, {}: {words} instead of the options of the job", variant.name))
        };
        plan.jobs.iter().filter_map(move |job| of_job(&job.name)).collect::<Vec<_>>()
    });
    changes.collect()
}

/// Lines about the space that images take.
fn space(plan: &Plan) -> Vec<String> {
    let mut devices: BTreeSet<String> = BTreeSet::new();
    let with_devices = |variant| Variant::devices(variant).map(move |device| (variant, device));
    for (variant, device) in plan.variants.iter().flat_map(with_devices) {
        let line = match device {
            DeviceSpec::Loop { .. } if is_in_memory(&variant.filesystem) => {
                "memory, as far as it is filled".to_owned()
            }
            DeviceSpec::Loop { bytes, count, sparse, directory, disk, .. } => {
                let images = if *count == 1 { "image" } else { "images" };
                let kind = if *sparse { "sparse" } else { "with all its blocks" };
                let place = directory.as_deref().map_or_else(
                    || "the lab's own directory".to_owned(),
                    |path| path.display().to_string(),
                );
                let disk =
                    disk.as_ref().map(|disk| format!(", played as {}", shown(Path::new(disk))));
                let disk = disk.unwrap_or_default();
                format!("{count} {images} of {} MiB in {place}, {kind}{disk}", bytes >> 20)
            }
            DeviceSpec::Block { paths } => {
                let names: Vec<String> = paths.iter().map(|path| shown(path)).collect();
                format!("all of {}, which is formatted", names.join(", "))
            }
            DeviceSpec::Directory { path } => format!("what is free in {}", shown(path)),
        };
        devices.insert(format!("room: {line}"));
    }
    devices.into_iter().collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
