//! The promise of an unclear verdict: as many rounds as it asks for settle it in 80 of 100.
//!
//! Seeded simulations. A campaign of a family of metrics is run with a few rounds; of each that
//! ends unclear a new campaign is run with as many rounds as were asked for.

#![expect(clippy::unwrap_used, reason = "tests")]

use treering_stats::{
    ALPHA, ComparisonQuestion, CorrectionRole, Criteria, Direction, Finding, Scale, compare_paired,
    judge_family,
};

const MARGIN: f64 = 0.03;
/// Campaigns of each setting that ended unclear.
const UNCLEAR: u32 = 100;

/// Normal noise of a fixed seed.
struct SeededNoise(u64);

impl SeededNoise {
    fn uniform(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + 1e-18
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[derive(Clone, Copy, Debug)]
struct CampaignSetting {
    /// Metrics corrected together.
    family: usize,
    /// The true log ratio of each.
    effect: f64,
    /// Standard deviation of the log ratio between rounds.
    spread: f64,
    /// Rounds of the first campaign.
    rounds: usize,
}

impl CampaignSetting {
    /// Finding of a campaign for its first metric.
    fn campaign(&self, rounds: usize, noise: &mut SeededNoise) -> Finding {
        let criteria = Criteria {
            direction: Direction::HigherIsBetter,
            role: CorrectionRole::Primary,
            effect_threshold: MARGIN,
        };
        let base = vec![100.0; rounds];
        let questions: Vec<ComparisonQuestion> = (0..self.family)
            .map(|_| {
                let ratio = |_| 100.0 * (self.effect + self.spread * noise.normal()).exp();
                let variant: Vec<f64> = (0..rounds).map(ratio).collect();
                let comparison = compare_paired(&base, &variant, Scale::Ratio, ALPHA).unwrap();
                ComparisonQuestion { comparison, criteria }
            })
            .collect();
        judge_family(&questions, ALPHA).unwrap()[0].finding
    }

    /// Share of the unclear campaigns that the proposed rounds settle, and the mean number of these
    /// rounds; 1 if no campaign is unclear.
    fn settled(&self) -> (f64, f64) {
        let mut noise = SeededNoise(7 + self.family as u64);
        let (mut unclear, mut settled, mut rounds_requested, mut tried) = (0, 0, 0.0, 0);
        while unclear < UNCLEAR && tried < 10 * UNCLEAR {
            tried += 1;
            let Finding::Unclear { rounds_needed } = self.campaign(self.rounds, &mut noise) else {
                continue;
            };
            unclear += 1;
            let rounds = rounds_needed.unwrap_or(10_000) as usize;
            rounds_requested += rounds as f64;
            let finding = self.campaign(rounds, &mut noise);
            settled += u32::from(!matches!(finding, Finding::Unclear { .. }));
        }
        if unclear == 0 {
            return (1.0, 0.0);
        }
        (f64::from(settled) / f64::from(unclear), rounds_requested / f64::from(unclear))
    }
}

#[test]
fn proposed_rounds_settle_80_percent_of_unclear_campaigns() {
    let mut failed = Vec::new();
    // Much noise asks for so many rounds that large families would take long to simulate.
    let families: [(usize, &[f64]); 3] =
        [(1, &[0.015, 0.03, 0.06]), (3, &[0.015, 0.03]), (9, &[0.015, 0.03])];
    for (family, spreads) in families {
        for &spread in spreads {
            for effect in [0.0, 0.5, 1.0, 2.0, 4.0] {
                for rounds in [6, 12] {
                    let effect = effect * MARGIN.ln_1p();
                    let setting = CampaignSetting { family, effect, spread, rounds };
                    let (share, mean_rounds) = setting.settled();
                    if share < 0.8 {
                        failed
                            .push(format!("{setting:?}: {share:.2} with {mean_rounds:.0} rounds"));
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Equal sides: the proposed rounds show equivalence.
#[test]
fn equal_sides_are_found_equivalent() {
    let setting = CampaignSetting { family: 3, effect: 0.0, spread: 0.03, rounds: 6 };
    let mut noise = SeededNoise(11);
    let (mut unclear, mut same) = (0, 0);
    while unclear < UNCLEAR {
        let Finding::Unclear { rounds_needed } = setting.campaign(6, &mut noise) else { continue };
        unclear += 1;
        let finding = setting.campaign(rounds_needed.unwrap() as usize, &mut noise);
        same += u32::from(finding == Finding::Same);
    }
    assert!(same >= 80, "{same} of {unclear}");
}

/// Below six rounds the noise is not known, and six may well settle it: the fewest for the family.
#[test]
fn below_six_rounds_the_fewest_for_the_family_are_named() {
    for (family, fewest) in [(1, 6), (3, 7), (9, 9)] {
        for rounds in 2..6 {
            let setting = CampaignSetting { family, effect: 0.1, spread: 0.06, rounds };
            let finding = setting.campaign(rounds, &mut SeededNoise(3));
            assert_eq!(finding, Finding::Unclear { rounds_needed: Some(fewest) });
        }
    }
}

/// Filesystems 5.5 times apart in every round wait for the correction alone.
#[test]
fn a_clear_difference_needs_the_fewest_rounds_of_its_family() {
    for (family, fewest) in [(9, 9), (12, 9), (30, 11)] {
        let setting = CampaignSetting { family, effect: 1.7, spread: 0.3, rounds: 6 };
        let finding = setting.campaign(6, &mut SeededNoise(5));
        assert_eq!(finding, Finding::Unclear { rounds_needed: Some(fewest) }, "{family}");
    }
}
