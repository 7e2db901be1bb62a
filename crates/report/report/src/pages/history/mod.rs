//! Page of `treering history`: series of a store, their changes of level, and facts that changed
//! with them. A fact that changes at most points, such as the commit, names the points and is not a
//! change of the environment.

pub mod json;
pub mod load;
mod scaling;
pub mod spread;
pub mod sweep;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use treering_analysis::history::{
    ChangedFact, EnvironmentChange, FEWEST_POINTS, History, HistorySeries, HistoryTrend,
    KnownChange, LevelShift, SeriesPoint, SuspectPoint,
};
use treering_model::Unit;
use treering_stats::SeriesMemory;

use crate::charts::{Chart, Rounds, RoundsEvent, RoundsVariant};
use crate::number::{Number, SHORT_SECONDS};
use crate::table::{RowField, Tone};
use crate::{Block, Cell, Column, Report, Table};

/// Maximum number of facts shown for a change.
const FACTS_SHOWN: usize = 8;
/// Maximum number of environment changes listed.
const CHANGES_SHOWN: usize = 20;
/// Maximum number of environment changes in a chart; more would hide its points.
const EVENTS_DRAWN: usize = 40;
/// Maximum number of series drawn.
const DRAWN: usize = 50;
/// Number of series that are drawn at the top of the page.
const OPENING: usize = 3;
/// Fewest changes with which a fact can count as a name of the points.
const MANY_CHANGES: usize = 5;

/// Context of a history page.
#[derive(Clone, Copy, Debug)]
pub struct HistoryView<'a> {
    /// Key that orders the points: `kernel`.
    pub by: &'a str,
    /// Variant by which values are divided.
    pub anchor: Option<&'a str>,
    /// True to draw charts.
    pub draws: bool,
}

/// Page of a history.
pub fn page(history: &History, view: &HistoryView<'_>) -> Report {
    let mut page = Report::new(format!("History by {}", view.by));
    if history.series.is_empty() {
        page.paragraph("No trial of the store is part of such a history.");
        return page;
    }
    for series in &history.series {
        for sentence in sentences(series) {
            page.paragraph(sentence);
        }
    }
    let is_judged = |series: &HistorySeries| series.points.len() >= FEWEST_POINTS;
    if !history.series.iter().any(is_judged) {
        page.paragraph(format!("No series has the {FEWEST_POINTS} points needed to judge it."));
    } else if history.series.iter().all(|series| sentences(series).is_empty()) {
        page.paragraph("No change of level.");
    }
    let (opening, others) = if view.draws { drawn(history) } else { Default::default() };
    page.blocks.extend(opening.iter().map(|series| Block::Chart(picture(series, view))));
    page.table(overview(history, view));
    page.blocks.extend(environment(history).map(Block::Table));
    for series in history.series.iter().filter(|series| !series.shifts.is_empty()) {
        page.table(changes(series));
        for shift in series.shifts.iter().filter(|shift| !shift.facts.is_empty()) {
            page.table(facts(series, shift));
        }
    }
    notes(&mut page, history, view);
    page.blocks.extend(others.iter().map(|series| Block::Chart(picture(series, view))));
    page
}

/// Series with a chart: those at the top of the page, which changed or are the only ones, and the
/// others.
fn drawn(history: &History) -> (Vec<&HistorySeries>, Vec<&HistorySeries>) {
    let series = || history.series.iter();
    let changed = |one: &&HistorySeries| {
        !one.shifts.is_empty() || one.suspect.is_some() || one.trend.is_some()
    };
    let mut opening: Vec<&HistorySeries> = series().filter(changed).take(OPENING).collect();
    let few = series().take(OPENING);
    for one in few {
        if opening.len() < OPENING && !opening.iter().any(|known| std::ptr::eq(*known, one)) {
            opening.push(one);
        }
    }
    let others = series().filter(|one| !opening.iter().any(|known| std::ptr::eq(*known, *one)));
    let others = others.take(DRAWN.saturating_sub(opening.len())).collect();
    (opening, others)
}

fn picture(series: &HistorySeries, view: &HistoryView<'_>) -> Chart {
    Chart::Rounds(chart(series, view))
}

/// Facts of a series that change at most of its points and therefore name the points.
fn names_of_points(series: &HistorySeries) -> BTreeSet<&str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for fact in series.environment.iter().flat_map(|change| &change.facts) {
        *counts.entry(&fact.name).or_default() += 1;
    }
    let most = series.points.len() / 2;
    let is_name = |&(_, count): &(&str, usize)| count >= MANY_CHANGES && count > most;
    counts.into_iter().filter(is_name).map(|(name, _)| name).collect()
}

/// Name of a series, with its metric in words: `compilebench, ext4, operation seconds`.
pub(crate) fn title(series: &HistorySeries) -> String {
    let metric = series.metric.replace(['/', '_'], " ");
    let metric = metric.trim_end_matches(" nanoseconds").to_owned();
    let parts = [&series.workload, &series.job, &series.variant, &metric];
    let parts: Vec<&str> =
        parts.into_iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
    parts.join(", ")
}

/// Formats a change of level in percent: `+5.1 %`. If the old level is not positive, both levels
/// are shown instead.
fn level_change(ratio: f64, (old, new): (f64, f64), unit: Unit) -> String {
    if ratio.is_finite() {
        return percent(ratio);
    }
    let [old, new] = [old, new].map(|level| match level {
        0.0 => "zero".to_owned(),
        level => Number::measured(level, unit).text_with_unit(),
    });
    format!("from {old} to {new}")
}

/// Formats the change of a level of a series.
pub(crate) fn shift_change(series: &HistorySeries, shift: &LevelShift) -> String {
    level_change(shift.ratio, shift.levels, series.unit)
}

/// Formats the change of the newest point of a series from its level.
pub(crate) fn suspect_change(series: &HistorySeries, suspect: &SuspectPoint) -> String {
    let newest = series.points.last().map_or(suspect.level, |point| point.value);
    level_change(suspect.ratio, (suspect.level, newest), series.unit)
}

/// Formats a ratio as a difference in percent: `+5.1 %`.
fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent.abs() < 10.0 { format!("{percent:+.1} %") } else { format!("{percent:+.0} %") }
}

fn between(points: &[SeriesPoint], (first, last): (usize, usize)) -> String {
    let key = |at: usize| points.get(at).map_or("", |point| point.key.as_str());
    if first == last {
        String::new()
    } else {
        format!(" (it began between {} and {})", key(first), key(last))
    }
}

/// Largest part of a change that may remain where a later change counts as the return from it.
const REMAINING: f64 = 0.25;

/// Reports whether a change of level takes back the one before: the level is the earlier one again,
/// to a quarter of the change. Changes that somebody acknowledged are told one by one.
fn is_return(shift: &LevelShift, next: &LevelShift) -> bool {
    let whole = (shift.levels.1 - shift.levels.0).abs();
    let remains = (next.levels.1 - shift.levels.0).abs();
    shift.is_worse != next.is_worse
        && shift.known.is_none()
        && next.known.is_none()
        && remains <= REMAINING * whole
}

/// Sentences about a series; empty if its level never changed.
pub(crate) fn sentences(series: &HistorySeries) -> Vec<String> {
    let word = |is_worse: bool| if is_worse { "worse" } else { "better" };
    let mut sentences = Vec::new();
    let mut shifts = series.shifts.iter().peekable();
    while let Some(shift) = shifts.next() {
        let back = shifts.next_if(|next| is_return(shift, next));
        let until = back.and_then(|back| series.points.get(back.index.checked_sub(1)?));
        let until = match until {
            Some(last) => format!(" to {}, then back", last.key),
            None => " on".to_owned(),
        };
        let mut text = format!(
            "{}: {}{} ({}) from {}{until}",
            title(series),
            if shift.known.is_some() { "known, " } else { "" },
            word(shift.is_worse),
            shift_change(series, shift),
            series.points[shift.index].key
        );
        text += &between(&series.points, shift.between);
        if let Some(fact) = shift.facts.first() {
            _ = write!(text, "; {} changed from {} to {}", fact.name, fact.before, fact.after);
        }
        if let Some(known) = &shift.known {
            _ = write!(text, "; {}", bare_reason(known));
        }
        sentences.push(text + ".");
    }
    sentences.extend(series.trend.as_ref().map(|trend| trend_sentence(series, trend)));
    if let (Some(suspect), Some(newest)) = (&series.suspect, series.points.last()) {
        let needed = match suspect.points_needed {
            Some(1) => "1 more point like it tells".to_owned(),
            Some(needed) => format!("{needed} more points like it tell"),
            None => "only many more points can tell".to_owned(),
        };
        sentences.push(format!(
            "{}: {} is suspect, {} ({}); {needed} a new level from an outlier.",
            title(series),
            newest.key,
            word(suspect.is_worse),
            suspect_change(series, suspect)
        ));
    }
    if let Some(noise) = &series.noise {
        sentences.push(format!(
            "{}: from {} on the points {}.",
            title(series),
            series.points[noise.index].key,
            scatter_words(noise.ratio)
        ));
    }
    sentences
}

/// Sentence about a trend: `fs_mark, files per second: slowly worse since 2026-11-03 …`.
fn trend_sentence(series: &HistorySeries, trend: &HistoryTrend) -> String {
    let interval = trend.interval.map_or_else(String::new, |(low, high)| {
        format!(", interval {} to {}", percent(low), percent(high))
    });
    let has_levels = series.shifts.iter().any(|shift| shift.index > trend.index);
    let known = trend.known.as_ref();
    format!(
        "{}: {}slowly {} since {}, point by point ({} over {} points{interval}){}{}.",
        title(series),
        if known.is_some() { "known, " } else { "" },
        if trend.is_worse { "worse" } else { "better" },
        series.points[trend.index].key,
        trend_change(series, trend),
        series.points.len() - trend.index,
        if has_levels { "; levels that begin later are parts of it" } else { "" },
        known.map_or_else(String::new, |known| format!("; {}", bare_reason(known)))
    )
}

/// Formats the whole change of a trend.
pub(crate) fn trend_change(series: &HistorySeries, trend: &HistoryTrend) -> String {
    level_change(trend.ratio, trend.levels, series.unit)
}

/// Words for a change of scatter: `scatter 3.1 times as much`.
fn scatter_words(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 1.0 => format!("scatter {ratio:.1} times as much"),
        ratio if ratio > 0.0 => format!("scatter less, by a factor of {:.1}", 1.0 / ratio),
        _ => "scatter no more".to_owned(),
    }
}

/// Reason of a known change, without the word that stands before it.
fn bare_reason(known: &KnownChange) -> &str {
    let reason = known.acknowledgement.reason.as_str();
    reason.strip_prefix("known:").map_or(reason, str::trim_start)
}

fn overview(history: &History, view: &HistoryView<'_>) -> Table {
    let level = if view.anchor.is_some() { "ratio" } else { "newest" };
    let row = |series: &HistorySeries| {
        let (first, last) = (series.points.first(), series.points.last());
        let key = |point: Option<&SeriesPoint>| point.map_or(String::new(), |at| at.key.clone());
        let trials = series.points.iter().map(|point| point.trials.len() as u64).sum::<u64>();
        let newest = last.map_or(Cell::Missing, |point| value(point.value, series.unit));
        vec![
            RowField::new(Column::long_text("series"), Cell::text(title(series))),
            RowField::new(Column::text("finding"), finding(series)),
            RowField::new(Column::mixed(level), newest),
            RowField::count("changes", series.shifts.len() as u64),
            RowField::count("points", series.points.len() as u64),
            RowField::count("trials", trials),
            RowField::text("first", key(first)),
            RowField::text("last", key(last)),
        ]
    };
    Table::from_rows("series", "", history.series.iter().map(row))
}

pub(crate) fn value(value: f64, unit: Unit) -> Cell {
    match unit {
        Unit::Seconds if value.abs() < SHORT_SECONDS => Number::span(value).into(),
        unit => Cell::measured(value, unit),
    }
}

fn finding(series: &HistorySeries) -> Cell {
    if series.points.len() < FEWEST_POINTS {
        return Cell::text("too short");
    }
    let newest = series.suspect.as_ref().map(|suspect| suspect.is_worse);
    let trend = series.trend.as_ref();
    let is_known = trend.is_some_and(|trend| trend.known.is_some());
    let trend = trend.filter(|trend| trend.known.is_none()).map(|trend| trend.is_worse);
    match (series.shifts.last(), newest) {
        (_, Some(_)) => Cell::toned("suspect", Tone::Caution),
        (_, None) if trend == Some(true) => Cell::toned("slowly worse", Tone::Bad),
        (Some(shift), None) if shift.known.is_some() => Cell::text("known"),
        (Some(shift), None) if shift.is_worse => Cell::toned("worse", Tone::Bad),
        (Some(_), None) => Cell::toned("better", Tone::Good),
        (None, None) if trend.is_some() => Cell::toned("slowly better", Tone::Good),
        (None, None) if is_known => Cell::text("known"),
        (None, None) => Cell::text("steady"),
    }
}

pub(crate) fn changes(series: &HistorySeries) -> Table {
    let columns = vec![
        Column::text("from"),
        Column::text("finding"),
        Column::text("change"),
        Column::text("interval"),
        Column::text("p"),
        Column::text("began between"),
    ];
    let mut table = Table::new("changes", &title(series), columns);
    for shift in &series.shifts {
        let key = |at: usize| series.points[at].key.clone();
        let interval = shift.interval.map_or_else(String::new, |(low, high)| {
            format!("{} to {}", percent(low), percent(high))
        });
        table.rows.push(vec![
            Cell::text(key(shift.index)),
            match (&shift.known, shift.is_worse) {
                (Some(known), _) => Cell::text(format!("known: {}", bare_reason(known))),
                (None, true) => Cell::toned("worse", Tone::Bad),
                (None, false) => Cell::toned("better", Tone::Good),
            },
            Cell::text(shift_change(series, shift)),
            Cell::some_text(&interval),
            Cell::text(p_value(shift.p_value)),
            Cell::text(match shift.between {
                (first, last) if first == last => key(first),
                (first, last) => format!("{} and {}", key(first), key(last)),
            }),
        ]);
    }
    let link = |shift: &LevelShift| series.points[shift.index].link.as_deref();
    if series.shifts.iter().any(|shift| link(shift).is_some()) {
        table.columns.push(Column::long_text("link"));
        for (row, shift) in table.rows.iter_mut().zip(&series.shifts) {
            row.push(Cell::some_text(link(shift).unwrap_or_default()));
        }
    }
    table
}

/// Formats a p-value; a value too small for four digits is not shown as zero.
fn p_value(p: f64) -> String {
    if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") }
}

pub(crate) fn facts(series: &HistorySeries, shift: &LevelShift) -> Table {
    let caption = format!("What else changed at {}", series.points[shift.index].key);
    let rows = shift.facts.iter().take(FACTS_SHOWN).map(|fact| {
        vec![
            RowField::text("fact", &fact.name),
            RowField::long_text("before", &fact.before),
            RowField::long_text("after", &fact.after),
        ]
    });
    Table::from_rows("facts", &caption, rows)
}

/// Table of the newest environment changes over all series.
fn environment(history: &History) -> Option<Table> {
    // Each change is reported once for all series, at the first series that has it.
    let mut firsts: BTreeMap<[&str; 4], i64> = BTreeMap::new();
    for series in &history.series {
        let named = names_of_points(series);
        for change in &series.environment {
            let point = &series.points[change.index];
            let facts = change.facts.iter().filter(|fact| !named.contains(fact.name.as_str()));
            for ChangedFact { name, before, after } in facts {
                let first = firsts.entry([&point.key, name, before, after]);
                let first = first.or_insert(point.started_unix_ms);
                *first = point.started_unix_ms.min(*first);
            }
        }
    }
    let mut rows: Vec<_> = firsts.into_iter().map(|(words, first)| (first, words)).collect();
    rows.sort_unstable();
    let hidden = rows.len().saturating_sub(CHANGES_SHOWN);
    let caption = match hidden {
        0 => "Changes of the environment".to_owned(),
        _ => format!("Changes of the environment, the newest {CHANGES_SHOWN}"),
    };
    let shown = rows.into_iter().skip(hidden).map(|(_, [key, name, before, after])| {
        vec![
            RowField::text("from", key),
            RowField::text("fact", name),
            RowField::long_text("before", before),
            RowField::long_text("after", after),
        ]
    });
    let table = Table::from_rows("environment", &caption, shown);
    (!table.rows.is_empty()).then_some(table)
}

fn notes(page: &mut Report, history: &History, view: &HistoryView<'_>) {
    let short = history
        .series
        .iter()
        .filter(|short_series| short_series.points.len() < FEWEST_POINTS)
        .count();
    if short > 0 && short < history.series.len() {
        page.note(format!(
            "Series with fewer than {FEWEST_POINTS} points are not judged: {short}."
        ));
    }
    match view.anchor {
        Some(anchor) => page.note(format!(
            "Values are ratios to '{anchor}' in the same round: what changes on the machine affects \
             both."
        )),
        None => page.note(
            "Without an anchor (--anchor VARIANT) a change of the machine cannot be told from a \
             change of what is measured.",
        ),
    }
    for series in &history.series {
        if let Some(memory) = series.memory.filter(|memory| memory.is_seen) {
            page.note(format!("{}: {}", title(series), memory_note(&memory)));
        }
    }
    let memories = history.series.iter().filter_map(|series| series.memory);
    let seen_from = memories.map(|memory| memory.seen_from).fold(0.0, f64::max);
    if seen_from >= 1.0 {
        page.note(
            "Correlations of neighbouring points, however strong, may remain unseen in series as \
             short as these; they make changes be found too often.",
        );
    } else if seen_from > 0.0 {
        page.note(format!(
            "Correlations of neighbouring points below {seen_from:.2} may remain unseen in series \
             as short as these; they make changes be found too often."
        ));
    }
    if history.left_out > 0 {
        page.note(format!("Trials in no series: {}.", history.left_out));
    }
}

/// Sentence about the autocorrelation of neighbouring points.
pub(crate) fn memory_note(memory: &SeriesMemory) -> String {
    format!(
        "neighbouring points are alike (correlation {:.1}), so a change has to be larger to be \
         found, and is still found too often.",
        memory.correlation.min(1.0)
    )
}

/// Event of a change of the environment; `None` if only names of points changed.
fn event(change: &EnvironmentChange, named: &BTreeSet<&str>) -> Option<RoundsEvent> {
    let words = |fact: &&ChangedFact| format!("{}: {} to {}", fact.name, fact.before, fact.after);
    let facts = change.facts.iter().filter(|fact| !named.contains(fact.name.as_str()));
    let facts: Vec<&ChangedFact> = facts.collect();
    let mut changes: Vec<String> = facts.iter().take(FACTS_SHOWN).map(words).collect();
    if let more @ 1.. = facts.len() - changes.len() {
        changes.push(format!("and {more} more"));
    }
    (!changes.is_empty()).then(|| RoundsEvent { place: change.index, what: changes.join("\n") })
}

/// Newest `most` items of a list.
fn newest<T>(items: &[T], most: usize) -> &[T] {
    &items[items.len().saturating_sub(most)..]
}

/// Chart of a series, with a different colour for the points of each level.
pub(crate) fn chart(series: &HistorySeries, view: &HistoryView<'_>) -> Rounds {
    let starts: Vec<usize> = series.shifts.iter().map(|shift| shift.index).collect();
    let ends: Vec<usize> = [0].into_iter().chain(starts).chain([series.points.len()]).collect();
    let level = |ends: &[usize]| {
        let inside = |(at, point)| (ends[0]..ends[1]).contains(&at).then_some(point);
        let points: Vec<Option<&SeriesPoint>> =
            series.points.iter().enumerate().map(inside).collect();
        RoundsVariant {
            name: format!("from {}", series.points[ends[0]].key),
            values: points.iter().map(|point| Some(point.as_ref()?.value)).collect(),
            intervals: points.iter().map(|point| point.as_ref()?.interval).collect(),
        }
    };
    let named = names_of_points(series);
    let events: Vec<RoundsEvent> =
        series.environment.iter().filter_map(|change| event(change, &named)).collect();
    let points = || series.points.iter();
    let mut chart = Rounds {
        metric: title(series),
        unit: series.unit,
        better: series.better,
        paired: false,
        numbers: Vec::new(),
        variants: ends.windows(2).map(level).collect(),
        by: Some(view.by.to_owned()),
        keys: points().map(|point| point.key.clone()).collect(),
        times: match view.by {
            "date" => points().map(|point| point.started_unix_ms).collect(),
            _ => Vec::new(),
        },
        events: newest(&events, EVENTS_DRAWN).to_vec(),
        left_out: 0,
    };
    // The axis has the units of values that are scaled.
    let scales = Number::measured(0.0, series.unit).style.scales() || chart.has_short_times();
    chart.metric += &match view.anchor {
        Some(anchor) => format!(" (ratio to {anchor})"),
        None if scales || series.unit.symbol().is_empty() => String::new(),
        None => format!(" ({})", series.unit.symbol()),
    };
    chart
}

#[cfg(test)]
mod tests {
    use super::{HistoryView, chart, environment, value};
    use treering_analysis::history::{
        ChangedFact, EnvironmentChange, History, HistorySeries, SeriesPoint,
    };
    use treering_model::{BetterDirection, RunMode, TrialId, Unit};

    fn series(variant: &str, late_ms: i64) -> HistorySeries {
        let words = |words: [&str; 3]| words.map(str::to_owned);
        let point = |(day, key): (i64, &str)| SeriesPoint {
            key: key.to_owned(),
            started_unix_ms: day * 86_400_000 + late_ms,
            trials: vec![TrialId::new()],
            value: 1.0,
            interval: None,
            link: None,
        };
        let change = |(index, fact): (usize, [&str; 3])| {
            let [name, before, after] = words(fact);
            EnvironmentChange { index, facts: vec![ChangedFact { name, before, after }] }
        };
        let changes = [(1, ["kernel.release", "6.1", "6.2"]), (2, ["cpu.count", "2", "4"])];
        HistorySeries {
            workload: "fs_mark".to_owned(),
            mode: RunMode::Native,
            job: String::new(),
            variant: variant.to_owned(),
            metric: "files_per_second".to_owned(),
            unit: Unit::FilesPerSecond,
            better: BetterDirection::Higher,
            points: [(1, "Monday"), (2, "Tuesday"), (3, "Friday")].map(point).to_vec(),
            shifts: Vec::new(),
            environment: changes.map(change).to_vec(),
            suspect: None,
            trend: None,
            noise: None,
            memory: None,
        }
    }

    #[test]
    fn a_change_of_the_environment_is_listed_once_for_all_series() {
        let both_series = vec![series("xfs", 2000), series("ext4", 0)];
        let table = environment(&History { series: both_series, left_out: 0 }).unwrap();
        let firsts: Vec<_> = table.rows.iter().map(|row| row[0].shown("")).collect();
        assert_eq!(firsts, ["Tuesday", "Friday"], "in the order of time");
    }

    #[test]
    fn short_times_have_the_unit_that_suits_them_on_the_axis_and_in_the_table() {
        let mut one = series("xfs", 0);
        one.unit = Unit::Seconds;
        let view = HistoryView { by: "date", anchor: None, draws: true };
        assert!(chart(&one, &view).metric.ends_with(" (s)"), "seconds of a second and more");
        for point in &mut one.points {
            point.value = 0.001_209;
        }
        assert!(!chart(&one, &view).metric.ends_with(" (s)"));
        assert!(chart(&one, &view).has_short_times());
        assert_eq!(value(0.001_209, Unit::Seconds).shown(""), "1.209 ms");
        assert_eq!(value(1.209, Unit::Seconds).shown(""), "1.209 s");
    }
}
