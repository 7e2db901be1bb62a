//! Trace analysis of a device: figures, a timeline of them, and a map of offsets over time. All
//! results are computed incrementally, in memory independent of the number of events.

mod analyst;
mod counters;
mod digest;
mod flight;
mod latency;
mod map;
mod metrics;
mod summary;
mod tally;
mod timeline;

pub use analyst::TraceAnalyzer;
pub use counters::{CounterTimeline, DiskCounters};
pub use digest::{
    CountingEvent, DeviceFigures, KindFigures, RequestOrder, TraceDigest, TraceFigures, losses,
};
pub use latency::{LatencyBin, LatencyBins};
pub use map::DeviceMap;
pub use summary::{TraceSummary, TraceWindow, summarise};
pub use tally::LatencyFigures;
pub use timeline::{TimeSlot, Timeline};
