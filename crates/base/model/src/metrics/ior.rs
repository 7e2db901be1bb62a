//! Metrics of the ior suite alone: of ior and of mdtest.

use super::spec::metrics;

metrics! {
    /// How many items each worker of mdtest made, where time and not their number ended the
    /// creation: what a longer run is planned with.
    ITEMS_PER_WORKER = "items_per_worker", Count, Higher;
    /// How many transfers each worker of ior did, where time and not their number ended the test:
    /// what a longer run is planned with.
    TRANSFERS_PER_WORKER = "transfers_per_worker", Count, Higher;
    /// The share of the items or transfers that were done only after the time was over, so that all
    /// workers have as many as the fastest.
    WEAR_OUT_PERCENT = "wear_out_percent", Percent, Lower;
    /// The rate of the iterations as mdtest prints it beside the mean: `max`, `min` or `stddev`.
    ITERATION_OPERATIONS_PER_SECOND = "operations_per_second_{}", OpsPerSecond, Higher;
    /// The rate of the repetitions as ior prints it: `max` or `min`.
    REPETITION_MIB_PER_SECOND = "mib_per_second_{}", MibPerSecond, Higher;
}
