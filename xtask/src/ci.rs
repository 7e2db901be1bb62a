//! `cargo xtask ci`: everything CI runs, all steps even when one fails. Each step ends with a
//! one-line result; the last line counts what passed and failed: every test of cargo's harness,
//! every fuzz target, and each other step as one.

mod listener;
mod programs;
mod running;
mod times;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use clap::ValueEnum;

use crate::tally::TestTally;
use crate::{checkout, fmt as format, fuzz, tidy};
pub(crate) use programs::build;
pub(crate) use running::run_some;

/// A step, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CiStep {
    /// rustfmt on every file
    Fmt,
    /// clippy on all targets, warnings are errors
    Clippy,
    /// The house rules
    Tidy,
    /// Licences, sources and bans of dependencies, where cargo-deny is installed
    Deny,
    /// Unit, integration and golden tests; those on real filesystems when root
    Test,
    /// The code compiles with the oldest Rust it promises (`rust-version`), where rustup has that
    Msrv,
    /// The documentation builds without warnings
    Doc,
    /// Every fuzz target for a few seconds
    Fuzz,
}

/// Results of the steps, in the order of their ends.
#[derive(Default)]
struct StepResults {
    lines: Vec<String>,
    total: TestTally,
}

/// Runs these steps, or all. The steps after the tests need no devices, and run while tests wait
/// for devices.
pub(crate) fn run(root: &Path, seconds: u32, steps: &[CiStep]) -> bool {
    let mut results = StepResults::default();
    let is_wanted = |step: &CiStep| steps.is_empty() || steps.contains(step);
    let mut wanted = CiStep::value_variants().iter().copied().filter(is_wanted);
    while let Some(step) = wanted.next() {
        let mut concurrent = StepResults::default();
        let mut remaining = || {
            for step in wanted.by_ref() {
                concurrent.run_and_store(step, || run_step(root, step, seconds, &mut || ()));
            }
        };
        results.run_and_store(step, || run_step(root, step, seconds, &mut remaining));
        results.lines.extend(concurrent.lines);
        results.total.add(concurrent.total);
    }
    for line in results.lines {
        println!("{line}");
    }
    let total = results.total;
    for reason in &total.skipped {
        println!("skipped: {reason}");
    }
    println!("{total}");
    total.failed == 0
}

impl StepResults {
    /// Runs one step and stores its result.
    fn run_and_store(
        &mut self,
        step: CiStep,
        run: impl FnOnce() -> Result<TestTally, Box<dyn Error>>,
    ) {
        let name = format!("{step:?}").to_lowercase();
        println!("== {name}");
        let began = Instant::now();
        let tally = run().unwrap_or_else(|error| {
            println!("{name}: {error}");
            TestTally::from_result(false)
        });
        let word = if tally.failed == 0 { "ok" } else { "FAILED" };
        let line = format!("{name:<7} {word:<6} {:>6.1} s  {tally}", began.elapsed().as_secs_f64());
        println!("== {line}\n");
        self.lines.push(line);
        self.total.add(tally);
    }
}

/// Runs a step. The test step also calls `remaining` when only tests that wait for devices are
/// left.
fn run_step(
    root: &Path,
    step: CiStep,
    seconds: u32,
    remaining: &mut dyn FnMut(),
) -> Result<TestTally, Box<dyn Error>> {
    let is_ok = match step {
        CiStep::Fmt => format::run(root, true)?,
        CiStep::Clippy => succeeds(
            checkout::cargo()
                .args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
                .current_dir(root),
        )?,
        CiStep::Tidy => tidy::run(root, false)?,
        CiStep::Deny => return deny(root),
        CiStep::Test => return running::run_all(root, &build(root)?, remaining),
        CiStep::Msrv => return msrv(root),
        CiStep::Doc => succeeds(
            checkout::cargo()
                .args(["doc", "--workspace", "--no-deps", "--document-private-items"])
                .env("RUSTDOCFLAGS", "-D warnings")
                .current_dir(root),
        )?,
        CiStep::Fuzz => return fuzz::run(root, seconds, None),
    };
    Ok(TestTally::from_result(is_ok))
}

/// Runs cargo-deny if it is installed. Advisories are left out, since their database comes from the
/// network.
fn deny(root: &Path) -> Result<TestTally, Box<dyn Error>> {
    let is_installed = checkout::cargo().args(["deny", "--version"]).output()?.status.success();
    if !is_installed {
        let reason = "deny: cargo-deny is not installed (cargo install cargo-deny)".to_owned();
        return Ok(TestTally { skipped: vec![reason], ..TestTally::default() });
    }
    let mut command = checkout::cargo();
    command.args(["deny", "check", "bans", "licenses", "sources"]).current_dir(root);
    Ok(TestTally::from_result(succeeds(&mut command)?))
}

/// Compiles what is shipped with the Rust of `rust-version`, if rustup has installed it. The
/// artifacts have a directory of their own.
fn msrv(root: &Path) -> Result<TestTally, Box<dyn Error>> {
    let version = rust_version(&fs::read_to_string(root.join("Cargo.toml"))?)?;
    let rustup = |words: &[&str]| {
        let mut command = Command::new("rustup");
        command.args(["run", &version]).args(words).current_dir(root);
        command
    };
    if !rustup(&["cargo", "--version"]).output().is_ok_and(|output| output.status.success()) {
        let reason = format!("msrv: no Rust {version} (rustup toolchain install {version})");
        return Ok(TestTally { skipped: vec![reason], ..TestTally::default() });
    }
    let mut command = rustup(&["cargo", "check", "--workspace", "--locked"]);
    command.env("CARGO_TARGET_DIR", checkout::target_dir(root).join("msrv"));
    Ok(TestTally::from_result(succeeds(&mut command)?))
}

/// `rust-version` of the workspace.
fn rust_version(manifest: &str) -> Result<String, Box<dyn Error>> {
    let manifest: toml::Table = manifest.parse()?;
    let version = &manifest["workspace"]["package"]["rust-version"];
    Ok(version.as_str().ok_or("`rust-version` is no text")?.to_owned())
}

fn succeeds(command: &mut Command) -> Result<bool, Box<dyn Error>> {
    Ok(command.status()?.success())
}
