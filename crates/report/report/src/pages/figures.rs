//! Tables of figures shared by pages: phases, kinds of task, calls, metrics.

use treering_analysis::{
    FEW_BEYOND, KindSummary, MedianRange, OpSummary, PhaseSummary, RequestFigures,
};
use treering_model::BetterDirection::{Higher, Lower};
use treering_model::metrics::{is_counter, is_observation};
use treering_model::{Metric, Scope, Trial, Unit};

use super::identity::{metric_words, scope};
use crate::{Cell, Column, Number, NumberStyle, Table};

/// Maximum number of rows named in the remark about p99.9.
const FEW_NAMED: usize = 4;

/// Table of phase totals.
pub(super) fn phases(phases: &[PhaseSummary]) -> Table {
    let columns = vec![
        Column::text("phase"),
        Column::count("tasks"),
        Column::count("files"),
        Column::number("bytes", Unit::Bytes),
        Column::number("time", Unit::Seconds).better(Lower),
        Column::number("moved", Unit::MibPerSecond).better(Higher),
        Column::number("CPU user", Unit::Seconds).better(Lower),
        Column::number("system", Unit::Seconds).better(Lower),
        Column::number("CPU", Unit::Percent),
    ];
    let caption =
        "Phases: bytes actually moved over the elapsed time; CPU in percent of that time.";
    let mut table = Table::new("phases", caption, columns);
    table.rows.extend(phases.iter().map(|phase| {
        vec![
            Cell::text(phase.label()),
            count(phase.tasks.map(u64::from)),
            count(phase.files),
            Cell::measured(phase.bytes.map(|bytes| bytes as f64), Unit::Bytes),
            Cell::measured(phase.seconds, Unit::Seconds),
            Cell::measured(phase.mib_per_second, Unit::MibPerSecond),
            Cell::measured(phase.user_seconds, Unit::Seconds),
            Cell::measured(phase.system_seconds, Unit::Seconds),
            Cell::measured(phase.cpu_percent, Unit::Percent),
        ]
    }));
    table
}

/// Count cell; missing if unknown.
fn count(number: Option<u64>) -> Cell {
    number.map_or(Cell::Missing, Cell::whole)
}

/// Table of requests and operations: the headline figures of fio, filebench and dbench.
pub(super) fn requests(requests: &[RequestFigures]) -> Table {
    let latency = |name: &str| Column::number(name, Unit::Nanoseconds).better(Lower);
    let columns = vec![
        Column::text("of"),
        Column::number("rate", Unit::OpsPerSecond).better(Higher),
        Column::number("moved", Unit::MibPerSecond).better(Higher),
        latency("mean"),
        latency("p50"),
        latency("p99"),
        latency("p99.9"),
        latency("max"),
        Column::count("timed"),
    ];
    let caption = "Requests by job and direction, or operations by kind: rate (IOPS), bandwidth \
                   and latency. Timed: the number of latencies measured.";
    let mut table = Table::new("requests", caption, columns);
    table.rows.extend(requests.iter().map(|row| {
        let latency = |ns: Option<f64>| Cell::measured(ns, Unit::Nanoseconds);
        vec![
            Cell::text(row.label()),
            Cell::measured(row.operations_per_second, Unit::OpsPerSecond),
            Cell::measured(row.mib_per_second, Unit::MibPerSecond),
            latency(row.mean_ns),
            latency(row.p50_ns),
            latency(row.p99_ns),
            latency(row.p999_ns),
            latency(row.max_ns),
            count(row.timed),
        ]
    }));
    table
}

/// Remark on rows whose p99.9 rests on few requests; `None` if there are none.
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
    let columns = vec![
        Column::text("kind"),
        Column::count("n"),
        Column::number("median", Unit::Seconds).better(Lower),
        Column::range("min–max", Unit::Seconds).better(Lower),
        Column::number("of it sync", Unit::Percent),
    ];
    let mut table = Table::new("times", "Time of a task, including its final sync.", columns);
    table.rows.extend(kinds.iter().map(|kind| {
        vec![
            Cell::text(kind.label()),
            Cell::whole(kind.tasks as u64),
            Cell::measured(kind.seconds.median, Unit::Seconds),
            Cell::range(kind.seconds.min, kind.seconds.max, Unit::Seconds),
            Cell::measured(kind.sync_percent, Unit::Percent),
        ]
    }));
    table
}

/// Table of task rates by kind.
pub(super) fn rates(kinds: &[KindSummary]) -> Table {
    let mut columns = vec![Column::text("kind")];
    for unit in [Unit::MibPerSecond, Unit::FilesPerSecond] {
        columns.extend([
            Column::number("median", unit).better(Higher),
            Column::range("min–max", unit).better(Higher),
            Column::number("total", unit).better(Higher),
        ]);
    }
    let caption = "Rates of a task: listed bytes (bytes moved where none are listed) and files \
                   over its time. Total: over all tasks and their total time, not a mean of rates.";
    let mut table = Table::new("rates", caption, columns);
    table.rows.extend(kinds.iter().map(|kind| {
        let mut cells = vec![Cell::text(kind.label())];
        cells.extend(rate(kind.mib_per_second, kind.total_mib_per_second, Unit::MibPerSecond));
        let (files, total_files) = (kind.files_per_second, kind.total_files_per_second);
        cells.extend(rate(files, total_files, Unit::FilesPerSecond));
        cells
    }));
    table
}

fn rate(spread: Option<MedianRange>, total: Option<f64>, unit: Unit) -> [Cell; 3] {
    [
        Cell::measured(spread.map(|spread| spread.median), unit),
        spread.map_or(Cell::Missing, |spread| Cell::range(spread.min, spread.max, unit)),
        Cell::measured(total, unit),
    ]
}

/// Table of CPU cost by kind.
pub(super) fn cpu(kinds: &[KindSummary]) -> Table {
    let columns = vec![
        Column::text("kind"),
        Column::number("user", Unit::Seconds).better(Lower),
        Column::number("system", Unit::Seconds).better(Lower),
        Column::number("of time", Unit::Percent),
        Column::number("sync of CPU", Unit::Percent),
    ];
    let caption = "CPU per task: medians; CPU in percent of the time of all tasks; final syncs in \
                   percent of the CPU time of all tasks.";
    let mut table = Table::new("cpu", caption, columns);
    table.rows.extend(kinds.iter().map(|kind| {
        vec![
            Cell::text(kind.label()),
            Cell::measured(kind.user_seconds, Unit::Seconds),
            Cell::measured(kind.system_seconds, Unit::Seconds),
            Cell::measured(kind.cpu_percent, Unit::Percent),
            Cell::measured(kind.sync_cpu_percent, Unit::Percent),
        ]
    }));
    table
}

/// Table of trends over the run, for kinds with enough tasks.
pub(super) fn trends(kinds: &[KindSummary]) -> Table {
    let columns = vec![
        Column::text("kind"),
        Column::count("n"),
        Column::number("change", Unit::Percent).better(Lower),
        Column::range("low–high", Unit::Percent),
        Column::count("p"),
        Column::text("time per"),
    ];
    let caption = "Trend within this run: change of the time over ten tasks of the same kind, with \
                   its 95 % interval (Theil-Sen), and p of no trend (Mann-Kendall). It describes \
                   this run and is not a verdict.";
    let mut table = Table::new("trends", caption, columns);
    let change =
        |percent: f64| Number::measured(percent, Unit::Percent).styled(NumberStyle::Change);
    for kind in kinds {
        let Some(trend) = kind.trend else { continue };
        table.rows.push(vec![
            Cell::text(kind.label()),
            Cell::whole(trend.tasks as u64),
            change(trend.percent_per_10_tasks).into(),
            trend
                .interval
                .map_or(Cell::Missing, |(low, high)| Cell::between(change(low), change(high))),
            Number::measured(trend.p, Unit::Count).styled(NumberStyle::Probability).into(),
            Cell::text(trend.basis.name()),
        ]);
    }
    table
}

/// Short table of all kinds, for the end of a run.
pub(super) fn kinds_in_short(kinds: &[KindSummary]) -> Table {
    let columns = vec![
        Column::text("kind"),
        Column::count("n"),
        Column::number("median", Unit::Seconds).better(Lower),
        Column::range("min–max", Unit::Seconds).better(Lower),
        Column::number("total", Unit::MibPerSecond).better(Higher),
        Column::number("total", Unit::FilesPerSecond).better(Higher),
        Column::number("CPU", Unit::Percent),
    ];
    let caption = "Time of a task, total rates, CPU in percent of time.";
    let mut table = Table::new("kinds", caption, columns);
    table.rows.extend(kinds.iter().map(|kind| {
        vec![
            Cell::text(kind.label()),
            Cell::whole(kind.tasks as u64),
            Cell::measured(kind.seconds.median, Unit::Seconds),
            Cell::range(kind.seconds.min, kind.seconds.max, Unit::Seconds),
            Cell::measured(kind.total_mib_per_second, Unit::MibPerSecond),
            Cell::measured(kind.total_files_per_second, Unit::FilesPerSecond),
            Cell::measured(kind.cpu_percent, Unit::Percent),
        ]
    }));
    table
}

/// Smallest number of timed calls of which one in a hundred is slower than the p99.
const FEWEST_OF_P99: u64 = 100;

/// Table of system calls and their latencies. p99.9 is shown when enough calls were timed.
pub(super) fn calls(ops: &[OpSummary]) -> Table {
    let latency = |name: &str| Column::number(name, Unit::Nanoseconds).better(Lower);
    let has_p999 = ops.iter().any(|op| op.p999_ns().is_some());
    let mut columns = vec![
        Column::text("call"),
        Column::count("calls"),
        Column::count("errors"),
        Column::number("timed", Unit::Percent),
        latency("p50"),
        latency("p90"),
        latency("p99"),
    ];
    if has_p999 {
        columns.push(latency("p99.9"));
    }
    columns.push(latency("max"));
    let mut caption = "Latency of system calls. Errors include expected ones, such as a directory \
                       that already exists."
        .to_owned();
    if ops.iter().any(|op| (1..FEWEST_OF_P99).contains(&op.timed)) {
        caption += " The p99 of fewer than 100 timed calls is the slowest of them.";
    }
    let mut table = Table::new("calls", &caption, columns);
    table.rows.extend(ops.iter().map(|op| {
        let timed = (op.calls > 0).then(|| 100.0 * op.timed as f64 / op.calls as f64);
        let mut cells = vec![
            Cell::text(op.op.name()),
            Cell::whole(op.calls),
            Cell::whole(op.errors),
            Cell::measured(timed, Unit::Percent),
            ns(op.quantile_ns(0.5)),
            ns(op.quantile_ns(0.9)),
            ns(op.quantile_ns(0.99)),
        ];
        if has_p999 {
            cells.push(ns(op.p999_ns()));
        }
        cells.push(ns(op.max_ns()));
        cells
    }));
    table
}

fn ns(latency_ns: Option<u64>) -> Cell {
    let number = latency_ns.map(|ns| Number::measured(ns as f64, Unit::Nanoseconds));
    number.map_or(Cell::Missing, |number| number.styled(NumberStyle::Latency).into())
}

/// Table of metrics, primary ones first.
pub(super) fn metrics(metrics: &[&Metric]) -> Table {
    let columns = vec![
        Column::text("metric"),
        Column::text("of"),
        Column::mixed("value"),
        Column::count("tasks"),
        Column::text("better"),
        Column::text("rank"),
    ];
    let caption = "Headline metrics: the primary ones decide a comparison.";
    let mut table = Table::new("metrics", caption, columns).with_keys(2);
    let (primary, others): (Vec<&Metric>, Vec<&Metric>) =
        metrics.iter().copied().partition(|metric| metric.primary);
    table.rows.extend(primary.into_iter().chain(others).map(|metric| {
        vec![
            Cell::text(&metric.name),
            Cell::text(scope(&metric.scope)),
            Cell::measured(metric.value, metric.unit),
            Cell::whole(metric.tasks),
            Cell::text(metric.better.phrase()),
            Cell::text(if metric.primary { "primary" } else { "secondary" }),
        ]
    }));
    table
}

/// Reports whether a metric was measured by an observer, which has its own section on the page.
pub(super) fn is_of_observer(metric: &Metric) -> bool {
    is_observation(&metric.name)
}

/// Maximum number of phases with a column of their own.
const MOST_PHASES: usize = 6;

/// Table of the counters of the kernel and of the devices: of all phases, and of each of the first
/// phases; empty for a trial without any.
pub(super) fn counters(trial: &Trial) -> Table {
    let counters: Vec<&Metric> =
        trial.metrics.iter().filter(|metric| is_counter(&metric.name)).collect();
    let phases = counted_phases(&counters);
    let mut columns = vec![Column::text("counter"), Column::mixed("all phases")];
    columns.extend(phases.iter().map(|phase| Column::mixed(phase)));
    let caption = "Counters of the kernel and of the devices below the target. Those of threads, \
                   pressure and the page cache are of the whole machine. What was never above 0 \
                   is left out, and what could not be read, too.";
    let mut table = Table::new("counters", caption, columns).with_keys(1);
    for metric in counters.iter().filter(|metric| metric.scope == Scope::Trial) {
        let of_phase = |phase: &&str| {
            let is_it = |other: &&&Metric| {
                let is_in = matches!(&other.scope, Scope::Phase(name) if name == phase);
                is_in && other.name == metric.name
            };
            counters.iter().find(is_it).map(|other| other.value)
        };
        let values: Vec<Option<f64>> = phases.iter().map(of_phase).collect();
        if metric.value <= 0.0 && values.iter().flatten().all(|value| *value <= 0.0) {
            continue;
        }
        let mut cells = vec![
            Cell::text(metric_words(&metric.name, metric.unit)),
            Cell::measured(metric.value, metric.unit),
        ];
        cells.extend(values.into_iter().map(|value| Cell::measured(value, metric.unit)));
        table.rows.push(cells);
    }
    table
}

/// Names of the first phases, in their order.
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
