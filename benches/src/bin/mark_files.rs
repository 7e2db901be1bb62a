//! Measures treering's fs_mark beside the original and a bare loop of system calls.

use std::path::PathBuf;

use clap::Parser;
use treering_benches::mark_files::{Options, measure};
use treering_benches::{Fault, program, show};

/// Makes small files with one worker by a bare loop, by treering's native and classic fs_mark, and
/// by the original, in turns, and compares files per second.
#[derive(Debug, Parser)]
struct Arguments {
    /// The directory in which files are made and removed again.
    dir: PathBuf,
    /// Files of a round.
    #[arg(long, default_value_t = 20_000)]
    files: u32,
    /// Rounds, after one that is not counted.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// The treering to run as a child [default: the one built beside this program].
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// The original fs_mark 3.3, to be run beside them.
    #[arg(long, value_name = "PATH")]
    original: Option<PathBuf>,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<(), Fault> {
    let arguments = Arguments::parse();
    let report = measure(&Options {
        dir: arguments.dir,
        files: arguments.files.max(1),
        rounds: arguments.rounds.max(1),
        program: Some(arguments.program.map_or_else(program::beside_us, Ok)?),
        original: arguments.original,
    })?;
    show(&report, arguments.json)
}
