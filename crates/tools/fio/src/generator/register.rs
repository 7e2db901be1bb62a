//! Random offsets without repetition by a linear feedback shift register: `random_generator=lfsr`.
//!
//! The taps are those of published tables of maximal-length registers; the fixed point is the state
//! of all ones.

/// Minimum number of bits of a register.
const BITS_MIN: u32 = 3;

/// Taps by the number of bits, from three on; bits are numbered from 1.
#[rustfmt::skip]
const TAPS: [&[u32]; 61] = [
    &[3, 2],
    &[4, 3],
    &[5, 3],
    &[6, 5],
    &[7, 6],
    &[8, 6, 5, 4],
    &[9, 5],
    &[10, 7],
    &[11, 9],
    &[12, 6, 4, 1],
    &[13, 4, 3, 1],
    &[14, 5, 3, 1],
    &[15, 14],
    &[16, 15, 13, 4],
    &[17, 14],
    &[18, 11],
    &[19, 6, 2, 1],
    &[20, 17],
    &[21, 19],
    &[22, 21],
    &[23, 18],
    &[24, 23, 22, 17],
    &[25, 22],
    &[26, 6, 2, 1],
    &[27, 5, 2, 1],
    &[28, 25],
    &[29, 27],
    &[30, 6, 4, 1],
    &[31, 28],
    &[32, 31, 29, 1],
    &[33, 20],
    &[34, 27, 2, 1],
    &[35, 33],
    &[36, 25],
    &[37, 5, 4, 3, 2, 1],
    &[38, 6, 5, 1],
    &[39, 35],
    &[40, 38, 21, 19],
    &[41, 38],
    &[42, 41, 20, 19],
    &[43, 42, 38, 37],
    &[44, 43, 18, 17],
    &[45, 44, 42, 41],
    &[46, 45, 26, 25],
    &[47, 42],
    &[48, 47, 21, 20],
    &[49, 40],
    &[50, 49, 24, 23],
    &[51, 50, 36, 35],
    &[52, 49],
    &[53, 52, 38, 37],
    &[54, 53, 18, 17],
    &[55, 31],
    &[56, 55, 35, 34],
    &[57, 50],
    &[58, 39],
    &[59, 58, 38, 37],
    &[60, 59],
    &[61, 60, 46, 45],
    &[62, 61, 6, 5],
    &[63, 62],
];

/// Shift register over the blocks of a file.
#[derive(Clone, Debug)]
pub(super) struct ShiftRegister {
    blocks: u64,
    mask: u64,
    top: u64,
    seed: u64,
    value: u64,
    drawn: u64,
}

impl ShiftRegister {
    /// Creates a register; `None` for too many blocks, or a seed that is the fixed point.
    pub(super) fn new(blocks: u64, seed: u64) -> Option<Self> {
        let bits = (BITS_MIN..64).find(|bits| 1_u64 << bits > blocks)?;
        let taps = TAPS.get(usize::try_from(bits - BITS_MIN).ok()?)?;
        let mask = taps.iter().fold(0, |mask, tap| mask | 1_u64 << (tap - 1));
        let top = 1_u64 << (bits - 1);
        let ones = (top << 1).wrapping_sub(1);
        let seed = seed & ones;
        (seed != ones && blocks > 0).then_some(Self {
            blocks,
            mask,
            top,
            seed,
            value: seed,
            drawn: 0,
        })
    }

    /// Draws the next block; `None` after all were drawn.
    pub(super) fn next(&mut self) -> Option<u64> {
        self.drawn += 1;
        if self.drawn > self.blocks {
            return None;
        }
        loop {
            let feedback = if self.value & 1 == 0 { self.mask } else { 0 };
            self.value = ((self.value >> 1) | self.top) ^ feedback;
            if self.value < self.blocks {
                return Some(self.value);
            }
        }
    }

    /// Starts over.
    pub(super) fn reset(&mut self) {
        (self.value, self.drawn) = (self.seed, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::ShiftRegister;

    #[test]
    fn lfsr_draws_every_block_once() {
        for blocks in [1, 7, 8, 256, 1000, 65_537] {
            let mut register = ShiftRegister::new(blocks, 0xb189_9bed).unwrap();
            let mut drawn: Vec<u64> = std::iter::from_fn(|| register.next()).collect();
            drawn.sort_unstable();
            assert_eq!(drawn, (0..blocks).collect::<Vec<u64>>(), "{blocks}");
        }
        assert!(ShiftRegister::new(256, u64::MAX).is_none());
    }
}
