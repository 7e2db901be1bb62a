//! Facts that differ between two groups of trials and may explain a change between them.

use treering_model::Trial;

use crate::compare::{
    ComparedVariant, EnvironmentFact, FactStatus, FactValue, Factor, environment,
};

/// Fact whose value differs before and after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFact {
    /// Name of the fact.
    pub name: String,
    /// Values before the change.
    pub before: String,
    /// Values after the change.
    pub after: String,
}

/// Facts that differ between earlier and later trials, except volatile ones; facts with a single
/// value on each side come first.
pub(crate) fn changed_facts(before: Vec<Trial>, after: Vec<Trial>) -> Vec<ChangedFact> {
    let variant = |trials: Vec<Trial>| ComparedVariant {
        name: String::new(),
        factor: Factor::Id,
        against: None,
        trials,
    };
    let facts = environment(&variant(before), &[variant(after)]);
    let values = |values: &[FactValue]| {
        values.iter().map(|value| value.value.as_str()).collect::<Vec<_>>().join(", ")
    };
    // Facts that one side lacks are unknown there: later versions record more of them.
    let has_changed = |fact: &&EnvironmentFact| {
        fact.status == FactStatus::Differs && fact.variants.iter().all(|side| !side.is_empty())
    };
    let mut changed: Vec<(usize, ChangedFact)> = facts
        .iter()
        .filter(has_changed)
        .map(|fact| {
            let count = fact.variants[0].len() + fact.variants[1].len();
            let [before, after] = [0, 1].map(|side| values(&fact.variants[side]));
            (count, ChangedFact { name: fact.name.clone(), before, after })
        })
        .collect();
    changed.sort_by_key(|(count, _)| *count);
    changed.into_iter().map(|(_, fact)| fact).collect()
}
