//! Page of `treering plan sweep`: curves over the values of a sweep, with intervals and knees; a
//! map for two keys.

use treering_analysis::sweep::{AGE_KEY, Sweep, SweepKnee, SweepPoint};
use treering_model::Unit;

use super::scaling::{self, WIDEST, determined};
use crate::charts::{Chart, Curve, CurvePoint, Curves, SweepKey, SweepMap};
use crate::table::RowField;
use crate::{Cell, Report, Table};

/// Key of the state of aged files.
const TREE_KEY: &str = "tree";

/// Page of the sweeps, with charts if `draws`.
pub fn page(plan: &str, sweeps: &[Sweep], draws: bool) -> Report {
    let mut page = Report::new(format!("Sweeps of {plan}"));
    for sweep in sweeps {
        // An age has no knee: nothing is saturated by it.
        for knee in sweep.knees.iter().filter(|_| !is_over_ages(sweep)) {
            page.paragraph(sentence(sweep, knee));
        }
        for scaling in &sweep.scalings {
            scaling::sentences(&title(sweep), scaling)
                .into_iter()
                .for_each(|text| page.paragraph(text));
        }
    }
    let ages: Vec<Vec<&Sweep>> = over_ages(sweeps);
    for same in &ages {
        if draws {
            page.chart(Chart::Curves(of_filesystems(same)));
        }
        page.table(ages_of(same));
    }
    for sweep in sweeps.iter().filter(|sweep| !is_over_ages(sweep)) {
        match scaling::chart(&title_with_unit(sweep), sweep) {
            Some(scalings) if draws => page.chart(Chart::Scaling(scalings)),
            None if draws => page.chart(Chart::Curves(chart(sweep))),
            _ => {}
        }
        if draws && sweep.keys.len() == 2 {
            page.chart(Chart::SweepMap(picture(sweep)));
        }
        page.table(points(sweep));
        if sweep.keys.len() == 2 {
            page.table(map(sweep));
        }
        if !sweep.scalings.is_empty() {
            page.table(scaling::sizes(&title(sweep), sweep));
        }
    }
    if let Some(models) = scaling::models(sweeps, title) {
        page.table(models);
    }
    page.note(
        "Means are geometric means over the rounds, intervals Student's t on logarithms (95 %).",
    );
    if sweeps.iter().any(|sweep| !is_over_ages(sweep)) {
        page.note(
            "A knee is where two lines through the logarithms meet, with its 95 % interval by \
             profile likelihood.",
        );
    }
    if !ages.is_empty() {
        page.note(
            "An age is the number of operations of the aging run; in each round every filesystem \
             is aged anew. A copy has the same files on a fresh filesystem.",
        );
    }
    let is_left_out =
        |point: &SweepPoint| point.interval.is_some() && determined(point.interval).is_none();
    if sweeps.iter().any(|sweep| sweep.points.iter().any(is_left_out)) {
        page.note(format!(
            "Intervals whose ends differ by more than a factor of {WIDEST} are not shown: more \
             rounds make them narrower."
        ));
    }
    if sweeps.iter().any(|sweep| !sweep.scalings.is_empty()) {
        page.note(scaling::NOTE);
    }
    page
}

/// True for a sweep over the ages of a filesystem.
fn is_over_ages(sweep: &Sweep) -> bool {
    sweep.keys.last().is_some_and(|key| key == AGE_KEY)
}

/// Sweeps over ages, those of one job and metric together.
fn over_ages(sweeps: &[Sweep]) -> Vec<Vec<&Sweep>> {
    let mut groups: Vec<Vec<&Sweep>> = Vec::new();
    for sweep in sweeps.iter().filter(|sweep| is_over_ages(sweep)) {
        let is_same = |group: &&mut Vec<&Sweep>| {
            let first = group[0];
            (&first.job, &first.metric, &first.keys) == (&sweep.job, &sweep.metric, &sweep.keys)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(sweep),
            None => groups.push(vec![sweep]),
        }
    }
    groups
}

/// Job and metric of sweeps over ages: `read, run/seconds (s)`.
fn title_of_ages(sweep: &Sweep) -> String {
    title_with_unit(&Sweep { variant: String::new(), ..sweep.clone() })
}

/// Chart with a curve for each filesystem and state of its files, over the ages.
fn of_filesystems(same: &[&Sweep]) -> Curves {
    let mut values: Vec<String> = Vec::new();
    for point in same.iter().flat_map(|sweep| &sweep.points) {
        let age = point.values.last().cloned().unwrap_or_default();
        if !values.contains(&age) {
            values.push(age);
        }
    }
    values.sort_by_key(|age| age.parse::<u64>().unwrap_or(u64::MAX));
    let mut curves: Vec<Curve> = Vec::new();
    for sweep in same {
        for point in &sweep.points {
            let name = line_name(sweep, point);
            let place = curves.iter().position(|curve| curve.name == name).unwrap_or_else(|| {
                curves.push(Curve { name, points: vec![None; values.len()] });
                curves.len() - 1
            });
            let age = point.values.last();
            let at = values.iter().position(|value| Some(value) == age).unwrap_or_default();
            let interval = determined(point.interval);
            curves[place].points[at] = Some(CurvePoint { mean: point.mean, interval });
        }
    }
    Curves {
        metric: title_of_ages(same[0]),
        unit: same[0].unit,
        better: same[0].better,
        key: "age in operations".to_owned(),
        values,
        curves,
        limits: Vec::new(),
    }
}

/// Name of a curve: `ext4, copied`.
fn line_name(sweep: &Sweep, point: &SweepPoint) -> String {
    let before = point.values.len().saturating_sub(1);
    let parts =
        sweep.keys.iter().zip(&point.values).take(before).map(|(key, value)| {
            if key == TREE_KEY { value.clone() } else { format!("{key}={value}") }
        });
    std::iter::once(sweep.variant.clone()).chain(parts).collect::<Vec<_>>().join(", ")
}

/// Table of sweeps over ages, a row for each filesystem, state of its files and age.
fn ages_of(same: &[&Sweep]) -> Table {
    let better = same[0].better.phrase();
    let caption = format!("{} by age in operations ({better})", title_of_ages(same[0]));
    let rows = same.iter().flat_map(|sweep| sweep.points.iter().map(move |point| (sweep, point)));
    let row = |(sweep, point): (&&Sweep, &SweepPoint)| {
        let figure = |value: Option<f64>| Cell::measured(value, sweep.unit);
        let interval = determined(point.interval);
        vec![
            RowField::text("filesystem", line_name(sweep, point)),
            RowField::text("age", point.values.last().map_or("", String::as_str)),
            RowField::mixed("mean", figure(Some(point.mean))),
            RowField::mixed("from", figure(interval.map(|(low, _)| low))),
            RowField::mixed("to", figure(interval.map(|(_, high)| high))),
            RowField::count("rounds", point.rounds as u64),
        ]
    };
    Table::from_rows("ages", &caption, rows.map(row))
}

/// Title of a sweep: `fio, ext4, iops`.
fn title(sweep: &Sweep) -> String {
    let parts = [&sweep.job, &sweep.variant, &sweep.metric];
    parts
        .map(String::as_str)
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

fn title_with_unit(sweep: &Sweep) -> String {
    let unit = match sweep.unit.symbol() {
        "" => String::new(),
        symbol => format!(" ({symbol})"),
    };
    title(sweep) + &unit
}

/// Formats the position of a knee with three digits: `8`, `11.3`.
fn shown(value: f64) -> String {
    let text = if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") };
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn sentence(sweep: &Sweep, knee: &SweepKnee) -> String {
    let others = match knee.others.as_slice() {
        [] => String::new(),
        others => format!(", {}", others.join(", ")),
    };
    let title = title(sweep) + &others;
    let key = &knee.key;
    let Some(estimate) = &knee.knee else { return format!("{title}: no knee over {key}.") };
    let Some(bounds) = estimate.interval else {
        return format!("{title}: a knee over {key} is not determined by so few rounds.");
    };
    format!(
        "{title}: the knee is at {} {key} ({} to {}); doubling {key} gives a factor of {:.2} \
         before it, and of {:.2} after it.",
        shown(estimate.at),
        shown(bounds.low),
        shown(bounds.high),
        estimate.slope_before.exp2(),
        estimate.slope_after.exp2()
    )
}

fn points(sweep: &Sweep) -> Table {
    let better = sweep.better.phrase();
    let caption = format!("{} ({better})", title(sweep));
    let row = |point: &SweepPoint| {
        let values = sweep.keys.iter().zip(&point.values);
        let figure = |value: Option<f64>| Cell::measured(value, sweep.unit);
        let interval = determined(point.interval);
        let figures = [
            RowField::mixed("mean", figure(Some(point.mean))),
            RowField::mixed("from", figure(interval.map(|(low, _)| low))),
            RowField::mixed("to", figure(interval.map(|(_, high)| high))),
            RowField::count("rounds", point.rounds as u64),
        ];
        values.map(|(key, value)| RowField::text(key, value)).chain(figures).collect()
    };
    Table::from_rows("sweep", &caption, sweep.points.iter().map(row))
}

/// Values of a key, in order of occurrence.
fn values(sweep: &Sweep, key: usize) -> Vec<&str> {
    let mut values: Vec<&str> = Vec::new();
    for point in &sweep.points {
        if !values.contains(&point.values[key].as_str()) {
            values.push(&point.values[key]);
        }
    }
    values
}

/// Table with two keys as rows and columns; each cell is in percent of the best cell.
fn map(sweep: &Sweep) -> Table {
    let (rows, across) = (values(sweep, 0), values(sweep, 1));
    let means = || sweep.points.iter().map(|point| point.mean);
    let is_higher = sweep.better == treering_model::BetterDirection::Higher;
    let best = if is_higher {
        means().fold(f64::NEG_INFINITY, f64::max)
    } else {
        means().fold(f64::INFINITY, f64::min)
    };
    let caption = format!("{}, in percent of the best, {} across", title(sweep), sweep.keys[1]);
    let row = |row: &str| {
        let field = |column: &&str| {
            let is_it = |point: &&SweepPoint| point.values[0] == row && point.values[1] == **column;
            let point = sweep.points.iter().find(is_it);
            let share = point.map(|point| 100.0 * point.mean / best);
            RowField::mixed(column, Cell::measured(share, Unit::Percent))
        };
        std::iter::once(RowField::text(&sweep.keys[0], row))
            .chain(across.iter().map(field))
            .collect()
    };
    Table::from_rows("sweep_map", &caption, rows.into_iter().map(row))
}

/// Chart with a curve for each combination of all keys but the last.
fn chart(sweep: &Sweep) -> Curves {
    let last = sweep.keys.len() - 1;
    let across = values(sweep, last);
    let mut curves: Vec<Curve> = Vec::new();
    for point in &sweep.points {
        let before = sweep.keys.iter().zip(&point.values).take(last);
        let parts: Vec<String> = before.map(|(key, value)| format!("{key}={value}")).collect();
        let name = parts.join(", ");
        let at = across.iter().position(|value| *value == point.values[last]).unwrap_or_default();
        let place = curves.iter().position(|curve| curve.name == name).unwrap_or_else(|| {
            curves.push(Curve { name, points: vec![None; across.len()] });
            curves.len() - 1
        });
        let SweepPoint { mean, interval, .. } = *point;
        let interval = determined(interval);
        curves[place].points[at] = Some(CurvePoint { mean, interval });
    }
    Curves {
        metric: title_with_unit(sweep),
        unit: sweep.unit,
        better: sweep.better,
        key: sweep.keys[last].clone(),
        values: across.into_iter().map(str::to_owned).collect(),
        curves,
        limits: Vec::new(),
    }
}

/// Map chart of two keys.
fn picture(sweep: &Sweep) -> SweepMap {
    let key = |key: usize| SweepKey {
        key: sweep.keys[key].clone(),
        values: values(sweep, key).into_iter().map(str::to_owned).collect(),
    };
    let (rows, columns) = (key(0), key(1));
    let mean = |row: &String, column: &String| {
        let is_it = |point: &&SweepPoint| point.values[0] == *row && point.values[1] == *column;
        sweep.points.iter().find(is_it).map(|point| point.mean)
    };
    let means = rows
        .values
        .iter()
        .map(|row| columns.values.iter().map(|column| mean(row, column)).collect())
        .collect();
    let (metric, unit, better) = (title_with_unit(sweep), sweep.unit, sweep.better);
    SweepMap { metric, unit, better, rows, columns, means }
}
