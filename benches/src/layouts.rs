//! `layouts`: one benchmark linked in several code layouts, run in turns.
//!
//! Where the linker puts a function decides how the processor predicts its branches, and after each
//! system call those of the kernel too. A few percent between two builds can be nothing else, so
//! such a claim needs the spread over layouts beside it. Only the last link differs (the order of
//! the sections of code, by seed); the object files are the same.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde::Serialize;
use serde_json::Value;

use crate::Fault;
use crate::rounds::{Spread, in_turns};

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the programs are put.
    pub directory: PathBuf,
    /// The benchmark: a program of this package that knows `--json`.
    pub benchmark: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How many layouts.
    pub layouts: u32,
    /// How often each program runs, after one run that is not counted.
    pub rounds: usize,
}

/// One figure of one method, over all layouts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The method, as the benchmark names it.
    pub method: String,
    /// The figure, as the benchmark names it.
    pub figure: String,
    /// The median of each layout's runs, lowest first.
    pub layouts: Vec<f64>,
    /// What the layouts' medians spread over.
    pub across: Spread,
    /// How far the runs of one layout are apart: the median over the layouts of their interquartile
    /// range, as a share of the median.
    pub within: f64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The benchmark.
    pub benchmark: String,
    /// Layouts.
    pub layouts: u32,
    /// Runs of each that count.
    pub rounds: usize,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// Builds and measures.
///
/// # Errors
/// When cargo or the benchmark fails, or the benchmark prints no figures.
pub fn measure(options: &Options) -> Result<Report, Fault> {
    fs::create_dir_all(&options.directory)?;
    let seeds = 1..=options.layouts;
    let programs = seeds.map(|seed| build(options, seed)).collect::<Result<Vec<_>, Fault>>()?;
    let runs = in_turns(programs.len(), options.rounds, |layout, _| {
        let mut command = Command::new(&programs[layout]);
        command.args(&options.arguments).arg("--json");
        figures(&answer(command)?)
    })?;
    Ok(Report {
        benchmark: options.benchmark.clone(),
        layouts: options.layouts,
        rounds: options.rounds,
        figures: put_together(&runs),
    })
}

/// Links the benchmark with its sections of code in the order of this seed.
fn build(options: &Options, seed: u32) -> Result<PathBuf, Fault> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["rustc", "--release", "--package", "treering-benches", "--message-format=json"])
        .args(["--bin", &options.benchmark, "--"])
        .arg(format!("-Clink-arg=-Wl,--shuffle-sections=.text*={seed}"));
    let messages = answer(command)?;
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| Some(message.get("executable")?.as_str()?.to_owned()))
        .ok_or("cargo built no program")?;
    let program = options.directory.join(format!("{}.{seed}", options.benchmark));
    fs::copy(executable, &program)?;
    Ok(program)
}

/// What a program prints; its words on standard error go to ours.
fn answer(mut command: Command) -> Result<String, Fault> {
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

type Figures = BTreeMap<(usize, String, String), f64>;

/// The medians in a report, by the place and name of the method and the name of the figure.
fn figures(report: &str) -> Result<Figures, Fault> {
    let report: Value = serde_json::from_str(report)?;
    let methods =
        report.get("methods").and_then(Value::as_array).ok_or("the report has no `methods`")?;
    let mut all = Figures::new();
    for (place, method) in methods.iter().enumerate() {
        let name = method.get("method").and_then(Value::as_str).unwrap_or("");
        for (figure, spread) in method.as_object().into_iter().flatten() {
            if let Some(median) = spread.get("median").and_then(Value::as_f64) {
                all.insert((place, name.to_owned(), figure.clone()), median);
            }
        }
    }
    if all.is_empty() { Err("the report has no figures".into()) } else { Ok(all) }
}

fn put_together(runs: &[Vec<Figures>]) -> Vec<Figure> {
    let keys = runs.iter().flatten().next().map(Figures::keys).into_iter().flatten();
    let together = |key: &(usize, String, String)| {
        let of_layouts: Vec<Spread> = runs
            .iter()
            .map(|runs| Spread::of(runs.iter().filter_map(|run| run.get(key).copied()).collect()))
            .collect();
        let share = |spread: &Spread| (spread.high - spread.low) / spread.median;
        let mut layouts: Vec<f64> = of_layouts.iter().map(|spread| spread.median).collect();
        layouts.sort_by(f64::total_cmp);
        Figure {
            method: key.1.clone(),
            figure: key.2.clone(),
            across: Spread::of(layouts.clone()),
            within: Spread::of(of_layouts.iter().map(share).collect()).median,
            layouts,
        }
    };
    keys.map(together).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { benchmark, layouts, rounds, .. } = self;
        writeln!(f, "{benchmark} in {layouts} code layouts, {rounds} runs of each, in turns")?;
        writeln!(
            f,
            "{:<32} {:<22} {:>10} {:>10} {:>10} {:>8} {:>8}",
            "", "", "lowest", "median", "highest", "across", "within"
        )?;
        for one in &self.figures {
            let (low, high) = (one.layouts.first(), one.layouts.last());
            let (low, high) = (low.copied().unwrap_or(0.0), high.copied().unwrap_or(0.0));
            let middle = one.across.median;
            writeln!(
                f,
                "{:<32} {:<22} {low:>10.3} {middle:>10.3} {high:>10.3} {:>7.1}% {:>7.1}%",
                one.method,
                one.figure,
                (high - low) / middle * 100.0,
                one.within * 100.0
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{figures, put_together};

    #[test]
    fn figures_of_a_report_are_its_medians_by_method() {
        let report = r#"{"rounds": 3, "methods": [
            {"method": "bare", "rate": {"median": 2.0, "low": 1.0}, "cpu": {"median": 4.0}},
            {"method": "engine", "rate": {"median": 1.0}, "to_one_thread": null}]}"#;
        let found: Vec<_> = figures(report).unwrap().into_iter().collect();
        let key = |place, method: &str, figure: &str| (place, method.to_owned(), figure.to_owned());
        let expected = [
            (key(0, "bare", "cpu"), 4.0),
            (key(0, "bare", "rate"), 2.0),
            (key(1, "engine", "rate"), 1.0),
        ];
        assert_eq!(found, expected);
        assert!(figures("{}").is_err());
        assert!(figures(r#"{"methods": []}"#).is_err());
    }

    #[test]
    fn layouts_are_distinguished_from_the_noise_within_one() {
        let run = |rate: f64| {
            figures(&format!(r#"{{"methods": [{{"method": "a", "rate": {{"median": {rate}}}}}]}}"#))
        };
        let layout = |rates: [f64; 3]| rates.map(|rate| run(rate).unwrap()).to_vec();
        let runs = [layout([20.0, 20.0, 20.0]), layout([9.0, 10.0, 11.0])];
        let all = put_together(&runs);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].layouts, [10.0, 20.0]);
        assert_eq!(all[0].across.median, 15.0);
        assert!((all[0].within - 0.05).abs() < 1e-12, "{}", all[0].within);
    }
}
