//! Block traces: device requests recorded while a workload runs.
//!
//! No setup is required. Only a kill leaves something behind: a tracefs instance, which the next
//! recording removes. The requests of each phase become metrics and an artifact; if recording is
//! not permitted, one line says what is missing and the run continues.

mod devices;
mod error;
mod instances;
mod layout;
mod observer;
mod probe_events;
mod recorder;
mod recording;
mod source;
mod statistics;
mod trace_files;

use std::fmt;

pub use devices::{TracedDevice, device_at, devices_under};
pub use error::BlockTraceError;
pub use instances::StaleInstance;
pub use recorder::{BlockRecorder, RecorderOptions, RecordingResult, SharedSink};
pub use recording::{Recording, RecordingError, RecordingMethod, RecordingOptions};
pub use trace_files::{
    TraceFileSummary, TraceFilesError, blktrace_files, convert_to_blktrace, each_entry,
    remove_blktrace_files, summarise_file,
};

pub(crate) use devices::mounted_folders;
pub(crate) use instances::next_name;
pub(crate) use observer::BlockTrace;
pub(crate) use probe_events::{probe_events, remove_instance, remove_probes};

/// Tracing method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceMethod {
    /// `perf_event_open` rings.
    PerfEvent,
    /// Private tracefs instance.
    Tracefs,
}

impl fmt::Display for TraceMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PerfEvent => "perf_event",
            Self::Tracefs => "tracefs",
        })
    }
}
