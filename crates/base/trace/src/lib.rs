//! Block traces: what became of the requests to a block device, one event after the other.
//!
//! `run` records them, `tell` draws what they say, and the door reads and writes their files; so
//! they live below all three. Nothing here calls the kernel or opens a file: readers and writers
//! are handed in.

mod analysis;
mod blktrace;
mod error;
mod event;
mod own;

pub use analysis::{
    Analyst, Course, DeviceFigures, Digest, Direction, Figures, KindFigures, LatencyFigures, Map,
    Slot, summarise, Summary, Window,
};
pub use blktrace::{BlktraceReader, BlktraceWriter};
pub use error::TraceFileError;
pub use event::{Action, Device, DeviceNumber, Entry, Event, Flags, Operation};
pub use own::{TraceReader, TraceWriter, is_trace};
