//! Results of a fio run, common to all output formats: times in nanoseconds, rates in bytes.

use treering_kit::import::number;

/// Counters of each job: context switches, page faults that needed a read, and page faults that
/// needed none.
pub(crate) const COUNTS: [&str; 3] = ["context_switches", "major_faults", "minor_faults"];

/// Names of the directions.
pub(crate) const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// Results of a run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Version as in `3.33`; empty when the output does not state it.
    pub version: String,
    /// Time of the output, in milliseconds since 1970.
    pub reported_unix_ms: Option<i64>,
    /// Elapsed time of the run; 0 when the output does not state it.
    pub elapsed_ns: u64,
    /// Directories and files of the run.
    pub places: Vec<String>,
    /// Options common to all jobs.
    pub options: Vec<(String, String)>,
    /// True if options that are not reported have their defaults.
    pub has_all_options: bool,
    /// Results of the jobs.
    pub jobs: Vec<Job>,
    /// Statistics of devices, if the output has any.
    pub disks: Vec<Disk>,
    /// True if the run or one of its jobs did not finish.
    pub is_interrupted: bool,
}

/// Results of a job; with `group_reporting` of all clones of it and all jobs of its group.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// Name of the section.
    pub name: String,
    /// Number of the reporting group.
    pub group: u64,
    /// Number of threads or processes; 0 when the output does not state it.
    pub clones: u64,
    /// Option `description` of the job.
    pub description: String,
    /// Errno of the job; 0 for none.
    pub error: u64,
    /// Options of this job only.
    pub options: Vec<(String, String)>,
    /// Directions in which the job moved data.
    pub directions: Vec<Direction>,
    /// Latencies of syncs, if there were any.
    pub sync: Option<Sync>,
    /// User and system CPU in percent of the time of all clones.
    pub cpu_percent: Option<[f64; 2]>,
    /// Total runtime of all clones; 0 when the output does not state it.
    pub clones_ms: u64,
    /// Counters, each under its name of [`COUNTS`].
    pub counts: Vec<(&'static str, u64)>,
    /// Distributions of depth, submission and completion, in percent.
    pub levels: Vec<(&'static str, String)>,
    /// Histogram of latencies: upper limit in nanoseconds, and percent of the I/O between the limit
    /// before and this one.
    pub shares: Vec<(u64, f64)>,
}

/// Totals of a job in one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direction {
    /// Name: `read`, `write` or `trim`.
    pub name: &'static str,
    /// Bytes moved.
    pub bytes: u64,
    /// Time from the first request to the last.
    pub runtime_ms: u64,
    /// Number of requests; 0 when the output does not state it.
    pub ios: u64,
    /// Bandwidth, as printed or from exact figures.
    pub bytes_per_second: f64,
    /// Requests per second, as printed or from exact figures.
    pub ops_per_second: f64,
    /// Statistics of submission (`slat`), completion (`clat`) and total latency (`lat`).
    pub times: Vec<(&'static str, Statistic)>,
    /// Percentiles: latency kind, percentile as printed, and value.
    pub percentiles: Vec<(&'static str, String, f64)>,
    /// Latency histogram: latency kind, and nanoseconds with the count of each bin.
    pub bins: Option<(&'static str, Vec<(u64, u64)>)>,
    /// Bandwidth samples in bytes per second.
    pub bandwidth: Option<Statistic>,
    /// Samples of operations per second.
    pub iops: Option<Statistic>,
}

/// Latencies of `fsync` and its like.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sync {
    /// Number of syncs; 0 when the output does not state it.
    pub ios: u64,
    /// Latency statistics, in nanoseconds.
    pub time: Statistic,
    /// Percentile as printed, and value.
    pub percentiles: Vec<(String, f64)>,
    /// Latency histogram: nanoseconds, and the count of each bin.
    pub bins: Vec<(u64, u64)>,
}

/// Statistic: minimum, maximum, mean and deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Statistic {
    /// Minimum.
    pub least: f64,
    /// Maximum.
    pub most: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
}

impl Statistic {
    /// Converts to another unit.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self {
            least: self.least * factor,
            most: self.most * factor,
            mean: self.mean * factor,
            deviation: self.deviation * factor,
        }
    }

    /// True if the figures are consistent: old versions print the largest integer as the minimum of
    /// an empty sample.
    pub(crate) fn is_sound(self) -> bool {
        let figures = [self.least, self.most, self.mean, self.deviation];
        figures.into_iter().all(|value| value.is_finite() && value >= 0.0)
            && self.least <= self.most
    }
}

/// Statistics of a block device during the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Disk {
    /// Device name as in `/sys/block`.
    pub name: String,
    /// Counters: requests, merges, sectors, ticks.
    pub counts: Vec<(&'static str, u64)>,
    /// Utilisation in percent.
    pub busy_percent: Option<f64>,
}

impl Run {
    /// True if `other` is the same run in another output format.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let jobs = |run: &Self| -> Vec<(String, u64)> {
            run.jobs.iter().map(|job| (job.name.clone(), job.group)).collect()
        };
        let moved = |run: &Self| -> Vec<(&'static str, u64)> {
            let directions = run.jobs.iter().flat_map(|job| &job.directions);
            let moved = directions.filter(|direction| direction.runtime_ms > 0);
            moved.map(|direction| (direction.name, direction.runtime_ms)).collect()
        };
        !self.jobs.is_empty() && jobs(self) == jobs(other) && moved(self) == moved(other)
    }
}

impl Direction {
    /// True if the job did anything in this direction.
    pub(crate) fn is_there(&self) -> bool {
        self.bytes > 0 || self.ios > 0 || self.ops_per_second > 0.0
    }
}

/// Upper limit in nanoseconds of a latency level, in each of fio's three units.
pub(crate) fn limit_ns(unit_ns: u64, level: &str) -> Option<u64> {
    // The highest level has no limit.
    if level == ">=2000" {
        return Some(u64::MAX);
    }
    let level = number::whole(level).filter(|level| (2..=2000).contains(level))?;
    level.checked_mul(unit_ns)
}
