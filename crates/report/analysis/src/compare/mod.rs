//! Comparison of sets of trials: takes variants, returns verdicts and cautions.
//!
//! A variant is a set of trials; its rounds are its trials in time order. This module selects the
//! trials to compare (same workload, same parameters, paired by round or by time), `treering-stats`
//! computes intervals and findings, and `treering-report` turns the verdicts into text. Cautions
//! are determined before any number is compared.

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
pub use environment::{EnvironmentFact, FactStatus, FactValue, environment};
pub use fairness::COMPARED_FACTS;
pub use gate::{Gate, GateReason};
pub(crate) use jobs::job_names;
pub use judging::{CompareError, compare, compare_observed};
pub use observed::{ObservedJob, ObservedVariant, observed_jobs};
pub use outcome::{
    DecisionInterval, Estimate, MetricComparison, Outcome, VariantSummary, Verdict, p_words,
};
pub use profile::{JobProfile, KindRounds, PhaseRounds, VariantProfile, profiles};
pub use terms::ComparisonTerms;
pub(crate) use variant::is_completed;
pub use variant::{ComparedVariant, Factor};
