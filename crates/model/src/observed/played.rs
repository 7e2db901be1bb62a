//! Activity of a played disk: requests, their service times, and the lateness of its answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Fact;

/// Name of the status file, next to the image of the played disk.
pub const PLAYED_STATUS: &str = "status";

/// Status of a played disk: the JSON of its status file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlayedStatus {
    /// Disk as requested: a name or a path.
    pub disk: String,
    /// Description for users.
    pub about: String,
    /// Fingerprint of all numbers of the disk.
    pub fingerprint: String,
    /// Path of the image.
    pub image: String,
    /// Activity since the start.
    pub counts: PlayedCounts,
}

impl PlayedStatus {
    /// Fact with the name of the played disk.
    pub const DISK_FACT: &str = "disk.played";
    /// Fact with its description.
    const ABOUT_FACT: &str = "disk.about";
    /// Fact with its fingerprint.
    pub const FINGERPRINT_FACT: &str = "disk.fingerprint";

    /// Facts for the record of a trial.
    pub fn facts(&self) -> Vec<Fact> {
        let Self { disk, about, fingerprint, .. } = self;
        [(Self::DISK_FACT, disk), (Self::ABOUT_FACT, about), (Self::FINGERPRINT_FACT, fingerprint)]
            .map(|(name, value)| Fact { name: name.to_owned(), value: value.clone() })
            .to_vec()
    }
}

/// Service time of a request, in parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayedParts {
    /// Total service time, including the overhead.
    pub busy_ns: u64,
    /// Seek time; latency of flash.
    pub seek_ns: u64,
    /// Rotational delay, including gaps that are read through.
    pub rotation_ns: u64,
    /// Transfer time.
    pub transfer_ns: u64,
}

/// Activity of a played disk since its start, or between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlayedCounts {
    /// Reads and writes, each answered at its modelled completion time.
    pub requests: u64,
    /// Writes among the requests.
    pub writes: u64,
    /// Bytes of reads and writes.
    pub bytes: u64,
    /// Number of flushes.
    pub flushes: u64,
    /// Modelled time with at least one request, in nanoseconds.
    pub busy_ns: u64,
    /// Seek part of the busy time; latencies of flash.
    pub seek_ns: u64,
    /// Rotational part of the busy time.
    pub rotation_ns: u64,
    /// Transfer part of the busy time.
    pub transfer_ns: u64,
    /// Sum of the lateness of all answers, in nanoseconds.
    pub late_ns: u64,
    /// Histogram of lateness: answers per class, with eight classes per doubling.
    pub late: BTreeMap<u16, u64>,
    /// CPU time of the process that plays the disk, in nanoseconds.
    pub cpu_ns: u64,
}

impl PlayedCounts {
    /// Adds a request whose answer was `late_ns` late.
    pub fn add(&mut self, parts: PlayedParts, bytes: u64, is_write: bool, late_ns: u64) {
        self.requests += 1;
        self.writes += u64::from(is_write);
        self.bytes += bytes;
        self.busy_ns += parts.busy_ns;
        self.seek_ns += parts.seek_ns;
        self.rotation_ns += parts.rotation_ns;
        self.transfer_ns += parts.transfer_ns;
        self.late_ns += late_ns;
        *self.late.entry(step(late_ns)).or_default() += 1;
    }

    /// Adds a flush, which writes what is in the write cache.
    pub fn add_flush(&mut self, parts: PlayedParts) {
        self.flushes += 1;
        self.busy_ns += parts.busy_ns;
        self.seek_ns += parts.seek_ns;
        self.rotation_ns += parts.rotation_ns;
        self.transfer_ns += parts.transfer_ns;
    }

    /// Difference to an earlier snapshot.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let steps = self.late.iter().map(|(step, count)| {
            (*step, count.saturating_sub(earlier.late.get(step).copied().unwrap_or(0)))
        });
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            writes: self.writes.saturating_sub(earlier.writes),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            flushes: self.flushes.saturating_sub(earlier.flushes),
            busy_ns: self.busy_ns.saturating_sub(earlier.busy_ns),
            seek_ns: self.seek_ns.saturating_sub(earlier.seek_ns),
            rotation_ns: self.rotation_ns.saturating_sub(earlier.rotation_ns),
            transfer_ns: self.transfer_ns.saturating_sub(earlier.transfer_ns),
            late_ns: self.late_ns.saturating_sub(earlier.late_ns),
            late: steps.filter(|(_, count)| *count > 0).collect(),
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
        }
    }

    /// Sum with the activity of another disk.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.requests += other.requests;
        self.writes += other.writes;
        self.bytes += other.bytes;
        self.flushes += other.flushes;
        self.busy_ns += other.busy_ns;
        self.seek_ns += other.seek_ns;
        self.rotation_ns += other.rotation_ns;
        self.transfer_ns += other.transfer_ns;
        self.late_ns += other.late_ns;
        self.cpu_ns += other.cpu_ns;
        for (step, count) in &other.late {
            *self.late.entry(*step).or_default() += count;
        }
        self
    }

    /// Quantile of the lateness in nanoseconds, with an error of at most 1/12; `None` without
    /// answers.
    pub fn late_ns_at(&self, share: f64) -> Option<u64> {
        let total: u64 = self.late.values().sum();
        let mut seen = 0;
        let reached = self.late.iter().find(|(_, count)| {
            seen += **count;
            seen as f64 >= share * total as f64
        });
        reached.map(|(step, _)| upper_ns(*step))
    }

    /// Total lateness as a share of the busy time.
    pub fn late_share(&self) -> f64 {
        if self.busy_ns == 0 { 0.0 } else { self.late_ns as f64 / self.busy_ns as f64 }
    }
}

/// Class of a lateness: exact below 8 ns, then eight classes per doubling.
fn step(ns: u64) -> u16 {
    if ns < 8 {
        return u16::try_from(ns).unwrap_or(0);
    }
    let doublings = ns.ilog2() - 3;
    let within = (ns >> doublings) - 8;
    u16::try_from(u64::from(doublings) * 8 + within).unwrap_or(u16::MAX) + 8
}

/// Upper bound of a class, in nanoseconds.
fn upper_ns(step: u16) -> u64 {
    if step < 8 {
        return u64::from(step);
    }
    let (doublings, within) = ((step - 8) / 8, u64::from((step - 8) % 8));
    ((within + 9).checked_shl(u32::from(doublings)).unwrap_or(u64::MAX)).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::{PlayedCounts, PlayedParts, step, upper_ns};

    #[test]
    fn lateness_classes_contain_their_values() {
        for ns in (0..2000).chain([1_000_000, 12_345_678_901, u64::MAX / 2]) {
            let upper = upper_ns(step(ns));
            assert!(ns <= upper && upper - ns <= ns / 8 + 1, "{ns} {upper}");
            assert!(ns == 0 || step(ns - 1) <= step(ns));
        }
    }

    #[test]
    fn since_subtracts_the_earlier_counts() {
        let parts =
            PlayedParts { busy_ns: 5_000_000, seek_ns: 3_000_000, ..PlayedParts::default() };
        let mut counts = PlayedCounts::default();
        assert_eq!((counts.late_ns_at(0.5), counts.late_share()), (None, 0.0));
        counts.add(parts, 4096, true, 900_000_000);
        let before = counts.clone();
        for late_ns in 1..=100 {
            counts.add(parts, 4096, false, late_ns * 1000);
        }
        let between = counts.since(&before);
        assert_eq!((between.requests, between.writes, between.bytes), (100, 0, 409_600));
        let median = between.late_ns_at(0.5).unwrap();
        assert!((50_000..57_000).contains(&median), "{median}");
        assert!(between.late_ns_at(1.0).unwrap() < 120_000);
        assert!((between.late_share() - 5_050_000.0 / 500_000_000.0).abs() < 1e-9);
        assert_eq!(before.clone().with(&between), counts);
        let text = serde_json::to_string(&counts).unwrap();
        assert_eq!(serde_json::from_str::<PlayedCounts>(&text).unwrap(), counts);
    }
}
