//! `counts`: simulates histories of small counts whose variance exceeds their mean, and tells how
//! often a change of level, or a suspect newest point, is found without and with a change. Prints
//! the table of `docs/evidence/history.md`.
//!
//!     cargo run --release -p treering-stats --example counts

#![expect(clippy::disallowed_macros, reason = "an example prints its tables")]

#[expect(dead_code, reason = "the noise of rounds is for the other example")]
#[path = "../coverage/noise.rs"]
mod noise;
mod series;

use series::{CountCase, CountShape};
use treering_stats::{
    HistoryPoint, SHIFT_PLAN, ShiftPlan, count_scale, level_shifts, newest_differs,
};

const SERIES: u64 = 600;
const PLAN: ShiftPlan = ShiftPlan { smallest_scatter: 1.0, ..SHIFT_PLAN };
/// Largest p-value of a suspect newest point.
const SUSPECT: f64 = 0.03;

/// Percentage of series with a change of level, and with a suspect newest point.
fn alarms(case: &CountCase) -> (f64, f64) {
    let (mut changes, mut suspects) = (0, 0);
    for seed in 0..SERIES {
        let points: Vec<HistoryPoint> = case
            .draw(seed)
            .iter()
            .map(|count| HistoryPoint { value: count_scale(*count), standard_error: 0.0 })
            .collect();
        let shifts = level_shifts(&points, &PLAN).unwrap_or_default();
        changes += u64::from(!shifts.is_empty());
        let level = shifts.last().map_or(0, |shift| shift.index);
        let newest = newest_differs(&points[level..], PLAN.smallest_scatter);
        suspects += u64::from(newest.is_some_and(|newest| newest.p_value <= SUSPECT));
    }
    let percent = |count: u64| 100.0 * count as f64 / SERIES as f64;
    (percent(changes), percent(suspects))
}

fn main() {
    const POINTS: [usize; 4] = [12, 20, 60, 200];
    println!(
        "Quiet series in which a change of level; a suspect newest point is told, %: the most"
    );
    println!("of means of .5, 1, 3 and 8\n");
    println!("| counts | {} |", POINTS.map(|points| format!("{points} points")).join(" | "));
    println!("|---|{}", "---|".repeat(POINTS.len()));
    for shape in CountShape::ALL {
        let cell = |points: usize| {
            let of_mean = |mean: f64| alarms(&CountCase::quiet(points, mean, shape));
            let most = [0.5, 1.0, 3.0, 8.0].map(of_mean).into_iter();
            let most = most.fold((0.0_f64, 0.0_f64), |m, of| (m.0.max(of.0), m.1.max(of.1)));
            format!("{:.1}; {:.1}", most.0, most.1)
        };
        println!("| {} | {} |", shape.name(), POINTS.map(cell).join(" | "));
    }
    println!("\nSeries with a change of the mean in which one is told, %\n");
    println!(
        "| counts | 1 to 6, 20 points | 60 | 3 to 9, 20 | 60 | the last 3, .5 to 5.5, 20 | 60 |"
    );
    println!("|---|---|---|---|---|---|---|");
    for shape in CountShape::ALL {
        let found = |mean: f64, after: f64, points: usize, from: usize| {
            let case = CountCase { after, from, ..CountCase::quiet(points, mean, shape) };
            format!("{:.1}", alarms(&case).0)
        };
        let cells = [
            found(1.0, 6.0, 20, 10),
            found(1.0, 6.0, 60, 30),
            found(3.0, 9.0, 20, 10),
            found(3.0, 9.0, 60, 30),
            found(0.5, 5.5, 20, 17),
            found(0.5, 5.5, 60, 57),
        ];
        println!("| {} | {} |", shape.name(), cells.join(" | "));
    }
}
