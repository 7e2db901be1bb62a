//! Plan of a pack: the packed plan, or a new one for trials without a plan.

use std::path::PathBuf;

use treering_lab::filesystems;
use treering_model::{DeviceSpec, RunMode, Trial};
use treering_script::Settings;

use super::RepeatOptions;
use super::files::{PackedFiles, job_record};
use crate::failure::Failure;
use crate::plan::document::{Known, read};
use crate::plan::{Conditions, Judging, Observing, Plan, PlannedJob, Stopping, bare_variant};
use crate::trial::beginning::named;
use crate::trial::command_line;

/// Plan of a campaign, unchanged.
pub(super) fn plan_of_document(
    document: &str,
    files: &PackedFiles,
    options: &RepeatOptions<'_>,
) -> Result<Plan, Failure> {
    let names = filesystems::names();
    let known = Known {
        workloads: options.workloads,
        filesystems: &names,
        data_dirs: options.data_dirs.clone(),
        environment: files.environment(options),
        is_full_size: false,
        base_dir: Some(files.dir().to_owned()),
        ..Known::default()
    };
    read(&files.document_here(document), "the plan of the pack", &known).map_err(|error| {
        let message = format!("the plan of the pack cannot be run here\n{error}");
        Failure::usage(message.trim_end())
            .hint("what a plan names beside job files (data sets, saved images) is not in a pack")
    })
}

/// Plan for trials outside of campaigns: the same job in a directory.
pub(super) fn plan_of_runs(
    trials: &[Trial],
    files: &PackedFiles,
    options: &RepeatOptions<'_>,
) -> Result<Plan, Failure> {
    let usage = |message: String| Failure::usage(message);
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
            .hint("pack those of one command line: treering store pack TRIAL…"));
    }
    if beginning.mode == RunMode::Classic {
        let line = command_line(first, options.workloads);
        return Err(usage(format!("the trial is a classic run of {}", beginning.workload))
            .hint(format!("repeat it by its own command line: {line}")));
    }
    let Some(workload) = named(options.workloads, &beginning.workload) else {
        return Err(usage(format!("this treering has no workload {}", beginning.workload)));
    };
    let specs = workload.manifest().native;
    let recorded = job_record(first).map_or_else(
        || {
            let named = beginning.parameters.iter();
            named.filter(|(name, _)| specs.iter().any(|spec| spec.name == name)).cloned().collect()
        },
        |record| record.options,
    );
    let here = |(name, value)| (name, files.path_here(value));
    let mut settings = Settings::new(recorded.into_iter().map(here).collect());
    settings.data_dirs.clone_from(&options.data_dirs);
    settings.environment = files.environment(options);
    settings.base_dir = Some(files.dir().to_owned());
    let job = workload.native(&settings)?;
    let name = beginning.workload.clone();
    let planned = PlannedJob::plain(&name, &settings, job);
    let seed = settings.number(specs, "seed", 0..=u64::MAX).ok().flatten().unwrap_or(1);
    Ok(Plan {
        name: format!("repeat {name}"),
        question: String::new(),
        variants: vec![bare_variant(
            name,
            DeviceSpec::Directory { path: PathBuf::from(&beginning.target) },
        )],
        guest: None,
        aging: None,
        build: None,
        jobs: vec![planned],
        stopping: Stopping::Fixed { rounds: u32::try_from(trials.len()).unwrap_or(u32::MAX) },
        conditions: Conditions { warm_up: false, seed, ..Conditions::default() },
        observing: Observing::default(),
        judging: Judging::default(),
    })
}
