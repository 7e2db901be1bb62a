//! Runs an installed io500 with a configuration, and stores its results: figures as an import would
//! read them, and the result files. No figure is computed here.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};

use treering_conduct::watch_signals;
use treering_io500::{
    RESULT, ResultFileError, config_value, newest_result, read_config, read_result,
    result_artifacts,
};
use treering_model::{Ending, Fact, RunMode, Trial, TrialHeader, TrialId};
use treering_registry::{ImportedTrial, PhaseRows, import};
use treering_sys::{EndedChild, monotonic_ns, wait_passing_signals};

use crate::arguments::InstalledArgs;
use crate::classic_output::say;
use crate::clock;
use crate::failure::{Failure, Kind};
use crate::storage::place_of;

/// Interval at which the program is polled for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Failure for a result file that cannot be read.
fn unreadable_result(error: ResultFileError) -> Failure {
    match &error {
        ResultFileError::Unread { path, error } => Failure::of_path(path, error),
        ResultFileError::TooLong { .. } => Failure::usage(error.to_string()),
    }
}

/// Runs the installed program.
pub(super) fn run(args: &InstalledArgs) -> Result<ExitCode, Failure> {
    let config = read_config(&args.config).map_err(unreadable_result)?;
    let results = PathBuf::from(config_value(&config, "resultdir").unwrap_or("./results"));
    let data = PathBuf::from(config_value(&config, "datadir").unwrap_or("./datafiles"));
    let trial = TrialId::new();
    let targets: Vec<&Path> = [data.as_path()].into_iter().filter(|dir| dir.is_dir()).collect();
    let mut destination = place_of(&args.store).destination(&targets, trial)?;
    let before = SystemTime::now();
    let started_unix_ms = clock::trial_unix_ms();
    let began_ns = monotonic_ns();
    let EndedChild { status, signal, .. } = start(args)?;
    let wall_ns = monotonic_ns() - began_ns;
    let result_path = newest_result(&results, before).ok_or_else(|| {
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
    let mut imported = figures(&result_path, beginning)?;
    imported.wall_ns = wall_ns;
    imported.beginning.target = data.display().to_string();
    let path = args.with_io500.display().to_string();
    let facts = [("io500.path", path), ("io500.ended", status.to_string())];
    let facts = facts.map(|(name, value)| Fact { name: name.to_owned(), value });
    imported.facts.extend(facts);
    imported.artifacts =
        result_artifacts(result_path.parent().unwrap_or(Path::new(".")), &mut |line| say(line))
            .map_err(unreadable_result)?;
    if signal.is_some() {
        imported.ending = Ending::Interrupted;
    } else if !status.success() {
        imported.ending = Ending::Failed { why: format!("io500 ended: {status}") };
    }
    destination.record(&imported, &PhaseRows::default())?;
    destination.finish()?;
    say(&format!(
        "kept the figures of {} and {} files: `treering show last`",
        result_path.display(),
        imported.artifacts.len()
    ));
    match (signal, &imported.ending) {
        (Some(_), _) => Ok(ExitCode::from(Kind::Interrupted.code())),
        (None, Ending::Failed { why }) => Err(Failure::new(Kind::Trial, why.clone())),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Starts the program and waits for its end; a signal that stops treering is forwarded.
fn start(args: &InstalledArgs) -> Result<EndedChild, Failure> {
    let signals = watch_signals()?;
    let words = args.launcher.as_deref().unwrap_or_default().split_whitespace();
    let mut words = words.map(Into::into).chain([args.with_io500.clone().into_os_string()]);
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(words).arg(&args.config);
    let mut child = command.spawn().map_err(|error| {
        let message = format!("cannot start {}: {error}", Path::new(&program).display());
        Failure::environment(message)
    })?;
    wait_passing_signals(&mut child, signals.flag(), POLL_INTERVAL)
        .map_err(|error| Failure::environment(format!("cannot wait for io500: {error}")))
}

/// Trial of a result, as an import creates it.
fn figures(path: &Path, beginning: TrialHeader) -> Result<Trial, Failure> {
    let text = read_result(path).map_err(unreadable_result)?;
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
