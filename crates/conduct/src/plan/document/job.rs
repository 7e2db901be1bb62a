//! Jobs: workloads with their options, made by the workloads themselves.

mod against;
pub(super) mod steps;

use std::ops::Range;

use treering_model::nearest::suggestion;
use treering_script::{ConfigError, JobRecord, SettingFiles, Settings, Workload};

use super::format::{JobTable, PlanTable};
use super::given::{self, GivenOption};
use super::tree::Placed;
use super::{Known, command, engine, ranks};
use crate::plan::error::{Fault, quoted};
use crate::plan::{
    JobCommands, JobEngine, JobPhases, Launch, PlannedJob, QUICK_OPTIONS, job_of_ranks,
};

pub(super) const DEFAULT_WORKLOAD: &str = "compilebench";

/// Jobs of a plan, followed by its steps.
pub(super) fn jobs(top: &PlanTable, known: &Known<'_>) -> Result<Vec<PlannedJob>, Fault> {
    if let Some(sections) = top.job.as_ref().filter(|sections| sections.0.is_empty()) {
        return Err(sections.fault("the plan has no job", "").hint("omit `job` for a quick one"));
    }
    let of_jobs = top.job.iter().flat_map(|sections| &sections.0);
    let of_steps = top.step.iter().flat_map(|sections| &sections.0);
    let sections: Vec<&Placed<JobTable>> = of_jobs.chain(of_steps).collect();
    if sections.is_empty() {
        return Ok(vec![quick(top, known)?]);
    }
    let steps = top.step.as_ref().map_or(0, |sections| sections.0.len());
    let mut jobs: Vec<PlannedJob> = Vec::new();
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (place, section) in sections.iter().enumerate() {
        let (mut job, span) = job(top, section, known)?;
        job.step = steps::step(section, place + steps >= sections.len(), &job)?;
        if let Some(first) = jobs.iter().position(|other| other.name == job.name) {
            let message = format!("two jobs are called {}", quoted(&job.name));
            return Err(Fault::at(span, message, "the second")
                .also(spans[first].clone(), "the first")
                .hint("give each a `name` of its own"));
        }
        jobs.push(job);
        spans.push(span);
    }
    let against = against::baselines(&sections, &jobs)?;
    for (job, against) in jobs.iter_mut().zip(against) {
        job.against = against;
    }
    Ok(jobs)
}

/// Default job of a plan without jobs.
fn quick(top: &PlanTable, known: &Known<'_>) -> Result<PlannedJob, Fault> {
    let options = QUICK_OPTIONS.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let without = || Fault::whole("the plan has no [[job]]").hint("write one with its `workload`");
    let workload = find(DEFAULT_WORKLOAD, known).ok_or_else(without)?;
    let request = JobRequest {
        name: DEFAULT_WORKLOAD,
        workload,
        launch: ranks::launch(top, None, workload, known)?,
        place: &(0..0),
        environment: &known.environment,
        engine: JobEngine::default(),
        around: JobCommands::default(),
    };
    planned(request, &given::of_job(&options, workload.manifest()), known)
}

/// Job of a section, with the position of the value that names it.
fn job(
    top: &PlanTable,
    section: &Placed<JobTable>,
    known: &Known<'_>,
) -> Result<(PlannedJob, Range<usize>), Fault> {
    let workload_name = match &section.workload {
        Some(name) => name.text(),
        None if command::is_one(section) => command::WORKLOAD,
        None => DEFAULT_WORKLOAD,
    };
    let place = section.workload.as_ref().map_or(&section.span, |name| &name.span);
    let Some(workload) = find(workload_name, known) else {
        let names: Vec<&str> = known.workloads.iter().map(|each| each.manifest().name).collect();
        let message = format!("unknown workload {}", quoted(workload_name));
        let hint = suggestion(workload_name, &names, "workloads");
        return Err(Fault::at(place.clone(), message, "").hint(hint));
    };
    let (name, span) = match &section.name {
        Some(name) => (name.text(), &name.span),
        None => (workload_name, place),
    };
    let options = match &section.options {
        Some(options) => given::given(&options.0, workload.manifest(), section.workload.is_some())?,
        None => Vec::new(),
    };
    // Options of the full size are checked even if they are not used.
    let at_full_size = match &section.full {
        Some(options) => given::given(&options.0, workload.manifest(), section.workload.is_some())?,
        None => Vec::new(),
    };
    let mut given = if known.is_full_size { given::merged(options, at_full_size) } else { options };
    given.extend(command::given(section, workload_name)?);
    let request = JobRequest {
        name,
        workload,
        launch: ranks::launch(top, Some(section), workload, known)?,
        place,
        environment: &known.environment,
        engine: engine::engine(section, workload.manifest())?,
        around: command::around(section, workload_name)?,
    };
    let job = planned(request, &given, known)?;
    engine::check_external_program(section, job.job.as_ref())?;
    if let (true, Some(workload)) = (job.launch.is_some() && job.job.remounts(), &section.workload)
    {
        return Err(ranks::is_mounted_again(workload.span.clone()));
    }
    Ok((job, span.clone()))
}

/// Request to make a job.
pub(super) struct JobRequest<'a> {
    /// Name in tables.
    pub(super) name: &'a str,
    pub(super) workload: &'static dyn Workload,
    pub(super) launch: Option<Launch>,
    /// Position of faults that belong to no option.
    pub(super) place: &'a Range<usize>,
    /// Variables that files of the workload may refer to.
    pub(super) environment: &'a [(String, String)],
    pub(super) engine: JobEngine,
    pub(super) around: JobCommands,
}

/// Job with these options, as its workload makes it.
pub(super) fn planned(
    request: JobRequest<'_>,
    given: &[GivenOption],
    known: &Known<'_>,
) -> Result<PlannedJob, Fault> {
    let JobRequest { name, workload, launch, place, environment, engine, around } = request;
    let options: Vec<(String, String)> =
        given.iter().map(|given| (given.name.to_owned(), given.text.clone())).collect();
    let settings = settings(&options, environment, known);
    let job = match &launch {
        Some(launch) => {
            job_of_ranks(workload, &settings, launch.ranks, known.workloads).map(|job| job.job)
        }
        None => workload.native(&settings),
    };
    let workload = workload.manifest().name;
    let job = job.map_err(|error| refusal(error, given, workload, place))?;
    let record = JobRecord::from_settings(&settings);
    let (name, workload) = (name.to_owned(), workload.to_owned());
    Ok(PlannedJob {
        name,
        workload,
        options,
        job,
        launch,
        settings,
        record,
        phases: JobPhases::default(),
        changed: Vec::new(),
        engine,
        around,
        against: None,
        step: None,
    })
}

/// Workload of this name.
pub(super) fn find(name: &str, known: &Known<'_>) -> Option<&'static dyn Workload> {
    known.workloads.iter().copied().find(|workload| workload.manifest().name == name)
}

fn settings(
    options: &[(String, String)],
    environment: &[(String, String)],
    known: &Known<'_>,
) -> Settings {
    let mut settings = Settings::new(options.to_vec());
    settings.data_dirs.clone_from(&known.data_dirs);
    settings.base_dir.clone_from(&known.base_dir);
    settings.environment = environment.to_vec();
    settings.files = SettingFiles::inside_program(known.files.clone());
    settings
}

/// Fault for an option that the workload refuses, at the position of the value that the error
/// mentions.
fn refusal(
    error: ConfigError,
    given: &[GivenOption],
    workload: &str,
    place: &Range<usize>,
) -> Fault {
    let words = error.message.strip_prefix("--");
    let about = words.and_then(|words| {
        let name = words.split([':', ' ']).next()?;
        given.iter().find(|given| given.name == name)
    });
    // Errors about data sets do not begin with the name of the option.
    let about = about.or_else(|| {
        given.iter().find(|given| !given.text.is_empty() && error.message.contains(&given.text))
    });
    // Options taken from the unchanged job have no position in the document.
    let about = about.map(|given| &given.span).filter(|span| !span.is_empty());
    let place = about.unwrap_or(place);
    // Plans write options without `--`; the prefix stays if the message mentions several options.
    let words = words.filter(|words| !words.contains("--")).unwrap_or(&error.message);
    let fault = Fault::at(place.clone(), format!("{workload}: {words}"), "");
    error.hint.into_iter().fold(fault, Fault::hint)
}
