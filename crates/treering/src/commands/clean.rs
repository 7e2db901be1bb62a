//! `treering clean`: removes what a killed run left in a directory.

use std::io::{Write, stdout};
use std::process::ExitCode;

use treering_lab::{find_leftovers, remove_leftovers};

use crate::arguments::CleanArgs;
use crate::failure::Failure;

/// Removes it, or says what it would remove.
pub(crate) fn run(args: &CleanArgs) -> Result<ExitCode, Failure> {
    let path = |tree: &str| args.dir.join(tree).display().to_string();
    if !args.dry_run {
        remove_leftovers(&args.dir, |tree| say(&format!("removing {}", path(tree))))?;
        return Ok(ExitCode::SUCCESS);
    }
    match find_leftovers(&args.dir)? {
        None => say(&format!("{}: nothing is left of a killed run", args.dir.display())),
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
