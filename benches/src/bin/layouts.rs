//! Measures one benchmark in several code layouts.

use std::path::PathBuf;

use clap::Parser;
use treering_benches::layouts::{Options, measure};
use treering_benches::{Fault, show};

/// Links a benchmark several times with its code in another order, runs the programs in turns and
/// says how far the layouts are apart. A difference between two builds that is smaller than that
/// says nothing.
#[derive(Debug, Parser)]
struct Arguments {
    /// The benchmark: a program of this package, as profile_rates.
    benchmark: String,
    /// Its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Where the programs are put.
    #[arg(long, default_value = "target/layouts")]
    directory: PathBuf,
    /// Layouts.
    #[arg(long, default_value_t = 6)]
    layouts: u32,
    /// Runs of each, after one that is not counted.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<(), Fault> {
    let arguments = Arguments::parse();
    let report = measure(&Options {
        directory: arguments.directory,
        benchmark: arguments.benchmark,
        arguments: arguments.arguments,
        layouts: arguments.layouts.max(1),
        rounds: arguments.rounds.max(1),
    })?;
    show(&report, arguments.json)
}
