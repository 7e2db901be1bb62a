//! Adapts a packed plan to the devices and kernels of this machine, and lists the differences.

use std::fs;
use std::path::{Path, PathBuf};

use treering_model::{CellRole, DeviceSpec, Trial, Variant, counted};
use treering_observe::{ObserverContext, ObserverOptions, look};

use super::RepeatOptions;
use super::files::job_record;
use crate::failure::Failure;
use crate::host::Host;
use crate::plan::{Plan, Stopping};

/// Facts of the machine that are compared before the repetition.
const MACHINE_FACTS: [&str; 7] = [
    "machine.architecture",
    "cpu.model",
    "cpu.count",
    "memory.bytes",
    "kernel.release",
    "kernel.config",
    "memory.transparent_hugepages",
];

/// Differences between this machine and the machine of the packed trials; empty for trials in
/// guests.
pub(super) fn machine_differences(trials: &[Trial]) -> Vec<String> {
    let is_on_machine = |trial: &&Trial| trial.fact("guest.kernel").is_none();
    let Some(trial) = trials.iter().find(is_on_machine) else { return Vec::new() };
    let context = ObserverContext { target: Path::new("/"), options: ObserverOptions::default() };
    let local_facts = look(&context).facts;
    let difference = |name: &&str| {
        let was = trial.fact(name)?;
        let is = local_facts.iter().find(|fact| fact.name == **name)?.value.as_str();
        let short = |value: &str| value.chars().take(80).collect::<String>();
        (was != is).then(|| format!("{name} is {} here, and was {}", short(is), short(was)))
    };
    MACHINE_FACTS.iter().filter_map(difference).collect()
}

/// Gives every variant its devices and kernels on this machine; returns the differences in words.
pub(super) fn adapt(
    plan: &mut Plan,
    trials: &[Trial],
    options: &RepeatOptions<'_>,
    host: &dyn Host,
) -> Result<Vec<String>, Failure> {
    let mut differences = Vec::new();
    let cells = trials.iter().filter_map(|trial| trial.beginning.cell.as_ref());
    let measured = cells.filter(|cell| cell.role == CellRole::Round).map(|cell| cell.round).max();
    if let Some(rounds) = options.rounds.or(measured) {
        plan.stopping = Stopping::Fixed { rounds };
    }
    refuse_spare_devices(plan, options)?;
    let running = treering_observe::kernel_release();
    for (at, variant) in plan.variants.iter_mut().enumerate() {
        adapt_device(variant, at, options, &mut differences)?;
        adapt_kernel(variant, trials, options, &mut differences)?;
        if let Some(wanted) = variant.kernel.as_ref().filter(|wanted| **wanted != running) {
            differences.push(format!(
                "{}: it ran under the kernel {wanted}; under this one ({running}) it is not run",
                variant.name
            ));
        }
    }
    for record in trials.iter().filter_map(job_record) {
        let Some((name, was)) = record.dataset else { continue };
        let words = match host.data_set_fingerprint(&name) {
            Some(is) if is == was => continue,
            Some(_) => format!("the data set {name} has other files here"),
            None => format!("the data set {name} is not here"),
        };
        if !differences.contains(&words) {
            differences.push(words);
        }
    }
    Ok(differences)
}

/// Refuses block devices that no variant would use.
fn refuse_spare_devices(plan: &Plan, options: &RepeatOptions<'_>) -> Result<(), Failure> {
    let blocks = |device: &DeviceSpec| match device {
        DeviceSpec::Block { paths } => paths.len(),
        DeviceSpec::Directory { .. } | DeviceSpec::Loop { .. } => 0,
    };
    let of_variants = plan.variants.iter().map(|variant| variant.devices().map(blocks).sum());
    let used: usize = of_variants.max().unwrap_or_default();
    if options.devices.len() > used {
        let named = counted(options.devices.len(), "block device");
        let message = format!("{named} named, and no variant used more than {used}");
        return Err(Failure::usage(message).hint("leave out the last --block"));
    }
    Ok(())
}

fn adapt_device(
    variant: &mut Variant,
    at: usize,
    options: &RepeatOptions<'_>,
    differences: &mut Vec<String>,
) -> Result<(), Failure> {
    let name = variant.name.clone();
    let lacks = |message: String, hint: &str| Failure::usage(message).hint(hint);
    match &mut variant.device {
        DeviceSpec::Directory { path } => {
            let Some(dir) = &options.dir else {
                let message = format!("{name}: it worked in a directory, {}", path.display());
                return Err(lacks(message, "name one on the filesystem to measure: --dir DIR"));
            };
            let dir = dir.canonicalize().map_err(|error| Failure::of_path(dir, &error))?;
            let directory = dir.join(format!("repeat-{}", at + 1));
            if !options.dry_run {
                fs::create_dir_all(&directory)
                    .map_err(|error| Failure::of_path(&directory, &error))?;
            }
            *path = directory;
        }
        DeviceSpec::Block { paths } => {
            let named = options.devices.get(..paths.len());
            *paths = named.ok_or_else(|| too_few(&name, paths.len()))?.to_vec();
        }
        DeviceSpec::Loop { directory, .. } => leave_missing(directory, &name, differences),
    }
    adapt_second(variant, options, differences)
}

/// Replaces the second device of a variant: block devices by those that are named behind the ones
/// of the first, so that none of another machine is used here.
fn adapt_second(
    variant: &mut Variant,
    options: &RepeatOptions<'_>,
    differences: &mut Vec<String>,
) -> Result<(), Failure> {
    let Some(second) = &variant.settings.second_device else { return Ok(()) };
    let before = match &variant.device {
        DeviceSpec::Block { paths } => paths.len(),
        DeviceSpec::Directory { .. } | DeviceSpec::Loop { .. } => 0,
    };
    let mut spec = second.spec().clone();
    match &mut spec {
        DeviceSpec::Block { paths } => {
            let count = before + paths.len();
            let named = options.devices.get(before..count);
            *paths = named.ok_or_else(|| too_few(&variant.name, count))?.to_vec();
        }
        DeviceSpec::Loop { directory, .. } => leave_missing(directory, &variant.name, differences),
        DeviceSpec::Directory { .. } => {}
    }
    variant.settings.second_device = Some(second.with_spec(spec));
    Ok(())
}

fn too_few(name: &str, count: usize) -> Failure {
    Failure::usage(format!("{name}: it used {}", counted(count, "block device"))).hint(
        "name as many here, each with --block DEVICE; one that is not empty also needs --erase \
         DEVICE",
    )
}

/// Leaves out the directory of an image if it is missing here.
fn leave_missing(directory: &mut Option<PathBuf>, name: &str, differences: &mut Vec<String>) {
    if let Some(place) = directory.take_if(|place| !place.is_dir()) {
        differences
            .push(format!("{name}: its image is made elsewhere than in {}", place.display()));
    }
}

fn adapt_kernel(
    variant: &mut Variant,
    trials: &[Trial],
    options: &RepeatOptions<'_>,
    differences: &mut Vec<String>,
) -> Result<(), Failure> {
    let Some(guest) = &mut variant.guest else { return Ok(()) };
    let own = options.kernels.iter().find_map(|text| {
        let (name, file) = text.split_once('=')?;
        (name == variant.name).then_some(file)
    });
    let for_all = options.kernels.iter().map(String::as_str).find(|text| !text.contains('='));
    let of_variant = trials.iter().find(|trial| {
        trial.beginning.cell.as_ref().is_some_and(|cell| cell.variant == variant.name)
    });
    let was = of_variant.and_then(|trial| trial.fact("guest.kernel")).unwrap_or_default();
    let Some(file) = own.or(for_all) else {
        if guest.kernel.exists() {
            return Ok(());
        }
        let message = format!("{}: its kernel is not here: {was}", variant.name);
        let hint = format!("name its file: --kernel '{}=FILE'", variant.name);
        return Err(Failure::usage(message).hint(hint));
    };
    let kernel = Path::new(file).canonicalize();
    guest.kernel = kernel.map_err(|error| Failure::of_path(Path::new(file), &error))?;
    if guest.kernel.file_name().is_some_and(|name| name.to_string_lossy() != was) {
        differences.push(format!("{}: the kernel is {file}, and was {was}", variant.name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{RepeatOptions, adapt_device};
    use std::path::{Path, PathBuf};
    use treering_model::{DeviceSpec, SecondDevice, Variant};

    #[test]
    fn no_device_of_another_machine_is_used_as_a_second_one() {
        let blocks =
            |paths: &[&str]| DeviceSpec::Block { paths: paths.iter().map(PathBuf::from).collect() };
        let image = || DeviceSpec::loop_image(1 << 30);
        for (first, named, seconds) in [
            (image(), vec![], None),
            (image(), vec!["/dev/b"], Some("/dev/b")),
            (blocks(&["/dev/x"]), vec!["/dev/b"], None),
            (blocks(&["/dev/x"]), vec!["/dev/b", "/dev/c"], Some("/dev/c")),
        ] {
            let mut variant = Variant::new("outside", "ext4", first);
            variant.settings.second_device = Some(SecondDevice::Journal(blocks(&["/dev/y"])));
            let options = RepeatOptions {
                campaign: None,
                dir: None,
                devices: named.iter().map(PathBuf::from).collect(),
                kernels: vec![],
                rounds: None,
                dry_run: true,
                workloads: &[],
                data_dirs: vec![],
                environment: vec![],
                temporary_dir: PathBuf::new(),
            };
            let adapted = adapt_device(&mut variant, 0, &options, &mut vec![]);
            assert_eq!(adapted.is_ok(), seconds.is_some(), "{named:?}");
            let second = variant.settings.second_device.unwrap();
            let DeviceSpec::Block { paths } = second.spec() else { panic!("{second:?}") };
            let wanted = seconds.map(Path::new);
            assert!(wanted.is_none_or(|path| *paths == [path.to_owned()]), "{paths:?}");
        }
    }
}
