//! What a plan would do: every cell in its order, and about how long and how large it will be.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use treering_campaign::plan::{Machine, Plan};
use treering_campaign::{observing_rounds, rounds};
use treering_model::DeviceSpec;
use treering_model::filesystems::is_in_memory;

use super::forecast::Forecast;
use super::launches::Launches;
use super::reboots;
use crate::arguments::CompareArgs;
use crate::failure::Failure;

/// Prints it.
pub(in crate::commands) fn show(plan: &Plan, args: &CompareArgs) -> Result<ExitCode, Failure> {
    let cells = [rounds(plan), observing_rounds(plan)].concat();
    let reboots = match plan.conditions.machine {
        Machine::Guest => Vec::new(),
        Machine::Reboot => reboots::dry_lines(plan, args)?,
    };
    let launches = Launches::find(plan)?.map(|launches| launches.lines()).unwrap_or_default();
    let forecast = Forecast::new(plan, args.page.store.store.as_deref(), |_| false)?;
    super::super::output::with_writer(args.page.output.as_deref(), |out| {
        for cell in cells.iter().flatten() {
            writeln!(out, "{}", cell.words(plan))?;
        }
        for (job, estimate) in plan.jobs.iter().zip(&forecast.jobs) {
            let footprint = &estimate.footprint;
            writeln!(
                out,
                "{}: each trial writes {} files, {} MiB, at most {} MiB at a time; {}",
                job.name,
                footprint.written_files,
                footprint.written_bytes >> 20,
                footprint.peak_block_bytes >> 20,
                estimate.words()
            )?;
        }
        for line in forecast.lines() {
            writeln!(out, "{line}")?;
        }
        for line in launches.iter().chain(&space(plan)).chain(&reboots) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    })?;
    super::warn_of_shortfall(plan, args);
    Ok(ExitCode::SUCCESS)
}

/// The room that images take.
fn space(plan: &Plan) -> Vec<String> {
    let mut devices: BTreeSet<String> = BTreeSet::new();
    for variant in &plan.variants {
        let said = match &variant.device {
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
        devices.insert(format!("room: {said}"));
    }
    devices.into_iter().collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
