//! Tables of a comparison: variants, verdicts, and scores with time and CPU.

use treering_analysis::compare::{MetricComparison, Outcome, VariantSummary, Verdict};
use treering_model::metrics::{cpu, times};
use treering_model::{BetterDirection, Scope, Unit, counted, thousands};
use treering_stats::RoundsNeeded;

use crate::pages::identity::metric_words;
use crate::table::{RowField, titled};
use crate::verdict::words;
use crate::{Cell, Column, Number, NumberStyle, Table, Tone};

/// Largest pessimistic number of further rounds that is printed, relative to the typical one: wide
/// noise makes it so large that its digits mean nothing.
pub(super) const WIDEST_RANGE: u32 = 20;

/// Table of the variants: number of trials, kernels and filesystems.
pub(super) fn variants(outcome: &Outcome) -> Table {
    let some = |name, values: &[String]| {
        RowField::new(Column::long_text(name), Cell::some_text(&values.join(", ")))
    };
    let row = |variant: &VariantSummary, role: String| {
        let failed = if variant.failed == 0 {
            Cell::whole(0)
        } else {
            Cell::toned(format!("{} failed", variant.failed), Tone::Bad)
        };
        vec![
            RowField::long_text("variant", &variant.name),
            RowField::text("role", role),
            RowField::count("completed", variant.completed as u64),
            RowField::new(Column::count("failed"), failed),
            some("kernel", &variant.kernels),
            some("filesystem", &variant.filesystems),
        ]
    };
    let role = |variant: &VariantSummary| match variant.against.as_deref() {
        None => "baseline".to_owned(),
        Some(_) if outcome.has_one_baseline() => "contender".to_owned(),
        Some(baseline) => format!("against {baseline}"),
    };
    let rows = outcome.variants.iter().map(|variant| row(variant, role(variant)));
    Table::from_rows("variants", "", rows)
}

/// Table of ratios and verdicts, for primary metrics or for the others. Each result is followed by
/// its other units.
pub(super) fn verdicts(
    comparisons: &[&MetricComparison],
    primary: bool,
    several_contenders: bool,
) -> Table {
    let needs = comparisons.iter().any(|c| c.rounds_needed.is_some());
    let name = if primary { "primary" } else { "exploratory" };
    let keys = if several_contenders { 2 } else { 1 };
    let heading = better_heading(comparisons.iter().copied());
    let row = |comparison: &MetricComparison| {
        let unless_unit = |cell: fn(&MetricComparison) -> Cell| match comparison.same_as {
            Some(_) => Cell::Missing,
            None => cell(comparison),
        };
        let (sign, verdict) = match comparison.same_as {
            Some(_) => (OTHER_UNIT, Cell::text("as above")),
            None => ("", verdict(comparison)),
        };
        let label = Cell::text(format!("{sign}{}", label(comparison)));
        let median =
            |name, median| RowField::new(Column::mixed(name), value(median, comparison.unit));
        let mut fields = key_fields(comparison, label, several_contenders);
        fields.extend([
            RowField::new(Column::text("verdict"), verdict),
            RowField::new(Column::mixed(heading), ratio(comparison)),
            RowField::new(Column::range("interval", Unit::Count), unless_unit(interval)),
            RowField::new(
                Column::count(if primary { "Holm p" } else { "q" }),
                unless_unit(probability),
            ),
            RowField::new(Column::mixed("n"), unless_unit(runs)),
        ]);
        fields
            .extend(needs.then(|| RowField::new(Column::text("needs"), rounds_needed(comparison))));
        fields.push(median("base", comparison.baseline_median));
        fields.push(median("new", comparison.contender_median));
        fields
    };
    let caption = caption(comparisons, primary, needs);
    Table::from_rows(name, &caption, grouped(comparisons).into_iter().map(row)).with_keys(keys)
}

/// Fields that identify a row: the metric, and the contender where there are several.
fn key_fields(
    comparison: &MetricComparison,
    label: Cell,
    several_contenders: bool,
) -> Vec<RowField> {
    let contender =
        || RowField::new(Column::long_text("contender"), Cell::text(&comparison.contender));
    let mut fields = vec![RowField::new(Column::long_text("metric"), label)];
    fields.extend(several_contenders.then(contender));
    fields
}

/// Prefix of a row that shows the result above in another unit.
const OTHER_UNIT: &str = "= ";

/// Brief table for a mail: verdicts with their ratios only.
pub(super) fn brief(comparisons: &[&MetricComparison], several_contenders: bool) -> Table {
    let needs = comparisons.iter().any(|c| c.rounds_needed.is_some());
    let keys = if several_contenders { 2 } else { 1 };
    let caption = comparisons.first().map_or("", |first| first.title.as_str());
    let heading = better_heading(comparisons.iter().copied());
    let row = |comparison: &&MetricComparison| {
        let label = Cell::text(label(comparison));
        let mut fields = key_fields(comparison, label, several_contenders);
        fields.extend([
            RowField::new(Column::text("verdict"), verdict(comparison)),
            RowField::new(Column::mixed(heading), ratio(comparison)),
            RowField::new(Column::range("interval", Unit::Count), interval(comparison)),
            RowField::new(Column::mixed("n"), runs(comparison)),
        ]);
        fields
            .extend(needs.then(|| RowField::new(Column::text("needs"), rounds_needed(comparison))));
        fields
    };
    Table::from_rows("primary", caption, comparisons.iter().map(row)).with_keys(keys)
}

/// Comparisons by metric, each followed by its other units; within a metric by contender.
fn grouped<'c>(comparisons: &[&'c MetricComparison]) -> Vec<&'c MetricComparison> {
    let mut rows: Vec<&MetricComparison> = Vec::new();
    let is_of = |comparison: &MetricComparison, leader: &MetricComparison| {
        comparison.same_as.as_deref() == Some(leader.metric().as_str())
            && comparison.contender == leader.contender
    };
    for leaders in by_metric(comparisons).iter().filter(|group| group[0].same_as.is_none()) {
        for leader in leaders.iter().filter(|comparison| comparison.same_as.is_none()) {
            rows.push(leader);
            rows.extend(comparisons.iter().filter(|comparison| is_of(comparison, leader)));
        }
    }
    let left = comparisons
        .iter()
        .filter(|comparison| !rows.iter().any(|row| std::ptr::eq(*row, **comparison)));
    let left: Vec<&MetricComparison> = left.copied().collect();
    rows.extend(left);
    rows
}

/// Groups the comparisons of each metric, one for each contender.
pub(super) fn by_metric<'c>(
    comparisons: &[&'c MetricComparison],
) -> Vec<Vec<&'c MetricComparison>> {
    let mut metrics: Vec<Vec<&MetricComparison>> = Vec::new();
    for comparison in comparisons {
        let same = |metric: &&mut Vec<&MetricComparison>| {
            let first = metric[0];
            first.scope == comparison.scope
                && first.name == comparison.name
                && first.unit == comparison.unit
                && first.title == comparison.title
                && first.same_as.is_some() == comparison.same_as.is_some()
        };
        match metrics.iter_mut().find(same) {
            Some(metric) => metric.push(comparison),
            None => metrics.push(vec![comparison]),
        }
    }
    metrics
}

/// Explanation of `interval` in a table of corrected verdicts.
pub(super) const INTERVAL: &str = "interval: at the level of the corrected test; it excludes 1 \
                                   exactly where the verdict is a difference.";

fn caption(comparisons: &[&MetricComparison], primary: bool, needs: bool) -> String {
    let mut note = if primary {
        "Primary metrics. More than 1 is better; n: pairs of rounds; base, new: medians.".to_owned()
    } else {
        "Exploratory: all other metrics, not a basis for decisions. More than 1 is better; q: \
         Benjamini-Hochberg."
            .to_owned()
    };
    note = format!("{note} {INTERVAL}");
    if comparisons.iter().any(|c| is_unbounded(c)) {
        note += " unbounded: too few rounds for any interval at that level.";
    }
    if comparisons.iter().any(|c| c.same_as.is_some()) {
        note += " After =: the same result in another unit.";
    }
    if comparisons.iter().any(|c| !c.paired) {
        note += " n with a plus: unpaired trials of both variants.";
    }
    if comparisons.iter().any(|c| c.difference.is_some()) {
        note += " Where a value is not above zero, a difference with its unit replaces the ratio.";
    }
    if comparisons.iter().any(|c| c.within_one_run) {
        note += " ran once with an interval: operations or rows of one run per variant, paired \
                 within the run; Holm over the kinds with six pairs or more. It describes these \
                 two runs and says nothing about how runs differ.";
    }
    if needs {
        note += " needs: about how many more rounds a verdict needs, typically and, in four of five \
                 cases, at most";
        let is_wide = |c: &&MetricComparison| {
            c.more_rounds().is_some_and(|more| !more_rounds(more).1.is_empty())
        };
        let many = " (many: more than twenty times that, or more than 10,000 in all)";
        note += if comparisons.iter().any(is_wide) { many } else { "" };
        note += ".";
    }
    note
}

/// Table of each part of the trial with its score, elapsed time and CPU time, and a row for each
/// variant.
pub(super) fn figures(comparisons: &[&MetricComparison]) -> Table {
    let caption = "Scores with elapsed time, system CPU and total CPU: medians. For a kind of \
                   operation: seconds per operation.";
    let mut rows = Vec::new();
    let mut scopes: Vec<&Scope> = Vec::new();
    for this_comparison in comparisons {
        if !scopes.contains(&&this_comparison.scope) {
            scopes.push(&this_comparison.scope);
        }
    }
    for scope in scopes {
        let own: Vec<&MetricComparison> =
            comparisons.iter().copied().filter(|comparison| comparison.scope == *scope).collect();
        let mut variants: Vec<&str> = Vec::new();
        for this_comparison in &own {
            if !variants.contains(&this_comparison.contender.as_str()) {
                variants.push(&this_comparison.contender);
            }
        }
        let mut told: Vec<&str> = Vec::new();
        for variant in variants {
            let of_variant: Vec<&MetricComparison> = own
                .iter()
                .copied()
                .filter(|this_comparison| this_comparison.contender == variant)
                .collect();
            let baseline = of_variant[0].baseline.as_str();
            if !told.contains(&baseline) {
                told.push(baseline);
                rows.push(figures_of(scope, baseline, &of_variant, true));
            }
            rows.push(figures_of(scope, variant, &of_variant, false));
        }
    }
    Table::from_rows("figures", caption, rows).with_keys(2)
}

fn figures_of(
    scope: &Scope,
    name: &str,
    own: &[&MetricComparison],
    is_base: bool,
) -> Vec<RowField> {
    let named =
        |names: &[&str]| own.iter().find(|comparison| names.contains(&comparison.name.as_str()));
    // If the user chose the primary metrics, a part without any still shows its rate.
    let rate = || own.iter().find(|comparison| !matches!(comparison.unit, Unit::Seconds));
    let score = own.iter().find(|comparison| comparison.primary).or_else(rate);
    let median = |comparison: &MetricComparison| {
        if is_base { comparison.baseline_median } else { comparison.contender_median }
    };
    let figure = |column: Column, comparison: Option<&&MetricComparison>| {
        let cell = |found: &&MetricComparison| Cell::measured(median(found), found.unit);
        RowField::new(column, comparison.map_or(Cell::Missing, cell))
    };
    let seconds = |name: &str, comparison: Option<&&MetricComparison>| {
        let column = Column::number(name, Unit::Seconds).better(BetterDirection::Lower);
        figure(column, comparison)
    };
    // The CPU time of a tool's own measured part is no total of the phases around it.
    let system = named(&[cpu::SYSTEM_CPU_SECONDS.name]);
    let total = named(&[cpu::CPU_SECONDS.name, cpu::OPERATION_CPU_SECONDS.name]);
    let is_total =
        |total: &&&MetricComparison| system.is_none_or(|own| median(own) <= median(total));
    vec![
        RowField::long_text("part", part(scope)),
        RowField::long_text("variant", name),
        figure(Column::mixed("score"), score),
        seconds("elapsed", named(&[times::SECONDS.name, times::ELAPSED_SECONDS.name])),
        seconds("system", system),
        seconds("CPU", total.filter(is_total)),
    ]
}

pub(super) fn part(scope: &Scope) -> String {
    match scope {
        Scope::Trial => "whole trial".to_owned(),
        Scope::Phase(name) => format!("phase {name}"),
        Scope::Kind(name) => name.clone(),
    }
}

/// Label of a metric with its unit: `create MiB/s`, `read cpu s`, `operation time (s)`.
pub(super) fn label(comparison: &MetricComparison) -> String {
    if let Some(time) = whole_time(comparison) {
        return format!("{time} ({})", comparison.unit.symbol());
    }
    let words = metric_words(&comparison.name, comparison.unit);
    let part = match &comparison.scope {
        Scope::Trial => String::new(),
        Scope::Phase(name) => format!("phase {name}"),
        Scope::Kind(name) => name.clone(),
    };
    // A scaled value has its unit beside it.
    let scales = Number::measured(0.0, comparison.unit).style.scales();
    let unit = if scales { "" } else { comparison.unit.symbol() };
    let parts = [part.as_str(), words.as_str(), unit];
    let parts: Vec<&str> = parts.into_iter().filter(|words| !words.is_empty()).collect();
    if parts.is_empty() { titled(&comparison.name, "") } else { parts.join(" ") }
}

/// Label of a time of the whole trial: `operation time`.
pub(super) fn whole_time(comparison: &MetricComparison) -> Option<String> {
    let is_time = comparison.scope == Scope::Trial && comparison.unit == Unit::Seconds;
    let words = metric_words(&comparison.name, comparison.unit);
    (is_time && !words.is_empty()).then(|| format!("{words} time"))
}

/// Cell of a verdict: name with sign, and a colour that repeats it. Single runs have no colour.
pub(super) fn verdict(comparison: &MetricComparison) -> Cell {
    let tone = match comparison.verdict {
        Verdict::Better => Tone::Good,
        Verdict::Worse => Tone::Bad,
        Verdict::Unclear => Tone::Caution,
        Verdict::Small | Verdict::Same | Verdict::SingleRun => Tone::Plain,
    };
    Cell::toned(words(comparison.verdict), tone)
}

/// Cell of the ratio, turned so that more than 1 is better; of the difference as measured if there
/// is no ratio.
pub(super) fn ratio(comparison: &MetricComparison) -> Cell {
    match (comparison.ratio, comparison.difference) {
        (Some(ratio), _) => of_ratio(turned(comparison.better)(ratio.value)).into(),
        (None, Some(difference)) if difference.value.is_finite() => {
            Number::difference(difference.value, comparison.unit).into()
        }
        (None, Some(_)) => Cell::Missing,
        (None, None) => Cell::Missing,
    }
}

/// Function that inverts a ratio if necessary, so that more is better.
pub(super) const fn turned(better: BetterDirection) -> fn(f64) -> f64 {
    match better {
        BetterDirection::Higher => |ratio| ratio,
        BetterDirection::Lower => |ratio| 1.0 / ratio,
    }
}

/// Heading of a column of ratios of which more is better, and of differences where there is no
/// ratio.
pub(super) fn better_heading<'c>(
    rows: impl IntoIterator<Item = &'c MetricComparison>,
) -> &'static str {
    let (mut ratios, mut differences) = (0, 0);
    for row in rows {
        ratios += usize::from(row.ratio.is_some());
        differences += usize::from(row.ratio.is_none() && row.difference.is_some());
    }
    match (ratios, differences) {
        (_, 0) => "× as good",
        (0, _) => "difference",
        _ => "× as good, or difference",
    }
}

/// Cell with the interval that decided the verdict, inverted if the ratio is. Operations within one
/// run have an interval of their own.
pub(super) fn interval(comparison: &MetricComparison) -> Cell {
    if is_unbounded(comparison) {
        return Cell::text("unbounded");
    }
    match (shown_interval(comparison), comparison.ratio.is_some()) {
        (Some((low, high)), true) => {
            let [low, high] = [low, high].map(turned(comparison.better));
            Cell::between(of_ratio(low.min(high)), of_ratio(low.max(high)))
        }
        (Some((low, high)), false) => {
            let [low, high] = [low, high].map(|end| Number::difference(end, comparison.unit));
            Cell::between(low, high)
        }
        (None, _) => Cell::Missing,
    }
}

/// Bounds of the interval shown on pages.
pub(super) fn shown_interval(comparison: &MetricComparison) -> Option<(f64, f64)> {
    if comparison.within_one_run {
        return comparison.ratio.or(comparison.difference)?.interval;
    }
    comparison.decided?.interval
}

/// Reports whether the rounds are too few for an interval that agrees with the corrected verdict.
pub(super) fn is_unbounded(comparison: &MetricComparison) -> bool {
    comparison.decided.is_some_and(|decided| decided.interval.is_none())
}

/// Numbers of further rounds in two parts, between which the noun stands: `31`, `31-108`, or `31`
/// and ` or far more`.
pub(super) fn more_rounds(more: RoundsNeeded) -> (String, &'static str) {
    let count = |rounds: u32| thousands(&rounds.to_string());
    let typical = count(more.typical);
    match more.pessimistic {
        Some(most) if most / WIDEST_RANGE <= more.typical && most > more.typical => {
            (format!("{typical}-{}", count(most)), "")
        }
        Some(most) if most <= more.typical => (typical, ""),
        Some(_) | None => (typical, " or far more"),
    }
}

fn rounds_needed(comparison: &MetricComparison) -> Cell {
    let text = |more| {
        let (count, tail) = more_rounds(more);
        Cell::text(format!("+{count}{}", if tail.is_empty() { "" } else { "-many" }))
    };
    comparison.more_rounds().map_or(Cell::Missing, text)
}

/// Value cell for a row whose label includes the unit, unless the style scales it.
pub(super) fn value(value: f64, unit: Unit) -> Cell {
    let number = Number::measured(value, unit);
    if number.style.scales() {
        number.into()
    } else {
        Number { unit: String::new(), ..number }.into()
    }
}

fn of_ratio(value: f64) -> Number {
    Number { value, unit: String::new(), style: NumberStyle::Ratio }
}

pub(super) fn probability(comparison: &MetricComparison) -> Cell {
    comparison.p_adjusted.map_or(Cell::Missing, |value| {
        Number { value, unit: String::new(), style: NumberStyle::Probability }.into()
    })
}

pub(super) fn runs(comparison: &MetricComparison) -> Cell {
    if comparison.paired {
        return Cell::whole(comparison.pairs() as u64);
    }
    Cell::text(format!(
        "{}+{}",
        comparison.baseline_values.len(),
        comparison.contender_values.len()
    ))
}

/// Formats a ratio as a change in percent.
pub(super) fn percentage(ratio: f64) -> Option<String> {
    let percent = (ratio - 1.0) * 100.0;
    if !percent.is_finite() {
        return None;
    }
    if percent.abs() < 9.95 {
        return Some(format!("{percent:+.1} %"));
    }
    let sign = if percent < 0.0 { '-' } else { '+' };
    Some(format!("{sign}{} %", thousands(&format!("{:.0}", percent.abs()))))
}

/// Rows to show, in their order, with proven regressions kept first if there are too many; and a
/// caption that tells what is left out.
pub(super) fn shown_rows<R: Copy>(
    rows: &[R],
    most: usize,
    comparison: impl Fn(&R) -> &MetricComparison,
) -> (Vec<R>, String) {
    let is_worse = |place: &usize| comparison(&rows[*place]).verdict == Verdict::Worse;
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by_key(|place| !is_worse(place));
    let others = places.split_off(rows.len().min(most));
    places.sort_unstable();
    let caption = match (others.len(), others.iter().filter(|place| is_worse(place)).count()) {
        (0, _) => String::new(),
        (count, 0) => format!("{} not shown here, none of them worse.", counted(count, "row")),
        (count, worse) => {
            format!("{} not shown here, {worse} of them worse.", counted(count, "row"))
        }
    };
    (places.into_iter().map(|place| rows[place]).collect(), caption)
}
