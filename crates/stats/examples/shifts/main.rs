//! `shifts`: how often shifts of level in a history are found, where, and how often there is none:
//! the tables of `docs/evidence/history.md`. Series with a known truth, three methods, and for
//! comparison the place that somebody finds who knows both levels.
//!
//!     cargo run --release -p treering-stats --example shifts
//!
//! Or where the three methods find shifts in a series of your own:
//!
//!     cargo run --release -p treering-stats --example shifts FILE.csv [COLUMN]

#![expect(clippy::disallowed_macros, reason = "an example prints its tables")]
#![expect(clippy::disallowed_methods, reason = "an example has a command line of its own")]

#[expect(dead_code, reason = "the noise of rounds is for the other example")]
#[path = "../coverage/noise.rs"]
mod noise;
mod others;
mod series;
#[path = "../coverage/welch.rs"]
mod welch;

use noise::{Noise, RandomSource};
use treering_stats::{ChangePointPlan, HistoryPoint, SHIFT_PLAN, level_shifts};

/// Series of each kind.
const SERIES: usize = 1000;
/// The planted shift.
const SHIFT: f64 = 1.05;

#[derive(Clone, Copy)]
enum Method {
    Treering,
    EDivisive,
    StudentSplits,
}

impl Method {
    const ALL: [Self; 3] = [Self::Treering, Self::EDivisive, Self::StudentSplits];

    fn name(self) -> &'static str {
        match self {
            Self::Treering => "treering",
            Self::EDivisive => "E-divisive, permutations",
            Self::StudentSplits => "splits by Student's t, p <= .001",
        }
    }

    fn shifts(self, values: &[f64], seed: u64) -> Vec<usize> {
        match self {
            Self::Treering => {
                let points: Vec<HistoryPoint> = values
                    .iter()
                    .map(|&value| HistoryPoint { value, standard_error: 0.0 })
                    .collect();
                let plan = ChangePointPlan { seed, ..SHIFT_PLAN };
                let shifts = level_shifts(&points, &plan).unwrap_or_default();
                shifts.iter().map(|shift| shift.index).collect()
            }
            Self::EDivisive => others::e_divisive(values, seed),
            Self::StudentSplits => others::student_splits(values),
        }
    }
}

/// Results over many series: shifts found within five points, located within one, and series with
/// any other shift.
#[derive(Default)]
struct ShiftScore {
    detected: usize,
    located: usize,
    false_ones: usize,
}

impl ShiftScore {
    fn add(&mut self, shifts: &[usize], truth: Option<usize>) {
        let near =
            |reach: usize| shifts.iter().any(|at| truth.is_some_and(|t| at.abs_diff(t) <= reach));
        self.detected += usize::from(near(5));
        self.located += usize::from(near(1));
        let allowed = usize::from(near(5));
        self.false_ones += usize::from(shifts.len() > allowed);
    }
}

fn percent(count: usize) -> String {
    format!("{:.1}", 100.0 * count as f64 / SERIES as f64)
}

/// Draws one of `places` positions.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to the length of a short series"
)]
fn place(source: &mut RandomSource, places: usize) -> usize {
    (source.unit() * places as f64) as usize
}

/// A history without a change: logarithms of values that scatter by `cov`.
fn level(noise: Noise, points: usize, cov: f64, source: &mut RandomSource) -> Vec<f64> {
    noise.series(points, source).iter().map(|z| z * cov).collect()
}

fn planted(table: &str, noise: Noise) {
    println!("\n{table}\n");
    println!(
        "| points | CoV % | method | found % | within one point % | false shifts % | both levels \
         known % |"
    );
    println!("|---|---|---|---|---|---|---|");
    for points in [30, 60, 120, 200] {
        for percents in [2_u32, 5, 10] {
            let cov = f64::from(percents) / 100.0;
            let mut source = RandomSource::seeded(points as u64 * 1000 + u64::from(percents));
            let mut scores = [ShiftScore::default(), ShiftScore::default(), ShiftScore::default()];
            let mut known = 0;
            for seed in 0..SERIES as u64 {
                let mut values = level(noise, points, cov, &mut source);
                let truth = 5 + place(&mut source, points - 10);
                values[truth..].iter_mut().for_each(|value| *value += SHIFT.ln());
                known += usize::from(others::place_of(&values, SHIFT.ln()).abs_diff(truth) <= 1);
                for (method, score) in Method::ALL.into_iter().zip(&mut scores) {
                    score.add(&method.shifts(&values, seed), Some(truth));
                }
            }
            for (method, score) in Method::ALL.into_iter().zip(&scores) {
                println!(
                    "| {points} | {percents} | {} | {} | {} | {} | {} |",
                    method.name(),
                    percent(score.detected),
                    percent(score.located),
                    percent(score.false_ones),
                    percent(known)
                );
            }
        }
    }
}

fn without_change() {
    println!("\nSeries without a change: those with a shift, %\n");
    println!("| noise | points | treering | E-divisive, permutations | splits by Student's t |");
    println!("|---|---|---|---|---|");
    let spiked = |values: &mut Vec<f64>, source: &mut RandomSource| {
        let at = place(source, values.len());
        values[at] += 0.5;
    };
    for (noise, has_spike) in [
        (Noise::Normal, false),
        (Noise::Skewed, false),
        (Noise::Outliers, false),
        (Noise::Normal, true),
        (Noise::Serial, false),
    ] {
        for points in [10, 30, 200] {
            let mut source = RandomSource::seeded(7 + points as u64);
            let mut counts = [0; 3];
            for seed in 0..SERIES as u64 {
                let mut values = level(noise, points, 0.05, &mut source);
                if has_spike {
                    spiked(&mut values, &mut source);
                }
                for (method, count) in Method::ALL.into_iter().zip(&mut counts) {
                    *count += usize::from(!method.shifts(&values, seed).is_empty());
                }
            }
            let spike = if has_spike { ", one spike of ten sigma" } else { "" };
            let [ours, e, t] = counts.map(percent);
            println!("| {}{spike} | {points} | {ours} | {e} | {t} |", noise.name());
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    if let Some(file) = words.next() {
        return series::shifts_of(&file, words.next().as_deref());
    }
    planted("A shift of 5 % at a random place, normal noise", Noise::Normal);
    planted("The same with 10 % outliers of +6 sigma", Noise::Outliers);
    without_change();
    Ok(())
}
