//! Descriptions of a killed run's leftovers, for messages.

use std::ffi::CString;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;

use treering_engine::Target;
use treering_observe::census::census;
use treering_sys::open_subdir;

use super::{LeftoverTrees, RunTree};

impl LeftoverTrees {
    /// Describes a tree in the directory: size, age and run.
    pub fn described(&self, dir: &Path, tree: &RunTree, now_unix_s: i64) -> String {
        let size = size_of(dir, &tree.name).map_or_else(String::new, |(files, bytes)| {
            format!("{files} {}, {}, ", if files == 1 { "file" } else { "files" }, in_words(bytes))
        });
        let age = age(now_unix_s.saturating_sub(tree.since_unix_s));
        format!("{}: {size}{age} old, of trial {}", dir.join(&tree.name).display(), self.trial)
    }

    /// Lines about the leftovers that are not removed, with the reasons.
    pub fn remaining(&self, dir: &Path) -> Vec<String> {
        let spared = self.spared.iter();
        let mut lines: Vec<String> = spared
            .map(|tree| format!("leaving {}: it {}", dir.join(&tree.name).display(), tree.why))
            .collect();
        let (dir, trial) = (dir.display(), &self.trial);
        if self.has_no_list {
            lines.push(format!(
                "{dir}: the mark of trial {trial}, of an older version of treering, does not list \
                 what that run made: remove its trees by hand"
            ));
        } else if self.trees.is_empty() {
            lines.push(format!(
                "{dir}: nothing is left of the killed run (trial {trial}) but its mark"
            ));
        }
        lines
    }
}

/// Number of files in a tree and their bytes; `None` if the tree cannot be read.
fn size_of(dir: &Path, name: &str) -> Option<(u64, u64)> {
    let target = Target::open(dir).ok()?;
    let name = CString::new(name).ok()?;
    let tree = open_subdir(target.confinement(), target.dir(), &name).ok()?;
    let counts = census(tree.as_fd(), None, &mut |_| ControlFlow::Continue(())).ok()?;
    Some((counts.files, counts.bytes))
}

/// Formats a number of bytes in the largest unit that gives at least 1.
fn in_words(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes >> shift > 0);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(shift, unit)| format!("{:.1} {unit}", bytes as f64 / f64::from(1u32 << shift)),
    )
}

/// Formats a time span in the largest unit that gives at least 1.
fn age(seconds: i64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min")];
    let unit = units.into_iter().find(|(unit_s, _)| seconds >= *unit_s);
    match unit {
        Some((unit_s, unit)) => format!("{} {unit}", seconds / unit_s),
        None => format!("{} s", seconds.max(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::{age, in_words};

    #[test]
    fn sizes_and_ages_use_the_largest_whole_unit() {
        assert_eq!(
            [0, 1023, 1024, 3 << 19, 5 << 30].map(in_words),
            ["0 B", "1023 B", "1.0 KiB", "1.5 MiB", "5.0 GiB"]
        );
        assert_eq!(
            [-1, 0, 59, 60, 7_199, 86_400].map(age),
            ["0 s", "0 s", "59 s", "1 min", "1 h", "1 d"]
        );
    }
}
