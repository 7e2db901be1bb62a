//! Noise with known truth: the series and rounds that the simulations draw.
//!
//! Not here: the methods applied to them (`main.rs`). The draws are seeded, so that tables repeat.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::function::erf::erf;

/// The kinds of noise, each with standard deviation 1 before outliers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    Normal,
    Skewed,
    Outliers,
    /// Values of one series are autocorrelated.
    Serial,
    /// Both runs of a round share a drift.
    SharedDrift,
    /// The noise of the machine is autocorrelated; rounds are interleaved in random order, as
    /// treering runs them.
    SerialInterleaved,
    /// The noise of the machine is autocorrelated; all runs of one side precede all runs of the
    /// other.
    SerialBlocks,
}

impl Noise {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Skewed => "skewed (exponential)",
            Self::Outliers => "10 % outliers of +6 sigma",
            Self::Serial => "each variant has a memory of its own, AR(1) phi .5",
            Self::SharedDrift => "shared by the round, AR(1) phi .9 of 3 sigma",
            Self::SerialInterleaved => {
                "machine with memory, AR(1) phi .5; random order in each round"
            }
            Self::SerialBlocks => "machine with memory, AR(1) phi .5; all of A, then all of B",
        }
    }

    pub(crate) fn series(self, n: usize, source: &mut RandomSource) -> Vec<f64> {
        match self {
            Self::Normal | Self::SharedDrift | Self::SerialInterleaved | Self::SerialBlocks => {
                (0..n).map(|_| source.normal()).collect()
            }
            Self::Skewed => (0..n).map(|_| source.exponential()).collect(),
            Self::Outliers => (0..n)
                .map(|_| source.normal() + if source.unit() < 0.1 { 6.0 } else { 0.0 })
                .collect(),
            Self::Serial => source.autoregressive(n, 0.5),
        }
    }

    /// True mean and pseudomedian of a series with this noise, the targets of the t interval and
    /// the signed-rank interval.
    pub(crate) fn true_locations(self) -> (f64, f64) {
        match self {
            // The median of the mean of two exponentials: (1 + 2m) e^(-2m) = 1/2.
            Self::Skewed => (1.0, bisect(|m| 1.0 - (1.0 + 2.0 * m) * (-2.0 * m).exp())),
            // The mean of two values: normal with variance 1/2 around 0, 3 or 6.
            Self::Outliers => (
                0.6,
                bisect(|m| {
                    let cumulative = |centre: f64| 0.5 + 0.5 * erf(m - centre);
                    0.81 * cumulative(0.0) + 0.18 * cumulative(3.0) + 0.01 * cumulative(6.0)
                }),
            ),
            _ => (0.0, 0.0),
        }
    }
}

/// Median of a distribution between 0 and 10, from its cumulative distribution function.
fn bisect(cumulative: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if cumulative(middle) < 0.5 { low = middle } else { high = middle }
    }
    low
}

/// Seeded random numbers.
pub(crate) struct RandomSource(Xoshiro256PlusPlus);

impl RandomSource {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform number in (0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let angle = std::f64::consts::TAU * self.unit();
        (-2.0 * self.unit().ln()).sqrt() * angle.cos()
    }

    /// Exponential random number with mean 1 and standard deviation 1.
    fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// AR(1) with standard deviation 1, in its steady state from the first value on.
    pub(crate) fn autoregressive(&mut self, n: usize, phi: f64) -> Vec<f64> {
        let mut value = self.normal();
        (0..n)
            .map(|_| {
                let now = value;
                value = phi * value + (1.0 - phi * phi).sqrt() * self.normal();
                now
            })
            .collect()
    }

    /// Draws the noise of `n` runs of each of two sides.
    fn sides(&mut self, n: usize, noise: Noise) -> Vec<Vec<f64>> {
        match noise {
            Noise::SerialInterleaved => {
                let time = self.autoregressive(2 * n, 0.5);
                let (mut first_side, mut second_side) = (Vec::new(), Vec::new());
                for round in time.chunks_exact(2) {
                    let first = usize::from(self.unit() < 0.5);
                    first_side.push(round[first]);
                    second_side.push(round[1 - first]);
                }
                vec![first_side, second_side]
            }
            Noise::SerialBlocks => {
                let mut first_side = self.autoregressive(2 * n, 0.5);
                let second_side = first_side.split_off(n);
                vec![first_side, second_side]
            }
            _ => (0..2).map(|_| noise.series(n, self)).collect(),
        }
    }

    /// Draws values of the rounds of two variants with equal noise; the second is slower by
    /// `factor`. `variation` is the coefficient of variation of a single run.
    pub(crate) fn rounds(
        &mut self,
        n: usize,
        noise: Noise,
        variation: f64,
        factor: f64,
    ) -> [Vec<f64>; 2] {
        let shared = match noise {
            Noise::SharedDrift => self.autoregressive(n, 0.9),
            _ => vec![0.0; n],
        };
        let mut sides = self.sides(n, noise);
        [1.0, factor].map(|level| {
            let own = sides.pop().unwrap_or_default();
            let logs =
                own.iter().zip(&shared).map(|(own, shared)| (own + 3.0 * shared) * variation);
            logs.map(|log| 100.0 * level * log.exp()).collect()
        })
    }
}
