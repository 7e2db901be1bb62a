//! `--with-fio`: the user's own fio runs the jobs of a file, below the target.
//!
//! `relay` of the language passes the file on unchanged except for file locations. `program` asks
//! fio for its version, `session` starts it, and `reported` converts its report.

mod command_line;
mod program;
mod reported;
mod session;

use std::path::PathBuf;

use crate::language::{Direction, RelayedJob, relay};
use treering_model::{Caution, Metric, WorkLimit};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, Session, Settings, TargetFacts,
};

use super::headline::{Headline, RowTraits};
use super::job::{FileJob, Source, refuse_leftovers};
use super::namespace::{Namespace, directory};
use super::options::{JOB_FILE, NATIVE};
pub use command_line::FioCommandLine;
pub use program::installed;
use program::{Fio, NAME, OPTION};
use session::ForeignSession;

/// Keys that limit the time of a job.
const TIMES: [&str; 2] = ["runtime", "timeout"];

/// Jobs of a file, relayed to the original.
#[derive(Debug)]
pub(super) struct ForeignJob {
    fio: Fio,
    jobs: Vec<RelayedJob>,
    /// Text of the job file for the original.
    text: String,
    /// Number of directories below the target; the original works in the last one.
    directories: usize,
    request: RunRequest,
    /// Native version of the same jobs, if they can be run natively, for an estimate of the needed
    /// space.
    native: Option<FileJob>,
}

/// Path of the fio that the option names; `None` without the option.
pub(super) fn fio_path(settings: &Settings) -> Option<PathBuf> {
    let typed = settings.text(OPTION)?;
    // The word after the option is the job file if no other is given.
    if typed == "true" || typed == NAME || is_job_file(settings) {
        return Some(installed_or_bare_name(settings));
    }
    if !typed.contains('/') {
        return Some(PathBuf::from(typed));
    }
    // The program is started in a different working directory.
    let path = settings.file(typed);
    Some(std::path::absolute(&path).unwrap_or(path))
}

/// Path of the installed fio; the bare name if there is none.
fn installed_or_bare_name(settings: &Settings) -> PathBuf {
    let mut variables = settings.environment.iter();
    let path = variables.find(|(name, _)| name == "PATH").map_or("", |(_, paths)| paths.as_str());
    installed(path.as_ref()).unwrap_or_else(|| PathBuf::from(NAME))
}

/// True if the word behind the option is the job file.
fn is_job_file(settings: &Settings) -> bool {
    settings.text(JOB_FILE).is_none() && settings.text(OPTION).is_some_and(|typed| typed != NAME)
}

/// Settings with the job file moved to its own option.
pub(super) fn with_job_file_option(settings: &Settings) -> Settings {
    if !is_job_file(settings) {
        return settings.clone();
    }
    let settings_given = settings.options().iter().flat_map(|(name, value)| {
        if name == OPTION {
            vec![(OPTION.to_owned(), NAME.to_owned()), (JOB_FILE.to_owned(), value.clone())]
        } else {
            vec![(name.clone(), value.clone())]
        }
    });
    settings.with_options(settings_given.collect())
}

/// Path of the fio that the option names, or else of the installed one.
pub(super) fn program_of(settings: &Settings) -> PathBuf {
    fio_path(settings).unwrap_or_else(|| installed_or_bare_name(settings))
}

/// Additional settings of a job, by its number.
pub(super) type ExtraSettings<'m> = dyn Fn(usize) -> Vec<(String, String)> + 'm;

impl ForeignJob {
    /// Builds the job from native options; `more` adds settings at the end of each job.
    pub(super) fn new(
        settings: &Settings,
        path: PathBuf,
        added: &ExtraSettings<'_>,
    ) -> Result<Self, ConfigError> {
        if settings.text("seed").is_some() {
            return Err(ConfigError::new("--seed: what fio writes is its own affair")
                .hint("write randseed=... into the job file"));
        }
        let source = Source::read(settings, NATIVE)?;
        let jobs = source.parsed(relay)?.concat();
        let runtime = settings.number(NATIVE, "runtime", 1..=1_000_000)?;
        let fio = Fio::ask(path)?;
        let mut namespace = Namespace::new(false);
        let mut text = String::new();
        for (number, job) in jobs.iter().enumerate() {
            let (directories, names) = namespace.relayed(&job.section)?;
            let mut more = Vec::new();
            let mut add = |key: &str, value: String| more.push((key.to_owned(), value));
            directories.into_iter().for_each(|value| add("directory", value));
            names.into_iter().for_each(|value| add("filename", value));
            if fio.tells_all_latencies() && !job.sets("lat_percentiles") {
                add("lat_percentiles", "1".to_owned());
            }
            if let Some(seconds) = runtime.filter(|_| TIMES.iter().any(|key| job.sets(key))) {
                add("runtime", format!("{seconds}s"));
            }
            more.extend(added(number));
            text += &job.write(number, &more);
        }
        let named = settings.text(OPTION).filter(|typed| *typed != "true").unwrap_or(NAME);
        let mut parameters = source.parameters();
        parameters.push((OPTION.to_owned(), named.to_owned()));
        parameters.extend(runtime.map(|seconds| ("runtime".to_owned(), seconds.to_string())));
        parameters.extend(contents(&jobs));
        let native = FileJob::native(settings).ok();
        let directories = namespace.directories.len() + 1;
        Ok(Self { fio, jobs, text, directories, request: RunRequest::native(parameters), native })
    }
}

impl ForeignJob {
    /// Directory in which the original works, relative to the target.
    pub(super) fn working_directory(&self) -> String {
        directory(self.directories - 1)
    }
}

/// Directions in which a job moves data, by its settings; read is the default of fio.
fn directions(job: &RelayedJob) -> Vec<Direction> {
    let access = job.settings.iter().rev().find(|(key, _)| key == "rw" || key == "readwrite");
    let access = access.and_then(|(_, value)| value.as_deref()).unwrap_or("read");
    let both = access.contains("rw") || access.contains("readwrite");
    let has = |direction: &Direction| match direction {
        Direction::Read => both || access.contains("read"),
        Direction::Write => both || access.contains("write"),
        Direction::Trim => access.contains("trim"),
    };
    Direction::ALL.into_iter().filter(has).collect()
}

/// Traits of a section by its settings; `are_several` if the file has further sections.
fn traits(job: &RelayedJob, are_several: bool) -> RowTraits {
    let value = |name: &str| {
        let setting = job.settings.iter().rev().find(|(key, _)| key == name);
        setting.and_then(|(_, value)| value.as_deref()).unwrap_or("")
    };
    let is_number = |value: &str| value.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    // One value is for all directions.
    let is_paced = |name: &str, place: usize| {
        let values: Vec<&str> = value(name).split(',').collect();
        let own = if values.len() == 1 { values.first() } else { values.get(place) };
        own.is_some_and(|own| is_number(own))
    };
    let pauses = is_number(value("thinktime"));
    let writes = directions(job).contains(&Direction::Write);
    let has_syncs = writes && ["fsync", "fdatasync"].iter().any(|name| is_number(value(name)));
    RowTraits {
        is_mixed: false,
        paced: [0, 1, 2]
            .map(|place| pauses || is_paced("rate", place) || is_paced("rate_iops", place)),
        syncs: has_syncs || writes && is_number(value("sync_file_range")),
        has_own_syncs: has_syncs && are_several,
    }
}

/// Settings of the jobs, each job under a unique name.
fn contents(jobs: &[RelayedJob]) -> Vec<(String, String)> {
    let mut contents = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        let key = |key: &str| format!("{JOB_FILE}.{number}.{key}");
        contents.push((key("name"), job.section.name.clone()));
        for (name, value) in job.settings.iter().filter(|(name, _)| name != "name") {
            contents.push((key(name), value.clone().unwrap_or_else(|| "1".to_owned())));
        }
        for (name, paths) in
            [("directory", &job.section.directories), ("filename", &job.section.filenames)]
        {
            if !paths.is_empty() {
                contents.push((key(name), paths.join(":")));
            }
        }
    }
    contents
}

impl Job for ForeignJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        refuse_leftovers(facts).map(|()| Vec::new())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let directories = self.directories as u64;
        let native = self.native.as_ref().map(|native| native.footprint(facts));
        Footprint { peak_dirs: directories, ..native.unwrap_or_default() }
    }

    /// Job file that the original gets.
    fn outline(&self, _facts: &TargetFacts) -> Vec<OutlineLine> {
        self.text.lines().map(str::to_owned).collect()
    }

    fn work(&self) -> WorkLimit {
        let is_timed = |job: &RelayedJob| TIMES.iter().any(|key| job.sets(key));
        if self.jobs.iter().any(is_timed) { WorkLimit::Timed } else { WorkLimit::Fixed }
    }

    fn times_every_call(&self) -> bool {
        true
    }

    fn is_by_program(&self) -> bool {
        true
    }

    fn tasks(&self, _facts: &TargetFacts) -> u64 {
        1 + self.jobs.len() as u64
    }

    fn foreseen_metrics(&self, facts: &TargetFacts) -> Vec<Metric> {
        if let Some(native) = &self.native {
            return native.foreseen_metrics(facts);
        }
        let are_several = self.jobs.len() > 1;
        let sections =
            self.jobs.iter().map(|job| (job.section.name.as_str(), traits(job, are_several)));
        let rows = sections.enumerate().map(|(row, (name, traits))| (Some(row), name, traits));
        Headline::from_rows(rows).foreseen(self.jobs.iter().map(directions))
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(ForeignSession::new(self))
    }
}
