//! Runs an installed io500 with a configuration, and stores its results: figures as from an import,
//! and the result files. No figure is computed here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, SystemTime};

use treering_model::{Artifact, Ending, Fact, RunMode, Trial, TrialHeader, TrialId};
use treering_registry::{ImportedTrial, PhaseRows, events_of, import};
use treering_sys::{SignalWatch, child_has_ended, monotonic_ns, signal_child};

use crate::arguments::InstalledArgs;
use crate::classic_output::say;
use crate::clock;
use crate::failure::{Failure, Kind};
use crate::storage::{Keeping, failure};

/// The kind of the artifacts that are files of IO500, each one text.
const FILE_ARTIFACT: &str = "io500_file";
const FILE_VERSION: u32 = 1;
/// Maximum number and size of the files stored.
const FILES_MOST: usize = 64;
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Maximum size of a configuration.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Interval at which the program is polled for its end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const RESULT: &str = "result.txt";

/// Runs the installed program.
pub(super) fn run(args: &InstalledArgs) -> Result<ExitCode, Failure> {
    let config = text_of(&args.config, CONFIG_BYTES_MAX)?;
    let results = PathBuf::from(value(&config, "resultdir").unwrap_or("./results"));
    let data = PathBuf::from(value(&config, "datadir").unwrap_or("./datafiles"));
    let trial = TrialId::new();
    let targets: Vec<&Path> = [data.as_path()].into_iter().filter(|dir| dir.is_dir()).collect();
    let mut keeping = Keeping::open(args.store.store.as_deref(), false, &targets, trial)?;
    let before = SystemTime::now();
    let started_unix_ms = i64::try_from(clock::unix_ms()).unwrap_or(i64::MAX);
    let began_ns = monotonic_ns();
    let (status, signal) = start(args)?;
    let wall_ns = monotonic_ns() - began_ns;
    let found = newest(&results, before).ok_or_else(|| {
        let message =
            format!("io500 left no {RESULT} in {}; it ended: {status}", results.display());
        Failure::new(Kind::Trial, message)
            .hint("what it printed says why; --dry-run of io500 shows its commands")
    })?;
    let beginning = TrialHeader {
        started_unix_ms,
        treering_version: env!("CARGO_PKG_VERSION").to_owned(),
        label: args.label.clone(),
        ..TrialHeader::new(trial, "io500", RunMode::Classic)
    };
    let mut kept = figures(&found, beginning)?;
    kept.wall_ns = wall_ns;
    kept.beginning.target = data.display().to_string();
    let path = args.with_io500.display().to_string();
    let facts = [("io500.path", path), ("io500.ended", status.to_string())];
    let facts = facts.map(|(name, value)| Fact { name: name.to_owned(), value });
    kept.facts.extend(facts);
    kept.artifacts = artifacts(found.parent().unwrap_or(Path::new(".")))?;
    if signal.is_some() {
        kept.ending = Ending::Interrupted;
    } else if !status.success() {
        kept.ending = Ending::Failed { why: format!("io500 ended: {status}") };
    }
    if let Some(store) = keeping.store() {
        let mut recorder = store.recorder();
        for event in events_of(&kept, &PhaseRows::default()) {
            recorder.record(&event).map_err(|error| failure(&error))?;
        }
    }
    keeping.settle()?;
    say(&format!(
        "kept the figures of {} and {} files: `treering show last`",
        found.display(),
        kept.artifacts.len()
    ));
    match (signal, &kept.ending) {
        (Some(_), _) => Ok(ExitCode::from(Kind::Interrupted.code())),
        (None, Ending::Failed { why }) => Err(Failure::new(Kind::Trial, why.clone())),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Starts the program and waits for its end; a signal that stops treering is passed on.
fn start(args: &InstalledArgs) -> Result<(ExitStatus, Option<i32>), Failure> {
    let signals = SignalWatch::begin().map_err(|error| {
        Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
    })?;
    let words = args.launcher.as_deref().unwrap_or_default().split_whitespace();
    let mut words = words.map(Into::into).chain([args.with_io500.clone().into_os_string()]);
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(words).arg(&args.config);
    let mut child = command.spawn().map_err(|error| {
        let message = format!("cannot start {}: {error}", Path::new(&program).display());
        Failure::new(Kind::Environment, message)
    })?;
    let mut asked = None;
    while !child_has_ended(child.id()).unwrap_or(true) {
        if let (None, Some(signal)) = (asked, signals.flag().signal()) {
            asked = Some(signal);
            let _ended_already = signal_child(child.id(), signal);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let status = child.wait().map_err(|error| {
        Failure::new(Kind::Environment, format!("cannot wait for io500: {error}"))
    })?;
    Ok((status, asked))
}

/// Reads a text of at most `most` bytes.
fn text_of(path: &Path, most: u64) -> Result<String, Failure> {
    let wrong = |error| Failure::of_path(path, &error);
    if fs::metadata(path).map_err(wrong)?.len() > most {
        let message = format!("{}: more than {most} bytes", path.display());
        return Err(Failure::new(Kind::Usage, message));
    }
    let bytes = fs::read(path).map_err(wrong)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Value of a key in the section `global`.
fn value<'c>(config: &'c str, key: &str) -> Option<&'c str> {
    let mut is_global = false;
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            is_global = name.trim_end_matches(']').trim().eq_ignore_ascii_case("global");
        } else if is_global && let Some((name, value)) = line.split_once('=') {
            let value = value.split(['#', ';']).next().unwrap_or_default().trim();
            if name.trim().eq_ignore_ascii_case(key) && !value.is_empty() {
                found = Some(value);
            }
        }
    }
    found
}

/// The newest result in a directory, or in one below it, that is not older than this.
fn newest(results: &Path, since: SystemTime) -> Option<PathBuf> {
    // Times of files may be some milliseconds behind the clock.
    let since = since.checked_sub(Duration::from_secs(1)).unwrap_or(since);
    let below = fs::read_dir(results).into_iter().flatten().flatten().map(|entry| entry.path());
    let places = [results.to_owned()].into_iter().chain(below);
    let files = places.map(|dir| dir.join(RESULT)).filter_map(|path| {
        let changed = fs::metadata(&path).ok()?.modified().ok()?;
        (changed >= since).then_some((changed, path))
    });
    files.max().map(|(_, path)| path)
}

/// The trial of a result, as an import makes it.
fn figures(path: &Path, beginning: TrialHeader) -> Result<Trial, Failure> {
    let text = text_of(path, FILE_BYTES_MAX)?;
    let imported = import(text.as_bytes());
    for remark in &imported.remarks {
        say(&format!("{RESULT}:{}: {}", remark.line, remark.what));
    }
    let foreign = imported.found.into_iter().find_map(|found| match found.content {
        ImportedTrial::Foreign(foreign) if found.tool == "io500" => Some(*foreign),
        _ => None,
    });
    let none = || Failure::new(Kind::Trial, format!("{}: no figures of IO500", path.display()));
    Ok(foreign.ok_or_else(none)?.with(beginning))
}

/// The files of a result, in the order of their names.
fn artifacts(dir: &Path) -> Result<Vec<Artifact>, Failure> {
    let entries = fs::read_dir(dir).map_err(|error| Failure::of_path(dir, &error))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut kept = Vec::new();
    for path in paths.iter().filter(|path| path.is_file()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if kept.len() == FILES_MOST {
            say(&format!("{name} and what follows are not kept: there are more files"));
            break;
        }
        match text_of(path, FILE_BYTES_MAX) {
            Ok(text) => kept.push(Artifact {
                kind: FILE_ARTIFACT.to_owned(),
                version: FILE_VERSION,
                phase: None,
                name,
                body: serde_json::to_string(&text).unwrap_or_default(),
            }),
            Err(unread) => say(&format!("{name} is not kept: {}", unread.message())),
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn values_are_those_of_the_section_global() {
        let config = "[debug]\nresultdir = no\n[global]\nresultdir = ./a # here\ndatadir=/m/b\n\
                      [find]\ndatadir = no\n";
        assert_eq!(value(config, "resultdir"), Some("./a"));
        assert_eq!(value(config, "datadir"), Some("/m/b"));
        assert_eq!(value("[global]\ndatadir = \n", "datadir"), None);
    }
}
