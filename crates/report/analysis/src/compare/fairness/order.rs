//! Order of the trials of two variants: interleaving, and rounds in which the same variant always
//! ran first.

use treering_model::Trial;

/// Minimum number of pairs at which a fair schedule cannot have the same order throughout by
/// chance.
pub(super) const PAIRS_FEWEST: usize = 4;
/// Probability below which an order that rarely changes counts as unchanging.
const UNLIKELY_ORDER: f64 = 0.01;
/// Share of a variant's trials that precede all, or follow all, of the other's trials above which
/// the variants count as not interleaved.
const APART_SHARE: f64 = 0.75;

/// Explains why the variants are not interleaved; `None` if they are. Each variant must have at
/// least two trials.
pub(super) fn interleaving_fault(
    baseline: &[&Trial],
    contender: &[&Trial],
    names: (&str, &str),
) -> Option<String> {
    let (left, right) = (times(baseline), times(contender));
    let mut start_times = left.iter().chain(&right);
    let first = start_times.next();
    if start_times.all(|time| Some(time) == first) {
        return Some("all trials have the same start time, so their order is unknown".to_owned());
    }
    for (own, others, name, other) in
        [(&left, &right, names.0, names.1), (&right, &left, names.1, names.0)]
    {
        let (before, after) = before_and_after(own, others);
        for (count, word) in [(before, "before"), (after, "after")] {
            if count as f64 > APART_SHARE * own.len() as f64 {
                let trial_count = own.len();
                return Some(format!(
                    "{count} of {trial_count} trials of '{name}' were run {word} all of '{other}'"
                ));
            }
        }
    }
    let (fewer, name, other) = if left.len() <= right.len() {
        (left.len(), names.0, names.1)
    } else {
        (right.len(), names.1, names.0)
    };
    let neighbours = neighbours(&left, &right);
    (2 * neighbours < fewer).then(|| {
        format!(
            "they were run in long blocks: only {neighbours} of {fewer} trials of '{name}' have \
             one of '{other}' of their own next to them"
        )
    })
}

/// Order in which the same variant ran first in all rounds, or in nearly all.
pub(super) struct OneSidedOrder<'n> {
    /// Name of the variant that ran first.
    pub first: &'n str,
    /// Name of the variant that ran second.
    pub second: &'n str,
    /// Number of rounds in this order.
    pub rounds: usize,
}

/// Order that hardly ever changed: the same variant ran first in all of at least four rounds, or so
/// often that a random order does so in less than [`UNLIKELY_ORDER`] of campaigns. `None` if the
/// order changed or is unknown.
pub(super) fn one_sided_order<'n>(
    baseline: &[&Trial],
    contender: &[&Trial],
    names: (&'n str, &'n str),
) -> Option<OneSidedOrder<'n>> {
    let started = |trial: &Trial| trial.beginning.started_unix_ms;
    let pairs =
        || baseline.iter().zip(contender).map(|(base, other)| (started(base), started(other)));
    let total = pairs().count();
    let baseline_first = pairs().filter(|(base, other)| base < other).count();
    let contender_first = pairs().filter(|(base, other)| base > other).count();
    let is_one_sided = |rounds: usize| {
        total >= PAIRS_FEWEST && (rounds == total || chance_of(rounds, total) < UNLIKELY_ORDER)
    };
    [(names.0, names.1, baseline_first), (names.1, names.0, contender_first)]
        .into_iter()
        .map(|(first, second, rounds)| OneSidedOrder { first, second, rounds })
        .find(|order| is_one_sided(order.rounds))
}

/// Probability that one variant, whichever it is, runs first in at least `rounds` of `all` rounds
/// with random order (two-sided binomial).
fn chance_of(rounds: usize, all: usize) -> f64 {
    let mut ways = 1.0;
    let mut tail = 0.0;
    for others in 0..=(all - rounds) {
        tail += ways;
        ways *= (all - others) as f64 / (others + 1) as f64;
    }
    2.0 * tail * 0.5_f64.powi(i32::try_from(all).unwrap_or(i32::MAX))
}

fn times(trials: &[&Trial]) -> Vec<i64> {
    let mut times: Vec<i64> = trials.iter().map(|trial| trial.beginning.started_unix_ms).collect();
    times.sort_unstable();
    times
}

/// Number of times before all of the others, and after all of them. Both lists are ascending.
fn before_and_after(own: &[i64], others: &[i64]) -> (usize, usize) {
    let (Some(first), Some(last)) = (others.first(), others.last()) else { return (0, 0) };
    (own.iter().filter(|at| *at < first).count(), own.iter().filter(|at| *at > last).count())
}

/// Maximum number of disjoint pairs of adjacent trials from different variants. Both lists are
/// ascending.
fn neighbours(left: &[i64], right: &[i64]) -> usize {
    let tagged = |times: &[i64], variant: bool| -> Vec<(i64, bool)> {
        times.iter().map(|at| (*at, variant)).collect()
    };
    let mut order = [tagged(left, false), tagged(right, true)].concat();
    order.sort_unstable();
    let (mut count, mut place) = (0, 0);
    while place + 1 < order.len() {
        let (current, next) = (order[place], order[place + 1]);
        // The order of trials with the same start time is unknown.
        if current.1 == next.1 && current.0 != next.0 {
            place += 1;
        } else {
            count += 1;
            place += 2;
        }
    }
    count
}
