//! Metrics specific to bonnie++.

use super::spec::metrics;

metrics! {
    /// Random seeks by the time from the first seeker's start to the last one's end.
    OPS_PER_SECOND = "ops_per_second", OpsPerSecond, Higher;
    /// Half of the 95 % interval of a rate, by the rate, from the spread of the single steps.
    RATE_UNCERTAINTY_PERCENT = "rate_uncertainty_percent", Percent, Lower;
    /// %CP of random seeks as bonnie++ prints it: each seeker counts the CPU of all of them.
    CLASSIC_CPU_PERCENT = "classic_cpu_percent", Percent, Lower;
}
