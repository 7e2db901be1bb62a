//! Quick plans: builds a plan from the options of the command line, in the same form as from a
//! document.

use std::path::{Path, PathBuf};

use treering_conduct::plan::{
    Conditions, Judging, Machine, Observing, Plan, PlannedJob, QUICK_OPTIONS, Stopping, family,
    foreseen, is_known, known_metrics, loop_device,
};
use treering_lab::{Availability, Lab, PlayedModel, filesystems};
use treering_model::filesystems::EXT4;
use treering_model::{Accelerator, DeviceSpec, GuestSpec, Variant, VariantSettings};
use treering_script::{JobRecord, TargetFacts};
use treering_sys::is_root;
use treering_trace::ModelledDisk;

use crate::arguments::{QuickArgs, percentage, settings_of_words, size};
use crate::commands::workload;
use crate::failure::{Failure, Kind};

const GIB: u64 = 1 << 30;
/// Default measuring time in minutes: including the warm-up round and the making of images, an
/// answer takes less than five minutes.
const USUAL_MINUTES: f64 = 3.5;
const MOST_IN_TIME: u32 = 20;
/// File name extensions of kernel packages.
const PACKAGES: [&str; 2] = [".deb", ".rpm"];
/// Default filesystem for comparing kernels.
const USUAL_IN_GUESTS: &str = EXT4.name;

/// Builds the plan from the arguments.
pub(super) fn plan(args: &QuickArgs, lab: &Lab) -> Result<Plan, Failure> {
    let jobs = vec![job(args)?];
    let variants = variants(args, lab, &jobs)?;
    let threshold =
        args.threshold.as_deref().map(|text| percentage("--threshold", text)).transpose();
    let judging = Judging { primary: primary(args, &jobs)?, threshold: threshold? };
    let stopping = stopping(args, family(&variants, &jobs, &judging))?;
    Ok(Plan {
        name: args.name.clone(),
        question: String::new(),
        variants,
        guest: None,
        jobs,
        stopping,
        conditions: Conditions {
            seed: args.seed,
            warm_up: !args.no_warm_up,
            control: args.control,
            machine: args.machine.unwrap_or_default(),
            ..Conditions::default()
        },
        observing: Observing::default(),
        judging,
    })
}

/// Primary metrics: the requested ones; else the one metric of the whole run, if the workload has
/// one; else the workload's default.
fn primary(args: &QuickArgs, jobs: &[PlannedJob]) -> Result<Vec<String>, Failure> {
    let known = foreseen(jobs);
    if let Some(unknown) = args.primary.iter().find(|name| !is_known(&known, name)) {
        let message = format!("--primary: {} gives no metric '{unknown}'", args.workload);
        let names = known_metrics(&known).join(", ");
        return Err(Failure::new(Kind::Usage, message).hint(format!("it gives: {names}")));
    }
    if !args.primary.is_empty() {
        return Ok(args.primary.clone());
    }
    let overall = jobs.iter().filter_map(|planned| planned.job.overall_metric());
    Ok(overall.map(str::to_owned).collect())
}

fn job(args: &QuickArgs) -> Result<PlannedJob, Failure> {
    let workload = workload(&args.workload).ok_or_else(|| {
        let known: Vec<&str> =
            treering_registry::workloads().iter().map(|one| one.manifest().name).collect();
        let message =
            format!("--workload: '{}' is not one of: {}", args.workload, known.join(", "));
        Failure::new(Kind::Usage, message)
    })?;
    let words = match args.options.as_slice() {
        [] if args.workload == "compilebench" => {
            QUICK_OPTIONS.map(|(name, value)| format!("--{name}={value}")).to_vec()
        }
        given => given.to_vec(),
    };
    let settings = settings_of_words(workload.manifest().native, &words)?;
    let job = workload.native(&settings)?;
    let name = args.workload.clone();
    let (options, record) = (settings.options().to_vec(), JobRecord::from_settings(&settings));
    Ok(PlannedJob { workload: name.clone(), name, options, job, launch: None, record })
}

fn stopping(args: &QuickArgs, family: u32) -> Result<Stopping, Failure> {
    if args.sequential {
        return Ok(Stopping::sequential_for(family));
    }
    Ok(match &args.precision {
        Some(text) => {
            let half_width = percentage("--precision", text)?;
            Stopping::precision_for(family, half_width, args.most_rounds.into())
        }
        None => match args.rounds {
            Some(rounds) => Stopping::Fixed { rounds: rounds.into() },
            None => Stopping::time_for(family, args.minutes.unwrap_or(USUAL_MINUTES), MOST_IN_TIME),
        },
    })
}

fn variants(args: &QuickArgs, lab: &Lab, jobs: &[PlannedJob]) -> Result<Vec<Variant>, Failure> {
    let is_root = is_root();
    if !args.directories.is_empty() {
        return directories(args.directories.clone());
    }
    if args.filesystems.is_empty() && args.kernels.is_empty() && !is_root {
        let here = std::env::current_dir().map_err(|error| {
            Failure::new(
                Kind::Environment,
                format!("cannot determine the current directory: {error}"),
            )
        })?;
        return directories(vec![here, PathBuf::from("/dev/shm")]);
    }
    let device = device(args, jobs)?;
    let names = if args.filesystems.is_empty() && !args.kernels.is_empty() {
        vec![USUAL_IN_GUESTS.to_owned()]
    } else {
        names(args, lab)?
    };
    let variants: Vec<Variant> = names
        .into_iter()
        .map(|name| Variant {
            kernel: None,
            guest: None,
            device: device.clone(),
            filesystem: name.clone(),
            mkfs: Vec::new(),
            mount: args.mount.clone(),
            image: None,
            handicap_percent: 0,
            settings: VariantSettings::default(),
            name,
            against: None,
        })
        .collect();
    if args.kernels.is_empty() { Ok(variants) } else { under_kernels(variants, None, args) }
}

/// Refuses a single variant, which has no contender. A single kernel is accepted, since it runs
/// only in a guest.
pub(super) fn refuse_alone(variants: &[Variant], args: &QuickArgs) -> Result<(), Failure> {
    let [alone] = variants else { return Ok(()) };
    if !args.kernels.is_empty() {
        return Ok(());
    }
    let option = if args.directories.is_empty() { "filesystems" } else { "directories" };
    let message = format!("--{option}: '{}' alone has nothing to be compared with", alone.name);
    let usual = filesystems::makeable().filter(|one| one.is_usual).map(|one| one.name);
    let several = if args.directories.is_empty() {
        usual.take(2).collect::<Vec<_>>().join(",")
    } else {
        "A,B".to_owned()
    };
    Err(Failure::new(Kind::Usage, message)
        .hint(format!("name two or more: --{option} {several}"))
        .hint(format!("`treering run {} --dir DIR` measures one place", args.workload)))
}

/// Each variant under each of the kernels, in a guest of its own or in such a one.
pub(super) fn under_kernels(
    variants: Vec<Variant>,
    guest: Option<&GuestSpec>,
    args: &QuickArgs,
) -> Result<Vec<Variant>, Failure> {
    match args.machine.unwrap_or_default() {
        Machine::Guest => in_guests(variants, guest, &args.kernels),
        Machine::Reboot => {
            let release = |path: &PathBuf| {
                let name = path.to_string_lossy().into_owned();
                let is_file = name.contains('/') || PACKAGES.iter().any(|end| name.ends_with(end));
                let message = format!("--kernel: '{name}' is a file, which is not booted");
                let failure = Failure::new(Kind::Usage, message)
                    .hint("with --machine reboot: install it and give its release (`uname -r`)");
                if is_file { Err(failure) } else { Ok((name.clone(), name)) }
            };
            let releases: Vec<_> = args.kernels.iter().map(release).collect::<Result<_, _>>()?;
            Ok(under(&variants, &numbered(releases), |variant, release| Variant {
                kernel: Some(release.clone()),
                guest: None,
                ..variant.clone()
            }))
        }
    }
}

/// Makes the clocks of every guest count instructions.
pub(super) fn count_instructions(plan: &mut Plan, args: &QuickArgs) -> Result<(), Failure> {
    let usage = |message: String, hint: &str| Failure::new(Kind::Usage, message).hint(hint);
    for variant in &mut plan.variants {
        let Some(guest) = &mut variant.guest else {
            let message = format!("--icount: '{}' runs in no guest", variant.name);
            return Err(usage(message, "give --kernel FILE: its guest has such a clock"));
        };
        if guest.accelerator == Some(Accelerator::Kvm) {
            let message = "--icount: with KVM, instructions cannot be counted".to_owned();
            return Err(usage(message, "leave `accelerator` out of [guest]"));
        }
        // Of a guest that the plan does not describe the usual number is no wish.
        if args.kernels.is_empty() && guest.cpus > 1 {
            let message = "--icount: instructions are counted on one CPU only".to_owned();
            return Err(usage(message, "write cpus = 1 in [guest]"));
        }
        guest.accelerator = Some(Accelerator::Icount);
        guest.cpus = 1;
    }
    Ok(())
}

/// Makes the names of kernels unique by a number: comparing a kernel with itself is allowed, and
/// shows the effect of chance.
fn numbered<K>(kernels: Vec<(String, K)>) -> Vec<(String, K)> {
    let mut seen: Vec<String> = Vec::new();
    let each = |(name, kernel): (String, K)| {
        let twins = seen.iter().filter(|other| **other == name).count();
        seen.push(name.clone());
        (if twins == 0 { name } else { format!("{name} ({})", twins + 1) }, kernel)
    };
    kernels.into_iter().map(each).collect()
}

/// Combines each variant with each kernel, with unique names. As the question is about kernels, the
/// baseline of each variant is the same variant under the first kernel.
fn under<K>(
    variants: &[Variant],
    kernels: &[(String, K)],
    with: impl Fn(&Variant, &K) -> Variant,
) -> Vec<Variant> {
    let is_alone = variants.len() == 1;
    let each = |variant: &Variant| -> Vec<Variant> {
        let name_of = |variant: &str, kernel: &str| {
            if is_alone { kernel.to_owned() } else { format!("{variant} {kernel}") }
        };
        let named = |(kernel, file): &(String, K)| {
            let against = match kernels {
                [_] => variant.against.as_ref().map(|other| name_of(other, kernel)),
                [(first, _), ..] if first != kernel && !is_alone => {
                    Some(name_of(&variant.name, first))
                }
                _ => None,
            };
            Variant { name: name_of(&variant.name, kernel), against, ..with(variant, file) }
        };
        kernels.iter().map(named).collect()
    };
    variants.iter().flat_map(each).collect()
}

/// Each variant under each of these kernels, in guests.
fn in_guests(
    variants: Vec<Variant>,
    guest: Option<&GuestSpec>,
    kernels: &[PathBuf],
) -> Result<Vec<Variant>, Failure> {
    let found = |path: &PathBuf| {
        let found = path.canonicalize().map_err(|error| {
            Failure::of_path(path, &error).context("--kernel: no kernel can be read")
        })?;
        Ok((kernel_name(path), found))
    };
    let named = kernels.iter().map(found).collect::<Result<Vec<_>, Failure>>()?;
    if let Some(directory) =
        variants.iter().find(|one| matches!(one.device, DeviceSpec::Directory { .. }))
    {
        let message = format!("--kernel: '{}' is a directory of this machine", directory.name);
        return Err(Failure::new(Kind::Usage, message)
            .hint("a guest works on a device: device = { loop = \"4GiB\" }"));
    }
    Ok(under(&variants, &numbered(named), |variant, path| {
        let spec = variant.guest.as_ref().or(guest).cloned();
        let spec = spec.unwrap_or_else(|| GuestSpec::new(PathBuf::new()));
        let guest = Some(GuestSpec { kernel: path.clone(), ..spec });
        Variant { kernel: None, guest, ..variant.clone() }
    }))
}

/// Kernel name from the name of its file: `6.1.0-50-amd64` from
/// `linux-image-6.1.0-50-amd64_6.1.176.deb`.
fn kernel_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let begins = ["linux-image-", "kernel-core-", "kernel-", "vmlinuz-", "bzImage-"];
    let name = begins.iter().find_map(|begin| name.strip_prefix(begin)).unwrap_or(&name);
    let name = PACKAGES.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    name.split('_').next().unwrap_or(name).to_owned()
}

fn device(args: &QuickArgs, jobs: &[PlannedJob]) -> Result<DeviceSpec, Failure> {
    if !args.device.is_empty() {
        return Ok(DeviceSpec::Block { paths: args.device.clone() });
    }
    let asked = args.size.as_deref().map(|text| size("--size", text)).transpose()?;
    let bytes = asked.unwrap_or_else(|| room(jobs));
    let mut device = loop_device(bytes);
    if let DeviceSpec::Loop { directory, disk, .. } = &mut device {
        directory.clone_from(&args.images);
        *disk = args.disk.as_deref().map(played_disk).transpose()?;
    }
    Ok(device)
}

/// Checks that a modelled disk exists; for one described in a file, returns the absolute path.
fn played_disk(name: &str) -> Result<String, Failure> {
    let path = Path::new(name);
    if ModelledDisk::named(name).is_none() && (name.contains('/') || path.extension().is_some()) {
        let found = path.canonicalize().map_err(|error| {
            Failure::of_path(path, &error).context("--disk: no disk can be read")
        })?;
        let name = found.to_string_lossy().into_owned();
        PlayedModel::find(&name)?;
        return Ok(name);
    }
    PlayedModel::find(name)?;
    Ok(name.to_owned())
}

/// Size of an image that holds each job: 1.5 times the largest footprint, to leave room for
/// metadata, in whole GiB.
fn room(jobs: &[PlannedJob]) -> u64 {
    let needs = jobs.iter().map(|job| job.job.footprint(&TargetFacts::unknown()).peak_block_bytes);
    let most = needs.max().unwrap_or(0);
    most.saturating_add(most / 2).div_ceil(GIB).max(1).saturating_mul(GIB)
}

/// Names of the requested filesystems, or of the default ones that can be made here.
fn names(args: &QuickArgs, lab: &Lab) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    if args.filesystems.is_empty() {
        let usual: Vec<_> = filesystems::makeable().filter(|one| one.is_usual).collect();
        let here = usual
            .iter()
            .filter(|one| !matches!(lab.availability(one), Availability::Missing { .. }));
        names.extend(here.map(|one| one.name.to_owned()));
        if names.len() < 2 {
            let usual: Vec<&str> = usual.iter().map(|one| one.name).collect();
            let message = format!("fewer than two of {} can be made here", usual.join(", "));
            return Err(Failure::new(Kind::Environment, message)
                .hint("`treering lab filesystems` says what is missing and how to get it"));
        }
        return Ok(names);
    }
    for name in &args.filesystems {
        let filesystem = filesystems::find(name).ok_or_else(|| {
            let known = filesystems::names();
            let message = format!("--filesystems: '{name}' is not one of: {}", known.join(", "));
            Failure::new(Kind::Usage, message)
        })?;
        if let Availability::Missing { why, how } = lab.availability(filesystem) {
            return Err(Failure::new(Kind::Environment, format!("{name}: {why}")).hint(how));
        }
        if names.contains(name) {
            let message = format!("--filesystems: '{name}' appears twice");
            return Err(Failure::new(Kind::Usage, message)
                .hint("--control runs the baseline a second time"));
        }
        names.push(name.clone());
    }
    Ok(names)
}

fn directories(paths: Vec<PathBuf>) -> Result<Vec<Variant>, Failure> {
    let mut variants: Vec<Variant> = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let found = path.canonicalize().ok().filter(|path| path.is_dir());
        let found = found.ok_or_else(|| {
            Failure::new(Kind::Usage, format!("--directories: {name} is not a directory"))
        })?;
        let device = DeviceSpec::Directory { path: found };
        if variants.iter().any(|variant| variant.device == device) {
            let message = format!("--directories: {name} appears twice");
            return Err(Failure::new(Kind::Usage, message)
                .hint("--control runs the baseline a second time"));
        }
        variants.push(Variant {
            name,
            against: None,
            kernel: None,
            guest: None,
            device,
            filesystem: String::new(),
            mkfs: Vec::new(),
            mount: Vec::new(),
            image: None,
            handicap_percent: 0,
            settings: VariantSettings::default(),
        });
    }
    Ok(variants)
}
