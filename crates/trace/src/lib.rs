//! Block traces: what became of the requests to a block device, one event after the other.
//!
//! `run` records them, `tell` draws what they say, and the command line reads and writes their
//! files; so they live below all three. Nothing here calls the kernel or opens a file: readers and
//! writers are handed in.

mod analysis;
mod blktrace;
mod disk;
mod error;
mod event;
mod own;
mod sink;

pub use analysis::{
    Analyst, CountedBy, CounterTimeline, Counters, DeviceFigures, Digest, Direction, Figures,
    KindFigures, LatencyBin, LatencyBins, LatencyFigures, Map, Slot, Summary, Timeline, Window,
    losses, summarise,
};
pub use blktrace::{BlktraceReader, BlktraceWriter};
pub use disk::{
    Disk, DiskAnswer, DiskCost, DiskError, DiskReader, DiskReplay, DiskRequest, PlayedHead,
};
pub use error::TraceFileError;
pub use event::{Action, Device, DeviceNumber, Entry, Event, Flags, Operation};
pub use own::{TraceReader, TraceWriter, is_trace};
pub use sink::EntrySink;

/// The kind of the artifact that is a [`Digest`] as JSON, and the version of its form.
pub const ARTIFACT_KIND: &str = "block_trace";
/// See [`ARTIFACT_KIND`].
pub const ARTIFACT_VERSION: u32 = 1;
