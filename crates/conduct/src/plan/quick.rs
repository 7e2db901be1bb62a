//! Quick plans: a plan from a few options instead of a document.

use std::io;
use std::path::{Path, PathBuf};

use treering_lab::{Availability, Lab, PlayedModel, RefusedPart, RehearsalError, filesystems};
use treering_model::filesystems::EXT4;
use treering_model::nearest::nearest;
use treering_model::{DeviceSpec, Variant};
use treering_script::{Settings, TargetFacts, Workload};
use treering_sys::is_root;
use treering_trace::ModelledDisk;

use super::document::VariantRehearsal;
use super::kernels::{KernelChoice, under_kernels};
use super::write::size;
use super::{
    Conditions, Judging, Machine, Observing, Plan, PlannedJob, Stopping, family, foreseen,
    metric_hint, rewriting,
};
use crate::failure::{Failure, FailureKind};

const GIB: u64 = 1 << 30;
/// Default measuring time in minutes: with the warm-up round and the images an answer takes less
/// than five minutes.
const USUAL_MINUTES: f64 = 3.5;
/// Maximum number of rounds of a plan with a time limit.
pub(super) const TIMED_ROUNDS_MAX: u32 = 20;
/// Default filesystem for comparing kernels.
const USUAL_IN_GUESTS: &str = EXT4.name;

/// End of a quick plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QuickStopping {
    /// A fixed number of rounds.
    Rounds(u32),
    /// Time limit of the rounds in minutes; `None` for the default time.
    Minutes(Option<f64>),
    /// Rounds until every primary interval is narrow enough.
    Precision {
        /// Half width of the intervals, as a fraction.
        half_width: f64,
        /// Maximum number of rounds.
        most_rounds: u32,
    },
    /// Sequential tests after fixed numbers of rounds.
    Sequential,
}

/// Options of a quick plan.
pub struct QuickOptions {
    /// Name of the plan.
    pub name: String,
    /// The workload.
    pub workload: &'static dyn Workload,
    /// Settings of the workload.
    pub settings: Settings,
    /// Filesystems to compare, the baseline first; empty for the usual ones.
    pub filesystems: Vec<String>,
    /// Directories to compare, the baseline first; empty to make filesystems.
    pub directories: Vec<PathBuf>,
    /// Kernels to compare, the baseline first.
    pub kernels: Vec<KernelChoice>,
    /// Machine that runs the kernels of the variants; `None` means guests.
    pub machine: Option<Machine>,
    /// Block devices for the filesystems; empty for loop images.
    pub devices: Vec<PathBuf>,
    /// Bytes of each loop image; `None` if the jobs decide.
    pub image_bytes: Option<u64>,
    /// Directory for the images; `None` means the lab's own.
    pub images: Option<PathBuf>,
    /// Modelled disk that is simulated on top of the images: a name, or a file.
    pub disk: Option<String>,
    /// Mount options of every variant.
    pub mount: Vec<String>,
    /// Primary metrics; empty for the usual ones.
    pub primary: Vec<String>,
    /// Minimum relevant difference, as a fraction.
    pub threshold: Option<f64>,
    /// End of the plan.
    pub stopping: QuickStopping,
    /// Seed of the order and of file contents.
    pub seed: u64,
    /// True if the plan begins with a warm-up round.
    pub warm_up: bool,
    /// True if the baseline runs twice in each round.
    pub control: bool,
    /// The current directory, for a plan without filesystems, directories or devices to compare.
    pub current_dir: io::Result<PathBuf>,
}

/// Builds a plan from options.
///
/// # Errors
/// When an option is wrong, or this machine lacks what it needs.
pub fn quick_plan(options: &QuickOptions, lab: &Lab) -> Result<Plan, Failure> {
    let jobs = vec![planned_job(options)?];
    let variants = variants(options, lab, &jobs)?;
    if rewriting(&variants, &jobs).is_some() {
        let message = "the job would overwrite files that are in the directories";
        let hint = "write a plan with [[step]]s, which make the files on a filesystem of their own";
        return Err(Failure::usage(message).hint(hint));
    }
    let primary = primary(options, &jobs)?;
    let judging = Judging { primary, threshold: options.threshold, ..Judging::default() };
    let stopping = stopping(options.stopping, family(&variants, &jobs, &judging));
    Ok(Plan {
        name: options.name.clone(),
        question: String::new(),
        variants,
        guest: None,
        aging: None,
        build: None,
        jobs,
        stopping,
        conditions: Conditions {
            seed: options.seed,
            warm_up: options.warm_up,
            control: options.control,
            machine: options.machine.unwrap_or_default(),
            ..Conditions::default()
        },
        observing: Observing::default(),
        judging,
    })
}

/// Primary metrics: the requested ones; else the one metric of the whole run, if the workload has
/// one; else the workload's default.
fn primary(options: &QuickOptions, jobs: &[PlannedJob]) -> Result<Vec<String>, Failure> {
    let job_metrics = foreseen(jobs);
    let is_given = |name: &&String| job_metrics.iter().any(|job| job.has(name));
    if let Some(unknown) = options.primary.iter().find(|name| !is_given(name)) {
        let message =
            format!("--primary: {} gives no metric '{unknown}'", options.workload.manifest().name);
        return Err(Failure::usage(message).hint(metric_hint(unknown, &job_metrics)));
    }
    if !options.primary.is_empty() {
        return Ok(options.primary.clone());
    }
    let overall = jobs.iter().filter_map(|planned| planned.job.overall_metric());
    Ok(overall.map(str::to_owned).collect())
}

fn planned_job(options: &QuickOptions) -> Result<PlannedJob, Failure> {
    let QuickOptions { workload, settings, .. } = options;
    let job = workload.native(settings)?;
    Ok(PlannedJob::plain(workload.manifest().name, settings, job))
}

fn stopping(wanted: QuickStopping, family: u32) -> Stopping {
    match wanted {
        QuickStopping::Rounds(rounds) => Stopping::Fixed { rounds },
        QuickStopping::Minutes(minutes) => {
            Stopping::time_for(family, minutes.unwrap_or(USUAL_MINUTES), TIMED_ROUNDS_MAX)
        }
        QuickStopping::Precision { half_width, most_rounds } => {
            Stopping::precision_for(family, half_width, most_rounds)
        }
        QuickStopping::Sequential => Stopping::sequential_for(family),
    }
}

fn variants(
    options: &QuickOptions,
    lab: &Lab,
    jobs: &[PlannedJob],
) -> Result<Vec<Variant>, Failure> {
    let is_root = is_root();
    if !options.directories.is_empty() {
        return directories(options.directories.clone());
    }
    if options.filesystems.is_empty() && options.kernels.is_empty() && !is_root {
        let here = options.current_dir.as_ref().map_err(|error| {
            Failure::environment(format!("cannot determine the current directory: {error}"))
        })?;
        return directories(vec![here.clone(), PathBuf::from("/dev/shm")]);
    }
    let device = device(options, jobs)?;
    let names = if options.filesystems.is_empty() && !options.kernels.is_empty() {
        vec![USUAL_IN_GUESTS.to_owned()]
    } else {
        names(options, lab)?
    };
    if let Some(bytes) = options.image_bytes {
        refuse_small(bytes, &names)?;
    }
    let variants: Vec<Variant> = names
        .into_iter()
        .map(|name| Variant {
            filesystem: name.clone(),
            mount: options.mount.clone(),
            ..bare_variant(name, device.clone())
        })
        .collect();
    if options.kernels.is_empty() {
        return Ok(variants);
    }
    under_kernels(variants, None, &options.kernels, options.machine.unwrap_or_default())
}

/// Rehearses each variant of a quick plan.
///
/// # Errors
/// When mkfs or the kernel refuses an option.
pub fn rehearse_quick(
    variants: &[Variant],
    rehearsal: &VariantRehearsal<'_>,
) -> Result<(), Failure> {
    for variant in variants {
        let refused = |RehearsalError { part, error }: RehearsalError| match part {
            Some(RefusedPart::Mount) => Failure::of(FailureKind::Usage, &*error)
                .context(format!("--mount: {}", variant.name)),
            Some(_) => Failure::of(FailureKind::Usage, &*error).context(&variant.name),
            None => Failure::of(FailureKind::Environment, &*error).context(&variant.name),
        };
        rehearsal(variant).map_err(refused)?;
    }
    Ok(())
}

/// Refuses a single variant, which has no contender. A plan with a kernel is accepted.
///
/// # Errors
/// When there is only one variant.
pub fn refuse_alone(variants: &[Variant], options: &QuickOptions) -> Result<(), Failure> {
    let [alone] = variants else { return Ok(()) };
    if !options.kernels.is_empty() {
        return Ok(());
    }
    let option = if options.directories.is_empty() { "filesystems" } else { "directories" };
    let message = format!("--{option}: '{}' alone has nothing to be compared with", alone.name);
    let usual = filesystems::makeable()
        .filter(|filesystem| filesystem.is_usual)
        .map(|filesystem| filesystem.name);
    let several = if options.directories.is_empty() {
        usual.take(2).collect::<Vec<_>>().join(",")
    } else {
        "A,B".to_owned()
    };
    Err(Failure::usage(message).hint(format!("name two or more: --{option} {several}")).hint(
        format!("`treering run {} --dir DIR` measures one place", options.workload.manifest().name),
    ))
}

fn device(options: &QuickOptions, jobs: &[PlannedJob]) -> Result<DeviceSpec, Failure> {
    if !options.devices.is_empty() {
        return Ok(DeviceSpec::Block { paths: options.devices.clone() });
    }
    let bytes = options.image_bytes.unwrap_or_else(|| image_size(jobs));
    let mut device = DeviceSpec::loop_image(bytes);
    if let DeviceSpec::Loop { directory, disk, .. } = &mut device {
        directory.clone_from(&options.images);
        *disk = options.disk.as_deref().map(played_disk).transpose()?;
    }
    Ok(device)
}

/// Refuses images that are too small for one of the filesystems.
fn refuse_small(bytes: u64, names: &[String]) -> Result<(), Failure> {
    let requested = names.iter().filter_map(|name| filesystems::find(name));
    let largest = requested.max_by_key(|filesystem| filesystem.bytes_min);
    let Some(filesystem) = largest.filter(|filesystem| bytes < filesystem.bytes_min) else {
        return Ok(());
    };
    let message = format!("--size: {} cannot be made on {}", filesystem.name, size(bytes));
    let least = filesystem.bytes_min.div_ceil(1 << 20);
    Err(Failure::usage(message).hint(format!("give {least}MiB or more")))
}

/// Checks that a modelled disk exists; for one described in a file, returns the absolute path.
fn played_disk(name: &str) -> Result<String, Failure> {
    let path = Path::new(name);
    if ModelledDisk::named(name).is_none() && (name.contains('/') || path.extension().is_some()) {
        let path = path.canonicalize().map_err(|error| {
            Failure::of_path(path, &error).context("--disk: no disk can be read")
        })?;
        let name = path.to_string_lossy().into_owned();
        PlayedModel::find(&name)?;
        return Ok(name);
    }
    PlayedModel::find(name)?;
    Ok(name.to_owned())
}

/// Size of an image that holds each job: 1.5 times the largest footprint, to leave room for
/// metadata, in whole GiB.
fn image_size(jobs: &[PlannedJob]) -> u64 {
    let needs = jobs.iter().map(|job| job.job.footprint(&TargetFacts::unknown()).peak_block_bytes);
    let most = needs.max().unwrap_or(0);
    most.saturating_add(most / 2).div_ceil(GIB).max(1).saturating_mul(GIB)
}

/// Names of the requested filesystems, or of the default ones that can be made here.
fn names(options: &QuickOptions, lab: &Lab) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    if options.filesystems.is_empty() {
        let usual: Vec<_> =
            filesystems::makeable().filter(|filesystem| filesystem.is_usual).collect();
        let here = usual.iter().filter(|filesystem| {
            !matches!(lab.availability(filesystem), Availability::Missing { .. })
        });
        names.extend(here.map(|filesystem| filesystem.name.to_owned()));
        if names.len() < 2 {
            let usual: Vec<&str> = usual.iter().map(|filesystem| filesystem.name).collect();
            let message = format!("fewer than two of {} can be made here", usual.join(", "));
            return Err(Failure::environment(message)
                .hint("`treering lab filesystems` says what is missing and how to get it"));
        }
        return Ok(names);
    }
    for name in &options.filesystems {
        let filesystem = filesystems::find(name).ok_or_else(|| {
            let known = filesystems::names();
            let message = format!("--filesystems: '{name}' is not one of: {}", known.join(", "));
            let meant = nearest(name, known.iter().copied());
            let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
            Failure::usage(message).maybe_hint(hint)
        })?;
        let is_in_guests =
            !options.kernels.is_empty() && options.machine.unwrap_or_default() == Machine::Guest;
        let availability = if is_in_guests {
            lab.availability_for_guests(filesystem)
        } else {
            lab.availability(filesystem)
        };
        if let Availability::Missing { why, how } = availability {
            return Err(Failure::environment(format!("{name}: {why}")).hint(how));
        }
        if names.contains(name) {
            let message = format!("--filesystems: '{name}' appears twice");
            return Err(Failure::usage(message).hint("--control runs the baseline a second time"));
        }
        names.push(name.clone());
    }
    Ok(names)
}

fn directories(paths: Vec<PathBuf>) -> Result<Vec<Variant>, Failure> {
    let mut variants: Vec<Variant> = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let path = path.canonicalize().ok().filter(|path| path.is_dir());
        let path = path
            .ok_or_else(|| Failure::usage(format!("--directories: {name} is not a directory")))?;
        let device = DeviceSpec::Directory { path };
        if variants.iter().any(|variant| variant.device == device) {
            let message = format!("--directories: {name} appears twice");
            return Err(Failure::usage(message).hint("--control runs the baseline a second time"));
        }
        variants.push(bare_variant(name, device));
    }
    Ok(variants)
}

/// Variant with this name and device, and defaults otherwise.
pub(crate) fn bare_variant(name: String, device: DeviceSpec) -> Variant {
    Variant::new(&name, "", device)
}
