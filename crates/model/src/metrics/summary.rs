//! Metrics of compilebench summaries without lines per operation.

use super::spec::metrics;

metrics! {
    /// The mean of the rates of single operations, as compilebench prints it. Small operations
    /// count as much as large ones, so it is not `mib_per_second`.
    MEAN_MIB_PER_SECOND = "mean_mib_per_second", MibPerSecond, Higher;
}
