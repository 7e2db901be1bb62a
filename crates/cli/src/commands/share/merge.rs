//! `treering store merge`: adds the trials of a pack to a store.

use std::process::ExitCode;

use treering_results::merge;

use super::canon;
use crate::arguments::MergeArgs;
use crate::classic_output::print_line;
use crate::failure::Failure;
use crate::storage::place_of;

/// Runs `treering store merge`.
pub(crate) fn run(args: &MergeArgs) -> Result<ExitCode, Failure> {
    let dry_run_in = args.dry_run.then(std::env::temp_dir);
    print_line(&merge(&args.file, place_of(&args.store), dry_run_in.as_deref(), &canon)?);
    Ok(ExitCode::SUCCESS)
}
