//! Beginning of a trial: the facts recorded before the first phase, and the directory that the
//! trial works in.

use std::io::ErrorKind;
use std::path::Path;

use treering_engine::LatencyMode;
use treering_lab::{LabError, OwnedDirectory};
use treering_model::{TrialHeader, TrialId};
use treering_script::{Job, Workload};

/// Header of a trial of this job, without facts about the machine.
pub fn beginning(
    trial: TrialId,
    workload: &str,
    job: &dyn Job,
    started_unix_ms: i64,
) -> TrialHeader {
    TrialHeader {
        started_unix_ms,
        treering_version: env!("CARGO_PKG_VERSION").to_owned(),
        parameters: job.parameters(),
        ..TrialHeader::new(trial, workload, job.mode())
    }
}

/// Opens a work directory, unless a killed run has left trees there.
///
/// # Errors
/// When the directory cannot be acquired, or has such trees.
pub(crate) fn take(dir: &Path) -> Result<OwnedDirectory, LabError> {
    let place = OwnedDirectory::take(dir)?;
    place.refuse_leftovers()?;
    Ok(place)
}

/// Default selection of the calls whose latency is recorded.
pub(crate) fn usual_latency(job: &dyn Job) -> LatencyMode {
    if job.times_every_call() { LatencyMode::All } else { LatencyMode::Sampled }
}

/// Workload with this name.
pub(crate) fn named(
    workloads: &[&'static dyn Workload],
    name: &str,
) -> Option<&'static dyn Workload> {
    workloads.iter().copied().find(|workload| workload.manifest().name == name)
}

/// Acquires the work directory, making it if needed. Its parent must exist: a missing parent means
/// that the target is lost.
pub(crate) fn occupy(work: &Path) -> Result<OwnedDirectory, LabError> {
    if let Err(error) = std::fs::create_dir(work)
        && error.kind() != ErrorKind::AlreadyExists
    {
        return Err(LabError::Io { action: "cannot make", path: work.to_owned(), source: error });
    }
    take(work)
}
