//! Block traces: the events of requests to block devices, and their analysis.
//!
//! The machine crates record traces, reports draw them, and the command line converts their files.
//! Nothing here makes system calls or opens files: callers pass in readers and writers.

mod analysis;
mod blktrace;
mod disk;
mod error;
mod event;
mod own;
mod returned;
mod sink;

pub use analysis::{
    CounterTimeline, CountingEvent, DeviceFigures, DeviceMap, DiskCounters, KindFigures,
    LatencyBin, LatencyBins, LatencyFigures, RequestOrder, TimeSlot, Timeline, TraceAnalyzer,
    TraceDigest, TraceFigures, TraceSummary, TraceWindow, losses, summarise,
};
pub use blktrace::{BlktraceReader, BlktraceWriter};
pub use disk::{
    DiskAnswer, DiskCost, DiskError, DiskReader, DiskReplay, DiskRequest, ModelledDisk, PlayedHead,
};
pub use error::TraceFileError;
pub use event::{
    Action, DeviceNumber, Operation, RequestEvent, RequestFlags, TraceDevice, TraceEntry,
};
pub use own::{TraceReader, TraceWriter, is_trace};
pub use returned::ReturnedRequests;
pub use sink::EntrySink;

/// Artifact kind of a [`TraceDigest`] as JSON, with the version of its format.
pub const ARTIFACT_KIND: &str = "block_trace";
/// See [`ARTIFACT_KIND`].
pub const ARTIFACT_VERSION: u32 = 1;
