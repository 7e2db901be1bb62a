//! `treering clean`: removes what a killed run left in a directory.

use std::io::{Write, stdout};
use std::process::ExitCode;

use treering_lab::{LabError, find_leftovers, remove_leftovers};

use crate::arguments::CleanArgs;
use crate::failure::Failure;

/// Removes it, or says what it would remove.
pub(crate) fn run(args: &CleanArgs) -> Result<ExitCode, Failure> {
    let dir = args.dir.display();
    // Reported from a directory without a mark, which is clean.
    args.dir.read_dir().map_err(|error| Failure::of_path(&args.dir, &error))?;
    let path = |tree: &str| args.dir.join(tree).display().to_string();
    let nothing = || say(&format!("{dir}: nothing to clean (no mark of a killed run)"));
    if !args.dry_run {
        match remove_leftovers(&args.dir, |tree| say(&format!("removing {}", path(tree)))) {
            Ok(_removed) => {}
            Err(LabError::NothingLeft { .. }) => nothing(),
            Err(error) => return Err(error.into()),
        }
        return Ok(ExitCode::SUCCESS);
    }
    match find_leftovers(&args.dir)? {
        None => nothing(),
        Some(left) => {
            for tree in &left.trees {
                say(&format!("would remove {}", path(tree)));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A line on standard output; nobody listening is no reason to stop.
fn say(line: &str) {
    let _nobody_listens = writeln!(stdout(), "{line}");
}
