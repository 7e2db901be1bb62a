//! Analysis of trials: pure functions from [`treering_model::Trial`] values to figures.
//!
//! Computes medians, shares, totals, merged latencies and trends. The layout of pages is in
//! `treering-report`. The functions do not read files. A single trial has no verdict, since a trial
//! is the unit of replication.

mod aging;
mod calls;
pub mod compare;
mod curve;
mod fresh_copy;
pub mod history;
pub mod io500;
mod kind;
mod known;
mod layouts;
mod leading_counters;
mod phase;
mod rate;
mod requests;
pub mod scaling;
pub mod selection;
mod spread;
mod summary;
pub mod sweep;
mod too_few_runs;
mod trend;

pub use aging::{AgingPoint, AgingSeries, aging, trend_line_ns};
pub use calls::{OpSummary, P999_MIN_TIMED, merge_ops};
pub use curve::{CURVE_MIN_TIMED, CurvePoint, curve, nines_of};
pub use fresh_copy::{CopyMeasure, MeasureSummary, copy_measures};
pub use kind::{KindSummary, is_compiled};
pub use known::KnownTotals;
pub use layouts::{
    LAYOUT_MEASURES, LayoutMeasure, LayoutPoint, LayoutTrend, TrendSpan, layout_series,
    layout_trend, layouts,
};
pub use leading_counters::leading_counters;
pub use phase::PhaseSummary;
pub use rate::{
    COURSE_MIN_SECONDS, RateQuantity, RateSlice, has_timeline, slice_seconds, timeline,
};
pub use requests::{FEW_BEYOND, RequestFigures, is_request_figure, requests};
pub use spread::MedianRange;
pub use summary::{Summary, summary};
pub use too_few_runs::{ImportedRun, TooFewRuns, too_few_runs};
pub use trend::{Trend, TrendBasis};
