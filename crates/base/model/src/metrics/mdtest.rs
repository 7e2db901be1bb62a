//! Metrics of mdtest alone.

use super::spec::metrics;

metrics! {
    /// How many items each worker made, where time and not their number ended the creation: what a
    /// longer run is planned with.
    ITEMS_PER_WORKER = "items_per_worker", Count, Higher;
    /// The share of the items that were made only after the time was over, so that all workers have
    /// as many as the fastest.
    WEAR_OUT_PERCENT = "wear_out_percent", Percent, Lower;
    /// The rate of the iterations as mdtest prints it beside the mean: `max`, `min` or `stddev`.
    ITERATION_OPERATIONS_PER_SECOND = "operations_per_second_{}", OpsPerSecond, Higher;
}
