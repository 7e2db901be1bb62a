//! Comparison of two knee detectors: two lines that meet, and the point farthest from the chord
//! (Kneedle). Prints the table of docs/evidence/sweeps.md.
#![expect(clippy::disallowed_macros, reason = "an example prints its tables")]

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treering_stats::knee;

const CURVES: usize = 300;
const DEPTHS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

fn normal(source: &mut Xoshiro256PlusPlus) -> f64 {
    let mut unit = || (source.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    (-2.0 * (1.0 - unit()).ln()).sqrt() * (std::f64::consts::TAU * unit()).cos()
}

/// Corner shapes by exponent: a larger exponent makes a sharper corner.
const POWERS: [(&str, f64); 4] =
    [("sharp", 1000.0), ("power of 4", 4.0), ("power of 2", 2.0), ("power of 1", 1.0)];

/// Throughput that grows in proportion to the depth up to `turn` and is constant beyond it; `power`
/// sets the sharpness of the corner.
fn throughput(depth: f64, turn: f64, power: f64) -> f64 {
    let (small, large) = (depth.min(turn), depth.max(turn));
    small * (1.0 + (small / large).powf(power)).powf(-1.0 / power)
}

/// Depth farthest from the chord, by Kneedle, with both axes scaled to 0..1 and the depth on a
/// logarithmic scale.
fn kneedle(means: &[f64]) -> f64 {
    let last = DEPTHS.len() - 1;
    let height = |at: usize| {
        let (low, high) = (means[0].exp(), means[last].exp());
        (means[at].exp() - low) / (high - low) - at as f64 / last as f64
    };
    (0..=last).max_by(|a, b| height(*a).total_cmp(&height(*b))).map_or(0.0, |at| DEPTHS[at])
}

fn main() {
    let mut source = Xoshiro256PlusPlus::seed_from_u64(1);
    println!(
        "| corner | rounds | CoV % | typical error | Kneedle, typical error | found | in the \
         interval |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (corner, power) in POWERS {
        for (rounds, cov) in [6, 10].into_iter().flat_map(|r| [0.02, 0.05, 0.10].map(|c| (r, c))) {
            let (mut lines, mut chords, mut detected, mut covered) = (Vec::new(), Vec::new(), 0, 0);
            for number in 0..CURVES {
                // Knees are spread from 6 to 40 on a logarithmic scale.
                let turn = 6.0 * (40.0_f64 / 6.0).powf(number as f64 / CURVES as f64);
                let round = |source: &mut Xoshiro256PlusPlus| -> Vec<f64> {
                    DEPTHS
                        .iter()
                        .map(|d| throughput(*d, turn, power).ln() + cov * normal(source))
                        .collect()
                };
                let curves: Vec<Vec<f64>> = (0..rounds).map(|_| round(&mut source)).collect();
                let mean = |at: usize| {
                    curves.iter().map(|curve| curve[at]).sum::<f64>() / f64::from(rounds)
                };
                let means: Vec<f64> = (0..DEPTHS.len()).map(mean).collect();
                chords.push((kneedle(&means) / turn).ln().abs());
                let Ok(Some(detected_knee)) = knee(&DEPTHS, &curves) else { continue };
                detected += 1;
                lines.push((detected_knee.at / turn).ln().abs());
                let interval =
                    detected_knee.interval.filter(|it| it.low <= turn && turn <= it.high);
                covered += usize::from(interval.is_some());
            }
            let typical = |errors: &mut Vec<f64>| {
                errors.sort_by(f64::total_cmp);
                (errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN).exp() - 1.0) * 100.0
            };
            println!(
                "| {corner} | {rounds} | {:.0} | {:.0} % | {:.0} % | {:.0} % | {:.0} % |",
                cov * 100.0,
                typical(&mut lines),
                typical(&mut chords),
                100.0 * f64::from(detected) / CURVES as f64,
                100.0 * covered as f64 / f64::from(detected).max(1.0)
            );
        }
    }
}
