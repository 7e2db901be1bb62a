//! In which order the trials of two variants were run: whether they took turns, and whether the
//! same variant always went first.

use treering_model::Trial;

/// From so many pairs on an order that never changes is no chance of a fair schedule.
pub(super) const PAIRS_FEWEST: usize = 4;
/// With more than this share of its trials before all of the other variant, or after all of it, a
/// variant stands apart in time.
const APART_SHARE: f64 = 0.75;

/// Why the variants did not take turns, in words; `None` where they did. Each variant has two
/// trials at least.
pub(super) fn apart(
    baseline: &[&Trial],
    contender: &[&Trial],
    names: (&str, &str),
) -> Option<String> {
    let (left, right) = (times(baseline), times(contender));
    for (own, others, name, other) in
        [(&left, &right, names.0, names.1), (&right, &left, names.1, names.0)]
    {
        let (before, after) = outside(own, others);
        for (count, word) in [(before, "before"), (after, "after")] {
            if count as f64 > APART_SHARE * own.len() as f64 {
                let all = own.len();
                return Some(format!(
                    "{count} of {all} trials of '{name}' were run {word} all of '{other}'"
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

/// Which variant went first in each of the pairs; `None` where that changes, or nobody knows.
pub(super) fn always_first<'n>(
    baseline: &[&Trial],
    contender: &[&Trial],
    names: (&'n str, &'n str),
) -> Option<(&'n str, &'n str)> {
    let pairs = || {
        let started = |trial: &Trial| trial.beginning.started_unix_ms;
        baseline.iter().zip(contender).map(move |(base, other)| (started(base), started(other)))
    };
    if baseline.len().min(contender.len()) < PAIRS_FEWEST {
        return None;
    }
    if pairs().all(|(base, other)| base < other) {
        return Some(names);
    }
    pairs().all(|(base, other)| base > other).then_some((names.1, names.0))
}

fn times(trials: &[&Trial]) -> Vec<i64> {
    let mut times: Vec<i64> = trials.iter().map(|trial| trial.beginning.started_unix_ms).collect();
    times.sort_unstable();
    times
}

/// How many moments are before all of the others, and how many after. Both ascend.
fn outside(own: &[i64], others: &[i64]) -> (usize, usize) {
    let (Some(first), Some(last)) = (others.first(), others.last()) else { return (0, 0) };
    (own.iter().filter(|at| *at < first).count(), own.iter().filter(|at| *at > last).count())
}

/// The most pairs of neighbours in time with one trial of each variant, each trial in one pair.
/// Both ascend.
fn neighbours(left: &[i64], right: &[i64]) -> usize {
    let of = |times: &[i64], variant: bool| -> Vec<(i64, bool)> {
        times.iter().map(|at| (*at, variant)).collect()
    };
    let mut order = [of(left, false), of(right, true)].concat();
    order.sort_unstable();
    let (mut count, mut place) = (0, 0);
    while place + 1 < order.len() {
        let (one, next) = (order[place], order[place + 1]);
        // Who began in the same moment has no order.
        if one.1 == next.1 && one.0 != next.0 {
            place += 1;
        } else {
            count += 1;
            place += 2;
        }
    }
    count
}
