//! Imbalance of the ranks in a phase, by the time each of them worked.

use crate::ranks::barriers::{PhaseBarriers, middle_ns};

/// Imbalance of the ranks in a phase. The working time of a rank lasts from its first start to its
/// last end, summed over the groups in which all ranks took part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSkew {
    /// The phase.
    pub phase: u32,
    /// Name of the phase.
    pub name: String,
    /// Rank that worked longest.
    pub slowest: usize,
    /// Working time of the slowest rank, in nanoseconds.
    pub slowest_ns: u64,
    /// Median working time of the ranks, in nanoseconds.
    pub median_ns: u64,
    /// Number of ranks that worked.
    pub ranks: usize,
    /// Barriers of the phase.
    pub barriers: PhaseBarriers,
}

impl RankSkew {
    /// Excess of the slowest rank's working time over the median, in percent.
    pub fn percent(&self) -> f64 {
        (self.slowest_ns as f64 / self.median_ns.max(1) as f64 - 1.0) * 100.0
    }

    /// Skew from the nanoseconds that each rank worked; `None` if fewer than two worked.
    pub(crate) fn new(
        phase: u32,
        name: &str,
        worked_ns: &[u64],
        barriers: PhaseBarriers,
    ) -> Option<Self> {
        let with_rank = worked_ns.iter().copied().zip(0..);
        let mut ranks_by_time: Vec<(u64, usize)> =
            with_rank.filter(|(worked_ns, _)| *worked_ns > 0).collect();
        ranks_by_time.sort_by(|left, right| left.0.cmp(&right.0).then(right.1.cmp(&left.1)));
        if ranks_by_time.len() < 2 {
            return None;
        }
        let &(slowest_ns, slowest) = ranks_by_time.last()?;
        let worked_ns: Vec<u64> = ranks_by_time.iter().map(|(worked_ns, _)| *worked_ns).collect();
        let median_ns = middle_ns(&worked_ns);
        let name = name.to_owned();
        Some(Self {
            phase,
            name,
            slowest,
            slowest_ns,
            median_ns,
            ranks: ranks_by_time.len(),
            barriers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{PhaseBarriers, RankSkew};

    #[test]
    fn the_slowest_rank_is_reported_with_its_share() {
        let skew =
            RankSkew::new(2, "create", &[100, 100, 0, 150, 100], PhaseBarriers::default()).unwrap();
        assert_eq!((skew.slowest, skew.slowest_ns, skew.median_ns), (3, 150, 100));
        assert_eq!(skew.ranks, 4);
        assert!((skew.percent() - 50.0).abs() < 1e-9);
        assert_eq!(RankSkew::new(0, "", &[1, 0], PhaseBarriers::default()), None);
    }
}
