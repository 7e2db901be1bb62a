//! Scaling of throughput with the ranks, clients or threads of a sweep: sentences, tables and a
//! chart, with the fitted Universal Scalability Law and its limits.

use treering_analysis::scaling::{Scaling, ScalingSize};
use treering_analysis::sweep::Sweep;
use treering_model::{BetterDirection, Unit, counted};
use treering_stats::{Interval, Scalability};

use crate::charts::{MOST_SIDES, ScalingChart, ScalingChartPoint, ScalingCurve};
use crate::table::RowField;
use crate::{Cell, Column, Number, NumberStyle, Table};

/// Number of points of the model's curve.
const MODEL_POINTS: u32 = 40;

pub(super) const NOTE: &str = "\
Efficiency is the throughput in percent of the ideal, which is that of the smallest size times as \
many; it is paired by round. The Universal Scalability Law is X(N) = a N / (1 + s (N - 1) + k N (N \
- 1)), with the contention s, the share of work for which all wait for one another, and the \
coherency k, the share for which each pair has to agree.";
/// Upper end of a share's interval above which the share counts as undetermined, if the lower end
/// is 0.
const UNDETERMINED_FROM: f64 = 0.5;

/// Quotient of the ends of the widest interval that is shown.
pub(super) const WIDEST: f64 = 20.0;

/// The interval unless it is so wide that its digits mean nothing, as with very few rounds.
pub(super) fn determined(interval: Option<(f64, f64)>) -> Option<(f64, f64)> {
    interval.filter(|(low, high)| *low > 0.0 && high / low <= WIDEST)
}

/// Formats a share of work in percent with about two digits.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    match value.abs() {
        large if large >= 9.95 => format!("{value:.0} %"),
        middle if middle >= 0.95 => format!("{value:.1} %"),
        small if small >= 0.0095 => format!("{value:.2} %"),
        zero if zero < 5e-5 => "0 %".to_owned(),
        _ => format!("{value:.4} %"),
    }
}

fn count(value: f64) -> String {
    if value >= 99.5 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn name(title: &str, scaling: &Scaling) -> String {
    let others = scaling.others.iter().map(|other| format!(", {other}"));
    title.to_owned() + &others.collect::<String>()
}

/// Sentences about a scaling.
pub(super) fn sentences(title: &str, scaling: &Scaling) -> Vec<String> {
    let key = &scaling.key;
    let title = name(title, scaling);
    let (Some(first), Some(last)) = (scaling.sizes.first(), scaling.sizes.last()) else {
        return Vec::new();
    };
    let gain = last.efficiency * last.size / first.size;
    let growth = match determined(last.efficiency_interval) {
        Some((low, high)) => format!(
            "{title}: {} {key} give {gain:.2} times the throughput of {}, which is {} of the ideal \
             ({} to {}).",
            last.size,
            first.size,
            percent(last.efficiency),
            percent(low),
            percent(high)
        ),
        None => format!(
            "{title}: how much more {} {key} give than {} is not determined by {} (measured: \
             {gain:.2} times the throughput).",
            last.size,
            first.size,
            counted(last.rounds, "round")
        ),
    };
    vec![growth, format!("{title}: {}", of_model(scaling))]
}

/// Sentence about the fitted model, or about the reason why there is none.
fn of_model(scaling: &Scaling) -> String {
    let key = &scaling.key;
    let Some(model) = &scaling.model else {
        return format!(
            "the Universal Scalability Law is fitted from {} sizes on, and there are {}.",
            Scaling::FEWEST_SIZES,
            scaling.sizes.len()
        );
    };
    if scaling.is_superlinear() {
        return format!(
            "throughput grows faster than {key} somewhere, which no contention or coherency of the \
             Universal Scalability Law can explain: it is not shown."
        );
    }
    let mut words = format!(
        "Universal Scalability Law: {}, {}; {}.",
        share("contention", model.contention, &model.contention_interval),
        share("coherency", model.coherency, &model.coherency_interval),
        peak(scaling, model)
    );
    if let Some((size, off)) = scaling.farthest() {
        let side = if off > 0.0 { "above" } else { "below" };
        words += &if model.follows() {
            format!(" The mean farthest from it is at {key}={size}, {} {side}.", percent(off.abs()))
        } else {
            format!(
                " These sizes do not follow the model (at {key}={size} the mean is {} {side} it, which \
                 chance does not explain): the shares are a rough description, with intervals by \
                 the distance of the sizes.",
                percent(off.abs())
            )
        };
    }
    words
}

/// Describes a share with its interval, or states that it may be zero.
fn share(name: &str, value: f64, interval: &Interval) -> String {
    if interval.low > 0.0 && interval.high > 1.0 {
        return format!("{name} is at least {}", percent(interval.low.min(1.0)));
    }
    if interval.low > 0.0 {
        return format!(
            "{name} {} ({} to {})",
            percent(value),
            percent(interval.low),
            percent(interval.high)
        );
    }
    let most = percent(interval.high);
    if interval.high > 1.0 {
        return format!("{name} is not determined");
    }
    if interval.high >= UNDETERMINED_FROM {
        return format!("{name} is not determined (0 to {most})");
    }
    format!("{name} is not told from none (at most {most})")
}

fn peak(scaling: &Scaling, model: &Scalability) -> String {
    let key = &scaling.key;
    let (Some(peak), Some(interval)) = (model.peak_clients, &model.peak_interval) else {
        return format!("whether there is a peak, and where, these {key} do not tell");
    };
    let beyond = if peak > scaling.largest() {
        format!(", beyond the {} that were measured", scaling.largest())
    } else {
        String::new()
    };
    format!(
        "the peak is at {} {key} ({} to {}){beyond}",
        count(peak),
        count(interval.low),
        count(interval.high)
    )
}

/// Table of the throughput of each size beside the ideal and the model.
pub(super) fn sizes(title: &str, sweep: &Sweep) -> Table {
    let key = sweep.scalings.first().map_or("", |scaling| scaling.key.as_str());
    let has_others = sweep.scalings.iter().any(|scaling| !scaling.others.is_empty());
    let rows = sweep.scalings.iter().flat_map(|scaling| {
        scaling.sizes.iter().map(move |size| {
            let others = has_others.then(|| RowField::text("with", scaling.others.join(", ")));
            others.into_iter().chain(row(key, scaling, size, sweep.unit)).collect()
        })
    });
    Table::from_rows("scaling", &format!("{title}: scaling"), rows)
}

fn row(key: &str, scaling: &Scaling, size: &ScalingSize, unit: Unit) -> [RowField; 8] {
    let share = |name, value: Option<f64>| {
        RowField::number(name, Unit::Percent, value.map(|efficiency| 100.0 * efficiency))
    };
    let rate = |name, value: Option<f64>| RowField::mixed(name, Cell::measured(value, unit));
    let model = scaling.model.as_ref().filter(|_| !scaling.is_superlinear());
    let interval = determined(size.efficiency_interval);
    [
        RowField::new(Column::count(key), Cell::measured(size.size, Unit::Count)),
        rate("mean", Some(size.mean)),
        rate("ideal", Some(size.ideal)),
        share("efficiency", Some(size.efficiency)).better(BetterDirection::Higher),
        share("from", interval.map(|(low, _)| low)),
        share("to", interval.map(|(_, high)| high)),
        rate("model", model.map(|model| model.throughput(size.size))),
        RowField::count("rounds", size.rounds as u64),
    ]
}

/// Table of the fitted models.
pub(super) fn models(sweeps: &[Sweep], title: impl Fn(&Sweep) -> String) -> Option<Table> {
    let all = sweeps.iter().flat_map(|sweep| sweep.scalings.iter().map(move |it| (sweep, it)));
    let rows = all.filter_map(|(sweep, scaling)| {
        let model = scaling.model.as_ref().filter(|_| !scaling.is_superlinear())?;
        Some(model_row(name(&title(sweep), scaling), scaling, model))
    });
    let table = Table::from_rows("scalability", "Universal Scalability Law", rows);
    (!table.rows.is_empty()).then_some(table)
}

fn model_row(name: String, scaling: &Scaling, model: &Scalability) -> Vec<RowField> {
    // One decimal of a percentage would hide a coherency that halves the throughput at size 100.
    // The interval of a share ends at 100 %.
    let number = |value: f64| Number {
        value: 100.0 * value.min(1.0),
        unit: Unit::Percent.symbol().to_owned(),
        style: NumberStyle::Measured,
    };
    let share =
        |name: &str, value: f64| RowField::new(Column::number(name, Unit::Percent), number(value));
    let range = |name: &str, interval: &Interval| {
        let cell = Cell::between(number(interval.low), number(interval.high));
        RowField::new(Column::range(name, Unit::Percent), cell)
    };
    let whole = |value: f64| Number { value, unit: String::new(), style: NumberStyle::Measured };
    let peak = model.peak_interval.as_ref();
    let peak_range = peak
        .map_or(Cell::Missing, |interval| Cell::between(whole(interval.low), whole(interval.high)));
    let peak_clients = model.peak_clients.filter(|_| peak.is_some());
    let lack_of_fit = model.lack_of_fit_p.map_or(Cell::Missing, |value| {
        Cell::Number(Number { value, unit: String::new(), style: NumberStyle::Probability })
    });
    vec![
        RowField::long_text("sweep", name),
        RowField::count("sizes", scaling.sizes.len() as u64),
        range("contention low–high", &model.contention_interval),
        share("contention", model.contention),
        range("coherency low–high", &model.coherency_interval),
        share("coherency", model.coherency),
        RowField::new(Column::range("peak low–high", Unit::Count), peak_range),
        RowField::new(
            Column::count("peak"),
            peak_clients.map_or(Cell::Missing, |clients| Cell::Number(whole(clients))),
        ),
        RowField::new(Column::count("lack of fit p"), lack_of_fit),
    ]
}

/// Scaling chart; `None` where nothing scales, or with more curves than can be distinguished.
pub(super) fn chart(metric: &str, sweep: &Sweep) -> Option<ScalingChart> {
    let key = sweep.scalings.first()?.key.clone();
    if sweep.scalings.len() > MOST_SIDES {
        return None;
    }
    let curves = sweep.scalings.iter().map(|scaling| ScalingCurve {
        name: scaling.others.join(", "),
        points: scaling.sizes.iter().map(point).collect(),
        model: curve(scaling),
    });
    let curves = curves.collect();
    Some(ScalingChart { metric: metric.to_owned(), unit: sweep.unit, key, curves })
}

fn point(size: &ScalingSize) -> ScalingChartPoint {
    let ScalingSize { size, mean, interval, ideal, .. } = *size;
    let interval = determined(interval);
    ScalingChartPoint { size, mean, interval, ideal }
}

/// Curve of the model from the smallest to the largest size.
fn curve(scaling: &Scaling) -> Vec<(f64, f64)> {
    let model = scaling.model.as_ref().filter(|_| !scaling.is_superlinear());
    let (Some(model), Some(first)) = (model, scaling.sizes.first()) else { return Vec::new() };
    let ratio = scaling.largest() / first.size;
    let place = |step: u32| {
        let size = first.size * ratio.powf(f64::from(step) / f64::from(MODEL_POINTS));
        (size, model.throughput(size))
    };
    (0..=MODEL_POINTS).map(place).collect()
}
