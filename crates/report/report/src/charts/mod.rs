//! Charts of a page: this file holds their data, the submodules render them as SVG.
//!
//! A chart repeats numbers of a table, so formats without graphics omit it.

mod aging;
mod axis;
mod bars;
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
use treering_model::{BetterDirection, LayoutHeat, LayoutMap, Unit};

pub use figure::DrawingPreset;
pub(crate) use figure::{MARK, PALETTE, STYLE};
pub(crate) use plot::MOST_SIDES;
pub(crate) use spark::{SparkChange, SparkValues};

pub use trace::{TraceChart, TraceChartRun};

use self::figure::Figure;
use crate::escape::visible;

/// A chart. Each kind is a variant with a file of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "chart", rename_all = "snake_case")]
pub enum Chart {
    /// Ratios with their intervals, one per row.
    Forest(Forest),
    /// Amounts as horizontal bars.
    Bars(Bars),
    /// Ratio of each round.
    Ratios(Ratios),
    /// Values of each trial, where trials are not paired.
    Rounds(Rounds),
    /// Scaling of throughput with concurrency.
    Scaling(ScalingChart),
    /// Values of a metric over the values of a swept key.
    Curves(Curves),
    /// Values of a metric over two swept keys.
    SweepMap(SweepMap),
    /// Latencies of one kind of call.
    Latencies(Latencies),
    /// Rate of a phase over its duration.
    Timeline(Timeline),
    /// Concentration of accesses on the data.
    Concentration(Concentration),
    /// Cost of a kind's tasks over a run.
    Aging(Aging),
    /// A layout measure over a run.
    Layout(LayoutTimeline),
    /// Map of the device.
    Map(DeviceMapChart),
    /// Heat map of the device.
    Heat(HeatLayer),
    /// Requests to block devices over time.
    Trace(TraceChart),
    /// Text between charts: how to read the following ones, or why there are none.
    Remark {
        /// Heading of the charts that follow; may be empty.
        title: String,
        /// Explanatory text.
        text: String,
    },
}

/// A layout measure over a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutTimeline {
    /// Name of the measure.
    pub measure: String,
    /// Unit of its values.
    pub unit: Unit,
    /// Work on the horizontal axis: completed tasks, or operations of an aging run.
    #[serde(default = "completed_tasks")]
    pub by: String,
    /// Variants drawn in one plot, the baseline first.
    pub variants: Vec<LayoutTimelineVariant>,
    /// Description of the trend; may be empty.
    pub trend: String,
}

fn completed_tasks() -> String {
    "completed tasks".to_owned()
}

/// A layout measure over one variant's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutTimelineVariant {
    /// Name of the variant; empty if it is the only one.
    pub name: String,
    /// Amount of work done and the value at that time, finite; at least two points.
    pub points: Vec<(f64, f64)>,
}

/// A device map with a title.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceMapChart {
    /// Title of the chart.
    pub title: String,
    /// Map to draw.
    pub map: LayoutMap,
    /// True for a map that is placed beside others, at the size of a small chart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_small: bool,
}

/// Temperatures overlaid on a device map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatLayer {
    /// Title of the chart.
    pub title: String,
    /// Underlying device map.
    pub map: LayoutMap,
    /// Temperatures to overlay.
    pub heat: LayoutHeat,
    /// True for a map at the size of a small chart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_small: bool,
}

/// Ratios with their intervals on a logarithmic axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forest {
    /// Name of the baseline, the denominator of the ratios.
    pub baseline: String,
    /// Rows, one for each metric and contender.
    pub rows: Vec<ForestRow>,
}

/// A row of the forest plot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForestRow {
    /// Name of the job, shown as a heading above its first row; may be empty.
    #[serde(default)]
    pub job: String,
    /// Name of the metric.
    pub metric: String,
    /// Name of the contender.
    pub contender: String,
    /// Ratio contender / baseline, positive; `None` where values rule out a ratio.
    pub ratio: Option<f64>,
    /// Interval of the ratio; both ends positive.
    pub interval: Option<(f64, f64)>,
    /// Ratio of each compared round, positive; empty where trials are not paired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<f64>,
    /// True when the rounds are too few for any interval.
    #[serde(default)]
    pub unbounded: bool,
    /// Verdict on the metric.
    pub verdict: Verdict,
    /// Smallest relative difference that matters: .03 is 3 %.
    pub threshold: f64,
    /// Better direction of the metric.
    pub better: BetterDirection,
}

/// Amounts as horizontal bars, one below the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// Title of the chart.
    pub title: String,
    /// Continuation of the title.
    pub subtitle: String,
    /// Unit of the amounts.
    pub unit: Unit,
    /// Bars from top to bottom.
    pub bars: Vec<Bar>,
}

/// A bar with its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Name of the bar.
    pub name: String,
    /// Length of the bar, finite and not negative.
    pub value: f64,
    /// Figures beside the bar.
    pub figures: String,
}

/// Ratios of one metric, round by round, on a logarithmic axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// Name of the metric, with its unit at the end.
    pub metric: String,
    /// Name of the baseline, the denominator of the ratios.
    pub baseline: String,
    /// Better direction of the metric.
    pub better: BetterDirection,
    /// Smallest relative difference that matters: .03 is 3 %.
    pub threshold: f64,
    /// Round numbers.
    pub numbers: Vec<u32>,
    /// Contenders with their ratios.
    pub variants: Vec<RatioVariant>,
    /// Number of this job's charts omitted after this one to limit their number.
    pub left_out: usize,
}

/// Ratios of one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioVariant {
    /// Name of the contender.
    pub name: String,
    /// Ratio of each round, positive; `None` where the round was not compared.
    pub ratios: Vec<Option<f64>>,
    /// Estimate over all rounds, positive.
    pub ratio: f64,
    /// Interval of the estimate; both ends positive.
    pub interval: Option<(f64, f64)>,
    /// True when the rounds are too few for any interval.
    pub unbounded: bool,
}

/// Values of one metric, round by round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// Name of the metric, with its unit at the end.
    pub metric: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Better direction of the metric.
    pub better: BetterDirection,
    /// True when values at the same index belong to the same round.
    pub paired: bool,
    /// Round numbers; if empty, indices are counted from 1.
    pub numbers: Vec<u32>,
    /// Key that distinguishes indices if they are not rounds: `date`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Name of each index to show instead of a number, such as a kernel; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Time of each index in milliseconds since 1970 (UTC), ascending, for an axis of dates; may be
    /// empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<i64>,
    /// Changes between values, drawn as vertical lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<RoundsEvent>,
    /// Variants with their values, the baseline first.
    pub variants: Vec<RoundsVariant>,
    /// Number of this job's charts omitted after this one to limit their number.
    pub left_out: usize,
}

/// An event between two values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundsEvent {
    /// Index of the first value after the event, from 0.
    pub place: usize,
    /// Description of the event.
    pub what: String,
}

/// Values of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundsVariant {
    /// Name of the variant.
    pub name: String,
    /// Value of each round, finite; `None` where the round was not compared.
    pub values: Vec<Option<f64>>,
    /// Interval of each value, where it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<(f64, f64)>>,
}

/// Curves of a metric over the values of a swept key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// Name of the metric, with its unit at the end.
    pub metric: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Better direction of the metric.
    pub better: BetterDirection,
    /// Key on the horizontal axis.
    pub key: String,
    /// Values of the key, in axis order.
    pub values: Vec<String>,
    /// Curves, one for each combination of the other keys.
    pub curves: Vec<Curve>,
    /// Values that are not to be exceeded, drawn as lines; empty for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<f64>,
}

/// A curve over the values of a swept key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Name of the curve; empty if it is the only one.
    pub name: String,
    /// Point for each value of the key; `None` where there is none.
    pub points: Vec<Option<CurvePoint>>,
}

/// Point of a curve; all numbers are positive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Mean over the rounds.
    pub mean: f64,
    /// 95 % confidence interval of the mean.
    pub interval: Option<(f64, f64)>,
}

/// Values of a metric over two swept keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepMap {
    /// Name of the metric, with its unit at the end.
    pub metric: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Better direction of the metric.
    pub better: BetterDirection,
    /// Key whose values are the rows.
    pub rows: SweepKey,
    /// Key whose values are the columns.
    pub columns: SweepKey,
    /// Means by row and column, positive.
    pub means: Vec<Vec<Option<f64>>>,
}

/// A swept key with its values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepKey {
    /// Name of the key.
    pub key: String,
    /// Values of the key, in axis order.
    pub values: Vec<String>,
}

/// Throughput over concurrency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingChart {
    /// Name of the metric, with its unit at the end.
    pub metric: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Key that denotes the concurrency: `ranks`.
    pub key: String,
    /// Curves of the chart.
    pub curves: Vec<ScalingCurve>,
}

/// A scaling curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingCurve {
    /// Name of the curve; empty if it is the only one.
    pub name: String,
    /// Points by ascending size.
    pub points: Vec<ScalingChartPoint>,
    /// Sizes with the model's predictions; empty without a model.
    pub model: Vec<(f64, f64)>,
}

/// Point of a scaling curve; all numbers are positive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingChartPoint {
    /// Number of concurrent ranks, clients or threads.
    pub size: f64,
    /// Mean throughput.
    pub mean: f64,
    /// Interval of the mean.
    pub interval: Option<(f64, f64)>,
    /// Ideal throughput: linear scaling from the smallest size.
    pub ideal: f64,
}

/// Latencies of one kind of call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Name of the kind of call.
    pub call: String,
    /// Variants with their curves, the baseline first.
    pub variants: Vec<LatencyVariant>,
}

/// Latencies of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyVariant {
    /// Name of the variant.
    pub name: String,
    /// Number of timed calls.
    pub timed: u64,
    /// Points of the curve: share of the calls in nines (0: the fastest call, 1: 90 %, 2: 99 %),
    /// and the latency in nanoseconds that this share does not exceed. Both ascend; empty when
    /// there are too few calls.
    pub curve: Vec<(f64, f64)>,
}

/// Concentration of accesses on the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Concentration {
    /// Data that the curve describes.
    pub of: String,
    /// Share of the data and share of the accesses on it, both from 0 to 1 and ascending, the most
    /// accessed data first.
    pub curve: Vec<(f64, f64)>,
}

/// Rate of a phase over its duration, in slices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Name of the phase.
    pub phase: String,
    /// Unit of the rates.
    pub unit: String,
    /// Length of a slice in seconds.
    pub slice_seconds: u64,
    /// Variants with their rates, the baseline first.
    pub variants: Vec<TimelineVariant>,
}

/// Rate of a phase on one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineVariant {
    /// Name of the variant.
    pub name: String,
    /// Number of rounds summarised.
    pub rounds: usize,
    /// Median, minimum and maximum over the rounds for each slice, all finite.
    pub slices: Vec<(f64, f64, f64)>,
}

/// Cost of the tasks of one kind over a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aging {
    /// Kind of the tasks.
    pub kind: String,
    /// Unit of work by which the cost is normalised: MiB, file or task.
    pub basis: String,
    /// Variants with their costs, the baseline first.
    pub variants: Vec<AgingVariant>,
}

/// Cost of tasks on one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgingVariant {
    /// Name of the variant.
    pub name: String,
    /// Number of each task in its run with its cost in nanoseconds, finite.
    pub points: Vec<(u32, f64)>,
    /// Trend line, in the same units as the points.
    pub line: Vec<(u32, f64)>,
    /// Change of the cost over ten tasks of the kind, in percent.
    pub percent_per_10_tasks: f64,
    /// Interval of the change, or its range over the rounds.
    pub range: Option<(f64, f64)>,
}

impl Chart {
    /// Renders the chart as SVG, with title and legend.
    pub(crate) fn figure(&self) -> Markup {
        match self {
            Self::Remark { title, text } => html! {
                @if !title.is_empty() { h3 { (visible(title)) } }
                @if !text.is_empty() { p class="caption" { (visible(text)) } }
            },
            _ => self.drawn().map_or_else(|| html! {}, |figure| figure.on_page()),
        }
    }

    /// Reports whether the chart is small enough to be placed beside others.
    pub(crate) fn is_small(&self) -> bool {
        match self {
            Self::Map(chart) => chart.is_small,
            Self::Forest(_)
            | Self::Ratios(_)
            | Self::Bars(_)
            | Self::Heat(_)
            | Self::Trace(_)
            | Self::Remark { .. } => false,
            _ => true,
        }
    }

    /// Renders the chart as an SVG file; `None` for a remark.
    pub(crate) fn as_file(&self, preset: DrawingPreset) -> Option<String> {
        let small = match (self, preset) {
            (Self::Map(chart), DrawingPreset::Paper) => {
                Some(Self::Map(DeviceMapChart { is_small: true, ..chart.clone() }))
            }
            (Self::Heat(layer), DrawingPreset::Paper) => {
                Some(Self::Heat(HeatLayer { is_small: true, ..layer.clone() }))
            }
            _ => None,
        };
        small.as_ref().unwrap_or(self).drawn().map(|figure| figure.as_file(preset))
    }

    fn drawn(&self) -> Option<Figure> {
        match self {
            Self::Forest(forest) => Some(forest::figure(forest)),
            Self::Ratios(ratios) => Some(ratios::figure(ratios)),
            Self::Bars(bars) => Some(bars::figure(bars)),
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
