//! Ranks of jobs: their number, the launcher, and the settings that ranks exclude.

use std::ops::Range;
use std::path::{Path, PathBuf};

use treering_model::{DeviceSpec, Variant};
use treering_script::{RankDistribution, Workload};

use super::Known;
use super::section::{Section, Value};
use super::words;
use crate::plan::error::{Fault, quoted};
use crate::plan::launch::{is_by_rank, which_can};
use crate::plan::{Conditions, Launch, PlannedJob, RANK_TIMEOUT_SECONDS, RANKS_MAX};

const LAUNCHER: &str = "launcher";
const PROGRAM: &str = "mpi-program";
const TIMEOUT: &str = "rank-timeout";
/// Keys that need `ranks`.
const OF_RANKS: [&str; 3] = [LAUNCHER, PROGRAM, TIMEOUT];
/// Maximum timeout in seconds: a day.
const TIMEOUT_MAX: u32 = 86_400;

/// Launch of a job: keys of the job take precedence over those of the plan.
pub(super) fn launch(
    (top, section): (&Section<'_>, &Section<'_>),
    workload: &dyn Workload,
    known: &Known<'_>,
) -> Result<Option<Launch>, Fault> {
    let said = |key: &str| section.get(key).or_else(|| top.get(key));
    let Some(value) = said("ranks") else {
        return match section.any_of(&OF_RANKS) {
            None => Ok(None),
            Some(stray) => {
                let message = format!("`{}` without `ranks`: nothing is launched", stray.key);
                Err(Fault::at(stray.key_span, message, "").hint("write how many: ranks = 4"))
            }
        };
    };
    let ranks = number(&value)?;
    if workload.over_ranks() == RankDistribution::Never {
        let message = format!("{} cannot run on several ranks", workload.manifest().name);
        return Err(value.fault(message, "").hint(which_can(known.workloads)));
    }
    let launcher = match said(LAUNCHER) {
        None => Vec::new(),
        Some(value) => {
            let words = words::of_command(&value)?;
            if words.first().is_none_or(|program| program.trim().is_empty()) {
                let hint = "name the program: launcher = \"mpirun --map-by node\"";
                return Err(value.fault("the launcher has no name", "").hint(hint));
            }
            words
        }
    };
    let program = said(PROGRAM).map(|value| program(&value, known)).transpose()?;
    let timeout = said(TIMEOUT).map(|value| value.whole_u32(1..=TIMEOUT_MAX)).transpose()?;
    let timeout_seconds = timeout.unwrap_or(RANK_TIMEOUT_SECONDS);
    Ok(Some(Launch { ranks, launcher, program, timeout_seconds }))
}

/// Reads a number of ranks; sweeps substitute it as a string.
fn number(value: &Value<'_>) -> Result<u32, Fault> {
    let swept = value.value.as_str().and_then(|text| text.parse::<u32>().ok());
    match swept.filter(|ranks| (1..=RANKS_MAX).contains(ranks)) {
        Some(ranks) => Ok(ranks),
        None => value.whole_u32(1..=RANKS_MAX),
    }
}

/// Reads the path of the program, relative to the directory of the plan.
fn program(value: &Value<'_>, known: &Known<'_>) -> Result<PathBuf, Fault> {
    let word = value.word("the path of treering-mpi")?;
    Ok(known.base_dir.as_deref().unwrap_or(Path::new("")).join(word))
}

/// Fault for a remount with ranks: the other ranks would lose the filesystem while they work in it.
pub(super) fn is_mounted_again(span: Range<usize>) -> Fault {
    let message = "with ranks nothing is unmounted and mounted again";
    Fault::at(span, message, "").hint("leave `remount-every` out, or `ranks`")
}

/// Checks that the plan has no settings excluded by ranks, or, without ranks, none that need them.
pub(super) fn suits(
    top: &Section<'_>,
    variants: &[Variant],
    conditions: &Conditions,
    jobs: &[PlannedJob],
) -> Result<(), Fault> {
    let place = || top.get("ranks").map_or(top.span.clone(), |value| value.span);
    let launched = jobs.iter().find(|job| job.launch.is_some());
    if let (None, Some(stray)) = (launched, top.any_of(&OF_RANKS)) {
        let message = format!("`{}` without `ranks`: nothing is launched", stray.key);
        return Err(Fault::at(stray.key_span, message, "").hint("write how many: ranks = 4"));
    }
    if let (Some(_), true, Some(value)) = (launched, conditions.remount, top.get("remount")) {
        let message = "with ranks nothing is unmounted and mounted again";
        return Err(value.fault(message, "").hint("leave `remount` out, or `ranks`"));
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
        DeviceSpec::Directory { path } => is_by_rank(path),
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
