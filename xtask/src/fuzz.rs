//! `cargo xtask fuzz`: builds the targets of fuzz/ with coverage instrumentation on the stable
//! toolchain, as cargo-fuzz does on nightly but without sanitizers, and runs each for a while.
//! The folder keeps cargo-fuzz's layout, so that `cargo fuzz run` works there as well.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::checkout;
use crate::tally::TestTally;

/// Flags that cargo-fuzz passes to rustc, without the sanitizers, which need nightly. Short
/// comparisons would then be inlined and invisible to libFuzzer; `max-loads-per-memcmp` keeps them
/// as calls, so that it learns the keywords of a language.
const RUSTFLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-max-loads-per-memcmp=0 \
    --cfg fuzzing -Cdebug-assertions";

const RSS_LIMIT_MB: u32 = 2048;
const INPUT_TIMEOUT_S: u32 = 10;
/// Lines of a failed run's output that are shown.
const SHOWN_LINES: usize = 40;

/// Runs every target, or the named one, for this many seconds each.
pub(crate) fn run(
    root: &Path,
    seconds: u32,
    only: Option<&str>,
) -> Result<TestTally, Box<dyn Error>> {
    let targets = targets(root, only)?;
    let mut tally = TestTally::default();
    if targets.is_empty() {
        println!("fuzz: no targets in fuzz/fuzz_targets yet, nothing to run");
        return Ok(tally);
    }
    let programs = build(root, &targets)?;
    let passed = search_all(root, &programs, &targets, seconds);
    tally.passed += passed;
    tally.failed += targets.len() - passed;
    Ok(tally)
}

/// Runs the targets, one for each CPU at a time; returns the number of those without a fault.
fn search_all(root: &Path, programs: &Path, targets: &[String], seconds: u32) -> usize {
    let (next, passed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let one_after_another = || {
        while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            match search(root, programs, target, seconds) {
                Ok(true) => _ = passed.fetch_add(1, Ordering::Relaxed),
                Ok(false) => {}
                Err(error) => println!("fuzz {target}: {error}"),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(one_after_another);
        }
    });
    passed.into_inner()
}

/// Runs one target on one input and shows all output.
pub(crate) fn replay(root: &Path, target: &str, input: &Path) -> Result<bool, Box<dyn Error>> {
    let targets = targets(root, Some(target))?;
    let programs = build(root, &targets)?;
    let status = Command::new(programs.join(target)).args(limits()).arg(input).status()?;
    Ok(status.success())
}

/// Names of the targets, one for each file.
fn targets(root: &Path, only: Option<&str>) -> Result<Vec<String>, Box<dyn Error>> {
    let mut targets = Vec::new();
    let folder = root.join("fuzz/fuzz_targets");
    let entries = if folder.is_dir() { Some(fs::read_dir(folder)?) } else { None };
    for entry in entries.into_iter().flatten() {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("rs")) {
            targets.extend(path.file_stem().and_then(OsStr::to_str).map(str::to_owned));
        }
    }
    targets.sort();
    let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).unwrap_or_default();
    if let Some(forgotten) = undeclared(&manifest, &targets) {
        return Err(format!("fuzz/Cargo.toml has no [[bin]] named {forgotten}; add it").into());
    }
    match only {
        None => Ok(targets),
        Some(name) if targets.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => Err(format!("no target {name}; there are: {}", targets.join(" ")).into()),
    }
}

/// First target that the manifest does not declare; cargo would not build it.
fn undeclared<'a>(manifest: &str, targets: &'a [String]) -> Option<&'a str> {
    let table = manifest.parse::<toml::Table>().unwrap_or_default();
    let bins = table.get("bin").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let declared: Vec<&str> =
        bins.iter().filter_map(|bin| bin.get("name").and_then(toml::Value::as_str)).collect();
    targets.iter().map(String::as_str).find(|target| !declared.contains(target))
}

/// Builds the targets and returns the folder of their programs.
fn build(root: &Path, targets: &[String]) -> Result<PathBuf, Box<dyn Error>> {
    let lock = root.join("fuzz/Cargo.lock");
    if !lock.exists() && root.join("Cargo.lock").exists() {
        // Fuzz targets get the same versions of dependencies as the workspace.
        fs::copy(root.join("Cargo.lock"), lock)?;
    }
    let host = host()?;
    let folder = checkout::target_dir(root).join("fuzz");
    let mut command = checkout::cargo();
    command
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", &host])
        .args(targets.iter().flat_map(|target| ["--bin", target]))
        .env("CARGO_TARGET_DIR", &folder)
        .env("RUSTFLAGS", RUSTFLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .current_dir(root);
    if !command.status()?.success() {
        return Err("the fuzz targets do not build (a C++ compiler is needed: \
                    scripts/setup.sh installs it)"
            .into());
    }
    Ok(folder.join(host).join("release"))
}

/// Target triple of this machine. If cargo is told the target, it builds build scripts and macros
/// without the instrumentation.
fn host() -> Result<String, Box<dyn Error>> {
    let out = Command::new("rustc").arg("-vV").output()?;
    let version = String::from_utf8(out.stdout)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc -vV names no host".into())
}

fn limits() -> [String; 2] {
    [format!("-rss_limit_mb={RSS_LIMIT_MB}"), format!("-timeout={INPUT_TIMEOUT_S}")]
}

/// Searches for a fault for this many seconds; true if none was found.
fn search(
    root: &Path,
    programs: &Path,
    target: &str,
    seconds: u32,
) -> Result<bool, Box<dyn Error>> {
    let corpus = root.join("fuzz/corpus").join(target);
    let artifacts = root.join("fuzz/artifacts").join(target);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let mut command = Command::new(programs.join(target));
    command
        .args(limits())
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix=fuzz/artifacts/{target}/"))
        .arg(&corpus);
    // libFuzzer adds new inputs to the first folder only; the seeds stay as they are.
    let seeds = root.join("fuzz/seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let output = command.env("RUST_BACKTRACE", "0").current_dir(root).output()?;
    println!("{}", report(target, &output));
    Ok(output.status.success())
}

fn report(target: &str, output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let done = errors.lines().rev().find_map(|line| line.strip_prefix("Done "));
        return format!(
            "fuzz {target}: no fault in {}",
            done.unwrap_or("a run that did not count")
        );
    }
    let lines: Vec<&str> = errors.lines().collect();
    let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    let mut text = String::new();
    for line in last {
        text += &format!("    {line}\n");
    }
    text += &format!("fuzz {target}: FAULT ({})", output.status);
    let input = lines.iter().rev().find_map(|line| line.split("Test unit written to ").nth(1));
    if let Some(input) = input {
        text += &format!("\nfuzz {target}: again with `cargo xtask fuzz {target} --input {input}`");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{host, undeclared};

    #[test]
    fn a_target_without_a_bin_is_found() {
        let manifest = "[[bin]]\nname = \"fio_job\"\npath = \"fuzz_targets/fio_job.rs\"\n";
        let targets = ["fio_job".to_owned(), "ffsb_profile".to_owned()];
        assert_eq!(undeclared(manifest, &targets), Some("ffsb_profile"));
        assert_eq!(undeclared(manifest, &targets[..1]), None);
    }

    #[test]
    fn the_host_is_a_triple() {
        assert!(host().unwrap().contains("-linux-"));
    }
}
