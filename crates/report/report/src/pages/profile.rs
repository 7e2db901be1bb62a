//! Charts of trials over time: call latencies, rates, task costs; for the variants of a comparison
//! or a single trial.

use treering_analysis::compare::{JobProfile, KindRounds, VariantProfile};
use treering_analysis::{
    COURSE_MIN_SECONDS, CURVE_MIN_TIMED, OpSummary, RateQuantity, RateSlice, TrendBasis, curve,
    has_timeline, slice_seconds, timeline, trend_line_ns,
};
use treering_model::{Op, PhaseTotals};

use crate::charts::MOST_SIDES;
use crate::{
    Aging, AgingVariant, Block, Chart, Latencies, LatencyVariant, Timeline, TimelineVariant,
};

/// Minimum share of a kind of call in the time of all calls, for a chart. Syncs are left out of the
/// total, as a few may take longer than all other calls.
const TELLING_SHARE: f64 = 0.01;

/// Maximum number of call kinds, phases and task kinds with charts in a job.
const MOST_OF_A_SORT: usize = 6;

/// Maximum number of rounds whose tasks are drawn as dots; the trend uses all rounds.
const DOTTED_ROUNDS: usize = 12;

/// Charts of a job. `kinds` selects the kinds of task (all if `None`); `most` limits the charts of
/// each sort.
pub(super) fn of_job(profile: &JobProfile, kinds: Option<&[&str]>, most: usize) -> Vec<Block> {
    let most = most.min(2 * MOST_OF_A_SORT);
    let variants: Vec<&VariantProfile> = profile.variants.iter().collect();
    if variants.iter().all(|variant| variant.added == 0) {
        return Vec::new();
    }
    // With more variants than a chart can distinguish, each chart has the baseline and some of the
    // others.
    let sets: Vec<Vec<&VariantProfile>> = match variants.split_first() {
        Some((baseline, others)) if !others.is_empty() => (others.chunks(MOST_SIDES - 1))
            .map(|some| std::iter::once(*baseline).chain(some.iter().copied()).collect())
            .collect(),
        _ => vec![variants.clone()],
    };
    let mut blocks = latencies(&variants, &sets, most);
    blocks.extend(timelines(&variants, &sets, most));
    blocks.extend(aging(&variants, &sets, kinds, most));
    blocks
}

/// Section of charts of one sort; `words` explains how to read them.
fn section(title: &str, words: &str, charts: Vec<Chart>, most: usize) -> Vec<Block> {
    let left_out = charts.len().saturating_sub(most);
    let more = match left_out {
        0 => String::new(),
        more => format!(" Charts left out: {more}."),
    };
    let text = format!("{words}{more}");
    let remark = Chart::Remark { title: title.to_owned(), text };
    std::iter::once(remark).chain(charts.into_iter().take(most)).map(Block::Chart).collect()
}

fn latencies(
    variants: &[&VariantProfile],
    sets: &[Vec<&VariantProfile>],
    most: usize,
) -> Vec<Block> {
    let (telling, minor) = telling_ops(variants);
    if telling.is_empty() {
        return Vec::new();
    }
    let charts = telling.iter().flat_map(|&op| {
        sets.iter().map(move |set| {
            let variant = |variant: &&VariantProfile| latency_variant(variant, op);
            let call = op.name().to_owned();
            Chart::Latencies(Latencies { call, variants: set.iter().map(variant).collect() })
        })
    });
    let together = if variants.len() > 1 { "all counted trials of a variant together" } else { "" };
    let left_out = match minor.len() {
        0 => String::new(),
        _ => format!(" Omitted because they take little time: {}.", minor.join(", ")),
    };
    let words = format!(
        "Latency of the calls of a kind{}{together}: for each percentage, the latency that this \
         share of the calls did not exceed. At 50 is the typical call, to the right are the slow \
         ones. A curve ends where there are too few calls.{left_out}",
        if together.is_empty() { "" } else { ", " }
    );
    section("Latency of calls", &words, charts.collect(), most)
}

/// Kinds of call that take most of the time, and the names of the other kinds.
fn telling_ops(variants: &[&VariantProfile]) -> (Vec<Op>, Vec<&'static str>) {
    let mut times: Vec<(Op, f64, u64)> = Vec::new();
    for op in Op::ALL {
        let own = || variants.iter().filter_map(move |variant| find(variant, op));
        let time: f64 = own().map(OpSummary::total_ns).sum();
        let timed = own().map(|summary| summary.timed).max().unwrap_or(0);
        if own().any(|summary| summary.calls > 0) {
            times.push((op, time, timed));
        }
    }
    let except_syncs = times.iter().filter(|(op, ..)| *op != Op::Sync);
    let total: f64 = except_syncs.map(|(_, time, _)| time).sum();
    times.sort_by(|left, right| right.1.total_cmp(&left.1));
    let is_telling = |&&(_, time, timed): &&(Op, f64, u64)| {
        time >= TELLING_SHARE * total && timed >= CURVE_MIN_TIMED
    };
    let telling: Vec<Op> =
        times.iter().filter(is_telling).take(MOST_OF_A_SORT).map(|(op, ..)| *op).collect();
    let minor = times.iter().map(|(op, ..)| *op).filter(|op| !telling.contains(op));
    (telling.clone(), minor.map(Op::name).collect())
}

fn find(variant: &VariantProfile, op: Op) -> Option<&OpSummary> {
    variant.ops.iter().find(|op_summary| op_summary.op == op)
}

fn latency_variant(variant: &VariantProfile, op: Op) -> LatencyVariant {
    let summary = find(variant, op);
    let points = summary.map(|op_summary| curve(&op_summary.latency)).unwrap_or_default();
    LatencyVariant {
        name: variant.name.clone(),
        timed: summary.map_or(0, |op_summary| op_summary.timed),
        curve: points.into_iter().map(|point| (point.nines, point.ns as f64)).collect(),
    }
}

fn timelines(
    variants: &[&VariantProfile],
    sets: &[Vec<&VariantProfile>],
    most: usize,
) -> Vec<Block> {
    let mut phases: Vec<(u32, &str)> = Vec::new();
    for phase in variants.iter().flat_map(|variant| &variant.phases) {
        if !phases.contains(&(phase.phase, &phase.name)) {
            phases.push((phase.phase, &phase.name));
        }
    }
    phases.sort_by_key(|(phase, _)| *phase);
    // A comparison needs at least two variants with long rounds.
    let wanted = variants.len().min(2);
    let is_long = |&(phase, name): &(u32, &str)| {
        variants.iter().filter(|variant| !long_rounds(variant, phase, name).is_empty()).count()
            >= wanted
    };
    let (long, short): (Vec<_>, Vec<_>) = phases.into_iter().partition(is_long);
    if long.is_empty() && short.is_empty() {
        return Vec::new();
    }
    let named = |&(phase, name): &(u32, &str)| {
        if name.is_empty() { format!("phase {phase}") } else { name.to_owned() }
    };
    let charts = long.iter().flat_map(|key| {
        sets.iter().filter_map(|set| of_phase(set, key.0, key.1, &named(key))).map(Chart::Timeline)
    });
    let charts: Vec<Chart> = charts.collect();
    let mut words = Vec::new();
    if variants.iter().any(|variant| variant.added > 1) && !charts.is_empty() {
        words.push(
            "The line is the median over the rounds, what stands upright spans the slowest to the \
             fastest round; a line ends where fewer than half of the rounds continue."
                .to_owned(),
        );
    }
    if !short.is_empty() {
        let names: Vec<String> = short.iter().map(named).collect();
        words.push(format!(
            "No chart for phases shorter than {COURSE_MIN_SECONDS:.0} s or without figures per \
             second: {}.",
            names.join(", ")
        ));
    }
    section("Rate over time", &words.join(" "), charts, most)
}

/// Rounds of a phase on a variant that are long enough for a timeline. Empty if most are not, since
/// the slow rounds alone would not represent the variant.
fn long_rounds<'s>(variant: &'s VariantProfile, phase: u32, name: &str) -> Vec<&'s PhaseTotals> {
    let own = variant
        .phases
        .iter()
        .find(|phase_rounds| phase_rounds.phase == phase && phase_rounds.name == name);
    let rounds = own.map_or(&[][..], |phase_rounds| &phase_rounds.rounds);
    let long: Vec<&PhaseTotals> = rounds.iter().filter(|round| has_timeline(round)).collect();
    if long.len() * 2 < rounds.len() { Vec::new() } else { long }
}

fn of_phase(set: &[&VariantProfile], phase: u32, name: &str, title: &str) -> Option<Timeline> {
    let rounds = || set.iter().flat_map(|variant| long_rounds(variant, phase, name));
    let slice = slice_seconds(rounds().map(|round| round.wall_ns).max()?);
    // Use bytes for a phase that moves them, calls for one that only deletes.
    let amount = if rounds().any(|round| round.bytes > 0) {
        RateQuantity::Bytes
    } else {
        RateQuantity::Calls
    };
    let divisor = if amount == RateQuantity::Bytes { 1_048_576.0 } else { 1.0 };
    let variant = |variant: &&VariantProfile| {
        let own = long_rounds(variant, phase, name).into_iter();
        let timelines: Vec<Vec<RateSlice>> =
            own.map(|intervals| timeline(intervals, amount, slice)).collect();
        TimelineVariant {
            name: variant.name.clone(),
            rounds: timelines.len(),
            slices: merged(&timelines, divisor),
        }
    };
    let variants: Vec<TimelineVariant> = set.iter().map(variant).collect();
    let any = variants.iter().any(|variant| !variant.slices.is_empty());
    let unit = if amount == RateQuantity::Bytes { "MiB/s" } else { "calls/s" };
    any.then(|| Timeline {
        phase: title.to_owned(),
        unit: unit.to_owned(),
        slice_seconds: slice,
        variants,
    })
}

/// Median, minimum and maximum over the rounds, for as long as half of them continue. For a single
/// round, the extremes of its own seconds are used.
fn merged(timelines: &[Vec<RateSlice>], divisor: f64) -> Vec<(f64, f64, f64)> {
    if let [only] = timelines {
        let of =
            |slice: &RateSlice| (slice.mean / divisor, slice.low / divisor, slice.high / divisor);
        return only.iter().map(of).collect();
    }
    let mut merged = Vec::new();
    for place in 0.. {
        let mut means: Vec<f64> = timelines
            .iter()
            .filter_map(|timeline| timeline.get(place))
            .map(|slices| slices.mean)
            .collect();
        if means.is_empty() || means.len() * 2 < timelines.len() {
            break;
        }
        means.sort_by(f64::total_cmp);
        let (low, high) = (means[0] / divisor, means[means.len() - 1] / divisor);
        merged.push((median(&means) / divisor, low, high));
    }
    merged
}

/// Median of sorted values; zero if there are none.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match (sorted.get(middle.wrapping_sub(1)), sorted.get(middle)) {
        (_, Some(high)) if sorted.len() % 2 == 1 => *high,
        (Some(low), Some(high)) => low / 2.0 + high / 2.0,
        _ => 0.0,
    }
}

fn aging(
    variants: &[&VariantProfile],
    sets: &[Vec<&VariantProfile>],
    kinds: Option<&[&str]>,
    most: usize,
) -> Vec<Block> {
    let mut labels: Vec<&str> = Vec::new();
    for kind in variants.iter().flat_map(|variant| &variant.kinds) {
        let counts = kinds.is_none_or(|kinds| kinds.contains(&kind.kind.as_str()));
        if counts && !labels.contains(&kind.label.as_str()) {
            labels.push(&kind.label);
        }
    }
    let charts = labels
        .iter()
        .flat_map(|label| sets.iter().filter_map(|set| of_kind(set, label)).map(Chart::Aging));
    let charts: Vec<Chart> = charts.collect();
    if charts.is_empty() {
        return Vec::new();
    }
    let words = if variants.iter().any(|variant| variant.added > 1) {
        "A dot is a task of a round, the line the median of the rounds' Theil-Sen trends. The \
         figures: change over ten tasks of the kind, and in brackets from the lowest to the \
         highest \
         of the rounds. It describes these runs and is not a verdict."
    } else {
        "A dot is a task, the line the Theil-Sen trend. The figures: change over ten tasks of the \
         kind, and in brackets its 95 % interval. It describes this run and is not a verdict."
    };
    section("Aging: time of each task over the run", words, charts, most)
}

fn of_kind(set: &[&VariantProfile], label: &str) -> Option<Aging> {
    let own = |variant: &&'_ VariantProfile| -> Option<usize> {
        variant.kinds.iter().position(|kind| kind.label == label)
    };
    let first = set.iter().find_map(|variant| variant.kinds.get(own(variant)?))?;
    let basis = first.rounds.first()?.basis;
    let variant = |variant: &&VariantProfile| {
        let rounds = own(variant).and_then(|place| variant.kinds.get(place));
        aging_variant(&variant.name, rounds, basis)
    };
    let word = match basis {
        TrendBasis::Byte => "MiB",
        TrendBasis::File => "file",
        TrendBasis::Task => "task",
    };
    Some(Aging {
        kind: label.to_owned(),
        basis: word.to_owned(),
        variants: set.iter().map(variant).collect(),
    })
}

fn aging_variant(name: &str, rounds: Option<&KindRounds>, basis: TrendBasis) -> AgingVariant {
    let rounds = rounds.into_iter().flat_map(|kind| &kind.rounds);
    let rounds: Vec<_> = rounds.filter(|round| round.basis == basis).collect();
    let sorted = |of: &dyn Fn(usize) -> f64| {
        let mut values: Vec<f64> = (0..rounds.len()).map(of).collect();
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        values
    };
    let slopes = sorted(&|place| rounds[place].trend.percent_per_10_tasks);
    let level = median(&sorted(&|place| rounds[place].level_ns));
    let percent_per_10_tasks = median(&slopes);
    let range = match (rounds.as_slice(), slopes.as_slice()) {
        ([only], _) => only.trend.interval,
        (_, [low, .., high]) => Some((*low, *high)),
        _ => None,
    };
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let points = rounds.iter().take(DOTTED_ROUNDS).flat_map(|round| &round.points);
    let points = points.map(|point| (number(point.number), point.cost_ns));
    let longest = rounds.iter().max_by_key(|round| round.points.len());
    let line = longest.into_iter().flat_map(|round| round.points.iter().enumerate());
    let line = line.map(|(place, point)| {
        (number(point.number), trend_line_ns(level, percent_per_10_tasks, place))
    });
    let finite = |(_, ns): &(u32, f64)| ns.is_finite() && *ns > 0.0;
    AgingVariant {
        name: name.to_owned(),
        points: points.filter(finite).collect(),
        line: line.filter(finite).collect(),
        percent_per_10_tasks,
        range: range.filter(|(low, high)| low.is_finite() && high.is_finite()),
    }
}
