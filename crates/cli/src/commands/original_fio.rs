//! fio under its own name: a command line that cannot run natively is passed to the installed fio
//! unchanged, with its output, and the report is stored as a trial.
//!
//! `classic` decides which jobs run natively, and fio's importer reads the reports.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitCode;

use treering_conduct::trial::{InstalledProgram, check_written, run_installed};
use treering_fio::{FioCommandLine, installed, named_devices, native_help};
use treering_model::{Fact, RunMode, Trial, TrialHeader, TrialId};
use treering_registry::{ImportedTrial, PhaseRows, import};

use crate::arguments::{FIO, classic_os_words, fio_settings};
use crate::classic_output::say;
use crate::clock::unix_ms;
use crate::failure::{Failure, output_failed};
use crate::storage::place_at;

/// Environment variable set for the started fio, so that a copy of treering with fio's name does
/// not start itself endlessly.
const NESTED_VARIABLE: &str = "TREERING_WITHIN_FIO";
/// Environment variable that suppresses the line on standard error about who runs a job.
const QUIET_VARIABLE: &str = "TREERING_QUIET";
/// Maximum number of bytes read of a report.
const REPORT_BYTES_MAX: u64 = 256 << 20;
/// Version that treering answers as fio.
const VERSION: &str = "fio-3.33";

/// Answers `--cmdhelp` and `--enghelp` for natively supported options; `None` without either
/// option.
fn help(command_line: &FioCommandLine) -> Option<Result<ExitCode, Failure>> {
    let mut words = command_line.words.iter().filter_map(|word| word.to_str());
    let help = words.find_map(native_help)?;
    let (text, code) = match help {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(error) => (error.to_string(), ExitCode::FAILURE),
    };
    Some(match io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => Ok(code),
        Err(error) => output_failed(&error).map(|()| code),
    })
}

/// Prints the version of fio that treering imitates.
pub(super) fn version() -> Result<ExitCode, Failure> {
    match writeln!(io::stdout().lock(), "{VERSION}") {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => output_failed(&error).map(|()| ExitCode::SUCCESS),
    }
}

/// Runs the command line with the installed fio. `refusal` says why it cannot run natively, and is
/// the failure if fio is not installed. `input` holds the bytes already read from standard input.
pub(super) fn run(refusal: Failure, input: Option<Vec<u8>>) -> Result<ExitCode, Failure> {
    let command_line = FioCommandLine::parse(classic_os_words().into_iter().skip(1));
    let installed_path = match std::env::var_os(NESTED_VARIABLE) {
        None => installed(std::env::var_os("PATH").as_deref().unwrap_or(OsStr::new(""))),
        Some(_) => None,
    };
    let Some(fio) = installed_path else {
        return match help(&command_line) {
            Some(answered) => answered,
            None => Err(refusal.hint(NOT_INSTALLED)),
        };
    };
    check_devices(&command_line, input.as_deref())?;
    tell(&refusal, &fio);
    let mut words = command_line.words.clone();
    if command_line.dry_run {
        words.push("--parse-only".into());
    }
    let began_ms = unix_ms();
    let installed = InstalledProgram {
        program: &fio,
        words: &words,
        variable: (NESTED_VARIABLE, "1"),
        reads_input: command_line.reads_input(),
        input,
        output_bytes_max: REPORT_BYTES_MAX,
    };
    let (status, said) = run_installed(installed, io::stdout())?;
    if !command_line.no_store && !command_line.dry_run {
        let report = command_line.output().map_or(said, |path| read(&path));
        if let Err(failure) = keep(&command_line, &report, refusal.message(), began_ms) {
            // The exit code of fio is returned even if its report cannot be stored.
            say(&format!("treering: nothing is stored: {}", failure.message()));
        }
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)))
}

const NOT_INSTALLED: &str = "install fio (package `fio`): treering then passes such jobs to it";

/// Refuses jobs that write to a device in use: under fio's name a device is safe whichever program
/// does the work.
fn check_devices(command_line: &FioCommandLine, input: Option<&[u8]>) -> Result<(), Failure> {
    if command_line.dry_run || command_line.leaves_devices() {
        return Ok(());
    }
    let words = command_line.words.iter().map(|word| word.to_string_lossy().into_owned());
    let mut settings = fio_settings(words.collect());
    settings.input = input.unwrap_or_default().to_vec();
    check_written(named_devices(&settings))
}

/// Prints one line on standard error: which program runs the job, and why not treering.
fn tell(refusal: &Failure, fio: &Path) {
    if std::env::var_os(QUIET_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0") {
        return;
    }
    let mut faults = refusal.message().lines().filter(|line| !line.starts_with(' '));
    let why = faults.next().unwrap_or_default();
    let others = faults.count();
    let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
    say(&format!("treering: {} runs this job: {why}{more}", fio.display()));
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path);
    // If there is no report, no trial is stored.
    let _read = file.map(|file| file.take(REPORT_BYTES_MAX).read_to_end(&mut bytes));
    bytes
}

/// Stores the last report as a trial, if there is one.
fn keep(
    command_line: &FioCommandLine,
    report: &[u8],
    why: &str,
    began_ms: u64,
) -> Result<(), Failure> {
    let found = import(report).found;
    let is_fio = found.into_iter().rev().find(|found| found.tool == FIO);
    let Some(ImportedTrial::Foreign(foreign)) = is_fio.map(|found| found.content) else {
        return Ok(());
    };
    let here = std::env::current_dir().unwrap_or_default();
    let beginning = TrialHeader {
        started_unix_ms: i64::try_from(began_ms).unwrap_or(i64::MAX),
        treering_version: env!("CARGO_PKG_VERSION").to_owned(),
        label: command_line.label.clone(),
        ..TrialHeader::new(TrialId::new(), FIO, RunMode::Classic)
    };
    let trial = reported(foreign.with(beginning), command_line, why);
    let place = place_at(command_line.store.as_deref());
    let mut destination = place.destination(&[here.as_path()], trial.beginning.trial)?;
    destination.record(&trial, &PhaseRows::default())?;
    destination.finish().map(|_| ())
}

/// Adds to the trial the values that fio's report lacks.
fn reported(mut trial: Trial, command_line: &FioCommandLine, why: &str) -> Trial {
    let words: Vec<String> = command_line
        .words
        .iter()
        .map(|word| super::trial::quoted(&word.to_string_lossy()))
        .collect();
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    trial.facts.push(fact("fio.command", format!("fio {}", words.join(" "))));
    trial.facts.push(fact("fio.reason", why.to_owned()));
    trial
}
