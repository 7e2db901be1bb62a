//! `cargo xtask truth`: measures how often verdicts are wrong. A filesystem is compared with itself
//! many times: each reported difference is a false alarm. Then it is compared with itself slowed by
//! a known percentage: each missing difference is a miss. docs/evidence/truth.md has the results.
//! Requires root, and a release build.

mod page;
mod tally;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::checkout;
use tally::VerdictTally;

/// Options of the measurement.
#[derive(clap::Args)]
pub(crate) struct TruthOptions {
    /// Number of comparisons of a filesystem with itself, cycling through the filesystems
    #[arg(long, default_value_t = 21)]
    comparisons: u32,
    /// Workloads: fs_mark (files with fsync, a second a trial) or compilebench (many seconds)
    #[arg(long, value_delimiter = ',', default_value = "fs_mark")]
    jobs: Vec<String>,
    /// Rounds of each comparison; an alarm needs at least six or seven with one or two primary
    /// metrics, and eight with five
    #[arg(long, default_value_t = 8)]
    rounds: u32,
    /// Slowdowns to detect, in percent
    #[arg(long, value_delimiter = ',', default_value = "2,5,10")]
    slowdowns: Vec<u32>,
    /// Number of comparisons for each slowdown, cycling through the filesystems
    #[arg(long, default_value_t = 9)]
    slowed_comparisons: u32,
    /// Rounds of each comparison with a slowdown
    #[arg(long, default_value_t = 10)]
    slowed_rounds: u32,
    /// Filesystems to compare
    #[arg(long, value_delimiter = ',', default_value = "ext4,xfs,btrfs")]
    filesystems: Vec<String>,
    /// Size of the image for each filesystem
    #[arg(long, default_value = "1GiB")]
    size: String,
    /// Keep the images in this directory instead of the lab's default one
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
    /// Keep the store of all trials in this file
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
}

/// Planned comparison of a filesystem with itself.
struct SelfComparison<'a> {
    filesystem: &'a str,
    /// Slowdown of the contender; 0 for none.
    slowed_percent: u32,
    rounds: u32,
    /// Seed of the order of the rounds and of the workload.
    seed: u32,
}

/// Runs all comparisons and prints the tables.
pub(crate) fn run(root: &Path, options: &TruthOptions) -> Result<bool, Box<dyn Error>> {
    let program = checkout::target_dir(root).join("release/treering");
    if !program.is_file() {
        return Err("build the release first: make build".into());
    }
    if options.filesystems.is_empty() {
        return Err("--filesystems names none".into());
    }
    let directory = std::env::temp_dir().join(format!("treering-truth-{}", std::process::id()));
    fs::create_dir(&directory)?;
    let mut tallies = TruthTallies::default();
    let ended = compare_all(&program, &directory, options, &mut tallies);
    let kept = options.keep.as_ref().map(|file| fs::copy(directory.join(STORE), file));
    fs::remove_dir_all(&directory)?;
    // The counts are printed even if a comparison failed.
    print!("{}", page::text(options, &tallies.same, &tallies.slowed));
    ended?;
    kept.transpose()?;
    Ok(true)
}

/// File name of the store, in the run's directory.
const STORE: &str = "results.treering";

/// Tallies per filesystem compared with itself, and per slowdown.
#[derive(Default)]
struct TruthTallies {
    same: BTreeMap<String, VerdictTally>,
    slowed: BTreeMap<u32, VerdictTally>,
}

fn compare_all(
    program: &Path,
    directory: &Path,
    options: &TruthOptions,
    tallies: &mut TruthTallies,
) -> Result<(), Box<dyn Error>> {
    let comparisons = comparisons(options);
    for (number, comparison) in comparisons.iter().enumerate() {
        let outcome = compare(program, directory, options, comparison)?;
        let tally: &mut VerdictTally = match comparison.slowed_percent {
            0 => tallies.same.entry(comparison.filesystem.to_owned()).or_default(),
            percent => tallies.slowed.entry(percent).or_default(),
        };
        tally
            .count_comparison(&outcome, 1.0 / (1.0 + f64::from(comparison.slowed_percent) / 100.0));
        eprintln!(
            "{} of {}: {}, slowed by {} %: {}",
            number + 1,
            comparisons.len(),
            comparison.filesystem,
            comparison.slowed_percent,
            outcome["verdicts"][0].as_str().unwrap_or_default()
        );
    }
    Ok(())
}

/// Lists the comparisons of unchanged filesystems, then those for each slowdown in turn.
fn comparisons(options: &TruthOptions) -> Vec<SelfComparison<'_>> {
    let comparison = |number: u32, slowed_percent: u32, rounds: u32| SelfComparison {
        filesystem: &options.filesystems[number as usize % options.filesystems.len()],
        slowed_percent,
        rounds,
        seed: number + 1,
    };
    let same = (0..options.comparisons).map(|number| comparison(number, 0, options.rounds));
    let slowed = (0..options.slowed_comparisons).flat_map(|number| {
        let each = options.slowdowns.iter();
        each.map(move |percent| comparison(number, *percent, options.slowed_rounds))
    });
    same.chain(slowed).collect()
}

/// Job of a plan, as TOML.
fn job(name: &str, seed: u32) -> Result<String, Box<dyn Error>> {
    let options = match name {
        "fs_mark" => "files = 4000, size = \"4K\"",
        "compilebench" => "dataset = \"linux-6.1-small\", initial-dirs = 1, runs = 8",
        other => return Err(format!("--jobs: '{other}' is not fs_mark or compilebench").into()),
    };
    Ok(format!("\n[[job]]\nworkload = \"{name}\"\noptions = {{ {options}, seed = {seed} }}\n"))
}

/// Compares a filesystem with itself; returns the report as JSON.
fn compare(
    program: &Path,
    directory: &Path,
    options: &TruthOptions,
    comparison: &SelfComparison<'_>,
) -> Result<Value, Box<dyn Error>> {
    let SelfComparison { filesystem, slowed_percent, rounds, seed } = comparison;
    let jobs = options.jobs.iter().map(|name| job(name, *seed)).collect::<Result<String, _>>()?;
    let name = format!("{filesystem}-{slowed_percent}-{seed}");
    let images = match &options.images {
        Some(images) => format!("images = \"{}\"\n", images.display()),
        None => String::new(),
    };
    let size = &options.size;
    let text = format!(
        "name = \"{name}\"\nrounds = {rounds}\nseed = {seed}\nwarm-up = false\ncontrol = false\n\n\
         [device]\nloop = \"{size}\"\n{images}\n\
         [[variant]]\nname = \"first\"\nfilesystem = \"{filesystem}\"\n\n\
         [[variant]]\nname = \"second\"\nfilesystem = \"{filesystem}\"\n\
         handicap = \"{slowed_percent}%\"\n{jobs}"
    );
    let plan = directory.join(format!("{name}.toml"));
    fs::write(&plan, text)?;
    let output = Command::new(program)
        .arg("compare")
        .arg(&plan)
        .args(["--quiet", "--format", "json", "--store"])
        .arg(directory.join(STORE))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
