//! What IO500 itself printed: a rehearsal has none of it.

use super::spec::metrics;

metrics! {
    /// The score of a run, as IO500 printed it: only imported, never computed.
    IO500_SCORE = "io500_score", Count, Higher;
    /// The score of its four phases of ior, in GiB/s as IO500 printed it.
    IO500_BANDWIDTH_SCORE = "io500_bandwidth_score", Count, Higher;
    /// The score of its phases of mdtest and find, in kIOPS as IO500 printed it.
    IO500_METADATA_SCORE = "io500_metadata_score", Count, Higher;
    /// The rate of a phase that writes until its time was over, without the wear-out: of mdtest in
    /// thousands of operations a second, of ior in GiB/s, as IO500 printed it.
    IO500_STONEWALL_RATE = "io500_stonewall_rate", Count, Higher;
}
