//! `cargo xtask fmt`: formats each .rs file with rustfmt, through standard input. `cargo fmt` only
//! follows `mod` items, so it silently skips modules declared inside a macro.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::checkout;

const EDITION: &str = "2024";

/// Formats all files, or with `check` lists those that are not formatted.
pub(crate) fn run(root: &Path, check: bool) -> Result<bool, Box<dyn Error>> {
    run_on(root, &checkout::files(root)?, check)
}

/// Formats these files, or with `check` lists those that are not formatted. Deleted files and files
/// other than sources are skipped.
pub(crate) fn run_on(root: &Path, files: &[String], check: bool) -> Result<bool, Box<dyn Error>> {
    let is_there = |path: &&String| is_source(path) && root.join(path).is_file();
    let files: Vec<&String> = files.iter().filter(is_there).collect();
    let faults = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let rustfmt = program(root);
    let work = || {
        while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(fault) = format_file(root, &rustfmt, path, check) {
                faults
                    .lock()
                    .expect("no thread panics holding it")
                    .push(format!("{path}: {fault}"));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let mut faults = faults.into_inner()?;
    faults.sort();
    for fault in &faults {
        println!("{fault}");
    }
    if faults.is_empty() {
        println!("fmt: {} files, all formatted", files.len());
    } else {
        println!("fmt: {} of {} files at fault; `cargo xtask fmt`", faults.len(), files.len());
    }
    Ok(faults.is_empty())
}

/// True for Rust sources; fixtures with planted faults need not parse.
fn is_source(path: &str) -> bool {
    checkout::has_extension(path, "rs") && !path.split('/').any(|part| part == "fixtures")
}

/// Path of rustfmt itself: rustup's proxy takes as long to find it as rustfmt takes to format a
/// file.
fn program(root: &Path) -> PathBuf {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).current_dir(root).output();
    let sysroot = sysroot.map(|out| String::from_utf8_lossy(&out.stdout).trim_end().to_owned());
    let program = sysroot.map(|sysroot| Path::new(&sysroot).join("bin/rustfmt"));
    program.ok().filter(|path| path.is_file()).unwrap_or_else(|| "rustfmt".into())
}

fn format_file(root: &Path, rustfmt: &Path, path: &str, check: bool) -> Result<(), String> {
    let text = fs::read(root.join(path)).map_err(|error| error.to_string())?;
    let out = format(root, rustfmt, &text, check).map_err(|error| format!("rustfmt: {error}"))?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).trim_end().replace("<stdin>", path));
    }
    // With `--check` on standard input, rustfmt prints the difference but exits with 0.
    if check && !out.stdout.is_empty() {
        let difference = String::from_utf8_lossy(&out.stdout).replace("<stdin>", path);
        return Err(format!("not formatted\n{}", difference.trim_end()));
    }
    if !check && out.stdout != text {
        fs::write(root.join(path), &out.stdout).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Formats a text. rustfmt reads all of its input before it writes, so one thread can serve both
/// pipes.
fn format(root: &Path, rustfmt: &Path, text: &[u8], check: bool) -> io::Result<Output> {
    let mut command = Command::new(rustfmt);
    command.args(["--edition", EDITION, "--color", "never"]).current_dir(root);
    if check {
        command.arg("--check");
    }
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text)?;
    }
    child.wait_with_output()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{format, format_file, is_source, program};

    #[test]
    fn badly_formatted_text_is_reported() {
        let folder = std::env::temp_dir().join(format!("xtask-fmt-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let verdict = |text: &str| {
            fs::write(folder.join("a.rs"), text).unwrap();
            format_file(&folder, &program(&folder), "a.rs", true)
        };
        let bad = verdict("fn  a( ){}\n");
        let broken = verdict("fn (\n");
        let good = verdict("fn a() {}\n");
        fs::remove_dir_all(&folder).unwrap();
        assert!(bad.unwrap_err().starts_with("not formatted\nDiff in a.rs:1"));
        assert!(broken.unwrap_err().contains("error"));
        assert_eq!(good, Ok(()));
    }

    #[test]
    fn modules_of_other_files_are_not_followed() {
        let here = Path::new(".");
        let out = format(here, &program(here), b"mod nowhere;\n", true).unwrap();
        assert!(out.status.success());
    }

    #[test]
    fn fixtures_are_data() {
        assert!(is_source("crates/a/src/lib.rs"));
        assert!(!is_source("crates/a/tests/fixtures/broken.rs"));
        assert!(!is_source("README.md"));
    }
}
