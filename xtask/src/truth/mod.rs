//! `cargo xtask truth`: are the verdicts true? Filesystems are compared with themselves, again and
//! again: what is then called different is a false alarm. And with themselves slowed by a known
//! share: what is then called the same was missed. docs/evidence/truth.md has the results. Requires
//! root, and a release build.

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

/// What is asked for.
#[derive(clap::Args)]
pub(crate) struct TruthOptions {
    /// Comparisons of a filesystem with itself, in turns over the filesystems
    #[arg(long, default_value_t = 21)]
    comparisons: u32,
    /// What is run: fs_mark (files with fsync, a second a trial) or compilebench (many seconds)
    #[arg(long, value_delimiter = ',', default_value = "fs_mark")]
    jobs: Vec<String>,
    /// Rounds of each; with one or two primary metrics six or seven are the fewest that could raise
    /// an alarm, with five eight
    #[arg(long, default_value_t = 8)]
    rounds: u32,
    /// Slowdowns to be found, in percent
    #[arg(long, value_delimiter = ',', default_value = "2,5,10")]
    slowdowns: Vec<u32>,
    /// Comparisons for each slowdown, in turns over the filesystems
    #[arg(long, default_value_t = 9)]
    slowed_comparisons: u32,
    /// Rounds of each of these
    #[arg(long, default_value_t = 10)]
    slowed_rounds: u32,
    /// The filesystems
    #[arg(long, value_delimiter = ',', default_value = "ext4,xfs,btrfs")]
    filesystems: Vec<String>,
    /// The image that they are made on
    #[arg(long, default_value = "1GiB")]
    size: String,
    /// Keep the images in this directory instead of the lab's own place on the disk
    #[arg(long, value_name = "DIR")]
    images: Option<PathBuf>,
    /// Keep the store of all trials in this file
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
}

/// Planned comparison of a filesystem with itself.
struct SelfComparison<'a> {
    filesystem: &'a str,
    /// By how much the contender is slowed; 0: not at all.
    slowed_percent: u32,
    rounds: u32,
    /// Decides the order of the rounds and the work.
    seed: u32,
}

/// Runs them all and prints the tables.
pub(crate) fn run(root: &Path, options: &TruthOptions) -> Result<bool, Box<dyn Error>> {
    let program = checkout::target_dir(root).join("release/treering");
    if !program.is_file() {
        return Err("build the release first: make build".into());
    }
    if options.filesystems.is_empty() {
        return Err("--filesystems names none".into());
    }
    let place = std::env::temp_dir().join(format!("treering-truth-{}", std::process::id()));
    fs::create_dir(&place)?;
    let mut reported = TruthTallies::default();
    let ended = compare_all(&program, &place, options, &mut reported);
    let kept = options.keep.as_ref().map(|file| fs::copy(place.join(STORE), file));
    fs::remove_dir_all(&place)?;
    // What was counted until something failed is not lost.
    print!("{}", page::text(options, &reported.same, &reported.slowed));
    ended?;
    kept.transpose()?;
    Ok(true)
}

/// The store of all trials, in the place of the run.
const STORE: &str = "results.treering";

/// Tallies per filesystem compared with itself, and per slowdown.
#[derive(Default)]
struct TruthTallies {
    same: BTreeMap<String, VerdictTally>,
    slowed: BTreeMap<u32, VerdictTally>,
}

fn compare_all(
    program: &Path,
    place: &Path,
    options: &TruthOptions,
    reported: &mut TruthTallies,
) -> Result<(), Box<dyn Error>> {
    let questions = questions(options);
    for (number, question) in questions.iter().enumerate() {
        let outcome = compare(program, place, options, question)?;
        let tally: &mut VerdictTally = match question.slowed_percent {
            0 => reported.same.entry(question.filesystem.to_owned()).or_default(),
            percent => reported.slowed.entry(percent).or_default(),
        };
        tally.take(&outcome, 1.0 / (1.0 + f64::from(question.slowed_percent) / 100.0));
        eprintln!(
            "{} of {}: {}, slowed by {} %: {}",
            number + 1,
            questions.len(),
            question.filesystem,
            question.slowed_percent,
            outcome["verdicts"][0].as_str().unwrap_or_default()
        );
    }
    Ok(())
}

/// First everything with itself, then the slowdowns in turns.
fn questions(options: &TruthOptions) -> Vec<SelfComparison<'_>> {
    let question = |number: u32, slowed_percent: u32, rounds: u32| SelfComparison {
        filesystem: &options.filesystems[number as usize % options.filesystems.len()],
        slowed_percent,
        rounds,
        seed: number + 1,
    };
    let same = (0..options.comparisons).map(|number| question(number, 0, options.rounds));
    let slowed = (0..options.slowed_comparisons).flat_map(|number| {
        let each = options.slowdowns.iter();
        each.map(move |percent| question(number, *percent, options.slowed_rounds))
    });
    same.chain(slowed).collect()
}

/// A job of a plan.
fn job(name: &str, seed: u32) -> Result<String, Box<dyn Error>> {
    let options = match name {
        "fs_mark" => "files = 4000, size = \"4K\"",
        "compilebench" => "dataset = \"linux-6.1-small\", initial-dirs = 1, runs = 8",
        other => return Err(format!("--jobs: '{other}' is not fs_mark or compilebench").into()),
    };
    Ok(format!("\n[[job]]\nworkload = \"{name}\"\noptions = {{ {options}, seed = {seed} }}\n"))
}

/// One comparison of a filesystem with itself, as JSON.
fn compare(
    program: &Path,
    place: &Path,
    options: &TruthOptions,
    question: &SelfComparison<'_>,
) -> Result<Value, Box<dyn Error>> {
    let SelfComparison { filesystem, slowed_percent, rounds, seed } = question;
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
    let plan = place.join(format!("{name}.toml"));
    fs::write(&plan, text)?;
    let ran = Command::new(program)
        .arg("compare")
        .arg(&plan)
        .args(["--quiet", "--format", "json", "--store"])
        .arg(place.join(STORE))
        .output()?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&ran.stdout)?)
}
