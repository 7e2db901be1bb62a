//! The universal scalability model through the public interface: a fit of simulated throughputs
//! returns the parameters that produced them.
#![expect(clippy::disallowed_macros, reason = "the figures are those of docs/evidence/sweeps.md")]

use treering_stats::{FEWEST_SIZES, Scalability, StatsError, paired_scalability};

fn model(clients: f64) -> f64 {
    250.0 * clients / (1.0 + 0.03 * (clients - 1.0) + 0.0005 * clients * (clients - 1.0))
}

#[test]
fn a_scalability_curve_is_recovered_with_its_peak() {
    let clients = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let fitted: Scalability =
        paired_scalability(&clients, &clients.map(model), &[1; 7], 0.95).unwrap();
    assert!((fitted.contention - 0.03).abs() < 1e-6, "{fitted:?}");
    assert!((fitted.coherency - 0.0005).abs() < 1e-6, "{fitted:?}");
    assert!((fitted.throughput(100.0) / model(100.0) - 1.0).abs() < 1e-6);
    let peak = fitted.peak_clients.unwrap();
    assert!(model(peak) >= model(peak - 1.0) && model(peak) >= model(peak + 1.0), "{peak}");
}

#[test]
fn four_sizes_are_too_few() {
    let few = paired_scalability(&[1.0, 2.0, 4.0, 8.0], &[1.0; 4], &[1; 4], 0.95);
    assert_eq!(few, Err(StatsError::TooFew { needed: FEWEST_SIZES, got: 4 }));
}

/// A contention of 1 % in five rounds between which the machine loses 20 % in all; noise of 1 %.
#[test]
fn a_drift_between_rounds_hides_no_contention() {
    let mut state = 5_u64;
    let mut uniform = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    // The sum of twelve uniform numbers is nearly normal, with variance 1.
    let mut normal = || (0..12).map(|_| uniform() - 0.5).sum::<f64>();
    let (mut paired, mut pooled, mut held) = (0, 0, 0);
    for _ in 0..200 {
        let (mut clients, mut throughputs, mut rounds) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..5_u32 {
            for size in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0_f64] {
                let drift = 1.0 - 0.2 * f64::from(round) / 4.0;
                let true_value = 1000.0 * size / (1.0 + 0.01 * (size - 1.0));
                clients.push(size);
                throughputs.push(true_value * drift * (1.0 + 0.01 * normal()));
                rounds.push(round);
            }
        }
        let with = paired_scalability(&clients, &throughputs, &rounds, 0.95).unwrap();
        let one = vec![1; rounds.len()];
        let without = paired_scalability(&clients, &throughputs, &one, 0.95).unwrap();
        paired += u32::from(with.contention_interval.low > 0.0);
        pooled += u32::from(without.contention_interval.low > 0.0);
        held += u32::from(with.contention_interval.contains(0.01));
    }
    println!("told from none: {paired} of 200 by rounds, {pooled} pooled; truth held: {held}");
    assert!(paired >= 195 && held >= 180, "{paired} told from none, {held} hold the truth");
    assert!(pooled < 150, "{pooled}: the drift must be hard without rounds");
}
