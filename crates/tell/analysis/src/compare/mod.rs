//! Sets of trials against each other: sides in, verdicts and cautions out.
//!
//! A side is a set of trials; its rounds are its trials in the order of time. What is compared
//! with what (same workload, same parameters, k-th round with k-th round) is decided here; how
//! numbers become intervals and findings is `treering-stats`; how a verdict is worded is
//! `treering-report`. Cautions are found before any number is looked at.

mod caution;
mod control;
mod fairness;
mod gate;
mod jobs;
mod judging;
mod outcome;
mod series;
mod side;
mod terms;

pub use caution::{ComparisonCaution, ComparisonCautionCode};
pub use fairness::COMPARED_FACTS;
pub use gate::Gate;
pub use judging::{CompareError, compare};
pub use outcome::{Estimate, MetricComparison, Outcome, SideSummary, Verdict};
pub use side::{Factor, Side};
pub use terms::{LEVEL_FACT, Terms};
