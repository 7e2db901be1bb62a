//! Tally of a clone: bytes, requests, latencies and rates, as fio counts them.

use serde::{Deserialize, Serialize};
use treering_model::Counters;

pub(crate) use super::latencies::{Latencies, Stat};
use super::offered::OfferedTally;

/// Limits of the coarse buckets: below 1000 ns, below 1000 us, and from 1 ms.
const STEPS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Number of coarse buckets: ten of nanoseconds, ten of microseconds, and twelve of milliseconds.
pub(crate) const COARSE: usize = 32;

/// Index of the coarse bucket of a latency.
#[inline]
fn coarse(ns: u64) -> usize {
    let (start, value) = match ns {
        0..1_000 => (0, ns),
        1_000..1_000_000 => (10, ns / 1_000),
        _ => (20, ns / 1_000_000),
    };
    let step = STEPS.iter().position(|limit| value < *limit);
    start + step.unwrap_or(if value < 2000 { 10 } else { 11 })
}

/// Index of a number among 1, 2, 4, 8, 16, 32 and 64 or more.
#[inline]
fn level(number: u64) -> usize {
    match number {
        0..2 => 0,
        2..4 => 1,
        4..8 => 2,
        8..16 => 3,
        16..32 => 4,
        32..64 => 5,
        _ => 6,
    }
}

/// Index of a number among 0, 4, 8, 16, 32, 64 and more.
#[inline]
fn batch(number: u64) -> usize {
    match number {
        0 => 0,
        1..=4 => 1,
        5..=8 => 2,
        9..=16 => 3,
        17..=32 => 4,
        33..=64 => 5,
        _ => 6,
    }
}

/// Tally of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DirectionTally {
    /// Bytes moved.
    pub bytes: u64,
    /// Requests completed.
    pub requests: u64,
    /// Requests that moved fewer bytes than asked.
    pub short: u64,
    /// Runtime in this direction.
    pub runtime_ms: u64,
    /// Submission latency: from issue until the kernel has accepted the request.
    pub slat: Latencies,
    /// Completion latency: from acceptance to completion.
    pub clat: Latencies,
    /// Total latency, of submission and completion; empty if only one request is in flight at a
    /// time.
    pub lat: Latencies,
    /// Bandwidth samples in KiB/s, one each half second.
    pub bandwidth: Stat,
    /// Samples of requests per second, one each half second.
    pub iops: Stat,
}

impl DirectionTally {
    /// Adds a concurrent clone.
    fn merge(&mut self, more: &Self) {
        self.bytes += more.bytes;
        self.requests += more.requests;
        self.short += more.short;
        self.runtime_ms = self.runtime_ms.max(more.runtime_ms);
        self.slat.merge(&more.slat);
        self.clat.merge(&more.clat);
        self.lat.merge(&more.lat);
        self.bandwidth.sum_with(&more.bandwidth);
        self.iops.sum_with(&more.iops);
    }
}

/// Block that failed verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VerifyError {
    /// Message in the original's words.
    pub text: String,
    /// Number of the file within the clone.
    pub file: u64,
    /// Offset, bytes read and bytes expected, where dumps were asked for.
    pub dumps: Option<(u64, Vec<u8>, Vec<u8>)>,
}

/// Result of `steadystate`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SteadyTally {
    /// True if the steady state was reached.
    pub attained: bool,
    /// Value compared with the limit: the slope or the largest deviation, or its share of the mean.
    pub criterion: f64,
    /// Slope of the rates in the window.
    pub slope: f64,
    /// Largest deviation from the mean of the window.
    pub deviation: f64,
    /// Requests and bytes of each second of the window.
    pub seconds: Vec<[u64; 2]>,
}

impl SteadyTally {
    /// Mean requests and bytes per second.
    pub(crate) fn means(&self) -> [u64; 2] {
        let count = self.seconds.len().max(1) as u64;
        [0, 1].map(|place: usize| {
            self.seconds.iter().map(|second| second[place]).sum::<u64>() / count
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Counters of one clone, or of several added up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Counters of reads, writes and trims.
    pub directions: [DirectionTally; 3],
    /// Latencies of syncs.
    pub sync: Latencies,
    /// Number of these syncs that count as short requests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub short_syncs: u64,
    /// Number of requests with a rate that began late.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late: u64,
    /// Number of requests by the queue depth at issue: 1, 2, 4, 8, 16, 32, 64 or more.
    pub depths: [u64; 7],
    /// Number of submissions by their requests: 0, 4, 8, 16, 32, 64, more.
    pub submits: [u64; 7],
    /// Number of reapings by their completions: 0, 4, 8, 16, 32, 64, more.
    pub completes: [u64; 7],
    /// Number of latencies in each coarse bucket.
    pub coarse: [u64; COARSE],
    /// Total runtime.
    pub runtime_ms: u64,
    /// Number of clones added up.
    pub clones: u64,
    /// Queue depth at the end, which `latency_target` may have changed.
    pub depth: u64,
    /// Errno of the first fatal error; 0 for none.
    pub errno: u64,
    /// Number of tolerated errors, and the errno of the first.
    pub errors: [u64; 2],
    /// User CPU time.
    pub user_ns: u64,
    /// System CPU time.
    pub system_ns: u64,
    /// Context switches, major faults and minor faults.
    pub usage: [u64; 3],
    /// Steady state, kept by the one clone of a group that evaluates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyTally>,
    /// Tally of the offered load, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<OfferedTally>,
    /// Verification errors; only kept for a single clone.
    pub complaints: Vec<VerifyError>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            directions: Default::default(),
            sync: Latencies::default(),
            short_syncs: 0,
            late: 0,
            depths: [0; 7],
            submits: [0; 7],
            completes: [0; 7],
            coarse: [0; COARSE],
            runtime_ms: 0,
            clones: 1,
            depth: 0,
            errno: 0,
            errors: [0; 2],
            user_ns: 0,
            system_ns: 0,
            usage: [0; 3],
            steady: None,
            offered: None,
            complaints: Vec::new(),
        }
    }
}

impl Tally {
    /// Counts an issued request, with the queue depth that includes it.
    #[inline]
    pub(crate) fn issued(&mut self, under_way: u64) {
        self.depths[level(under_way)] += 1;
    }

    /// Counts a submission of `requests` requests to the kernel.
    #[inline]
    pub(crate) fn submitted(&mut self, requests: u64) {
        self.submits[batch(requests)] += 1;
    }

    /// Counts the reaping of `requests` completions at once.
    #[inline]
    pub(crate) fn completed(&mut self, requests: u64) {
        self.completes[batch(requests)] += 1;
    }

    /// Adds the completion latency of a request.
    #[inline]
    pub(crate) fn took(&mut self, direction: usize, clat_ns: u64) {
        self.directions[direction].clat.add(clat_ns);
        self.coarse[coarse(clat_ns)] += 1;
    }

    /// Resets the counters at the end of the ramp time.
    pub(crate) fn clear(&mut self) {
        for direction in &mut self.directions {
            (direction.bytes, direction.requests, direction.short, direction.runtime_ms) =
                (0, 0, 0, 0);
            (direction.bandwidth, direction.iops) = Default::default();
            direction.slat.clear();
            direction.clat.clear();
            direction.lat.clear();
        }
        self.sync.clear();
        self.short_syncs = 0;
        (self.depths, self.submits, self.completes) = Default::default();
        (self.coarse, self.runtime_ms) = ([0; COARSE], 0);
    }

    /// Adds another clone of the same group.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (direction, more) in self.directions.iter_mut().zip(&other.directions) {
            direction.merge(more);
        }
        self.sync.merge(&other.sync);
        self.short_syncs += other.short_syncs;
        let add_each = |into: &mut [u64], from: &[u64]| {
            into.iter_mut().zip(from).for_each(|(one, more)| *one += more);
        };
        add_each(&mut self.depths, &other.depths);
        add_each(&mut self.submits, &other.submits);
        add_each(&mut self.completes, &other.completes);
        add_each(&mut self.coarse, &other.coarse);
        self.runtime_ms += other.runtime_ms;
        self.clones += other.clones;
        self.errors = [
            self.errors[0] + other.errors[0],
            if self.errors[0] == 0 { other.errors[1] } else { self.errors[1] },
        ];
        self.errno = if self.errno == 0 { other.errno } else { self.errno };
        if other.steady.is_some() {
            self.steady.clone_from(&other.steady);
        }
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        add_each(&mut self.usage, &other.usage);
    }

    /// Number of syncs that are no short requests.
    pub(crate) const fn syncs(&self) -> u64 {
        self.sync.stat.samples.saturating_sub(self.short_syncs)
    }

    /// Requests completed in all directions.
    pub(crate) fn requests(&self) -> u64 {
        self.directions.iter().map(|direction| direction.requests).sum()
    }

    /// Bytes moved in all directions.
    pub(crate) fn bytes(&self) -> u64 {
        self.directions.iter().map(|direction| direction.bytes).sum()
    }

    /// Sum of all directions.
    pub(crate) fn mixed(&self) -> DirectionTally {
        let mut sum = DirectionTally::default();
        self.directions.iter().for_each(|direction| sum.merge(direction));
        sum
    }

    /// Converts to the counters of a script.
    pub(crate) fn counters(&self) -> Counters {
        Counters::from_value(self)
    }

    /// Reads counters written by [`Tally::counters`].
    pub(crate) fn read(counters: &Counters) -> Option<Self> {
        counters.read()
    }
}

#[cfg(test)]
mod tests {
    use treering_model::Counters;

    use super::{Stat, Tally, coarse};

    #[test]
    fn counters_round_trip_a_tally() {
        let mut tally = Tally::default();
        for ns in [70, 900, 5_000, 7_000_000, 9_000_000_000] {
            tally.took(1, ns);
            tally.directions[1].lat.add(ns + 5);
        }
        tally.directions[0].bytes = 7;
        tally.directions[1].iops.add(100);
        tally.sync.add(1_000_000);
        tally.issued(16);
        tally.submitted(4);
        tally.completed(1);
        let read = Tally::read(&tally.counters()).unwrap();
        assert_eq!(read, tally);
        assert_eq!(Tally::read(&Counters::default()), None);
        let mut both = read;
        both.merge(&tally);
        assert_eq!((both.directions[1].clat.stat.samples, both.clones), (10, 2));
        both.clear();
        assert_eq!(both.directions, Tally::default().directions);
    }

    #[test]
    fn coarse_buckets_match_their_printed_limits() {
        let places = [1, 2, 999, 1_000, 2_000, 999_999, 1_000_000, 1_999_000_000, 2_000_000_000];
        assert_eq!(places.map(coarse), [0, 1, 9, 10, 11, 19, 20, 30, 31]);
    }

    #[test]
    fn rates_of_concurrent_clones_add_up() {
        let mut rates = [Stat::default(), Stat::default()];
        [1000, 1010].into_iter().for_each(|rate| rates[0].add(rate));
        [500, 490, 510].into_iter().for_each(|rate| rates[1].add(rate));
        let mut both = Stat::default();
        rates.iter().for_each(|rate| both.sum_with(rate));
        assert_eq!((both.samples, both.least, both.most), (5, 1490, 1520));
        assert!((both.mean() - 1505.0).abs() < 1e-9);
        assert!((both.deviation() - (250.0_f64 / 4.0).sqrt()).abs() < 1e-6);
    }

    #[test]
    fn deviation_is_that_of_a_sample() {
        let mut stat = Stat::default();
        [2, 4, 4, 4, 5, 5, 7, 9].into_iter().for_each(|value| stat.add(value));
        assert!((stat.mean() - 5.0).abs() < 1e-9);
        assert!((stat.deviation() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-9);
        assert_eq!((stat.least, stat.most), (2, 9));
    }
}
