//! Simulated histories of counts.

use crate::noise::RandomSource;

/// Shape of the counts around their mean.
#[derive(Clone, Copy)]
pub(crate) enum CountShape {
    /// Independent events.
    Poisson,
    /// Negative binomial, with this ratio of variance and mean.
    Overdispersed(f64),
    /// Zero or a burst of 10 to 50 with this probability, beside Poisson counts.
    Bursts(f64),
    /// Bursts that last three points and begin at one point in twelve.
    Runs,
}

impl CountShape {
    /// All shapes of the tables.
    pub(crate) const ALL: [Self; 7] = [
        Self::Poisson,
        Self::Overdispersed(2.0),
        Self::Overdispersed(5.0),
        Self::Overdispersed(20.0),
        Self::Bursts(0.1),
        Self::Bursts(0.25),
        Self::Runs,
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Poisson => "Poisson".to_owned(),
            Self::Overdispersed(ratio) => {
                format!("negative binomial, variance {ratio:.0} times the mean")
            }
            Self::Bursts(share) => {
                format!("Poisson, and 10 to 50 more at {:.0} % of the points", share * 100.0)
            }
            Self::Runs => {
                "Poisson, and 10 to 50 more at three points in a row, at times".to_owned()
            }
        }
    }
}

/// A history of counts, with at most one change of its mean.
#[derive(Clone, Copy)]
pub(crate) struct CountCase {
    pub(crate) points: usize,
    pub(crate) mean: f64,
    /// Mean from point `from` on.
    pub(crate) after: f64,
    pub(crate) from: usize,
    pub(crate) shape: CountShape,
}

impl CountCase {
    /// A history without a change.
    pub(crate) fn quiet(points: usize, mean: f64, shape: CountShape) -> Self {
        Self { points, mean, after: mean, from: points, shape }
    }

    /// Counts in time order.
    pub(crate) fn draw(&self, seed: u64) -> Vec<f64> {
        let mut source = CountSource(RandomSource::seeded(seed));
        let mut left = 0;
        (0..self.points)
            .map(|at| {
                let mean = if at < self.from { self.mean } else { self.after };
                match self.shape {
                    CountShape::Poisson => source.poisson(mean),
                    CountShape::Overdispersed(ratio) => {
                        let shape = mean / (ratio - 1.0);
                        let rate = source.gamma(shape) * (ratio - 1.0);
                        source.poisson(rate)
                    }
                    CountShape::Bursts(share) => {
                        let burst = source.uniform() < share;
                        let height =
                            if burst { 10.0 + (41.0 * source.uniform()).floor() } else { 0.0 };
                        source.poisson(mean) + height
                    }
                    CountShape::Runs => {
                        if left == 0 && source.uniform() < 1.0 / 12.0 {
                            left = 3;
                        }
                        let is_burst = left > 0;
                        left -= usize::from(is_burst);
                        let height =
                            if is_burst { 10.0 + (41.0 * source.uniform()).floor() } else { 0.0 };
                        source.poisson(mean) + height
                    }
                }
            })
            .collect()
    }
}

/// Random numbers of the distributions of counts.
struct CountSource(RandomSource);

impl CountSource {
    fn uniform(&mut self) -> f64 {
        self.0.unit()
    }

    /// Poisson by multiplication of uniform numbers, in pieces so that no product is too small.
    fn poisson(&mut self, mean: f64) -> f64 {
        let (mut left, mut count) = (mean, 0.0);
        while left > 0.0 {
            let part = left.min(30.0);
            let limit = (-part).exp();
            let mut product = self.uniform();
            while product > limit {
                count += 1.0;
                product *= self.uniform();
            }
            left -= part;
        }
        count
    }

    /// Gamma with scale 1 (Marsaglia & Tsang, ACM Transactions on Mathematical Software 26, 2000).
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let lifted = self.gamma(shape + 1.0);
            return lifted * (1.0 - self.uniform()).powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.0.normal();
            let v = (1.0 + c * x).powi(3);
            let u = 1.0 - self.uniform();
            if v > 0.0 && u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }
}
