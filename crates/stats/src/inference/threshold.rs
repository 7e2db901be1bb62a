//! Threshold on a scale, estimated from yes/no answers that are random near it.
//!
//! The posterior of a psychometric function is computed on a grid: threshold and spread are
//! unknown, and a small share of answers is wrong at any value. The method is QUEST (Watson and
//! Pelli 1983), but it estimates the spread together with the threshold (Kontsevich and Tyler 1999,
//! "Bayesian adaptive estimation of psychometric slope and threshold"). The caller chooses the next
//! value to probe.

/// Grid sizes of the threshold and the spread.
const POSITIONS: usize = 400;
const SPREADS: usize = 14;
/// Bounds of the spread, in logarithms: 1 % and a factor of three.
const SPREAD_LEAST: f64 = 0.01;
const SPREAD_MOST: f64 = 1.1;
/// Share of wrong answers at any distance from the threshold.
const LAPSES: f64 = 0.02;
/// Factor by which the grid extends beyond the initial bracket.
const GRID_MARGIN: f64 = 4.0;

/// Posterior of a threshold on a ratio scale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ThresholdPosterior {
    /// Logarithms of the grid positions, evenly spaced.
    positions: Vec<f64>,
    spreads: Vec<f64>,
    /// Log weight of each position and spread, with the spreads of a position adjacent.
    weights: Vec<f64>,
}

impl ThresholdPosterior {
    /// Uniform prior around a bracket of two positive values.
    pub(crate) fn around_bracket(low: f64, high: f64) -> Self {
        let least = (low.min(high).max(f64::MIN_POSITIVE) / GRID_MARGIN).ln();
        let most = (high.max(low).max(f64::MIN_POSITIVE) * GRID_MARGIN).ln();
        let step = |number: usize, of: usize| number as f64 / (of - 1) as f64;
        let spread =
            |number| SPREAD_LEAST * (SPREAD_MOST / SPREAD_LEAST).powf(step(number, SPREADS));
        Self {
            positions: (0..POSITIONS)
                .map(|at| least + (most - least) * step(at, POSITIONS))
                .collect(),
            spreads: (0..SPREADS).map(spread).collect(),
            weights: vec![0.0; POSITIONS * SPREADS],
        }
    }

    /// Updates the posterior with the answer at a value: yes is probable below the threshold, no
    /// above.
    pub(crate) fn update(&mut self, value: f64, yes: bool) {
        let x = value.max(f64::MIN_POSITIVE).ln();
        for (position, weights) in self.positions.iter().zip(self.weights.chunks_mut(SPREADS)) {
            for (spread, weight) in self.spreads.iter().zip(weights) {
                let chance =
                    LAPSES + (1.0 - 2.0 * LAPSES) / (1.0 + ((x - position) / spread).exp());
                *weight += if yes { chance.ln() } else { (1.0 - chance).ln() };
            }
        }
    }

    /// Quantile of the threshold.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let largest = self.weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares: Vec<f64> = self
            .weights
            .chunks(SPREADS)
            .map(|weights| weights.iter().map(|weight| (weight - largest).exp()).sum())
            .collect();
        let target = share.clamp(0.0, 1.0) * shares.iter().sum::<f64>();
        let step = self.positions[1] - self.positions[0];
        let mut before = 0.0;
        for (position, share) in self.positions.iter().zip(&shares) {
            if before + share >= target {
                let part = if *share > 0.0 { (target - before) / share } else { 0.5 };
                return (position + step * (part - 0.5)).exp();
            }
            before += share;
        }
        self.positions[POSITIONS - 1].exp()
    }
}

#[cfg(test)]
mod tests {
    use super::ThresholdPosterior;

    #[test]
    fn answers_narrow_the_posterior_from_both_sides() {
        let mut threshold = ThresholdPosterior::around_bracket(100.0, 200.0);
        assert!((threshold.quantile(0.5) / 20_000.0_f64.sqrt() - 1.0).abs() < 0.02);
        for _ in 0..6 {
            threshold.update(140.0, true);
            threshold.update(160.0, false);
        }
        let [low, middle, high] = [0.025, 0.5, 0.975].map(|share| threshold.quantile(share));
        assert!(low < middle && middle < high);
        assert!((145.0..155.0).contains(&middle), "{low} {middle} {high}");
        assert!(low > 120.0 && high < 190.0, "{low} {high}");
    }

    #[test]
    fn one_wrong_answer_does_not_move_the_threshold() {
        let mut threshold = ThresholdPosterior::around_bracket(100.0, 200.0);
        threshold.update(400.0, true);
        for value in [140.0, 141.0, 150.0, 151.0, 170.0, 180.0, 250.0] {
            threshold.update(value, value < 145.0);
        }
        assert!((125.0..175.0).contains(&threshold.quantile(0.5)));
    }
}
