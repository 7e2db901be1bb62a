//! Block traces: the requests that the device under test gets, recorded while a workload runs.
//!
//! Nothing is set up beforehand. Nothing is left behind but by a kill: an instance of tracefs,
//! which the next recording removes. What is seen of a phase becomes metrics and an artifact; where
//! recording is not allowed, one line says what is missing and the run goes on.

mod devices;
mod error;
mod instances;
mod layout;
mod observer;
mod recorder;
mod source;
mod statistics;

use std::fmt;

pub use devices::{TracedDevice, device_at, devices_under};
pub use error::BlockTraceError;
pub use instances::LeftInstance;
pub use recorder::{BlockRecorder, Recorded, RecorderOptions, SharedSink};
pub use statistics::StatisticsRecorder;

pub(crate) use observer::BlockTrace;

/// How events are got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Rings of `perf_event_open`.
    PerfEvent,
    /// An instance of tracefs of our own.
    Tracefs,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PerfEvent => "perf_event",
            Self::Tracefs => "tracefs",
        })
    }
}
