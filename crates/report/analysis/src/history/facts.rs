//! What two groups of trials know differently: the suspects of a change between them.

use treering_model::Trial;

use crate::compare::{ComparedVariant, FactValue, Factor, Standing, environment};

/// A fact that has one value before a change and another one after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFact {
    /// Its name.
    pub name: String,
    /// Its values before.
    pub before: String,
    /// Its values after.
    pub after: String,
}

/// The facts that differ between earlier and later trials, momentary ones left out; those that have
/// one value on each side first.
pub(crate) fn changed_facts(before: Vec<Trial>, after: Vec<Trial>) -> Vec<ChangedFact> {
    let variant = |trials: Vec<Trial>| ComparedVariant {
        name: String::new(),
        factor: Factor::Id,
        against: None,
        trials,
    };
    let facts = environment(&variant(before), &[variant(after)]);
    let values = |values: &[FactValue]| {
        values.iter().map(|one| one.value.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut changed: Vec<(usize, ChangedFact)> = facts
        .iter()
        .filter(|fact| fact.standing == Standing::Differs && fact.variants.len() == 2)
        .map(|fact| {
            let count = fact.variants[0].len() + fact.variants[1].len();
            let [before, after] = [0, 1].map(|side| values(&fact.variants[side]));
            (count, ChangedFact { name: fact.name.clone(), before, after })
        })
        .collect();
    changed.sort_by_key(|(count, _)| *count);
    changed.into_iter().map(|(_, fact)| fact).collect()
}
