//! Measures what a step costs without its system call, and what taking latencies adds to a call.

use clap::Parser;
use treering_benches::Fault;
use treering_benches::step_cost::{Options, measure};

/// Steps through the create of a data set where every step succeeds at once, and makes calls of
/// known length with and without taking latencies. No disk is touched.
#[derive(Debug, Parser)]
struct Arguments {
    /// The data set: a shipped one's name, or a directory with the original's four files.
    #[arg(long, default_value = "linux-6.1")]
    dataset: String,
    /// Rounds, after one that is not counted.
    #[arg(long, default_value_t = 31)]
    rounds: usize,
    /// Calls of known length in a round.
    #[arg(long, default_value_t = 100_000)]
    calls: u32,
    /// Their length in nanoseconds.
    #[arg(long, default_value_t = 1000)]
    call_ns: u32,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<(), Fault> {
    let Arguments { dataset, rounds, calls, call_ns, json } = Arguments::parse();
    let report = measure(&Options { dataset, rounds: rounds.max(1), calls, call_ns })?;
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{report}");
    }
    Ok(())
}
