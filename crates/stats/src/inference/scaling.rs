//! Throughput as a function of the number of clients: Gunther's universal scalability model,
//! `X(N) = λN / (1 + σ(N − 1) + κN(N − 1))`, with the contention σ and the coherency κ.
//!
//! `N / X(N)` is linear in `1/λ`, `σ/λ` and `κ/λ`, and errors are relative. The fit minimises the
//! squared errors of the logarithms with non-negative coefficients, by Gauss-Newton steps.

use std::collections::{BTreeMap, BTreeSet};

use crate::distribution::{f_survival, t_quantile};
use crate::input::{require_count, require_positive, require_same_length};
use crate::{Interval, IntervalMethod, StatsError};

/// Fewest distinct numbers of clients; with three, the curve would always fit exactly.
pub const FEWEST_SIZES: usize = 5;

/// Lack-of-fit p-value below which the uncertainty is derived from the scatter of the sizes around
/// the curve instead of the scatter of the trials.
const LACK_OF_FIT_BELOW: f64 = 0.05;

/// Fitted model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scalability {
    /// λ: throughput of one client, in the unit of the throughputs.
    pub single: f64,
    /// σ: contention, the share of work in which clients wait for one another.
    pub contention: f64,
    /// Interval of the contention; the lower end is at least 0.
    pub contention_interval: Interval,
    /// κ: coherency, the share of work in which each pair of clients synchronises.
    pub coherency: f64,
    /// Interval of the coherency; the lower end is at least 0.
    pub coherency_interval: Interval,
    /// Number of clients with the highest throughput; `None` if κ is 0 or σ is at least 1.
    pub peak_clients: Option<f64>,
    /// Interval of the peak, computed on a logarithmic scale; `None` if κ may be 0, and the curve
    /// may have no peak.
    pub peak_interval: Option<Interval>,
    /// Lack-of-fit p-value of the model; `None` if no size has two trials.
    pub lack_of_fit_p: Option<f64>,
}

impl Scalability {
    /// Reports whether the sizes are consistent with the model. True, too, if no size has two
    /// trials to estimate chance from.
    pub fn follows(&self) -> bool {
        self.lack_of_fit_p.is_none_or(|p| p >= LACK_OF_FIT_BELOW)
    }

    /// Throughput of this many clients.
    pub fn throughput(&self, clients: f64) -> f64 {
        let waits = self.contention * (clients - 1.0);
        let agrees = self.coherency * clients * (clients - 1.0);
        self.single * clients / (1.0 + waits + agrees)
    }
}

/// Fits the model to throughputs measured in rounds. If each round has more than half of the
/// numbers of clients, each at most once, effects common to a round are removed first.
///
/// # Errors
/// If there are fewer than [`FEWEST_SIZES`] different numbers, or a value is not positive.
pub fn paired_scalability(
    clients: &[f64],
    throughputs: &[f64],
    rounds: &[u32],
    confidence: f64,
) -> Result<Scalability, StatsError> {
    require_same_length(clients.len(), rounds.len())?;
    require_same_length(throughputs.len(), rounds.len())?;
    require_positive(throughputs)?;
    let logs: Vec<f64> = throughputs.iter().map(|throughput| throughput.ln()).collect();
    let Some(effects) = round_effects(clients, &logs, rounds) else {
        return fit(clients, throughputs, 0, confidence);
    };
    let adjusted = logs.iter().zip(rounds).map(|(log, round)| (log - effects[round]).exp());
    fit(clients, &adjusted.collect::<Vec<f64>>(), effects.len().saturating_sub(1), confidence)
}

/// Number of times that the effects of rounds and of sizes are estimated in turns. Without missing
/// cells the first is the last.
const TURNS: usize = 100;

/// Effect of each round on the logarithms of its throughputs, in a model of two effects; `None` if
/// a size occurs twice in a round, or a round has only half of the sizes: then two rounds may share
/// none, and are not compared.
fn round_effects(clients: &[f64], logs: &[f64], rounds: &[u32]) -> Option<BTreeMap<u32, f64>> {
    let sizes: Vec<u64> = clients.iter().map(|clients| clients.to_bits()).collect();
    let cells: BTreeSet<(u32, u64)> = rounds.iter().copied().zip(sizes.iter().copied()).collect();
    let all_sizes: BTreeSet<u64> = sizes.iter().copied().collect();
    let in_round = |round: u32| rounds.iter().filter(|other| **other == round).count();
    let is_known = |round: &u32| 2 * in_round(*round) > all_sizes.len();
    if cells.len() != rounds.len() || !rounds.iter().all(is_known) {
        return None;
    }
    let mut of_rounds: BTreeMap<u32, f64> = rounds.iter().map(|round| (*round, 0.0)).collect();
    for _ in 0..TURNS {
        let without_rounds = logs.iter().zip(rounds).map(|(log, round)| log - of_rounds[round]);
        let of_sizes = means_by(&sizes, without_rounds);
        let without_sizes = logs.iter().zip(&sizes).map(|(log, size)| log - of_sizes[size]);
        of_rounds = means_by(rounds, without_sizes);
    }
    Some(of_rounds)
}

/// Mean of the values of each key.
fn means_by<K: Copy + Ord>(keys: &[K], values: impl Iterator<Item = f64>) -> BTreeMap<K, f64> {
    let mut sums: BTreeMap<K, (f64, f64)> = BTreeMap::new();
    for (key, value) in keys.iter().zip(values) {
        let (sum, count) = sums.entry(*key).or_default();
        *sum += value;
        *count += 1.0;
    }
    sums.into_iter().map(|(key, (sum, count))| (key, sum / count)).collect()
}

/// Fits the model; `spent` is the number of degrees of freedom already used by the round effects.
fn fit(
    clients: &[f64],
    throughputs: &[f64],
    spent: usize,
    confidence: f64,
) -> Result<Scalability, StatsError> {
    require_same_length(clients.len(), throughputs.len())?;
    require_positive(clients)?;
    require_positive(throughputs)?;
    crate::input::require_probability("confidence", confidence)?;
    let mut sizes = clients.to_vec();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    require_count(sizes.len(), FEWEST_SIZES)?;
    let LeastSquaresFit { rows, errors, coefficients, is_free } = fitted(clients, throughputs);
    // The uncertainty is that of the full model, even if a share was estimated as 0.
    let scatter = scatter(clients, &errors, sizes.len(), spent);
    let covariance = inverse(&normal(&rows)).unwrap_or([[0.0; 3]; 3]);
    let [base, linear, quadratic] = coefficients;
    let (single, contention, coherency) = (1.0 / base, linear / base, quadratic / base);
    let reach_of = |variance: f64| {
        let spread = (variance * scatter.variance).max(0.0).sqrt();
        t_quantile(f64::midpoint(1.0, confidence), scatter.freedom) * spread
    };
    // First-order covariance of two ratios; for a ratio with itself, this is its variance.
    let between = |(first_at, first_share): (usize, f64),
                   (second_at, second_share): (usize, f64)| {
        let [first, ..] = covariance;
        let shared = covariance[first_at][second_at]
            - second_share * first[first_at]
            - first_share * first[second_at];
        (shared + first_share * second_share * first[0]) / base.powi(2)
    };
    let interval = |low: f64, high: f64| Interval {
        low,
        high,
        confidence,
        achieved: None,
        method: IntervalMethod::StudentT,
    };
    let of_share = |at: usize, share: f64| {
        let reach = reach_of(between((at, share), (at, share)));
        interval((share - reach).max(0.0), share + reach)
    };
    let (contention_interval, coherency_interval) =
        (of_share(1, contention), of_share(2, coherency));
    let peak = ((1.0 - contention) / coherency).sqrt();
    let peak_clients = (is_free[2] && peak.is_finite()).then_some(peak);
    let peak_interval = peak_clients.filter(|_| coherency_interval.low > 0.0).map(|peak| {
        // Derivative of the log peak with respect to each share.
        let slopes = [(1, contention, -0.5 / (1.0 - contention)), (2, coherency, -0.5 / coherency)];
        let parts = slopes.iter().flat_map(|(at, share, slope)| {
            slopes.map(|(other_at, other_share, other_slope)| {
                slope * other_slope * between((*at, *share), (other_at, other_share))
            })
        });
        let reach = reach_of(parts.sum());
        interval(peak * (-reach).exp(), peak * reach.exp())
    });
    Ok(Scalability {
        single,
        contention,
        contention_interval,
        coherency,
        coherency_interval,
        peak_clients,
        peak_interval,
        lack_of_fit_p: scatter.lack_of_fit_p,
    })
}

/// Scatter of trials around the curve.
struct TrialScatter {
    variance: f64,
    freedom: f64,
    lack_of_fit_p: Option<f64>,
}

/// Computes the scatter of the trials around the curve. If the trials of each size agree with one
/// another but not with the curve, it is the scatter of the sizes.
fn scatter(clients: &[f64], errors: &[f64], sizes: usize, spent: usize) -> TrialScatter {
    let mut groups: Vec<(f64, Vec<f64>)> = Vec::new();
    for (size, &deviation) in clients.iter().zip(errors) {
        match groups.iter_mut().find(|(known, _)| known == size) {
            Some((_, group)) => group.push(deviation),
            None => groups.push((*size, vec![deviation])),
        }
    }
    let (mut of_sizes, mut of_trials) = (0.0, 0.0);
    for (_, group) in &groups {
        let mean = group.iter().sum::<f64>() / group.len() as f64;
        of_sizes += group.len() as f64 * mean.powi(2);
        of_trials += group.iter().map(|deviation| (deviation - mean).powi(2)).sum::<f64>();
    }
    let size_freedom = (sizes - 3) as f64;
    let trial_freedom = (errors.len() - sizes).saturating_sub(spent) as f64;
    let ratio = (of_sizes / size_freedom) / (of_trials / trial_freedom);
    let lack_of_fit_p = (trial_freedom > 0.0 && ratio.is_finite())
        .then(|| f_survival(ratio, size_freedom, trial_freedom));
    if lack_of_fit_p.is_some_and(|p| p < LACK_OF_FIT_BELOW) {
        let variance = of_sizes / size_freedom;
        return TrialScatter { variance, freedom: size_freedom, lack_of_fit_p };
    }
    let freedom = size_freedom + trial_freedom;
    TrialScatter { variance: (of_sizes + of_trials) / freedom, freedom, lack_of_fit_p }
}

fn dot(row: &[f64; 3], coefficients: &[f64; 3]) -> f64 {
    row.iter().zip(coefficients).map(|(left, right)| left * right).sum()
}

/// Least-squares fit of the logarithms.
struct LeastSquaresFit {
    /// Derivative of each trial's logarithm with respect to the coefficients.
    rows: Vec<[f64; 3]>,
    /// Residuals: log of `N / X` minus the model's value.
    errors: Vec<f64>,
    coefficients: [f64; 3],
    is_free: [bool; 3],
}

/// Number of Gauss-Newton steps. After the first few, only digits change that are not shown.
const STEPS: usize = 40;

fn fitted(clients: &[f64], throughputs: &[f64]) -> LeastSquaresFit {
    let terms = |n: &f64| [1.0, n - 1.0, n * (n - 1.0)];
    let pairs = || clients.iter().zip(throughputs);
    // Initial rows are divided by N / X, so the targets are 1.
    let rows: Vec<[f64; 3]> = pairs().map(|(n, x)| terms(n).map(|term| term * x / n)).collect();
    let (mut coefficients, mut is_free) = non_negative(&rows, &vec![1.0; rows.len()]);
    let linear = |coefficients: &[f64; 3]| -> (Vec<[f64; 3]>, Vec<f64>) {
        let residual = |(n, x): (&f64, &f64)| {
            let fitted = dot(&terms(n), coefficients);
            (terms(n).map(|term| term / fitted), (n / x / fitted).ln())
        };
        pairs().map(residual).unzip()
    };
    for _ in 0..STEPS {
        let (rows, errors) = linear(&coefficients);
        let targets: Vec<f64> = errors.iter().map(|error| 1.0 + error).collect();
        let (next, free) = non_negative(&rows, &targets);
        if !next.iter().all(|value| value.is_finite()) {
            break;
        }
        let is_same =
            next.iter().zip(&coefficients).all(|(new, old)| (new - old).abs() <= 1e-12 * new);
        (coefficients, is_free) = (next, free);
        if is_same {
            break;
        }
    }
    let (rows, errors) = linear(&coefficients);
    LeastSquaresFit { rows, errors, coefficients, is_free }
}

/// Best coefficients with non-negative shares, and flags of the coefficients that are not fixed at
/// 0.
fn non_negative(rows: &[[f64; 3]], targets: &[f64]) -> ([f64; 3], [bool; 3]) {
    let free_sets =
        [[true, true, true], [true, true, false], [true, false, true], [true, false, false]];
    let fits = free_sets.into_iter().filter_map(|is_free| {
        let coefficients = least_squares(rows, targets, is_free)?;
        let is_allowed = coefficients[0] > 0.0 && coefficients[1] >= 0.0 && coefficients[2] >= 0.0;
        let errors = rows.iter().zip(targets).map(|(row, target)| target - dot(row, &coefficients));
        let error: f64 = errors.map(|error| error.powi(2)).sum();
        is_allowed.then_some((error, coefficients, is_free))
    });
    let best = fits.min_by(|left, right| left.0.total_cmp(&right.0));
    best.map_or(([1.0, 0.0, 0.0], [true, false, false]), |(_, coefficients, is_free)| {
        (coefficients, is_free)
    })
}

/// Least squares in the free coefficients; the others are 0.
fn least_squares(rows: &[[f64; 3]], targets: &[f64], is_free: [bool; 3]) -> Option<[f64; 3]> {
    let masked: Vec<[f64; 3]> = rows
        .iter()
        .map(|row| std::array::from_fn(|at| if is_free[at] { row[at] } else { 0.0 }))
        .collect();
    let mut matrix = normal(&masked);
    for at in (0..3).filter(|at| !is_free[*at]) {
        matrix[at][at] = 1.0;
    }
    let inverse = inverse(&matrix)?;
    let pairs = || masked.iter().zip(targets);
    let right: [f64; 3] =
        std::array::from_fn(|at| pairs().map(|(row, target)| row[at] * target).sum());
    Some(std::array::from_fn(|at| dot(&inverse[at], &right)))
}

/// Normal matrix of the rows.
fn normal(rows: &[[f64; 3]]) -> [[f64; 3]; 3] {
    std::array::from_fn(|at| {
        std::array::from_fn(|other| rows.iter().map(|row| row[at] * row[other]).sum())
    })
}

/// Inverse by cofactors; `None` for a singular matrix.
fn inverse(matrix: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let cofactor = |row: usize, column: usize| {
        let at = |down: usize, right: usize| matrix[(row + down) % 3][(column + right) % 3];
        at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)
    };
    let determinant: f64 = (0..3).map(|column| matrix[0][column] * cofactor(0, column)).sum();
    let inverse = std::array::from_fn(|row| {
        std::array::from_fn(|column| cofactor(column, row) / determinant)
    });
    let is_whole = inverse.iter().flatten().all(|value: &f64| value.is_finite());
    (is_whole && determinant != 0.0).then_some(inverse)
}

#[cfg(test)]
mod tests {
    use super::{Scalability, paired_scalability};
    use crate::StatsError;
    use crate::generator::Generator;

    const SIZES: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

    fn model(contention: f64, coherency: f64) -> impl Fn(f64) -> f64 {
        move |n| 1000.0 * n / (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0))
    }

    fn scalability(
        clients: &[f64],
        throughputs: &[f64],
        confidence: f64,
    ) -> Result<Scalability, StatsError> {
        super::fit(clients, throughputs, 0, confidence)
    }

    fn fit(throughput: impl Fn(f64) -> f64) -> Scalability {
        let throughputs = SIZES.map(throughput);
        scalability(&SIZES, &throughputs, 0.95).unwrap()
    }

    #[test]
    fn exact_scalability_curves_are_recovered() {
        for (contention, coherency) in [(0.05, 0.001), (0.0, 0.0), (0.2, 0.0), (0.0, 0.01)] {
            let fitted = fit(model(contention, coherency));
            assert!((fitted.contention - contention).abs() < 1e-6, "{fitted:?}");
            assert!((fitted.coherency - coherency).abs() < 1e-6, "{fitted:?}");
            assert!((fitted.single - 1000.0).abs() < 1e-3, "{fitted:?}");
            assert!(
                (fitted.throughput(8.0) / model(contention, coherency)(8.0) - 1.0).abs() < 1e-6
            );
        }
        let peak = fit(model(0.05, 0.001)).peak_clients.unwrap();
        assert!((peak - (0.95f64 / 0.001).sqrt()).abs() < 0.01, "{peak}");
        assert!(fit(model(0.0, 0.0)).contention_interval.low >= 0.0);
    }

    #[test]
    fn a_peak_has_an_interval_if_coherency_is_nonzero() {
        // Values lie alternately above and below the curve.
        let sizes: Vec<f64> = SIZES.iter().flat_map(|size| [*size; 4]).collect();
        let measured = |contention, coherency, noise: f64| -> Vec<f64> {
            let of = |(place, size): (usize, &f64)| {
                let sign = if place % 2 == 0 { 1.0 } else { -1.0 };
                model(contention, coherency)(*size) * (1.0 + sign * noise)
            };
            sizes.iter().enumerate().map(of).collect()
        };
        let fitted = scalability(&sizes, &measured(0.08, 0.002, 0.02), 0.95).unwrap();
        let (peak, interval) = (fitted.peak_clients.unwrap(), fitted.peak_interval.unwrap());
        let planted = (0.92f64 / 0.002).sqrt();
        assert!(interval.contains(planted) && interval.contains(peak), "{fitted:?}");
        assert!(interval.high / interval.low < 1.3, "{fitted:?}");
        assert!(fitted.follows(), "{fitted:?}");
        // A coherency this small is lost in the noise, and there may be no peak.
        let fitted = scalability(&sizes, &measured(0.3, 0.0001, 0.2), 0.95).unwrap();
        assert!(fitted.coherency_interval.low == 0.0 && fitted.peak_interval.is_none());
    }

    #[test]
    fn lack_of_fit_is_reported_and_widens_the_intervals() {
        // On two CPUs the throughput doubles with two clients and stays there.
        let sizes: Vec<f64> = SIZES.iter().flat_map(|size| [*size; 4]).collect();
        let of = |(place, size): (usize, &f64)| {
            let noise = if place % 2 == 0 { 1.01 } else { 0.99 };
            1000.0 * size.min(2.0) * noise
        };
        let measured: Vec<f64> = sizes.iter().enumerate().map(of).collect();
        let fitted = scalability(&sizes, &measured, 0.95).unwrap();
        assert!(!fitted.follows() && fitted.lack_of_fit_p.unwrap() < 1e-6, "{fitted:?}");
        let interval = fitted.contention_interval;
        assert!(interval.high - interval.low > 0.05, "{fitted:?}");
        assert_eq!(fit(model(0.05, 0.001)).lack_of_fit_p, None, "one trial for each size");
    }

    #[test]
    fn noise_does_not_bias_the_curve_upwards() {
        let sizes: Vec<f64> = SIZES.iter().flat_map(|size| [*size; 4]).collect();
        let of = |(place, size): (usize, &f64)| {
            let noise = if place % 2 == 0 { 2.0 } else { 0.5 };
            model(0.1, 0.002)(*size) * noise
        };
        let measured: Vec<f64> = sizes.iter().enumerate().map(of).collect();
        let fitted = scalability(&sizes, &measured, 0.95).unwrap();
        for size in SIZES {
            // The geometric mean of the values is the model.
            let deviation = fitted.throughput(size) / model(0.1, 0.002)(size) - 1.0;
            assert!(deviation.abs() < 0.01, "{size}: {deviation}, {fitted:?}");
        }
    }

    #[test]
    fn round_effects_do_not_widen_intervals() {
        let (mut sizes, mut rounds, mut measured) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..5_u32 {
            for (place, size) in (0_u32..).zip(SIZES) {
                let noise = 1.0 + 0.005 * (f64::from((place * 7 + round * 11) % 5) - 2.0);
                let drift = 1.0 - 0.2 * f64::from(round) / 4.0;
                sizes.push(size);
                rounds.push(round);
                measured.push(model(0.03, 0.001)(size) * noise * drift);
            }
        }
        let pooled = scalability(&sizes, &measured, 0.95).unwrap();
        let paired = paired_scalability(&sizes, &measured, &rounds, 0.95).unwrap();
        let width =
            |fitted: &Scalability| fitted.contention_interval.high - fitted.contention_interval.low;
        assert!(2.0 * width(&paired) < width(&pooled), "{paired:?} {pooled:?}");
        assert!(paired.contention_interval.contains(0.03), "{paired:?}");
        // A trial that is missing changes little.
        let few = sizes.len() - 1;
        let fitted =
            paired_scalability(&sizes[..few], &measured[..few], &rounds[..few], 0.95).unwrap();
        assert!(width(&fitted) < 1.5 * width(&paired), "{fitted:?} {paired:?}");
        // Rounds that may share no size cannot be paired.
        let halves: Vec<u32> = sizes.iter().map(|size| u32::from(*size > 8.0)).collect();
        let fitted = paired_scalability(&sizes, &measured, &halves, 0.95);
        assert_eq!(fitted, scalability(&sizes, &measured, 0.95));
        assert!(paired_scalability(&sizes, &measured, &rounds[..few], 0.95).is_err());
    }

    #[test]
    fn superlinear_growth_gives_no_negative_share() {
        let fitted = fit(|n| 1000.0 * n * (1.0 + 0.01 * n));
        assert_eq!((fitted.contention, fitted.coherency, fitted.peak_clients), (0.0, 0.0, None));
    }

    #[test]
    fn too_few_sizes_and_wrong_values_are_refused() {
        let few = scalability(&[1.0, 2.0, 4.0, 4.0, 8.0], &[1.0; 5], 0.95);
        assert_eq!(few, Err(StatsError::TooFew { needed: 5, got: 4 }));
        assert!(scalability(&SIZES, &[1.0, 2.0, 3.0, 0.0, 5.0, 6.0], 0.95).is_err());
        assert!(scalability(&SIZES, &[1.0], 0.95).is_err());
    }

    /// Coverage of the nominal 95 % intervals over 400 simulated scalings with 3 % noise and three
    /// trials per size.
    #[test]
    fn intervals_have_their_nominal_coverage() {
        let (contention, coherency) = (0.08_f64, 0.002);
        let mut generator = Generator::seeded(7);
        // The sum of twelve uniform numbers between -1/2 and 1/2 is nearly normal, with variance 1.
        let mut noise = || {
            (0..12).map(|_| generator.below(1 << 20) as f64 / f64::from(1 << 20) - 0.5).sum::<f64>()
        };
        let sizes: Vec<f64> = SIZES.iter().flat_map(|size| [*size; 3]).collect();
        let mut held = [0; 3];
        let peak = ((1.0 - contention) / coherency).sqrt();
        for _ in 0..400 {
            let measured: Vec<f64> = sizes
                .iter()
                .map(|size| model(contention, coherency)(*size) * (1.0 + 0.03 * noise()))
                .collect();
            let fitted = scalability(&sizes, &measured, 0.95).unwrap();
            held[0] += u32::from(fitted.contention_interval.contains(contention));
            held[1] += u32::from(fitted.coherency_interval.contains(coherency));
            held[2] += u32::from(fitted.peak_interval.is_some_and(|it| it.contains(peak)));
        }
        assert!(held.iter().all(|held| (365..=397).contains(held)), "{held:?}");
    }
}
