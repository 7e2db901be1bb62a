//! Metrics of the block devices below the target, from the kernel's counters of each device: of the
//! phases together, and of each phase when there are several.

use crate::metrics::spec::metrics;

metrics! {
    /// Requests that read from the devices, after merging.
    READ_REQUESTS = "device_read_requests", Count, Lower;
    /// Bytes read from the devices.
    READ_BYTES = "device_read_bytes", Bytes, Lower;
    /// Requests that wrote to the devices, after merging.
    WRITE_REQUESTS = "device_write_requests", Count, Lower;
    /// Bytes written to the devices.
    WRITTEN_BYTES = "device_written_bytes", Bytes, Lower;
    /// Requests that discarded blocks of the devices.
    DISCARD_REQUESTS = "device_discard_requests", Count, Lower;
    /// Bytes discarded on the devices.
    DISCARDED_BYTES = "device_discarded_bytes", Bytes, Lower;
    /// Flushes of the devices' write caches; of a partition those of its whole disk.
    FLUSHES = "device_flushes", Count, Lower;
    /// Time that the flushes took, summed over them.
    FLUSH_SECONDS = "device_flush_seconds", Seconds, Lower;
    /// Time in which a device had at least one request, summed over the devices.
    BUSY_SECONDS = "device_busy_seconds", Seconds, Lower;
}
