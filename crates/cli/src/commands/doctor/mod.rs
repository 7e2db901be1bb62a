//! `treering doctor`: examines the machine, and a directory, a block device or a plan: what can be
//! measured, how noisy it is, what would make measurements questionable, and which commands to try
//! next.

mod guard;
mod plan;

use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::ExitCode;

use treering_conduct::watch_signals;
use treering_lab::{InventoryRequest, MachineFindings, take_inventory};
use treering_model::MachineInventory;
use treering_observe::detectable_difference;
use treering_registry::{import, workloads};
use treering_report::pages::doctor::json::{Diagnosis, StoreFindings};
use treering_report::pages::doctor::next::{self, IN_MEMORY, Subject};
use treering_report::pages::doctor::page;
use treering_report::pages::doctor::severity::worst_first;
use treering_sys::monotonic_ns;

use super::typed::origin_of_findings;
use super::{compare, lab, output};
use crate::arguments::{DoctorArgs, StoreArgs};
use crate::clock::trial_unix_ms;
use crate::failure::{Failure, Kind};
use crate::storage::place_of;

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
    diagnose(args, &path, &kind)
}

/// Examines the target, and shows what was found.
fn diagnose(args: &DoctorArgs, path: &Path, kind: &Metadata) -> Result<ExitCode, Failure> {
    let signals = watch_signals()?;
    let (started_unix_ms, began_ns) = (trial_unix_ms(), monotonic_ns());
    let dir = kind.is_dir().then_some(path);
    let (mut findings, probed) = MachineFindings::examine(dir, signals.flag());
    if signals.flag().is_raised() {
        return Err(Failure::new(Kind::Interrupted, "interrupted: nothing was left behind"));
    }
    let (mut size, mut warnings) = (Vec::new(), Vec::new());
    let subject = if kind.is_dir() {
        findings.examine_directory(&probed);
        Subject::Directory(path)
    } else if kind.file_type().is_block_device() {
        Subject::Device { node: path, is_free: findings.examine_device(path)? }
    } else {
        let plan = compare::read_plan(path, false, None)?;
        (size, warnings) = plan::look_at_plan(&plan, &args.store, &mut findings)?;
        Subject::Plan(path)
    };
    let store = stored(&args.store)
        .map_err(|failure| findings.obstacles.push(failure.message().to_owned()))
        .ok();
    warnings.extend(worst_first(std::mem::take(&mut findings.cautions)));
    let inventory = inventory(dir);
    let resolution = detectable_difference(&probed.noise);
    let mut next = next::commands(subject, &inventory, is_in_memory);
    if let Some(store) = &args.store.store {
        next.iter_mut().for_each(|next| next.name_store(&store.to_string_lossy()));
    }
    let diagnosis = Diagnosis {
        path: &path.to_string_lossy(),
        obstacles: &findings.obstacles,
        cautions: &warnings,
        next: &next,
        inventory: &inventory,
        store: store.as_ref(),
        disk: findings.disk.as_ref(),
        resolution: resolution.as_ref(),
        noise: &probed.noise,
        environment: &findings.facts,
    };
    let mut shown = page(&diagnosis, &size);
    let wall_ns = monotonic_ns().saturating_sub(began_ns);
    shown.origin(origin_of_findings(&findings.facts, started_unix_ms, wall_ns));
    output::write_or_data(&shown, &diagnosis, &args.output)?;
    Ok(ExitCode::SUCCESS)
}

/// Store that commands with the same option use, with its newest trial.
fn stored(args: &StoreArgs) -> Result<StoreFindings, Failure> {
    let place = place_of(args);
    let path = place.path()?.display().to_string();
    Ok(StoreFindings { path, newest_unix_ms: place.newest_unix_ms()? })
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
