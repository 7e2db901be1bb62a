//! `treering lab clean`: removes what a killed run left in a directory.

use std::process::ExitCode;

use treering_lab::{LabError, find_leftovers, remove_leftovers};

use crate::arguments::CleanArgs;
use crate::classic_output::print_line;
use crate::clock::unix_ms;
use crate::failure::Failure;

/// Removes the leftovers in a directory, or with --dry-run prints them.
pub(crate) fn run(args: &CleanArgs) -> Result<ExitCode, Failure> {
    let dir = args.dir.as_path();
    // A directory that cannot be read is an error; one without a mark is clean.
    dir.read_dir().map_err(|error| Failure::of_path(dir, &error))?;
    let now_unix_s = i64::try_from(unix_ms() / 1000).unwrap_or(i64::MAX);
    let left = if args.dry_run {
        let left = find_leftovers(dir)?;
        for (left, tree) in left.iter().flat_map(|left| left.trees.iter().map(move |t| (left, t))) {
            print_line(&format!("would remove {}", left.described(dir, tree, now_unix_s)));
        }
        left
    } else {
        let removed = remove_leftovers(dir, |left, tree| {
            print_line(&format!("removing {}", left.described(dir, tree, now_unix_s)));
        });
        match removed {
            Ok(left) => Some(left),
            Err(LabError::NothingLeft { .. }) => None,
            Err(error) => return Err(error.into()),
        }
    };
    match left {
        None => {
            print_line(&format!("{}: nothing to clean (no mark of a killed run)", dir.display()));
        }
        Some(left) => left.remaining(dir).iter().for_each(|line| print_line(line)),
    }
    Ok(ExitCode::SUCCESS)
}
