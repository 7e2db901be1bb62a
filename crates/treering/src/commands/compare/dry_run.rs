//! What a plan would do: every cell in its order, and about how long and how large it will be.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use treering_campaign::plan::{Plan, PlannedJob};
use treering_campaign::{observing_rounds, rounds};
use treering_model::{DeviceSpec, Ending};
use treering_script::{Footprint, TargetFacts};
use treering_stats::median;
use treering_store::{Detail, Filter, TrialState};

use super::crew::duration;
use crate::arguments::CompareArgs;
use crate::failure::Failure;
use crate::storage::{failure, open_to_read};

/// So many earlier trials are looked at for an estimate.
const LOOKED_AT: usize = 200;
/// Without earlier trials: what a disk and its filesystem are taken to do in a second.
const ASSUMED_BYTES: f64 = 200e6;
const ASSUMED_FILES: f64 = 10_000.0;
/// mkfs, mount, writing back and dropping caches, in seconds.
const AROUND: f64 = 3.0;

/// Prints it.
pub(super) fn show(plan: &Plan, args: &CompareArgs) -> Result<ExitCode, Failure> {
    let rounds = [rounds(plan), observing_rounds(plan)].concat();
    let estimates = estimates(plan, args)?;
    let mut seconds = 0.0;
    let mut count = 0;
    super::super::output::with_writer(args.page.output.as_deref(), |out| {
        for cell in rounds.iter().flatten() {
            writeln!(out, "{}", cell.words(plan))?;
            seconds += estimates[cell.job].seconds + AROUND;
            count += 1;
        }
        for (job, estimate) in plan.jobs.iter().zip(&estimates) {
            writeln!(out, "{}", estimate.words(&job.name))?;
        }
        writeln!(out, "{count} trials, about {} in all", duration(seconds))?;
        for line in space(plan) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What a job will take.
struct Estimate {
    footprint: Footprint,
    seconds: f64,
    /// How many earlier trials say so.
    trials: usize,
}

impl Estimate {
    fn words(&self, name: &str) -> String {
        let footprint = &self.footprint;
        let from = match self.trials {
            0 => "assumed: 200 MB and 10,000 files a second".to_owned(),
            1 => "as an earlier trial took".to_owned(),
            trials => format!("the median of {trials} earlier trials"),
        };
        format!(
            "{name}: each trial writes {} files, {} MiB, at most {} MiB at a time; about {} \
             ({from})",
            footprint.written_files,
            footprint.written_bytes >> 20,
            footprint.peak_block_bytes >> 20,
            duration(self.seconds)
        )
    }
}

fn estimates(plan: &Plan, args: &CompareArgs) -> Result<Vec<Estimate>, Failure> {
    let store = open_to_read(args.page.store.store.as_deref()).ok().flatten();
    let mut all = Vec::new();
    for job in &plan.jobs {
        let footprint = job.job.footprint(&TargetFacts::unknown());
        let mut took = Vec::new();
        if let Some(store) = &store {
            let workload = Some(job.workload.clone());
            let filter = Filter { workload, limit: Some(LOOKED_AT), ..Filter::default() };
            let summaries = store.trials(&filter).map_err(|error| failure(&error))?;
            let completed = TrialState::Ended(Ending::Completed);
            let ids: Vec<_> =
                summaries.iter().filter(|s| s.state == completed).map(|s| s.trial).collect();
            let trials =
                store.load_many(&ids, Detail::Headlines).map_err(|error| failure(&error))?;
            let alike = |given: &[(String, String)]| is_alike(job, given);
            let alike = trials.iter().filter(|trial| alike(&trial.beginning.parameters));
            took.extend(alike.map(|trial| trial.wall_ns as f64 / 1e9));
        }
        let assumed = footprint.written_bytes as f64 / ASSUMED_BYTES
            + footprint.written_files as f64 / ASSUMED_FILES;
        let seconds = median(&took).unwrap_or(assumed);
        all.push(Estimate { footprint, seconds, trials: took.len() });
    }
    Ok(all)
}

/// Whether a trial with these parameters did what the job does.
fn is_alike(job: &PlannedJob, given: &[(String, String)]) -> bool {
    let own = job.job.parameters();
    own.iter().filter(|(name, _)| name != "seed").all(|one| given.contains(one))
}

/// The room that images take.
fn space(plan: &Plan) -> Vec<String> {
    let mut devices: BTreeSet<String> = BTreeSet::new();
    for variant in &plan.variants {
        let said = match &variant.device {
            DeviceSpec::Loop { .. } if variant.filesystem == "tmpfs" => {
                "memory, as far as it is filled".to_owned()
            }
            DeviceSpec::Loop { bytes, count, sparse, directory, .. } => {
                let images = if *count == 1 { "image" } else { "images" };
                let kind = if *sparse { "sparse" } else { "with all its blocks" };
                let place = directory.as_deref().map_or_else(
                    || "the lab's own directory".to_owned(),
                    |path| path.display().to_string(),
                );
                format!("{count} {images} of {} MiB in {place}, {kind}", bytes >> 20)
            }
            DeviceSpec::Block { paths } => {
                let names: Vec<String> = paths.iter().map(|path| shown(path)).collect();
                format!("all of {}, which is formatted", names.join(", "))
            }
            DeviceSpec::Directory { path } => format!("what is free in {}", shown(path)),
        };
        devices.insert(format!("room: {said}"));
    }
    devices.into_iter().collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
