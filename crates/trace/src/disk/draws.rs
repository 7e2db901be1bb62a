//! Draws from the uncertainty of a disk: a Latin hypercube, the same for every disk and every run,
//! so that two traces meet the same disks.

/// Number of draws: nine in ten further ones lie between the extremes of 20.
pub(super) const DRAWS: usize = 20;
/// Number of numbers of a disk that are drawn.
const NUMBERS: usize = 8;

/// Draws of numbers between 0 and 1: each number has one draw in each of as many equal strata as
/// there are draws.
#[derive(Debug)]
pub(super) struct UniformDraws {
    /// A permutation of the strata for each number.
    strata: [Vec<usize>; NUMBERS],
    drawn: usize,
    state: u64,
}

impl UniformDraws {
    pub(super) fn new() -> Self {
        let mut draws = Self { strata: Default::default(), drawn: 0, state: 7 };
        for number in 0..NUMBERS {
            let mut order: Vec<usize> = (0..DRAWS).collect();
            for last in (1..DRAWS).rev() {
                order.swap(last, draws.below(last + 1));
            }
            draws.strata[number] = order;
        }
        draws
    }

    /// SplitMix64.
    fn mixed(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    #[expect(clippy::cast_possible_truncation, reason = "below a small limit")]
    fn below(&mut self, limit: usize) -> usize {
        (self.mixed() % limit as u64) as usize
    }

    /// The numbers of the next draw.
    pub(super) fn next_numbers(&mut self) -> [f64; NUMBERS] {
        let draw = self.drawn % DRAWS;
        self.drawn += 1;
        std::array::from_fn(|number| {
            let within = (self.mixed() >> 11) as f64 / (1u64 << 53) as f64;
            (self.strata[number][draw] as f64 + within) / DRAWS as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{DRAWS, UniformDraws};

    #[test]
    fn each_number_is_drawn_once_in_each_stratum() {
        let mut draws = UniformDraws::new();
        let all: Vec<_> = (0..DRAWS).map(|_| draws.next_numbers()).collect();
        for number in 0..super::NUMBERS {
            let mut values: Vec<f64> = all.iter().map(|draw| draw[number]).collect();
            values.sort_by(f64::total_cmp);
            for (stratum, value) in values.iter().enumerate() {
                let (least, most) = (stratum as f64 / 20.0, (stratum + 1) as f64 / 20.0);
                assert!((least..most).contains(value), "{number}: {values:?}");
            }
        }
        let mut again = UniformDraws::new();
        assert_eq!(again.next_numbers(), all[0], "the same in every run");
    }
}
