//! Sets of trials against each other: variants in, verdicts and cautions out.
//!
//! A variant is a set of trials; its rounds are its trials in the order of time. What is compared
//! with what (same workload, same parameters, partners by round or by time) is decided here; how
//! numbers become intervals and findings is `treering-stats`; how a verdict is worded is
//! `treering-report`. Cautions are found before any number is looked at.

mod caution;
mod control;
mod drift;
mod environment;
mod fairness;
mod fill;
mod gate;
mod jobs;
mod judging;
mod observed;
mod opposite;
mod outcome;
mod pairs;
mod profile;
mod quantity;
mod question;
mod series;
mod terms;
mod variant;
mod within;

pub use caution::{ComparisonCaution, ComparisonCautionCode};
pub use environment::{EnvironmentFact, FactValue, Standing, environment};
pub use fairness::COMPARED_FACTS;
pub use gate::{Gate, GateReason};
pub(crate) use jobs::job_names;
pub use judging::{CompareError, compare, compare_observed};
pub use observed::{ObservedJob, ObservedVariant, observed_jobs};
pub use outcome::{Decided, Estimate, MetricComparison, Outcome, VariantSummary, Verdict};
pub use profile::{JobProfile, KindRounds, PhaseRounds, VariantProfile, profiles};
pub use terms::Terms;
pub(crate) use variant::is_completed;
pub use variant::{ComparedVariant, Factor};
