//! Imbalance of the ranks in a phase, by the time each of them worked.

use crate::ranks::barriers::{PhaseBarriers, middle_ns};

/// The work of the ranks in a phase: of each the time from its first beginning to its last end,
/// summed over the groups that all ranks had a part in.
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
    pub(crate) fn of(
        phase: u32,
        name: &str,
        worked_ns: &[u64],
        barriers: PhaseBarriers,
    ) -> Option<Self> {
        let with_rank = worked_ns.iter().copied().zip(0..);
        let mut all: Vec<(u64, usize)> =
            with_rank.filter(|(worked_ns, _)| *worked_ns > 0).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(&one.1)));
        if all.len() < 2 {
            return None;
        }
        let &(slowest_ns, slowest) = all.last()?;
        let worked_ns: Vec<u64> = all.iter().map(|(worked_ns, _)| *worked_ns).collect();
        let median_ns = middle_ns(&worked_ns);
        let name = name.to_owned();
        Some(Self { phase, name, slowest, slowest_ns, median_ns, ranks: all.len(), barriers })
    }
}

#[cfg(test)]
mod tests {
    use super::{PhaseBarriers, RankSkew};

    #[test]
    fn the_slowest_is_told_with_its_share() {
        let skew =
            RankSkew::of(2, "create", &[100, 100, 0, 150, 100], PhaseBarriers::default()).unwrap();
        assert_eq!((skew.slowest, skew.slowest_ns, skew.median_ns), (3, 150, 100));
        assert_eq!(skew.ranks, 4);
        assert!((skew.percent() - 50.0).abs() < 1e-9);
        assert_eq!(RankSkew::of(0, "", &[1, 0], PhaseBarriers::default()), None);
    }
}
