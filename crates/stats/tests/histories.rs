//! Simulated histories with known truth and fixed seeds: a small part of the tables in
//! `docs/evidence/history.md`.

#[expect(dead_code, reason = "the examples draw more kinds of series")]
#[path = "../examples/shifts/cases.rs"]
mod cases;
#[expect(dead_code, reason = "the examples name the methods")]
#[path = "../examples/shifts/methods.rs"]
mod methods;
#[expect(dead_code, reason = "the examples draw more kinds of noise")]
#[path = "../examples/coverage/noise.rs"]
mod noise;

use cases::{Case, Scatter, Shape};
use methods::Method;
use treering_stats::{HistoryPoint, NOISE_PLAN, noise_shift};

/// Number of edges found within two points, and of series with a detected shift.
fn score(method: Method, case: &Case, series: u64) -> (usize, usize) {
    let (mut found, mut alarms) = (0, 0);
    for seed in 0..series {
        let drawn = case.draw(seed);
        let shifts = method.shifts(&drawn.values, case.judged);
        let near = |edge: &&usize| shifts.iter().any(|at| at.abs_diff(**edge) <= 2);
        found += drawn.edges.iter().filter(near).count();
        alarms += usize::from(!shifts.is_empty());
    }
    (found, alarms)
}

fn bump(length: usize, cov: f64) -> Case {
    Case { shape: Shape::Bump { length, ratio: 1.06 }, cov, ..Case::quiet(60, Scatter::Normal) }
}

#[test]
fn regressions_that_were_fixed_again_are_found_as_often_as_by_pelt() {
    let lengths = [5, 6, 8, 12, 20];
    let cases = [0.02, 0.03, 0.05].into_iter().flat_map(|cov| lengths.map(|length| (length, cov)));
    for (length, cov) in cases {
        let case = bump(length, cov);
        let (ours, _) = score(Method::Treering, &case, 100);
        let (theirs, _) = score(Method::Pelt(3), &case, 100);
        assert!(ours + 6 >= theirs, "{}: {ours} {theirs}", case.name());
        if cov < 0.03 {
            assert!(ours >= 175, "{}: {ours} of 200 edges", case.name());
        }
    }
}

#[test]
fn quiet_histories_of_any_length_seldom_raise_alarms() {
    for scatter in Scatter::INDEPENDENT {
        for points in [10, 30, 60] {
            let case = Case::quiet(points, scatter);
            let (_, alarms) = score(Method::Treering, &case, 400);
            assert!(alarms <= 16, "{}: {alarms} of 400", case.name());
        }
    }
    let (_, alarms) = score(Method::Treering, &Case::quiet(60, Scatter::Spike), 200);
    assert!(alarms <= 8, "{alarms} of 200 with a spike");
    let of_forty = Case { judged: 40, ..Case::quiet(25, Scatter::Normal) };
    let (_, alarms) = score(Method::Treering, &of_forty, 400);
    assert!(alarms <= 2, "{alarms} of 400 series, of which forty are judged together");
}

#[test]
fn tripled_scatter_is_a_noise_shift_and_no_level_shift() {
    let case = Case::quiet(200, Scatter::Tripled);
    let (_, alarms) = score(Method::Treering, &case, 200);
    assert!(alarms <= 8, "{alarms} of 200");
    let is_reported = |seed: &u64| {
        let point = |value: &f64| HistoryPoint { value: *value, standard_error: 0.0 };
        let points: Vec<HistoryPoint> = case.draw(*seed).values.iter().map(point).collect();
        noise_shift(&points, &[], &NOISE_PLAN).unwrap().is_some_and(|noise| noise.ratio > 1.5)
    };
    assert!((0..40).filter(is_reported).count() >= 36);
}

#[test]
fn three_last_points_show_a_shift_in_one_of_many_series() {
    for (points, judged) in [(25, 40), (12, 10)] {
        let case = Case {
            shape: Shape::Tail { length: 3, ratio: 1.3 },
            cov: 0.02,
            judged,
            ..Case::quiet(points, Scatter::Normal)
        };
        let (found, _) = score(Method::Treering, &case, 40);
        assert_eq!(found, 40, "{}", case.name());
    }
}
