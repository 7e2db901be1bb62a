//! Runs an installed io500.

use std::process::ExitCode;

use crate::arguments::InstalledArgs;
use crate::failure::{Failure, Kind};

/// Runs it.
pub(super) fn run(args: &InstalledArgs) -> Result<ExitCode, Failure> {
    let _ = args;
    Err(Failure::new(Kind::Usage, "not yet"))
}
