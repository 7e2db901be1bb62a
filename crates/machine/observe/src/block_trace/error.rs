//! Errors of recording requests, each with one line that says what is missing.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// Failure to record requests.
#[derive(Debug)]
pub enum BlockTraceError {
    /// A path cannot be read.
    Unreadable {
        /// Path.
        device: String,
        /// Cause.
        source: io::Error,
    },
    /// A path is not on a block device.
    NoDevice {
        /// Path.
        device: String,
    },
    /// A file is not a block device.
    NotADevice {
        /// Path of the file.
        device: String,
    },
    /// tracefs, which describes the event layouts, cannot be opened.
    Tracefs(Errno),
    /// A tracepoint lacks required fields.
    Format {
        /// Name of the tracepoint.
        point: &'static str,
    },
    /// Neither tracing method is available; errno of `perf_event_open`.
    PerfEvent(Errno),
    /// The thread cannot be started.
    Thread(io::Error),
}

impl fmt::Display for BlockTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { device, source } => write!(f, "{device}: {source}"),
            Self::NoDevice { device } => {
                write!(f, "{device} is not on a block device whose requests can be traced")
            }
            Self::NotADevice { device } => write!(f, "{device} is not a block device"),
            Self::Tracefs(errno) => {
                write!(f, "no block trace: tracefs cannot be opened: {errno}{}", reason(*errno))
            }
            Self::Format { point } => {
                write!(f, "no block trace: this kernel's tracepoint {point} lacks expected fields")
            }
            Self::PerfEvent(errno) => {
                write!(f, "no block trace: perf_event_open: {errno}{}", reason(*errno))
            }
            Self::Thread(error) => write!(f, "no block trace: cannot start its thread: {error}"),
        }
    }
}

impl std::error::Error for BlockTraceError {}

/// Likely reason of a refusal, as far as it can be determined.
fn reason(errno: Errno) -> String {
    if errno == Errno::NODEV || errno == Errno::NOENT {
        return " (the kernel is built without tracepoints of the block layer)".to_owned();
    }
    if errno != Errno::PERM && errno != Errno::ACCESS {
        return String::new();
    }
    let word = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    if !treering_sys::is_root() {
        let paranoid = word("/proc/sys/kernel/perf_event_paranoid");
        return format!(
            " (requires root, or CAP_PERFMON and a readable tracefs; perf_event_paranoid is \
             {paranoid})"
        );
    }
    match word("/sys/kernel/security/lockdown").as_str() {
        lockdown if lockdown.contains("[confidentiality]") => {
            " (the kernel is locked down for confidentiality, as under Secure Boot)".to_owned()
        }
        _ => " (not permitted even to root here: a container without CAP_PERFMON, seccomp, or a \
              kernel locked down for confidentiality)"
            .to_owned(),
    }
}
