//! Failures on standard error, with their exit codes, and panics as failures.

use std::backtrace::Backtrace;
use std::io;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;

pub(crate) use treering_conduct::{Failure, FailureKind as Kind};
use treering_sys::{has_panicked, report_panics};

use crate::classic_output::say;
use crate::exit_codes::BISECTION_ENDS;

/// Message of the system for `EMFILE`: no further file can be opened.
const TOO_MANY_FILES: &str = "Too many open files";

/// Prints a failure on standard error and returns its exit code.
pub(crate) fn show(failure: &Failure) -> ExitCode {
    say(&format!("treering: {failure}"));
    for hint in failure.hints() {
        say(&format!("  hint: {hint}"));
    }
    if failure.message().contains(TOO_MANY_FILES) {
        eprintln!("  hint: raise the limit of open files (`ulimit -n`): `ulimit -n 1024`");
    }
    if failure.kind() == Kind::Bug {
        say("  hint: this is a bug in treering; please report it with the command line");
    }
    ExitCode::from(failure.kind().code())
}

/// True if the error is `NotFound`: the path does not exist.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Handles a failed write to standard output; a closed pipe is not an error.
pub(crate) fn output_failed(error: &io::Error) -> Result<(), Failure> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Ok(());
    }
    Err(Failure::environment(format!("standard output: {error}")))
}

/// Prints clap's message: help on standard output, errors on standard error.
pub(crate) fn show_refused(refused: &clap::Error, usage_exit: u8) -> ExitCode {
    match refused.print() {
        Ok(()) => ExitCode::from(if refused.exit_code() == 0 { 0 } else { usage_exit }),
        Err(_) => ExitCode::SUCCESS, // nobody listens
    }
}

/// Runs `run` and reports panics in one line. A panic in any thread or forked process gives the
/// exit code for bugs; a bisection has its own code for that.
pub(crate) fn reporting_panics(run: impl FnOnce() -> ExitCode) -> ExitCode {
    report_panics(report_panic);
    let bug = ExitCode::from(Kind::Bug.code());
    let code = catch_unwind(AssertUnwindSafe(run)).unwrap_or(bug);
    if has_panicked() && code != ExitCode::from(BISECTION_ENDS) { bug } else { code }
}

fn report_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
    let text = panic.payload().downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str));
    let what = text.unwrap_or("a panic without words");
    let message = format!("{what}{}", place.unwrap_or_default());
    show(&Failure::new(Kind::Bug, message));
    let is_off = |wanted: &std::ffi::OsString| wanted.is_empty() || wanted == "0";
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|wanted| !is_off(&wanted)) {
        say(&Backtrace::force_capture().to_string());
    }
}
