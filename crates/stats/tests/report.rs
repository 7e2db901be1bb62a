//! All steps of a report: rounds with a failed run, four metrics, a family of verdicts, the
//! control, and the stopping rule.
//!
//! Not here: single methods. The numbers are invented; the tests check that the steps fit together
//! and give the expected findings.

use treering_stats as stats;
use treering_stats::{
    Comparison, ComparisonQuestion, CorrectionRole, Criteria, Direction, Finding, PairedRounds,
    Scale,
};

const ROUNDS: usize = 10;

/// Factor common to all runs of a round, as from a disk that slows down by a third.
fn round_factor(round: usize) -> f64 {
    1.0 - 0.035 * round as f64
}

/// Noise of a run within 1 %, different for every metric and side.
fn noise(round: usize, salt: usize) -> f64 {
    let mixed = (round * 31 + salt * 17 + round * round * salt) % 101;
    1.0 + (mixed as f64 - 50.0) / 5_000.0
}

fn runs(level: f64, salt: usize) -> Vec<Option<f64>> {
    (0..ROUNDS).map(|round| Some(level * round_factor(round) * noise(round, salt))).collect()
}

fn compared(base: &[Option<f64>], variant: &[Option<f64>]) -> Comparison {
    let PairedRounds { base, variant, .. } = stats::pair_rounds(base, variant);
    stats::compare_paired(&base, &variant, Scale::Ratio, stats::ALPHA).expect("valid rounds")
}

fn question(
    comparison: Comparison,
    direction: Direction,
    effect_threshold: f64,
) -> ComparisonQuestion {
    let role = CorrectionRole::Primary;
    ComparisonQuestion { comparison, criteria: Criteria { direction, role, effect_threshold } }
}

#[test]
fn a_campaign_ends_in_verdicts() {
    let throughput = runs(200.0, 1);
    let slower = runs(180.0, 2);
    let mut with_a_failure = runs(201.0, 3);
    with_a_failure[4] = None;
    let latency = runs(5.0, 4);
    let shorter = runs(4.0, 5);

    let dropped = stats::pair_rounds(&throughput, &with_a_failure);
    assert_eq!((dropped.dropped(ROUNDS), dropped.missing_variant), (1, 1));

    let (up, down) = (Direction::HigherIsBetter, Direction::LowerIsBetter);
    let rate = stats::THRESHOLD_THROUGHPUT;
    let questions = [
        question(compared(&throughput, &slower), up, rate),
        question(compared(&throughput, &with_a_failure), up, rate),
        question(compared(&latency, &shorter), down, stats::THRESHOLD_LATENCY_P99),
        question(compared(&throughput[..1], &slower[..1]), up, rate),
    ];
    let verdicts = stats::judge_family(&questions, stats::ALPHA).unwrap();
    let findings: Vec<Finding> = verdicts.iter().map(|verdict| verdict.finding).collect();
    assert_eq!(findings, [Finding::Worse, Finding::Same, Finding::Better, Finding::SingleRun]);
    assert!(questions[3].comparison.is_single_run());
    // With three p-values, 7 rounds are the fewest: 3 x 2/2^7 is below .05.
    assert_eq!(verdicts[0].smallest_rounds, stats::smallest_rounds(3, stats::ALPHA).unwrap());
    assert_eq!(verdicts[0].smallest_rounds, 7);
    assert!(verdicts.iter().take(3).all(|verdict| !verdict.too_few_to_ever_show));
    // The ratio is 0.9, as pairing removes the slowdown common to both sides.
    let worse = questions[0].comparison;
    assert!((worse.estimate - 0.9).abs() < 0.01, "{worse:?}");
    assert!(worse.interval.unwrap().half_width() < 0.01);
    // Without pairing, the same runs cannot show the difference.
    let plain = |runs: &[Option<f64>]| runs.iter().flatten().copied().collect::<Vec<f64>>();
    let unpaired =
        stats::compare_unpaired(&plain(&throughput), &plain(&slower), Scale::Ratio, stats::ALPHA);
    assert!(unpaired.unwrap().p_value.unwrap() > 0.05);
    assert_eq!(stats::smallest_runs_per_side(1, stats::ALPHA), Ok(4));
}

#[test]
fn error_counts_are_compared_individually() {
    let none = [Some(0.0); 8];
    let some = [1.0, 2.0, 1.0, 4.0, 2.0, 1.0, 3.0, 2.0].map(Some);
    let paired = stats::pair_rounds(&none, &some);
    let comparison =
        stats::compare_paired(&paired.base, &paired.variant, Scale::Difference, stats::ALPHA);
    let asked_question =
        question(comparison.unwrap(), Direction::LowerIsBetter, stats::THRESHOLD_ERRORS);
    assert_eq!(stats::judge(&asked_question, stats::ALPHA).unwrap().finding, Finding::Worse);
}

#[test]
fn an_unchanged_control_is_stable() {
    let (first, second) = (runs(200.0, 6), runs(200.0, 7));
    let control = stats::check_control(&compared(&first, &second), stats::ALPHA).unwrap();
    assert!(!control.unstable);
    assert!(control.smallest_detectable.unwrap() < 0.02);
}

#[test]
fn a_sequential_campaign_ends_at_its_second_look() {
    let (base, variant) = (runs(200.0, 1), runs(170.0, 2));
    let rule = stats::StoppingRule::sequential(&stats::RECOMMENDED_LOOKS);
    let at = |rounds: usize| {
        let comparison = compared(&base[..rounds], &variant[..rounds]);
        rule.decide(&stats::CampaignProgress {
            rounds: u32::try_from(rounds).unwrap(),
            half_width: comparison.half_width(),
            p_value: comparison.p_value,
        })
    };
    assert!(stats::signed_rank_smallest_p(6) > stats::RECOMMENDED_LOOK_ALPHA);
    assert_eq!(at(6), stats::StoppingDecision::Continue { next_look: 10 });
    assert_eq!(at(10), stats::StoppingDecision::Crossed);
}
