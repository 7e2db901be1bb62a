//! Simulated histories with known truth and fixed seeds: a small part of the tables in
//! `docs/evidence/history.md`.
#![expect(clippy::disallowed_macros, reason = "the figures are those of docs/evidence/history.md")]

#[expect(dead_code, reason = "the examples draw more kinds of series")]
#[path = "../examples/shifts/cases.rs"]
mod cases;
#[expect(dead_code, reason = "the examples draw more kinds of counts")]
#[path = "../examples/counts/series.rs"]
mod counts;
#[expect(dead_code, reason = "the examples name the methods")]
#[path = "../examples/shifts/methods.rs"]
mod methods;
#[expect(dead_code, reason = "the examples draw more kinds of noise")]
#[path = "../examples/coverage/noise.rs"]
mod noise;

use cases::{Case, Scatter, Shape};
use counts::{CountCase, CountShape};
use methods::Method;
use treering_stats::{
    HistoryPoint, NOISE_PLAN, SHIFT_PLAN, ShiftPlan, count_scale, history_memory, lasting_trend,
    level_shifts, newest_differs, noise_shift,
};

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
fn short_histories_whose_scatter_triples_seldom_have_an_alarm() {
    for points in [10, 12, 16] {
        let (_, alarms) = score(Method::Treering, &Case::quiet(points, Scatter::Tripled), 600);
        assert!(alarms <= 28, "{points} points: {alarms} of 600");
    }
}

#[test]
fn outliers_seldom_hide_a_step_and_are_none() {
    let quiet = Case { cov: 0.02, ..Case::quiet(60, Scatter::Doubled(0.1)) };
    let step = Case { shape: Shape::Step { ratio: 1.1 }, ..quiet };
    let (found, _) = score(Method::ALL[0], &step, 100);
    let (_, alarms) = score(Method::ALL[0], &quiet, 100);
    assert!(found >= 80 && alarms <= 5, "found {found}, alarms {alarms} of 100");
    for share in [0.3, 0.4] {
        let two_modes = Case { cov: 0.02, ..Case::quiet(60, Scatter::Doubled(share)) };
        let (_, alarms) = score(Method::ALL[0], &two_modes, 100);
        assert!(alarms <= 5, "{alarms} of 100 among {share}");
    }
}

#[test]
fn one_wild_count_hides_no_later_counts() {
    let mut counts = [0.0; 40];
    counts[8] = 450.0_f64.sqrt() * 2.0;
    counts[25..].iter_mut().enumerate().for_each(|(at, count)| *count = 4.0 + (at % 3) as f64);
    let point = |value: &f64| HistoryPoint { value: *value, standard_error: 0.0 };
    let plan = ShiftPlan { smallest_scatter: 1.0, ..SHIFT_PLAN };
    let points: Vec<HistoryPoint> = counts.iter().map(point).collect();
    let shifts = level_shifts(&points, &plan).unwrap();
    assert_eq!(shifts.iter().map(|shift| shift.index).collect::<Vec<_>>(), [25]);
}

#[test]
fn points_with_a_memory_seldom_have_levels() {
    for (phi, points, most) in [(0.8, 60, 40), (0.8, 200, 10), (0.5, 200, 12), (0.3, 200, 14)] {
        let case = Case::quiet(points, Scatter::Memory(phi));
        let (_, alarms) = score(Method::Treering, &case, 200);
        assert!(alarms <= most, "{}: {alarms} of 200", case.name());
    }
    for phi in [0.5, 0.8] {
        let shape = Shape::Step { ratio: 1.1 };
        let case = Case { shape, cov: 0.02, ..Case::quiet(60, Scatter::Memory(phi)) };
        let (found, _) = score(Method::Treering, &case, 100);
        assert!(found >= 95, "{}: {found} of 100", case.name());
    }
}

/// Number of series with a trend that goes on.
fn trends(case: &Case, series: u64) -> usize {
    let has_trend = |seed: &u64| {
        let point = |value: &f64| HistoryPoint { value: *value, standard_error: 0.0 };
        let points: Vec<HistoryPoint> = case.draw(*seed).values.iter().map(point).collect();
        let shifts = level_shifts(&points, &SHIFT_PLAN).expect("the values are finite");
        let starts: Vec<usize> = shifts.iter().map(|shift| shift.index).collect();
        lasting_trend(&points, &starts, 0.01).expect("the values are finite").is_some()
    };
    (0..series).filter(has_trend).count()
}

#[test]
fn slow_changes_are_trends_and_noise_memory_and_steps_are_none() {
    let memories = [0.3, 0.5, 0.8].map(Scatter::Memory);
    for scatter in Scatter::INDEPENDENT.into_iter().chain(memories).chain([Scatter::Tripled]) {
        for points in [20, 30, 60, 200] {
            let case = Case::quiet(points, scatter);
            let found = trends(&case, 150);
            assert!(found <= 4, "{}: {found} of 150", case.name());
        }
    }
    let normal = |points, shape| Case { shape, cov: 0.02, ..Case::quiet(points, Scatter::Normal) };
    for ratio in [1.01, 1.02, 1.03, 1.05, 1.1] {
        let case = normal(60, Shape::Step { ratio });
        let found = trends(&case, 150);
        assert!(found <= 4, "{}: {found} of 150", case.name());
    }
    for (points, ratio, least) in [(60, 1.002, 110), (100, 1.002, 145), (60, 1.004, 145)] {
        let case = normal(points, Shape::Ramp { ratio, from: 0.0 });
        let found = trends(&case, 150);
        println!("{}: {found} of 150", case.name());
        assert!(found >= least, "{}: {found} of 150", case.name());
    }
}

/// Series whose newest point is suspect at a p-value of .03, or in a new level of three points.
fn suspects(points: usize, series: u64, change: impl Fn(&mut [f64])) -> usize {
    suspects_of(&Case::quiet(points, Scatter::Normal), series, change)
}

fn suspects_of(case: &Case, series: u64, change: impl Fn(&mut [f64])) -> usize {
    let is_suspect = |seed: &u64| {
        let mut values = case.draw(*seed).values;
        change(&mut values);
        let point = |value: &f64| HistoryPoint { value: *value, standard_error: 0.0 };
        let points: Vec<HistoryPoint> = values.iter().map(point).collect();
        let shifts = level_shifts(&points, &SHIFT_PLAN).expect("the values are finite");
        let level = shifts.last().map_or(0, |shift| shift.index);
        points.len() - level == 3
            || newest_differs(&points[level..], 0.0).is_some_and(|newest| newest.p_value <= 0.03)
    };
    (0..series).filter(is_suspect).count()
}

#[test]
fn newest_points_are_judged_by_the_noise_of_today() {
    let tripled = |from: usize| {
        move |values: &mut [f64]| values[from..].iter_mut().for_each(|value| *value *= 3.0)
    };
    for (points, from) in [(60, 60), (60, 30), (60, 40), (60, 45), (200, 100)] {
        let found = suspects(points, 400, tripled(from));
        assert!(found <= 20, "{points}, three times as wide from {from} on: {found} of 400");
    }
    let found = suspects(60, 400, |values| values[59] += 6.0 * 0.05);
    assert!(found >= 390, "six standard deviations away: {found} of 400");
}

/// Regression: a second point as far out as the first was judged by the scatter that the first one
/// made, so that a gate passed between the first and the third point of a new level.
#[test]
fn a_second_point_of_a_new_level_is_as_suspect_as_the_first() {
    for points in [12, 25, 60, 200] {
        let raised = |values: &mut [f64]| {
            let from = values.len() - 2;
            values[from..].iter_mut().for_each(|value| *value += 8.0 * 0.05);
        };
        let found = suspects(points, 400, raised);
        let quiet = suspects(points, 400, |_| {});
        println!("{points} points: {found} of 400 with a new level, {quiet} without");
        assert!(found >= 380 && quiet <= 20, "{points}: {found} and {quiet} of 400");
        for scatter in [Scatter::HeavyTailed, Scatter::Skewed, Scatter::LogNormal] {
            let quiet = suspects_of(&Case::quiet(points, scatter), 400, |_| {});
            println!("{}: {quiet} of 400", Case::quiet(points, scatter).name());
            assert!(quiet <= 24, "{points}: {quiet} of 400");
        }
    }
}

#[test]
fn memories_as_strong_as_the_page_names_are_seen_in_four_of_five_series() {
    for (points, named) in [(30, 0.97), (60, 0.69), (200, 0.38)] {
        let seen = |phi: f64| {
            let is_seen = |seed: &u64| {
                let values = Case::quiet(points, Scatter::Memory(phi)).draw(*seed).values;
                let point = |value: &f64| HistoryPoint { value: *value, standard_error: 0.0 };
                let points: Vec<HistoryPoint> = values.iter().map(point).collect();
                let shifts = level_shifts(&points, &SHIFT_PLAN).expect("the values are finite");
                let starts: Vec<usize> = shifts.iter().map(|shift| shift.index).collect();
                let memory = history_memory(&points, &starts).expect("the points differ");
                assert!((memory.seen_from - named).abs() < 0.01, "{memory:?}");
                memory.is_seen
            };
            (0..400).filter(is_seen).count()
        };
        let (with, without) = (seen(named), seen(0.0));
        println!("{points} points: {with} of 400 with a memory of {named}, {without} without");
        assert!(with >= 290 && without <= 32, "{points}: {with} and {without} of 400");
    }
}

#[test]
fn three_points_at_the_end_of_one_of_many_series_decide() {
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

/// Percentage of 300 series with a change of level.
fn changed(case: &CountCase) -> u64 {
    let plan = ShiftPlan { smallest_scatter: 1.0, ..SHIFT_PLAN };
    let is_changed = |seed: &u64| {
        let point = |count: &f64| HistoryPoint { value: count_scale(*count), standard_error: 0.0 };
        let points: Vec<HistoryPoint> = case.draw(*seed).iter().map(point).collect();
        !level_shifts(&points, &plan).expect("the points suit the plan").is_empty()
    };
    (0..300).filter(is_changed).count() as u64 / 3
}

#[test]
fn counts_with_more_variance_than_chance_seldom_raise_alarms_and_their_changes_are_found() {
    let alone = [CountShape::Overdispersed(5.0), CountShape::Overdispersed(20.0)];
    for shape in alone.into_iter().chain([CountShape::Bursts(0.1), CountShape::Bursts(0.25)]) {
        for (points, mean) in [(12, 1.0), (20, 3.0), (60, 1.0), (60, 8.0)] {
            let alarms = changed(&CountCase::quiet(points, mean, shape));
            assert!(alarms <= 5, "{}, {points} points, {mean}: {alarms} %", shape.name());
        }
    }
    let step = |shape| CountCase { after: 6.0, from: 30, ..CountCase::quiet(60, 1.0, shape) };
    for (shape, least) in [
        (CountShape::Poisson, 98),
        (CountShape::Overdispersed(2.0), 98),
        (CountShape::Overdispersed(5.0), 90),
        (CountShape::Bursts(0.1), 70),
    ] {
        let found = changed(&step(shape));
        assert!(found >= least, "{}: {found} %", shape.name());
    }
}
