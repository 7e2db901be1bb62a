//! Measures what treering costs beside bare loops of system calls that make the same tree.

use std::path::PathBuf;

use clap::Parser;
use treering_benches::create_tree::{Options, measure};
use treering_benches::{Fault, program, show};

/// Makes the clean tree of a data set by treering's engine (latency off, sampled, all), by the
/// program itself, and by two bare loops, in turns, and compares user and system time.
#[derive(Debug, Parser)]
struct Arguments {
    /// The directory in which trees are made and removed again.
    dir: PathBuf,
    /// The data set: a shipped one's name, or a directory with the original's four files.
    #[arg(long, default_value = "linux-6.1")]
    dataset: String,
    /// Rounds, after one that is not counted.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// The treering to run as a child [default: the one built beside this program].
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Do not run the program, only its engine.
    #[arg(long)]
    no_program: bool,
    /// Count the program's system calls by strace, too.
    #[arg(long)]
    strace: bool,
    /// The original compilebench 0.6, to be run beside them.
    #[arg(long, value_name = "PATH")]
    original: Option<PathBuf>,
    /// The Python that runs the original.
    #[arg(long, default_value = "python3", value_name = "PROGRAM")]
    python: String,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<(), Fault> {
    let arguments = Arguments::parse();
    let program = match arguments.program {
        _ if arguments.no_program => None,
        None => Some(program::beside_us()?),
        given => given,
    };
    let report = measure(Options {
        dir: arguments.dir,
        dataset: arguments.dataset,
        rounds: arguments.rounds.max(1),
        program,
        strace: arguments.strace,
        original: arguments.original.map(|script| (script, arguments.python)),
    })?;
    show(&report, arguments.json)
}
