//! `treering trace -- COMMAND`: runs a program, and records its requests to block devices.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

use treering_conduct::watch_signals;
use treering_model::Fact;
use treering_observe::block_trace::{
    BlockTraceError, Recording, RecordingMethod, RecordingOptions, TraceMethod, TracedDevice,
    device_at, devices_under,
};
use treering_observe::{ObserverContext, ObserverOptions, look, look_at_device};
use treering_report::pages::trace::TracedRun;
use treering_sys::{monotonic_ns, sync_filesystem, wait_passing_signals};
use treering_trace::TraceSummary;

use super::page;
use crate::arguments::{RecordTraceArgs, size};
use crate::classic_output::say;
use crate::clock::trial_unix_ms;
use crate::commands::output;
use crate::commands::typed::origin_of_findings;
use crate::failure::{Failure, Kind};

/// Interval at which the command is polled for its end.
const PAUSE: Duration = Duration::from_millis(2);

/// Exit codes of a shell: the command cannot be run; the command was not found.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs the command and shows its requests.
pub(super) fn run(args: &RecordTraceArgs) -> Result<ExitCode, Failure> {
    let Some((program, words)) = args.command.split_first() else {
        return Err(Failure::usage("no command is given")
            .hint("treering trace -- COMMAND runs it and shows its requests"));
    };
    refuse_output(args)?;
    let devices = devices(args)?;
    let options = options(args)?;
    let mut warn = |line: &str| say(line);
    let recording = Recording::begin(&options, &devices, &mut warn)
        .map_err(|error| Failure::of(Kind::Environment, &error).maybe_hint(error.hint()))?;
    let signals = watch_signals()?;
    let (started_unix_ms, began_ns) = (trial_unix_ms(), monotonic_ns());
    let child = Command::new(program).args(words).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            recording.end(None, &mut warn);
            let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
            say(&format!("{}: {error}", program.to_string_lossy()));
            return Ok(ExitCode::from(code));
        }
    };
    let end = wait_passing_signals(&mut child, signals.flag(), PAUSE).map_err(|error| {
        Failure::environment(format!("the command cannot be waited for: {error}"))
    })?;
    if args.sync {
        sync(args)?;
    }
    let digest = recording.end(end.written_bytes, &mut warn);
    let summary = TraceSummary { whole: digest, phases: Vec::new(), begin_ns: 0, from_ns: 0 };
    let name = program.to_string_lossy().into_owned();
    let run = TracedRun { name, summary, on_disk: Vec::new() };
    let wall_ns = monotonic_ns().saturating_sub(began_ns);
    let origin = origin_of_findings(&environment(args), started_unix_ms, wall_ns);
    page::write(&[run], origin, &args.page.output())?;
    Ok(exit_code(end.status))
}

/// Facts about the machine and the device, for the foot of a page.
fn environment(args: &RecordTraceArgs) -> Vec<Fact> {
    if !output::is_html(args.page.output().format()) {
        return Vec::new();
    }
    let target = args.dir.as_deref().unwrap_or(Path::new("."));
    let mut facts = look(&ObserverContext { target, options: ObserverOptions::default() }).facts;
    if let Some(device) = args.device.first() {
        facts.retain(|fact| !fact.name.starts_with("device."));
        facts.extend(look_at_device(device).facts);
    }
    facts
}

/// Name of the method that only reads counters, without events.
const STATISTICS: &str = "statistics";

/// Rejects output that cannot be written, before the command runs.
fn refuse_output(args: &RecordTraceArgs) -> Result<(), Failure> {
    let keeps_events = args.out.is_some() || args.blktrace_out.is_some();
    if args.method.as_deref() == Some(STATISTICS) && keeps_events {
        let option = if args.out.is_some() { "--out" } else { "--blktrace-out" };
        let message = format!("--method {STATISTICS} has no events that {option} could keep");
        return Err(
            Failure::usage(message).hint("leave one of them out: device counters give rates only")
        );
    }
    let Some(page) = &args.page.output else { return Ok(()) };
    let dir = page.parent().filter(|dir| !dir.as_os_str().is_empty());
    let why = if page.is_dir() {
        "it is a directory"
    } else if dir.is_some_and(|dir| !dir.is_dir()) {
        "its directory does not exist"
    } else {
        return Ok(());
    };
    Err(Failure::environment(format!("cannot write {}: {why}", page.display())))
}

/// Devices to record.
fn devices(args: &RecordTraceArgs) -> Result<Vec<TracedDevice>, Failure> {
    let environment = |error: BlockTraceError| Failure::of(Kind::Environment, &error);
    if args.device.is_empty() {
        let dir = args.dir.as_deref().unwrap_or(Path::new("."));
        dir.metadata().map_err(|error| Failure::of_path(dir, &error))?;
        return devices_under(dir).map_err(environment).map_err(|failure| {
            failure.hint("--device DEVICE names a device, --dir DIR a directory on one")
        });
    }
    let mut traced: Vec<TracedDevice> = Vec::new();
    for path in &args.device {
        let found = device_at(path).map_err(environment)?;
        traced.extend(found.into_iter().filter(|one| !traced.contains(one)).collect::<Vec<_>>());
    }
    Ok(traced)
}

/// Options of the recording.
fn options(args: &RecordTraceArgs) -> Result<RecordingOptions<'_>, Failure> {
    let method = match args.method.as_deref() {
        Some(STATISTICS) => Some(RecordingMethod::Statistics),
        Some("perf_event") => Some(RecordingMethod::Events(TraceMethod::PerfEvent)),
        Some("tracefs") => Some(RecordingMethod::Events(TraceMethod::Tracefs)),
        _ => None,
    };
    let ring_bytes = match method {
        Some(RecordingMethod::Statistics) => 0,
        _ => usize::try_from(size("--ring", &args.ring)?).unwrap_or(usize::MAX),
    };
    let (trace_file, blktrace_dir) = (args.out.as_deref(), args.blktrace_out.as_deref());
    Ok(RecordingOptions { method, ring_bytes, trace_file, blktrace_dir })
}

/// Waits until written data have reached the devices.
fn sync(args: &RecordTraceArgs) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::environment(format!("--sync: {error}"));
    if args.device.is_empty() {
        let dir = args.dir.as_deref().unwrap_or(Path::new("."));
        let dir = File::open(dir).map_err(cannot)?;
        return sync_filesystem(dir.as_fd()).map_err(|errno| cannot(errno.into()));
    }
    treering_sys::sync_machine();
    Ok(())
}

/// Exit code of the command; if a signal ended it, the code that a shell returns.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
