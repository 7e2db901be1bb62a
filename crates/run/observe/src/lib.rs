//! Observers: they look at the machine and the place under test and never touch them.
//!
//! One folder each, one line each in [`ALL`].

mod environment;

use std::path::Path;

use treering_model::Fact;

/// Where an observer looks.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The directory under test.
    pub target: &'a Path,
}

/// Looks before a trial. What it cannot see it leaves out: that is never an error.
pub trait Observer: Sync {
    /// Its name, the first part of the names of its facts.
    fn name(&self) -> &'static str;

    /// What it sees.
    fn look(&self, scene: &Scene<'_>) -> Vec<Fact>;
}

/// Every observer.
pub const ALL: &[&dyn Observer] = &[&environment::Environment];

/// Everything that all observers see.
pub fn facts(scene: &Scene<'_>) -> Vec<Fact> {
    ALL.iter().flat_map(|observer| observer.look(scene)).collect()
}

/// The release of the kernel that runs; empty without `/proc`.
pub fn kernel_release() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{ALL, Scene, facts};
    use std::collections::HashSet;
    use std::path::Path;

    #[test]
    fn facts_have_one_value_each() {
        let seen = facts(&Scene { target: Path::new("/proc") });
        let names: HashSet<&str> = seen.iter().map(|fact| fact.name.as_str()).collect();
        assert_eq!(names.len(), seen.len());
        assert!(names.contains("kernel.release"), "{names:?}");
        assert_eq!(ALL[0].name(), "environment");
    }

    #[test]
    fn a_place_that_is_not_there_still_has_a_machine() {
        let seen = facts(&Scene { target: Path::new("/nowhere/at/all") });
        assert!(seen.iter().any(|fact| fact.name == "memory.bytes"));
    }
}
