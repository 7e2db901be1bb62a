//! `treering clean`: removes what a killed run left in a directory.

use std::ffi::CString;
use std::io::{Write, stdout};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

use treering_engine::Target;
use treering_lab::{LabError, LeftoverTrees, RunTree, find_leftovers, remove_leftovers};
use treering_observe::census::census;
use treering_sys::open_subdir;

use crate::arguments::CleanArgs;
use crate::clock::unix_ms;
use crate::failure::Failure;

/// Removes the leftovers in a directory, or with --dry-run prints them.
pub(crate) fn run(args: &CleanArgs) -> Result<ExitCode, Failure> {
    let dir = args.dir.as_path();
    // Reported from a directory without a mark, which is clean.
    dir.read_dir().map_err(|error| Failure::of_path(dir, &error))?;
    let left = if args.dry_run {
        let left = find_leftovers(dir)?;
        for (left, tree) in left.iter().flat_map(|left| left.trees.iter().map(move |t| (left, t))) {
            say(&format!("would remove {}", described(dir, left, tree)));
        }
        left
    } else {
        let removed = remove_leftovers(dir, |left, tree| {
            say(&format!("removing {}", described(dir, left, tree)));
        });
        match removed {
            Ok(left) => Some(left),
            Err(LabError::NothingLeft { .. }) => None,
            Err(error) => return Err(error.into()),
        }
    };
    match left {
        None => say(&format!("{}: nothing to clean (no mark of a killed run)", dir.display())),
        Some(left) => say_what_stays(dir, &left),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the leftovers that are not removed, with the reasons.
fn say_what_stays(dir: &Path, left: &LeftoverTrees) {
    for tree in &left.spared {
        say(&format!("leaving {}: it {}", dir.join(&tree.name).display(), tree.why));
    }
    if left.has_no_list {
        say(&format!(
            "{}: the mark of trial {}, of an older version of treering, does not list what that \
             run made: remove its trees by hand",
            dir.display(),
            left.trial
        ));
    } else if left.trees.is_empty() {
        let (dir, trial) = (dir.display(), &left.trial);
        say(&format!("{dir}: nothing is left of the killed run (trial {trial}) but its mark"));
    }
}

/// Describes a tree: size, age and run.
fn described(dir: &Path, left: &LeftoverTrees, tree: &RunTree) -> String {
    let size = size_of(dir, &tree.name).map_or_else(String::new, |(files, bytes)| {
        format!("{files} {}, {}, ", if files == 1 { "file" } else { "files" }, in_words(bytes))
    });
    let now_s = i64::try_from(unix_ms() / 1000).unwrap_or(i64::MAX);
    let age = age(now_s.saturating_sub(tree.since_unix_s));
    format!("{}: {size}{age} old, of trial {}", dir.join(&tree.name).display(), left.trial)
}

/// Number of files in a tree and their bytes; `None` if the tree cannot be read.
fn size_of(dir: &Path, name: &str) -> Option<(u64, u64)> {
    let target = Target::open(dir).ok()?;
    let name = CString::new(name).ok()?;
    let tree = open_subdir(target.confinement(), target.dir(), &name).ok()?;
    let found = census(tree.as_fd()).ok()?;
    Some((found.files, found.bytes))
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

/// Prints a line on standard output. Write errors are ignored: a closed pipe must not stop the
/// command.
fn say(line: &str) {
    let _nobody_listens = writeln!(stdout(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::{age, in_words};

    #[test]
    fn sizes_and_ages_are_told_in_their_largest_whole_unit() {
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
