//! Metrics of ior alone.

use super::spec::metrics;

metrics! {
    /// How many transfers each worker did, where time and not their number ended the test: what a
    /// longer run is planned with.
    TRANSFERS_PER_WORKER = "transfers_per_worker", Count, Higher;
    /// The rate of the repetitions as ior prints it beside the mean: `max`, `min` or `stddev`.
    REPETITION_MIB_PER_SECOND = "mib_per_second_{}", MibPerSecond, Higher;
}
