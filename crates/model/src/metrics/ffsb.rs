//! Metrics specific to FFSB.

use super::spec::metrics;

metrics! {
    /// What FFSB prints as its result: a transaction is one block of an operation that moves
    /// data, and a whole operation of all others, so large blocks and small operations count
    /// alike.
    TRANSACTIONS_PER_SECOND = "transactions_per_second", OpsPerSecond, Higher;
    /// Operations by the time until the workers ended, without the final sync.
    UNSYNCED_OPERATIONS_PER_SECOND = "unsynced_operations_per_second", OpsPerSecond, Higher;
    /// How many calls of one kind (`open`, `read`, `write` and so on) a report counts.
    CALL_COUNT = "{}_calls", Count, Higher;
    /// How long a call of one kind took by a report: `min`, `mean` or `max`.
    CALL_LATENCY_NS = "{}_latency_ns_{}", Nanoseconds, Lower;
}
