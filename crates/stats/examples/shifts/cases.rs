//! Simulated series whose true level shifts are known.

use crate::noise::{Noise, RandomSource};

/// Distribution of the points around their level.
#[derive(Clone, Copy)]
pub(crate) enum Scatter {
    Normal,
    /// Student's t with three degrees of freedom, scaled to standard deviation 1.
    HeavyTailed,
    Skewed,
    /// Log-normal around its mean, scaled to standard deviation 1.
    LogNormal,
    Outliers,
    /// Normal with a single point ten standard deviations away.
    Spike,
    /// Normal, with this share of the points twice as large.
    Doubled(f64),
    /// Normal, with three times the standard deviation in the second half.
    Tripled,
    /// Autoregressive of order one, AR(1), with this correlation of neighbours.
    Memory(f64),
}

impl Scatter {
    /// Scatters with independent, identically distributed points.
    pub(crate) const INDEPENDENT: [Self; 5] =
        [Self::Normal, Self::HeavyTailed, Self::Skewed, Self::LogNormal, Self::Outliers];
}

/// True course of the level.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    Flat,
    /// A step in the middle.
    Step {
        ratio: f64,
    },
    /// A different level for `length` points, starting after a third of the series.
    Bump {
        length: usize,
        ratio: f64,
    },
    /// The level alternates between two values, switching at these points.
    Turns {
        starts: &'static [usize],
        ratio: f64,
    },
    /// The level changes by this ratio with each point, from this share of the series on.
    Ramp {
        ratio: f64,
        from: f64,
    },
    /// A different level for the last `length` points.
    Tail {
        length: usize,
        ratio: f64,
    },
}

/// Kind of simulated series.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) points: usize,
    pub(crate) scatter: Scatter,
    pub(crate) cov: f64,
    pub(crate) shape: Shape,
    /// Number of series judged together.
    pub(crate) judged: usize,
}

/// Simulated series of logarithms with the positions at which its level changes.
pub(crate) struct DrawnSeries {
    pub(crate) values: Vec<f64>,
    pub(crate) edges: Vec<usize>,
}

impl Case {
    pub(crate) fn quiet(points: usize, scatter: Scatter) -> Self {
        Self { points, scatter, cov: 0.05, shape: Shape::Flat, judged: 1 }
    }

    pub(crate) fn name(&self) -> String {
        let scatter = match self.scatter {
            Scatter::Normal => "normal".to_owned(),
            Scatter::HeavyTailed => "t, 3 degrees of freedom".to_owned(),
            Scatter::Skewed => "skewed (exponential)".to_owned(),
            Scatter::LogNormal => "log-normal".to_owned(),
            Scatter::Outliers => "10 % outliers of +6 sigma".to_owned(),
            Scatter::Spike => "one spike of ten sigma".to_owned(),
            Scatter::Doubled(share) => format!("{:.0} % of the points doubled", 100.0 * share),
            Scatter::Tripled => "scatter x 3 from the middle".to_owned(),
            Scatter::Memory(phi) => format!("AR(1) {phi}"),
        };
        let shape = match self.shape {
            Shape::Flat => String::new(),
            Shape::Ramp { ratio, from } => {
                format!(", CoV {}, x {ratio} a point from {from} on", self.cov)
            }
            Shape::Step { ratio } => format!(", CoV {}, x {ratio}", self.cov),
            Shape::Bump { length, .. } => format!(", CoV {}, {length} points", self.cov),
            Shape::Turns { starts, ratio } => {
                format!(", CoV {}, x {ratio} and back at {starts:?}", self.cov)
            }
            Shape::Tail { length, ratio } => {
                format!(", the last {length} x {ratio}, 1 of {} series", self.judged)
            }
        };
        format!("{scatter}, {} points{shape}", self.points)
    }

    pub(crate) fn draw(&self, seed: u64) -> DrawnSeries {
        let mut source = RandomSource::seeded(seed * 1000 + self.points as u64);
        let points = self.points;
        let mut values = match self.scatter {
            Scatter::Skewed => Noise::Skewed.series(points, &mut source),
            Scatter::Outliers => Noise::Outliers.series(points, &mut source),
            Scatter::Memory(phi) => source.autoregressive(points, phi),
            Scatter::LogNormal => (0..points).map(|_| log_normal(&mut source)).collect(),
            Scatter::HeavyTailed => (0..points).map(|_| heavy_tailed(&mut source)).collect(),
            Scatter::Normal | Scatter::Spike | Scatter::Doubled(_) | Scatter::Tripled => {
                Noise::Normal.series(points, &mut source)
            }
        };
        match self.scatter {
            Scatter::Spike => values[points / 2] += 10.0,
            Scatter::Doubled(share) => values
                .iter_mut()
                .filter(|_| source.unit() < share)
                .for_each(|value| *value += 2.0_f64.ln() / self.cov),
            Scatter::Tripled => values[points / 2..].iter_mut().for_each(|value| *value *= 3.0),
            _ => {}
        }
        let (mut edges, ratio) = match self.shape {
            Shape::Flat | Shape::Ramp { .. } => (Vec::new(), 1.0),
            Shape::Step { ratio } => (vec![points / 2], ratio),
            Shape::Bump { length, ratio } => (vec![points / 3, points / 3 + length], ratio),
            Shape::Turns { starts, ratio } => (starts.to_vec(), ratio),
            Shape::Tail { length, ratio } => (vec![points - length], ratio),
        };
        edges.retain(|edge| *edge < points);
        for (place, value) in values.iter_mut().enumerate() {
            if edges.iter().filter(|edge| **edge <= place).count() % 2 == 1 {
                *value += ratio.ln() / self.cov;
            }
            if let Shape::Ramp { ratio, from } = self.shape {
                let moved = (place as f64 - from * points as f64).max(0.0);
                *value += moved * ratio.ln() / self.cov;
            }
            *value *= self.cov;
        }
        DrawnSeries { values, edges }
    }
}

fn heavy_tailed(source: &mut RandomSource) -> f64 {
    let squares: f64 = (0..3).map(|_| source.normal().powi(2)).sum();
    source.normal() / squares.sqrt()
}

/// Log-normal random number whose logarithm has the standard deviation 1/2; its skewness is 1.75.
fn log_normal(source: &mut RandomSource) -> f64 {
    let of_log: f64 = 0.25;
    let mean = (of_log / 2.0).exp();
    ((of_log.sqrt() * source.normal()).exp() - mean) / (mean * of_log.exp_m1().sqrt())
}
