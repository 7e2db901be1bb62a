//! How the ranks of a run on several clients differed.

use super::spec::metrics;

metrics! {
    /// By how much longer the slowest rank worked in a phase than the median of all ranks, in
    /// percent of the latter: from the first beginning to the last end of the rank's own tasks.
    RANK_SKEW_PERCENT = "rank_skew_percent", Percent, Lower;
}
