//! Measures treering's dbench beside the original.

use std::path::PathBuf;

use clap::Parser;
use treering_benches::play_load::{Options, measure};
use treering_benches::{Fault, program, show};

/// Plays a load file by treering's dbench, with processes and with threads, and by the original, in
/// turns, and compares operations per second.
#[derive(Debug, Parser)]
struct Arguments {
    /// The directory in which the clients work.
    dir: PathBuf,
    /// The load file: that of the original, or one of `treering dbench generate`.
    #[arg(long)]
    load: PathBuf,
    /// Clients.
    #[arg(long, default_value_t = 2)]
    clients: u32,
    /// Seconds of a round, after a warm-up of a fifth of them.
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Rounds, after one that is not counted.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// The treering to run [default: the one built beside this program].
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// The original dbench 4.00, to be run beside it.
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
        load: arguments.load,
        clients: arguments.clients.max(1),
        seconds: arguments.seconds.max(1),
        rounds: arguments.rounds.max(1),
        program: arguments.program.map_or_else(program::beside_us, Ok)?,
        original: arguments.original,
    })?;
    show(&report, arguments.json)
}
