//! `treering lab`: lists the capabilities of the lab and the leftovers of killed runs, and frees
//! the leftovers.

use std::fs::File;
use std::io::stdout;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use treering_conduct::{
    free_leftovers, freeing_words, mount_again, say_lab_cautions, watch_signals,
};
use treering_lab::{
    Availability, ImageLibrary, Lab, LabDevice, LabError, LabLeftover, LeftoverKind, PlayedModel,
    RebootControl, filesystems, serve_played_disk,
};
use treering_observe::block_trace::StaleInstance;
use treering_report::pages::machine::lab as page;

use super::{clean, output};
use crate::arguments::{DiskArgs, LabVerb, OutputArgs, size};
use crate::classic_output::{print_line, say};
use crate::clock::trial_unix_ms;
use crate::failure::Failure;
use crate::places;
use crate::terminal::Terminal;
use treering_sys::is_root;

/// Runs a subcommand of `treering lab`.
pub(crate) fn run(verb: &LabVerb) -> Result<ExitCode, Failure> {
    match verb {
        LabVerb::List { output, root } => list(output, &root.reboots()),
        LabVerb::Release { dry_run, give_up, root } => {
            release((*dry_run, *give_up), &root.reboots())
        }
        LabVerb::Disk(args) => disk(args),
        LabVerb::Play { image, name, text } => play(image, name, text),
        LabVerb::Clean(args) => return clean::run(args),
        LabVerb::Filesystems { output } => {
            output::write(&page::filesystems(makeable(&open_read_only())), output)
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the lab of this user, after mounting the filesystems again that killed runs had unmounted,
/// and printing their names.
///
/// If no directory can hold the lab's records, the first operation that needs one reports it.
pub(crate) fn open() -> Lab {
    let lab = open_first_usable(&mut Vec::new());
    mount_again(&lab, &Terminal);
    lab
}

/// Opens the lab for filesystems that exist only for a moment; leftovers are not touched.
pub(super) fn recording() -> Lab {
    open_first_usable(&mut Vec::new())
}

/// Opens the lab and prints which directories cannot be used, and why.
pub(super) fn open_with_cautions() -> Lab {
    let mut unusable = Vec::new();
    let lab = open_first_usable(&mut unusable);
    say_lab_cautions(&unusable, &Terminal);
    mount_again(&lab, &Terminal);
    lab
}

/// Opens the lab of this user read-only. Filesystems that killed runs had unmounted are only
/// printed.
pub(crate) fn open_read_only() -> Lab {
    let lab = configured(Lab::unopened(&first_directory()));
    for left in lab.left_unmounted().unwrap_or_default() {
        say(&format!(
            "caution: a killed run left {}; `treering lab release` mounts it again",
            left.kind
        ));
    }
    lab
}

/// Opens the lab in the first usable directory; the errors of unusable directories before it are
/// appended to `unusable`.
fn open_first_usable(unusable: &mut Vec<LabError>) -> Lab {
    for directory in places::lab_dirs() {
        match Lab::open(&directory) {
            Ok(lab) => return configured(lab),
            Err(error) => unusable.push(error),
        }
    }
    configured(Lab::unopened(&first_directory()))
}

fn first_directory() -> PathBuf {
    places::lab_dirs().into_iter().next().unwrap_or_default()
}

fn configured(lab: Lab) -> Lab {
    let mut elsewhere = places::lab_dirs();
    elsewhere.extend(places::older_lab_dirs());
    let lab = lab.with_older_registers(&elsewhere);
    let lab = match places::images_dir() {
        Ok(directory) => lab.with_library(ImageLibrary::new(&directory)),
        Err(_) => lab,
    };
    match std::env::var_os("PATH") {
        Some(path) => lab.with_tools_in(&path),
        None => lab,
    }
}

/// Mounts filesystems again that killed runs had unmounted, before a run, since its directory may
/// be on one of them. Only root can mount.
pub(super) fn mount_again_before_run() {
    if is_root() {
        mount_again(&configured(Lab::unopened(&first_directory())), &Terminal);
    }
}

fn list(args: &OutputArgs, reboots: &RebootControl) -> Result<(), Failure> {
    let mut unusable = Vec::new();
    let lab = open_first_usable(&mut unusable);
    say_lab_cautions(&unusable, &Terminal);
    let leftovers = lab.list()?;
    let rows = leftovers.iter().map(|leftover| [leftover.kind.to_string(), leftover.owner()]);
    let traces = StaleInstance::list().into_iter().map(|left| {
        let owner = format!("a recording that has ended (process {})", left.process);
        [left.to_string(), owner]
    });
    let reboots = reboots.is_there().then(|| [reboots.words(), reboots.owner()]);
    output::write(&page::leftovers(rows.chain(traces).chain(reboots).collect()), args)
}

/// Ends the reboots of a plan; a running trial is its last.
fn end_reboots(reboots: &RebootControl, dry_run: bool) -> Result<(), Failure> {
    if !reboots.is_there() {
        return Ok(());
    }
    let what = reboots.words();
    if dry_run {
        print_line(&format!("would free {what}"));
        return Ok(());
    }
    reboots.end()?;
    print_line(&format!("freed {what}"));
    Ok(())
}

fn release((dry_run, give_up): (bool, bool), reboots: &RebootControl) -> Result<(), Failure> {
    // Reboots end first, so that the machine is not rebooted even if a later step fails.
    end_reboots(reboots, dry_run)?;

    let mut unusable = Vec::new();
    let lab = open_first_usable(&mut unusable);
    say_lab_cautions(&unusable, &Terminal);
    let leftovers = lab.list()?;
    let gone: Vec<LabLeftover> =
        leftovers.into_iter().filter(|leftover| !leftover.is_alive).collect();
    let traces = StaleInstance::list();
    if dry_run {
        let gone = gone.iter().map(|leftover| freeing_words(&leftover.kind));
        let traces = traces.iter().map(|left| format!("would free {left}"));
        gone.chain(traces).for_each(|line| print_line(&line));
        return Ok(());
    }
    let tried = gone.clone();
    let mut failed = free_leftovers(&lab, gone, traces, print_line);
    // A command that was tried and is still listed has failed.
    let mut cleanups = lab.list()?;
    let is_cleanup = |left: &LabLeftover| matches!(left.kind, LeftoverKind::Cleanup { .. });
    cleanups.retain(|left| is_cleanup(left) && tried.contains(left));
    if give_up {
        for left in cleanups.drain(..) {
            let what = left.kind.to_string();
            // Another release may have freed it meanwhile.
            if let Some(written) = lab.give_up(&left, trial_unix_ms())? {
                let written = written.display();
                print_line(&format!("given up: {what}; nothing was undone (noted in {written})"));
            }
            failed.retain(|words| !words.starts_with(&what));
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let failure = Failure::environment(format!("not freed: {}", failed.join("; ")));
    if cleanups.is_empty() {
        return Err(failure);
    }
    Err(failure.hint(
        "a cleanup command runs again with each release; undo by hand what it was to undo, then \
         give it up with `treering lab release --give-up`",
    ))
}

/// Size of a played disk without `--size`, as far as the disk has so much.
const SHOWN_BYTES: u64 = 4 << 30;

/// Attaches a played disk until the process is told to end.
fn disk(args: &DiskArgs) -> Result<(), Failure> {
    let model = PlayedModel::find(&args.disk)?;
    let bytes = match &args.size {
        Some(text) => size("--size", text)?,
        None => model.disk.capacity_bytes().min(SHOWN_BYTES),
    };
    let about = model.disk.about.clone();
    let signals = watch_signals()?;
    let device = LabDevice::played_disk(model, bytes, args.images.as_deref(), &open())?;
    for caution in device.cautions() {
        say(&format!("caution: {caution}"));
    }
    let nodes = device.members();
    let node = nodes.first().map(|member| member.node.display().to_string()).unwrap_or_default();
    print_line(&node);
    say(&format!("{node} is played: {about}. Unmount it before Ctrl-C takes it away"));
    while !signals.flag().is_raised() {
        sleep(Duration::from_millis(100));
    }
    let counts = device.played()?.unwrap_or_default();
    page::played_lines(&counts).iter().for_each(|line| say(line));
    Ok(device.release()?)
}

/// Process that plays a disk, connected to its parent by standard input and output.
fn play(path: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::environment(format!("cannot play {name}: {error}"));
    let fuse = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let image = stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    serve_played_disk(fuse, File::from(image), path, (name, text)).map_err(failed)
}

/// Filesystems that can be made, each with its version or the reason why not.
fn makeable(lab: &Lab) -> Vec<(&'static str, Result<String, String>)> {
    let availability = |filesystem| match lab.availability(filesystem) {
        Availability::Ready { version, .. } => Ok(version.unwrap_or_default()),
        Availability::Missing { why, how } => Err(format!("{why}: {how}")),
    };
    filesystems::makeable().map(|one| (one.name, availability(one))).collect()
}
