//! Page of `treering show`: all data about one trial, without a verdict, which requires more than
//! one trial. `lead` has the sentence and the picture at the top.

mod lead;

use treering_analysis::compare::JobProfile;
use treering_analysis::{KnownTotals, Summary, is_request_figure, summary};
use treering_model::BetterDirection::{Higher, Lower};
use treering_model::metrics::is_call_latency;
use treering_model::{
    AnnotationKind, Ending, Fact, IntervalTotals, Metric, PLAN_FACT, PhaseTotals, TaskTotals,
    Trial, Unit,
};

use self::lead::LeadPicture;
pub(super) use self::lead::sentence;
use super::environment::readable;
use super::figures::{
    calls, counters, cpu, few_beyond, is_of_observer, metrics, phases, rates, requests, times,
    trends,
};
use super::identity::{duration, ending_sentence, utc};
use super::{heat, layouts, profile, trace};
use crate::table::RowField;
use crate::{Cell, Column, Number, NumberStyle, PageOrigin, Report, Table};

/// Options of the page.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrialView<'v> {
    /// Shortest unique id of the trial in the store.
    pub short_id: &'v str,
    /// Command line that repeats the trial, quoted for a shell.
    pub command: Option<&'v str>,
    /// True to list every task.
    pub tasks: bool,
    /// True to list every second.
    pub seconds: bool,
    /// True to add charts, for formats with graphics.
    pub charts: bool,
}

/// Maximum number of charts of one sort on the page.
const MOST_CHARTS: usize = 12;

/// Page of a trial: its answer in a sentence and a picture, the figures, then the conditions of the
/// measurement.
pub fn page(trial: &Trial, view: &TrialView<'_>) -> Report {
    let beginning = &trial.beginning;
    let mut page = Report::new(format!(
        "Trial {}: {} ({})",
        view.short_id,
        beginning.workload,
        beginning.mode.name()
    ));
    page.paragraph(sentence(trial));
    if trial.ending != Ending::Completed {
        page.key_values([("ended".to_owned(), ending_sentence(&trial.ending))]);
    }
    let profile = || profile::of_job(&JobProfile::of_trial(trial), None, MOST_CHARTS);
    let charts = if view.charts { profile() } else { Vec::new() };
    let summary = summary(trial);
    let LeadPicture { picture, charts } = LeadPicture::new(trial, &summary, charts, view.charts);
    page.blocks.extend(picture);
    if let Some(reason) = trial.exclusion() {
        page.note(format!("excluded from comparisons: {reason}"));
    }
    page.cautions(&trial.cautions);
    if layouts::is_aging(trial) {
        layouts::add_aging(&mut page, trial);
        layouts::add(&mut page, trial, view.charts);
        add_figures(&mut page, trial, &summary);
    } else {
        add_figures(&mut page, trial, &summary);
        layouts::add(&mut page, trial, view.charts);
    }
    heat::add(&mut page, trial, view.charts);
    trace::add(&mut page, trial, view.charts);
    let counters = counters(trial);
    if !counters.rows.is_empty() {
        page.heading("Kernel and devices");
        page.table(counters);
    }
    if !charts.is_empty() {
        page.heading("Charts");
        page.blocks.extend(charts);
    }
    if view.tasks && !trial.tasks.is_empty() {
        page.heading("Tasks");
        page.table(tasks(trial));
    }
    let seconds = seconds(trial);
    if view.seconds && !seconds.rows.is_empty() {
        page.heading("Seconds");
        page.table(seconds);
    }
    add_circumstances(&mut page, trial);
    if let Some(command) = view.command {
        page.heading("Repeat");
        page.command("The same trial again", command);
    }
    page.origin(PageOrigin::of_trials(std::iter::once(trial)));
    page
}

/// Adds workload, time, parameters and environment.
fn add_circumstances(page: &mut Report, trial: &Trial) {
    page.heading("Trial");
    page.key_values(identity(trial));
    let parameters = &trial.beginning.parameters;
    if !parameters.is_empty() {
        page.heading("Parameters");
        let pairs = parameters.iter();
        page.key_values(pairs.map(|(name, value)| (name.clone(), Cell::some_text(value))));
    }
    if !trial.facts.is_empty() {
        page.heading("Environment");
        // A value of many lines does not fit into a table row; the JSON contains it.
        let facts = trial.facts.iter().filter(|fact| fact.name != PLAN_FACT);
        let text = |fact: &Fact| Cell::some_text(&readable(&fact.name, &fact.value, usize::MAX));
        page.key_values(facts.map(|fact| (fact.name.clone(), text(fact))));
    }
}

fn identity(trial: &Trial) -> Vec<(String, Cell)> {
    let beginning = &trial.beginning;
    let recorded = trial.annotations.iter().find_map(|annotation| match &annotation.change {
        AnnotationKind::Relabelled { was, .. } => Some(was.as_str()),
        AnnotationKind::Excluded { .. }
        | AnnotationKind::Included
        | AnnotationKind::Acknowledged(_)
        | AnnotationKind::Withdrawn(_) => None,
    });
    let mut pairs = vec![
        ("trial", Cell::text(beginning.trial.text())),
        ("workload", Cell::text(&beginning.workload)),
        ("mode", Cell::text(beginning.mode.name())),
        ("label", Cell::some_text(&beginning.label)),
    ];
    if let Some(recorded) = recorded {
        pairs.push(("label when it was recorded", Cell::some_text(recorded)));
    }
    pairs.extend([
        ("target", Cell::some_text(&beginning.target)),
        ("started (UTC)", Cell::text(utc(beginning.started_unix_ms))),
        ("duration", duration(trial.wall_ns)),
        ("ended", ending_sentence(&trial.ending)),
        ("treering", Cell::some_text(&beginning.treering_version)),
    ]);
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn add_figures(page: &mut Report, trial: &Trial, summary: &Summary) {
    page.heading("Figures");
    if !summary.requests.is_empty() {
        page.table(requests(&summary.requests));
        if let Some(few) = few_beyond(&summary.requests) {
            page.note(few);
        }
    }
    // Figures of the request table are not repeated unless they are primary.
    let shown = |metric: &&Metric| {
        let is_above = !summary.requests.is_empty() && is_request_figure(metric);
        // Latencies of calls are in the table of the calls.
        let is_below = is_of_observer(metric) || is_call_latency(&metric.name) && !metric.primary;
        !is_below && (metric.primary || !is_above)
    };
    let headline: Vec<&Metric> = trial.metrics.iter().filter(shown).collect();
    if !headline.is_empty() {
        page.table(metrics(&headline));
    }
    if summary.phases.is_empty() && headline.is_empty() && summary.requests.is_empty() {
        page.paragraph("No task or phase completed, so there are no measurements.");
    } else if !summary.phases.is_empty() {
        page.table(phases(&summary.phases));
    }
    if !summary.kinds.is_empty() {
        page.table(times(&summary.kinds));
        page.table(rates(&summary.kinds));
        if summary.kinds.iter().any(|kind| kind.user_seconds.is_some()) {
            page.table(cpu(&summary.kinds));
        }
        let trends = trends(&summary.kinds);
        if !trends.rows.is_empty() {
            page.table(trends);
        }
    }
    if !summary.ops.is_empty() {
        page.table(calls(&summary.ops));
    }
}

/// Table of tasks in order, one row each.
fn tasks(trial: &Trial) -> Table {
    let several_workers = trial.tasks.iter().any(|task| task.worker > 0);
    let caption = "Every task, including its final sync.";
    let known = KnownTotals::for_trial(trial);
    let tasks = trial.tasks.iter().enumerate();
    let rows = tasks.map(|(place, task)| of_task(place, task, several_workers, known));
    Table::from_rows("tasks", caption, rows).with_keys(3)
}

fn of_task(
    place: usize,
    task: &TaskTotals,
    several_workers: bool,
    known: KnownTotals,
) -> Vec<RowField> {
    let timed = task.wall_ns > 0;
    let moves = timed && (task.bytes > 0 || task.listed_bytes > 0);
    let makes = timed && task.files > 0;
    let seconds = |name, ns: Option<u64>| {
        RowField::number(name, Unit::Seconds, ns.map(|ns| ns as f64 / 1e9)).better(Lower)
    };
    let rate = |unit, rate: Option<f64>| RowField::number("rate", unit, rate).better(Higher);
    let cpu = known.cpu(task.cpu);
    let mut fields = vec![
        RowField::count("n", place as u64 + 1),
        RowField::text("kind", &task.kind),
        RowField::new(Column::long_text("subject"), Cell::some_text(&task.subject)),
        RowField::new(Column::text("state"), Cell::some_text(&task.state)),
        RowField::count("phase", u64::from(task.phase)),
    ];
    fields.extend(several_workers.then(|| RowField::count("worker", u64::from(task.worker))));
    fields.extend([
        seconds("time", known.amount(task.wall_ns)),
        rate(Unit::MibPerSecond, moves.then(|| task.mib_per_second())),
        rate(Unit::FilesPerSecond, makes.then(|| task.files_per_second())),
        seconds("user", cpu.map(|cpu| cpu.user_ns)),
        seconds("system", cpu.map(|cpu| cpu.system_ns)),
        seconds("sync", known.amount(task.sync_ns)),
    ]);
    fields
}

/// Table of seconds, one row each; consecutive seconds without a call share a row, which shows
/// stalls.
fn seconds(trial: &Trial) -> Table {
    let caption = "Calls that ended in each second of a phase, and the bytes they moved. \
                   Consecutive seconds without any share one row.";
    Table::from_rows("seconds", caption, trial.phases.iter().flat_map(seconds_of)).with_keys(2)
}

/// Rows of the seconds of a phase.
fn seconds_of(phase: &PhaseTotals) -> Vec<Vec<RowField>> {
    let end_ns = u128::from(phase.wall_ns);
    let mut rows = Vec::new();
    let mut row = |from_ns: u128, to_ns: u128, interval: IntervalTotals| {
        let range = Cell::Range { low: instant(from_ns), high: instant(to_ns) };
        rows.push(vec![
            RowField::text("phase", &phase.name),
            RowField::new(Column::range("from–to", Unit::Seconds), range),
            RowField::count("calls", interval.calls).better(Higher),
            RowField::bytes("moved", interval.bytes).better(Higher),
        ]);
    };
    let mut next_ns = 0;
    for interval in &phase.intervals {
        let from_ns = u128::from(interval.second) * 1_000_000_000;
        if from_ns > next_ns {
            row(next_ns, from_ns, IntervalTotals::default());
        }
        // The last slice ends with the phase.
        let full_ns = from_ns + 1_000_000_000;
        let to_ns = if end_ns > from_ns { full_ns.min(end_ns) } else { full_ns };
        row(from_ns, to_ns, *interval);
        next_ns = to_ns;
    }
    if end_ns > next_ns {
        row(next_ns, end_ns, IntervalTotals::default());
    }
    rows
}

/// Seconds from the start of a phase, without decimals if integral.
fn instant(ns: u128) -> Number {
    let number = Number::measured(ns as f64 / 1e9, Unit::Seconds);
    if ns.is_multiple_of(1_000_000_000) { number.styled(NumberStyle::Whole) } else { number }
}
