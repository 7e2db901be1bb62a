//! Accuracy of the number of rounds that an unclear verdict proposes: a campaign that continues to
//! this number is settled in 80 of 100 cases.
//!
//! Seeded simulations cover five kinds of noise. Each simulated campaign measures a family of
//! metrics over a few rounds, and continues if the verdict is unclear.

#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::disallowed_macros, reason = "the figures are those of docs/evidence/rounds.md")]

#[path = "../examples/needs/campaign.rs"]
mod campaign;

use campaign::{
    Campaign, CampaignSetting, EFFECTS, FIRST_ROUNDS, LargerNumbers, MARGIN, NoiseKind,
    SeededNoise, UnclearCampaign, VARIATIONS, by_larger_numbers, median_typical, settled_by,
    unclear,
};
use treering_stats::{
    ALPHA, ComparisonQuestion, CorrectionRole, Criteria, Direction, Finding, RoundsNeeded, Scale,
    compare_paired, judge_family,
};

/// Campaigns of each setting that are begun.
const CAMPAIGNS: usize = 40;
/// Fewest unclear campaigns that are judged.
const FEWEST_JUDGED: usize = 20;

/// Four of five of so many campaigns, and the standard deviation of chance.
fn four_of_five(campaigns: usize) -> (f64, f64) {
    (0.8 * campaigns as f64, 0.4 * (campaigns as f64).sqrt())
}

/// True if fewer than half of the further rounds that are told typically settle 80 of 100 of the
/// campaigns. The slack of a tenth is for the cells of the whole table that miss it.
fn is_told_too_much(campaigns: &mut [UnclearCampaign], noise: &mut SeededNoise) -> bool {
    let further = median_typical(campaigns) - FIRST_ROUNDS;
    let half = FIRST_ROUNDS + (10 * further).div_ceil(22) - 1;
    let (enough, deviation) = four_of_five(campaigns.len());
    half > FIRST_ROUNDS && settled_by(campaigns, half, noise) as f64 > enough + deviation
}

/// Both promises for a family and each true difference: the larger numbers settle 80 of 100
/// campaigns, and the typical one is at most twice what does.
fn check(family: usize) {
    let mut failed = Vec::new();
    for kind in NoiseKind::ALL {
        for variation in VARIATIONS {
            let mut noise = SeededNoise(7 + family as u64);
            let (mut all, mut all_settled) = (0, 0);
            for effect in EFFECTS {
                let effect = effect * MARGIN.ln_1p();
                let setting = CampaignSetting { family, kind, variation, effect };
                let mut campaigns = unclear(setting, CAMPAIGNS, &mut noise);
                if campaigns.len() < FEWEST_JUDGED {
                    continue;
                }
                if is_told_too_much(&mut campaigns, &mut noise) {
                    let typical = median_typical(&campaigns);
                    failed.push(format!("{setting:?}: told {typical}, and half is enough"));
                }
                // Nothing is promised to campaigns that are told no larger number.
                let LargerNumbers { told, settled } = by_larger_numbers(&mut campaigns, &mut noise);
                if told < FEWEST_JUDGED {
                    continue;
                }
                // Of some eighty settings, one misses by more than two deviations of chance.
                let (enough, deviation) = four_of_five(told);
                if (settled as f64) < enough - 3.0 * deviation {
                    failed.push(format!("{setting:?}: {settled} of {told} settled"));
                }
                (all, all_settled) = (all + told, all_settled + settled);
            }
            println!("{family} {kind:?} {variation}: {all_settled} of {all} settled");
            if (all_settled as f64) < four_of_five(all).0 {
                failed.push(format!("{kind:?} {variation}: {all_settled} of {all} settled"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn proposed_rounds_settle_80_percent_of_unclear_single_comparisons() {
    check(1);
}

#[test]
fn proposed_rounds_settle_80_percent_in_families_of_three() {
    check(3);
}

#[test]
fn proposed_rounds_settle_80_percent_in_families_of_twelve() {
    check(12);
}

/// Numbers of campaigns of one metric that end with a difference, and as the same. A campaign that
/// is unclear after 12 rounds continues to the proposed number of rounds.
fn count_endings(setting: CampaignSetting, campaigns: usize, most: u32) -> (usize, usize) {
    let mut noise = SeededNoise(13);
    let (mut differ, mut same) = (0, 0);
    for _ in 0..campaigns {
        let mut campaign = Campaign::new(setting);
        let mut finding = campaign.finding(12, 0, &mut noise);
        if let Finding::Unclear { rounds_needed: Some(needed) } = finding {
            let rounds = needed.pessimistic.unwrap_or(most).min(most);
            finding = campaign.finding(usize::try_from(rounds).unwrap(), 1, &mut noise);
        }
        same += usize::from(finding == Finding::Same);
        differ += usize::from(!matches!(finding, Finding::Same | Finding::Unclear { .. }));
    }
    (differ, same)
}

#[test]
fn going_on_seldom_finds_a_difference_that_is_not_there() {
    for kind in NoiseKind::ALL.into_iter().take(4) {
        let setting = CampaignSetting { family: 1, kind, variation: 0.05, effect: 0.0 };
        let (differ, _) = count_endings(setting, 400, 300);
        println!("A/A, {kind:?}: {differ} of 400 end with a difference");
        assert!(differ <= 28, "{kind:?}: {differ} of 400");
    }
}

#[test]
fn continued_campaigns_seldom_call_a_threshold_difference_the_same() {
    for variation in [0.01, 0.02, 0.05] {
        let kind = NoiseKind::Normal;
        let setting = CampaignSetting { family: 1, kind, variation, effect: MARGIN.ln_1p() };
        let (_, same) = count_endings(setting, 400, 300);
        println!("at the threshold, {variation}: {same} of 400 end with the same");
        assert!(same <= 32, "{variation}: {same} of 400");
    }
}

/// Regression with the twelve ratios of the example in docs/my-patch.md, where every task of one
/// side takes 30 % longer. With its noise, about 43 rounds are enough.
#[test]
fn a_handicap_of_30_percent_in_wide_noise_needs_tens_of_rounds() {
    let ratios =
        [2.373, 0.776, 0.604, 0.918, 0.517, 1.055, 0.862, 0.572, 1.012, 1.726, 0.619, 0.446];
    let comparison = compare_paired(&[1.0; 12], &ratios, Scale::Ratio, ALPHA).unwrap();
    let criteria = Criteria {
        direction: Direction::HigherIsBetter,
        role: CorrectionRole::Primary,
        effect_threshold: MARGIN,
    };
    let question = ComparisonQuestion { comparison, criteria };
    let Finding::Unclear { rounds_needed } = judge_family(&[question], ALPHA).unwrap()[0].finding
    else {
        panic!("the example is unclear")
    };
    assert_eq!(rounds_needed, Some(RoundsNeeded { typical: 39, pessimistic: Some(7459) }));
}

/// The first finding of a campaign whose ratios vary by `spread`.
fn first_finding(family: usize, effect: f64, spread: f64, rounds: usize) -> Finding {
    let setting = CampaignSetting { family, kind: NoiseKind::LogNormal, variation: spread, effect };
    Campaign::new(setting).finding(rounds, 0, &mut SeededNoise(3))
}

/// Below six rounds the noise is unknown, so the proposal is the fewest rounds for the family.
#[test]
fn below_six_rounds_the_fewest_for_the_family_are_proposed() {
    for (family, fewest) in [(1, 6), (2, 7), (3, 7), (9, 9)] {
        for rounds in 2..6 {
            let rounds_needed = Some(RoundsNeeded::exactly(fewest));
            let finding = first_finding(family, 0.1, 0.04, rounds);
            assert_eq!(finding, Finding::Unclear { rounds_needed });
        }
    }
}

/// Filesystems that differ by a factor of 5.5 in every round need more rounds only because of the
/// correction.
#[test]
fn a_clear_difference_needs_the_fewest_rounds_of_its_family() {
    for (family, fewest) in [(9, 9), (12, 9), (30, 11)] {
        let rounds_needed = Some(RoundsNeeded::exactly(fewest));
        let finding = first_finding(family, 1.7, 0.2, 6);
        assert_eq!(finding, Finding::Unclear { rounds_needed }, "{family}");
    }
}
