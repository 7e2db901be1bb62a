//! Metrics specific to dbench.

use super::spec::metrics;

metrics! {
    /// What dbench prints as its result, in classic mode and in logs: bytes read and written, those
    /// read from memory included, by the time until the last second shown. Operations that move no
    /// bytes are not in it.
    THROUGHPUT_MIB_PER_SECOND = "throughput_mib_per_second", MibPerSecond, Higher;
    /// How long one client takes to play the whole load once, in the mean.
    PASS_SECONDS = "pass_seconds", Seconds, Lower;
    /// The same: `min`, `p50` (the median) or `max`.
    PASS_SECONDS_QUANTILE = "pass_seconds_{}", Seconds, Lower;
    /// How often a client played the whole load within the measured time.
    PASSES = "passes", Count, Higher;
    /// The share of the time of all operations that went into Flush (fsync).
    FLUSH_TIME_PERCENT = "flush_time_percent", Percent, Lower;
    /// Operations that ended otherwise than the load says.
    UNEXPECTED_OUTCOMES = "unexpected_outcomes", Count, Lower;
    /// max_latency as dbench prints it, which may be of the warm-up.
    CLASSIC_LATENCY_NS_MAX = "classic_latency_ns_max", Nanoseconds, Lower;
}
