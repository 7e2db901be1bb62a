//! `treering trace -- COMMAND`: runs a program, and records its requests to block devices.

use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::Duration;

use treering_observe::block_trace::{
    BlockRecorder, BlockTraceError, RecorderOptions, SharedSink, StatisticsRecorder, TraceMethod,
    TracedDevice, device_at, devices_under,
};
use treering_report::pages::trace::TracedRun;
use treering_sys::{
    SignalWatch, child_has_ended, monotonic_ns, signal_child, sync_filesystem, written_by,
};
use treering_trace::{TraceDigest, TraceSummary, TraceWriter, losses};

use super::files::{EXISTS, blktrace_files, refuse_existing};
use super::page;
use crate::arguments::{RecordTraceArgs, size};
use crate::classic_output::say;
use crate::failure::{Failure, Kind};

/// Interval at which the command is polled for its end.
const PAUSE: Duration = Duration::from_millis(2);

/// Exit codes of a shell: the command cannot be run; the command was not found.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs the command and shows its requests.
pub(super) fn run(args: &RecordTraceArgs) -> Result<ExitCode, Failure> {
    let Some((program, words)) = args.command.split_first() else {
        return Err(Failure::new(Kind::Usage, "no command is given")
            .hint("treering trace -- COMMAND runs it and shows its requests"));
    };
    refuse_output(args)?;
    let devices = devices(args)?;
    let recording = begin(args, &devices)?;
    let signals = SignalWatch::begin().map_err(|error| {
        Failure::new(Kind::Environment, format!("signals cannot be watched: {error}"))
    })?;
    let child = Command::new(program).args(words).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            recording.end(None);
            let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
            say(&format!("{}: {error}", program.to_string_lossy()));
            return Ok(ExitCode::from(code));
        }
    };
    let (status, written) = wait(&mut child, &signals)?;
    if args.sync {
        sync(args)?;
    }
    let digest = recording.end(written);
    let summary = TraceSummary { whole: digest, phases: Vec::new(), begin_ns: 0, from_ns: 0 };
    let name = program.to_string_lossy().into_owned();
    let run = TracedRun { name, summary, on_disk: Vec::new() };
    page::write(&[run], &args.page.output())?;
    Ok(exit_code(status))
}

/// Name of the method that only reads counters, without events.
const STATISTICS: &str = "statistics";

/// True if event files are requested.
fn keeps_events(args: &RecordTraceArgs) -> bool {
    args.out.is_some() || args.blktrace_out.is_some()
}

/// Refuses output that cannot be written, before the command runs.
fn refuse_output(args: &RecordTraceArgs) -> Result<(), Failure> {
    if args.method.as_deref() == Some(STATISTICS) && keeps_events(args) {
        let option = if args.out.is_some() { "--out" } else { "--blktrace-out" };
        let message = format!("--method {STATISTICS} has no events that {option} could keep");
        return Err(Failure::new(Kind::Usage, message)
            .hint("leave one of them out: device counters give rates only"));
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
    Err(Failure::new(Kind::Environment, format!("cannot write {}: {why}", page.display())))
}

/// Devices to record.
fn devices(args: &RecordTraceArgs) -> Result<Vec<TracedDevice>, Failure> {
    let environment = |error: BlockTraceError| Failure::of(Kind::Environment, &error);
    if args.device.is_empty() {
        let dir = args.dir.as_deref().unwrap_or(Path::new("."));
        return devices_under(dir).map_err(environment).map_err(|failure| {
            failure.hint("--device DEVICE names a device, --dir DIR a directory on one")
        });
    }
    let mut all: Vec<TracedDevice> = Vec::new();
    for path in &args.device {
        let found = device_at(path).map_err(environment)?;
        all.extend(found.into_iter().filter(|one| !all.contains(one)).collect::<Vec<_>>());
    }
    Ok(all)
}

/// Recording in progress, with events or with counters.
enum Recording {
    Events(BlockRecorder),
    Counters(StatisticsRecorder),
}

fn begin(args: &RecordTraceArgs, devices: &[TracedDevice]) -> Result<Recording, Failure> {
    let environment = |error: &BlockTraceError| Failure::of(Kind::Environment, error);
    let counters =
        || StatisticsRecorder::begin(devices).map(Recording::Counters).map_err(|e| environment(&e));
    let method = match args.method.as_deref() {
        Some(STATISTICS) => return counters(),
        Some("perf_event") => Some(TraceMethod::PerfEvent),
        Some("tracefs") => Some(TraceMethod::Tracefs),
        _ => None,
    };
    let ring = usize::try_from(size("--ring", &args.ring)?).unwrap_or(usize::MAX);
    let options = RecorderOptions { ring_bytes: ring, method };
    match BlockRecorder::begin(devices, options, sinks(args, devices)?) {
        Ok(recorder) => Ok(Recording::Events(recorder)),
        Err(error) if method.is_some() || keeps_events(args) => {
            // The trace file has only its header.
            args.out.iter().for_each(|path| drop(std::fs::remove_file(path)));
            Err(environment(&error))
        }
        Err(error) => {
            say(&format!("{error}; the device's counters give rates only"));
            counters()
        }
    }
}

impl Recording {
    /// Ends the recording, and prints errors of files and ring buffers.
    fn end(self, written: Option<u64>) -> TraceDigest {
        match self {
            Self::Counters(recorder) => {
                let mut digest = recorder.cut().unwrap_or_default();
                digest.figures.program_write_bytes = written;
                digest
            }
            Self::Events(recorder) => {
                let Some(recorded) = recorder.stop_with(written) else {
                    return TraceDigest::default();
                };
                for error in &recorded.failed {
                    say(&format!("the trace is not stored: {error}"));
                }
                if let Some(losses) = losses(recorded.lost_events, recorded.missing_bytes) {
                    say(&losses);
                }
                if recorded.lost_events > 0 {
                    say("a larger --ring loses less");
                }
                recorded.digest
            }
        }
    }
}

/// The files that the trace is written into.
fn sinks(args: &RecordTraceArgs, devices: &[TracedDevice]) -> Result<Vec<SharedSink>, Failure> {
    let cannot = |path: &PathBuf, error: std::io::Error| {
        let exists = (error.kind() == ErrorKind::AlreadyExists).then_some(EXISTS);
        let message = format!("cannot write {}: {error}", path.display());
        Failure::new(Kind::Environment, message).maybe_hint(exists)
    };
    if let Some(dir) = &args.blktrace_out {
        refuse_existing(dir, devices)?;
    }
    let mut sinks: Vec<SharedSink> = Vec::new();
    if let Some(path) = &args.out {
        let file = File::create_new(path).map_err(|error| cannot(path, error))?;
        let writer = TraceWriter::new(BufWriter::with_capacity(1 << 18, file));
        sinks.push(Box::new(writer.map_err(|error| cannot(path, error))?));
    }
    if let Some(dir) = &args.blktrace_out {
        std::fs::create_dir_all(dir).map_err(|error| cannot(dir, error))?;
        let dir = dir.clone();
        let writer = blktrace_files(Some(monotonic_ns()), move |device| dir.join(device));
        sinks.push(Box::new(writer));
    }
    Ok(sinks)
}

/// Waits for the command; returns its exit status, and the number of bytes that it wrote.
fn wait(child: &mut Child, signals: &SignalWatch) -> Result<(ExitStatus, Option<u64>), Failure> {
    let lost = |error: &dyn std::fmt::Display| {
        Failure::new(Kind::Environment, format!("the command cannot be waited for: {error}"))
    };
    let mut passed_on = false;
    while !child_has_ended(child.id()).map_err(|error| lost(&error))? {
        // Signals of the terminal reach the command too; those sent only to treering are passed on.
        if let Some(signal) = signals.flag().signal().filter(|_| !passed_on) {
            passed_on = true;
            let _it_has_ended = signal_child(child.id(), signal);
        }
        std::thread::sleep(PAUSE);
    }
    let written = written_by(child.id());
    let status = child.wait().map_err(|error| lost(&error))?;
    Ok((status, written))
}

/// Waits until written data are on the devices.
fn sync(args: &RecordTraceArgs) -> Result<(), Failure> {
    let cannot =
        |error: std::io::Error| Failure::new(Kind::Environment, format!("--sync: {error}"));
    if args.device.is_empty() {
        let dir = args.dir.as_deref().unwrap_or(Path::new("."));
        let dir = File::open(dir).map_err(cannot)?;
        return sync_filesystem(dir.as_fd()).map_err(|errno| cannot(errno.into()));
    }
    treering_sys::sync_machine();
    Ok(())
}

/// Exit code of the command; that of a shell if a signal ended the command.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
