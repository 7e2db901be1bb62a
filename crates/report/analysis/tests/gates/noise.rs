//! Seeded noise.

/// Generator of random numbers: SplitMix64.
pub(crate) struct SeededNoise(pub(crate) u64);

impl SeededNoise {
    /// A number between 0 and 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + 1e-18
    }

    /// A number with mean 0 and standard deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Autocorrelated noise: an autoregressive series of standard deviation 1.
pub(crate) struct Memory {
    memory: f64,
    last: f64,
}

impl Memory {
    /// A series whose neighbours are correlated by `memory`.
    pub(crate) fn new(memory: f64, noise: &mut SeededNoise) -> Self {
        Self { memory, last: noise.normal() }
    }

    /// Draws the next number of the series.
    pub(crate) fn next(&mut self, noise: &mut SeededNoise) -> f64 {
        let fresh = (1.0 - self.memory * self.memory).sqrt() * noise.normal();
        self.last = self.memory * self.last + fresh;
        self.last
    }
}
