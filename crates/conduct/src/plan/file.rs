//! Plans in files.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::document::{BYTES_MAX, Known, read};
use super::{Plan, PlanError};
use crate::failure::Failure;

/// Reads a plan from a file; relative paths in it are resolved against its directory. A fault is
/// rendered with its line, with colours if `in_colour`.
///
/// # Errors
/// When the file cannot be read, or is not a runnable plan.
pub fn read_plan(path: &Path, known: Known<'_>, in_colour: bool) -> Result<Plan, Failure> {
    let failed = |error: io::Error| {
        let listed = "`treering plan list` lists those inside the program, and `treering plan show \
                      NAME` prints one to change";
        let hint = (error.kind() == io::ErrorKind::NotFound).then_some(listed);
        Failure::of_path(path, &error).context("cannot read the plan").maybe_hint(hint)
    };
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let message = format!("{}: byte {} is not UTF-8", path.display(), place + 1);
        Failure::usage(message).hint("a plan is a TOML document in UTF-8")
    })?;
    let known = Known { base_dir: path.parent().map(Path::to_owned), ..known };
    read(&text, &path.to_string_lossy(), &known).map_err(|error| unusable(&error, in_colour))
}

/// Failure for a document that is not a valid plan.
pub(super) fn unusable(error: &PlanError, in_colour: bool) -> Failure {
    let words = if in_colour { error.coloured() } else { error.to_string() };
    let message = format!("the plan cannot be used\n{}", words.trim_end());
    Failure::usage(message)
}
