//! The universal scalability model through the public interface: a fit of simulated throughputs
//! returns the parameters that produced them.

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
