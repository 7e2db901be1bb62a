//! A run of fio as every form of its output tells it: times in nanoseconds, rates in bytes.

use super::command::Command;

/// What it did by the direction of the data.
pub(super) const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// A run.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// As `3.33`; empty when the output does not say.
    pub(super) version: String,
    /// When the output was written, in milliseconds since 1970.
    pub(super) told_unix_ms: Option<i64>,
    /// How long all of it took; 0 when the output does not say.
    pub(super) elapsed_ns: u64,
    /// Directories and files it worked in.
    pub(super) places: Vec<String>,
    /// Options of all jobs.
    pub(super) options: Vec<(String, String)>,
    /// Whether options that are not told have their defaults.
    pub(super) has_all_options: bool,
    pub(super) jobs: Vec<Job>,
    pub(super) disks: Vec<Disk>,
    pub(super) is_interrupted: bool,
}

/// A job, or all clones of it and all jobs of its group with `group_reporting`.
#[derive(Debug, Default)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) group: u64,
    /// How many threads or processes; 0 when the output does not say.
    pub(super) clones: u64,
    /// The number of its error; 0 is none.
    pub(super) error: u64,
    pub(super) options: Vec<(String, String)>,
    /// Those in which it moved data.
    pub(super) directions: Vec<Direction>,
    pub(super) sync: Option<Sync>,
    /// User and system CPU in percent of the time of all clones.
    pub(super) cpu_percent: Option<[f64; 2]>,
    /// The time of all clones together; 0 when the output does not say.
    pub(super) clones_ms: u64,
    /// Context switches, faults.
    pub(super) counts: Vec<(&'static str, u64)>,
    /// Levels of depth, submission and completion, in percent.
    pub(super) levels: Vec<(&'static str, String)>,
    /// How many percent of its I/O took no longer than so many nanoseconds, but more than the
    /// limit before.
    pub(super) shares: Vec<(u64, f64)>,
}

/// All reads of a job, or all its writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Direction {
    pub(super) name: &'static str,
    pub(super) bytes: u64,
    pub(super) runtime_ms: u64,
    /// How many; 0 when the output does not say.
    pub(super) ios: u64,
    pub(super) bytes_per_second: f64,
    pub(super) ops_per_second: f64,
    /// Of submission (`slat`), completion (`clat`), both (`lat`).
    pub(super) times: Vec<(&'static str, Spread)>,
    /// Which times, which percentile as fio prints it, how long.
    pub(super) percentiles: Vec<(&'static str, String, f64)>,
    /// Which times, and how many took how long.
    pub(super) bins: Option<(&'static str, Vec<(u64, u64)>)>,
    /// Bytes per second in its samples.
    pub(super) bandwidth: Option<Spread>,
    /// Operations per second in its samples.
    pub(super) iops: Option<Spread>,
}

/// `fsync` and its like.
#[derive(Clone, Debug, Default)]
pub(super) struct Sync {
    /// How many; 0 when the output does not say.
    pub(super) ios: u64,
    pub(super) time: Spread,
    pub(super) percentiles: Vec<(String, f64)>,
}

/// Least, most, mean and deviation of something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Spread {
    /// The same in another unit.
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self {
            least: self.least * factor,
            most: self.most * factor,
            mean: self.mean * factor,
            deviation: self.deviation * factor,
        }
    }

    /// Whether it can be one: old versions print the largest number for the least of nothing.
    pub(super) fn is_sound(self) -> bool {
        let all = [self.least, self.most, self.mean, self.deviation];
        all.into_iter().all(|value| value.is_finite() && value >= 0.0) && self.least <= self.most
    }
}

/// A block device during the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Disk {
    pub(super) name: String,
    pub(super) counts: Vec<(&'static str, u64)>,
    pub(super) busy_percent: Option<f64>,
}

impl Run {
    /// Takes what the command line says, where the output itself tells no options of all jobs.
    pub(super) fn learn(&mut self, command: Command) {
        if self.options.is_empty() {
            self.options = command.options;
            self.has_all_options |= command.is_all;
        }
        if self.places.is_empty() {
            self.places = command.places;
        }
    }

    /// Whether the other is the same run in another form.
    pub(super) fn is_same(&self, other: &Self) -> bool {
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
    pub(super) fn is_there(&self) -> bool {
        self.bytes > 0 || self.ios > 0 || self.ops_per_second > 0.0
    }
}

/// The levels of latency in each of fio's three units, and their limits in nanoseconds.
pub(super) fn limit_ns(unit_ns: u64, level: &str) -> Option<u64> {
    // Above all levels there is no limit.
    if level == ">=2000" {
        return Some(u64::MAX);
    }
    let level = crate::number::whole(level).filter(|level| (2..=2000).contains(level))?;
    level.checked_mul(unit_ns)
}
