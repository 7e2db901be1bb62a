//! Facts and cautions present on one variant only.

use std::collections::BTreeMap;

use treering_model::CautionCode;

use super::Seen;
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
    baseline: Seen<'_>,
    contender: Seen<'_>,
) -> Vec<ComparisonCaution> {
    let (left, right) = (counted(baseline), counted(contender));
    let of = |variant: Seen<'_>, own: &Cautions<'_>, other: Seen<'_>, others: &Cautions<'_>| {
        let all = variant.rounds.len();
        let is_one_sided = |(code, (count, _)): &(&CautionCode, &(usize, &str))| {
            *count == all && !others.contains_key(code) && !ELSEWHERE.contains(code)
        };
        let found = own.iter().filter(is_one_sided);
        let said: Vec<String> =
            found.map(|(code, (_, first))| format!("{} ({first})", code.name())).collect();
        let trials = if all == 1 { "the trial".to_owned() } else { format!("all {all} trials") };
        let message = format!(
            "{trials} of '{}' and none of '{}': {}",
            variant.name,
            other.name,
            said.join("; ")
        );
        let is_known = all > 0 && !other.rounds.is_empty() && !said.is_empty();
        is_known.then(|| ComparisonCaution::new(Code::OneSided, message))
    };
    let found = [of(baseline, &left, contender, &right), of(contender, &right, baseline, &left)];
    found.into_iter().flatten().collect()
}

/// Number of trials with each caution, with the message of the first.
type Cautions<'t> = BTreeMap<CautionCode, (usize, &'t str)>;

fn counted(variant: Seen<'_>) -> Cautions<'_> {
    let mut counts = Cautions::new();
    for trial in variant.rounds {
        let mut own: Vec<(CautionCode, &str)> =
            trial.cautions.iter().map(|one| (one.code, one.message.as_str())).collect();
        own.sort_by_key(|(code, _)| *code);
        own.dedup_by_key(|(code, _)| *code);
        for (code, message) in own {
            counts.entry(code).or_insert((0, message)).0 += 1;
        }
    }
    counts
}
