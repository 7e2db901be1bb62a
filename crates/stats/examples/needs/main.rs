//! `needs`: how many further rounds unclear campaigns are told, how many settle four of five of
//! them, and how many of them the told ones settle: the tables of `docs/evidence/rounds.md`.
//!
//!     cargo run --release -p treering-stats --example needs
//!     cargo run --release -p treering-stats --example needs 3000 'OneSideStalls 0.05'
//!
//! The arguments are the number of campaigns of each setting, and part of its name.

#![expect(clippy::disallowed_macros, reason = "an example prints its tables")]
#![expect(clippy::disallowed_methods, reason = "an example reads its arguments")]
#![expect(clippy::unwrap_used, reason = "a table has all of its cells or none")]

mod campaign;

use campaign::{
    CampaignSetting, EFFECTS, FIRST_ROUNDS, LargerNumbers, MARGIN, NoiseKind, SeededNoise,
    UnclearCampaign, VARIATIONS, by_larger_numbers, median_typical, settled_by, unclear,
};

/// Metrics corrected together.
const FAMILIES: [usize; 3] = [1, 3, 12];
/// Campaigns that are begun for each setting.
const CAMPAIGNS: usize = 200;
/// Fewest unclear campaigns of a setting.
const FEWEST: usize = 40;
/// Most rounds that are simulated to find the number that is enough.
const MOST_ENOUGH: u32 = 5_000;

/// Results for a noise, a family and a true difference.
struct NeedsCell {
    unclear: usize,
    /// Median of the typical further rounds, and the fewest that settle four of five.
    typical: u32,
    enough: Option<u32>,
    larger: LargerNumbers,
}

impl NeedsCell {
    fn new(setting: CampaignSetting, begun: usize, noise: &mut SeededNoise) -> Option<Self> {
        let mut campaigns = unclear(setting, begun, noise);
        if campaigns.len() < FEWEST {
            return None;
        }
        let enough = enough(&mut campaigns, noise);
        let larger = by_larger_numbers(&mut campaigns, noise);
        let typical = median_typical(&campaigns) - FIRST_ROUNDS;
        Some(Self { unclear: campaigns.len(), typical, enough, larger })
    }

    /// Typical further rounds over those that are enough.
    fn ratio(&self) -> Option<f64> {
        self.enough.map(|enough| f64::from(self.typical) / f64::from(enough))
    }
}

/// The fewest further rounds that settle four of five of these campaigns, in steps of a tenth.
fn enough(campaigns: &mut [UnclearCampaign], noise: &mut SeededNoise) -> Option<u32> {
    let mut further = 1;
    while further < MOST_ENOUGH {
        if settled_by(campaigns, FIRST_ROUNDS + further, noise) * 5 >= campaigns.len() * 4 {
            return Some(further);
        }
        further += 1 + further / 10;
    }
    None
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let begun = arguments.next().map_or(CAMPAIGNS, |count| count.parse().unwrap());
    let part = arguments.next().unwrap_or_default();
    println!("| a run varies by | noise | family | {} |", EFFECTS.map(percent).join(" | "));
    println!("|---|---|---|{}", "---|".repeat(EFFECTS.len()));
    let mut ratios: Vec<f64> = Vec::new();
    let (mut judged, mut seldom_settled) = (0, 0);
    for kind in NoiseKind::ALL {
        for variation in VARIATIONS {
            if !format!("{kind:?} {variation}").contains(&part) {
                continue;
            }
            for family in FAMILIES {
                let cells = EFFECTS.map(|effect| {
                    let effect = effect * MARGIN.ln_1p();
                    let setting = CampaignSetting { family, kind, variation, effect };
                    NeedsCell::new(setting, begun, &mut SeededNoise(7 + family as u64))
                });
                let told = cells.iter().flatten().map(|cell| cell.larger);
                let told = told.filter(|larger| 2 * larger.told >= FEWEST);
                judged += told.clone().count();
                let is_seldom = |larger: &LargerNumbers| larger.settled * 5 < larger.told * 4;
                seldom_settled += told.filter(is_seldom).count();
                ratios.extend(cells.iter().flatten().filter_map(NeedsCell::ratio));
                let texts: Vec<String> = cells.iter().map(|cell| text(cell.as_ref())).collect();
                println!("| {variation} | {kind:?} | {family} | {} |", texts.join(" | "));
            }
        }
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let above = ratios.iter().filter(|ratio| **ratio > 2.0).count();
    let largest = ratios.last().unwrap();
    println!("\n{} cells, largest ratio {largest:.1}, above 2: {above}", ratios.len());
    println!(
        "the larger number settles fewer than four of five in {seldom_settled} of {judged} cells"
    );
}

fn percent(effect: f64) -> String {
    format!("{:.1} %", 100.0 * (effect * MARGIN.ln_1p()).exp_m1())
}

/// Table cell: further rounds that are told typically and that are enough, the share of campaigns
/// settled by the larger number, and the number of campaigns that are told one, and that are not.
fn text(cell: Option<&NeedsCell>) -> String {
    let Some(cell) = cell else { return "–".to_owned() };
    let enough = cell.enough.map_or_else(|| "?".to_owned(), |enough| enough.to_string());
    let LargerNumbers { told, settled } = cell.larger;
    let share = (100 * settled).checked_div(told);
    let share = share.map_or_else(|| "–".to_owned(), |share| share.to_string());
    let untold = match cell.unclear - told {
        0 => String::new(),
        untold => format!(" + {untold}"),
    };
    format!("{} of {enough}; {share} of {told}{untold}", cell.typical)
}
