//! Jobs on several ranks: how many, and what starts them.

use std::path::PathBuf;

use treering_script::{ConfigError, Settings, Workload};

use crate::ranks::RANK;

/// More ranks than this no plan asks for.
pub const RANKS_MAX: u32 = 65_536;

/// How a job is started on several ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The number of ranks, 1 or more: a single one is started in the same way as several.
    pub ranks: u32,
    /// The launcher and its options, to be followed by `-n RANKS PROGRAM …`; the `mpirun` of the
    /// search path when empty.
    pub launcher: Vec<String>,
    /// The treering that is built with MPI, at the same place on every machine; looked for when
    /// not given.
    pub program: Option<PathBuf>,
}

/// The settings of all ranks together, where each has as many workers as these settings say, and
/// what that is: the option and its value.
///
/// # Errors
/// When the workload cannot be distributed over ranks; the hint names those of `all` that can.
pub fn settings_of_ranks(
    workload: &dyn Workload,
    settings: &Settings,
    ranks: u32,
    all: &[&'static dyn Workload],
) -> Result<(Settings, (String, String)), ConfigError> {
    let manifest = workload.manifest();
    let Some(option) = workload.workers_option() else {
        let can: Vec<&str> = all
            .iter()
            .filter(|workload| workload.workers_option().is_some())
            .map(|workload| workload.manifest().name)
            .collect();
        let message = format!(
            "{} cannot run on {ranks} ranks: its workers share what is in the memory of one \
             process, or another program does the work",
            manifest.name
        );
        let hint = format!("start it without mpirun; on several ranks: {}", can.join(", "));
        return Err(ConfigError::new(message).hint(hint));
    };
    let each = settings.number(manifest.native, option, 1..=u64::from(u16::MAX))?.unwrap_or(1);
    let workers = each * u64::from(ranks);
    let mut given = settings.given().to_vec();
    given.push((option.to_owned(), workers.to_string()));
    Ok((settings.with_given(given), (option.to_owned(), each.to_string())))
}

/// Whether a directory is another for each rank.
pub(crate) fn is_by_rank(path: &std::path::Path) -> bool {
    path.to_string_lossy().contains(RANK)
}
