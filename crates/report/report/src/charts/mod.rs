//! Charts of a page: what they show, as data, here; how they are drawn as SVG in the files beside.
//!
//! A chart repeats numbers that stand in a table too, so formats without pictures leave it out.

mod aging;
mod axis;
mod cells;
mod concentration;
mod figure;
mod forest;
mod heat_layer;
mod latency;
mod map;
mod mark;
mod plot;
mod ratios;
mod rounds;
mod spark;
mod sweep;
mod timeline;
mod timeline_of_layout;
pub(crate) mod trace;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use treering_analysis::compare::Verdict;
use treering_model::{Better, LayoutHeat, LayoutMap, Unit};

pub(crate) use figure::{MARK, PALETTE, STYLE};
pub(crate) use plot::MOST_SIDES;
pub(crate) use spark::{Spark, SparkChange};

pub use trace::{TraceChart, TraceChartRun};

use self::figure::Figure;
use crate::escape::visible;

/// A chart. A new kind is a new variant with a file of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "chart", rename_all = "snake_case")]
pub enum Chart {
    /// Ratios with their intervals, one below the other.
    Forest(Forest),
    /// The ratio of each round.
    Ratios(Ratios),
    /// What every trial measured, trial by trial, where they are no pairs.
    Rounds(Rounds),
    /// How throughput grows with the number of those who work at once.
    Scaling(ScalingChart),
    /// What was measured over the values of a sweep.
    Curves(Curves),
    /// The same over two keys.
    SweepMap(SweepMap),
    /// How long the calls of a kind took.
    Latencies(Latencies),
    /// How fast a phase was from its start to its end.
    Timeline(Timeline),
    /// What share of the accesses falls on what share of the data.
    Concentration(Concentration),
    /// What the tasks of a kind cost over a run.
    Aging(Aging),
    /// How a measure of the layout moves over a run.
    Layout(LayoutTimeline),
    /// Map of the device.
    Map(DeviceMapChart),
    /// Hot data on the device.
    Heat(HeatLayer),
    /// What block devices did over time.
    Trace(TraceChart),
    /// Words among charts: how to read those that follow, or why there are none.
    Remark {
        /// The title of what follows; may be empty.
        title: String,
        /// The words.
        text: String,
    },
}

/// A measure of the layout over a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutTimeline {
    /// The measure.
    pub measure: String,
    /// The unit of its values.
    pub unit: Unit,
    /// The runs that are drawn above each other, the baseline first.
    pub variants: Vec<LayoutTimelineVariant>,
    /// The trend in words; may be empty.
    pub trend: String,
}

/// A measure of the layout over one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutTimelineVariant {
    /// Its name; empty where it is alone.
    pub name: String,
    /// Tasks that had ended, and the value then, finite; at least two.
    pub points: Vec<(f64, f64)>,
}

/// A map of the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceMapChart {
    /// What it shows.
    pub title: String,
    /// The map.
    pub map: LayoutMap,
}

/// Temperatures over a map of the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatLayer {
    /// What it shows.
    pub title: String,
    /// The map below.
    pub map: LayoutMap,
    /// The temperatures.
    pub heat: LayoutHeat,
}

/// Ratios with their intervals on a logarithmic axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forest {
    /// Over what the ratios are.
    pub baseline: String,
    /// One for each metric and contender.
    pub rows: Vec<ForestRow>,
}

/// A ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForestRow {
    /// The job, a heading above the first of its rows; may be empty.
    #[serde(default)]
    pub job: String,
    /// The metric.
    pub metric: String,
    /// Who is compared with the baseline.
    pub contender: String,
    /// Contender over baseline, above zero; `None` where values forbid a ratio.
    pub ratio: Option<f64>,
    /// The ends of its interval, above zero.
    pub interval: Option<(f64, f64)>,
    /// Whether the rounds are too few for any interval.
    #[serde(default)]
    pub unbounded: bool,
    /// What is known of it.
    pub verdict: Verdict,
    /// The smallest relative difference that matters: .03 is 3 %.
    pub threshold: f64,
    /// Which way is better.
    pub better: Better,
}

/// The ratios of one metric, round by round, on a logarithmic axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// The metric, with its unit at the end.
    pub metric: String,
    /// Over what the ratios are.
    pub baseline: String,
    /// Which way is better.
    pub better: Better,
    /// The smallest relative difference that matters: .03 is 3 %.
    pub threshold: f64,
    /// The numbers of the rounds.
    pub numbers: Vec<u32>,
    /// The contenders.
    pub variants: Vec<RatioVariant>,
    /// Charts of this job that were left out behind this one, lest there be too many.
    pub left_out: usize,
}

/// The ratios of a contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioVariant {
    /// Its name.
    pub name: String,
    /// A ratio for each round, above zero; `None` where the round does not count.
    pub ratios: Vec<Option<f64>>,
    /// The estimate over all rounds, above zero.
    pub ratio: f64,
    /// The ends of its interval, above zero.
    pub interval: Option<(f64, f64)>,
    /// Whether the rounds are too few for any interval.
    pub unbounded: bool,
}

/// The values of one metric, round by round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// The metric, with its unit at the end.
    pub metric: String,
    /// The unit of the values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Whether values at the same place are of the same round.
    pub paired: bool,
    /// The numbers of the rounds; where there are none, places are counted from 1.
    pub numbers: Vec<u32>,
    /// What values at the same place have in common where these are no rounds: `date`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What changed around the values: drawn as lines across the plot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<RoundsEvent>,
    /// The variants, the baseline first.
    pub variants: Vec<RoundsVariant>,
    /// Charts of this job that were left out behind this one, lest there be too many.
    pub left_out: usize,
}

/// Something that happened between two places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundsEvent {
    /// The place of the first value after it, from 0.
    pub place: usize,
    /// What it was.
    pub what: String,
}

/// The values of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundsVariant {
    /// Its name.
    pub name: String,
    /// A value for each round, finite; `None` where the round does not count.
    pub values: Vec<Option<f64>>,
    /// The ends of the interval of each value, where these are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<(f64, f64)>>,
}

/// What was measured over the values of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// The metric, with its unit at the end.
    pub metric: String,
    /// The unit of the values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// The key across.
    pub key: String,
    /// Its values, in their order.
    pub values: Vec<String>,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// One curve over the values of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Its name; empty where it is alone.
    pub name: String,
    /// A point for each value, where there is one.
    pub points: Vec<Option<CurvePoint>>,
}

/// A point of a curve; all numbers are above zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The mean.
    pub mean: f64,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
}

/// What was measured over the values of two keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepMap {
    /// The metric, with its unit at the end.
    pub metric: String,
    /// The unit of the values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// The key whose values are the rows.
    pub rows: SweepKey,
    /// The key whose values are the columns.
    pub columns: SweepKey,
    /// The means by row and column, above zero.
    pub means: Vec<Vec<Option<f64>>>,
}

/// A key of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepKey {
    /// Its name.
    pub key: String,
    /// Its values, in their order.
    pub values: Vec<String>,
}

/// Throughput over the number of those who work at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingChart {
    /// The metric, with its unit at the end.
    pub metric: String,
    /// The unit of the values.
    pub unit: Unit,
    /// What is counted: `ranks`.
    pub key: String,
    /// The curves.
    pub curves: Vec<ScalingCurve>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingCurve {
    /// Its name; empty where it is alone.
    pub name: String,
    /// Its points, by their size.
    pub points: Vec<ScalingChartPoint>,
    /// Sizes and what the model says of them; empty without a model.
    pub model: Vec<(f64, f64)>,
}

/// A point of a curve; all numbers are above zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingChartPoint {
    /// How many work at once.
    pub size: f64,
    /// The throughput.
    pub mean: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
    /// What the smallest size would give if all of them worked as fast.
    pub ideal: f64,
}

/// Latencies of the calls of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// The kind of call.
    pub call: String,
    /// The variants, the baseline first.
    pub variants: Vec<LatencyVariant>,
}

/// The latencies of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyVariant {
    /// Its name.
    pub name: String,
    /// Calls that were timed.
    pub timed: u64,
    /// How many nines a share of the calls has (0: the fastest, 1: 90 %, 2: 99 %), and the latency
    /// in nanoseconds that it does not exceed; both ascending, empty where calls are too few.
    pub curve: Vec<(f64, f64)>,
}

/// How unevenly data are used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Concentration {
    /// Which data.
    pub of: String,
    /// Share of the data and share of the accesses on it, both from 0 to 1 and ascending, the data
    /// with the most accesses first.
    pub curve: Vec<(f64, f64)>,
}

/// The rate of a phase in slices of its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The phase.
    pub phase: String,
    /// The unit of the rates.
    pub unit: String,
    /// Seconds of a slice.
    pub slice_seconds: u64,
    /// The variants, the baseline first.
    pub variants: Vec<TimelineVariant>,
}

/// The rate of a phase on one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineVariant {
    /// Its name.
    pub name: String,
    /// How many rounds it is of.
    pub rounds: usize,
    /// Of each slice the median over the rounds, the lowest and the highest, all finite.
    pub slices: Vec<(f64, f64, f64)>,
}

/// The cost of the tasks of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aging {
    /// The kind.
    pub kind: String,
    /// For what the time is taken: MiB, file or task.
    pub basis: String,
    /// The variants, the baseline first.
    pub variants: Vec<AgingVariant>,
}

/// The cost of tasks on one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgingVariant {
    /// Its name.
    pub name: String,
    /// The number of each task in its run with its cost in nanoseconds, finite.
    pub points: Vec<(u32, f64)>,
    /// The line of the trend, in the same units.
    pub line: Vec<(u32, f64)>,
    /// Change of the cost over ten tasks of the kind, in percent.
    pub percent_per_10_tasks: f64,
    /// Its interval, or from the lowest to the highest of the rounds.
    pub range: Option<(f64, f64)>,
}

impl Chart {
    /// The chart as SVG, with its title and its legend.
    pub(crate) fn figure(&self) -> Markup {
        match self {
            Self::Forest(forest) => forest::on_page(forest),
            Self::Ratios(ratios) => ratios::on_page(ratios),
            Self::Remark { title, text } => html! {
                @if !title.is_empty() { h3 { (visible(title)) } }
                @if !text.is_empty() { p class="caption" { (visible(text)) } }
            },
            _ => self.drawn().map_or_else(|| html! {}, |figure| figure.on_page()),
        }
    }

    /// Whether it stands beside others of its size where there is room.
    pub(crate) fn is_small(&self) -> bool {
        !matches!(
            self,
            Self::Forest(_)
                | Self::Ratios(_)
                | Self::Map(_)
                | Self::Heat(_)
                | Self::Trace(_)
                | Self::Remark { .. }
        )
    }

    /// The chart as an SVG file of its own; `None` where it is only words.
    pub(crate) fn alone(&self) -> Option<String> {
        self.drawn().map(|figure| figure.alone())
    }

    fn drawn(&self) -> Option<Figure> {
        match self {
            Self::Forest(forest) => Some(forest::figure(forest)),
            Self::Ratios(ratios) => Some(ratios::figure(ratios)),
            Self::Rounds(rounds) => Some(rounds::figure(rounds)),
            Self::Scaling(chart) => Some(sweep::scaling::figure(chart)),
            Self::Curves(chart) => Some(sweep::curves::figure(chart)),
            Self::SweepMap(chart) => Some(sweep::map::figure(chart)),
            Self::Latencies(latencies) => Some(latency::figure(latencies)),
            Self::Concentration(concentration) => Some(concentration::figure(concentration)),
            Self::Timeline(timeline) => Some(timeline::figure(timeline)),
            Self::Aging(aging) => Some(aging::figure(aging)),
            Self::Layout(timeline) => Some(timeline_of_layout::figure(timeline)),
            Self::Map(chart) => Some(map::figure(chart)),
            Self::Heat(layer) => Some(heat_layer::figure(layer)),
            Self::Trace(trace) => Some(trace::figure(trace)),
            Self::Remark { .. } => None,
        }
    }
}
