//! Parameters that only the JSON output of ior shows.

use serde::Serialize;

/// Parameters shown only in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JsonParameters {
    /// Text of options, which the original never sets.
    pub options: &'static str,
    /// Minutes after which no further test begins.
    pub max_time_duration: u64,
    /// Delay before each test, in seconds.
    pub inter_test_delay: u64,
    /// Sync at the end of a write: 1 or 0, like the following switches.
    pub fsync: u8,
    /// Sync after each transfer.
    pub fsyncperwrite: u8,
    /// Keep existing files.
    pub use_existing_test_file: u8,
    /// Each rank has a directory of its own.
    pub unique_dir: u8,
    /// Each repetition has files of its own.
    pub multi_file: u8,
    /// Random order of transfers.
    pub random_offset: u8,
    /// Check written data.
    pub check_write: u8,
    /// Check data on reading.
    pub check_read: u8,
    /// Number of the data packet type in the original.
    pub data_packet_type: u8,
    /// Letter that the original prints for that number; its list of letters is off by one.
    #[serde(rename = "data packet type")]
    pub data_packet_letter: &'static str,
    /// Collective transfers requested; POSIX has no calls for them.
    pub collective: u8,
    /// Deviation from the mean of the ranks, in seconds, above which a warning is printed.
    pub outlier_threshold: u64,
    /// Keep the files after the test.
    pub keep_file: u8,
    /// The seed of the data.
    #[serde(rename = "setTimeStampSignature/incompressibleSeed")]
    pub data_seed: i32,
}

impl JsonParameters {
    /// Name of the access mode: `collective` or `independent`.
    pub(super) const fn kind_of_transfers(&self) -> &'static str {
        if self.collective > 0 { "collective" } else { "independent" }
    }
}
