//! Pairing of trials: by round number within a campaign, otherwise by proximity in time within a
//! measuring session.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::{STEP_FACT, Trial};

use super::variant::is_completed;

/// Trials of a job, aligned for comparison.
pub(super) struct AlignedTrials<'t> {
    /// True when trials at the same index form a pair.
    pub(super) paired: bool,
    /// Round number of each pair: that of the plan, or the index of the baseline's trial among
    /// those with the same parameters. It is thus the same for every contender.
    pub(super) numbers: Vec<u32>,
    pub(super) baseline: Vec<&'t Trial>,
    pub(super) contender: Vec<&'t Trial>,
    /// Number of completed baseline and contender trials that have no partner although others are
    /// paired.
    pub(super) left_out: [usize; 2],
}

/// Pause in milliseconds between two trials that separates sessions, unless a trial itself takes
/// longer.
const PAUSE_MS: i64 = 3_600_000;
/// Share of the larger variant's trials that must find a partner: three of four.
const PAIRED_SHARE: (usize, usize) = (3, 4);
/// Maximum number of distances examined to find the nearest partners in a session.
const MOST_WEIGHED: usize = 4_000_000;

/// Reports whether both trials have the same parameters, in any order.
fn are_alike(left: &Trial, right: &Trial) -> bool {
    let sorted = |trial: &Trial| {
        let mut parameters = trial.beginning.parameters.clone();
        parameters.sort_unstable();
        parameters
    };
    left.beginning.parameters == right.beginning.parameters || sorted(left) == sorted(right)
}

/// Pairs the trials, given in time order, if they have partners; otherwise returns two unpaired
/// sets.
pub(super) fn align<'t>(baseline: &[&'t Trial], contender: &[&'t Trial]) -> AlignedTrials<'t> {
    if let Some(rounds) = by_rounds_of_a_plan(baseline, contender) {
        return rounds;
    }
    if let ([base], [other]) = (baseline, contender)
        && are_alike(base, other)
    {
        // A single run of each variant is no evidence, whenever the runs took place.
        return from_pairs(baseline, contender, &[(0, 0)]);
    }
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for session in sessions(baseline, contender) {
        pairs.extend(session.pairs(baseline, contender));
    }
    pairs.sort_unstable();
    let count = |variant: &[&Trial]| variant.iter().filter(|trial| is_completed(trial)).count();
    let both = |(base, other): &&(usize, usize)| {
        is_completed(baseline[*base]) && is_completed(contender[*other])
    };
    let larger = count(baseline).max(count(contender));
    let is_covered = pairs.len() * PAIRED_SHARE.1 >= larger * PAIRED_SHARE.0;
    if !is_covered || !pairs.iter().any(|pair| both(&pair)) {
        return unpaired(baseline, contender);
    }
    from_pairs(baseline, contender, &pairs)
}

fn from_pairs<'t>(
    baseline: &[&'t Trial],
    contender: &[&'t Trial],
    pairs: &[(usize, usize)],
) -> AlignedTrials<'t> {
    let alone = |variant: &[&Trial], paired: &mut dyn Iterator<Item = usize>| {
        let paired: BTreeSet<usize> = paired.collect();
        let is_alone =
            |(place, trial): &(usize, &&Trial)| is_completed(trial) && !paired.contains(place);
        variant.iter().enumerate().filter(is_alone).count()
    };
    let number = |place: usize| u32::try_from(place + 1).unwrap_or(u32::MAX);
    AlignedTrials {
        paired: true,
        numbers: pairs.iter().map(|(base, _)| number(*base)).collect(),
        baseline: pairs.iter().map(|(base, _)| baseline[*base]).collect(),
        contender: pairs.iter().map(|(_, other)| contender[*other]).collect(),
        left_out: [
            alone(baseline, &mut pairs.iter().map(|pair| pair.0)),
            alone(contender, &mut pairs.iter().map(|pair| pair.1)),
        ],
    }
}

/// Completed trials as two unpaired sets.
pub(super) fn unpaired<'t>(baseline: &[&'t Trial], contender: &[&'t Trial]) -> AlignedTrials<'t> {
    let completed = |trials: &[&'t Trial]| -> Vec<&'t Trial> {
        trials.iter().copied().filter(|trial| is_completed(trial)).collect()
    };
    let (baseline, contender) = (completed(baseline), completed(contender));
    AlignedTrials { paired: false, numbers: Vec::new(), baseline, contender, left_out: [0, 0] }
}

/// Pairs the trials of one campaign by round number, tolerating missing and repeated rounds; `None`
/// if the trials belong to different campaigns.
fn by_rounds_of_a_plan<'t>(
    baseline: &[&'t Trial],
    contender: &[&'t Trial],
) -> Option<AlignedTrials<'t>> {
    let campaign = baseline.first()?.beginning.cell.as_ref()?.campaign;
    let numbered = |trials: &[&'t Trial]| -> Option<BTreeMap<u32, &'t Trial>> {
        let mut rounds: BTreeMap<u32, &'t Trial> = BTreeMap::new();
        for trial in trials {
            let cell = trial.beginning.cell.as_ref().filter(|cell| cell.campaign == campaign)?;
            // A later trial of a round can replace a failed one, but not a completed one, unless
            // all steps of the round ran again.
            let is_step = trial.fact(STEP_FACT).is_some();
            match rounds.get(&cell.round) {
                Some(earlier) if is_completed(earlier) && !is_step => return None,
                _ => rounds.insert(cell.round, *trial),
            };
        }
        Some(rounds)
    };
    let (mut base, mut other) = (numbered(baseline)?, numbered(contender)?);
    base.retain(|round, _| other.contains_key(round));
    other.retain(|round, _| base.contains_key(round));
    let (numbers, baseline) = base.into_iter().unzip();
    let contender = other.into_values().collect();
    Some(AlignedTrials { paired: true, numbers, baseline, contender, left_out: [0, 0] })
}

/// Indices of the trials of both variants in one session.
#[derive(Default)]
struct MeasuringSession {
    baseline: Vec<usize>,
    contender: Vec<usize>,
}

/// Splits the trials into measuring sessions, in time order.
fn sessions(baseline: &[&Trial], contender: &[&Trial]) -> Vec<MeasuringSession> {
    let spans = |variant: &[&Trial], is_contender: bool| -> Vec<(i64, i64, bool, usize)> {
        let span = |(place, trial): (usize, &&Trial)| {
            let start = trial.beginning.started_unix_ms;
            (start, start.saturating_add(lasted_ms(trial)), is_contender, place)
        };
        variant.iter().enumerate().map(span).collect()
    };
    let mut trials = [spans(baseline, false), spans(contender, true)].concat();
    trials.sort_unstable_by_key(|(start, _, is_contender, place)| (*start, *place, *is_contender));
    let pause = trials.iter().map(|(start, end, ..)| end.saturating_sub(*start));
    let pause = pause.fold(PAUSE_MS, i64::max);
    let mut sessions = Vec::new();
    let mut session = MeasuringSession::default();
    let mut until: Option<i64> = None;
    for (start, end, is_contender, place) in trials {
        if until.is_some_and(|until| start.saturating_sub(until) > pause) {
            sessions.push(std::mem::take(&mut session));
        }
        if is_contender { &mut session.contender } else { &mut session.baseline }.push(place);
        until = Some(until.map_or(end, |until| until.max(end)));
    }
    sessions.push(session);
    sessions
}

fn lasted_ms(trial: &Trial) -> i64 {
    i64::try_from(trial.wall_ns / 1_000_000).unwrap_or(i64::MAX)
}

impl MeasuringSession {
    /// Pairs of a session. If both variants have the same number of trials (a failed one drops its
    /// round) or of completed trials, all are paired in order; otherwise each trial of the smaller
    /// set is paired with the nearest one in time.
    fn pairs(&self, baseline: &[&Trial], contender: &[&Trial]) -> Vec<(usize, usize)> {
        let is_alike = |pair: &(usize, usize)| are_alike(baseline[pair.0], contender[pair.1]);
        let in_order = |base: &[usize], other: &[usize]| -> Option<Vec<(usize, usize)>> {
            let pairs: Vec<_> = base.iter().copied().zip(other.iter().copied()).collect();
            (base.len() == other.len() && pairs.iter().all(is_alike)).then_some(pairs)
        };
        let completed = |places: &[usize], variant: &[&Trial]| -> Vec<usize> {
            places.iter().copied().filter(|place| is_completed(variant[*place])).collect()
        };
        if let Some(pairs) = in_order(&self.baseline, &self.contender) {
            return pairs;
        }
        let base = completed(&self.baseline, baseline);
        let other = completed(&self.contender, contender);
        if let Some(pairs) = in_order(&base, &other) {
            return pairs;
        }
        let start = |variant: &[&Trial], place: &usize| variant[*place].beginning.started_unix_ms;
        let starts = |places: &[usize], variant: &[&Trial]| -> Vec<i64> {
            places.iter().map(|place| start(variant, place)).collect()
        };
        let (base_at, other_at) = (starts(&base, baseline), starts(&other, contender));
        let pairs: Vec<(usize, usize)> = if base.len() < other.len() {
            let places = nearest(&base_at, &other_at);
            base.into_iter().zip(places.into_iter().map(|place| other[place])).collect()
        } else {
            let places = nearest(&other_at, &base_at);
            places.into_iter().map(|place| base[place]).zip(other).collect()
        };
        if pairs.iter().all(is_alike) { pairs } else { Vec::new() }
    }
}

/// Assigns a distinct partner to each time in `fewer`, in order, minimising the total distance;
/// empty when there are too many to examine. Both lists are ascending.
fn nearest(fewer: &[i64], more: &[i64]) -> Vec<usize> {
    let shifts = more.len() + 1 - fewer.len().min(more.len());
    if fewer.is_empty() || fewer.len().saturating_mul(shifts) > MOST_WEIGHED {
        return Vec::new();
    }
    // Minimum total distance so far for each upper bound on the shift of the last partner, with the
    // shift that attains it.
    let mut sums = vec![0_u64; shifts];
    let mut chosen: Vec<Vec<usize>> = Vec::with_capacity(fewer.len());
    for (place, at) in fewer.iter().enumerate() {
        let mut best = (u64::MAX, 0);
        let mut row = Vec::with_capacity(shifts);
        for (shift, sum) in sums.iter_mut().enumerate() {
            let distance = sum.saturating_add(at.abs_diff(more[place + shift]));
            if distance < best.0 {
                best = (distance, shift);
            }
            *sum = best.0;
            row.push(best.1);
        }
        chosen.push(row);
    }
    let mut most = shifts - 1;
    let mut partners: Vec<usize> = Vec::with_capacity(fewer.len());
    for (place, row) in chosen.iter().enumerate().rev() {
        most = row[most];
        partners.push(place + most);
    }
    partners.reverse();
    partners
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn partners_are_the_nearest_in_order() {
        assert_eq!(nearest(&[11, 31], &[10, 20, 30]), [0, 2]);
        assert_eq!(nearest(&[19, 21], &[0, 20, 40]), [0, 1], "each once: 19 + 1");
        assert_eq!(nearest(&[29, 30], &[0, 20, 31]), [1, 2]);
        assert_eq!(nearest(&[5], &[1, 2, 3]), [2]);
        assert_eq!(nearest(&[1, 2], &[7, 8]), [0, 1]);
        assert!(nearest(&[], &[1]).is_empty());
    }
}
