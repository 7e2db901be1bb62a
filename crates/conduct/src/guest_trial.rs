//! Trial inside a guest: treering is the init process of the guest, runs the trial that the host
//! requests as it would run outside, and sends the events to the host.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use treering_guest::{GuestMachine, InitError};
use treering_lab::filesystems::mount_options;
use treering_lab::{Lab, LabDevice, LabError, MountedVolume, SettingsInForce, drop_and_verify};
use treering_model::SecondDevice;
use treering_model::filesystems::{Filesystem, by_name};
use treering_script::{Settings, Workload};
use treering_sys::{MountOptions, explain_mount, mount, unmount};

use crate::conduct::Remount;
use crate::handed::{HandedRun, HandedTrial};
use crate::stage::{cache_drop_fact, facts_of_making};
use crate::trial::beginning::{named, take};

/// Mount point of the filesystem under test in a guest.
const POINT: &str = "/mnt";
/// Work directory of the trial, in the root of the filesystem under test.
const WORK: &str = "treering-work";

/// Register of the settings inside the guest; it is lost with the guest.
const REGISTER: &str = "/run/treering";

/// Workloads, and the wall clock (Unix time in milliseconds).
type GuestContext<'a> = (&'a [&'static dyn Workload], &'a dyn Fn() -> i64);

/// Runs the trial that the host requests, and sends its events to the host.
///
/// # Errors
/// When the guest cannot begin. The host is not told of this error.
pub fn serve_guest(
    workloads: &[&'static dyn Workload],
    unix_ms: &dyn Fn() -> i64,
) -> Result<(), InitError> {
    let machine = GuestMachine::begin()?;
    match serve(&machine, (workloads, unix_ms)) {
        Ok(()) => machine.done(),
        Err(why) => machine.refuse(&why),
    }
    Ok(())
}

fn serve(machine: &GuestMachine, around: GuestContext<'_>) -> Result<(), String> {
    let job = machine.job().map_err(|error| error.to_string())?;
    let wrong = |error: serde_json::Error| format!("the trial cannot be read: {error}");
    let mut trial: HandedTrial = serde_json::from_value(job.trial.clone()).map_err(wrong)?;
    if let Some(transport) = job.root {
        GuestMachine::enter_root(transport).map_err(|error| error.to_string())?;
    }
    let disks: Vec<PathBuf> = job.disks.iter().map(PathBuf::from).collect();
    GuestMachine::wait_for(&disks).map_err(|error| error.to_string())?;
    let filesystem = by_name(&job.filesystem)
        .ok_or_else(|| format!("no filesystem {} is known", job.filesystem))?;
    let second = trial.settings.second_device.clone();
    let disk = Disk { filesystem, disks, second, bytes: job.bytes, options: job.mount };
    let lab = Lab::unopened(Path::new(REGISTER));
    let on = (disk.filesystem.name, disk.disks.clone());
    let settings = SettingsInForce::begin(&trial.settings, on, &lab);
    let mut settings = settings.map_err(|error| error.to_string())?;
    let said = |error: LabError| error.to_string();
    if !trial.settings.layers.is_empty() {
        let making = (disk.filesystem.name, &job.mkfs[..], &disk.options[..]);
        let mounted = layered(&disk.disks, &mut trial, making, &mut settings, &lab);
        let (mounted, settings) = (RefCell::new(Some(mounted.map_err(said)?)), settings);
        let (root, settings) = (root_of(&mounted).map_err(said)?, RefCell::new(settings));
        let remount = || {
            let covered = mounted.take().ok_or_else(lost_target)?;
            mounted.replace(Some(covered.remount_cold()?));
            settings.borrow_mut().mounted()?;
            Ok(root_of(&mounted)?.join(WORK))
        };
        return trial_on(machine, (&root, &remount, &settings), trial, around);
    }
    disk.mount()?;
    settings.mounted().map_err(said)?;
    let settings = RefCell::new(settings);
    let remount = || {
        let root = disk.mount_again()?;
        settings.borrow_mut().mounted().map(|()| root.join(WORK))
    };
    trial_on(machine, (Path::new(POINT), &remount, &settings), trial, around)
}

/// Builds the layers of a trial on these disks, then makes and mounts the filesystem on top, as on
/// a machine without guests.
fn layered(
    disks: &[PathBuf],
    trial: &mut HandedTrial,
    (filesystem, mkfs, options): (&str, &[String], &[String]),
    settings: &mut SettingsInForce,
    lab: &Lab,
) -> Result<MountedVolume, LabError> {
    let layers = trial.settings.layers.clone();
    let second = trial.settings.second_device.clone();
    let (disks, journal) = parted(disks, second.as_ref());
    let mut device = LabDevice::of_guest(disks, lab)?;
    if let Some((second, disk)) = second.zip(journal) {
        let disk = LabDevice::of_guest(std::slice::from_ref(disk), lab)?;
        device = device.with_second(disk, &second);
    }
    let device = device.covered(&layers)?;
    settings.layered(device.members().into_iter().map(|member| member.node).collect());
    let mounted = device.format(filesystem, mkfs)?.mount(options)?.covered(&layers)?;
    settings.mounted()?;
    trial.facts.extend(facts_of_making(mounted.format_record(), mounted.device()));
    Ok(mounted)
}

/// Disks of the filesystem, and that of its journal, which is the last one.
fn parted<'d>(
    disks: &'d [PathBuf],
    second: Option<&SecondDevice>,
) -> (&'d [PathBuf], Option<&'d PathBuf>) {
    match disks.split_last() {
        Some((last, first)) if second.is_some_and(SecondDevice::is_journal) => (first, Some(last)),
        _ => (disks, None),
    }
}

fn root_of(mounted: &RefCell<Option<MountedVolume>>) -> Result<PathBuf, LabError> {
    mounted.borrow().as_ref().map(|mounted| mounted.root().to_owned()).ok_or_else(lost_target)
}

/// Error of a filesystem that was lost in a failed remount.
fn lost_target() -> LabError {
    let (action, path) = ("cannot find the filesystem of", PathBuf::from(WORK));
    LabError::Io { action, path, source: std::io::ErrorKind::NotFound.into() }
}

/// Filesystem under test, on the disks of the guest.
struct Disk {
    filesystem: &'static Filesystem,
    disks: Vec<PathBuf>,
    second: Option<SecondDevice>,
    bytes: u64,
    options: Vec<String>,
}

impl Disk {
    fn mount(&self) -> Result<(), String> {
        let Self { filesystem, disks, second, bytes, options } = self;
        let (data, journal) = parted(disks, second.as_ref());
        let journal = journal.map(PathBuf::as_path);
        let mut all_options = mount_options(filesystem, (data, journal), *bytes, options);
        all_options.extend(options.iter().cloned());
        let parsed = MountOptions::parse(&all_options).map_err(|error| error.to_string())?;
        let source = match disks.first() {
            Some(disk) => disk.clone().into_os_string(),
            None => OsString::from("treering"),
        };
        let name = filesystem.name;
        mount(&source, Path::new(POINT), name, &parsed).map_err(|errno| {
            let words = explain_mount(&source, name, &parsed);
            let words = words.map(|words| format!(": {words}")).unwrap_or_default();
            let release = treering_observe::kernel_release();
            format!("the kernel {release} cannot mount this {name}: {errno}{words}")
        })
    }

    fn mount_again(&self) -> Result<PathBuf, LabError> {
        let failed = |error| LabError::Io {
            action: "cannot mount again",
            path: PathBuf::from(POINT),
            source: error,
        };
        unmount(Path::new(POINT)).map_err(|errno| failed(errno.into()))?;
        self.mount().map_err(|why| failed(std::io::Error::other(why)))?;
        Ok(PathBuf::from(POINT))
    }
}

fn trial_on(
    machine: &GuestMachine,
    (root, remount, settings): (&Path, Remount<'_>, &RefCell<SettingsInForce>),
    mut trial: HandedTrial,
    (workloads, unix_ms): GuestContext<'_>,
) -> Result<(), String> {
    let workload = named(workloads, &trial.workload)
        .ok_or_else(|| format!("no workload {}", trial.workload))?;
    let job = workload
        .native(&Settings::new(trial.options.clone()))
        .map_err(|error| format!("{}: {}", trial.workload, error.message))?;
    let work = root.join(WORK);
    fs::create_dir(&work).map_err(|error| format!("cannot make {}: {error}", work.display()))?;
    let mut place = take(&work).map_err(|error| error.to_string())?;
    let dropped = drop_and_verify(root).map_err(|error| error.to_string())?;
    let (dropped, caution) = cache_drop_fact(&dropped);
    settings.borrow_mut().limit().map_err(|error| error.to_string())?;
    trial.facts.push(dropped);
    trial.cautions.extend(caution);
    let run = HandedRun {
        engine: trial.engine_options(job.as_ref()),
        job: job.as_ref(),
        // The disk is discarded after the trial.
        keep: true,
        remount: (trial.remount || job.remounts()).then_some(remount),
        world: None,
        each: None,
        started_unix_ms: unix_ms(),
        handed: trial,
    };
    let ran = run.run(&mut place, &mut machine.clone());
    ran.map(|_left_behind| ()).map_err(|failure| failure.message().to_owned())
}
