//! Metrics of functions of the kernel that were probed by request. Of the phases together, and of
//! each phase when there are several.

use crate::metrics::spec::metrics;

metrics! {
    /// Number of calls of a function of the kernel that returned, on the whole machine.
    CALLS = "function_{}_calls", Count, Lower;
    /// Time that calls of a function took together, from its entry to its return, waiting
    /// included. Calls at the same time count each.
    SECONDS = "function_{}_seconds", Seconds, Lower;
    /// Mean time of a call of a function.
    MEAN_NANOSECONDS = "function_{}_mean_nanoseconds", Nanoseconds, Lower;
}
