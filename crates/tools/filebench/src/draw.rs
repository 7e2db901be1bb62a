//! Amounts of attributes: fixed numbers, and random ones with a distribution from the file.

use std::sync::Arc;

use treering_script::Random;

/// Number of ranges of a table, one for each percent.
const SLOTS: usize = 100;
/// Shift that leaves the 53 bits of a double's mantissa.
const UNIT_SHIFT: u32 = 11;
/// Maximum number of rejected draws of a gamma or normal distribution; practically never reached.
const TRIES_MAX: u32 = 10_000;

/// Amount of an attribute.
#[derive(Clone, Debug)]
pub(super) enum AttributeAmount {
    Fixed(u64),
    Drawn(Arc<ClampedDistribution>),
}

impl AttributeAmount {
    /// Draws the next value as an integer; negative values become 0.
    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Fixed(number) => *number,
            Self::Drawn(distribution) => whole(distribution.draw(random)),
        }
    }

    /// Draws the next value.
    pub(super) fn draw_real(&self, random: &mut Random) -> f64 {
        match self {
            Self::Fixed(number) => *number as f64,
            Self::Drawn(distribution) => distribution.draw(random),
        }
    }

    /// Approximate mean of the value.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Fixed(number) => *number as f64,
            Self::Drawn(distribution) => distribution.mean(),
        }
    }

    /// Value of a fixed amount; `None` for a random one.
    pub(super) const fn fixed(&self) -> Option<u64> {
        match self {
            Self::Fixed(number) => Some(*number),
            Self::Drawn(_) => None,
        }
    }
}

/// Truncates to an integer; NaN and negative numbers become 0.
pub(super) fn whole(number: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let whole = number as u64;
    whole
}

/// Distribution, clamped and rounded.
#[derive(Clone, Debug)]
pub(super) struct ClampedDistribution {
    pub(super) kind: DistributionKind,
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
    /// Unit to which values are rounded; 0 for none.
    pub(super) round: f64,
}

/// Kind of distribution.
#[derive(Clone, Debug)]
pub(super) enum DistributionKind {
    /// Uniform distribution in this interval.
    Uniform {
        from: f64,
        to: f64,
    },
    /// Gamma distribution of this shape and mean, shifted by `from`.
    Gamma {
        from: f64,
        mean: f64,
        shape: f64,
    },
    /// Table of a hundred equally likely ranges.
    Table(Box<[(f64, f64); SLOTS]>),
    Erlang {
        shape: f64,
        mean: f64,
    },
    Exponential {
        mean: f64,
    },
    Lognormal {
        shape: f64,
        scale: f64,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
    Triangular {
        lower: f64,
        upper: f64,
        mode: f64,
    },
    Weibull {
        shape: f64,
        scale: f64,
    },
}

impl ClampedDistribution {
    /// Draws the next value.
    pub(super) fn draw(&self, random: &mut Random) -> f64 {
        let value = self.kind.draw(random);
        let value =
            if self.round > 0.0 { (value / self.round).round() * self.round } else { value };
        let value = self.least.map_or(value, |least| value.max(least));
        self.most.map_or(value, |most| value.min(most))
    }

    /// Mean of the distribution, before clamping.
    pub(super) fn mean(&self) -> f64 {
        match &self.kind {
            DistributionKind::Uniform { from, to } => f64::midpoint(*from, *to),
            DistributionKind::Gamma { from, mean, .. } => from + mean,
            DistributionKind::Table(slots) => {
                let sum: f64 = slots.iter().map(|(from, to)| f64::midpoint(*from, *to)).sum();
                sum / SLOTS as f64
            }
            DistributionKind::Erlang { mean, .. }
            | DistributionKind::Exponential { mean }
            | DistributionKind::Normal { mean, .. } => *mean,
            DistributionKind::Lognormal { shape, scale } => (scale + shape * shape / 2.0).exp(),
            DistributionKind::Triangular { lower, upper, mode } => (lower + upper + mode) / 3.0,
            // For all common shapes the mean is near the scale.
            DistributionKind::Weibull { scale, .. } => *scale,
        }
    }

    /// Moves the distribution to another mean.
    pub(super) fn around(&self, mean: f64) -> Self {
        let kind = match &self.kind {
            DistributionKind::Uniform { from, .. } => {
                DistributionKind::Uniform { from: *from, to: 2.0 * mean - from }
            }
            DistributionKind::Gamma { from, shape, .. } => {
                DistributionKind::Gamma { from: *from, mean: mean - from, shape: *shape }
            }
            other => other.clone(),
        };
        Self { kind, ..self.clone() }
    }
}

impl DistributionKind {
    fn draw(&self, random: &mut Random) -> f64 {
        match self {
            Self::Uniform { from, to } => from + unit(random) * (to - from),
            Self::Gamma { from, mean, shape } => from + gamma(*shape, random) * mean / shape,
            Self::Table(slots) => {
                let (from, to) = slots[random.index(SLOTS)];
                from + unit(random) * (to - from)
            }
            Self::Erlang { shape, mean } => gamma(*shape, random) * mean / shape,
            Self::Exponential { mean } => -mean * above_zero(random).ln(),
            Self::Lognormal { shape, scale } => (scale + shape * normal(random)).exp(),
            Self::Normal { mean, deviation } => mean + deviation * normal(random),
            Self::Triangular { lower, upper, mode } => {
                let (at, width) = (unit(random), upper - lower);
                let below = mode - lower;
                if at * width < below {
                    lower + (at * width * below).sqrt()
                } else {
                    upper - ((1.0 - at) * width * (upper - mode)).sqrt()
                }
            }
            Self::Weibull { shape, scale } => scale * (-above_zero(random).ln()).powf(1.0 / shape),
        }
    }
}

/// Draws from [0, 1).
fn unit(random: &mut Random) -> f64 {
    (random.bits() >> UNIT_SHIFT) as f64 / (1_u64 << (u64::BITS - UNIT_SHIFT)) as f64
}

/// Draws from (0, 1].
fn above_zero(random: &mut Random) -> f64 {
    1.0 - unit(random)
}

/// Draws from the standard normal distribution, by the polar method of Marsaglia.
fn normal(random: &mut Random) -> f64 {
    for _ in 0..TRIES_MAX {
        let (x, y) = (2.0 * unit(random) - 1.0, 2.0 * unit(random) - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
    0.0
}

/// Draws from the gamma distribution of a shape and the scale 1, by the method of Marsaglia and
/// Tsang.
pub(super) fn gamma(shape: f64, random: &mut Random) -> f64 {
    if shape <= 0.0 || !shape.is_finite() {
        return 0.0;
    }
    if shape < 1.0 {
        return gamma(shape + 1.0, random) * above_zero(random).powf(1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    for _ in 0..TRIES_MAX {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && above_zero(random).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
    d
}

#[cfg(test)]
mod tests {
    use treering_script::Random;

    use super::{ClampedDistribution, DistributionKind, whole};

    /// Mean and deviation of a sample.
    fn moments(kind: DistributionKind) -> (f64, f64) {
        let distribution = ClampedDistribution { kind, least: None, most: None, round: 0.0 };
        let mut random = Random::new(7);
        let drawn: Vec<f64> = (0..40_000).map(|_| distribution.draw(&mut random)).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let square = drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (mean, (square / drawn.len() as f64).sqrt())
    }

    #[test]
    fn distributions_have_the_expected_mean_and_deviation() {
        let gamma_half = std::f64::consts::PI.sqrt() / 2.0;
        for (kind, mean, deviation) in [
            (DistributionKind::Uniform { from: 2.0, to: 8.0 }, 5.0, 3.0_f64.sqrt()),
            (
                DistributionKind::Gamma { from: 1.0, mean: 3.0, shape: 1.5 },
                4.0,
                3.0 / 1.5_f64.sqrt(),
            ),
            (
                DistributionKind::Gamma { from: 0.0, mean: 3.0, shape: 0.5 },
                3.0,
                3.0 / 0.5_f64.sqrt(),
            ),
            (DistributionKind::Erlang { shape: 4.0, mean: 2.0 }, 2.0, 1.0),
            (DistributionKind::Exponential { mean: 2.0 }, 2.0, 2.0),
            (DistributionKind::Normal { mean: 5.0, deviation: 2.0 }, 5.0, 2.0),
            (DistributionKind::Lognormal { shape: 0.5, scale: 0.0 }, 0.125_f64.exp(), 0.604),
            (
                DistributionKind::Triangular { lower: 0.0, upper: 6.0, mode: 0.0 },
                2.0,
                2.0_f64.sqrt(),
            ),
            (DistributionKind::Weibull { shape: 2.0, scale: 1.0 }, gamma_half, 0.463),
        ] {
            let shown = format!("{kind:?}");
            let (m, d) = moments(kind);
            assert!((m - mean).abs() < 0.04 * mean.max(1.0), "{shown}: mean {m}");
            assert!((d - deviation).abs() < 0.06 * deviation, "{shown}: deviation {d}");
        }
    }

    #[test]
    fn draws_respect_bounds_and_rounding() {
        let kind = DistributionKind::Normal { mean: 0.0, deviation: 1000.0 };
        let distribution =
            ClampedDistribution { kind, least: Some(100.0), most: Some(500.0), round: 64.0 };
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let value = distribution.draw(&mut random);
            assert!((100.0..=500.0).contains(&value), "{value}");
            assert!(value % 64.0 == 0.0 || value == 100.0 || value == 500.0, "{value}");
        }
    }

    #[test]
    fn invalid_sizes_become_zero() {
        for (number, size) in [(f64::NAN, 0), (-5.0, 0), (f64::INFINITY, u64::MAX), (7.9, 7)] {
            assert_eq!(whole(number), size);
        }
    }
}
