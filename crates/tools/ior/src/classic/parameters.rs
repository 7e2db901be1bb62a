//! What was asked of ior that only its JSON shows.

use serde::Serialize;

/// What is only shown in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Parameters {
    /// Minutes after which no test begins.
    pub max_time_duration: u64,
    /// Seconds before each test.
    pub inter_test_delay: u64,
    /// Whether data are synced at the end, 1 or 0, as are all that follow.
    pub fsync: u8,
    /// After each transfer.
    pub fsyncperwrite: u8,
    /// Whether files that are there stay.
    pub use_existing_test_file: u8,
    /// Whether each rank has a directory.
    pub unique_dir: u8,
    /// Whether each repetition has files.
    pub multi_file: u8,
    /// Whether the order is random.
    pub random_offset: u8,
    /// Whether what was written is checked.
    pub check_write: u8,
    /// Whether what is read is checked.
    pub check_read: u8,
    /// Which data: the original's number.
    pub data_packet_type: u8,
    /// What the original calls that number: a letter from a list that is one off.
    #[serde(rename = "data packet type")]
    pub data_packet_letter: &'static str,
    /// Whether transfers are called collective, which POSIX has no other calls for.
    pub collective: u8,
    /// Seconds from the mean of the ranks to be warned about.
    pub outlier_threshold: u64,
    /// Whether files are kept.
    pub keep_file: u8,
    /// The seed of the data.
    #[serde(rename = "setTimeStampSignature/incompressibleSeed")]
    pub data_seed: u64,
}

impl Parameters {
    /// What transfers are called.
    pub(super) const fn kind_of_transfers(&self) -> &'static str {
        if self.collective > 0 { "collective" } else { "independent" }
    }
}
