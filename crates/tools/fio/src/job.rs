//! Configured fio workload: the jobs of a file, their demands on the filesystem, and the session.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::read_to_string;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::language::{self, Amount, Engine, Machine, ParseContext, Section, Warning};
use treering_model::{Caution, Metric, Op, WorkLimit};
use treering_script::{
    ConfigError, ExistingFiles, Footprint, Job, JobDevice, OptionSpec, OutlineLine, RunRequest,
    ScaleUnit, Session, Settings, TargetFacts, ValueKind, WorkScale,
};

use super::headline::Headline;
use super::namespace::{DIRECTORY, FileName};
use super::offered::{JobLoad, led_by_due};
use super::options::{CLASSIC, IN_PLACE, JOB_FILE, NATIVE, REUSE, SET};
use super::run_plan::RunPlan;
use super::session::{JobSession, SETUP};
use super::status::StatusTriggers;
use super::typed;
use treering_kit::occupied::{is_numbered, refuse_existing};

/// Maximum of a parameter by which a job is scaled.
const SCALE_MAX: u64 = 1 << 44;

/// Longest accepted job file in bytes.
const BYTES_MAX: u64 = 2 << 20;
const PAGE_BYTES: u64 = 4096;
/// Name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Jobs of a file, resolved, with the settings of the run.
#[derive(Debug)]
pub(super) struct FileJob {
    plan: RunPlan,
    request: RunRequest,
    /// True if files of an earlier run may be reused.
    reuses: bool,
    /// Interim reports while jobs work; `None` if they are not supported by the mode.
    status: Option<StatusTriggers>,
}

/// Job files and the context for parsing them.
pub(super) struct Source<'s> {
    settings: &'s Settings,
    /// Job files, at least one; settings of the command line precede the first.
    files: Vec<JobFile<'s>>,
}

/// A job file of the command line.
struct JobFile<'s> {
    named: &'s str,
    /// Path of the file; `None` for settings of the command line and for standard input.
    path: Option<PathBuf>,
    /// Directory against which `include` paths are resolved.
    base: PathBuf,
    text: Vec<u8>,
}

/// Parses a job file: its name, its text, the names of the selected sections, and the context.
pub(super) type Parser<J> = fn(&str, &[u8], &[String], &ParseContext<'_>) -> Result<J, ConfigError>;

impl<'s> JobFile<'s> {
    fn read(settings: &'s Settings, named: &'s str) -> Result<Self, ConfigError> {
        if named == STANDARD_INPUT {
            let base = settings.base_dir.clone().unwrap_or_default();
            return Ok(Self { named, path: None, base, text: settings.input.clone() });
        }
        let path = settings.file(named);
        let text = settings.files.read(&path, BYTES_MAX).map_err(|error| {
            ConfigError::new(format!("cannot read the job file {named}: {error}"))
                .hint("give the path of a job file; examples/fio has some")
        })?;
        let base = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { named, path: Some(path), base, text })
    }
}

impl<'s> Source<'s> {
    /// Reads the job files that the settings name.
    pub(super) fn read(
        settings: &'s Settings,
        specs: &'s [OptionSpec],
    ) -> Result<Self, ConfigError> {
        let mut named: Vec<&str> = settings.values(JOB_FILE).collect();
        if specs.iter().any(|spec| spec.name == JOB_FILE && spec.value == ValueKind::Operand) {
            // The last one counts.
            named.drain(..named.len().saturating_sub(1));
        }
        if named.is_empty() && settings.values(typed::OPTION).next().is_some() {
            let base = settings.base_dir.clone().unwrap_or_default();
            let typed = JobFile { named: "", path: None, base, text: Vec::new() };
            return Ok(Self { settings, files: vec![typed] });
        }
        if named.is_empty() {
            return Err(ConfigError::new("no job(s) defined")
                .hint("give the path of a job file; examples/fio has some"));
        }
        let files = named.into_iter().map(|named| JobFile::read(settings, named));
        Ok(Self { settings, files: files.collect::<Result<_, _>>()? })
    }

    /// Parses each file, limited to the sections that the settings select. As in the original,
    /// settings of the command line and the choice of sections apply to the first file only.
    pub(super) fn parsed<J>(&self, parse: Parser<J>) -> Result<Vec<J>, ConfigError> {
        let mut parsed = Vec::new();
        let mut typed: Vec<String> =
            self.settings.values(typed::OPTION).map(str::to_owned).collect();
        let mut only: Vec<String> = self.settings.values("section").map(str::to_owned).collect();
        for file in &self.files {
            parsed.push(self.parsed_one(file, &typed, &only, parse)?);
            typed.clear();
            only.clear();
        }
        Ok(parsed)
    }

    fn parsed_one<J>(
        &self,
        file: &JobFile<'_>,
        typed: &[String],
        only: &[String],
        parse: Parser<J>,
    ) -> Result<J, ConfigError> {
        let base = file.base.as_path();
        let reader = |from: &str, included: &str| {
            let beside = if from == file.named {
                base.to_owned()
            } else {
                base.join(Path::new(from).parent().unwrap_or(Path::new("")))
            };
            let included_at = beside.join(included);
            let text = self.settings.files.read(&included_at, BYTES_MAX);
            let text = text.map_err(|error| error.to_string())?;
            Ok((included.to_owned(), text))
        };
        let environment = |name: &str| {
            let mut variables = self.settings.environment.iter();
            variables.find(|(variable, _)| variable == name).map(|(_, value)| value.clone())
        };
        let overriding = overriding(self.settings)?;
        let around = ParseContext {
            reader: &reader,
            environment: &environment,
            typed,
            overriding: &overriding,
            machine: machine(),
        };
        parse(file.named, &file.text, only, &around)
    }

    /// Recorded parameters: the absolute paths of the job files, and the settings of the command
    /// line.
    pub(super) fn parameters(&self) -> Parameters {
        let full = |path: &PathBuf| {
            let full = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            parameter(JOB_FILE, full.display())
        };
        let paths = self.files.iter().filter_map(|file| file.path.as_ref());
        let typed = self.settings.values(typed::OPTION);
        let typed = typed.map(|setting| parameter(typed::OPTION, setting));
        let sections = self.settings.values("section").map(|section| parameter("section", section));
        let set = self.settings.values(SET).map(|setting| parameter(SET, setting));
        paths.map(full).chain(typed).chain(sections).chain(set).collect()
    }
}

/// Options that words of a command line give, whichever of the words are known here: job settings,
/// chosen sections, and what is no option and the name of a file, as a job file.
pub fn options_of_words(words: Vec<String>) -> Vec<(String, String)> {
    const SECTION: &str = "section";
    let option = |word: String| {
        let body = word.strip_prefix("--").and_then(|body| body.split_once('='));
        match body.filter(|(name, _)| [typed::OPTION, SECTION].contains(name)) {
            Some((name, value)) => Some((name.to_owned(), value.to_owned())),
            None if word == "-" || Path::new(&word).is_file() => Some((JOB_FILE.to_owned(), word)),
            None => None,
        }
    };
    typed::collected(words).into_iter().filter_map(option).collect()
}

/// Block devices that the job files and the command line of the settings name, for jobs that only
/// the original understands. Of a file that cannot be read there are none.
pub fn named_devices(settings: &Settings) -> Vec<JobDevice> {
    let typed = settings.options().iter().filter(|(name, _)| name != JOB_FILE);
    let typed: Vec<(String, String)> = typed.cloned().collect();
    let of = |file: Option<&str>| {
        let file = file.map(|named| (JOB_FILE.to_owned(), named.to_owned()));
        let settings = settings.with_options(typed.iter().cloned().chain(file).collect());
        let parsed =
            Source::read(&settings, CLASSIC).and_then(|read| read.parsed(language::named_devices));
        parsed.unwrap_or_default().into_iter().flatten().collect::<Vec<_>>()
    };
    settings.values(JOB_FILE).map(Some).chain([None]).flat_map(of).collect()
}

/// Parameters that override those of the job file.
fn overriding(settings: &Settings) -> Result<Vec<String>, ConfigError> {
    let checked = |setting: &str| {
        let key = setting.split_once('=').map_or(setting, |(key, _)| key);
        if language::is_key(key) {
            return Ok(setting.to_owned());
        }
        let shown = setting.escape_debug();
        let error = ConfigError::new(format!("{shown}: fio has no parameter of this name"));
        Err(match language::nearest_key(key) {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
            None => error.hint("docs/workloads/fio-jobfile.md lists the parameters"),
        })
    };
    settings.values(SET).map(checked).collect()
}

/// Names and values as a job records them.
type Parameters = Vec<(String, String)>;

/// Reads the jobs that the settings name, with the recorded parameters.
pub(super) fn read_jobs(
    settings: &Settings,
    specs: &[OptionSpec],
) -> Result<(Parameters, Vec<Section>), ConfigError> {
    let source = Source::read(settings, specs)?;
    let mut jobs = Vec::new();
    for (number, mut of_file) in source.parsed(language::parse)?.into_iter().enumerate() {
        // As in the original, the jobs of a file begin when those of the previous one have ended.
        if number > 0
            && let Some(first) = of_file.first_mut()
        {
            first.stonewall = true;
        }
        jobs.append(&mut of_file);
    }
    let clones = jobs.iter().fold(0_u64, |sum, job| sum.saturating_add(job.clones));
    if clones > language::WORKERS_MAX {
        let what = format!("the job files have {clones} clones in all");
        let most = language::WORKERS_MAX;
        return Err(ConfigError::new(what).hint(format!("there are at most {most}")));
    }
    if settings.flag("readonly") {
        jobs.iter_mut().for_each(|job| job.extras.is_readonly = true);
    }
    refuse_nodes(&jobs)?;
    Ok((source.parameters(), jobs))
}

/// Formats the job files as a command line of the original.
pub(super) fn shown_command(settings: &Settings) -> Result<String, ConfigError> {
    let files = Source::read(settings, CLASSIC)?;
    Ok(files.parsed(language::command_line)?.concat())
}

/// Refuses NUMA options on machines with several nodes; with one node they change nothing.
fn refuse_nodes(jobs: &[Section]) -> Result<(), ConfigError> {
    if !jobs.iter().any(|job| job.extras.names_nodes) {
        return Ok(());
    }
    let online = read_to_string("/sys/devices/system/node/online").unwrap_or_default();
    if matches!(online.trim(), "" | "0") {
        return Ok(());
    }
    Err(ConfigError::new("numa_cpu_nodes and numa_mem_policy: this machine has several nodes")
        .hint(language::WITH_FIO))
}

/// Values of `$ncpus`, `$pagesize` and `$mb_memory` on this machine.
fn machine() -> Machine {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    let memory = read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory.lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok()
    });
    Machine { cpus, page_bytes: PAGE_BYTES, memory_mib: kib.unwrap_or(0) / 1024 }
}

fn parameter(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// Settings of the jobs, each job under a unique name.
fn contents(jobs: &[Section]) -> Vec<(String, String)> {
    let mut contents = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        contents.push((format!("{JOB_FILE}.{number}.name"), job.name.clone()));
        if job.heading.title != job.name {
            contents.push((format!("{JOB_FILE}.{number}.section"), job.heading.title.clone()));
        }
        let resolved = job.resolved().into_iter().filter(|(key, _)| *key != "name");
        contents.extend(resolved.map(|(key, value)| (format!("{JOB_FILE}.{number}.{key}"), value)));
    }
    contents
}

impl FileJob {
    /// Builds the job from the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let (mut parameters, jobs) = read_jobs(settings, CLASSIC)?;
        parameters.extend(contents(&jobs));
        let plan = RunPlan::classic(settings, jobs)?;
        let status = Some(StatusTriggers::from_settings(settings)?);
        Ok(Self { plan, request: RunRequest::classic(parameters), reuses: false, status })
    }

    /// Builds the job from native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        Self::native_but(settings, &|_| ())
    }

    /// The sections of the jobs.
    pub(super) fn sections(&self) -> impl Iterator<Item = &Section> {
        self.plan.jobs.iter().map(AsRef::as_ref)
    }

    /// Builds the job from native options, with `change` applied to each section.
    pub(super) fn native_but(
        settings: &Settings,
        change: &dyn Fn(&mut Section),
    ) -> Result<Self, ConfigError> {
        let (mut parameters, mut jobs) = read_jobs(settings, NATIVE)?;
        jobs.iter_mut().for_each(change);
        if let Some(job) = jobs.iter().find(|job| job.logs.is_any()) {
            let what = format!("[{}]: write_lat_log and its like", job.name.escape_debug());
            return Err(ConfigError::new(format!("{what} are written in classic mode only"))
                .hint(language::WITH_FIO));
        }
        if let Some(job) = jobs.iter().find(|job| job.extras.warnings.contains(&Warning::Timeless))
        {
            let what = format!("[{}]: time_based without a runtime", job.name.escape_debug());
            return Err(ConfigError::new(what).hint("write runtime=..."));
        }
        // Under fio's name such a value is read as fio does, with a note.
        let mut noted = jobs.iter().filter_map(|job| Some((job, job.extras.notes.first()?)));
        if let Some((job, note)) = noted.next() {
            let what = format!("[{}]: {note}", job.name.escape_debug());
            return Err(ConfigError::new(what).hint("write the value that is meant, whole"));
        }
        if let Some(job) = jobs.iter().find(|job| job.extras.replays.is_some()) {
            let what = format!("[{}]: read_iolog", job.name.escape_debug());
            return Err(ConfigError::new(format!(
                "{what} names files anywhere: in classic mode only"
            ))
            .hint(language::WITH_FIO));
        }
        if let Some(seconds) = settings.number(NATIVE, "runtime", 1..=1_000_000)? {
            parameters.push(parameter("runtime", seconds));
            for job in jobs.iter_mut().filter(|job| job.runtime_us > 0) {
                job.runtime_us = seconds * 1_000_000;
            }
        }
        let seed = settings.number(NATIVE, "seed", 0..=u64::MAX)?.unwrap_or(1);
        parameters.push(parameter("seed", seed));
        let resolved = contents(&jobs);
        let offered = JobLoad::from_settings(settings, NATIVE, &mut jobs, &mut parameters)?;
        parameters.extend(resolved);
        let in_place = settings.flag(IN_PLACE);
        if in_place {
            can_work_in_place(&jobs)?;
            parameters.push(parameter(IN_PLACE, true));
        }
        let plan = RunPlan::new(jobs, offered, settings.started_unix_ms, in_place)?;
        let reuses = settings.flag(REUSE);
        if reuses {
            parameters.push(parameter(REUSE, true));
        }
        Ok(Self { plan, request: RunRequest::native(parameters), reuses, status: None })
    }
}

/// Refuses a target that already holds an entry named like a directory of a run.
pub(super) fn refuse_leftovers(facts: &TargetFacts) -> Result<(), ConfigError> {
    refuse_existing(facts, |name| is_numbered(name, DIRECTORY))
}

/// Refuses jobs that make or remove files, which a run in place does not.
fn can_work_in_place(jobs: &[Section]) -> Result<(), ConfigError> {
    let makes = |job: &&Section| {
        job.create_on_open
            || job.unlink
            || job.extras.unlinks_each_pass
            || job.extras.appends
            || matches!(
                job.engine,
                Engine::FileCreate | Engine::FileDelete | Engine::Ftruncate | Engine::Falloc
            )
    };
    let Some(job) = jobs.iter().find(makes) else { return Ok(()) };
    let what = format!("[{}] makes, resizes or removes files", job.name.escape_debug());
    Err(ConfigError::new(what).hint("leave --in-place out, and the job has files of its own"))
}

/// Size in bytes of one of a job's files.
fn file_bytes(job: &Section, number: u64) -> u64 {
    if job.engine.is_without_files() {
        return 0;
    }
    let offset = match job.offset {
        Amount::Bytes(bytes) => bytes.saturating_add(match job.offset_increment {
            Amount::Bytes(more) => more.saturating_mul(number),
            Amount::Percent(_) => 0,
        }),
        Amount::Percent(_) => 0,
    };
    let bytes = match (job.file_size, job.size) {
        (Some((_, high)), _) => high,
        (None, Some(Amount::Bytes(bytes))) => bytes.div_ceil(job.files.max(1)),
        (None, _) => 0,
    };
    bytes.saturating_add(offset)
}

impl Job for FileJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn refuses_ranks(&self) -> Option<&'static str> {
        if self.plan.namespace.in_place {
            return Some("each rank has a directory of its own, without the files of the others");
        }
        self.plan.offered.is_some().then_some("an offered load is one stream of requests")
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        if !self.request.is_classic() && !self.reuses && !self.plan.namespace.in_place {
            refuse_leftovers(facts)?;
        }
        Ok(Vec::new())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let block = facts.block_bytes.max(1);
        let mut files: HashMap<&FileName, u64> = HashMap::new();
        let workers = self.plan.workers.iter().filter(|worker| worker.job.engine != Engine::Null);
        for worker in workers {
            let bytes = file_bytes(&worker.job, worker.number);
            for name in worker.files.iter().filter(|name| !name.is_device) {
                let before = files.entry(name).or_default();
                *before = bytes.max(*before);
            }
        }
        let sum = |of: &dyn Fn(u64) -> u64| {
            files.values().fold(0_u64, |sum, &bytes| sum.saturating_add(of(bytes)))
        };
        let bytes = sum(&|bytes| bytes);
        let count = files.len() as u64;
        let peak = Footprint {
            peak_files: count,
            peak_dirs: self.plan.namespace.directories.len() as u64,
            peak_bytes: bytes,
            peak_block_bytes: sum(&|bytes| bytes.div_ceil(block).saturating_mul(block)),
            written_files: count,
            written_bytes: bytes,
        };
        let directories = self.plan.namespace.names();
        let is_there = directories.iter().all(|name| facts.existing.contains(name));
        if self.reuses && is_there || self.plan.namespace.in_place {
            // Reused files need no further space.
            return Footprint { peak_files: 0, peak_dirs: 0, peak_block_bytes: 0, ..peak };
        }
        peak
    }

    fn existing_files(&self) -> Option<ExistingFiles> {
        let changes = |job: &Section| job.rw.writes || job.rw.trims;
        let is_changed = self.plan.jobs.iter().any(|job| changes(job));
        let of = if is_changed { ExistingFiles::Rewritten } else { ExistingFiles::Read };
        self.plan.namespace.in_place.then_some(of)
    }

    fn devices(&self) -> Vec<JobDevice> {
        let workers = self.plan.workers.iter().filter(|worker| worker.job.engine != Engine::Null);
        let each = workers.flat_map(|worker| {
            let job = &worker.job;
            let devices = worker.files.iter().filter(|file| file.is_device);
            devices.map(|file| JobDevice {
                path: PathBuf::from(OsStr::from_bytes(file.name.to_bytes())),
                is_written: job.rw.writes,
                may_be_mounted: self.request.is_classic() && job.extras.writes_mounted,
            })
        });
        let mut devices: Vec<JobDevice> = Vec::new();
        for device in each {
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        devices
    }

    /// Resolved jobs, as a job file.
    fn outline(&self, _facts: &TargetFacts) -> Vec<OutlineLine> {
        let jobs: Vec<Section> = self.plan.jobs.iter().map(|job| Section::clone(job)).collect();
        language::show(&jobs).lines().map(str::to_owned).collect()
    }

    fn work(&self) -> WorkLimit {
        let timed = self.plan.jobs.iter().any(|job| job.runtime_us > 0);
        if timed { WorkLimit::Timed } else { WorkLimit::Fixed }
    }

    fn waits_for_requests(&self) -> bool {
        true
    }

    fn scale(&self) -> Option<WorkScale> {
        let jobs = &self.plan.jobs;
        // Several sections may differ in what one parameter for all of them would make equal.
        let common = |of: &dyn Fn(&Section) -> u64| {
            let first = jobs.first().map(|job| of(job)).filter(|value| *value > 0)?;
            jobs.iter().all(|job| of(job) == first).then_some(first)
        };
        let bytes = |job: &Section| match job.size {
            Some(Amount::Bytes(bytes)) if job.io_size.is_none() => bytes,
            _ => 0,
        };
        let requests = ScaleUnit::Amount { name: "requests", each: 1 };
        let timed = jobs.iter().map(|job| job.runtime_us / 1_000_000).max().unwrap_or(0);
        let (option, key, value, unit) = if timed > 0 {
            ("runtime", None, timed, ScaleUnit::Seconds)
        } else if let Some(count) = common(&|job| job.number_ios) {
            (SET, Some("number_ios"), count, requests)
        } else if self.plan.namespace.in_place {
            // Files that are there keep their size.
            return None;
        } else {
            (SET, Some("size"), common(&bytes)?, ScaleUnit::Bytes)
        };
        let is_free = !self.request.is_classic() && self.plan.offered.is_none();
        is_free.then_some(WorkScale {
            option,
            key,
            value,
            most: SCALE_MAX,
            unit,
            follows: |phase| phase != SETUP,
            sizes: &[JOB_FILE],
        })
    }

    fn times_every_call(&self) -> bool {
        true
    }

    fn tasks(&self, _facts: &TargetFacts) -> u64 {
        // Each clone has two tasks: the layout of its files, and its work.
        2 * self.plan.workers.len() as u64 + u64::from(!self.request.is_classic())
    }

    fn deciding_sync(&self) -> Option<Op> {
        // Several sections have latencies of their own, which the headline tells apart.
        let [job] = self.plan.jobs.as_slice() else { return None };
        (!self.request.is_classic() && job.fsync + job.fdatasync > 0).then_some(Op::Fsync)
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        let workers = self.plan.workers.iter();
        let headline = Headline::new(&self.plan);
        let headline = headline.foreseen(workers.map(|worker| worker.job.directions().collect()));
        let offered = self.plan.offered.as_ref().map(JobLoad::foreseen).unwrap_or_default();
        led_by_due(offered, headline)
    }

    fn begin(&self, facts: &TargetFacts) -> Box<dyn Session + '_> {
        let there = if self.reuses { facts.existing.as_slice() } else { &[] };
        Box::new(JobSession::new(self.plan.clone(), self.status.clone(), there))
    }
}
