//! Jobs on several ranks: their number, and their launcher.

use std::path::PathBuf;

use treering_script::{ConfigError, Job, RankDistribution, Settings, Workload};

use crate::apart::PerRankJob;
use crate::ranks::RANK;

/// Maximum number of ranks of a job.
pub const RANKS_MAX: u32 = 65_536;

/// Default timeout of a silent rank, in seconds.
pub const RANK_TIMEOUT_SECONDS: u32 = 300;

/// Launch of a job on several ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Number of ranks, 1 or more: a single rank is launched in the same way as several.
    pub ranks: u32,
    /// Launcher and its options, to be followed by `-n RANKS PROGRAM …`; empty means the `mpirun`
    /// of the search path.
    pub launcher: Vec<String>,
    /// Path of a treering built with MPI, the same on every machine; `None` searches for one.
    pub program: Option<PathBuf>,
    /// Maximum silence of a rank, in seconds, and maximum duration of its calls, before the trial
    /// is ended.
    pub timeout_seconds: u32,
}

/// Job of all ranks together, with its settings.
pub(crate) struct JobOfRanks {
    /// The job.
    pub(crate) job: Box<dyn Job>,
    /// Settings of the job.
    pub(crate) settings: Settings,
    /// Option with the number of workers, and its value per rank, for jobs whose workers are
    /// divided among the ranks.
    pub(crate) each: Option<(String, String)>,
}

/// Native job for a number of ranks, from settings that describe a single rank.
///
/// # Errors
/// When the workload cannot be distributed over ranks (the hint names the workloads of `all` that
/// can), or a setting is wrong.
pub(crate) fn job_of_ranks(
    workload: &dyn Workload,
    settings: &Settings,
    ranks: u32,
    all: &[&'static dyn Workload],
) -> Result<JobOfRanks, ConfigError> {
    let manifest = workload.manifest();
    let option = match workload.over_ranks() {
        RankDistribution::Never => {
            let message = format!("{} cannot run on {ranks} ranks", manifest.name);
            return Err(ConfigError::new(message).hint(rank_workloads_hint(all)));
        }
        RankDistribution::Apart => {
            let job = Box::new(PerRankJob::new(workload.native(settings)?, ranks)?);
            return Ok(JobOfRanks { job, settings: settings.clone(), each: None });
        }
        RankDistribution::Workers(option) => option,
    };
    let each = settings.number(manifest.native, option, 1..=u64::from(u16::MAX))?.unwrap_or(1);
    let mut options = settings.options().to_vec();
    options.push((option.to_owned(), (each * u64::from(ranks)).to_string()));
    let settings = settings.with_options(options);
    let each = Some((option.to_owned(), each.to_string()));
    Ok(JobOfRanks { job: workload.native(&settings)?, settings, each })
}

/// Hint that lists the workloads able to run on several ranks.
pub(super) fn rank_workloads_hint(all: &[&'static dyn Workload]) -> String {
    let can = all.iter().filter(|workload| workload.over_ranks() != RankDistribution::Never);
    let can: Vec<&str> = can.map(|workload| workload.manifest().name).collect();
    format!("on several ranks: {}", can.join(", "))
}

/// True if each rank has its own directory: the path contains `{rank}`.
pub(crate) fn is_per_rank(path: &std::path::Path) -> bool {
    path.to_string_lossy().contains(RANK)
}
