//! Cautions that the trials of one variant carry more often than those of the other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use treering_model::{CautionCode, GuestSpec, Trial};
use treering_stats::{ALPHA, fisher_exact, holm, mann_whitney, median};

use super::VariantView;
use crate::compare::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use crate::compare::variant::Factor;

/// Cautions that do not describe a difference of conditions. Undropped caches have a caution of
/// their own; the others depend on the speed of a variant or on the place of the results.
const COVERED_ELSEWHERE: [CautionCode; 6] = [
    CautionCode::CachesNotDropped,
    CautionCode::StoreStaged,
    CautionCode::TooFewOperations,
    CautionCode::TooShort,
    CautionCode::FlushesDecide,
    CautionCode::RequestsLate,
];

/// Cautions that are only caused by a key of a variant in a plan.
const DECLARED: [CautionCode; 1] = [CautionCode::Handicapped];

/// Cautions about cautions that the trials of one variant carry and those of the other do not, or
/// clearly less often, which indicates a difference between the variants.
pub(in crate::compare) fn of_cautions(
    baseline: VariantView<'_>,
    contender: VariantView<'_>,
) -> Vec<ComparisonCaution> {
    if baseline.rounds.is_empty() || contender.rounds.is_empty() {
        return Vec::new();
    }
    let is_planned = contender.factor == Factor::Variant
        && [baseline, contender].iter().all(|variant| is_of_plan(*variant));
    let sides = [(baseline, count_cautions(baseline)), (contender, count_cautions(contender))];
    let kinds: BTreeSet<CautionKind<'_>> =
        sides.iter().flat_map(|(_, counts)| counts.keys().copied()).collect();
    let kinds: Vec<CautionKind<'_>> =
        kinds.into_iter().filter(|(code, _)| !COVERED_ELSEWHERE.contains(code)).collect();
    let shares = |kind: &CautionKind<'_>| {
        sides.each_ref().map(|(variant, counts)| Share {
            count: counts.get(kind).map_or(0, |(count, _)| *count),
            of: variant.rounds.iter().filter(|trial| is_observable(kind.0, trial)).count(),
        })
    };
    let p_values: Vec<f64> =
        kinds.iter().filter_map(|kind| shares(kind)[0].p_value(shares(kind)[1])).collect();
    let corrected = holm(&p_values).unwrap_or_default();
    // Cautions that each variant has more often than the other: first undeclared ones, then
    // declared ones.
    let mut descriptions: [[Vec<String>; 2]; 2] = Default::default();
    for (kind, p) in kinds.iter().zip(corrected) {
        let (code, [left, right]) = (&kind.0, shares(kind));
        if left.of == 0 || right.of == 0 {
            continue;
        }
        if p >= ALPHA && (TIMED.contains(code) || !left.is_apart(right)) {
            continue;
        }
        let more = usize::from(right.exceeds(left));
        let first = sides[more].1.get(kind).map_or("", |(_, first)| *first);
        let (own, other) = if more == 1 { (right, left) } else { (left, right) };
        let is_declared = usize::from(is_planned && DECLARED.contains(code));
        let description = format!("{} in {own} against {other} ({first})", code.name());
        descriptions[more][is_declared].push(description);
    }
    let mut cautions = Vec::new();
    for (more, descriptions) in descriptions.into_iter().enumerate() {
        let (own, other) = (sides[more].0.name, sides[1 - more].0.name);
        for (is_declared, descriptions) in [false, true].into_iter().zip(descriptions) {
            if descriptions.is_empty() {
                continue;
            }
            let message = format!(
                "trials of '{own}', against those of '{other}': {}",
                descriptions.join("; ")
            );
            let caution = ComparisonCaution::new(Code::OneSided, message);
            cautions.push(caution.declared_if(is_declared));
        }
    }
    cautions
}

/// Least difference of two shares of waiting at which the host has disturbed one variant more.
const WAITING_APART: f64 = 0.25;

/// Caution about guests of one variant that waited longer for CPUs of the host than those of the
/// other. On a busy host all trials carry a caution, whose counts then tell nothing.
pub(in crate::compare) fn of_waiting_guests(
    baseline: VariantView<'_>,
    contender: VariantView<'_>,
) -> Option<ComparisonCaution> {
    let sides = [baseline, contender];
    let shares = sides.map(|variant| {
        variant.rounds.iter().filter_map(|trial| waiting_share(trial)).collect::<Vec<f64>>()
    });
    let medians = [median(&shares[0]).ok()?, median(&shares[1]).ok()?];
    let is_clear = mann_whitney(&shares[0], &shares[1]).ok()?.p_value < ALPHA;
    if !is_clear || (medians[0] - medians[1]).abs() < WAITING_APART {
        return None;
    }
    let more = usize::from(medians[1] > medians[0]);
    let message = format!(
        "guests of '{}' waited for a CPU of the host in {:.0} % of the time in which they could \
         have run, those of '{}' in {:.0} % (medians)",
        sides[more].name,
        medians[more] * 100.0,
        sides[1 - more].name,
        medians[1 - more] * 100.0,
    );
    Some(ComparisonCaution::new(Code::OneSided, message))
}

/// Share of the time in which the threads of QEMU could have run that they waited for a CPU.
fn waiting_share(trial: &Trial) -> Option<f64> {
    let ran = trial.fact_seconds(GuestSpec::CPU_FACT)?;
    let waited = trial.fact_seconds(GuestSpec::RUN_DELAY_FACT)?;
    (ran + waited > 0.0).then(|| waited / (ran + waited))
}

/// Number of trials of a variant that carry a caution, and number of its trials.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) count: usize,
    pub(super) of: usize,
}

impl Share {
    /// Exact p-value of the hypothesis that both variants have the caution equally often.
    fn p_value(self, other: Self) -> Option<f64> {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let pair = |share: Self| (count(share.count), count(share.of));
        fisher_exact(pair(self), pair(other)).ok()
    }

    /// Reports whether all trials of one variant have the caution and none of the other. With few
    /// trials this is a difference even if no test can be significant.
    fn is_apart(self, other: Self) -> bool {
        let is_all = |share: Self| share.count == share.of;
        (is_all(self) && other.count == 0) || (is_all(other) && self.count == 0)
    }

    fn exceeds(self, other: Self) -> bool {
        self.count * other.of > other.count * self.of
    }

    /// Reports whether the counts differ by more than chance explains.
    pub(super) fn differs(self, other: Self) -> bool {
        self.is_apart(other) || self.p_value(other).is_some_and(|p| p < ALPHA)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.count, self.of)
    }
}

/// Cautions that only longer trials can have, as CPU time is counted in ticks of 1/100 s.
const TIMED: [CautionCode; 2] = [CautionCode::OtherLoad, CautionCode::Stolen];
/// Shortest trial that can have these cautions, in nanoseconds.
const TIMED_SHORTEST_NS: u64 = 500_000_000;

/// Reports whether a trial can show a caution. Shorter trials are not counted as free of it, so
/// that a faster variant does not seem to be less disturbed.
fn is_observable(code: CautionCode, trial: &Trial) -> bool {
    !TIMED.contains(&code)
        || trial.wall_ns >= TIMED_SHORTEST_NS
        || trial.cautions.iter().any(|caution| caution.code == code)
}

/// Reports whether all trials of a variant belong to a plan.
fn is_of_plan(variant: VariantView<'_>) -> bool {
    variant.rounds.iter().all(|trial| trial.beginning.cell.is_some())
}

/// Code of a caution, with its message for handicaps, which may differ in size.
type CautionKind<'t> = (CautionCode, &'t str);

/// Number of trials with each caution, and the message of the first one.
type CautionCounts<'t> = BTreeMap<CautionKind<'t>, (usize, &'t str)>;

fn count_cautions(variant: VariantView<'_>) -> CautionCounts<'_> {
    let mut counts = CautionCounts::new();
    for trial in variant.rounds {
        let mut own: Vec<(CautionCode, &str)> =
            trial.cautions.iter().map(|caution| (caution.code, caution.message.as_str())).collect();
        own.sort_by_key(|(code, _)| *code);
        own.dedup_by_key(|(code, _)| *code);
        for (code, message) in own {
            let kind = (code, if DECLARED.contains(&code) { message } else { "" });
            counts.entry(kind).or_insert((0, message)).0 += 1;
        }
    }
    counts
}
