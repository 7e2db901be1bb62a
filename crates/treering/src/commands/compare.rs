//! `treering compare`: variants made one after the other on one device, in interleaved rounds.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use treering_campaign::schedule;
use treering_engine::{EngineOptions, LatencyMode, PayloadKind, Progress, TrialClock};
use treering_lab::{
    Availability, Device, EraseList, Lab, Mounted, SettleLimits, filesystems, settle,
};
use treering_model::{DeviceSpec, Ending, Fact, TrialId, Variant};
use treering_script::{Job, Workload};
use treering_sys::SignalWatch;

use super::trial::{Asked, lab_failure, run as run_trial, take};
use super::{lab, workload};
use crate::arguments::{AnyRunArgs, CompareArgs, settings_of_words};
use crate::classic_voice::say;
use crate::failure::{Failure, Kind};

/// What a mark in the label says of a trial that is kept and not compared.
const WARM_UP: &str = " (warm-up)";
/// What a mark in the label says of the baseline's second arm.
const AGAIN: &str = " (again)";

/// Compares.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode, Failure> {
    let workload = workload(&args.workload).ok_or_else(|| {
        Failure::new(Kind::Usage, format!("--workload: there is no workload '{}'", args.workload))
    })?;
    let settings = settings_of_words(workload.manifest().native, &args.options)?;
    let job = workload.native(&settings)?;
    let lab = lab::open()?;
    let arms = arms(args, &lab)?;
    let cells = cells(args, arms.len());
    if args.dry_run {
        return dry_run(&arms, &cells, job.as_ref());
    }
    let comparison = Comparison { args, workload, job: job.as_ref(), lab, arms };
    comparison.conduct(&cells)
}

/// One arm: a variant, or the baseline a second time.
struct Arm {
    label: String,
    variant: Variant,
}

/// One cell in its order: the round (0 is the warm-up) and the arm.
#[derive(Clone, Copy)]
struct Cell {
    round: usize,
    arm: usize,
}

fn arms(args: &CompareArgs, lab: &Lab) -> Result<Vec<Arm>, Failure> {
    let bytes = treering_script::parse_size(&args.size).ok_or_else(|| {
        Failure::new(Kind::Usage, format!("--size: '{}' is not a size", args.size))
            .hint("a size is a number with K, M, G or T, as 4GiB")
    })?;
    let mut arms: Vec<Arm> = Vec::new();
    for name in &args.filesystems {
        let filesystem = filesystems::find(name).ok_or_else(|| {
            let known: Vec<&str> = filesystems::ALL.iter().map(|one| one.name()).collect();
            let message = format!("--filesystems: '{name}' is not one of: {}", known.join(", "));
            Failure::new(Kind::Usage, message)
        })?;
        if filesystem.name() == "tmpfs" {
            let message = "--filesystems: tmpfs has no device to be compared on";
            return Err(Failure::new(Kind::Usage, message)
                .hint("`treering run` with --dir /dev/shm/x measures it by itself"));
        }
        if let Availability::Missing { why, how } = lab.availability(filesystem) {
            return Err(Failure::new(Kind::Environment, format!("{name}: {why}")).hint(how));
        }
        if arms.iter().any(|arm| arm.label == *name) {
            let message = format!("--filesystems: '{name}' is there twice");
            return Err(Failure::new(Kind::Usage, message)
                .hint("the baseline is run twice anyway, as a control"));
        }
        let device = DeviceSpec::Loop {
            bytes,
            count: 1,
            sparse: false,
            direct_io: true,
            sector_bytes: 512,
            directory: args.images.clone(),
        };
        let variant = Variant {
            name: name.clone(),
            kernel: None,
            device,
            filesystem: name.clone(),
            mkfs: Vec::new(),
            mount: args.mount.clone(),
        };
        arms.push(Arm { label: name.clone(), variant });
    }
    if let (Some(first), false) = (arms.first(), args.no_control) {
        let variant = first.variant.clone();
        arms.push(Arm { label: format!("{}{AGAIN}", first.label), variant });
    }
    Ok(arms)
}

fn cells(args: &CompareArgs, arms: usize) -> Vec<Cell> {
    let first = usize::from(args.no_warm_up);
    let rounds = usize::from(args.rounds) + usize::from(!args.no_warm_up);
    let order = schedule(arms, rounds, args.seed).into_iter().enumerate();
    order
        .flat_map(|(round, arms)| {
            arms.into_iter().map(move |arm| Cell { round: round + first, arm })
        })
        .collect()
}

fn dry_run(arms: &[Arm], cells: &[Cell], job: &dyn Job) -> Result<ExitCode, Failure> {
    let footprint = job.footprint(&treering_script::TargetFacts::unknown());
    super::output::with_writer(None, |out| {
        for cell in cells {
            let warm_up = if cell.round == 0 { WARM_UP } else { "" };
            writeln!(out, "round {} {}{warm_up}", cell.round, arms[cell.arm].label)?;
        }
        writeln!(
            out,
            "{} trials; each writes {} files, {} MiB, at most {} MiB at a time",
            cells.len(),
            footprint.written_files,
            footprint.written_bytes >> 20,
            footprint.peak_block_bytes >> 20
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

struct Comparison<'a> {
    args: &'a CompareArgs,
    workload: &'static dyn Workload,
    job: &'a dyn Job,
    lab: Lab,
    arms: Vec<Arm>,
}

impl Comparison<'_> {
    fn conduct(&self, cells: &[Cell]) -> Result<ExitCode, Failure> {
        let signals = SignalWatch::begin().map_err(|error| {
            Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
        })?;
        let first = self
            .arms
            .first()
            .ok_or_else(|| Failure::new(Kind::Usage, "--filesystems names no filesystem"))?;
        let mut device = self.acquire(&first.variant)?;
        let mut trials: Vec<Vec<TrialId>> = vec![Vec::new(); self.arms.len()];
        let began = Instant::now();
        for (done, cell) in cells.iter().enumerate() {
            if signals.flag().is_raised() {
                break;
            }
            self.announce(*cell, done, cells.len(), began.elapsed());
            let mounted = mount(device, &self.arms[cell.arm].variant)?;
            let ran = self.trial(*cell, &mounted);
            // Whatever became of the trial, what we made is given back before it is told.
            device = mounted.release().map_err(|error| lab_failure(&error))?;
            match ran {
                Ok(trial) if cell.round > 0 => trials[cell.arm].extend(trial),
                Ok(_) => {}
                Err(failure) => {
                    device.release().map_err(|error| lab_failure(&error))?;
                    return Err(failure);
                }
            }
        }
        device.release().map_err(|error| lab_failure(&error))?;
        if signals.flag().is_raised() {
            say("interrupted: finished trials are kept");
            return Ok(ExitCode::from(Kind::Interrupted.code()));
        }
        self.report(trials)
    }

    /// The device of all variants: the same place on the disk for each of them.
    fn acquire(&self, variant: &Variant) -> Result<Device, Failure> {
        let device = Device::acquire(variant, &EraseList::default(), &self.lab)
            .map_err(|error| lab_failure(&error))?;
        for doubt in device.doubts() {
            say(&format!("caution: {doubt}"));
        }
        Ok(device)
    }

    fn announce(&self, cell: Cell, done: usize, all: usize, passed: Duration) {
        let left = if done == 0 {
            String::new()
        } else {
            let seconds = passed.as_secs_f64() / done as f64 * (all - done) as f64;
            format!(", about {} left", minutes(seconds))
        };
        let label = &self.arms[cell.arm].label;
        let round = match cell.round {
            0 => "warm-up".to_owned(),
            round => format!("round {round}"),
        };
        say(&format!("{round}: {label} (trial {} of {all}{left})", done + 1));
    }

    fn trial(&self, cell: Cell, mounted: &Mounted) -> Result<Option<TrialId>, Failure> {
        let arm = &self.arms[cell.arm];
        let warm_up = if cell.round == 0 { WARM_UP } else { "" };
        let any = AnyRunArgs {
            label: format!("{}{warm_up}", arm.label),
            store: self.args.store.store.clone(),
            ..AnyRunArgs::default()
        };
        let signals = SignalWatch::begin().map_err(|error| {
            Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
        })?;
        settle(mounted.root(), &SettleLimits::default(), signals.flag())
            .map_err(|error| lab_failure(&error))?;
        let place = take(&mounted.root().join("work"))?;
        let asked = Asked {
            workload: self.workload,
            job: self.job,
            any: &any,
            parameters: Vec::new(),
            engine: EngineOptions {
                latency: LatencyMode::Sampled,
                payload: PayloadKind::Native { compressibility: 0 },
                seed: self.args.seed,
                clock: TrialClock::begin(),
            },
            // The next cell formats the device: removing trees would only take time.
            keep: true,
            facts: facts(arm, cell, mounted),
        };
        let done = run_trial(asked, place, Vec::new(), &Arc::new(Progress::new()), &mut |_| {})?;
        if let Ending::Failed { why } = &done.conclusion.ending {
            say(&format!("{}: the trial failed: {why}", arm.label));
        }
        Ok(done.trial.map(|trial| trial.beginning.trial))
    }

    fn report(&self, trials: Vec<Vec<TrialId>>) -> Result<ExitCode, Failure> {
        let labels = self.arms.iter().map(|arm| arm.label.clone());
        let arms: Vec<(String, Vec<TrialId>)> = labels.zip(trials).collect();
        super::report::of_arms(&arms, &self.args.store, &self.args.output, self.args.gate)
    }
}

fn mount(device: Device, variant: &Variant) -> Result<Mounted, Failure> {
    device
        .format(&variant.filesystem, &variant.mkfs)
        .and_then(|volume| volume.mount(&variant.mount))
        .map_err(|error| lab_failure(&error))
}

/// How the place of a cell was made, as facts of its trial.
fn facts(arm: &Arm, cell: Cell, mounted: &Mounted) -> Vec<Fact> {
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    let mut facts = vec![
        fact("variant.name", arm.variant.name.clone()),
        fact("variant.round", cell.round.to_string()),
    ];
    if let Some(record) = mounted.format_record() {
        facts.push(fact("mkfs.command", record.command.join(" ")));
        facts.push(fact("mkfs.version", record.tool_version.clone().unwrap_or_default()));
        facts.push(fact("mkfs.output", record.output.trim().to_owned()));
    }
    facts
}

fn minutes(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}
