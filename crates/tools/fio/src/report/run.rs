//! A run of fio as every form of its output tells it: times in nanoseconds, rates in bytes.

use treering_kit::import::number;

/// What is counted of each job: context switches, page faults that needed a read, and page faults
/// that needed none.
pub(crate) const COUNTS: [&str; 3] = ["context_switches", "major_faults", "minor_faults"];

/// What it did by the direction of the data.
pub(crate) const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// A run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// As `3.33`; empty when the output does not say.
    pub version: String,
    /// When the output was written, in milliseconds since 1970.
    pub reported_unix_ms: Option<i64>,
    /// How long all of it took; 0 when the output does not say.
    pub elapsed_ns: u64,
    /// Directories and files it worked in.
    pub places: Vec<String>,
    /// Options of all jobs.
    pub options: Vec<(String, String)>,
    /// Whether options that are not reported have their defaults.
    pub has_all_options: bool,
    /// What its jobs did.
    pub jobs: Vec<Job>,
    /// The devices, where it reported of them.
    pub disks: Vec<Disk>,
    /// Whether it, or a job, did not come to its end.
    pub is_interrupted: bool,
}

/// A job, or all clones of it and all jobs of its group with `group_reporting`.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// The name of its section.
    pub name: String,
    /// The number of its group.
    pub group: u64,
    /// How many threads or processes; 0 when the output does not say.
    pub clones: u64,
    /// What its job file says of it in words.
    pub description: String,
    /// The number of its error; 0 is none.
    pub error: u64,
    /// Its own options.
    pub options: Vec<(String, String)>,
    /// Those in which it moved data.
    pub directions: Vec<Direction>,
    /// Its syncs, where there were any.
    pub sync: Option<Sync>,
    /// User and system CPU in percent of the time of all clones.
    pub cpu_percent: Option<[f64; 2]>,
    /// The time of all clones together; 0 when the output does not say.
    pub clones_ms: u64,
    /// Each under its name of [`COUNTS`].
    pub counts: Vec<(&'static str, u64)>,
    /// Levels of depth, submission and completion, in percent.
    pub levels: Vec<(&'static str, String)>,
    /// How many percent of its I/O took no longer than so many nanoseconds, but more than the
    /// limit before.
    pub shares: Vec<(u64, f64)>,
}

/// All reads of a job, or all its writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Direction {
    /// `read`, `write` or `trim`.
    pub name: &'static str,
    /// How many were moved.
    pub bytes: u64,
    /// From its first request to its last.
    pub runtime_ms: u64,
    /// How many; 0 when the output does not say.
    pub ios: u64,
    /// As fio says, or exactly.
    pub bytes_per_second: f64,
    /// As fio says, or exactly.
    pub ops_per_second: f64,
    /// Of submission (`slat`), completion (`clat`), both (`lat`).
    pub times: Vec<(&'static str, Spread)>,
    /// Which times, which percentile as fio prints it, how long.
    pub percentiles: Vec<(&'static str, String, f64)>,
    /// Which times, and how many took how long.
    pub bins: Option<(&'static str, Vec<(u64, u64)>)>,
    /// Bytes per second in its samples.
    pub bandwidth: Option<Spread>,
    /// Operations per second in its samples.
    pub iops: Option<Spread>,
}

/// `fsync` and its like.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sync {
    /// How many; 0 when the output does not say.
    pub ios: u64,
    /// How long they took, in nanoseconds.
    pub time: Spread,
    /// Which percentile as fio prints it, how long.
    pub percentiles: Vec<(String, f64)>,
    /// How many took how long.
    pub bins: Vec<(u64, u64)>,
}

/// Least, most, mean and deviation of something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

impl Spread {
    /// The same in another unit.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self {
            least: self.least * factor,
            most: self.most * factor,
            mean: self.mean * factor,
            deviation: self.deviation * factor,
        }
    }

    /// Whether it can be one: old versions print the largest number for the least of nothing.
    pub(crate) fn is_sound(self) -> bool {
        let all = [self.least, self.most, self.mean, self.deviation];
        all.into_iter().all(|value| value.is_finite() && value >= 0.0) && self.least <= self.most
    }
}

/// A block device during the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Disk {
    /// As in `/sys/block`.
    pub name: String,
    /// Requests, merges, sectors, ticks.
    pub counts: Vec<(&'static str, u64)>,
    /// How much of the time it was busy.
    pub busy_percent: Option<f64>,
}

impl Run {
    /// Whether the other is the same run in another form.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let jobs = |run: &Self| -> Vec<(String, u64)> {
            run.jobs.iter().map(|job| (job.name.clone(), job.group)).collect()
        };
        let moved = |run: &Self| -> Vec<(&'static str, u64)> {
            let all = run.jobs.iter().flat_map(|job| &job.directions);
            let moved = all.filter(|direction| direction.runtime_ms > 0);
            moved.map(|direction| (direction.name, direction.runtime_ms)).collect()
        };
        !self.jobs.is_empty() && jobs(self) == jobs(other) && moved(self) == moved(other)
    }
}

impl Direction {
    /// Whether there is anything to tell of it.
    pub(crate) fn is_there(&self) -> bool {
        self.bytes > 0 || self.ios > 0 || self.ops_per_second > 0.0
    }
}

/// The levels of latency in each of fio's three units, and their limits in nanoseconds.
pub(crate) fn limit_ns(unit_ns: u64, level: &str) -> Option<u64> {
    // Above all levels there is no limit.
    if level == ">=2000" {
        return Some(u64::MAX);
    }
    let level = number::whole(level).filter(|level| (2..=2000).contains(level))?;
    level.checked_mul(unit_ns)
}
