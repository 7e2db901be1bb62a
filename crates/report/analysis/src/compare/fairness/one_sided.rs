//! Facts and cautions present on one variant only.

use std::collections::BTreeMap;

use treering_model::CautionCode;

use super::VariantView;
use crate::compare::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use crate::compare::variant::Factor;

/// Cautions that are no difference of conditions: undropped caches have a caution of their own, the
/// others follow from a variant's speed or from where results were kept.
const ELSEWHERE: [CautionCode; 5] = [
    CautionCode::CachesNotDropped,
    CautionCode::StoreStaged,
    CautionCode::TooFewOperations,
    CautionCode::TooShort,
    CautionCode::FlushesDecide,
];

/// Cautions that only the plan of a trial can bring about, by a key of its variant.
const DECLARED: [CautionCode; 1] = [CautionCode::Handicapped];

/// Cautions about the cautions that all trials of one variant carry and none of the other: a
/// difference between the variants.
pub(in crate::compare) fn of_cautions(
    baseline: VariantView<'_>,
    contender: VariantView<'_>,
) -> Vec<ComparisonCaution> {
    let (left, right) = (counted(baseline), counted(contender));
    let is_planned = contender.factor == Factor::Variant
        && [baseline, contender].iter().all(|variant| is_of_plan(*variant));
    let of = |(variant, own): (VariantView<'_>, &CautionCounts<'_>),
              (other, others): (VariantView<'_>, &CautionCounts<'_>),
              is_declared: bool| {
        let trial_count = variant.rounds.len();
        let is_one_sided = |(code, (count, _)): &(&CautionCode, &(usize, &str))| {
            let declares = is_planned && DECLARED.contains(code);
            *count == trial_count
                && !others.contains_key(code)
                && !ELSEWHERE.contains(code)
                && declares == is_declared
        };
        let one_sided = own.iter().filter(is_one_sided);
        let descriptions: Vec<String> =
            one_sided.map(|(code, (_, first))| format!("{} ({first})", code.name())).collect();
        let trials = if trial_count == 1 {
            "the trial".to_owned()
        } else {
            format!("all {trial_count} trials")
        };
        let message = format!(
            "{trials} of '{}' and none of '{}': {}",
            variant.name,
            other.name,
            descriptions.join("; ")
        );
        let is_known = trial_count > 0 && !other.rounds.is_empty() && !descriptions.is_empty();
        is_known.then(|| ComparisonCaution::new(Code::OneSided, message).declared_if(is_declared))
    };
    let (left, right) = ((baseline, &left), (contender, &right));
    let sides = [(left, right), (right, left)];
    let both = |(own, other)| [false, true].map(|is_declared| of(own, other, is_declared));
    sides.into_iter().flat_map(both).flatten().collect()
}

/// Reports whether all trials of a variant are of a plan.
fn is_of_plan(variant: VariantView<'_>) -> bool {
    variant.rounds.iter().all(|trial| trial.beginning.cell.is_some())
}

/// Number of trials with each caution, with the message of the first.
type CautionCounts<'t> = BTreeMap<CautionCode, (usize, &'t str)>;

fn counted(variant: VariantView<'_>) -> CautionCounts<'_> {
    let mut counts = CautionCounts::new();
    for trial in variant.rounds {
        let mut own: Vec<(CautionCode, &str)> =
            trial.cautions.iter().map(|caution| (caution.code, caution.message.as_str())).collect();
        own.sort_by_key(|(code, _)| *code);
        own.dedup_by_key(|(code, _)| *code);
        for (code, message) in own {
            counts.entry(code).or_insert((0, message)).0 += 1;
        }
    }
    counts
}
