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

pub use analyst::Analyst;
pub use counters::{CounterTimeline, Counters};
pub use digest::{CountedBy, DeviceFigures, Digest, Direction, Figures, KindFigures, losses};
pub use latency::{LatencyBin, LatencyBins};
pub use map::Map;
pub use summary::{Summary, Window, summarise};
pub use tally::LatencyFigures;
pub use timeline::{Slot, Timeline};
