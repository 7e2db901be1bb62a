//! Logs of requests that a job asks for. The workload writes them.

/// Filename prefixes of the requested logs; an empty prefix stands for the job's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogOptions {
    /// Prefix of the latency logs: `write_lat_log`.
    pub latencies: Option<String>,
    /// Prefix of the bandwidth log: `write_bw_log`.
    pub bandwidth: Option<String>,
    /// Prefix of the IOPS log: `write_iops_log`.
    pub iops: Option<String>,
    /// Prefix of the log of completion latencies over time: `write_hist_log`.
    pub histograms: Option<String>,
    /// Milliseconds of latencies in one of its lines: `log_hist_msec`; 0 for no lines.
    pub histogram_ms: u64,
    /// Power of two of the buckets that are one in it: `log_hist_coarseness`.
    pub histogram_coarseness: u32,
    /// Averaging window of a log line in milliseconds; 0 for a line for each request.
    pub average_ms: u64,
    /// True if such a line has the longest latency and not the mean: `log_max_value`.
    pub has_maxima: bool,
    /// True if all clones write into the same files.
    pub together: bool,
    /// True if lines contain the offset of the request.
    pub offsets: bool,
    /// File that logs every request: `write_iolog`.
    pub requests: Option<String>,
}

impl LogOptions {
    /// True if any log is asked for.
    pub(crate) fn is_any(&self) -> bool {
        let prefixes =
            [&self.latencies, &self.bandwidth, &self.iops, &self.histograms, &self.requests];
        prefixes.iter().any(|prefix| prefix.is_some())
    }
}
