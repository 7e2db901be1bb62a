//! A difference that a plan declares does not stop the gate, but the same difference without a plan
//! does.

use treering_analysis::compare::{
    ComparedVariant, ComparisonCautionCode as Code, ComparisonTerms, Outcome, compare,
};
use treering_model::{Caution, CautionCode, Fact};

use crate::campaign::{Answers, planned, rounds, variants};
use crate::noise::SeededNoise;

/// Seven rounds with a contender whose rate is changed by `factor`, with noise of 3 %.
fn campaign(factor: f64, noise: &mut SeededNoise) -> [ComparedVariant; 2] {
    let order = rounds(7, || noise.uniform() < 0.5);
    let rate = |is_contender: &bool| {
        100.0 * (0.03 * noise.normal()).exp() * if *is_contender { factor } else { 1.0 }
    };
    variants(&order, &order.iter().map(rate).collect::<Vec<f64>>())
}

fn handicapped(variant: ComparedVariant) -> ComparedVariant {
    handicapped_by(400, variant)
}

fn handicapped_by(percent: u32, mut variant: ComparedVariant) -> ComparedVariant {
    let message = format!("every task was deliberately slowed down by {percent} %");
    let caution = Caution { code: CautionCode::Handicapped, message };
    variant.trials.iter_mut().for_each(|trial| trial.cautions.push(caution.clone()));
    variant
}

fn compared([base, other]: [ComparedVariant; 2]) -> Outcome {
    compare(&base, &[other], &ComparisonTerms::default()).unwrap()
}

#[test]
fn a_handicap_of_a_plan_is_found_worse_and_one_of_a_single_run_decides_nothing() {
    let mut noise = SeededNoise(21);
    let (mut of_plan, mut of_runs, mut equal) = Default::default();
    for _ in 0..40 {
        let [base, other] = campaign(0.2, &mut noise);
        let sides = [base, handicapped(other)];
        let outcome = compared(planned(sides.clone()));
        assert!(
            outcome.cautions[0].message.ends_with("as the plan says"),
            "it is told all the same: {:?}",
            outcome.cautions
        );
        Answers::count(&mut of_plan, outcome, &[]);
        Answers::count(&mut of_runs, compared(sides), &[]);
        // Both sides have the same handicap, so there is no difference.
        let sides = campaign(1.0, &mut noise).map(handicapped);
        Answers::count(&mut equal, compared(planned(sides)), &[]);
    }
    assert_eq!(of_plan, Answers { worse: 40, ..Answers::default() });
    assert_eq!(of_runs, Answers { unclear: 40, ..Answers::default() });
    assert!(equal.worse <= 2, "{equal:?}");
}

#[test]
fn handicaps_of_two_sizes_are_both_named_and_stop_the_gate_of_single_runs() {
    let [base, other] = campaign(1.0, &mut SeededNoise(22));
    let outcome = compared([handicapped_by(30, base), handicapped_by(50, other)]);
    let one_sided = outcome.cautions.iter().filter(|caution| caution.code == Code::OneSided);
    let messages: Vec<&str> = one_sided.map(|caution| caution.message.as_str()).collect();
    let text = messages.join("\n");
    assert!(text.contains("by 30 %") && text.contains("by 50 %"), "{text}");
    let mut answers = Answers::default();
    answers.count(outcome, &[]);
    assert_eq!(answers, Answers { unclear: 1, ..Answers::default() });
}

/// Adds facts to all trials of a variant.
fn with(mut variant: ComparedVariant, facts: &[(&str, &str)]) -> ComparedVariant {
    for (name, value) in facts {
        let fact = Fact { name: (*name).to_owned(), value: (*value).to_owned() };
        variant.trials.iter_mut().for_each(|trial| trial.facts.push(fact.clone()));
    }
    variant
}

#[test]
fn sizes_and_metadata_profiles_of_a_plan_stop_no_gate_and_those_of_found_devices_do() {
    let mut noise = SeededNoise(22);
    let made = |device: &'static str, bytes: &'static str, command: &'static str| {
        [("device.name", device), ("variant.device_bytes", bytes), ("mkfs.command", command)]
    };
    for (device, is_stopped) in [("loop3", false), ("sdb1", true)] {
        let [base, other] = campaign(1.0, &mut noise);
        let base = with(base, &made(device, "1073741824", "mkfs.ext4 x"));
        let other = with(other, &made(device, "2147483648", "mkfs.ext4 x"));
        let outcome = compared(planned([base, other]));
        let stops = |code: Code| {
            outcome.cautions.iter().any(|caution| caution.code == code && !caution.is_declared)
        };
        assert_eq!(stops(Code::SizesDiffer), is_stopped, "{device}: {:?}", outcome.cautions);
    }
    for (command, is_stopped) in [("mkfs.btrfs -m dup x", false), ("mkfs.btrfs x", true)] {
        let [base, other] = campaign(1.0, &mut noise);
        let base = with(base, &[("mkfs.command", "mkfs.ext4 x"), (PROFILE, "single")]);
        let other = with(other, &[("mkfs.command", command), (PROFILE, "dup")]);
        let outcome = compared(planned([base, other]));
        let is_about_profiles = |caution: &&treering_analysis::compare::ComparisonCaution| {
            caution.code == Code::MetadataProfilesDiffer
        };
        let caution = outcome.cautions.iter().find(is_about_profiles).unwrap();
        assert_eq!(caution.is_declared, !is_stopped, "{command}: {caution:?}");
    }
}

const PROFILE: &str = "filesystem.metadata_profile";
