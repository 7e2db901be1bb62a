//! Beginning of a trial: the facts recorded before the first phase, and the directory that the
//! trial works in.

use std::io::ErrorKind;
use std::path::Path;

use treering_engine::LatencyMode;
use treering_lab::{LabError, OwnedDirectory};
use treering_model::{TrialHeader, TrialId};
use treering_script::{Job, Workload};

/// Beginning event of a trial of this job, on any machine.
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
/// When it cannot be had, or has such trees.
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

/// Takes the directory to work in. The one above it must be there: if it is lost, so is the place.
pub(crate) fn occupy(work: &Path) -> Result<OwnedDirectory, LabError> {
    if let Err(error) = std::fs::create_dir(work)
        && error.kind() != ErrorKind::AlreadyExists
    {
        return Err(LabError::Io { action: "cannot make", path: work.to_owned(), source: error });
    }
    take(work)
}
