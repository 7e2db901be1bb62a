//! Access temperature of data: decaying access counts.
//!
//! A temperature is the number of accesses, each weighted by one half per half-life since then:
//! frequently and recently used data are hot. The kernel's hot data tracking patches (2012) kept
//! counts, times and mean intervals per file and per range of 1 MiB, and derived a temperature by
//! bit shifts; this temperature has a unit.

use serde::{Deserialize, Serialize};

/// Access statistics of one file or range. Times are nanoseconds of a common clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeatStatistics {
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time of the first access.
    pub first_ns: u64,
    /// Time of the last access.
    pub last_ns: u64,
    /// Temperature at the last access.
    warmth: f64,
}

/// Access to data, or several accesses at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Time in nanoseconds.
    pub at_ns: u64,
    /// True for writes.
    pub writes: bool,
    /// Number of accesses.
    pub count: u64,
    /// Total bytes.
    pub bytes: u64,
}

/// Temperature after a decay of `passed_ns`.
fn decayed(warmth: f64, passed_ns: u64, half_life_ns: u64) -> f64 {
    warmth * (-(passed_ns as f64) / half_life_ns.max(1) as f64).exp2()
}

impl HeatStatistics {
    /// Adds an access; times must not decrease.
    pub fn access(&mut self, access: Access, half_life_ns: u64) {
        let Access { at_ns, writes, count, bytes } = access;
        if self.accesses() == 0 {
            self.first_ns = at_ns;
        }
        if writes {
            self.writes += count;
            self.written_bytes += bytes;
        } else {
            self.reads += count;
            self.read_bytes += bytes;
        }
        let passed_ns = at_ns.saturating_sub(self.last_ns);
        self.warmth = count as f64 + decayed(self.warmth, passed_ns, half_life_ns);
        self.last_ns = self.last_ns.max(at_ns);
    }

    /// Adds the accesses of another file or range.
    pub fn merge(&mut self, other: &Self, half_life_ns: u64) {
        if other.accesses() == 0 {
            return;
        }
        if self.accesses() == 0 {
            *self = *other;
            return;
        }
        let last_ns = self.last_ns.max(other.last_ns);
        self.warmth =
            self.temperature(last_ns, half_life_ns) + other.temperature(last_ns, half_life_ns);
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = last_ns;
    }

    /// Number of reads and writes.
    pub const fn accesses(&self) -> u64 {
        self.reads + self.writes
    }

    /// Temperature at a time after the last access, in accesses.
    pub fn temperature(&self, at_ns: u64, half_life_ns: u64) -> f64 {
        decayed(self.warmth, at_ns.saturating_sub(self.last_ns), half_life_ns)
    }

    /// Mean time between two accesses in nanoseconds; `None` for fewer than two accesses.
    pub fn mean_interval_ns(&self) -> Option<u64> {
        let gaps = self.accesses().checked_sub(1).filter(|gaps| *gaps > 0)?;
        Some((self.last_ns - self.first_ns) / gaps)
    }
}

/// Concentration curve of accesses: points (share of the data, share of the accesses), both 0 to 1,
/// with the most frequently accessed data first. `parts` holds the accesses and bytes of pieces of
/// data; the curve has at most `points` + 1 points, including both ends.
pub fn concentration(parts: &[(u64, u64)], points: usize) -> Vec<(f64, f64)> {
    let mut parts: Vec<(u64, u64)> = parts.iter().copied().filter(|part| part.1 > 0).collect();
    let sums = |parts: &[(u64, u64)]| {
        parts.iter().fold((0_u128, 0_u128), |(accesses, bytes), part| {
            (accesses + u128::from(part.0), bytes + u128::from(part.1))
        })
    };
    let (accesses, bytes) = sums(&parts);
    if accesses == 0 || bytes == 0 {
        return Vec::new();
    }
    // Sorts by density without division: a / b > c / d where a * d > c * b.
    let density = |part: &(u64, u64), other: &(u64, u64)| {
        (u128::from(part.0) * u128::from(other.1)).cmp(&(u128::from(other.0) * u128::from(part.1)))
    };
    parts.sort_by(|part, other| density(other, part).then(part.1.cmp(&other.1)));
    let step = parts.len().div_ceil(points.max(1)).max(1);
    let mut curve = vec![(0.0, 0.0)];
    let mut done = (0_u128, 0_u128);
    for some in parts.chunks(step) {
        let more = sums(some);
        done = (done.0 + more.0, done.1 + more.1);
        curve.push((done.1 as f64 / bytes as f64, done.0 as f64 / accesses as f64));
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::{Access, HeatStatistics, concentration};
    use proptest::prelude::{ProptestConfig, prop_assert, proptest};

    const SECOND: u64 = 1_000_000_000;

    const fn access(at_ns: u64, writes: bool, bytes: u64) -> Access {
        Access { at_ns, writes, count: 1, bytes }
    }

    #[test]
    fn an_access_counts_half_after_a_half_life() {
        let mut heat = HeatStatistics::default();
        heat.access(access(5 * SECOND, false, 100), 10 * SECOND);
        assert!((heat.temperature(15 * SECOND, 10 * SECOND) - 0.5).abs() < 1e-12);
        heat.access(access(15 * SECOND, true, 50), 10 * SECOND);
        assert!((heat.temperature(15 * SECOND, 10 * SECOND) - 1.5).abs() < 1e-12);
        assert!((heat.temperature(35 * SECOND, 10 * SECOND) - 0.375).abs() < 1e-12);
        assert_eq!((heat.reads, heat.writes), (1, 1));
        assert_eq!((heat.read_bytes, heat.written_bytes), (100, 50));
        assert_eq!(heat.mean_interval_ns(), Some(10 * SECOND));
        assert_eq!(HeatStatistics::default().mean_interval_ns(), None);
    }

    #[test]
    fn the_hottest_data_come_first() {
        // Of 100 accesses, 90 are to 1 byte and 10 to 9 bytes.
        let curve = concentration(&[(10, 9), (90, 1), (0, 0)], 100);
        let expected = [(0.0, 0.0), (0.1, 0.9), (1.0, 1.0)];
        assert_eq!(curve.len(), expected.len());
        for (point, expected) in curve.iter().zip(expected) {
            assert!((point.0 - expected.0).abs() < 1e-12 && (point.1 - expected.1).abs() < 1e-12);
        }
        assert!(concentration(&[], 10).is_empty());
        assert!(concentration(&[(0, 5)], 10).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn merged_halves_have_the_heat_of_the_whole(
            times in proptest::collection::vec((0_u64..100 * SECOND, 0_u8..2), 1..40)
        ) {
            let mut times = times;
            times.sort_unstable();
            let mut whole = HeatStatistics::default();
            let mut halves = [HeatStatistics::default(); 2];
            for (at_ns, half) in &times {
                whole.access(access(*at_ns, *half == 1, 1), 7 * SECOND);
                halves[usize::from(*half)].access(access(*at_ns, *half == 1, 1), 7 * SECOND);
            }
            let [mut merged, other] = halves;
            merged.merge(&other, 7 * SECOND);
            let at = 100 * SECOND;
            let expected = whole.temperature(at, 7 * SECOND);
            let actual = merged.temperature(at, 7 * SECOND);
            let tolerance = 1e-9 * expected.max(1.0);
            prop_assert!((expected - actual).abs() < tolerance, "{expected} {actual}");
            prop_assert!(expected <= times.len() as f64);
            prop_assert!((whole.first_ns, whole.last_ns) == (merged.first_ns, merged.last_ns));
            prop_assert!((whole.reads, whole.writes) == (merged.reads, merged.writes));
        }

        #[test]
        fn concentration_curves_are_increasing_and_concave(
            parts in proptest::collection::vec((0_u64..1000, 0_u64..1000), 0..60),
            points in 1_usize..20
        ) {
            let curve = concentration(&parts, points);
            prop_assert!(curve.len() <= points + 1);
            for pair in curve.windows(2) {
                prop_assert!(pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
            }
            for point in &curve {
                prop_assert!(point.1 >= point.0 - 1e-9, "never below the diagonal: {curve:?}");
            }
            if let Some(last) = curve.last() {
                prop_assert!((last.0 - 1.0).abs() < 1e-9 && (last.1 - 1.0).abs() < 1e-9);
            }
        }
    }
}
