//! Ranks of jobs: their number, the launcher, and settings that cannot be combined with ranks.

use std::ops::Range;
use std::path::Path;

use treering_model::{DeviceSpec, Variant};
use treering_script::{RankDistribution, Workload};

use super::format::{JobTable, PlanTable};
use super::tree::{Optional, Placed};
use super::values::WholeNumber;
use super::{Known, words};
use crate::plan::error::{Fault, quoted};
use crate::plan::launch::{is_per_rank, rank_workloads_hint};
use crate::plan::{Conditions, Launch, PlannedJob, RANK_TIMEOUT_SECONDS};

/// Launch of a job: keys of the job take precedence over those of the plan.
pub(super) fn launch(
    top: &PlanTable,
    section: Option<&JobTable>,
    workload: &dyn Workload,
    known: &Known<'_>,
) -> Result<Option<Launch>, Fault> {
    let ranks = section.and_then(|section| section.ranks.as_ref()).or(top.ranks.as_ref());
    let launcher = section.and_then(|section| section.launcher.as_ref()).or(top.launcher.as_ref());
    let program =
        section.and_then(|section| section.mpi_program.as_ref()).or(top.mpi_program.as_ref());
    let timeout = section.and_then(|section| section.rank_timeout.value());
    let timeout = timeout.or(top.rank_timeout.value());
    let Some(ranks) = ranks else {
        let stray = section.and_then(|section| {
            let keys = [section.launcher.key(), section.mpi_program.key()];
            keys.into_iter().flatten().next().or(section.rank_timeout.key())
        });
        return stray.map_or(Ok(None), |stray| Err(nothing_is_launched(&stray)));
    };
    if workload.over_ranks() == RankDistribution::Never {
        let message = format!("{} cannot run on several ranks", workload.manifest().name);
        return Err(ranks.fault(message, "").hint(rank_workloads_hint(known.workloads)));
    }
    let words = launcher.map(words::of_command).transpose()?.unwrap_or_default();
    if let Some(launcher) = launcher
        && words.first().is_none_or(|program| program.trim().is_empty())
    {
        let hint = "name the program: launcher = \"mpirun --map-by node\"";
        return Err(launcher.fault("the launcher has no name", "").hint(hint));
    }
    let base = known.base_dir.as_deref().unwrap_or(Path::new(""));
    Ok(Some(Launch {
        ranks: ranks.0,
        launcher: words,
        program: program.map(|program| base.join(program.text())),
        timeout_seconds: timeout.map_or(RANK_TIMEOUT_SECONDS, WholeNumber::small),
    }))
}

fn nothing_is_launched(stray: &Placed<&str>) -> Fault {
    let message = format!("`{}` without `ranks`: nothing is launched", stray.value);
    stray.fault(message, "").hint("write how many: ranks = 4")
}

/// Fault for a remount with ranks: the other ranks would lose the filesystem while they work in it.
pub(super) fn is_mounted_again(span: Range<usize>) -> Fault {
    let message = "with ranks nothing is unmounted and mounted again";
    Fault::at(span, message, "").hint("leave `remount-every` out, or `ranks`")
}

/// Refuses settings that cannot be combined with ranks, and settings that need ranks in plans
/// without ranks.
pub(super) fn suits(
    top: &PlanTable,
    end: &Range<usize>,
    (variants, conditions, jobs): (&[Variant], &Conditions, &[PlannedJob]),
) -> Result<(), Fault> {
    let place = || top.ranks.as_ref().map_or(end, |ranks| &ranks.span).clone();
    let launched = jobs.iter().find(|job| job.launch.is_some());
    let keys = [top.launcher.key(), top.mpi_program.key(), top.rank_timeout.key()];
    if let (None, Some(stray)) = (launched, keys.into_iter().flatten().next()) {
        return Err(nothing_is_launched(&stray));
    }
    if let (Some(_), true, Some(remount)) = (launched, conditions.remount, &top.remount) {
        let message = "with ranks nothing is unmounted and mounted again";
        return Err(remount.fault(message, "").hint("leave `remount` out, or `ranks`"));
    }
    let in_guest = variants.iter().find(|variant| variant.guest.is_some());
    if let (Some(job), Some(variant)) = (launched, in_guest) {
        let message = format!(
            "{} runs on ranks, which are not started in the guest of {}",
            quoted(&job.name),
            quoted(&variant.name)
        );
        let hint = "leave `ranks` out, or name kernels that run on the machines: kernel = \
                    \"6.1.0-47-amd64\"";
        return Err(Fault::at(place(), message, "").hint(hint));
    }
    let by_rank = |variant: &&Variant| match &variant.device {
        DeviceSpec::Directory { path } => is_per_rank(path),
        DeviceSpec::Loop { .. } | DeviceSpec::Block { .. } => false,
    };
    let alone = jobs.iter().find(|job| job.launch.is_none());
    if let (Some(job), Some(variant)) = (alone, variants.iter().find(by_rank)) {
        let message = format!(
            "the directory of {} is another for each rank, and {} has no ranks",
            quoted(&variant.name),
            quoted(&job.name)
        );
        return Err(Fault::at(place(), message, "").hint("write how many: ranks = 4"));
    }
    Ok(())
}
