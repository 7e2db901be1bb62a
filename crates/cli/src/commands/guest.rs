//! In a guest: we are its first process, run the one trial that the host asks for as it would be
//! run outside, and send the host what happens.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use treering_conduct::{HandedTrial, about_caches, take};
use treering_engine::Progress;
use treering_guest::GuestMachine;
use treering_lab::filesystems::mount_options;
use treering_lab::{LabError, drop_and_verify};
use treering_model::TrialSink;
use treering_model::filesystems::{Filesystem, by_name};
use treering_script::Settings;
use treering_sys::{MountOptions, explain_mount, mount, unmount};

use crate::arguments::AnyRunArgs;
use crate::commands::trial::{Asked, run as run_trial};
use crate::commands::workload;

/// Where the filesystem under test is in a guest.
const POINT: &str = "/mnt";
/// The directory in it in which the trial works.
const WORK: &str = "/mnt/treering-work";

/// Runs the guest to its end, which is that of the machine.
pub(crate) fn run() -> ! {
    match GuestMachine::begin() {
        Ok(machine) => match serve(&machine) {
            Ok(()) => machine.done(),
            Err(why) => machine.refuse(&why),
        },
        // The console is all there is.
        Err(why) => eprintln!("treering: the guest cannot begin: {why}"),
    }
    GuestMachine::end()
}

fn serve(machine: &GuestMachine) -> Result<(), String> {
    let job = machine.job().map_err(|error| error.to_string())?;
    let wrong = |error: serde_json::Error| format!("the trial cannot be read: {error}");
    let trial: HandedTrial = serde_json::from_value(job.trial.clone()).map_err(wrong)?;
    let disks: Vec<PathBuf> = job.disks.iter().map(PathBuf::from).collect();
    GuestMachine::wait_for(&disks).map_err(|error| error.to_string())?;
    let filesystem = by_name(&job.filesystem)
        .ok_or_else(|| format!("no filesystem {} is known", job.filesystem))?;
    let disk = Disk { filesystem, disks, bytes: job.bytes, options: job.mount };
    disk.mount()?;
    trial_on(machine, &disk, trial)
}

/// What the trial works on.
struct Disk {
    filesystem: &'static Filesystem,
    disks: Vec<PathBuf>,
    bytes: u64,
    options: Vec<String>,
}

impl Disk {
    fn mount(&self) -> Result<(), String> {
        let Self { filesystem, disks, bytes, options } = self;
        let mut all = mount_options(filesystem, disks, *bytes, options);
        all.extend(options.iter().cloned());
        let parsed = MountOptions::parse(&all).map_err(|error| error.to_string())?;
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
            what: "cannot mount again",
            path: PathBuf::from(POINT),
            source: error,
        };
        unmount(Path::new(POINT)).map_err(|errno| failed(errno.into()))?;
        self.mount().map_err(|why| failed(std::io::Error::other(why)))?;
        Ok(PathBuf::from(WORK))
    }
}

fn trial_on(machine: &GuestMachine, disk: &Disk, trial: HandedTrial) -> Result<(), String> {
    let workload =
        workload(&trial.workload).ok_or_else(|| format!("no workload {}", trial.workload))?;
    let job = workload
        .native(&Settings::new(trial.options.clone()))
        .map_err(|error| format!("{}: {}", trial.workload, error.message))?;
    fs::create_dir(WORK).map_err(|error| format!("cannot make {WORK}: {error}"))?;
    let place = take(Path::new(WORK)).map_err(|error| error.to_string())?;
    let (engine, wanted) = (trial.engine(job.as_ref()), trial.wanted());
    let mut cautions = trial.cautions;
    let mut facts = trial.facts;
    let dropped = drop_and_verify(Path::new(POINT)).map_err(|error| error.to_string())?;
    let (dropped, caution) = about_caches(&dropped);
    facts.push(dropped);
    cautions.extend(caution);
    let remount = || disk.mount_again();
    let any = AnyRunArgs { label: trial.label, no_store: true, ..AnyRunArgs::default() };
    let asked = Asked {
        workload,
        job: job.as_ref(),
        any: &any,
        trial: trial.trial,
        cell: Some(trial.cell),
        parameters: trial.parameters,
        engine,
        // The disk is not used again.
        keep: true,
        cautions,
        facts,
        wanted,
        remount: (trial.remount || job.remounts()).then_some(&remount),
        catches_sigint: false,
        ranks: None,
        speaker: None,
        record: None,
    };
    let listeners: Vec<Box<dyn TrialSink>> = vec![Box::new(machine.clone())];
    let ran = run_trial(asked, place, listeners, &Arc::new(Progress::new()), &mut |_| {});
    ran.map(|_| ()).map_err(|failure| failure.message().to_owned())
}
