//! Block devices that a job uses; the guard checks those that it writes.

use treering_lab::{EraseList, FormatObstacle, Lab, RawDevices, obstacles_to_writing};
use treering_script::{ConfigError, Job, JobDevice};

use crate::failure::{Failure, FailureKind};

/// Checks the devices that a job writes under the name of an imitated tool, whichever program does
/// the work. As with the tool itself, their content
/// may be overwritten, but devices in use (mounted, swap, or part of another device) are refused.
///
/// # Errors
/// When a device is in use, with the reason.
pub fn check_written(devices: Vec<JobDevice>) -> Result<(), Failure> {
    for JobDevice { path, may_be_mounted, .. } in written(devices) {
        let mut obstacles = match obstacles_to_writing(&path) {
            Ok(obstacles) => obstacles,
            // The job itself reports a missing device when it opens it.
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

/// Acquires the devices that a native job writes, until it ends. The rules of formatting apply: a
/// device must be empty, or named with `--erase`.
///
/// # Errors
/// When a device is in use, has content and is not named, or is held by another run.
pub(crate) fn take_written(
    job: &dyn Job,
    erasing: &EraseList,
    lab: impl FnOnce() -> Lab,
) -> Result<Option<RawDevices>, Failure> {
    let paths: Vec<_> = written(job.devices()).map(|device| device.path).collect();
    if paths.is_empty() {
        return Ok(None);
    }
    Ok(Some(RawDevices::take(&paths, erasing, &lab())?))
}

/// Refuses a job that writes to devices, for callers that do not acquire devices.
///
/// # Errors
/// When the job writes to a device; the hint names the command that can run it.
pub(crate) fn refuse_written(job: &dyn Job) -> Result<(), ConfigError> {
    match written(job.devices()).next() {
        None => Ok(()),
        Some(JobDevice { path, .. }) => {
            let message = format!("the job writes to {}, a device", path.display());
            Err(ConfigError::new(message)
                .hint("treering run fio does that; plans write to filesystems only"))
        }
    }
}

fn written(devices: Vec<JobDevice>) -> impl Iterator<Item = JobDevice> {
    devices.into_iter().filter(|device| device.is_written)
}
