//! Block devices to which a job's requests go: those that it writes are checked by the guard first.

use treering_lab::{EraseList, FormatObstacle, Lab, RawDevices, obstacles_to_writing};
use treering_script::{ConfigError, Job, JobDevice};

use crate::failure::{Failure, FailureKind};

/// Checks the devices that a job under the name of its tool writes: their content is the user's
/// affair, as with the tool, but nothing is written that is mounted, swap, or part of something.
///
/// # Errors
/// When a device is in use, with the reason.
pub(crate) fn check_written(job: &dyn Job) -> Result<(), Failure> {
    for JobDevice { path, may_be_mounted, .. } in written(job) {
        let mut obstacles = match obstacles_to_writing(&path) {
            Ok(obstacles) => obstacles,
            // A device that is not there cannot be opened either, which its job reports.
            Err(_) if path.metadata().is_err() => continue,
            Err(error) => return Err(error.into()),
        };
        if may_be_mounted {
            obstacles.retain(|one| !matches!(one, FormatObstacle::Mounted { .. }));
        }
        if obstacles.is_empty() {
            continue;
        }
        let why: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
        let is_mounted = |one: &FormatObstacle| matches!(one, FormatObstacle::Mounted { .. });
        let hint = if obstacles.iter().all(is_mounted) {
            "unmount it, or write allow_mounted_write=1 to destroy what is mounted"
        } else {
            "stop what uses it, or name another device"
        };
        let message = format!("refusing to write to {}: {}", path.display(), why.join(", "));
        return Err(Failure::new(FailureKind::Classic, message).hint(hint));
    }
    Ok(())
}

/// Takes the devices that a native job writes, for as long as it runs, by the rules for devices
/// that are formatted: they are empty, or named to be erased.
///
/// # Errors
/// When one of them is in use, or has content and is not named, or another run has it.
pub(crate) fn take_written(
    job: &dyn Job,
    erasing: &EraseList,
    lab: impl FnOnce() -> Lab,
) -> Result<Option<RawDevices>, Failure> {
    let paths: Vec<_> = written(job).map(|device| device.path).collect();
    if paths.is_empty() {
        return Ok(None);
    }
    Ok(Some(RawDevices::take(&paths, erasing, &lab())?))
}

/// Refuses a job that writes to devices where nobody has taken them for it.
///
/// # Errors
/// When it does, with what runs it.
pub(crate) fn refuse_written(job: &dyn Job) -> Result<(), ConfigError> {
    match written(job).next() {
        None => Ok(()),
        Some(JobDevice { path, .. }) => {
            let message = format!("the job writes to {}, a device", path.display());
            Err(ConfigError::new(message)
                .hint("treering run fio does that; plans write to filesystems only"))
        }
    }
}

fn written(job: &dyn Job) -> impl Iterator<Item = JobDevice> {
    job.devices().into_iter().filter(|device| device.is_written)
}
