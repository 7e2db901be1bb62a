//! Data written by mdtest and ior: words that encode the rank, the position and the item.

/// Content of written data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketType {
    /// Words of the rank, the word's number, and a seed: the same in every file.
    #[default]
    Timestamp,
    /// Like `Timestamp`, but the first word of each 4096 bytes is the number of the item.
    Offset,
    /// Repeated word, which the original calls incompressible; the first word of each 4096 bytes is
    /// as in `Offset`.
    Incompressible,
    /// Random sequence seeded by the item.
    Random,
}

impl PacketType {
    /// Parses the first letter of the name, as the original does.
    pub fn from_text(text: &str) -> Option<Self> {
        Some(match text.chars().next()? {
            't' => Self::Timestamp,
            'o' => Self::Offset,
            'i' => Self::Incompressible,
            'r' => Self::Random,
            _ => return None,
        })
    }

    /// Number of the type in the original.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// Data of a rank.
#[derive(Clone, Copy, Debug)]
pub struct PacketPattern {
    /// Content of the data.
    pub packet: PacketType,
    /// Seed common to all ranks.
    pub seed: u32,
    /// Number of the rank.
    pub rank: u32,
}

/// Number of words between two that encode the item.
const WORDS_A_BLOCK: usize = 512;
/// Factor by which each word of a random sequence is multiplied.
const RANDOM_FACTOR: u64 = 0x9e37_ffff_fffc_0001;

impl PacketPattern {
    /// Fills a buffer before the first file.
    pub fn fill(&self, buffer: &mut [u8]) {
        let constant = self.constant();
        let high = u64::from(self.rank) << 32;
        // The original adds to an int, which is extended with its sign.
        let seed = i64::from(self.seed.cast_signed()).cast_unsigned();
        let (words, tail) = buffer.as_chunks_mut::<8>();
        let bytes = words.len() * 8;
        for (number, word) in words.iter_mut().enumerate() {
            let value = match self.packet {
                PacketType::Random => continue,
                PacketType::Incompressible => constant,
                PacketType::Offset | PacketType::Timestamp => {
                    high | seed.wrapping_add(number as u64)
                }
            };
            *word = value.to_ne_bytes();
        }
        for (number, byte) in tail.iter_mut().enumerate() {
            *byte = low_byte(bytes + number);
        }
    }

    /// Updates the words that differ from file to file.
    pub fn update(&self, item: u64, buffer: &mut [u8]) {
        let (words, _rest) = buffer.as_chunks_mut::<8>();
        match self.packet {
            PacketType::Timestamp => {}
            PacketType::Random => {
                let seed = self.seed.wrapping_add(self.rank).wrapping_add(low_word(item));
                let mut state = u64::from(rand_r(&mut { seed }));
                for word in words {
                    state = state.wrapping_mul(RANDOM_FACTOR) >> 3;
                    *word = state.to_ne_bytes();
                }
            }
            PacketType::Offset | PacketType::Incompressible => {
                let blocks = words.iter_mut().step_by(WORDS_A_BLOCK);
                for (times, word) in (1_u32..).zip(blocks) {
                    let low = low_word(item).wrapping_mul(times);
                    *word = (u64::from(low) | u64::from(self.rank) << 32).to_ne_bytes();
                }
            }
        }
    }

    /// Word that fills an incompressible buffer.
    fn constant(&self) -> u64 {
        let mut seed = self.seed.wrapping_add(self.rank);
        let high = u64::from(rand_r(&mut seed)) << 32;
        high | u64::from(rand_r(&mut seed))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is written")]
const fn low_word(number: u64) -> u32 {
    number as u32
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is written")]
const fn low_byte(number: usize) -> u8 {
    number as u8
}

/// Reimplements `rand_r` of the GNU C library.
fn rand_r(seed: &mut u32) -> u32 {
    let mut next = |modulus: u32| {
        *seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        *seed / 65_536 % modulus
    };
    let mut result = next(2048);
    for _ in 0..2 {
        result = (result << 10) ^ next(1024);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{PacketPattern, PacketType, rand_r};

    fn words(packet: PacketType, item: u64, bytes: usize) -> (Vec<u64>, Vec<u8>) {
        let mut buffer = vec![0; bytes];
        let pattern = PacketPattern { packet, seed: 100, rank: 3 };
        pattern.fill(&mut buffer);
        pattern.update(item, &mut buffer);
        let (words, tail) = buffer.as_chunks::<8>();
        (words.iter().map(|word| u64::from_ne_bytes(*word)).collect(), tail.to_vec())
    }

    #[test]
    fn rand_r_equals_that_of_the_c_library() {
        // srand-free values of glibc for seed 1.
        let mut seed = 1;
        let drawn: Vec<u32> = (0..3).map(|_| rand_r(&mut seed)).collect();
        assert_eq!(drawn, [476_707_713, 1_186_278_907, 505_671_508]);
    }

    #[test]
    fn packet_words_encode_rank_position_and_item() {
        let (timestamp, tail) = words(PacketType::Timestamp, 7, 27);
        assert_eq!(timestamp, [(3 << 32) + 100, (3 << 32) + 101, (3 << 32) + 102]);
        assert_eq!(tail, [24, 25, 26]);
        let (offset, _) = words(PacketType::Offset, 7, 3 * 4096);
        assert_eq!((offset[0], offset[1]), ((3 << 32) + 7, (3 << 32) + 101));
        assert_eq!((offset[512], offset[1024]), ((3 << 32) + 14, (3 << 32) + 21));
        let (same, _) = words(PacketType::Incompressible, 7, 64);
        assert_eq!((same[0], same[1]), ((3 << 32) + 7, same[7]));
        let (random, _) = words(PacketType::Random, 7, 64);
        let (other, _) = words(PacketType::Random, 8, 64);
        assert_ne!(random, other);
    }
}
