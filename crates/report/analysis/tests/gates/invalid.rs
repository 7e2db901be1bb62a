//! The gate is undecided if the rounds violate an assumption of the statistics.

use treering_analysis::compare::{
    ComparedVariant, ComparisonCautionCode as Code, ComparisonTerms, Gate, Outcome, compare,
};

use crate::campaign::{Answers, TrialOrder, blocks, compared, rounds, trial, variants};
use crate::noise::{Memory, SeededNoise};

/// Gate verdicts over campaigns, first without accepted cautions, then with one accepted.
fn answers(
    campaigns: usize,
    accepted: Code,
    mut campaign: impl FnMut() -> Outcome,
) -> [Answers; 2] {
    let mut answers = [Answers::default(); 2];
    for _ in 0..campaigns {
        let outcome = campaign();
        answers[0].count(outcome.clone(), &[]);
        answers[1].count(outcome, &[accepted]);
    }
    answers
}

/// Rates around 100 that fall by this share from trial to trial, with noise of 1 %.
fn drifting(order: &TrialOrder, share: f64, noise: &mut SeededNoise) -> Vec<f64> {
    let rate = |place: usize| 100.0 * (0.01 * noise.normal() - share * place as f64).exp();
    (0..order.len()).map(rate).collect()
}

#[test]
fn a_drifting_machine_fails_no_gate_where_all_of_one_variant_ran_first() {
    let mut noise = SeededNoise(1);
    let old_first = blocks(8, 8);
    let [plain, accepted] = answers(40, Code::NotInterleaved, || {
        compared(&old_first, &drifting(&old_first, 0.005, &mut noise))
    });
    assert_eq!(plain, Answers { unclear: 40, ..Answers::default() });
    assert!(accepted.worse >= 30, "the drift looks like a difference: {accepted:?}");
    // On the same machine, interleaved variants are rarely judged worse.
    let mut in_turns = Answers::default();
    for _ in 0..100 {
        let order = rounds(8, || noise.uniform() < 0.5);
        in_turns.count(compared(&order, &drifting(&order, 0.005, &mut noise)), &[]);
    }
    assert!(in_turns.worse <= 5, "{in_turns:?}");
}

#[test]
fn a_drifting_machine_fails_no_gate_where_the_same_variant_ran_first_in_each_round() {
    let mut noise = SeededNoise(7);
    let old_first = rounds(10, || false);
    for share in [0.04, 0.06] {
        let [plain, accepted] = answers(40, Code::OrderNeverChanges, || {
            compared(&old_first, &drifting(&old_first, share, &mut noise))
        });
        assert_eq!(plain, Answers { unclear: 40, ..Answers::default() }, "{share}");
        assert!(accepted.worse >= 20, "{share}: {accepted:?}");
    }
}

#[test]
fn a_machine_with_memory_decides_no_gate_in_blocks_and_passes_it_in_turns() {
    let mut noise = SeededNoise(2);
    let mut campaign = |order: &TrialOrder| {
        let mut memory = Memory::new(0.8, &mut noise);
        let rate = |_: &bool| 100.0 * (0.03 * memory.next(&mut noise)).exp();
        compared(order, &order.iter().map(rate).collect::<Vec<f64>>())
    };
    for block in [12, 6, 4] {
        let [plain, accepted] = answers(60, Code::NotInterleaved, || campaign(&blocks(block, 12)));
        assert_eq!(plain.pass + plain.worse, 0, "blocks of {block}: {plain:?}");
        assert!(accepted.pass + accepted.worse > 20, "blocks of {block}: {accepted:?}");
    }
    // Both variants of short blocks share the autocorrelated noise.
    for block in [3, 2, 1] {
        let mut answers = Answers::default();
        (0..200).for_each(|_| answers.count(campaign(&blocks(block, 12)), &[]));
        assert!(answers.worse <= 10, "blocks of {block}: {answers:?}");
    }
}

#[test]
fn a_baseline_that_differs_from_itself_decides_no_gate() {
    let mut noise = SeededNoise(3);
    let mut gates = [Answers::default(); 2];
    for _ in 0..40 {
        let order = rounds(8, || noise.uniform() < 0.5);
        let mut variants_of = |factor: f64| -> [ComparedVariant; 2] {
            let rate = |is_contender: &bool| {
                100.0 * (0.01 * noise.normal()).exp() * if *is_contender { factor } else { 1.0 }
            };
            variants(&order, &order.iter().map(rate).collect::<Vec<f64>>())
        };
        let ([base, again], [_, other]) = (variants_of(1.1), variants_of(0.9));
        let terms = ComparisonTerms::default();
        let mut outcome = compare(&base, &[other], &terms).unwrap();
        outcome.check_control(&base, &again, &terms).unwrap();
        gates[0].count(outcome.clone(), &[]);
        gates[1].count(outcome, &[Code::Unstable]);
    }
    assert_eq!(gates[0].unclear, 40);
    assert!(gates[1].worse >= 36, "{gates:?}");
}

#[test]
fn trials_without_partners_decide_no_gate() {
    let mut noise = SeededNoise(4);
    let [plain, accepted] = answers(40, Code::Unpaired, || {
        let order = rounds(8, || noise.uniform() < 0.5);
        let [mut base, mut other] = variants(&order, &drifting(&order, 0.0, &mut noise));
        for (variant, seed) in [(&mut base, "1"), (&mut other, "2")] {
            let seed = ("seed".to_owned(), seed.to_owned());
            variant.trials.iter_mut().for_each(|trial| {
                trial.beginning.parameters.push(seed.clone());
            });
        }
        compare(&base, &[other], &ComparisonTerms::default()).unwrap()
    });
    assert_eq!(plain.unclear, 40);
    assert!(accepted.pass >= 30, "{accepted:?}");
}

#[test]
fn a_variant_that_moves_away_or_remembers_its_rounds_decides_no_gate() {
    let mut noise = SeededNoise(5);
    let order: TrialOrder = [[false, true], [true, false]].concat().repeat(15);
    // Only the contender loses half a per cent in each round.
    let [plain, accepted] = answers(40, Code::Drifting, || {
        let rate = |(place, is_contender): (usize, &bool)| {
            let lost = if *is_contender { 0.005 * (place / 2) as f64 } else { 0.0 };
            100.0 * (0.01 * noise.normal() - lost).exp()
        };
        compared(&order, &order.iter().enumerate().map(rate).collect::<Vec<f64>>())
    });
    assert_eq!(plain.unclear, 40);
    assert_eq!(accepted.pass + accepted.worse, 0, "and its rounds resemble their neighbours");
    // Each variant has autocorrelated noise of its own, but the variants are the same.
    let mut gates = [Answers::default(); 2];
    for _ in 0..100 {
        let mut memories = [0.9, 0.9].map(|memory| Memory::new(memory, &mut noise));
        let rate = |is_contender: &bool| {
            100.0 * (0.05 * memories[usize::from(*is_contender)].next(&mut noise)).exp()
        };
        let outcome = compared(&order, &order.iter().map(rate).collect::<Vec<f64>>());
        gates[0].count(outcome.clone(), &[]);
        gates[1].count(outcome, &[Code::SerialRounds, Code::Drifting]);
    }
    assert!(gates[0].worse <= 5, "{gates:?}");
    assert!(gates[1].worse >= 15, "without the cautions: {gates:?}");
}

/// With ten primary metrics of pure noise, in rounds, the gate is rarely stopped by accident.
#[test]
fn honest_rounds_seldom_stop_a_gate() {
    let mut noise = SeededNoise(6);
    let (mut stopped, mut worse) = (0, 0);
    for _ in 0..100 {
        let order = rounds(20, || noise.uniform() < 0.5);
        let [mut base, mut other] = variants(&order, &vec![100.0; order.len()]);
        for each in base.trials.iter_mut().chain(&mut other.trials) {
            let rates: Vec<f64> = (0..10).map(|_| 100.0 * (0.01 * noise.normal()).exp()).collect();
            each.metrics = trial(0, &rates).metrics;
        }
        let terms = ComparisonTerms::default();
        let mut outcome = compare(&base, &[other.clone()], &terms).unwrap();
        // Different data of the contender serve as the control.
        for each in &mut other.trials {
            let rates: Vec<f64> = (0..10).map(|_| 100.0 * (0.01 * noise.normal()).exp()).collect();
            each.metrics = trial(0, &rates).metrics;
        }
        outcome.check_control(&base, &other, &terms).unwrap();
        stopped += usize::from(outcome.cautions.iter().any(|caution| caution.code.stops_gate()));
        outcome.accepted = Code::ALL.to_vec();
        worse += usize::from(Gate::decide(&outcome) == Gate::Worse);
    }
    assert!(stopped <= 15, "{stopped} of 100 were stopped");
    assert!(worse <= 5, "{worse} of 100 failed");
}
