//! `treering doctor`: examines the machine, and a directory, a block device or a plan: what can be
//! measured, how noisy it is, what would make measurements questionable, and which commands to try
//! next.

mod guard;
mod plan;

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::ExitCode;

use treering_conduct::watch_signals;
use treering_lab::{InventoryRequest, MachineFindings, take_inventory};
use treering_model::MachineInventory;
use treering_observe::detectable_difference;
use treering_registry::{import, workloads};
use treering_report::pages::doctor::json::Diagnosis;
use treering_report::pages::doctor::next::{self, IN_MEMORY, Subject};
use treering_report::pages::doctor::page;
use treering_report::pages::doctor::severity::worst_first;

use super::{compare, lab, output};
use crate::arguments::DoctorArgs;
use crate::failure::{Failure, Kind};

/// Examines the machine and shows the findings.
pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    if let Some(device) = &args.guard {
        return guard::run(device, &args.output);
    }
    let path = match &args.path {
        Some(path) => path.clone(),
        None => std::env::current_dir().map_err(|error| {
            Failure::environment(format!("cannot determine the current directory: {error}"))
        })?,
    };
    let kind = fs::metadata(&path).map_err(|error| {
        Failure::usage(format!("{}: {error}", path.display()))
            .hint("name a directory, a block device or a plan")
    })?;
    let signals = watch_signals()?;
    let dir = kind.is_dir().then_some(path.as_path());
    let (mut findings, probed) = MachineFindings::examine(dir, signals.flag());
    if signals.flag().is_raised() {
        return Err(Failure::new(Kind::Interrupted, "interrupted: nothing was left behind"));
    }
    let (mut size, mut warnings) = (Vec::new(), Vec::new());
    let subject = if kind.is_dir() {
        findings.examine_directory(&probed);
        Subject::Directory(&path)
    } else if kind.file_type().is_block_device() {
        Subject::Device { node: &path, is_free: findings.examine_device(&path)? }
    } else {
        (size, warnings) =
            plan::look_at_plan(&compare::read_plan(&path, false, None)?, &mut findings)?;
        Subject::Plan(&path)
    };
    warnings.extend(worst_first(std::mem::take(&mut findings.cautions)));
    let inventory = inventory(dir);
    let resolution = detectable_difference(&probed.noise);
    let diagnosis = Diagnosis {
        path: &path.to_string_lossy(),
        obstacles: &findings.obstacles,
        cautions: &warnings,
        next: &next::commands(subject, &inventory, is_in_memory),
        inventory: &inventory,
        resolution: resolution.as_ref(),
        noise: &probed.noise,
        environment: &findings.facts,
    };
    output::write_or_data(&page(&diagnosis, &size), &diagnosis, &args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Examines the machine, and the logs in the directory, if there is one.
fn inventory(dir: Option<&Path>) -> MachineInventory {
    let tools: Vec<&str> = workloads().iter().map(|workload| workload.manifest().name).collect();
    let own_program = std::env::current_exe().and_then(|exe| exe.canonicalize()).ok();
    let request = InventoryRequest {
        dir,
        tools: &tools,
        path: &std::env::var_os("PATH").unwrap_or_default(),
        own_program: own_program.as_deref(),
        is_log: &|bytes| !import(bytes).found.is_empty(),
    };
    take_inventory(&lab::open_with_cautions(), &request)
}

/// True if the directory is on tmpfs.
fn is_in_memory(dir: &Path) -> bool {
    let device = |path: &Path| path.metadata().ok().map(|metadata| metadata.dev());
    device(dir) == device(Path::new(IN_MEMORY))
}
