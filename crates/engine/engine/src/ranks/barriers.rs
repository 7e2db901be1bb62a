//! Durations of a phase's barriers, and the spread of the ranks' starts after them.

/// Durations of the barriers before the groups of a phase in which all ranks took part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseBarriers {
    /// Times from the arrival of the last rank to the start of the last rank, in nanoseconds,
    /// ascending.
    pub took_ns: Vec<u64>,
    /// Times from the first rank's start to the last rank's, in nanoseconds, ascending.
    pub start_spreads_ns: Vec<u64>,
}

impl PhaseBarriers {
    /// Adds a barrier: arrival time of the last rank, and start time of each rank after it.
    pub(crate) fn add(&mut self, met_ns: u64, began_ns: impl Iterator<Item = u64> + Clone) {
        let (Some(first), Some(last)) = (began_ns.clone().min(), began_ns.max()) else { return };
        for (durations_ns, ns) in [
            (&mut self.took_ns, last.saturating_sub(met_ns)),
            (&mut self.start_spreads_ns, last - first),
        ] {
            durations_ns.insert(durations_ns.partition_point(|other| *other < ns), ns);
        }
    }
}

/// Median of sorted numbers; 0 without any.
pub fn middle_ns(sorted: &[u64]) -> u64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0 };
    u64::midpoint(sorted[last / 2], sorted[sorted.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::{PhaseBarriers, middle_ns};

    #[test]
    fn barrier_durations_are_sorted() {
        let mut barriers = PhaseBarriers::default();
        barriers.add(100, [150, 170, 160].into_iter());
        barriers.add(200, [210, 211].into_iter());
        // A clock that is not known better than this may say that it began before.
        barriers.add(300, [290, 299].into_iter());
        assert_eq!(barriers.took_ns, [0, 11, 70]);
        assert_eq!(barriers.start_spreads_ns, [1, 9, 20]);
        assert_eq!((middle_ns(&barriers.took_ns), middle_ns(&[1, 4])), (11, 2));
        barriers.add(0, [].into_iter());
        assert_eq!((barriers.took_ns.len(), middle_ns(&[])), (3, 0));
    }
}
