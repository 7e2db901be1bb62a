//! `cargo xtask truth`: are the verdicts true? Each filesystem is compared with itself, again and
//! again; whatever is then called better or worse is a false alarm. docs/truth.md keeps what came
//! of it. Needs root, and the release to be built.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::checkout;

/// What is asked for.
#[derive(clap::Args)]
pub(crate) struct Truth {
    /// Comparisons of a filesystem with itself, in turns over the filesystems
    #[arg(long, default_value_t = 21)]
    comparisons: u32,
    /// Rounds of each; with five primary metrics eight are the fewest that could raise an alarm
    #[arg(long, default_value_t = 8)]
    rounds: u32,
    /// The filesystems
    #[arg(long, value_delimiter = ',', default_value = "ext4,xfs,btrfs")]
    filesystems: Vec<String>,
    /// The image that they are made on
    #[arg(long, default_value = "512MiB")]
    size: String,
}

/// What came of a filesystem's comparisons.
#[derive(Default)]
struct Tally {
    comparisons: u32,
    metrics: u32,
    verdicts: BTreeMap<String, u32>,
    /// Single tests below 5 %, as nobody should read them.
    uncorrected: u32,
    /// Comparisons with at least one false alarm among their primary metrics.
    alarmed: u32,
}

/// Runs them all and prints the table.
pub(crate) fn run(root: &Path, asked: &Truth) -> Result<bool, Box<dyn Error>> {
    let program = checkout::target_dir(root).join("release/treering");
    if !program.is_file() {
        return Err("build the release first: make build".into());
    }
    let place = std::env::temp_dir().join(format!("treering-truth-{}", std::process::id()));
    fs::create_dir(&place)?;
    let told = compare_all(&program, &place, asked);
    fs::remove_dir_all(&place)?;
    let tallies = told?;
    print(asked, &tallies);
    Ok(true)
}

fn compare_all(
    program: &Path,
    place: &Path,
    asked: &Truth,
) -> Result<BTreeMap<String, Tally>, Box<dyn Error>> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for number in 0..asked.comparisons {
        let turn = number as usize % asked.filesystems.len().max(1);
        let filesystem = asked.filesystems.get(turn).ok_or("no filesystem is named")?;
        let outcome = compare(program, place, asked, filesystem, number)?;
        let tally = tallies.entry(filesystem.clone()).or_default();
        tally.take(&outcome);
        eprintln!("{} of {}: {filesystem}", number + 1, asked.comparisons);
    }
    Ok(tallies)
}

/// One comparison of a filesystem with itself, as JSON.
fn compare(
    program: &Path,
    place: &Path,
    asked: &Truth,
    filesystem: &str,
    number: u32,
) -> Result<Value, Box<dyn Error>> {
    let plan: PathBuf = place.join(format!("aa-{number}.toml"));
    let variant =
        |name: &str| format!("[[variant]]\nname = \"{name}\"\nfilesystem = \"{filesystem}\"\n\n");
    let text = format!(
        "rounds = {}\nseed = {}\nwarm-up = false\ncontrol = false\n\n[device]\nloop = \"{}\"\n\n\
         {}{}[[job]]\noptions = {{ dataset = \"linux-6.1-small\", initial-dirs = 1, runs = 8, \
         seed = {} }}\n",
        asked.rounds,
        number + 1,
        asked.size,
        variant("first"),
        variant("second"),
        number + 1
    );
    fs::write(&plan, text)?;
    let ran = Command::new(program)
        .arg("compare")
        .arg(&plan)
        .args(["--quiet", "--format", "json", "--store"])
        .arg(place.join("results.treering"))
        .output()?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&ran.stdout)?)
}

impl Tally {
    fn take(&mut self, outcome: &Value) {
        let all = outcome["comparisons"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut alarms = 0;
        for one in all.iter().filter(|one| one["primary"] == true) {
            let verdict = one["verdict"].as_str().unwrap_or_default();
            alarms += u32::from(matches!(verdict, "better" | "worse" | "small"));
            self.metrics += 1;
            self.uncorrected += u32::from(one["p"].as_f64().is_some_and(|p| p < 0.05));
            *self.verdicts.entry(verdict.to_owned()).or_default() += 1;
        }
        self.comparisons += 1;
        self.alarmed += u32::from(alarms > 0);
    }
}

fn print(asked: &Truth, tallies: &BTreeMap<String, Tally>) {
    println!(
        "{} comparisons of a filesystem with itself, {} rounds each, image of {}.\n",
        asked.comparisons, asked.rounds, asked.size
    );
    println!(
        "| filesystem | comparisons | primary metrics | better, worse or small | same | unclear | \
         comparisons with a false alarm | p below .05, uncorrected |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (filesystem, tally) in tallies {
        let of = |words: &[&str]| -> u32 {
            words.iter().map(|word| tally.verdicts.get(*word).copied().unwrap_or(0)).sum()
        };
        println!(
            "| {filesystem} | {} | {} | {} | {} | {} | {} | {} |",
            tally.comparisons,
            tally.metrics,
            of(&["better", "worse", "small"]),
            of(&["same"]),
            of(&["unclear"]),
            tally.alarmed,
            tally.uncorrected
        );
    }
}
