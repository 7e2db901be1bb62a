//! Metrics of deliberate aging: maintenance between operations, see docs/aging-maintenance.md.

use super::spec::metrics;

/// Beginning of the name of the fact about the gain in reading by a kind of maintenance; the name
/// of the maintenance follows.
pub const GAIN_FACT: &str = "age.gain.";

metrics! {
    /// Wall-clock time of one run of this maintenance, in the mean.
    MAINTENANCE_SECONDS = "maintenance_seconds", Seconds, Lower;
    /// User and system CPU time of the worker in one run of this maintenance, in the mean; what
    /// threads of the kernel do for it is theirs.
    MAINTENANCE_CPU_SECONDS = "maintenance_cpu_seconds", Seconds, Lower;
    /// Bytes that one run of this maintenance read or made shared, in the mean.
    MAINTENANCE_BYTES = "maintenance_bytes", Bytes, Higher;
    /// Mean time of reading the files of this maintenance before it, with cold caches.
    READ_BEFORE_SECONDS = "read_before_seconds", Seconds, Lower;
    /// Mean time of reading the files of this maintenance after it, with cold caches.
    READ_AFTER_SECONDS = "read_after_seconds", Seconds, Lower;
    /// Time of reading, as it was before the maintenance, after which the maintenance has saved the
    /// time that it took; missing if the spread of the readings does not tell a gain from none.
    PAID_BACK_SECONDS = "paid_back_seconds", Seconds, Lower;
    /// Bytes written to the device by the bytes that the operations wrote, between the age before
    /// and the age of the trial; for the first age since the filesystem was made.
    AGING_WRITE_AMPLIFICATION = "aging_write_amplification", Count, Lower;
}
