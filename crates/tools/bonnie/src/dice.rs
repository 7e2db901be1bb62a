//! Random numbers by index, so that no list of them is kept.

use std::sync::Arc;

use treering_script::Random;

/// Distance of two states of splitmix64 (Steele, Lea and Flood).
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Source of random numbers.
#[derive(Clone, Debug)]
pub(super) enum RandomSource {
    /// Generator seeded with this number.
    Seed(u64),
    /// Numbers from a file, repeated from the beginning when they are used up.
    List(Arc<[u32]>),
}

impl RandomSource {
    /// Random numbers for one part of the run: names, sizes, seeks.
    pub(super) fn dice(&self, part: &str) -> RandomList {
        match self {
            Self::Seed(seed) => {
                RandomList { key: Random::for_part(*seed, part).bits(), list: None }
            }
            Self::List(list) => RandomList { key: 0, list: Some(Arc::clone(list)) },
        }
    }
}

/// Random numbers of 31 bits, accessed by index.
#[derive(Clone, Debug)]
pub(super) struct RandomList {
    key: u64,
    list: Option<Arc<[u32]>>,
}

impl RandomList {
    /// Number at an index.
    #[inline]
    pub(super) fn at(&self, place: u64) -> u32 {
        if let Some(list) = &self.list {
            let index = usize::try_from(place % (list.len() as u64).max(1)).unwrap_or(0);
            return list.get(index).copied().unwrap_or(0) & 0x7fff_ffff;
        }
        let mut z = self.key.wrapping_add(place.wrapping_mul(STRIDE));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((z ^ (z >> 31)) >> 33).unwrap_or(0)
    }

    /// Number below a bound, or 0 for bound 0; slightly biased, as in the original.
    #[inline]
    pub(super) fn below(&self, place: u64, bound: u64) -> u64 {
        u64::from(self.at(place)).checked_rem(bound).unwrap_or(0)
    }
}

/// Shuffles numbers as the original does: each is swapped with any other.
pub(super) fn shuffle(items: &mut [u32], dice: &RandomList) {
    let length = items.len();
    for place in 0..length {
        let other = dice.below(place as u64, length as u64);
        items.swap(place, usize::try_from(other).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::{RandomSource, shuffle};

    #[test]
    fn numbers_depend_only_on_seed_and_position() {
        let dice = RandomSource::Seed(7).dice("names");
        let numbers: Vec<u32> = (0..5).map(|place| dice.at(place)).collect();
        assert_eq!(numbers, (0..5).map(|place| dice.at(place)).collect::<Vec<_>>());
        assert!(numbers.iter().all(|number| *number < 1 << 31));
        assert_ne!(numbers[0], RandomSource::Seed(7).dice("sizes").at(0));
        assert_ne!(numbers[0], RandomSource::Seed(8).dice("names").at(0));
        assert_eq!(dice.below(3, 0), 0);
    }

    #[test]
    fn numbers_are_spread_over_their_range() {
        let dice = RandomSource::Seed(1).dice("seeks");
        let mut seen = [0u32; 8];
        for place in 0..8000 {
            seen[usize::try_from(dice.below(place, 8)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
    }

    #[test]
    fn exhausted_list_restarts_from_its_beginning() {
        let dice = RandomSource::List([5, u32::MAX, 9].into()).dice("anything");
        let numbers: Vec<u32> = (0..4).map(|place| dice.at(place)).collect();
        assert_eq!(numbers, [5, 0x7fff_ffff, 9, 5]);
        assert_eq!(RandomSource::List([].into()).dice("anything").at(3), 0);
    }

    #[test]
    fn a_shuffle_keeps_every_number() {
        let mut items: Vec<u32> = (0..100).collect();
        shuffle(&mut items, &RandomSource::Seed(3).dice("order"));
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
