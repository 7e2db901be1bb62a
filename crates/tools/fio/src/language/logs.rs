//! Logs of requests that a job asks for. The workload writes them.

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
    /// True if all clones write into the same files.
    pub together: bool,
    /// True if lines contain the offset of the request.
    pub offsets: bool,
    /// The file that gets every request: `write_iolog`.
    pub requests: Option<String>,
}

impl Wanted {
    /// True if any log is asked for.
    pub(crate) fn is_any(&self) -> bool {
        let all = [&self.latencies, &self.bandwidth, &self.iops, &self.requests];
        all.iter().any(|one| one.is_some())
    }
}
