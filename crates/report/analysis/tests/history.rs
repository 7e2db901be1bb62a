//! Histories of synthetic trials: changes of the environment, and facts that changed along with the
//! level.
#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

use std::convert::Infallible;

use treering_analysis::compare::Gate;
use treering_analysis::history::{
    ADJACENT_TRIALS_MAX, DatedTrial, History, HistoryGate, HistoryTerms, KnownChange, explain,
    history,
};
use treering_model::{
    Acknowledgement, Annotation, AnnotationKind, BetterDirection, Ending, Fact, Metric, RunMode,
    Scope, Trial, TrialHeader, TrialId, Unit,
};

/// A trial of a day, with kernel 6.2 from day 10 on and half the rate from day `slower` on.
fn trial(day: u32, number: u32, slower: u32) -> Trial {
    let rate = if day < slower { 1000.0 } else { 500.0 };
    // Deterministic scatter of about one percent.
    let rate = rate * (1.0 + f64::from((day * 31 + number) * 37 % 29) / 1400.0);
    let metric = Metric::new(
        "files_per_second",
        Scope::Trial,
        rate,
        Unit::FilesPerSecond,
        BetterDirection::Higher,
    );
    let kernel = if day < 10 { "6.1" } else { "6.2" };
    let started_unix_ms = i64::from(day) * 86_400_000 + i64::from(number) * 1000;
    Trial {
        facts: vec![Fact { name: "kernel.release".to_owned(), value: kernel.to_owned() }],
        metrics: vec![metric.primary()],
        ending: Ending::Completed,
        ..Trial::new(TrialHeader {
            started_unix_ms,
            ..TrialHeader::new(TrialId::new(), "fs_mark", RunMode::Native)
        })
    }
}

/// History of twenty days with `each` trials a day, after [`explain()`].
fn days(each: u32, slower: u32, key: impl Fn(&Trial, u32) -> String) -> History {
    let dates = (0..20).flat_map(|day| (0..each).map(move |number| (day, number)));
    let dated = dates.map(|(day, number)| {
        let trial = trial(day, number, slower);
        DatedTrial { key: key(&trial, day), trial }
    });
    let dated: Vec<DatedTrial> = dated.collect();
    let mut explained = history(&dated, &HistoryTerms::default()).unwrap();
    let load = |ids: &[TrialId]| -> Result<Vec<Trial>, Infallible> {
        assert!(ids.len() <= ADJACENT_TRIALS_MAX.max(20));
        let wanted =
            dated.iter().filter(|dated_trial| ids.contains(&dated_trial.trial.beginning.trial));
        Ok(wanted.map(|pattern| pattern.trial.clone()).collect())
    };
    let Ok(()) = explain(&mut explained, load);
    explained
}

#[test]
fn the_environment_changes_at_its_point_and_at_the_change_of_level() {
    let history = days(30, 10, |_, day| format!("day {day}"));
    let series = &history.series[0];
    assert_eq!((history.series.len(), series.points.len()), (1, 20));
    let fact = |facts: &[treering_analysis::history::ChangedFact]| {
        let changed = &facts[0];
        assert_eq!(facts.len(), 1, "{facts:?}");
        (changed.name.clone(), changed.before.clone(), changed.after.clone())
    };
    let kernel = ("kernel.release".to_owned(), "6.1".to_owned(), "6.2".to_owned());
    assert_eq!(series.environment.len(), 1);
    assert_eq!(series.environment[0].index, 10);
    assert_eq!(fact(&series.environment[0].facts), kernel);
    assert_eq!((series.shifts.len(), series.shifts[0].index), (1, 10));
    let (before, after) = &series.shifts[0].adjacent_trials;
    assert_eq!(
        (before.len(), after.len()),
        (ADJACENT_TRIALS_MAX, ADJACENT_TRIALS_MAX),
        "of 300 each"
    );
    assert_eq!(fact(&series.shifts[0].facts), kernel);
}

#[test]
fn environment_change_away_from_a_level_change_is_no_suspect() {
    let history = days(2, 5, |_, day| format!("day {day}"));
    let series = &history.series[0];
    assert_eq!((series.shifts.len(), series.shifts[0].index), (1, 5));
    assert!(series.shifts[0].facts.is_empty(), "{:?}", series.shifts);
    assert_eq!(series.environment[0].index, 10);
}

#[test]
fn fact_that_names_the_points_is_no_environment_change() {
    let history = days(2, 30, |trial, _| trial.fact("kernel.release").unwrap().to_owned());
    let series = &history.series[0];
    assert_eq!(series.points.len(), 2);
    assert_eq!(series.points[1].trials.len(), 20);
    assert!(series.environment.is_empty(), "{:?}", series.environment);
}

/// History of a metric with one trial and this value for each day.
fn of_values(values: &[f64], unit: Unit, better: BetterDirection) -> History {
    let dated: Vec<DatedTrial> = (0_u32..)
        .zip(values)
        .map(|(day, value)| {
            let mut trial = trial(day, 0, 30);
            let metric = Metric::new("measured", Scope::Trial, *value, unit, better);
            trial.metrics = vec![metric.primary()];
            DatedTrial { key: format!("day {day}"), trial }
        })
        .collect();
    history(&dated, &HistoryTerms::default()).unwrap()
}

#[test]
fn zeros_are_values_and_errors_from_zero_are_a_change() {
    let errors = |newest: [f64; 3]| {
        let values = [[0.0; 17].as_slice(), &newest].concat();
        of_values(&values, Unit::Count, BetterDirection::Lower)
    };
    let found = errors([5.0, 4.0, 6.0]);
    let series = &found.series[0];
    assert_eq!(series.points.len(), 20);
    assert_eq!(series.points[0].value, 0.0);
    assert_eq!(series.shifts.len(), 1, "{:?}", series.shifts);
    let shift = &series.shifts[0];
    assert_eq!((shift.index, shift.is_worse), (17, true));
    assert!(shift.ratio.is_infinite() && shift.interval.is_none(), "{shift:?}");
    let is_mean = shift.levels.0 == 0.0 && (shift.levels.1 - 5.0).abs() < 1e-9;
    assert!(is_mean, "levels of counts are their means: {shift:?}");
    assert!(errors([0.0, 1.0, 0.0]).series[0].shifts.is_empty());
    let rates = [[0.0; 3].as_slice(), &[3.1, 2.9, 3.0, 3.2, 2.8, 3.1, 3.0]].concat();
    let found = of_values(&rates, Unit::MibPerSecond, BetterDirection::Higher);
    assert_eq!(found.series[0].points.len(), 10);
}

#[test]
fn a_regression_that_was_fixed_again_has_both_of_its_ends() {
    let rate = |day: u32| {
        let scatter = 1.0 + f64::from(day * day * 37 % 29) / 700.0;
        if (25..31).contains(&day) { 900.0 * scatter } else { 1000.0 * scatter }
    };
    let values: Vec<f64> = (0..60).map(rate).collect();
    let history = of_values(&values, Unit::FilesPerSecond, BetterDirection::Higher);
    let shifts = &history.series[0].shifts;
    let ends: Vec<(usize, bool)> =
        shifts.iter().map(|shift| (shift.index, shift.is_worse)).collect();
    assert_eq!(ends, [(25, true), (31, false)]);
}

/// Changes found in a history of twenty-five days: index, and whether each is acknowledged.
/// `levels` holds the first day and factor of each level; the trials of `day` acknowledge a change
/// by `ratio`.
fn known(levels: &[(u32, f64)], day: u32, ratio: f64) -> Vec<(usize, bool)> {
    let dated = (0..25).flat_map(|day| (0..3).map(move |number| (day, number)));
    let dated = dated.map(|(at, number)| {
        let mut trial = trial(at, number, 99);
        let level = levels.iter().rev().find(|(from, _)| *from <= at);
        trial.metrics[0].value *= level.map_or(1.0, |(_, level)| *level);
        if at == day {
            let change = AnnotationKind::Acknowledged(Acknowledgement {
                metric: "files_per_second".to_owned(),
                anchor: String::new(),
                log_ratio_millionths: Acknowledgement::millionths(ratio),
                trend_points: None,
                reason: "compiler 14".to_owned(),
            });
            trial.annotations.push(Annotation { at_unix_ms: 1, change });
        }
        DatedTrial { key: format!("day {at}"), trial }
    });
    let found = history(&dated.collect::<Vec<_>>(), &HistoryTerms::default()).unwrap();
    let shifts = found.series[0].shifts.iter();
    shifts.map(|shift| (shift.index, shift.known.is_some())).collect()
}

#[test]
fn a_known_change_stays_known_when_its_place_moves_by_two_points() {
    for day in 8..=12 {
        assert_eq!(known(&[(10, 0.8)], day, 0.8), [(10, true)], "{day}");
    }
    for day in [7, 13] {
        assert_eq!(known(&[(10, 0.8)], day, 0.8), [(10, false)], "{day}");
    }
}

#[test]
fn an_acknowledgement_hides_no_other_change() {
    assert_eq!(known(&[(10, 0.8)], 10, 1.25), [(10, false)], "of the other direction");
    assert_eq!(known(&[(10, 0.5)], 10, 0.9), [(10, false)], "of more than twice the size");
    assert_eq!(known(&[(10, 0.8)], 10, 0.7), [(10, true)], "of a smaller size");
    let later = known(&[(10, 0.8), (14, 0.64)], 12, 0.8);
    let known_ones = later.iter().filter(|(_, is_known)| *is_known).count();
    assert_eq!((later.len(), known_ones), (2, 1), "{later:?}");
}

/// Sixty days of a rate that varies by 2 %.
fn sixty_days(level: impl Fn(u32) -> f64) -> History {
    let rate =
        |day: u32| 1000.0 * level(day) * (1.0 + f64::from(day * day * 7919 % 1009) / 14_400.0);
    let values: Vec<f64> = (0..60).map(rate).collect();
    of_values(&values, Unit::FilesPerSecond, BetterDirection::Higher)
}

/// Regression: a loss of .2 % a point passed the gate, as no point began a worse level.
#[test]
fn the_gate_stops_a_slow_trend_for_the_worse_and_no_step_of_long_ago() {
    let gate = |smallest_change: f64| HistoryGate { recent: 5, smallest_change };
    let slow = sixty_days(|day| 1.0 - 0.002 * f64::from(day));
    let trend = slow.series[0].trend.as_ref().unwrap();
    assert!(trend.is_worse && trend.index == 0 && trend.p_value < 0.001, "{trend:?}");
    let (low, high) = trend.interval.unwrap();
    assert!((low..=high).contains(&0.882), "{trend:?}");
    assert_eq!(gate(0.0).decide(&slow), Gate::Worse);
    assert_eq!(gate(0.2).decide(&slow), Gate::Pass, "a smaller change than was asked for");
    let mut known = slow.clone();
    let parts = known.series[0].shifts.iter_mut().filter(|shift| shift.is_worse);
    let acknowledgement = Acknowledgement {
        metric: String::new(),
        anchor: String::new(),
        log_ratio_millionths: 0,
        trend_points: None,
        reason: "compiler 14".to_owned(),
    };
    let compiler = KnownChange { acknowledgement, trials: Vec::new() };
    let parts = parts.map(|shift| shift.known = Some(compiler.clone())).count();
    assert!(parts > 0, "the trend has levels");
    assert_eq!(gate(0.0).decide(&known), Gate::Pass, "all of its levels are known");
    let better = sixty_days(|day| 1.0 + 0.002 * f64::from(day));
    assert!(better.series[0].trend.as_ref().is_some_and(|trend| !trend.is_worse));
    assert_eq!(gate(0.0).decide(&better), Gate::Pass);
    let step = sixty_days(|day| if day < 20 { 1.0 } else { 0.9 });
    assert_eq!((&step.series[0].trend, step.series[0].shifts.len()), (&None, 1));
    assert_eq!(gate(0.0).decide(&step), Gate::Pass);
}

/// Sixty days of a rate that falls by `each` from day to day, varies by 2 %, and is 12 % lower from
/// `step` on. The first day acknowledges a trend of -12 % over its first `points` points.
fn known_trend(each: f64, step: u32, points: u64) -> History {
    let dated = (0..60).map(|day| {
        let mut trial = trial(day, 0, 99);
        let noise = 1.0 + f64::from(day * day * 7919 % 1009) / 14_400.0;
        let lower = if day < step { 1.0 } else { 0.88 };
        trial.metrics[0].value = 1000.0 * (1.0 - each * f64::from(day)) * noise * lower;
        if day == 0 {
            let change = AnnotationKind::Acknowledged(Acknowledgement {
                metric: "files_per_second".to_owned(),
                anchor: String::new(),
                log_ratio_millionths: Acknowledgement::millionths(0.88),
                trend_points: Some(points),
                reason: "the disk wears".to_owned(),
            });
            trial.annotations.push(Annotation { at_unix_ms: 1, change });
        }
        DatedTrial { key: format!("day {day}"), trial }
    });
    history(&dated.collect::<Vec<_>>(), &HistoryTerms::default()).unwrap()
}

#[test]
fn a_known_trend_passes_the_gate_with_its_levels_and_a_steeper_one_does_not() {
    let terms = HistoryGate { recent: 5, smallest_change: 0.0 };
    let gate = |history: &History| terms.decide(history);
    let known = known_trend(0.002, 60, 60);
    let series = &known.series[0];
    assert!(series.trend.as_ref().unwrap().known.is_some(), "{:?}", series.trend);
    assert!(!series.shifts.is_empty(), "the trend has levels");
    assert!(series.shifts.iter().all(|shift| shift.known.is_some()), "{:?}", series.shifts);
    assert_eq!(gate(&known), Gate::Pass);
    let shorter = known_trend(0.002, 60, 40);
    assert_eq!(gate(&shorter), Gate::Pass, "as steep, and acknowledged twenty points ago");
    let steeper = known_trend(0.005, 60, 60);
    assert!(steeper.series[0].trend.as_ref().is_some_and(|trend| trend.known.is_none()));
    assert_eq!(gate(&steeper), Gate::Worse);
    let dropped = known_trend(0.002, 56, 60);
    assert_eq!(gate(&dropped), Gate::Worse, "a step within it: {:?}", dropped.series[0].shifts);
}
