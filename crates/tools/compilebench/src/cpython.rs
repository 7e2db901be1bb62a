//! Random numbers and dictionary order of CPython 2, which determine the classic sequence.
//!
//! compilebench 0.6 draws from `random` seeded with 555 and picks from the keys of a dictionary.
//! Both are reproduced here exactly (MT19937 with `init_by_array`; open addressing with dummies),
//! so that a run does what every published run did. Source: compilebench's behaviour under CPython
//! 2.7; checked against the published operation sequences.

use rand_mt::Mt;

/// `random.Random` of CPython 2, seeded with an integer.
#[derive(Clone, Debug)]
pub(super) struct PythonRandom {
    generator: Mt,
}

impl PythonRandom {
    /// Seeds like `random.seed(seed)`: the key is the seed in words of 32 bits, lowest first.
    pub(super) fn new(seed: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the two halves are meant")]
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let key = if high == 0 { vec![low] } else { vec![low, high] };
        Self { generator: Mt::new_with_key(key) }
    }

    /// Draws like `random()`: a float in [0, 1) with 53 random bits from two outputs.
    pub(super) fn random(&mut self) -> f64 {
        let high = f64::from(self.generator.next_u32() >> 5);
        let low = f64::from(self.generator.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// Draws the index that `choice` takes from a sequence of this length: `int(random() *
    /// length)`.
    pub(super) fn choice(&mut self, length: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the product lies in [0, length)"
        )]
        let index = (self.random() * length as f64) as usize;
        index
    }

    /// Draws like `randint(low, high)`, both ends included.
    pub(super) fn randint(&mut self, low: u32, high: u32) -> u32 {
        let span = usize::try_from(high - low + 1).expect("32 bits fit");
        low + u32::try_from(self.choice(span)).expect("below the span")
    }

    /// Skips the draws of a shuffle of this many items: one less than the items.
    pub(super) fn skip_shuffle(&mut self, items: usize) {
        for _ in 1..items {
            self.random();
        }
    }
}

/// Hash of a byte string in CPython 2 on a 64-bit machine, without randomisation.
fn string_hash(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let Some(&first) = bytes.first() else { return 0 };
    let mixed = bytes
        .iter()
        .fold(u64::from(first) << 7, |hash, &byte| hash.wrapping_mul(1_000_003) ^ u64::from(byte));
    let hash = mixed ^ bytes.len() as u64;
    if hash == u64::MAX { u64::MAX - 1 } else { hash }
}

#[derive(Clone, Debug, Default)]
enum DictSlot {
    #[default]
    Unused,
    Dummy,
    Live(u64, String),
}

/// Keys of a CPython 2 dictionary in its iteration order.
#[derive(Clone, Debug)]
pub(super) struct PythonDict {
    slots: Vec<DictSlot>,
    /// Number of live slots.
    used: usize,
    /// Number of live and dummy slots.
    fill: usize,
}

impl Default for PythonDict {
    fn default() -> Self {
        Self { slots: vec![DictSlot::Unused; 8], used: 0, fill: 0 }
    }
}

impl PythonDict {
    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// True without keys.
    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Keys in iteration order, which is that of the slots.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().filter_map(|slot| match slot {
            DictSlot::Live(_, key) => Some(key.as_str()),
            DictSlot::Unused | DictSlot::Dummy => None,
        })
    }

    /// Adds a key.
    pub(super) fn insert(&mut self, key: &str) {
        let hash = string_hash(key);
        let place = self.place_of(hash, key);
        let before =
            std::mem::replace(&mut self.slots[place], DictSlot::Live(hash, key.to_owned()));
        match before {
            DictSlot::Live(..) => return,
            DictSlot::Unused => self.fill += 1,
            DictSlot::Dummy => {}
        }
        self.used += 1;
        if self.fill * 3 >= self.slots.len() * 2 {
            self.resize();
        }
    }

    /// Removes a key, leaving a dummy in its slot.
    pub(super) fn remove(&mut self, key: &str) {
        let place = self.place_of(string_hash(key), key);
        if matches!(self.slots[place], DictSlot::Live(..)) {
            self.slots[place] = DictSlot::Dummy;
            self.used -= 1;
        }
    }

    /// Slot of the key, else the slot that would receive it: the first dummy on the way, or the
    /// unused slot at its end.
    fn place_of(&self, hash: u64, key: &str) -> usize {
        let mut first_dummy = None;
        for place in probes(hash, self.slots.len()) {
            match &self.slots[place] {
                DictSlot::Unused => return first_dummy.unwrap_or(place),
                DictSlot::Dummy => first_dummy = first_dummy.or(Some(place)),
                DictSlot::Live(other, name) if *other == hash && name == key => return place,
                DictSlot::Live(..) => {}
            }
        }
        unreachable!("probing ends at an unused slot: a third of the table is always unused")
    }

    /// Moves all keys to a larger table without dummies.
    fn resize(&mut self) {
        let wanted = if self.used > 50_000 { self.used * 2 } else { self.used * 4 };
        let mut size = 8;
        while size <= wanted {
            size *= 2;
        }
        let old = std::mem::replace(&mut self.slots, vec![DictSlot::Unused; size]);
        self.fill = self.used;
        for slot in old {
            if let DictSlot::Live(hash, _) = &slot {
                let free = probes(*hash, size)
                    .find(|&place| matches!(self.slots[place], DictSlot::Unused))
                    .expect("the new table is larger than what goes into it");
                self.slots[free] = slot;
            }
        }
    }
}

/// Endless sequence of slots that a key tries in a table of `size` slots.
fn probes(hash: u64, size: usize) -> impl Iterator<Item = usize> {
    let mask = size as u64 - 1;
    let mut position = hash;
    let mut perturb = hash;
    std::iter::once(slot_index(hash & mask)).chain(std::iter::repeat_with(move || {
        position = position.wrapping_mul(5).wrapping_add(perturb).wrapping_add(1);
        perturb >>= 5;
        slot_index(position & mask)
    }))
}

fn slot_index(masked: u64) -> usize {
    usize::try_from(masked).expect("below the table's length")
}

#[cfg(test)]
mod tests {
    use super::{PythonDict, PythonRandom, string_hash};

    #[test]
    fn random_numbers_are_those_of_cpython() {
        let mut random = PythonRandom::new(555);
        let first: Vec<f64> = (0..4).map(|_| random.random()).collect();
        assert_eq!(
            first,
            [
                0.193_345_250_744_707_76,
                0.161_055_878_759_732_7,
                0.561_222_543_632_600_6,
                0.919_832_282_564_118_4
            ]
        );
        let mut random = PythonRandom::new(555);
        random.skip_shuffle(3263);
        let next: Vec<f64> = (0..4).map(|_| random.random()).collect();
        assert_eq!(
            next,
            [
                0.023_606_820_467_250_71,
                0.561_057_867_227_321_4,
                0.574_529_404_796_312_1,
                0.281_039_584_312_386_5
            ]
        );
    }

    #[test]
    fn hashes_and_order_are_those_of_cpython() {
        assert_eq!(string_hash("kernel-0"), 4_544_983_706_808_241_744);
        assert_eq!(string_hash(""), 0);
        let mut dict = PythonDict::default();
        for number in 0..30 {
            dict.insert(&format!("kernel-{number}"));
        }
        let order: Vec<u32> =
            dict.keys().map(|key| key["kernel-".len()..].parse().unwrap()).collect();
        assert_eq!(
            order,
            [
                27, 26, 25, 24, 23, 22, 21, 20, 29, 28, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 10,
                11, 16, 17, 14, 15, 18, 19
            ]
        );
    }

    #[test]
    fn removed_keys_leave_dummies_and_can_come_back() {
        let mut dict = PythonDict::default();
        for number in 0..1000 {
            dict.insert(&format!("kernel-{number}"));
            if number % 3 == 0 {
                dict.remove(&format!("kernel-{}", number / 2));
                dict.remove("never there");
            }
        }
        assert_eq!(dict.len(), dict.keys().count());
        let key = dict.keys().next().unwrap().to_owned();
        dict.insert(&key);
        assert_eq!(dict.len(), dict.keys().count());
        assert!(!dict.is_empty());
    }
}
