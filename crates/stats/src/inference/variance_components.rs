//! Where the noise comes from: inside runs or between them, and what that says about planning.
//!
//! What does not live here: comparisons. The usual answer is one or two iterations per run: more
//! runs, not longer ones.
//!
//! Source: Kalibera & Jones, "Rigorous benchmarking in reasonable time", ISMM 2013.

use crate::describe::{mean, mean_interval, variance};
use crate::error::StatsError;
use crate::input::{
    count_rounded_up, require_count, require_finite, require_positive_parameter,
    require_same_length,
};
use crate::interval::Interval;

/// Most iterations per run ever proposed.
const MOST_ITERATIONS: u32 = 100_000;

/// The variance of a two-level experiment. Variances are in the squared unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VarianceComponents {
    /// Mean of all values.
    pub grand_mean: f64,
    /// Mean variance inside runs (S1 squared, also T1 squared).
    pub within_runs: f64,
    /// Variance of the run means (S2 squared).
    pub of_run_means: f64,
    /// Variance between runs without the part that comes from inside them (T2 squared); never below
    /// zero.
    pub between_runs: f64,
    /// Share of the variance that lies between runs, 0 to 1; `None` without any variance.
    pub share_between: Option<f64>,
    /// Standard error of the grand mean: the square root of `of_run_means` over the number of runs.
    pub standard_error: f64,
    /// t interval of the grand mean over the run means. Runs count, iterations do not.
    pub interval: Option<Interval>,
}

/// Splits the variance of `runs[run][iteration]`: at least two runs of the same number of
/// iterations, at least two. `confidence` is that of the interval.
pub fn variance_components<R: AsRef<[f64]>>(
    runs: &[R],
    confidence: f64,
) -> Result<VarianceComponents, StatsError> {
    require_count(runs.len(), 2)?;
    let iterations = runs[0].as_ref().len();
    require_count(iterations, 2)?;
    let mut means = Vec::with_capacity(runs.len());
    let mut within = Vec::with_capacity(runs.len());
    for run in runs {
        let run = run.as_ref();
        require_same_length(iterations, run.len())?;
        require_finite(run)?;
        means.push(mean(run));
        within.push(variance(run));
    }
    let within_runs = mean(&within);
    let of_run_means = variance(&means);
    let between_runs = (of_run_means - within_runs / iterations as f64).max(0.0);
    let share = between_runs / (between_runs + within_runs);
    Ok(VarianceComponents {
        grand_mean: mean(&means),
        within_runs,
        of_run_means,
        between_runs,
        share_between: share.is_finite().then_some(share),
        standard_error: (of_run_means / runs.len() as f64).sqrt(),
        interval: mean_interval(&means, confidence)?,
    })
}

impl VarianceComponents {
    /// The number of iterations per run that gives the narrowest interval for the time spent: the
    /// square root of (cost of a run / cost of an iteration) x (within / between), before rounding
    /// up. `cost_run` is what a fresh run costs on top (mkfs, mount, aging), in the same unit as
    /// `cost_iteration`. `None` when runs do not differ: then iterations are as good as runs.
    pub fn best_iterations_real(
        &self,
        cost_iteration: f64,
        cost_run: f64,
    ) -> Result<Option<f64>, StatsError> {
        require_positive_parameter("cost of an iteration", cost_iteration)?;
        require_positive_parameter("cost of a run", cost_run)?;
        let best = (cost_run / cost_iteration * (self.within_runs / self.between_runs)).sqrt();
        Ok(best.is_finite().then_some(best))
    }

    /// The same in whole iterations, at least 1.
    pub fn best_iterations(
        &self,
        cost_iteration: f64,
        cost_run: f64,
    ) -> Result<Option<u32>, StatsError> {
        let best = self.best_iterations_real(cost_iteration, cost_run)?;
        Ok(best.and_then(|best| count_rounded_up(best, MOST_ITERATIONS)).map(|best| best.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use crate::error::StatsError;
    use crate::inference::variance_components::variance_components;

    /// Runs {1, 3} and {5, 7}: within 2, means 2 and 6 with variance 8, between 8 - 2/2 = 7.
    #[test]
    fn by_hand() {
        let found = variance_components(&[[1.0, 3.0], [5.0, 7.0]], 0.95).unwrap();
        assert_eq!((found.within_runs, found.of_run_means, found.between_runs), (2.0, 8.0, 7.0));
        assert_eq!(found.share_between, Some(7.0 / 9.0));
        assert_eq!(found.best_iterations(1.0, 14.0), Ok(Some(2)));
        assert!(found.best_iterations(0.0, 14.0).is_err());
    }

    #[test]
    fn runs_that_do_not_differ_ask_for_no_fresh_runs() {
        let found = variance_components(&[[1.0, 3.0], [3.0, 1.0]], 0.95).unwrap();
        assert_eq!((found.between_runs, found.best_iterations(1.0, 9.0)), (0.0, Ok(None)));
        let flat = variance_components(&[[1.0, 1.0], [1.0, 1.0]], 0.95).unwrap();
        assert_eq!((flat.share_between, flat.best_iterations(1.0, 9.0)), (None, Ok(None)));
        let ragged = variance_components(&[vec![1.0, 1.0], vec![1.0]], 0.95);
        assert_eq!(ragged, Err(StatsError::LengthsDiffer { left: 2, right: 1 }));
    }
}
