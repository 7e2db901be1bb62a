//! `treering lab`: lists the capabilities of the lab and the leftovers of killed runs, and frees
//! the latter.

use std::fs::File;
use std::io::{Write, stdout};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use treering_lab::{
    Availability, ImageLibrary, Lab, LabDevice, LabError, LabLeftover, LeftoverKind, PlanIdentity,
    PlayedModel, RebootControl, filesystems, serve_played_disk,
};
use treering_observe::block_trace::StaleInstance;
use treering_report::{Cell, Column, Report, Table};

use super::output;
use crate::arguments::{DiskArgs, LabVerb, size};
use crate::classic_output::say as note;
use crate::failure::{Failure, Kind};
use crate::places;
use treering_script::with_causes;
use treering_sys::{SignalWatch, is_root};

/// Runs a subcommand of `treering lab`.
pub(crate) fn run(verb: &LabVerb) -> Result<ExitCode, Failure> {
    match verb {
        LabVerb::List { output, root } => list(output, &root.reboots()),
        LabVerb::Release { dry_run, root } => release(*dry_run, &root.reboots()),
        LabVerb::Disk(args) => disk(args),
        LabVerb::Play { image, name, text } => play(image, name, text),
        LabVerb::Filesystems { output } => output::write(&what_there_is(&look()), output),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the lab of this user, after mounting again the filesystems that killed runs had unmounted,
/// and printing their names.
///
/// Where no directory for its records can be had, that is reported by whatever would record.
pub(crate) fn open() -> Lab {
    let lab = opened(&mut Vec::new());
    mount_again(&lab);
    lab
}

/// Opens the lab and prints which directories cannot be used, and why.
pub(super) fn open_with_cautions() -> Lab {
    let mut unusable = Vec::new();
    let lab = opened(&mut unusable);
    caution_about(&unusable);
    mount_again(&lab);
    lab
}

/// Opens the lab of this user read-only. Filesystems that killed runs had unmounted are only
/// printed.
pub(crate) fn look() -> Lab {
    let lab = configured(Lab::unopened(&first_directory()));
    for left in lab.left_unmounted().unwrap_or_default() {
        note(&format!(
            "caution: a killed run left {}; `treering lab release` mounts it again",
            left.what
        ));
    }
    lab
}

/// Opens the lab in the first usable directory; the errors of the directories before it go to
/// `unusable`.
fn opened(unusable: &mut Vec<LabError>) -> Lab {
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

fn caution_about(unusable: &[LabError]) {
    for error in unusable {
        let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        note(&format!("caution: {}{hint}", with_causes(error)));
    }
}

/// Mounts again the filesystems that killed runs had unmounted, and prints their names.
fn mount_again(lab: &Lab) {
    let left = lab.left_unmounted().unwrap_or_default();
    for (leftover, mounted) in lab.release(left) {
        match mounted {
            Ok(()) => note(&format!(
                "{}: a run that was killed had unmounted it",
                freed_words(&leftover.kind)
            )),
            Err(error) => caution_about(&[error]),
        }
    }
}

/// Restores such mounts before a run, since its directory may be on one of them. Only root can
/// mount.
pub(super) fn mount_again_before_run() {
    if is_root() {
        mount_again(&configured(Lab::unopened(&first_directory())));
    }
}

/// Describes how a leftover was released, in the past tense.
fn freed_words(what: &LeftoverKind) -> String {
    match what {
        LeftoverKind::Unmounted { point, device, fs_type } => {
            format!("mounted {fs_type} of {} at {} again", device.display(), point.display())
        }
        LeftoverKind::Settings { paths } => format!("put back {}", listed(paths)),
        LeftoverKind::Cleanup { command } => format!("ran the cleanup `{command}`"),
        other => format!("freed {other}"),
    }
}

/// Describes how a leftover would be released, for dry runs.
fn freeing_words(what: &LeftoverKind) -> String {
    match what {
        LeftoverKind::Unmounted { point, device, fs_type } => {
            format!("would mount {fs_type} of {} at {} again", device.display(), point.display())
        }
        LeftoverKind::Settings { paths } => format!("would put back {}", listed(paths)),
        LeftoverKind::Cleanup { command } => format!("would run the cleanup `{command}`"),
        other => format!("would free {other}"),
    }
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn list(args: &crate::arguments::OutputArgs, reboots: &RebootControl) -> Result<(), Failure> {
    let mut unusable = Vec::new();
    let lab = opened(&mut unusable);
    caution_about(&unusable);
    let all = lab.list()?;
    let traces = StaleInstance::list();
    let mut page = Report::new("The lab");
    if all.is_empty() && traces.is_empty() && !reboots.is_there() {
        page.paragraph("Nothing made by treering is left.");
    } else {
        let columns = vec![Column::long_text("what"), Column::text("whose")];
        let mut table = Table::new("lab", "", columns);
        for leftover in &all {
            let what = Cell::text(leftover.kind.to_string());
            table.rows.push(vec![what, Cell::text(owner(leftover))]);
        }
        for left in &traces {
            let whose =
                Cell::text(format!("a recording that has ended (process {})", left.process));
            table.rows.push(vec![Cell::text(left.to_string()), whose]);
        }
        if reboots.is_there() {
            let what = Cell::text(of_reboots(reboots));
            table.rows.push(vec![what, Cell::text(whose_reboots(reboots))]);
        }
        page.table(table);
        page.note("`treering lab release` releases what dead runs left behind.");
    }
    output::write(&page, args)
}

fn owner(leftover: &LabLeftover) -> String {
    let run = match &leftover.plan {
        Some(plan) => format!("a run of plan {}", plan.name.escape_debug()),
        None => "a run".to_owned(),
    };
    match leftover.pid {
        Some(pid) if leftover.is_alive => format!("{run}, running (process {pid})"),
        Some(pid) => format!("{run}, which is gone (process {pid})"),
        None => format!("{run}, which is gone"),
    }
}

/// Describes the pending reboots of a plan.
fn of_reboots(reboots: &RebootControl) -> String {
    format!("reboots of this machine ({})", reboots.unit_path().display())
}

fn whose_reboots(reboots: &RebootControl) -> String {
    let run = match reboots.record() {
        Ok(Some(record)) => format!("a run of plan {}", record.plan.name.escape_debug()),
        Ok(None) | Err(_) => "a run".to_owned(),
    };
    let state = if reboots.is_held() { "running" } else { "which goes on after the next boot" };
    format!("{run}, {state}")
}

/// Ends the reboots of a plan; a running trial is the last.
fn end_reboots(reboots: &RebootControl, dry_run: bool) -> Result<(), Failure> {
    if !reboots.is_there() {
        return Ok(());
    }
    let what = of_reboots(reboots);
    if dry_run {
        say(&format!("would free {what}"));
        return Ok(());
    }
    reboots.end()?;
    say(&format!("freed {what}"));
    Ok(())
}

fn release(dry_run: bool, reboots: &RebootControl) -> Result<(), Failure> {
    // First, so that the machine is not rebooted any more even if a later step fails.
    end_reboots(reboots, dry_run)?;

    let mut unusable = Vec::new();
    let lab = opened(&mut unusable);
    caution_about(&unusable);
    let all = lab.list()?;
    let gone: Vec<LabLeftover> = all.into_iter().filter(|leftover| !leftover.is_alive).collect();
    let traces = StaleInstance::list();
    if dry_run {
        let gone = gone.iter().map(|leftover| freeing_words(&leftover.kind));
        let traces = traces.iter().map(|left| format!("would free {left}"));
        gone.chain(traces).for_each(|line| say(&line));
        return Ok(());
    }
    let failed = free(&lab, gone, traces, say);
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Kind::Environment, format!("not freed: {}", failed.join("; "))))
}

/// Frees leftovers, passing a line about each to `freed`; returns those that could not be freed,
/// with the errors.
fn free(
    lab: &Lab,
    gone: Vec<LabLeftover>,
    traces: Vec<StaleInstance>,
    mut freed: impl FnMut(&str),
) -> Vec<String> {
    let gone = lab.release(gone).into_iter().map(|(leftover, freed)| {
        let (what, done) = (leftover.kind.to_string(), freed_words(&leftover.kind));
        (what, done, freed.map_err(|error| with_causes(&error)))
    });
    let traces = traces.into_iter().map(|left| {
        let freed = left.remove().map_err(|errno| errno.to_string());
        (left.to_string(), format!("freed {left}"), freed)
    });
    let mut failed = Vec::new();
    for (what, done, result) in gone.chain(traces) {
        match result {
            Ok(()) => freed(&done),
            Err(why) => failed.push(format!("{what}: {why}")),
        }
    }
    failed
}

/// Frees the leftovers of killed runs of this plan before the plan goes on, and prints them on
/// standard error. Leftovers of other runs are only printed.
pub(super) fn free_what_is_left(lab: &Lab, plan: &PlanIdentity) {
    let all = lab.list().unwrap_or_default();
    let gone = all.into_iter().filter(|leftover| !leftover.is_alive);
    let (own, foreign): (Vec<_>, Vec<_>) =
        gone.partition(|leftover| leftover.plan.as_ref() == Some(plan));
    // Instances of tracefs name a process; its records say which plan it carried out.
    let is_own = |trace: &StaleInstance| {
        own.iter().any(|leftover| {
            leftover.is_of_this_boot
                && leftover.pid == Some(trace.process)
                && leftover.start == Some(trace.start)
        })
    };
    let (own_traces, foreign_traces): (Vec<_>, Vec<_>) =
        StaleInstance::list().into_iter().partition(is_own);
    let freed = |done: &str| note(&format!("{done}, which a killed run of this plan left"));
    for what in free(lab, own, own_traces, freed) {
        note(&format!("caution: not freed, which a killed run of this plan left: {what}"));
    }
    let foreign = foreign.iter().map(|leftover| leftover.kind.to_string());
    let foreign = foreign.chain(foreign_traces.iter().map(StaleInstance::to_string));
    for what in foreign {
        note(&format!("another run that was killed left {what}; `treering lab release` frees it"));
    }
}

/// Attaches a played disk until the process is told to end.
fn disk(args: &DiskArgs) -> Result<(), Failure> {
    let bytes = size("--size", &args.size)?;
    let model = PlayedModel::find(&args.disk)?;
    let about = model.disk.about.clone();
    let signals = SignalWatch::begin().map_err(|error| {
        Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
    })?;
    let device = LabDevice::played_disk(model, bytes, args.images.as_deref(), &open())?;
    for caution in device.cautions() {
        note(&format!("caution: {caution}"));
    }
    let nodes = device.members();
    let node = nodes.first().map(|member| member.node.display().to_string()).unwrap_or_default();
    say(&node);
    note(&format!("{node} is played: {about}. Unmount it before Ctrl-C takes it away"));
    while !signals.flag().is_raised() {
        sleep(Duration::from_millis(100));
    }
    let counts = device.played()?.unwrap_or_default();
    let seconds = |ns: u64| ns as f64 / 1e9;
    let late_ns = |share| counts.late_ns_at(share).unwrap_or(0) as f64;
    note(&format!(
        "{} requests in {:.3} s of the disk (seeks {:.3} s, rotation {:.3} s, transfer {:.3} s)",
        counts.requests,
        seconds(counts.busy_ns),
        seconds(counts.seek_ns),
        seconds(counts.rotation_ns),
        seconds(counts.transfer_ns),
    ));
    note(&format!(
        "answers late by {:.0} µs (median), {:.0} µs (99 %), {:.2} % of that time; {:.2} s of CPU",
        late_ns(0.5) / 1e3,
        late_ns(0.99) / 1e3,
        counts.late_share() * 100.0,
        seconds(counts.cpu_ns),
    ));
    Ok(device.release()?)
}

/// Process that plays a disk; connected to its parent by standard input and output.
fn play(path: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Kind::Environment, format!("cannot play {name}: {error}"))
    };
    let fuse = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let image = stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    serve_played_disk(fuse, File::from(image), path, (name, text)).map_err(failed)
}

fn what_there_is(lab: &Lab) -> Report {
    let mut page = Report::new("Filesystems");
    let columns =
        vec![Column::text("filesystem"), Column::text("here"), Column::long_text("with, or how")];
    let mut table = Table::new("filesystems", "", columns);
    for filesystem in filesystems::makeable() {
        let (here, how) = match lab.availability(filesystem) {
            Availability::Ready { version, .. } => ("yes", version.unwrap_or_default()),
            Availability::Missing { why, how } => ("no", format!("{why}: {how}")),
        };
        table.rows.push(vec![Cell::text(filesystem.name), Cell::text(here), Cell::text(how)]);
    }
    page.table(table);
    page
}

/// Prints a line on standard output. Write errors are ignored: a closed pipe must not stop the
/// command.
fn say(line: &str) {
    let _nobody_listens = writeln!(stdout(), "{line}");
}
