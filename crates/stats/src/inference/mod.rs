//! Estimates with their intervals, and tests, between groups of runs.
pub(crate) mod bootstrap;
pub(crate) mod crossing;
pub(crate) mod fisher;
pub(crate) mod hodges_lehmann;
pub(crate) mod mann_whitney;
pub(crate) mod null_counts;
pub(crate) mod scaling;
pub(crate) mod signed_rank;
pub(crate) mod student;
pub(crate) mod threshold;
