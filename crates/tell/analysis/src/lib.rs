//! What a trial says: pure functions from [`treering_model::Trial`] values to figures.
//!
//! Here live medians, shares, totals, merged latencies and the trend of a run. No page is laid
//! out here (that is `treering-report`), nothing is read from a disk, and no verdict is given on
//! one trial alone: a trial is the unit of replication.

mod calls;
pub mod compare;
mod kind;
mod phase;
mod spread;
mod summary;
mod trend;

pub use calls::{OpSummary, P999_MIN_TIMED, merge_ops};
pub use kind::{KindSummary, is_compiled};
pub use phase::PhaseSummary;
pub use spread::Spread;
pub use summary::{Summary, summary};
pub use trend::{Trend, TrendBasis};
