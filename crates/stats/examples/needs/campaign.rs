//! Campaigns with a known truth that go on until they are settled.

use treering_stats::{
    ALPHA, Comparison, ComparisonQuestion, CorrectionRole, Criteria, Direction, Finding,
    LOG_RATIO_RESOLUTION, RoundsNeeded, Scale, compare_paired, holm, judge_family,
    level_of_next_look, signed_rank_at,
};

/// Threshold of the verdicts.
pub(crate) const MARGIN: f64 = 0.03;
/// Rounds after which campaigns are judged first.
pub(crate) const FIRST_ROUNDS: u32 = 12;
/// True log ratios, in units of the threshold: none, half of it, at the threshold, and so on to
/// 34 %.
pub(crate) const EFFECTS: [f64; 6] = [0.0, 0.5, 1.0, 2.0, 5.0, 10.0];
/// Coefficients of variation of a run.
pub(crate) const VARIATIONS: [f64; 4] = [0.02, 0.05, 0.1, 0.3];
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoiseKind {
    Normal,
    /// Student's t with three degrees of freedom.
    HeavyTailed,
    LogNormal,
    /// Normal, but one run in ten is longer by five times the variation.
    Outliers,
    /// Normal, but one run in ten of the variant takes twice as long.
    OneSideStalls,
}

impl NoiseKind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Normal, Self::HeavyTailed, Self::LogNormal, Self::Outliers, Self::OneSideStalls];
}

/// Side of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Base,
    Variant,
}

/// Noise of a fixed seed.
pub(crate) struct SeededNoise(pub(crate) u64);

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

    /// The time of a run around 1 that varies by this share.
    fn run(&mut self, kind: NoiseKind, variation: f64, side: Side) -> f64 {
        let value = match kind {
            NoiseKind::Normal => 1.0 + variation * self.normal(),
            NoiseKind::HeavyTailed => {
                let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
                1.0 + variation * self.normal() / squares.sqrt()
            }
            NoiseKind::LogNormal => ((variation * variation).ln_1p().sqrt() * self.normal()).exp(),
            NoiseKind::Outliers => {
                let stall = if self.uniform() < 0.1 { 5.0 } else { 0.0 };
                1.0 + variation * (stall + self.normal())
            }
            NoiseKind::OneSideStalls => {
                let is_stalled = side == Side::Variant && self.uniform() < 0.1;
                1.0 + f64::from(u8::from(is_stalled)) + variation * self.normal()
            }
        };
        value.max(0.05)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CampaignSetting {
    /// Metrics corrected together.
    pub(crate) family: usize,
    pub(crate) kind: NoiseKind,
    /// Coefficient of variation of a run.
    pub(crate) variation: f64,
    /// The true log ratio of each metric.
    pub(crate) effect: f64,
}

/// Results of both sides so far, for each metric.
pub(crate) struct Campaign {
    setting: CampaignSetting,
    metrics: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Campaign {
    pub(crate) fn new(setting: CampaignSetting) -> Self {
        Self { setting, metrics: vec![Default::default(); setting.family] }
    }

    /// Runs as many rounds as are missing.
    fn run(&mut self, rounds: usize, noise: &mut SeededNoise) {
        let CampaignSetting { kind, variation, effect, .. } = self.setting;
        for (base, variant) in &mut self.metrics {
            while base.len() < rounds {
                base.push(100.0 * noise.run(kind, variation, Side::Base));
                variant.push(100.0 * effect.exp() * noise.run(kind, variation, Side::Variant));
            }
        }
    }

    /// Log ratios of each metric over so many rounds.
    fn log_ratios(&self, rounds: usize) -> Vec<Vec<f64>> {
        let of_metric = |(base, variant): &(Vec<f64>, Vec<f64>)| {
            base.iter().zip(variant).take(rounds).map(|(b, v)| (v / b).ln()).collect()
        };
        self.metrics.iter().map(of_metric).collect()
    }

    /// Judges the first metric at so many rounds, after so many looks that could have ended the
    /// campaign.
    pub(crate) fn finding(
        &mut self,
        rounds: usize,
        looks: u32,
        noise: &mut SeededNoise,
    ) -> Finding {
        let alpha = (0..looks).fold(ALPHA, |alpha, _| level_of_next_look(alpha));
        self.run(rounds, noise);
        let criteria = Criteria {
            direction: Direction::LowerIsBetter,
            role: CorrectionRole::Primary,
            effect_threshold: MARGIN,
        };
        let (base, variant) = &self.metrics[0];
        let (base, variant) = (&base[..rounds], &variant[..rounds]);
        let first = compare_paired(base, variant, Scale::Ratio, alpha).unwrap();
        // Only the p-values of the others count: their intervals would take most of the time.
        let question = |ratios: &Vec<f64>| {
            let test = signed_rank_at(ratios, LOG_RATIO_RESOLUTION).unwrap();
            let comparison = Comparison { p_value: Some(test.p_value), ..first };
            ComparisonQuestion { comparison, criteria }
        };
        let questions: Vec<ComparisonQuestion> =
            self.log_ratios(rounds).iter().map(question).collect();
        judge_family(&questions, alpha).unwrap()[0].finding
    }

    /// True if a second look at so many rounds is not unclear: the tests of [`Campaign::finding`]
    /// without its intervals, which take long for thousands of rounds.
    pub(crate) fn is_settled(&mut self, rounds: u32, noise: &mut SeededNoise) -> bool {
        let alpha = level_of_next_look(ALPHA);
        let rounds = usize::try_from(rounds).unwrap();
        self.run(rounds, noise);
        let p_value =
            |ratios: &[f64]| signed_rank_at(ratios, LOG_RATIO_RESOLUTION).unwrap().p_value;
        let ratios = self.log_ratios(rounds);
        let p_values: Vec<f64> = ratios.iter().map(|ratios| p_value(ratios)).collect();
        if holm(&p_values).unwrap()[0] < alpha {
            return true;
        }
        let margin = MARGIN.ln_1p();
        let mut sorted = ratios[0].clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let excludes = |end: f64| {
            let shifted: Vec<f64> = ratios[0].iter().map(|ratio| ratio - end).collect();
            p_value(&shifted) < 2.0 * alpha
        };
        sorted[sorted.len() / 2].abs() < margin && excludes(margin) && excludes(-margin)
    }
}

/// Campaign that is unclear at first, with the numbers that it is told.
pub(crate) struct UnclearCampaign {
    pub(crate) campaign: Campaign,
    pub(crate) needed: RoundsNeeded,
}

/// Campaigns of a setting that are unclear at first, of `campaigns` that are begun.
pub(crate) fn unclear(
    setting: CampaignSetting,
    campaigns: usize,
    noise: &mut SeededNoise,
) -> Vec<UnclearCampaign> {
    let campaign = |_| {
        let mut campaign = Campaign::new(setting);
        let unknown = RoundsNeeded { typical: u32::MAX, pessimistic: None };
        match campaign.finding(usize::try_from(FIRST_ROUNDS).unwrap(), 0, noise) {
            Finding::Unclear { rounds_needed } => {
                Some(UnclearCampaign { campaign, needed: rounds_needed.unwrap_or(unknown) })
            }
            _ => None,
        }
    };
    (0..campaigns).filter_map(campaign).collect()
}

/// Median of the typical numbers.
pub(crate) fn median_typical(campaigns: &[UnclearCampaign]) -> u32 {
    let mut typical: Vec<u32> = campaigns.iter().map(|unclear| unclear.needed.typical).collect();
    typical.sort_unstable();
    typical[typical.len() / 2]
}

/// Number of the campaigns that so many rounds settle.
pub(crate) fn settled_by(
    campaigns: &mut [UnclearCampaign],
    rounds: u32,
    noise: &mut SeededNoise,
) -> usize {
    let settled = |unclear: &mut UnclearCampaign| unclear.campaign.is_settled(rounds, noise);
    campaigns.iter_mut().map(settled).filter(|settled| *settled).count()
}

/// Campaigns that are told a larger number, and those of them that it settles.
#[derive(Clone, Copy)]
pub(crate) struct LargerNumbers {
    pub(crate) told: usize,
    pub(crate) settled: usize,
}

/// Continues each campaign to its own larger number. Where that is above the largest number that is
/// told, there is none, and the campaign counts neither as told nor as settled.
pub(crate) fn by_larger_numbers(
    campaigns: &mut [UnclearCampaign],
    noise: &mut SeededNoise,
) -> LargerNumbers {
    let mut all = LargerNumbers { told: 0, settled: 0 };
    for unclear in campaigns {
        let Some(most) = unclear.needed.pessimistic else { continue };
        all.told += 1;
        all.settled += usize::from(unclear.campaign.is_settled(most, noise));
    }
    all
}
