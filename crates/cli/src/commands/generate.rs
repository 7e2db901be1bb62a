//! `treering dbench generate`: writes a load file.

use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use treering_dbench::generate;

use super::output::with_writer;
use crate::arguments::GenerateArgs;
use crate::failure::Failure;

/// Writes the load file.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let args = GenerateArgs::from_arg_matches(matches)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let load = generate::text(args.seed, args.blocks);
    with_writer(args.output.as_deref(), |out| out.write_all(&load))?;
    Ok(ExitCode::SUCCESS)
}
