//! Jobs in the forms that variants give them: by `options` of a variant, and by its `env`, whose
//! variables job files may use.

use treering_model::{JobOption, VariantSettings};
use treering_script::Workload;

use super::Known;
use super::format::{PlanTable, VariantOptions, VariantTable};
use super::given::{self, GivenOption};
use super::job::{JobRequest, find, planned};
use super::settings::environment;
use super::tree::{Entry, Placed, Script};
use super::values::{Datum, DatumTable};
use crate::plan::error::{Fault, quoted};
use crate::plan::{ChangedJob, PlannedJob};
use treering_model::nearest::suggestion;

/// Options that a variant changes: first for every job, then for single jobs.
pub(super) fn options(table: Option<&Entry<VariantOptions>>) -> Vec<JobOption> {
    let entries = table.map_or(&[][..], |table| &table.value.0);
    let (of_jobs, of_all): (Vec<_>, Vec<_>) =
        entries.iter().partition(|entry| matches!(entry.value, Datum::Table(_)));
    let option = |job: Option<&str>, entry: &Entry<Datum>| JobOption {
        job: job.map(str::to_owned),
        name: entry.key.clone(),
        values: values(&entry.value),
    };
    let mut options: Vec<JobOption> = of_all.iter().map(|entry| option(None, entry)).collect();
    for entry in of_jobs {
        let Datum::Table(DatumTable(own)) = &entry.value else { continue };
        options.extend(own.iter().map(|own| option(Some(&entry.key), own)));
    }
    options
}

/// Values as strings, in the form stored with a trial.
fn values(value: &Datum) -> Vec<String> {
    match value {
        Datum::String(Script(text)) => vec![text.clone()],
        Datum::Boolean(true) => vec!["true".to_owned()],
        Datum::Array(elements) => elements.iter().flat_map(|one| values(&one.value)).collect(),
        other => other.number().into_iter().collect(),
    }
}

/// Adds the changed forms of jobs, for variants that change options or the environment.
pub(super) fn change(
    top: &PlanTable,
    jobs: &mut [PlannedJob],
    known: &Known<'_>,
) -> Result<(), Fault> {
    for section in top.variant.as_ref().map_or(&[][..], |sections| &sections.0) {
        refuse_unknown_jobs(section, jobs)?;
        let settings = VariantSettings {
            env: environment(section.env.as_ref())?,
            options: options(section.options.as_ref()),
            ..VariantSettings::default()
        };
        let is_single = jobs.len() == 1;
        for job in jobs.iter_mut() {
            let changes: Vec<JobOption> = settings.options_of(&job.name).cloned().collect();
            let is_made = |other: &ChangedJob| other.is_for(&changes, &settings.env);
            if (changes.is_empty() && settings.env.is_empty()) || job.changed.iter().any(is_made) {
                continue;
            }
            let Some(workload) = find(&job.workload, known) else { continue };
            let options = changed_options(section, job, (workload, is_single))?;
            let made = make_changed_job(section, job, (workload, &options), (&settings, known))?;
            job.changed.push(ChangedJob { changes, env: settings.env.clone(), job: made });
        }
    }
    Ok(())
}

/// Refuses option tables for jobs that the plan does not have.
fn refuse_unknown_jobs(section: &VariantTable, jobs: &[PlannedJob]) -> Result<(), Fault> {
    let entries = section.options.as_ref().map_or(&[][..], |options| &options.value.0);
    for entry in entries.iter().filter(|entry| matches!(entry.value, Datum::Table(_))) {
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        if !names.contains(&entry.key.as_str()) {
            let message = format!("no job is called {}", quoted(&entry.key));
            let hint = suggestion(&entry.key, &names, "jobs");
            return Err(entry.key_fault(message, "options of a job").hint(hint));
        }
    }
    Ok(())
}

/// Options of the job, with those of the variant replacing options of the same name.
fn changed_options(
    section: &VariantTable,
    job: &PlannedJob,
    (workload, is_single): (&'static dyn Workload, bool),
) -> Result<Vec<GivenOption>, Fault> {
    let manifest = workload.manifest();
    let mut options = given::of_job(&job.options, manifest);
    let entries = section.options.as_ref().map_or(&[][..], |options| &options.value.0);
    let of_all: Vec<&Entry<Datum>> =
        entries.iter().filter(|entry| !matches!(entry.value, Datum::Table(_))).collect();
    let of_job = entries.iter().find_map(|entry| match &entry.value {
        Datum::Table(DatumTable(own)) if entry.key == job.name => Some(own.iter().collect()),
        _ => None,
    });
    let own: Vec<&Entry<Datum>> = of_job.unwrap_or_default();
    for (changes, is_shared) in [(of_all, !is_single), (own, false)] {
        let given = given::given(changes.iter().copied(), manifest, true).map_err(|fault| {
            let hint = format!("to change only some jobs: options = {{ {} = {{ … }} }}", job.name);
            if is_shared { fault.first_hint(&hint) } else { fault }
        })?;
        options = given::replaced(options, given, changes.into_iter());
    }
    Ok(options)
}

/// Makes the changed job; faults point at the section that changes it.
fn make_changed_job(
    section: &Placed<VariantTable>,
    job: &PlannedJob,
    (workload, given): (&'static dyn Workload, &[GivenOption]),
    (settings, known): (&VariantSettings, &Known<'_>),
) -> Result<PlannedJob, Fault> {
    let place = match (&section.options, &section.env) {
        (Some(options), _) => &options.span,
        (None, Some(env)) => &env.span,
        (None, None) => &section.span,
    };
    let mut environment = settings.env.clone();
    let is_set = |name: &str| settings.env.iter().any(|(own, _)| own == name);
    environment.extend(known.environment.iter().filter(|(name, _)| !is_set(name)).cloned());
    let request = JobRequest {
        name: &job.name,
        workload,
        launch: job.launch.clone(),
        place,
        environment: &environment,
        engine: job.engine,
        around: job.around.clone(),
    };
    planned(request, given, known)
}

/// Refuses environment variables that neither a program nor a job file reads.
pub(super) fn environment_is_read(top: &PlanTable, jobs: &[PlannedJob]) -> Result<(), Fault> {
    for section in top.variant.as_ref().map_or(&[][..], |sections| &sections.0) {
        let Some(env) = &section.env else { continue };
        let settings = VariantSettings {
            env: environment(Some(env))?,
            options: options(section.options.as_ref()),
            ..VariantSettings::default()
        };
        let is_read = |job: &PlannedJob| {
            let own = job.changed_by(&settings);
            let names = &mut own.record.environment.iter().map(|(name, _)| name);
            own.job.is_by_program()
                || own.launch.is_some()
                || names.any(|name| settings.env.iter().any(|(own, _)| own == name))
        };
        let runs_a_command = section.prepare.is_some() || section.cleanup.is_some();
        if runs_a_command || jobs.iter().any(is_read) {
            continue;
        }
        let message = "no program reads `env`: every job is done by treering itself";
        let hint = "give a job a `command`, or the variant a `prepare`";
        return Err(env.key_fault(message, "has no effect").hint(hint));
    }
    Ok(())
}
