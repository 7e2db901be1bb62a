//! `shifts`: simulates histories with known truth, and counts the level shifts that treering's
//! method and others find, and their false alarms. Prints the tables of `docs/evidence/history.md`.
//!
//!     cargo run --release -p treering-stats --example shifts
//!
//! Given a file, it prints the shifts that the methods find in that series. With `--write`, it
//! writes the series of the first two tables to a file for other programs:
//!
//!     cargo run --release -p treering-stats --example shifts FILE.csv [COLUMN]
//!     cargo run --release -p treering-stats --example shifts --write FILE

#![expect(clippy::disallowed_macros, reason = "an example prints its tables")]
#![expect(clippy::disallowed_methods, reason = "an example has a command line of its own")]

mod cases;
mod file;
mod methods;
#[expect(dead_code, reason = "the noise of rounds is for the other example")]
#[path = "../coverage/noise.rs"]
mod noise;

use cases::{Case, Scatter, Shape};
use methods::Method;
use noise::RandomSource;
use treering_stats::{HistoryPoint, SHIFT_PLAN, history_memory, lasting_trend, level_shifts};

/// Number of simulated series of each kind.
const SERIES: usize = 600;

/// Results over many series.
#[derive(Clone, Copy, Default)]
struct ShiftScore {
    series: usize,
    /// Number of true edges, and of those with a detected shift within two points.
    edges: usize,
    found: usize,
    /// Number of series with any detected shift.
    alarms: usize,
}

impl ShiftScore {
    fn of(method: Method, case: &Case, series: usize) -> Self {
        let mut score = Self::default();
        for seed in 0..series as u64 {
            let drawn = case.draw(seed);
            let shifts = method.shifts(&drawn.values, case.judged);
            let near = |edge: &&usize| shifts.iter().any(|at| at.abs_diff(**edge) <= 2);
            score.series += 1;
            score.edges += drawn.edges.len();
            score.found += drawn.edges.iter().filter(near).count();
            score.alarms += usize::from(!shifts.is_empty());
        }
        score
    }

    fn found_percent(&self) -> String {
        percent(self.found, self.edges)
    }

    fn alarm_percent(&self) -> String {
        percent(self.alarms, self.series)
    }
}

fn percent(count: usize, of: usize) -> String {
    format!("{:.1}", 100.0 * count as f64 / of.max(1) as f64)
}

/// Prints a table: a row for each case, a column for each method.
fn table(title: &str, cases: &[Case], shown: impl Fn(&ShiftScore) -> String) {
    println!("\n{title}\n");
    let names: Vec<&str> = Method::ALL.iter().map(|method| method.name()).collect();
    println!("| series | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    for case in cases {
        let cell = |method: &Method| shown(&ShiftScore::of(*method, case, SERIES));
        let cells: Vec<String> = Method::ALL.iter().map(cell).collect();
        println!("| {} | {} |", case.name(), cells.join(" | "));
    }
}

/// Prints the false alarms over all looks at a growing history: alarms of any kind, and alarms
/// about a level that began in the newest five points.
fn alarms_over_looks() {
    println!(
        "\nQuiet histories of 80 points, looked at after each from the 20th on: with an alarm"
    );
    println!("\n| method | at any look % | in the newest five points at any look % |");
    println!("|---|---|---|");
    let series = SERIES / 4;
    for method in Method::ALL {
        let (mut any, mut recent) = (0, 0);
        for seed in 0..series as u64 {
            let case = Case::quiet(80, Scatter::Normal);
            let values = case.draw(seed).values;
            let looks: Vec<(usize, Vec<usize>)> =
                (20..=80).map(|end| (end, method.shifts(&values[..end], 1))).collect();
            any += usize::from(looks.iter().any(|(_, shifts)| !shifts.is_empty()));
            let is_recent =
                |(end, shifts): &(usize, Vec<usize>)| shifts.iter().any(|at| at + 5 >= *end);
            recent += usize::from(looks.iter().any(is_recent));
        }
        println!("| {} | {} | {} |", method.name(), percent(any, series), percent(recent, series));
    }
}

/// Prints the share of series whose autocorrelation is detected.
fn detected_autocorrelation() {
    println!("\nSeries whose memory is seen, %\n\n| memory | 15 | 30 | 60 | 200 points |");
    println!("|---|---|---|---|---|");
    let print = |name: &str, draw: &dyn Fn(usize, &mut RandomSource) -> Vec<f64>| {
        let cell = |points: usize| {
            let mut source = RandomSource::seeded(points as u64);
            let is_seen = |_: &usize| {
                let values = draw(points, &mut source);
                let point = |value: &f64| HistoryPoint { value: *value, standard_error: 0.0 };
                let points: Vec<HistoryPoint> = values.iter().map(point).collect();
                let shifts = level_shifts(&points, &SHIFT_PLAN).unwrap_or_default();
                let starts: Vec<usize> = shifts.iter().map(|shift| shift.index).collect();
                history_memory(&points, &starts).is_some_and(|memory| memory.is_seen)
            };
            percent((0..SERIES).filter(is_seen).count(), SERIES)
        };
        println!("| {name} | {} |", [15, 30, 60, 200].map(cell).join(" | "));
    };
    for phi in [0.0, 0.3, 0.5, 0.8] {
        print(&format!("AR(1) {phi}"), &|points, source| source.autoregressive(points, phi));
    }
    print("random walk", &|points, source| {
        let mut at = 0.0;
        let mut step = || {
            at += source.normal();
            at
        };
        (0..points).map(|_| step()).collect()
    });
}

/// Series of the first table, in which the level is 6 % worse for a while.
fn bump_cases() -> Vec<Case> {
    let scatters = [Scatter::Normal, Scatter::HeavyTailed];
    let of = |scatter: Scatter, cov: f64, length: usize| Case {
        shape: Shape::Bump { length, ratio: 1.06 },
        cov,
        ..Case::quiet(60, scatter)
    };
    let cases = scatters.into_iter().flat_map(|scatter| {
        let lengths = move |cov: f64| [5, 6, 8, 12, 20].map(|length| of(scatter, cov, length));
        [0.02, 0.03, 0.05].into_iter().flat_map(lengths)
    });
    cases.collect()
}

fn quiet() -> Vec<Case> {
    let memories = [0.3, 0.5, 0.8].map(Scatter::Memory);
    let others = [Scatter::Spike, Scatter::Tripled].into_iter().chain(memories);
    let lengths = [10, 30, 60, 200];
    Scatter::INDEPENDENT
        .into_iter()
        .chain(others)
        .flat_map(|scatter| lengths.map(|points| Case::quiet(points, scatter)))
        .collect()
}

fn tails() -> Vec<Case> {
    let case = |(points, length, ratio, judged): (usize, usize, f64, usize)| Case {
        shape: Shape::Tail { length, ratio },
        cov: 0.02,
        judged,
        ..Case::quiet(points, Scatter::Normal)
    };
    [
        (60, 3, 1.06, 1),
        (60, 5, 1.06, 1),
        (60, 3, 1.06, 40),
        (60, 5, 1.06, 40),
        (25, 3, 1.3, 40),
        (12, 3, 1.3, 10),
    ]
    .map(case)
    .to_vec()
}

fn steps() -> Vec<Case> {
    let case = |(points, cov): (usize, f64)| Case {
        shape: Shape::Step { ratio: 1.05 },
        cov,
        ..Case::quiet(points, Scatter::Normal)
    };
    [(30, 0.02), (60, 0.02), (200, 0.02), (30, 0.05), (60, 0.05), (200, 0.05)].map(case).to_vec()
}

/// Series in which a share of the points is twice as large, without a step and with one.
fn wild_quiet() -> Vec<Case> {
    let case = |share: f64| [60, 200].map(|points| Case::quiet(points, Scatter::Doubled(share)));
    let cases = [0.0, 0.05, 0.10, 0.15].into_iter().flat_map(case);
    cases.map(|case| Case { cov: 0.02, ..case }).collect()
}

fn wild_cases() -> Vec<Case> {
    let with_step = |case| Case { shape: Shape::Step { ratio: 1.1 }, ..case };
    wild_quiet().into_iter().map(with_step).collect()
}

/// Series with several steps.
fn turn_cases() -> Vec<Case> {
    let case = |(points, starts, cov): (usize, &'static [usize], f64)| Case {
        shape: Shape::Turns { starts, ratio: 1.1 },
        cov,
        ..Case::quiet(points, Scatter::Normal)
    };
    let (late, apart) = (&[12, 16, 20], &[12, 18, 28, 34, 44, 50]);
    [(24, &late[..], 0.01), (24, late, 0.02), (60, apart, 0.01), (60, apart, 0.02)]
        .map(case)
        .to_vec()
}

/// Prints how many series have a trend that goes on: quiet ones, some with steps, and slow changes.
fn trends() {
    println!("\nWith a trend that goes on, %\n\n| series | with a trend |\n|---|---|");
    let shaped = |shape, case: Case| Case { shape, cov: 0.02, ..case };
    let normal = |points| Case::quiet(points, Scatter::Normal);
    let steps = [1.01, 1.02, 1.03, 1.05, 1.1].map(|ratio| Shape::Step { ratio });
    let bump = Shape::Bump { length: 20, ratio: 1.06 };
    let turns = Shape::Turns { starts: &[20, 40], ratio: 1.06 };
    let ramp = |(ratio, from)| {
        let scatters = [Scatter::Normal, Scatter::HeavyTailed, Scatter::Memory(0.5)];
        let lengths = move |points| {
            scatters
                .map(|scatter| shaped(Shape::Ramp { ratio, from }, Case::quiet(points, scatter)))
        };
        [30, 60, 100].into_iter().flat_map(lengths)
    };
    let ramps = [(1.001, 0.0), (1.002, 0.0), (1.004, 0.0), (1.002, 0.5), (1.004, 0.5)];
    let cases = quiet()
        .into_iter()
        .chain([30, 60].into_iter().flat_map(|points| {
            steps.into_iter().chain([bump, turns]).map(move |shape| shaped(shape, normal(points)))
        }))
        .chain(ramps.into_iter().flat_map(ramp));
    for case in cases {
        let has_trend = |seed: &u64| has_trend(&case.draw(*seed).values);
        let found = (0..SERIES as u64).filter(has_trend).count();
        println!("| {} | {} |", case.name(), percent(found, SERIES));
    }
}

/// True if a series of its own has a trend at the level of the history.
fn has_trend(values: &[f64]) -> bool {
    let point = |value: &f64| HistoryPoint { value: *value, standard_error: 0.0 };
    let points: Vec<HistoryPoint> = values.iter().map(point).collect();
    let shifts = level_shifts(&points, &SHIFT_PLAN).unwrap_or_default();
    let starts: Vec<usize> = shifts.iter().map(|shift| shift.index).collect();
    lasting_trend(&points, &starts, 0.01).is_ok_and(|trend| trend.is_some())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [option, file] if option == "--write" => {
            return file::write(file, &[bump_cases(), quiet()].concat(), SERIES as u64);
        }
        [file, column @ ..] => {
            return file::shifts_of(file, column.first().map(String::as_str));
        }
        [] => {}
    }
    table(
        "+6 % for so many of 60 points: edges found, %",
        &bump_cases(),
        ShiftScore::found_percent,
    );
    table("No change of level: series with a shift, %", &quiet(), ShiftScore::alarm_percent);
    table("A step of 5 % in the middle: found, %", &steps(), ShiftScore::found_percent);
    table("A new level at the end: found, %", &tails(), ShiftScore::found_percent);
    table("Several steps: edges found, %", &turn_cases(), ShiftScore::found_percent);
    table("A step of 10 % among outliers: found, %", &wild_cases(), ShiftScore::found_percent);
    table("Outliers without a step: with a shift, %", &wild_quiet(), ShiftScore::alarm_percent);
    trends();
    alarms_over_looks();
    detected_autocorrelation();
    Ok(())
}
