//! Measures treering's FFSB and filebench beside bare loops of system calls.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use treering_benches::profile_rates::{Operation, Options, measure};
use treering_benches::{Fault, show};

/// What is done to the files.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Word {
    /// Their attributes are read.
    Stat,
    /// They are opened, read and closed.
    Readall,
    /// The same of 16 KiB, by filebench.
    Readwhole,
}

/// Reads the attributes, or the content, of cached files by bare loops and by treering's native
/// FFSB or filebench, with one and two threads, in turns, and compares operations per second.
#[derive(Debug, Parser)]
struct Arguments {
    /// The directory in which files are made and removed again.
    dir: PathBuf,
    /// What is done.
    #[arg(long, value_enum, default_value = "stat")]
    operation: Word,
    /// Files.
    #[arg(long, default_value_t = 1000)]
    files: u32,
    /// Operations of a thread in a round.
    #[arg(long, default_value_t = 500_000)]
    operations: u32,
    /// Rounds, after one that is not counted.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<(), Fault> {
    let arguments = Arguments::parse();
    let report = measure(&Options {
        dir: arguments.dir,
        operation: match arguments.operation {
            Word::Stat => Operation::Stat,
            Word::Readall => Operation::ReadAll,
            Word::Readwhole => Operation::ReadWhole,
        },
        files: arguments.files.max(1),
        operations: arguments.operations.max(1),
        rounds: arguments.rounds.max(1),
    })?;
    show(&report, arguments.json)
}
