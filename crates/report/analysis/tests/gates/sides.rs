//! Cautions that one side carries more often than the other, judged by their counts.

use treering_analysis::compare::{
    ComparisonCautionCode as Code, ComparisonTerms, Outcome, compare,
};
use treering_model::{Caution, CautionCode, Fact, GuestSpec, Trial};

use crate::campaign::{rounds, variants};
use crate::noise::SeededNoise;

/// Codes of cautions that depend on the state of the machine.
const CODES: [CautionCode; 5] = [
    CautionCode::Stolen,
    CautionCode::OtherLoad,
    CautionCode::NotQuiet,
    CautionCode::KernelWarning,
    CautionCode::Throttled,
];

/// Comparison of `count` rounds. `change` gets the side, the index of a trial on that side and the
/// trial.
fn comparison(count: usize, mut change: impl FnMut(bool, usize, &mut Trial)) -> Outcome {
    let mut is_first = false;
    let order = rounds(count, || {
        is_first = !is_first;
        is_first
    });
    let [mut base, mut other] = variants(&order, &vec![100.0; order.len()]);
    for (variant, side) in [(&mut base, false), (&mut other, true)] {
        let trials = variant.trials.iter_mut().enumerate();
        trials.for_each(|(place, trial)| change(side, place, trial));
    }
    compare(&base, &[other], &ComparisonTerms::default()).unwrap()
}

/// Comparison of `count` rounds. `carries` gets the side, the index of a trial on that side and the
/// index of a code, and returns whether the trial carries the caution.
fn campaign(count: usize, mut carries: impl FnMut(bool, usize, usize) -> bool) -> Outcome {
    comparison(count, |side, place, trial| {
        for (number, code) in CODES.into_iter().enumerate() {
            if carries(side, place, number) {
                trial.cautions.push(Caution { code, message: "then".to_owned() });
            }
        }
    })
}

fn message(outcome: &Outcome) -> Option<&str> {
    let mut cautions = outcome.cautions.iter();
    cautions.find(|one| one.code == Code::OneSided).map(|caution| caution.message.as_str())
}

#[test]
fn a_caution_on_most_trials_of_one_side_is_one_sided_with_its_counts() {
    for (own, other, is_told) in
        [(8, 0, true), (7, 0, true), (8, 1, true), (5, 0, true), (4, 0, false), (2, 1, false)]
    {
        let outcome = campaign(8, |side, place, number| {
            number == 0 && place < if side { own } else { other }
        });
        assert_eq!(message(&outcome).is_some(), is_told, "{own} against {other}");
        if let Some(message) = message(&outcome) {
            let counts = format!("stolen in {own} of 8 against {other} of 8 (then)");
            assert!(message.ends_with(&counts), "{message}");
            assert!(message.starts_with("trials of 'new', against those of 'old'"), "{message}");
        }
    }
}

/// On the same machine, both sides have five cautions with the same frequency.
#[test]
fn cautions_that_come_by_chance_are_seldom_one_sided() {
    let mut noise = SeededNoise(31);
    for often in [0.1, 0.3, 0.5, 0.8, 0.95] {
        let is_cautioned = |_: &usize| {
            let outcome = campaign(8, |_, _, _| noise.uniform() < often);
            message(&outcome).is_some()
        };
        let cautioned = (0..200).filter(is_cautioned).count();
        assert!(cautioned <= 10, "{cautioned} of 200 at {often}");
    }
}

/// A fast variant runs on a busy machine, but its trials are too short to detect other load.
#[test]
fn load_that_short_trials_cannot_show_is_not_one_sided() {
    for (seconds, is_told) in [(0.1, false), (2.0, true)] {
        let order = rounds(8, || true);
        let [mut base, mut other] = variants(&order, &[100.0; 16]);
        for trial in &mut base.trials {
            trial.wall_ns = if seconds < 1.0 { 100_000_000 } else { 2_000_000_000 };
        }
        for trial in &mut other.trials {
            let message = "other programs used 73 % of all CPUs".to_owned();
            trial.cautions.push(Caution { code: CautionCode::OtherLoad, message });
        }
        let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
        assert_eq!(message(&outcome).is_some(), is_told, "{seconds} s");
    }
}

/// Comparison of guests that ran for ten seconds in each trial, and waited for a CPU as given.
fn guests(count: usize, waited: impl Fn(bool, usize) -> f64) -> Outcome {
    comparison(count, |side, place, trial| {
        let times = [(GuestSpec::CPU_FACT, 10.0), (GuestSpec::RUN_DELAY_FACT, waited(side, place))];
        let fact = |(name, seconds): (&str, f64)| Fact {
            name: name.to_owned(),
            value: format!("{seconds:.3}"),
        };
        trial.facts.extend(times.map(fact));
    })
}

#[test]
fn guests_of_one_side_that_waited_longer_for_the_host_are_told() {
    // All trials of both sides are on a busy host, one side on a busier one.
    let outcome = guests(6, |side, place| if side { 30.0 } else { 5.0 } + place as f64 / 10.0);
    let said = message(&outcome).unwrap();
    assert!(said.starts_with("guests of 'new' waited for a CPU of the host in 75 %"), "{said}");
    assert!(said.ends_with("those of 'old' in 34 % (medians)"), "{said}");
    let alike = guests(6, |side, place| if side { 6.0 } else { 5.0 } + place as f64 / 10.0);
    assert_eq!(message(&alike), None);
}
