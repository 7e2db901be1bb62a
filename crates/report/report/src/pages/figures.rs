//! Tables of figures shared by pages: phases, kinds of task, calls, metrics.

use treering_analysis::{
    FEW_BEYOND, KindSummary, MedianRange, OpSummary, PhaseSummary, RequestFigures,
};
use treering_model::BetterDirection::{Higher, Lower};
use treering_model::metrics::{is_counter, is_observation};
use treering_model::{Metric, Scope, Trial, Unit};

use super::identity::{metric_words, scope};
use crate::table::RowField;
use crate::{Cell, Column, Number, NumberStyle, Table};

/// Maximum number of rows named in the remark about p99.9.
const FEW_NAMED: usize = 4;

/// Table of phase totals.
pub(super) fn phases(phases: &[PhaseSummary]) -> Table {
    let caption =
        "Phases: bytes actually moved over the elapsed time; CPU in percent of that time.";
    let row = |phase: &PhaseSummary| {
        vec![
            RowField::text("phase", phase.label()),
            RowField::count("tasks", phase.tasks.map(u64::from)),
            RowField::count("files", phase.files),
            RowField::number("bytes", Unit::Bytes, phase.bytes.map(|bytes| bytes as f64)),
            RowField::number("time", Unit::Seconds, phase.seconds).better(Lower),
            RowField::number("moved", Unit::MibPerSecond, phase.mib_per_second).better(Higher),
            RowField::number("CPU user", Unit::Seconds, phase.user_seconds).better(Lower),
            RowField::number("system", Unit::Seconds, phase.system_seconds).better(Lower),
            RowField::number("CPU", Unit::Percent, phase.cpu_percent),
        ]
    };
    Table::from_rows("phases", caption, phases.iter().map(row))
}

/// Table of requests and operations: the headline figures of fio, filebench and dbench.
pub(super) fn requests(requests: &[RequestFigures]) -> Table {
    let latency = |name, ns| RowField::number(name, Unit::Nanoseconds, ns).better(Lower);
    let caption = "Requests by job and direction, or operations by kind: rate (IOPS), bandwidth \
                   and latency. Timed: the number of latencies measured.";
    let row = |row: &RequestFigures| {
        let rate = row.operations_per_second;
        vec![
            RowField::text("of", row.label()),
            RowField::number("rate", Unit::OpsPerSecond, rate).better(Higher),
            RowField::number("moved", Unit::MibPerSecond, row.mib_per_second).better(Higher),
            latency("mean", row.mean_ns),
            latency("p50", row.p50_ns),
            latency("p99", row.p99_ns),
            latency("p99.9", row.p999_ns),
            latency("max", row.max_ns),
            RowField::count("timed", row.timed),
        ]
    };
    Table::from_rows("requests", caption, requests.iter().map(row))
}

/// Remark on rows whose p99.9 is based on few requests; `None` if there are none.
pub(super) fn few_beyond(requests: &[RequestFigures]) -> Option<String> {
    let few: Vec<&RequestFigures> = requests.iter().filter(|row| row.has_few_beyond()).collect();
    let rows = few.iter().take(FEW_NAMED).map(|row| {
        let (beyond, timed) = (row.beyond_p999().unwrap_or(0), row.timed.unwrap_or(0));
        format!("{} ({beyond} of {timed})", row.label())
    });
    let mut rows = rows.collect::<Vec<_>>().join(", ");
    if few.len() > FEW_NAMED {
        rows += &format!(" and {} more", few.len() - FEW_NAMED);
    }
    let remark = format!("p99.9 is unreliable if fewer than {FEW_BEYOND} requests exceed it");
    (!few.is_empty()).then(|| format!("{remark}: {rows}"))
}

/// Table of task durations by kind.
pub(super) fn times(kinds: &[KindSummary]) -> Table {
    let row = |kind: &KindSummary| {
        let [median, range] = durations(kind);
        vec![
            RowField::text("kind", kind.label()),
            RowField::count("n", kind.tasks as u64),
            median,
            range,
            RowField::number("of it sync", Unit::Percent, kind.sync_percent),
        ]
    };
    Table::from_rows("times", "Time of a task, including its final sync.", kinds.iter().map(row))
}

/// Median and range of the durations of a kind.
fn durations(kind: &KindSummary) -> [RowField; 2] {
    let MedianRange { median, min, max, .. } = kind.seconds;
    let range = Cell::range(min, max, Unit::Seconds);
    [
        RowField::number("median", Unit::Seconds, median).better(Lower),
        RowField::new(Column::range("min–max", Unit::Seconds).better(Lower), range),
    ]
}

/// Table of task rates by kind.
pub(super) fn rates(kinds: &[KindSummary]) -> Table {
    let caption = "Rates of a task: listed bytes (bytes moved where none are listed) and files \
                   over its time. Total: over all tasks and their total time, not a mean of rates.";
    let row = |kind: &KindSummary| {
        let mut fields = vec![RowField::text("kind", kind.label())];
        fields.extend(rate(kind.mib_per_second, kind.total_mib_per_second, Unit::MibPerSecond));
        let (files, total_files) = (kind.files_per_second, kind.total_files_per_second);
        fields.extend(rate(files, total_files, Unit::FilesPerSecond));
        fields
    };
    Table::from_rows("rates", caption, kinds.iter().map(row))
}

fn rate(spread: Option<MedianRange>, total: Option<f64>, unit: Unit) -> [RowField; 3] {
    let range = spread.map_or(Cell::Missing, |spread| Cell::range(spread.min, spread.max, unit));
    let fields = [
        RowField::number("median", unit, spread.map(|spread| spread.median)),
        RowField::new(Column::range("min–max", unit), range),
        RowField::number("total", unit, total),
    ];
    fields.map(|field| field.better(Higher))
}

/// Table of CPU cost by kind.
pub(super) fn cpu(kinds: &[KindSummary]) -> Table {
    let caption = "CPU per task: medians; CPU in percent of the time of all tasks; final syncs in \
                   percent of the CPU time of all tasks.";
    let row = |kind: &KindSummary| {
        vec![
            RowField::text("kind", kind.label()),
            RowField::number("user", Unit::Seconds, kind.user_seconds).better(Lower),
            RowField::number("system", Unit::Seconds, kind.system_seconds).better(Lower),
            RowField::number("of time", Unit::Percent, kind.cpu_percent),
            RowField::number("sync of CPU", Unit::Percent, kind.sync_cpu_percent),
        ]
    };
    Table::from_rows("cpu", caption, kinds.iter().map(row))
}

/// Table of trends over the run, for kinds with enough tasks.
pub(super) fn trends(kinds: &[KindSummary]) -> Table {
    let caption = "Trend within this run: change of the time over ten tasks of the same kind, with \
                   its 95 % interval (Theil-Sen), and p of no trend (Mann-Kendall). It describes \
                   this run and is not a verdict.";
    let change =
        |percent: f64| Number::measured(percent, Unit::Percent).styled(NumberStyle::Change);
    let row = |kind: &KindSummary| {
        let trend = kind.trend?;
        let by_ten = change(trend.percent_per_10_tasks);
        let between = |(low, high)| Cell::between(change(low), change(high));
        let interval = trend.interval.map_or(Cell::Missing, between);
        let p = Number::measured(trend.p, Unit::Count).styled(NumberStyle::Probability);
        Some(vec![
            RowField::text("kind", kind.label()),
            RowField::count("n", trend.tasks as u64),
            RowField::new(Column::number("change", Unit::Percent).better(Lower), by_ten),
            RowField::new(Column::range("low–high", Unit::Percent), interval),
            RowField::new(Column::count("p"), p),
            RowField::text("time per", trend.basis.name()),
        ])
    };
    Table::from_rows("trends", caption, kinds.iter().filter_map(row))
}

/// Short table of all kinds, for the end of a run.
pub(super) fn kinds_in_short(kinds: &[KindSummary]) -> Table {
    let rate = |unit, value| RowField::number("total", unit, value);
    let row = |kind: &KindSummary| {
        let [median, range] = durations(kind);
        vec![
            RowField::text("kind", kind.label()),
            RowField::count("n", kind.tasks as u64),
            median,
            range,
            rate(Unit::MibPerSecond, kind.total_mib_per_second),
            rate(Unit::FilesPerSecond, kind.total_files_per_second),
            RowField::number("CPU", Unit::Percent, kind.cpu_percent),
        ]
    };
    Table::from_rows("kinds", "", kinds.iter().map(row)).without_directions()
}

/// Fewest timed calls for p99, so that at least one call is slower.
const FEWEST_OF_P99: u64 = 100;

/// Table of system calls and their latencies. p99.9 is shown when enough calls were timed.
pub(super) fn calls(ops: &[OpSummary]) -> Table {
    let has_p999 = ops.iter().any(|op| op.p999_ns().is_some());
    let mut caption = "Latency of system calls. Errors include expected ones, such as a directory \
                       that already exists."
        .to_owned();
    if ops.iter().any(|op| (1..FEWEST_OF_P99).contains(&op.timed)) {
        caption += " The p99 of fewer than 100 timed calls is the slowest of them.";
    }
    let row = |op: &OpSummary| {
        let timed = (op.calls > 0).then(|| 100.0 * op.timed as f64 / op.calls as f64);
        let mut fields = vec![
            RowField::text("call", op.op.name()),
            RowField::count("calls", op.calls),
            RowField::count("errors", op.errors),
            RowField::number("timed", Unit::Percent, timed),
            latency("p50", op.quantile_ns(0.5)),
            latency("p90", op.quantile_ns(0.9)),
            latency("p99", op.quantile_ns(0.99)),
        ];
        fields.extend(has_p999.then(|| latency("p99.9", op.p999_ns())));
        fields.push(latency("max", op.max_ns()));
        fields
    };
    Table::from_rows("calls", &caption, ops.iter().map(row))
}

fn latency(name: &str, latency_ns: Option<u64>) -> RowField {
    let number = latency_ns.map(|ns| Number::measured(ns as f64, Unit::Nanoseconds));
    let styled = |number: Number| number.styled(NumberStyle::Latency).into();
    let cell = number.map_or(Cell::Missing, styled);
    RowField::new(Column::number(name, Unit::Nanoseconds).better(Lower), cell)
}

/// Table of metrics, primary ones first.
pub(super) fn metrics(metrics: &[&Metric]) -> Table {
    let caption = "Headline metrics: the primary ones decide a comparison.";
    let (primary, others): (Vec<&Metric>, Vec<&Metric>) =
        metrics.iter().copied().partition(|metric| metric.primary);
    let row = |metric: &Metric| {
        let value = Cell::measured(metric.value, metric.unit);
        vec![
            RowField::text("metric", &metric.name),
            RowField::text("of", scope(&metric.scope)),
            RowField::new(Column::mixed("value"), value),
            RowField::count("tasks", metric.tasks),
            RowField::text("better", metric.better.phrase()),
            RowField::text("rank", if metric.primary { "primary" } else { "secondary" }),
        ]
    };
    let rows = primary.into_iter().chain(others).map(row);
    Table::from_rows("metrics", caption, rows).with_keys(2)
}

/// Reports whether a metric was measured by an observer, which has its own section on the page.
pub(super) fn is_of_observer(metric: &Metric) -> bool {
    is_observation(&metric.name)
}

/// Maximum number of phases with a column of their own.
const MOST_PHASES: usize = 6;

/// Table of the counters of the kernel and of the devices, over all phases and for each of the
/// first phases; empty for a trial without counters.
pub(super) fn counters(trial: &Trial) -> Table {
    let counters: Vec<&Metric> =
        trial.metrics.iter().filter(|metric| is_counter(&metric.name)).collect();
    let phases = counted_phases(&counters);
    let caption = "Counters of the kernel and of the devices below the target. Those of threads, \
                   pressure and the page cache are of the whole machine. What was never above 0 \
                   is left out, and what could not be read, too.";
    let row = |metric: &&Metric| {
        let of_phase = |phase: &&str| {
            let is_it = |other: &&&Metric| {
                let is_in = matches!(&other.scope, Scope::Phase(name) if name == phase);
                is_in && other.name == metric.name
            };
            counters.iter().find(is_it).map(|other| other.value)
        };
        let values: Vec<Option<f64>> = phases.iter().map(of_phase).collect();
        if metric.value <= 0.0 && values.iter().flatten().all(|value| *value <= 0.0) {
            return None;
        }
        let mut fields = vec![
            RowField::text("counter", metric_words(&metric.name, metric.unit)),
            RowField::mixed("all phases", Cell::measured(metric.value, metric.unit)),
        ];
        fields.extend(
            phases
                .iter()
                .zip(values)
                .map(|(phase, value)| RowField::mixed(phase, Cell::measured(value, metric.unit))),
        );
        Some(fields)
    };
    let of_trial = counters.iter().filter(|metric| metric.scope == Scope::Trial);
    Table::from_rows("counters", caption, of_trial.filter_map(row))
}

/// Names of the first phases with counters, in phase order.
fn counted_phases<'m>(counters: &[&'m Metric]) -> Vec<&'m str> {
    let mut phases: Vec<&str> = Vec::new();
    for metric in counters {
        if let Scope::Phase(name) = &metric.scope
            && !phases.contains(&name.as_str())
            && phases.len() < MOST_PHASES
        {
            phases.push(name);
        }
    }
    phases
}
