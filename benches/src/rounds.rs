//! Rounds: every way in turns, in another order each round, and what the medians say.

use std::fmt;

use serde::Serialize;

use crate::Fault;

/// How figures spread: the middle, and where the middle half of them is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// A quarter is below.
    pub low: f64,
    /// A quarter is above.
    pub high: f64,
    /// Where the median of many more rounds would be, with 95 % confidence: from here
    pub sure_low: f64,
    /// to here. With fewer than six figures these are the least and the greatest.
    pub sure_high: f64,
}

impl Spread {
    /// Of figures, at least one.
    pub fn of(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (figures.len() - 1) as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a place in the list, never negative"
            )]
            let (below, above) = (place.floor() as usize, place.ceil() as usize);
            figures[below] + (figures[above] - figures[below]) * place.fract()
        };
        let (sure_low, sure_high) = sure(&figures);
        Self { median: at(0.5), low: at(0.25), high: at(0.75), sure_low, sure_high }
    }
}

impl fmt::Display for Spread {
    /// The median and the middle half.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ({:.3}-{:.3})", self.median, self.low, self.high)
    }
}

/// The interval for the median that order statistics give: the number of figures below the true
/// median is binomial, here by its normal approximation with continuity correction.
fn sure(sorted: &[f64]) -> (f64, f64) {
    let count = sorted.len();
    let half_width = 1.96 * (count as f64).sqrt() / 2.0;
    let place = count as f64 / 2.0 - half_width - 0.5;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a place in the lower half of the list"
    )]
    let place = place.max(0.0).floor() as usize;
    (sorted[place], sorted[count - 1 - place])
}

/// Runs each of `ways` once a round, and once before that to warm up; the order turns by one each
/// round. Gives the figures of each way, round by round.
///
/// # Errors
/// The first one of `measure`.
pub(crate) fn in_turns<T>(
    methods: usize,
    rounds: usize,
    mut measure: impl FnMut(usize, usize) -> Result<T, Fault>,
) -> Result<Vec<Vec<T>>, Fault> {
    let mut figures: Vec<Vec<T>> = (0..methods).map(|_| Vec::with_capacity(rounds)).collect();
    for round in 0..=rounds {
        for turn in 0..methods {
            let method = (turn + round) % methods;
            let figure = measure(method, round)?;
            if round > 0 {
                figures[method].push(figure);
            }
        }
    }
    Ok(figures)
}

/// The figures of one way divided by those of another, each by that of its own round.
pub(crate) fn ratios(figures: &[u64], base: &[u64]) -> Spread {
    let pairs = figures.iter().zip(base);
    Spread::of(pairs.map(|(&a, &b)| a as f64 / (b as f64).max(1.0)).collect())
}

#[cfg(test)]
mod tests {
    use super::{Spread, in_turns, ratios};

    #[test]
    fn the_middle_half_is_reported() {
        let spread = Spread::of(vec![5.0, 1.0, 2.0, 4.0, 3.0]);
        assert_eq!((spread.low, spread.median, spread.high), (2.0, 3.0, 4.0));
        assert_eq!((spread.sure_low, spread.sure_high), (1.0, 5.0));
        assert_eq!(spread.to_string(), "3.000 (2.000-4.000)");
        assert_eq!(Spread::of(vec![1.0, 2.0]).median, 1.5);
        let many = Spread::of((0..100).map(f64::from).collect());
        // The binomial itself says ranks 40 and 61 of 100.
        assert_eq!((many.sure_low, many.sure_high), (39.0, 60.0));
        assert_eq!(ratios(&[10, 30, 20], &[10, 10, 10]).median, 2.0);
    }

    #[test]
    fn every_method_comes_first_in_turn_and_the_first_round_is_not_counted() {
        let mut order = Vec::new();
        let figures = in_turns(3, 2, |method, round| {
            order.push((round, method));
            Ok(round)
        });
        assert_eq!(figures.unwrap(), vec![vec![1, 2]; 3]);
        assert_eq!(order[..6], [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 0)]);
    }
}
