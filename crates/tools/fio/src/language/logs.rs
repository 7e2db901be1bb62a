//! Which logs of its requests a job asks for. Who writes them is the workload.

/// The files that a job asks for: a prefix, empty for the job's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// `write_lat_log`.
    pub latencies: Option<String>,
    /// `write_bw_log`.
    pub bandwidth: Option<String>,
    /// `write_iops_log`.
    pub iops: Option<String>,
    /// Milliseconds that a line stands for; 0 for a line for each request.
    pub average_ms: u64,
    /// Whether all clones write into the same files.
    pub together: bool,
    /// Whether a line tells the offset of its request.
    pub offsets: bool,
    /// The file that gets every request: `write_iolog`.
    pub requests: Option<String>,
}

impl Wanted {
    /// Whether there is one.
    pub(crate) fn is_any(&self) -> bool {
        let all = [&self.latencies, &self.bandwidth, &self.iops, &self.requests];
        all.iter().any(|one| one.is_some())
    }
}
