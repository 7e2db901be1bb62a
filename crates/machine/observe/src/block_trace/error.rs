//! Why requests cannot be recorded, in one line that says what is missing.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// What is missing.
#[derive(Debug)]
pub enum BlockTraceError {
    /// A place cannot be looked at.
    Unreadable {
        /// What.
        what: String,
        /// Why not.
        source: io::Error,
    },
    /// A place is on no block device.
    NoDevice {
        /// The place.
        what: String,
    },
    /// A file is no block device.
    NotADevice {
        /// The file.
        what: String,
    },
    /// tracefs cannot be opened, which tells how events are to be read.
    Tracefs(Errno),
    /// A tracepoint has not the fields that it has to have.
    Format {
        /// Which.
        point: &'static str,
    },
    /// Neither way to get events is open to us; this is why not the first.
    PerfEvent(Errno),
    /// No thread can be made.
    Thread(io::Error),
}

impl fmt::Display for BlockTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { what, source } => write!(f, "{what}: {source}"),
            Self::NoDevice { what } => {
                write!(f, "{what} is not on a block device whose requests can be traced")
            }
            Self::NotADevice { what } => write!(f, "{what} is not a block device"),
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

/// What a refusal comes from, as far as the machine tells.
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
