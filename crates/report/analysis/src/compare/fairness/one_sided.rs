//! Facts and cautions present on one variant only.

use std::collections::BTreeMap;

use treering_model::CautionCode;

use super::VariantView;
use crate::compare::caution::{ComparisonCaution, ComparisonCautionCode as Code};

/// Cautions that are no difference of conditions: undropped caches have a caution of their own, the
/// others follow from a variant's speed or from where results were kept.
const ELSEWHERE: [CautionCode; 5] = [
    CautionCode::CachesNotDropped,
    CautionCode::StoreStaged,
    CautionCode::TooFewOperations,
    CautionCode::TooShort,
    CautionCode::FlushesDecide,
];

/// Cautions about the cautions that all trials of one variant carry and none of the other: a
/// difference between the variants.
pub(in crate::compare) fn of_cautions(
    baseline: VariantView<'_>,
    contender: VariantView<'_>,
) -> Vec<ComparisonCaution> {
    let (left, right) = (counted(baseline), counted(contender));
    let of = |variant: VariantView<'_>,
              own: &CautionCounts<'_>,
              other: VariantView<'_>,
              others: &CautionCounts<'_>| {
        let trial_count = variant.rounds.len();
        let is_one_sided = |(code, (count, _)): &(&CautionCode, &(usize, &str))| {
            *count == trial_count && !others.contains_key(code) && !ELSEWHERE.contains(code)
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
        is_known.then(|| ComparisonCaution::new(Code::OneSided, message))
    };
    let cautions = [of(baseline, &left, contender, &right), of(contender, &right, baseline, &left)];
    cautions.into_iter().flatten().collect()
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
