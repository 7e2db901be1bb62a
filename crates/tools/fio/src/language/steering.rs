//! Options that steer a job besides its rates: flow shares, lowest rates, tolerated errors, strided
//! zones, CPU affinity and priority.

use treering_script::{Credentials, SchedulingParameters};

use super::direction::Direction;

/// Share of a flow of several jobs: `flow`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Weight of the job; 0 to leave the flow.
    pub weight: u64,
    /// Number of the flow.
    pub id: u64,
    /// Pause in microseconds while the job is ahead of the others.
    pub sleep_us: u64,
}

/// Latency limit that determines the queue depth: `latency_target`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LatencyTarget {
    /// Latency limit in nanoseconds; 0 for none.
    pub ns: u64,
    /// Evaluation window in microseconds.
    pub window_us: u64,
    /// Percentage of the requests that must meet the limit.
    pub percentile: f64,
    /// True if the job continues at the depth that was found: `latency_run`.
    pub runs: bool,
}

impl Default for LatencyTarget {
    fn default() -> Self {
        Self { ns: 0, window_us: 0, percentile: 100.0, runs: false }
    }
}

/// Steady state at which a job ends: `steadystate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SteadyState {
    /// True for request rates, false for bandwidth.
    pub of_requests: bool,
    /// True if the slope of the rates is limited, false for their largest deviation from the mean.
    pub is_slope: bool,
    /// Upper limit of the slope or deviation.
    pub limit: f64,
    /// True if the limit is in percent of the mean.
    pub in_percent: bool,
    /// Length of the window in seconds; 0 disables the detection.
    pub seconds: u64,
    /// Microseconds before the window begins.
    pub ramp_us: u64,
}

impl Default for SteadyState {
    fn default() -> Self {
        let (limit, seconds, ramp_us) = (0.0, 0, 0);
        Self { of_requests: true, is_slope: true, limit, in_percent: false, seconds, ramp_us }
    }
}

impl SteadyState {
    /// Name of the criterion.
    pub(crate) const fn word(&self) -> &'static str {
        match (self.of_requests, self.is_slope) {
            (true, true) => "iops_slope",
            (true, false) => "iops",
            (false, true) => "bw_slope",
            (false, false) => "bw",
        }
    }

    /// Unit of the limit.
    pub(crate) const fn unit(&self) -> &'static str {
        if self.in_percent { "%" } else { "" }
    }
}

/// Rates below which a job fails: `rate_min` and `rate_iops_min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MinimumRates {
    /// Bytes per second; 0 for no limit.
    pub bytes: [u64; 3],
    /// Requests per second; 0 for no limit.
    pub requests: [u64; 3],
    /// Check interval.
    pub cycle_ms: u64,
}

impl Default for MinimumRates {
    fn default() -> Self {
        Self { bytes: [0; 3], requests: [0; 3], cycle_ms: 1000 }
    }
}

impl MinimumRates {
    /// True if any rate is limited.
    pub(crate) fn are_any(&self) -> bool {
        self.bytes.iter().chain(&self.requests).any(|rate| *rate > 0)
    }
}

/// Number of error kinds: of reads, of modifications, and of verification.
pub(crate) const ERROR_KINDS: usize = 3;
/// Errnos tolerated by default: `EIO` and `EILSEQ`.
const BORNE: [i32; 2] = [5, 84];

/// Errors after which a job continues: `continue_on_error` and `ignore_error`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorTolerance {
    pub kinds: [bool; ERROR_KINDS],
    /// Errnos by kind; `EIO` and `EILSEQ` for a kind with none.
    pub numbers: [Vec<i32>; ERROR_KINDS],
}

impl ErrorTolerance {
    /// True if any kind of error is tolerated, so that errors are counted.
    pub(crate) fn is_any(&self) -> bool {
        self.kinds.contains(&true)
    }

    /// True if the job continues after this error.
    pub(crate) fn tolerates(&self, direction: Direction, errno: i32) -> bool {
        let kind = match (errno, direction) {
            (84, _) => 2,
            (_, Direction::Read) => 0,
            _ => 1,
        };
        let named = &self.numbers[kind];
        let numbers = if named.is_empty() { &BORNE[..] } else { named };
        self.kinds[kind] && numbers.contains(&errno)
    }
}

/// Writeback during the job: `sync_file_range`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSync {
    /// Number of writes before each call; 0 for never.
    pub every: u64,
    /// Flags of the system call.
    pub flags: u32,
}

impl RangeSync {
    /// Flags by name.
    pub(crate) const WORDS: [(&str, u32); 3] =
        [("wait_before", 1), ("write", 2), ("wait_after", 4)];
}

/// Strided zones of a file: `zonemode=strided`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StridedZones {
    /// Value of `zonemode`, if given; a zone size alone implies strided zones.
    pub are_asked: Option<bool>,
    /// Bytes moved in a zone; 0 for no zones.
    pub bytes: u64,
    /// Length of a zone in bytes.
    pub range: u64,
    /// Bytes skipped after each zone.
    pub skip: u64,
}

/// CPU affinity, priority and identity of the clones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SchedulingOptions {
    pub cpus: Vec<u32>,
    /// True if each clone is bound to one CPU of its own: `cpus_allowed_policy=split`.
    pub splits: bool,
    pub nice: i32,
    /// True if other threads submit the requests: `io_submit_mode=offload`.
    pub is_offloaded: bool,
    /// I/O priority: class and level.
    pub io_class: u16,
    pub io_level: u16,
    /// Numeric uid and gid to switch to.
    pub user: Option<u32>,
    pub group: Option<u32>,
}

impl SchedulingOptions {
    /// Identity to switch to; `None` to stay as started.
    pub(crate) fn identity(&self) -> Option<Credentials> {
        let asks = self.user.is_some() || self.group.is_some();
        let (user, group) = (self.user.unwrap_or(0), self.group.unwrap_or(0));
        asks.then_some(Credentials { user, group })
    }

    /// Scheduling of the clone with this number among all, from 1.
    pub(crate) fn scheduling(&self, clone: u64) -> SchedulingParameters {
        let alone = || {
            let place = (clone.max(1) - 1).checked_rem(self.cpus.len() as u64)?;
            self.cpus.get(usize::try_from(place).ok()?).map(|cpu| vec![*cpu])
        };
        let alone = if self.splits { alone() } else { None };
        let cpus = alone.unwrap_or_else(|| self.cpus.clone());
        let asks = self.io_class > 0 || self.io_level > 0;
        // The default class is best effort.
        let class = if self.io_class == 0 { 2 } else { self.io_class };
        let io_priority = asks.then_some(class << 13 | self.io_level);
        SchedulingParameters { cpus, nice: self.nice, io_priority }
    }
}

#[cfg(test)]
mod tests {
    use super::{Direction, ErrorTolerance, SchedulingOptions};

    #[test]
    fn clones_share_or_split_cpus() {
        let mut running = SchedulingOptions { cpus: vec![1, 3], ..SchedulingOptions::default() };
        assert_eq!(running.scheduling(2).cpus, [1, 3]);
        running.splits = true;
        assert_eq!([1, 2, 3].map(|clone| running.scheduling(clone).cpus[0]), [1, 3, 1]);
        assert_eq!(running.scheduling(1).io_priority, None);
        running.io_level = 4;
        assert_eq!(running.scheduling(1).io_priority, Some(2 << 13 | 4));
    }

    #[test]
    fn media_errors_are_tolerated_by_default() {
        let mut borne = ErrorTolerance { kinds: [false, true, false], ..ErrorTolerance::default() };
        assert!(borne.tolerates(Direction::Write, 5) && borne.tolerates(Direction::Trim, 5));
        assert!(!borne.tolerates(Direction::Read, 5) && !borne.tolerates(Direction::Write, 28));
        borne.numbers[1] = vec![28];
        assert!(borne.tolerates(Direction::Write, 28) && !borne.tolerates(Direction::Write, 5));
        assert!(!borne.tolerates(Direction::Write, 84));
    }
}
