//! Measures the memory that a data set of millions of names takes to read, to plan with, and to
//! run.

use std::path::PathBuf;

use clap::Parser;
use treering_benches::names_scale::{Options, Own, measure};
use treering_benches::{Fault, program, show};

/// Writes a data set in the original's format, and reads, plans and runs it (every call succeeding
/// at once), each in a process of its own; then asks the program for dry runs.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the data set is written and removed again; 10 million names take about 2 GiB.
    dir: PathBuf,
    /// Files of the clean tree.
    #[arg(long, default_value_t = 10_000_000)]
    names: u64,
    /// The treering to ask for dry runs [default: the one built beside this program].
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Do not ask the program, only its crates.
    #[arg(long)]
    no_program: bool,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Do one step here, on the data set in DIR: what the program asks of itself.
    #[arg(long, hide = true)]
    step: Option<String>,
}

fn main() -> Result<(), Fault> {
    let arguments = Arguments::parse();
    if let Some(word) = arguments.step {
        let step = Own::of(&word).ok_or("no such step")?;
        return step.perform(&arguments.dir, arguments.names);
    }
    let program = match arguments.program {
        _ if arguments.no_program => None,
        None => Some(program::beside_us()?),
        given => given,
    };
    let own = std::env::current_exe()?;
    let report = measure(&Options { names: arguments.names, dir: arguments.dir, own, program })?;
    show(&report, arguments.json)
}
