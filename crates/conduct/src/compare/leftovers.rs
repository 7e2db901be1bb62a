//! Frees the leftovers of killed runs (mounts, devices, images, traces), and reports them.

use std::path::PathBuf;

use treering_lab::{Lab, LabError, LabLeftover, LeftoverKind, PlanIdentity};
use treering_observe::block_trace::StaleInstance;
use treering_script::with_causes;

use crate::host::Host;

/// Reports errors of the lab that are not fatal.
pub fn say_lab_cautions(errors: &[LabError], host: &dyn Host) {
    for error in errors {
        let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        host.say(&format!("caution: {}{hint}", with_causes(error)));
    }
}

/// Mounts again the filesystems that killed runs had unmounted, and reports their names.
pub fn mount_again(lab: &Lab, host: &dyn Host) {
    let left = lab.left_unmounted().unwrap_or_default();
    for (leftover, mounted) in lab.release(left) {
        match mounted {
            Ok(()) => host.say(&format!(
                "{}: a run that was killed had unmounted it",
                freed_words(&leftover.kind)
            )),
            Err(error) => say_lab_cautions(&[error], host),
        }
    }
}

/// Describes how a leftover was released, in the past tense.
fn freed_words(what: &LeftoverKind) -> String {
    match what {
        LeftoverKind::Unmounted { point, device, fs_type } => {
            format!("mounted {fs_type} of {} at {} again", device.display(), point.display())
        }
        LeftoverKind::Settings { paths } => format!("put back {}", listed(paths)),
        LeftoverKind::Cleanup { command } => format!("ran the cleanup `{command}`"),
        other => format!("freed {other}"),
    }
}

/// Describes how a leftover would be released, for dry runs.
pub fn freeing_words(what: &LeftoverKind) -> String {
    match what {
        LeftoverKind::Unmounted { point, device, fs_type } => {
            format!("would mount {fs_type} of {} at {} again", device.display(), point.display())
        }
        LeftoverKind::Settings { paths } => format!("would put back {}", listed(paths)),
        LeftoverKind::Cleanup { command } => format!("would run the cleanup `{command}`"),
        other => format!("would free {other}"),
    }
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Frees leftovers, passing a line about each to `freed`; returns those that could not be freed,
/// with the errors.
pub fn free_leftovers(
    lab: &Lab,
    gone: Vec<LabLeftover>,
    traces: Vec<StaleInstance>,
    mut freed: impl FnMut(&str),
) -> Vec<String> {
    let gone = lab.release(gone).into_iter().map(|(leftover, freed)| {
        let (what, done) = (leftover.kind.to_string(), freed_words(&leftover.kind));
        (what, done, freed.map_err(|error| with_causes(&error)))
    });
    let traces = traces.into_iter().map(|left| {
        let freed = left.remove().map_err(|errno| errno.to_string());
        (left.to_string(), format!("freed {left}"), freed)
    });
    let mut failed = Vec::new();
    for (what, done, result) in gone.chain(traces) {
        match result {
            Ok(()) => freed(&done),
            Err(why) => failed.push(format!("{what}: {why}")),
        }
    }
    failed
}

/// Frees the leftovers of killed runs of this plan before the plan goes on, and reports them.
/// Leftovers of other runs are only reported.
pub(super) fn free_own_leftovers(lab: &Lab, plan: &PlanIdentity, host: &dyn Host) {
    let leftovers = lab.list().unwrap_or_default();
    let gone = leftovers.into_iter().filter(|leftover| !leftover.is_alive);
    let (own, foreign): (Vec<_>, Vec<_>) =
        gone.partition(|leftover| leftover.plan.as_ref() == Some(plan));
    // A tracefs instance names a process; leftovers of the same process tell its plan.
    let is_own = |trace: &StaleInstance| {
        own.iter().any(|leftover| {
            leftover.is_of_this_boot
                && leftover.pid == Some(trace.process)
                && leftover.start == Some(trace.start)
        })
    };
    let (own_traces, foreign_traces): (Vec<_>, Vec<_>) =
        StaleInstance::list().into_iter().partition(is_own);
    let freed = |done: &str| host.say(&format!("{done}, which a killed run of this plan left"));
    for what in free_leftovers(lab, own, own_traces, freed) {
        host.say(&format!("caution: not freed, which a killed run of this plan left: {what}"));
    }
    let foreign = foreign.iter().map(|leftover| leftover.kind.to_string());
    let foreign = foreign.chain(foreign_traces.iter().map(StaleInstance::to_string));
    for what in foreign {
        host.say(&format!(
            "another run that was killed left {what}; `treering lab release` frees it"
        ));
    }
}
