//! Metrics of open-loop runs, whose requests arrive by the clock, and of the search for the highest
//! rate.

use super::spec::metrics;

metrics! {
    /// The highest rate of requests at which a latency is kept, as `treering load` found it.
    SUSTAINED_OPERATIONS_PER_SECOND = "sustained_operations_per_second", OpsPerSecond, Higher;
    /// The ends of its 95 % interval: `low` and `high`.
    SUSTAINED_OPERATIONS_PER_SECOND_END =
        "sustained_{}_operations_per_second", OpsPerSecond, Higher;
    /// Requests that were offered by the clock.
    OFFERED_OPERATIONS_PER_SECOND = "offered_operations_per_second", OpsPerSecond, Higher;
    /// How many requests were due in the time that counts.
    DUE_OPERATIONS = "due_operations", Count, Higher;
    /// How many of them had not ended when the grace after the last one was over.
    UNFINISHED_OPERATIONS = "unfinished_operations", Count, Lower;
    /// How long requests took from when they were due: `p50`, `p95`, `p99`, `p999` or `max`. Those
    /// that never ended count as the slowest, with the grace or the slowest that ended.
    DUE_LATENCY_NANOSECONDS = "due_latency_{}_nanoseconds", Nanoseconds, Lower;
    /// The share of requests that took longer than this (`5ms`) from when they were due, or never
    /// ended.
    LATE_PERCENT = "late_{}_percent", Percent, Lower;
    /// How late the generator itself was, by requests that an idle worker was waiting for: `p50`,
    /// `p95`, `p99` or `p999`.
    GENERATOR_LAG_NANOSECONDS = "generator_lag_{}_nanoseconds", Nanoseconds, Lower;
}
