//! Trials of different plans in one variant.

use treering_analysis::compare::{ComparisonCautionCode as Code, ComparisonTerms, Factor, compare};

use crate::campaign::{Answers, planned, rounds, variants};
use crate::noise::SeededNoise;

/// A plan was changed half way, and only the digests show that the trials of a variant belong to
/// two plans.
#[test]
fn trials_of_two_plans_in_one_variant_decide_no_gate() {
    let mut noise = SeededNoise(51);
    let mut gates = [Answers::default(); 2];
    for _ in 0..40 {
        let order = rounds(8, || noise.uniform() < 0.5);
        let rates: Vec<f64> = order.iter().map(|_| 100.0 * (0.01 * noise.normal()).exp()).collect();
        let mut sides = planned(variants(&order, &rates));
        for side in &mut sides {
            side.factor = Factor::Label;
            for trial in side.trials.iter_mut().skip(4) {
                trial.beginning.cell.as_mut().unwrap().digest = "changed".to_owned();
            }
        }
        let [base, other] = sides;
        let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
        gates[0].count(outcome.clone(), &[]);
        gates[1].count(outcome, &[Code::MixedSide]);
    }
    assert_eq!(gates[0].unclear, 40);
    assert!(gates[1].pass >= 20, "{gates:?}");
}
