//! `cargo xtask`: the project's own tools, one module for each subcommand. This file only parses
//! the command line and turns the result into an exit code.

mod check;
mod checkout;
mod ci;
mod fmt;
mod fuzz;
mod parts;
mod tally;
mod tidy;
mod truth;

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own tools.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check the house rules: imports, lengths, headers, plug-in lists, unused pub items, documents
    Tidy {
        /// Lower the ratchet to today's sizes first (it is never raised)
        #[arg(long)]
        update: bool,
    },
    /// Count the lines of code of each crate, without tests, comments and blank lines
    Lines,
    /// Format every .rs file, including those declared through a macro
    Fmt {
        /// Change nothing; fail if a file is not formatted
        #[arg(long)]
        check: bool,
    },
    /// Test what changed: formatting, clippy, the house rules, and the tests of the packages that
    /// changed and of those that import them, but none on loop devices
    Check {
        /// Commit to compare with [default: the one at which the branch left main]
        base: Option<String>,
    },
    /// Build and run the fuzz targets on the stable toolchain
    Fuzz {
        /// Seconds for each target
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// Run this one input instead of searching (needs TARGET)
        #[arg(long, requires = "target")]
        input: Option<PathBuf>,
        /// Only this target
        target: Option<String>,
    },
    /// Compare filesystems with themselves, unchanged and slowed, and count the verdicts (root)
    Truth(truth::TruthOptions),
    /// Print the licences of all packages in the program
    Licenses {
        /// The target it is built for
        target: String,
    },
    /// Print the packages in the program as an SBOM: CycloneDX in JSON
    Sbom {
        /// The target it is built for
        target: String,
    },
    /// Everything CI runs, in order; the last line counts what passed and failed
    Ci {
        /// Seconds for each fuzz target
        #[arg(long, default_value_t = 5)]
        seconds: u32,
        /// Only these steps
        #[arg(value_enum)]
        steps: Vec<ci::CiStep>,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs a command. `Ok(false)` means that the tool worked and its check failed.
fn run(command: Command) -> Result<bool, Box<dyn Error>> {
    let root = checkout::root()?;
    match command {
        Command::Tidy { update } => tidy::run(&root, update),
        Command::Lines => print(&tidy::code_lines(&root)?),
        Command::Fmt { check } => fmt::run(&root, check),
        Command::Check { base } => check::run(&root, base.as_deref()),
        Command::Fuzz { seconds, input: None, target } => {
            Ok(fuzz::run(&root, seconds, target.as_deref())?.failed == 0)
        }
        Command::Fuzz { input: Some(input), target, .. } => {
            fuzz::replay(&root, target.as_deref().unwrap_or_default(), &input)
        }
        Command::Licenses { target } => print(&parts::licenses(&root, &target)?),
        Command::Sbom { target } => print(&parts::sbom(&root, &target)?),
        Command::Truth(options) => truth::run(&root, &options),
        Command::Ci { seconds, steps } => Ok(ci::run(&root, seconds, &steps)),
    }
}

fn print(page: &str) -> Result<bool, Box<dyn Error>> {
    io::stdout().write_all(page.as_bytes())?;
    Ok(true)
}
