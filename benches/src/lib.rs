//! What treering itself costs: the pieces from which the programs of this package are put together.
//!
//! The programs measure the engine beside bare loops of system calls over the same names, in turns
//! within one run, and tell ratios. They are ours only: no other package imports this one.

pub mod bare;
pub mod create_tree;
pub mod engine;
pub mod flat;
pub mod layouts;
pub mod mark_files;
pub mod names_scale;
pub mod null;
pub mod original;
pub mod play_load;
pub mod profile_rates;
pub mod program;
pub mod rounds;
pub mod step_cost;
pub mod synthetic;
pub mod usage;

use std::error::Error;
use std::fmt::Display;

use serde::Serialize;

/// Whatever goes wrong in a measurement ends it.
pub type Fault = Box<dyn Error + Send + Sync>;

/// Prints a report, as a table or as JSON.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn show<R: Display + Serialize>(report: &R, as_json: bool) -> Result<(), Fault> {
    let text = if as_json { serde_json::to_string_pretty(report)? } else { report.to_string() };
    println!("{}", text.trim_end());
    Ok(())
}
