//! Jobs: workloads with their options, made by the workloads themselves.

use std::ops::Range;

use treering_script::{ConfigError, JobRecord, Settings, Workload};

use super::format::{JobTable, PlanTable};
use super::given::{self, GivenOption};
use super::nearest::suggestion;
use super::tree::Placed;
use super::{Known, against, command, ranks, steps};
use crate::plan::error::{Fault, quoted};
use crate::plan::{PlannedJob, QUICK_OPTIONS, job_of_ranks};

pub(super) const DEFAULT_WORKLOAD: &str = "compilebench";

/// Jobs of a plan, and behind them its steps.
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
    let launch = ranks::launch(top, None, workload, known)?;
    let settings = settings(&options, known);
    let job = workload.native(&settings).map_err(|error| Fault::whole(error.message))?;
    let name = DEFAULT_WORKLOAD.to_owned();
    let record = JobRecord::from_settings(&settings);
    let workload = name.clone();
    let (against, step) = (None, None);
    Ok(PlannedJob { name, workload, options, job, launch, settings, record, against, step })
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
        Some(options) => given::given(options, workload.manifest())?,
        None => Vec::new(),
    };
    // Options of the full size are checked in small runs too.
    let at_full_size = match &section.full {
        Some(options) => given::given(options, workload.manifest())?,
        None => Vec::new(),
    };
    let mut given = if known.is_full_size { given::merged(options, at_full_size) } else { options };
    given.extend(command::given(section, workload_name)?);
    let options: Vec<(String, String)> =
        given.iter().map(|given| (given.name.to_owned(), given.text.clone())).collect();
    let settings = settings(&options, known);
    let launch = ranks::launch(top, Some(section), workload, known)?;
    let job = match &launch {
        Some(launch) => {
            job_of_ranks(workload, &settings, launch.ranks, known.workloads).map(|job| job.job)
        }
        None => workload.native(&settings),
    };
    let job = job.map_err(|error| refusal(error, &given, workload_name, place))?;
    if let (true, Some(workload)) = (launch.is_some() && job.remounts(), &section.workload) {
        return Err(ranks::is_mounted_again(workload.span.clone()));
    }
    let (workload, record) = (workload_name.to_owned(), JobRecord::from_settings(&settings));
    let name = name.to_owned();
    let against = None;
    let step = None;
    let job = PlannedJob { name, workload, options, job, launch, settings, record, against, step };
    Ok((job, span.clone()))
}

fn find(name: &str, known: &Known<'_>) -> Option<&'static dyn Workload> {
    known.workloads.iter().copied().find(|workload| workload.manifest().name == name)
}

fn settings(options: &[(String, String)], known: &Known<'_>) -> Settings {
    let mut settings = Settings::new(options.to_vec());
    settings.data_dirs.clone_from(&known.data_dirs);
    settings.base_dir.clone_from(&known.base_dir);
    settings.environment.clone_from(&known.environment);
    settings
}

/// Fault for an option that the workload refuses, at the value that the error mentions.
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
    // Data sets are refused in words that do not begin with the option.
    let about = about.or_else(|| {
        given.iter().find(|given| !given.text.is_empty() && error.message.contains(&given.text))
    });
    let place = about.map_or(place, |given| &given.span);
    // Plans spell options without `--`; kept if the message mentions several options.
    let words = words.filter(|words| !words.contains("--")).unwrap_or(&error.message);
    let fault = Fault::at(place.clone(), format!("{workload}: {words}"), "");
    error.hint.into_iter().fold(fault, Fault::hint)
}
