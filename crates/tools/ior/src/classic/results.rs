//! Result of one test, over all ranks.

use treering_model::workloads::ior::TransferCounts;

/// A write or a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// Data are written.
    Write,
    /// Data are read.
    Read,
}

impl AccessKind {
    /// Name printed by the original.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
        }
    }
}

/// A test in a repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TestResult {
    /// Bytes of all ranks.
    pub bytes: u64,
    /// Time from the start of the first open to the end of the last.
    pub open_seconds: f64,
    /// Time from the start of the first transfer to the end of the last.
    pub moved_seconds: f64,
    /// Time from the start of the first close to the end of the last.
    pub close_seconds: f64,
    /// Time from the start of the first open to the end of the last close.
    pub total_seconds: f64,
    /// Mean time of a transfer in seconds, on the rank where this mean is smallest.
    pub latency_seconds: f64,
    /// Work done when the time limit ended the test; `None` without one.
    pub wall: Option<StonewallResult>,
}

/// Work of the ranks at the time limit (stonewall).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct StonewallResult {
    /// Minimum number of transfers of a rank.
    pub least: u64,
    /// Maximum number of transfers of a rank.
    pub most: u64,
    /// Minimum number of bytes of a rank.
    pub least_bytes: u64,
    /// Mean number of bytes of a rank.
    pub mean_bytes: u64,
    /// Time from the first transfer to the last at the limit, in seconds.
    pub seconds: f64,
}

/// Nanoseconds as seconds.
fn seconds(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e9
}

impl TestResult {
    /// Result from the counts of all tasks, each with its rank; wear-out tasks come after the timed
    /// ones.
    pub(crate) fn from_tasks(tasks: &[(usize, TransferCounts)], ranks: usize) -> Self {
        let counts = || tasks.iter().map(|(_, counts)| counts);
        let first = |begin: fn(&TransferCounts) -> u64| counts().map(begin).min().unwrap_or(0);
        let last = |end: fn(&TransferCounts) -> u64| counts().map(end).max().unwrap_or(0);
        let opened = first(|times| times.open.began_ns);
        let closed = last(|times| times.close.ended_ns);
        Self {
            bytes: counts().map(|count| count.bytes).sum(),
            open_seconds: seconds(opened, last(|times| times.open.ended_ns)),
            moved_seconds: seconds(
                first(|times| times.moved.began_ns),
                last(|times| times.moved.ended_ns),
            ),
            close_seconds: seconds(first(|times| times.close.began_ns), closed),
            total_seconds: seconds(opened, closed),
            latency_seconds: (0..ranks)
                .filter_map(|rank| latency(tasks, rank))
                .min_by(f64::total_cmp)
                .unwrap_or(0.0),
            wall: wall(tasks),
        }
    }

    /// Throughput in bytes per second over the total time, as the original computes it.
    pub(crate) fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.total_seconds
    }
}

/// The mean time of a rank's transfers.
fn latency(tasks: &[(usize, TransferCounts)], rank: usize) -> Option<f64> {
    let own = || tasks.iter().filter(move |(of, _)| *of == rank).map(|(_, counts)| counts);
    let began = own().map(|times| times.moved.began_ns).min()?;
    let ended = own().map(|times| times.moved.ended_ns).max()?;
    let transfers: u64 = own().map(|times| times.transfers).sum();
    Some(seconds(began, ended) / transfers.max(1) as f64)
}

fn wall(tasks: &[(usize, TransferCounts)]) -> Option<StonewallResult> {
    let until_then = || tasks.iter().map(|(_, counts)| counts).filter(|counts| !counts.is_wear_out);
    let bytes: u64 = until_then().map(|rank| rank.bytes).sum();
    Some(StonewallResult {
        least: until_then().map(|rank| rank.transfers).min()?,
        most: until_then().map(|rank| rank.transfers).max()?,
        least_bytes: until_then().map(|rank| rank.bytes).min()?,
        mean_bytes: bytes / until_then().count() as u64,
        seconds: seconds(
            until_then().map(|rank| rank.moved.began_ns).min()?,
            until_then().map(|rank| rank.moved.ended_ns).max()?,
        ),
    })
}
