//! Mersenne Twister MT19937 of Matsumoto and Nishimura, seeded as in their version of 1999.
//! PostMark uses it since 1.5, so the same seed gives the same operations.

/// Number of words in the state.
const WORDS: usize = 624;
/// Distance to the word that is mixed into another.
const OFFSET: usize = 397;
const MATRIX: u32 = 0x9908_b0df;
const UPPER: u32 = 0x8000_0000;

/// State of the generator.
#[derive(Clone, Debug)]
pub(super) struct MersenneTwister {
    state: Vec<u32>,
    at: usize,
}

impl MersenneTwister {
    /// Creates the generator of a seed.
    pub(super) fn new(seed: u32) -> Self {
        let mut next = seed;
        let mut half = || {
            let upper = next >> 16;
            next = next.wrapping_mul(69_069).wrapping_add(1);
            upper
        };
        let state = (0..WORDS).map(|_| half() << 16 | half()).collect();
        Self { state, at: WORDS }
    }

    fn bits(&mut self) -> u32 {
        if self.at == WORDS {
            self.renew();
        }
        let mut bits = self.state[self.at];
        self.at += 1;
        bits ^= bits >> 11;
        bits ^= bits << 7 & 0x9d2c_5680;
        bits ^= bits << 15 & 0xefc6_0000;
        bits ^ bits >> 18
    }

    fn renew(&mut self) {
        for word in 0..WORDS {
            let joined = self.state[word] & UPPER | self.state[(word + 1) % WORDS] & !UPPER;
            let odd = if joined & 1 == 1 { MATRIX } else { 0 };
            self.state[word] = self.state[(word + OFFSET) % WORDS] ^ joined >> 1 ^ odd;
        }
        self.at = 0;
    }

    /// Draws a number below a bound. A bound of 0 gives 0 and draws nothing.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        if bound == 0 { 0 } else { self.bits() % bound }
    }
}
