//! Plan of a pack, adapted to this machine: its files written to a directory, its devices and
//! kernels replaced; and a plan for trials without one.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use treering_conduct::plan::document::{Known, read};
use treering_conduct::plan::{Conditions, Judging, Observing, Plan, PlannedJob, Stopping};
use treering_lab::filesystems;
use treering_model::{CellRole, DeviceSpec, RunMode, Trial, TrialId, Variant, VariantSettings};
use treering_script::{JobRecord, Settings};

use super::record::fingerprint;
use crate::arguments::RepeatArgs;
use crate::commands::trial::command_line;
use crate::commands::workload;
use crate::failure::{Failure, Kind};
use crate::places;

/// Directory with the files of a pack, removed after the repetition.
pub(super) struct PackedFiles {
    dir: PathBuf,
    /// Absolute paths of the pack, each with its path on this machine.
    moved: Vec<(String, String)>,
    environment: Vec<(String, String)>,
}

impl PackedFiles {
    /// Writes the files that the jobs of these trials were made from.
    pub(super) fn of(trials: &[Trial]) -> Result<Self, Failure> {
        let dir = std::env::temp_dir().join(format!("treering-repeat-{}", TrialId::new().text()));
        DirBuilder::new()
            .mode(0o700)
            .create(&dir)
            .map_err(|error| Failure::of_path(&dir, &error))?;
        let mut files = Self { dir, moved: Vec::new(), environment: Vec::new() };
        for record in trials.iter().filter_map(record) {
            files.environment.extend(record.environment);
            for (name, text) in record.files {
                files.write(&name, &text)?;
            }
        }
        Ok(files)
    }

    fn write(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        if self.moved.iter().any(|(known, _)| known == name) {
            return Ok(());
        }
        let is_beneath = |path: &Path| {
            path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        let path = if is_beneath(Path::new(name)) {
            self.dir.join(name)
        } else {
            // A place that is not here, or is not ours.
            let path = self.dir.join(format!("elsewhere-{}", self.moved.len() + 1));
            self.moved.push((name.to_owned(), path.to_string_lossy().into_owned()));
            path
        };
        let parent = path.parent().unwrap_or(&self.dir);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        written.map_err(|error| Failure::of_path(&path, &error))
    }

    /// Replaces the packed paths in a text by those on this machine.
    fn here(&self, text: &str) -> String {
        let quoted = |name: &str| format!("\"{name}\"");
        self.moved
            .iter()
            .fold(text.to_owned(), |text, (name, here)| text.replace(&quoted(name), &quoted(here)))
    }

    fn environment(&self) -> Vec<(String, String)> {
        let own = places::environment().into_iter();
        let others =
            own.filter(|(name, _)| !self.environment.iter().any(|(known, _)| known == name));
        self.environment.iter().cloned().chain(others).collect()
    }
}

impl Drop for PackedFiles {
    fn drop(&mut self) {
        let _left_behind = fs::remove_dir_all(&self.dir);
    }
}

/// Record of the sources of a trial's job.
pub(super) fn record(trial: &Trial) -> Option<JobRecord> {
    trial.artifacts.iter().find_map(|made| made.read(JobRecord::KIND, JobRecord::VERSION))
}

/// Plan of a campaign, unchanged.
pub(super) fn of_document(document: &str, files: &PackedFiles) -> Result<Plan, Failure> {
    let names = filesystems::names();
    let known = Known {
        workloads: treering_registry::workloads(),
        filesystems: &names,
        data_dirs: places::dataset_dirs(),
        environment: files.environment(),
        is_full_size: false,
        base_dir: Some(files.dir.clone()),
    };
    read(&files.here(document), "the plan of the pack", &known).map_err(|error| {
        let message = format!("the plan of the pack cannot be run here\n{error}");
        Failure::new(Kind::Usage, message.trim_end())
            .hint("what a plan names beside job files (data sets, saved images) is not in a pack")
    })
}

/// Plan for trials outside of campaigns: the same job in a directory.
pub(super) fn of_runs(trials: &[Trial], files: &PackedFiles) -> Result<Plan, Failure> {
    let usage = |message: String| Failure::new(Kind::Usage, message);
    let Some(first) = trials.first() else {
        return Err(usage("the pack has no trial".to_owned()));
    };
    let beginning = &first.beginning;
    let is_same = |one: &Trial| {
        (&one.beginning.workload, &one.beginning.parameters)
            == (&beginning.workload, &beginning.parameters)
    };
    if !trials.iter().all(is_same) {
        return Err(usage("the pack has several runs that are of no plan".to_owned())
            .hint("pack those of one command line: treering pack TRIAL…"));
    }
    if beginning.mode == RunMode::Classic {
        let line = command_line(first);
        return Err(usage(format!("the trial is a classic run of {}", beginning.workload))
            .hint(format!("repeat it by its own command line: {line}")));
    }
    let Some(workload) = workload(&beginning.workload) else {
        return Err(usage(format!("this treering has no workload {}", beginning.workload)));
    };
    let specs = workload.manifest().native;
    let options = record(first).map_or_else(
        || {
            let named = beginning.parameters.iter();
            named.filter(|(name, _)| specs.iter().any(|spec| spec.name == name)).cloned().collect()
        },
        |record| record.options,
    );
    let here = |(name, value): (String, String)| {
        let moved = files.moved.iter().find(|(known, _)| *known == value);
        (name, moved.map_or(value, |(_, here)| here.clone()))
    };
    let mut settings = Settings::new(options.into_iter().map(here).collect());
    settings.data_dirs = places::dataset_dirs();
    settings.environment = files.environment();
    settings.base_dir = Some(files.dir.clone());
    let job = workload.native(&settings)?;
    let name = beginning.workload.clone();
    let planned = PlannedJob {
        workload: name.clone(),
        name: name.clone(),
        options: settings.options().to_vec(),
        record: JobRecord::from_settings(&settings),
        job,
        launch: None,
    };
    let seed = settings.number(specs, "seed", 0..=u64::MAX).ok().flatten().unwrap_or(1);
    Ok(Plan {
        name: format!("repeat {name}"),
        question: String::new(),
        variants: vec![in_directory(name, PathBuf::from(&beginning.target))],
        guest: None,
        jobs: vec![planned],
        stopping: Stopping::Fixed { rounds: u32::try_from(trials.len()).unwrap_or(u32::MAX) },
        conditions: Conditions { warm_up: false, seed, ..Conditions::default() },
        observing: Observing::default(),
        judging: Judging::default(),
    })
}

fn in_directory(name: String, path: PathBuf) -> Variant {
    Variant {
        name,
        against: None,
        kernel: None,
        guest: None,
        device: DeviceSpec::Directory { path },
        filesystem: String::new(),
        mkfs: Vec::new(),
        mount: Vec::new(),
        image: None,
        handicap_percent: 0,
        settings: VariantSettings::default(),
    }
}

/// Gives every variant its devices and kernels on this machine, and reports the differences.
pub(super) fn settle(
    plan: &mut Plan,
    trials: &[Trial],
    args: &RepeatArgs,
) -> Result<Vec<String>, Failure> {
    let mut said = Vec::new();
    let last = trials.iter().filter_map(|trial| trial.beginning.cell.as_ref());
    let measured = last.filter(|cell| cell.role == CellRole::Round).map(|cell| cell.round).max();
    if let Some(rounds) = args.rounds.or(measured) {
        plan.stopping = Stopping::Fixed { rounds };
    }
    let running = treering_observe::kernel_release();
    for (at, variant) in plan.variants.iter_mut().enumerate() {
        device(variant, at, args, &mut said)?;
        kernel(variant, trials, args, &mut said)?;
        if let Some(wanted) = variant.kernel.as_ref().filter(|wanted| **wanted != running) {
            said.push(format!(
                "{}: it ran under the kernel {wanted}; under this one ({running}) it is not run",
                variant.name
            ));
        }
    }
    for record in trials.iter().filter_map(record) {
        let Some((name, was)) = record.dataset else { continue };
        let is = fingerprint(&name);
        let words = match &is {
            Some(is) if *is == was => continue,
            Some(_) => format!("the data set {name} has other files here"),
            None => format!("the data set {name} is not here"),
        };
        if !said.contains(&words) {
            said.push(words);
        }
    }
    Ok(said)
}

fn device(
    variant: &mut Variant,
    at: usize,
    args: &RepeatArgs,
    said: &mut Vec<String>,
) -> Result<(), Failure> {
    let name = variant.name.clone();
    let lacks = |message: String, hint: &str| Failure::new(Kind::Usage, message).hint(hint);
    match &mut variant.device {
        DeviceSpec::Directory { path } => {
            let Some(dir) = &args.dir else {
                let message = format!("{name}: it worked in a directory, {}", path.display());
                return Err(lacks(message, "name one on the filesystem to measure: --dir DIR"));
            };
            let dir = dir.canonicalize().map_err(|error| Failure::of_path(dir, &error))?;
            let here = dir.join(format!("repeat-{}", at + 1));
            if !args.dry_run {
                fs::create_dir_all(&here).map_err(|error| Failure::of_path(&here, &error))?;
            }
            *path = here;
        }
        DeviceSpec::Block { paths } => {
            if args.block.len() != paths.len() {
                let message = format!("{name}: it used {} block devices", paths.len());
                let hint = "name as many here, each with --block DEVICE; one that is not empty \
                            also needs --erase DEVICE";
                return Err(lacks(message, hint));
            }
            paths.clone_from(&args.block);
        }
        DeviceSpec::Loop { directory, .. } => {
            if let Some(place) = directory.take_if(|place| !place.is_dir()) {
                said.push(format!(
                    "{name}: its image is made elsewhere than in {}",
                    place.display()
                ));
            }
        }
    }
    Ok(())
}

fn kernel(
    variant: &mut Variant,
    trials: &[Trial],
    args: &RepeatArgs,
    said: &mut Vec<String>,
) -> Result<(), Failure> {
    let Some(guest) = &mut variant.guest else { return Ok(()) };
    let own = args.kernel.iter().find_map(|given| {
        let (name, file) = given.split_once('=')?;
        (name == variant.name).then_some(file)
    });
    let for_all = args.kernel.iter().map(String::as_str).find(|given| !given.contains('='));
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
        return Err(Failure::new(Kind::Usage, message).hint(hint));
    };
    let found = Path::new(file).canonicalize();
    guest.kernel = found.map_err(|error| Failure::of_path(Path::new(file), &error))?;
    if guest.kernel.file_name().is_some_and(|name| name.to_string_lossy() != was) {
        said.push(format!("{}: the kernel is {file}, and was {was}", variant.name));
    }
    Ok(())
}
