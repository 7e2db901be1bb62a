//! Observers: they look at the machine and the place under test and never touch them.
//!
//! One folder each, one line each in [`ALL`].

pub mod block_trace;
pub mod census;
mod cgroup;
mod conditions;
mod environment;
pub mod hot;
mod hot_error;
mod hot_requests;
pub mod layout;
mod places;
mod played_disk;
mod scan;
pub mod tree;

pub use played_disk::{played_below, played_disk_at};

use std::path::Path;
use std::time::Duration;

use treering_model::{Artifact, Caution, Fact, Metric, PhaseTotals, TaskTotals};

/// Where an observer looks.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The directory under test.
    pub target: &'a Path,
    /// What was asked for.
    pub wanted: Wanted,
}

/// What observers do only when they are asked to, since it takes time between the phases, or some
/// of the machine meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Layouts.
    pub layout: Option<layout::LayoutWanted>,
    /// Which data are hot: the half life of their temperature. The engine sees to it.
    pub heat_half_life: Option<Duration>,
    /// The requests that the devices get.
    pub trace: bool,
}

/// What an observer has seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// What is there.
    pub facts: Vec<Fact>,
    /// What of it makes a trial questionable.
    pub cautions: Vec<Caution>,
    /// Numbers, to be compared like those of the workload.
    pub metrics: Vec<Metric>,
    /// What is more than a number.
    pub artifacts: Vec<Artifact>,
}

impl Seen {
    /// With what another one saw.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.facts.extend(other.facts);
        self.cautions.extend(other.cautions);
        self.metrics.extend(other.metrics);
        self.artifacts.extend(other.artifacts);
        self
    }
}

/// Looks before a trial, and may watch it. What it cannot see it leaves out: that is never an
/// error.
pub trait Observer: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What it sees beforehand.
    fn look(&self, scene: &Scene<'_>) -> Seen;

    /// Begins to watch; nothing when there is nothing to be seen meanwhile.
    fn watch(&self, _scene: &Scene<'_>) -> Option<Box<dyn Watch>> {
        None
    }
}

/// An observer that watches a trial.
pub trait Watch {
    /// A phase begins with the next call of the workload. Its time runs already.
    fn phase_begins(&mut self, _phase: u32, _name: &str) {}

    /// The tasks of a group are over, and the totals of this one are kept. The workload waits, and
    /// the time of the phase runs on.
    fn task_ended(&mut self, _totals: &TaskTotals) -> Seen {
        Seen::default()
    }

    /// A phase is over, and its totals are kept: what was seen of it. The workload waits, and the
    /// place is as the phase left it.
    fn phase_ended(&mut self, _totals: &PhaseTotals) -> Seen {
        Seen::default()
    }

    /// The trial is over: what was seen.
    fn end(self: Box<Self>) -> Seen;
}

/// Every observer.
pub const ALL: &[&dyn Observer] = &[
    &environment::Environment,
    &cgroup::Cgroup,
    &conditions::Conditions,
    &layout::LayoutObserver,
    &block_trace::BlockTrace,
    &played_disk::PlayedDisks,
];

/// Everything that all observers see beforehand.
pub fn look(scene: &Scene<'_>) -> Seen {
    ALL.iter().map(|observer| observer.look(scene)).fold(Seen::default(), Seen::join)
}

/// What is known of a block device beforehand: its place on its disk, its queue, its alignment.
pub fn look_at_device(node: &Path) -> Seen {
    environment::look_at_device(node)
}

/// All observers that watch a trial, from now on.
pub struct Watching(Vec<Box<dyn Watch>>);

/// Begins to watch.
pub fn watch(scene: &Scene<'_>) -> Watching {
    Watching::of(ALL.iter().filter_map(|observer| observer.watch(scene)).collect())
}

impl Watching {
    /// By these.
    pub fn of(watches: Vec<Box<dyn Watch>>) -> Self {
        Self(watches)
    }

    /// A phase begins.
    pub fn phase_begins(&mut self, phase: u32, name: &str) {
        self.0.iter_mut().for_each(|watch| watch.phase_begins(phase, name));
    }

    /// A task is over: everything that was seen of it.
    pub fn task_ended(&mut self, totals: &TaskTotals) -> Seen {
        let seen = self.0.iter_mut().map(|watch| watch.task_ended(totals));
        seen.fold(Seen::default(), Seen::join)
    }

    /// A phase is over: everything that was seen of it.
    pub fn phase_ended(&mut self, totals: &PhaseTotals) -> Seen {
        let seen = self.0.iter_mut().map(|watch| watch.phase_ended(totals));
        seen.fold(Seen::default(), Seen::join)
    }

    /// Ends it: everything that was seen.
    pub fn end(self) -> Seen {
        self.0.into_iter().map(Watch::end).fold(Seen::default(), Seen::join)
    }
}

/// The release of the kernel that runs; empty without `/proc`.
pub fn kernel_release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{ALL, Scene, Wanted, look, watch};
    use std::collections::HashSet;
    use std::path::Path;

    #[test]
    fn facts_have_one_value_each() {
        let seen = look(&Scene { target: Path::new("/proc"), wanted: Wanted::default() }).facts;
        let names: HashSet<&str> = seen.iter().map(|fact| fact.name.as_str()).collect();
        assert_eq!(names.len(), seen.len());
        assert!(names.contains("kernel.release"), "{names:?}");
        assert_eq!(ALL[0].name(), "environment");
    }

    #[test]
    fn a_place_that_is_not_there_still_has_a_machine() {
        let seen =
            look(&Scene { target: Path::new("/nowhere/at/all"), wanted: Wanted::default() }).facts;
        assert!(seen.iter().any(|fact| fact.name == "memory.bytes"));
    }

    #[test]
    fn what_happens_meanwhile_is_seen() {
        let watching = watch(&Scene { target: Path::new("/"), wanted: Wanted::default() });
        std::thread::sleep(std::time::Duration::from_millis(30));
        let seen = watching.end();
        assert!(seen.facts.iter().any(|fact| fact.name == "conditions.load_average"), "{seen:?}");
    }
}
