//! Campaigns that continue beyond their plan.

#![expect(clippy::disallowed_macros, reason = "the figures are those of docs/evidence/truth.md")]

use treering_analysis::compare::{
    ComparedVariant, ComparisonCautionCode as Code, ComparisonTerms, Outcome, compare,
};
use treering_model::{Fact, ROUNDS_FACT};

use crate::campaign::{planned, rounds, variants};
use crate::noise::SeededNoise;

/// Campaign of `count` rounds with noise, in which `effect` is the factor of the new side's rate.
fn campaign(count: usize, effect: f64, seed: u64) -> [ComparedVariant; 2] {
    let mut noise = SeededNoise(seed);
    let order = rounds(count, || noise.uniform() < 0.5);
    let mut noise = SeededNoise(seed + 1);
    let rate =
        |is_new: &bool| 100.0 * (1.0 + 0.04 * noise.normal()) * if *is_new { effect } else { 1.0 };
    let rates: Vec<f64> = order.iter().map(rate).collect();
    planned(variants(&order, &rates))
}

/// Compares a campaign whose plan had `first` rounds and then `all`.
fn judged(mut campaign: [ComparedVariant; 2], first: usize, all: usize) -> Outcome {
    for variant in &mut campaign {
        for (place, trial) in variant.trials.iter_mut().enumerate() {
            let planned = if place < first { first } else { all };
            let value = planned.to_string();
            trial.facts.push(Fact { name: ROUNDS_FACT.to_owned(), value });
        }
    }
    let [base, other] = campaign;
    compare(&base, &[other], &ComparisonTerms::default()).unwrap()
}

fn level(outcome: &Outcome) -> f64 {
    outcome.comparisons[0].decided.unwrap().level
}

fn says_so(outcome: &Outcome) -> bool {
    outcome.cautions.iter().any(|caution| caution.code == Code::LookedBefore)
}

#[test]
fn rounds_beyond_the_plan_are_judged_at_a_lower_level_and_the_page_says_so() {
    let went_on = judged(campaign(24, 0.97, 3), 12, 24);
    assert_eq!(level(&went_on), 0.01);
    let looked_before =
        went_on.cautions.iter().find(|caution| caution.code == Code::LookedBefore).unwrap();
    assert!(looked_before.message.contains("after 12 rounds"), "{}", looked_before.message);
    assert!(!looked_before.code.stops_gate());
    let as_planned = judged(campaign(24, 0.97, 3), 24, 24);
    assert_eq!((level(&as_planned), says_so(&as_planned)), (0.05, false));
}

#[test]
fn rounds_that_could_not_show_a_difference_spend_nothing() {
    let outcome = judged(campaign(12, 0.97, 3), 5, 12);
    assert_eq!((level(&outcome), says_so(&outcome)), (0.05, false));
}

#[test]
fn a_difference_at_the_threshold_is_called_the_same_no_more_often_by_going_on() {
    let is_same = |outcome: &Outcome| outcome.comparisons[0].verdict.name() == "same";
    let is_open = |outcome: &Outcome| outcome.comparisons[0].verdict.name() == "unclear";
    let looked = |seed: &u64| {
        // The sides differ by exactly the threshold for being the same.
        let whole = campaign(160, 1.0 / 1.03, 900 + 2 * seed);
        [10, 20, 40, 80, 160].into_iter().find_map(|count| {
            let mut part = whole.clone();
            part.iter_mut().for_each(|variant| variant.trials.truncate(count));
            let outcome = judged(part, 10, count);
            (!is_open(&outcome)).then(|| is_same(&outcome))
        })
    };
    let same = (0..200).filter_map(|seed| looked(&seed)).filter(|same| *same).count();
    println!("same: {same} of 200");
    assert!(same <= 16, "{same} of 200");
}

#[test]
fn a_side_against_itself_differs_in_six_percent_of_campaigns_that_go_on_when_unclear() {
    let is_open = |outcome: &Outcome| outcome.comparisons[0].verdict.name() == "unclear";
    let is_alarm = |seed: &u64| {
        let whole = campaign(40, 1.0, 100 + 2 * seed);
        let first = whole.clone().map(|mut variant| {
            variant.trials.truncate(12);
            variant
        });
        let mut outcome = judged(first, 12, 12);
        if is_open(&outcome) {
            outcome = judged(whole, 12, 40);
        }
        !is_open(&outcome) && outcome.comparisons[0].verdict.name() != "same"
    };
    let alarms = (0..300).filter(is_alarm).count();
    println!("{alarms} of 300");
    assert!(alarms <= 21, "{alarms} of 300");
}
