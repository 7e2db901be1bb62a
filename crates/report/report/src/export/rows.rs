//! CSV forms of an export as of RFC 4180, with one header and one row for each item.
//!
//! Times are in seconds, exact to the nanosecond; rates have six significant digits; empty fields
//! were not measured or are not applicable.

use std::io;

use treering_analysis::KnownTotals;
use treering_model::{
    CpuTime, IntervalTotals, Metric, OpTotals, PhaseTotals, Scope, TaskTotals, Trial,
};

use crate::formats::csv::{CsvColumn, text_field, write_row};

/// Row of a table: a trial and one of its items.
pub(super) struct ItemRow<'t, I> {
    trial: &'t Trial,
    item: I,
}

/// Combines the columns of the trial and those of its item.
fn with_trial<'t, I, const N: usize>(
    of_item: [CsvColumn<ItemRow<'t, I>>; N],
) -> Vec<CsvColumn<ItemRow<'t, I>>> {
    let mut columns: Vec<CsvColumn<ItemRow<'t, I>>> = vec![
        ("trial", |row| row.trial.beginning.trial.text()),
        ("workload", |row| text_field(&row.trial.beginning.workload)),
        ("mode", |row| row.trial.beginning.mode.name().to_owned()),
        ("label", |row| text_field(&row.trial.beginning.label)),
    ];
    columns.extend(of_item);
    columns
}

/// Columns of a table with the rows of one kind of item.
type ItemColumns<'t, I> = Vec<CsvColumn<ItemRow<'t, I>>>;

impl ItemRow<'_, (&TaskTotals, KnownTotals)> {
    fn known(&self, amount: u64) -> Option<u64> {
        self.item.1.amount(amount)
    }

    fn seconds(&self, ns: u64) -> String {
        self.known(ns).map(seconds).unwrap_or_default()
    }

    fn cpu_seconds(&self, of: CpuTime, ns: u64) -> String {
        self.item.1.amount(of).map(|_| seconds(ns)).unwrap_or_default()
    }
}

/// Columns of the task table.
pub(super) fn task_columns<'t>() -> ItemColumns<'t, (&'t TaskTotals, KnownTotals)> {
    with_trial([
        ("phase", |row| row.item.0.phase.to_string()),
        ("phase_name", |row| phase_name(row.trial, row.item.0.phase)),
        ("task", |row| row.item.0.task.to_string()),
        ("worker", |row| row.item.0.worker.to_string()),
        ("kind", |row| text_field(&row.item.0.kind)),
        ("subject", |row| text_field(&row.item.0.subject)),
        ("state", |row| text_field(&row.item.0.state)),
        ("tally", |row| text_field(&row.item.0.tally)),
        ("began_s", |row| seconds(row.item.0.began_ns)),
        ("seconds", |row| row.seconds(row.item.0.wall_ns)),
        ("sync_seconds", |row| row.seconds(row.item.0.sync_ns)),
        ("user_s", |row| row.cpu_seconds(row.item.0.cpu, row.item.0.cpu.user_ns)),
        ("system_s", |row| row.cpu_seconds(row.item.0.cpu, row.item.0.cpu.system_ns)),
        ("sync_user_s", |row| row.cpu_seconds(row.item.0.sync_cpu, row.item.0.sync_cpu.user_ns)),
        ("sync_system_s", |row| {
            row.cpu_seconds(row.item.0.sync_cpu, row.item.0.sync_cpu.system_ns)
        }),
        ("files", |row| optional(KnownTotals::files(row.item.0.files))),
        ("bytes", |row| optional(row.known(row.item.0.bytes))),
        ("listed_bytes", |row| optional(row.known(row.item.0.listed_bytes))),
        ("mib_per_s", |row| {
            let task = row.item.0;
            let moves = task.bytes > 0 || task.listed_bytes > 0;
            rate(task.wall_ns > 0 && moves, task.mib_per_second())
        }),
        ("files_per_s", |row| {
            let task = row.item.0;
            rate(task.wall_ns > 0 && task.files > 0, task.files_per_second())
        }),
    ])
}

/// Writes one row for each task.
pub(super) fn tasks(trial: &Trial, out: &mut dyn io::Write) -> io::Result<()> {
    let known = KnownTotals::for_trial(trial);
    let columns = task_columns();
    trial
        .tasks
        .iter()
        .try_for_each(|task| write_row(&columns, &ItemRow { trial, item: (task, known) }, out))
}

/// Totals of a kind of call: in a task, or in a whole phase.
pub(super) struct CallTotals<'t> {
    phase: u32,
    task: Option<&'t TaskTotals>,
    op: &'t OpTotals,
}

impl CallTotals<'_> {
    fn latency(&self, ns: u64) -> String {
        if self.op.latency.samples() == 0 { String::new() } else { ns.to_string() }
    }

    fn quantile(&self, share: f64) -> String {
        self.latency(self.op.latency.quantile_ns(share))
    }
}

/// Columns of the call table.
pub(super) fn op_columns<'t>() -> ItemColumns<'t, CallTotals<'t>> {
    with_trial([
        ("scope", |row| if row.item.task.is_some() { "task" } else { "phase" }.to_owned()),
        ("phase", |row| row.item.phase.to_string()),
        ("phase_name", |row| phase_name(row.trial, row.item.phase)),
        ("task", |row| optional(row.item.task.map(|task| task.task))),
        ("kind", |row| optional(row.item.task.map(|task| text_field(&task.kind)))),
        ("subject", |row| optional(row.item.task.map(|task| text_field(&task.subject)))),
        ("op", |row| row.item.op.op.name().to_owned()),
        ("calls", |row| row.item.op.calls.to_string()),
        ("errors", |row| row.item.op.errors.to_string()),
        ("bytes", |row| row.item.op.bytes.to_string()),
        ("timed", |row| row.item.op.latency.samples().to_string()),
        ("mean_ns", |row| rate(row.item.op.latency.samples() > 0, row.item.op.latency.mean_ns())),
        ("p50_ns", |row| row.item.quantile(0.5)),
        ("p90_ns", |row| row.item.quantile(0.9)),
        ("p99_ns", |row| row.item.quantile(0.99)),
        ("p999_ns", |row| row.item.quantile(0.999)),
        ("max_ns", |row| row.item.latency(row.item.op.latency.max_ns())),
    ])
}

/// Writes one row for each kind of call in each task, then in each phase.
pub(super) fn ops(trial: &Trial, out: &mut dyn io::Write) -> io::Result<()> {
    let columns = op_columns();
    let of_tasks = trial.tasks.iter().map(|task| (task.phase, Some(task), &task.ops));
    let of_phases = trial.phases.iter().map(|phase| (phase.phase, None, &phase.ops));
    for (phase, task, ops) in of_tasks.chain(of_phases) {
        for op in ops {
            let item = CallTotals { phase, task, op };
            write_row(&columns, &ItemRow { trial, item }, out)?;
        }
    }
    Ok(())
}

/// Columns of the interval table.
pub(super) fn interval_columns<'t>() -> ItemColumns<'t, (&'t PhaseTotals, &'t IntervalTotals)> {
    with_trial([
        ("phase", |row| row.item.0.phase.to_string()),
        ("phase_name", |row| text_field(&row.item.0.name)),
        ("second", |row| row.item.1.second.to_string()),
        ("calls", |row| row.item.1.calls.to_string()),
        ("bytes", |row| row.item.1.bytes.to_string()),
    ])
}

/// Writes one row for each second of a phase.
pub(super) fn intervals(trial: &Trial, out: &mut dyn io::Write) -> io::Result<()> {
    let columns = interval_columns();
    for phase in &trial.phases {
        for interval in &phase.intervals {
            write_row(&columns, &ItemRow { trial, item: (phase, interval) }, out)?;
        }
    }
    Ok(())
}

/// Columns of the metric table.
pub(super) fn metric_columns<'t>() -> ItemColumns<'t, &'t Metric> {
    with_trial([
        ("metric", |row| text_field(&row.item.name)),
        ("scope", |row| scope(&row.item.scope).0.to_owned()),
        ("scope_name", |row| text_field(scope(&row.item.scope).1)),
        ("value", |row| row.item.value.to_string()),
        ("unit", |row| row.item.unit.symbol().to_owned()),
        ("better", |row| row.item.better.word().to_owned()),
        ("primary", |row| row.item.primary.to_string()),
        ("tasks", |row| row.item.tasks.to_string()),
    ])
}

/// Writes one row for each metric.
pub(super) fn metrics(trial: &Trial, out: &mut dyn io::Write) -> io::Result<()> {
    let columns = metric_columns();
    trial.metrics.iter().try_for_each(|item| write_row(&columns, &ItemRow { trial, item }, out))
}

/// Kind and name of a scope.
fn scope(scope: &Scope) -> (&'static str, &str) {
    match scope {
        Scope::Trial => ("trial", ""),
        Scope::Phase(name) => ("phase", name),
        Scope::Kind(name) => ("kind", name),
    }
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Name of a phase; empty for an unfinished phase, since the name is recorded at its end.
fn phase_name(trial: &Trial, number: u32) -> String {
    let phase = trial.phases.iter().find(|phase| phase.phase == number);
    phase.map(|phase| text_field(&phase.name)).unwrap_or_default()
}

/// Formats nanoseconds as seconds, exactly: `1.5`, `0.000000001`.
fn seconds(ns: u64) -> String {
    let (whole, remainder) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let text = format!("{whole}.{remainder:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a rate with six significant digits; empty unless `is_known`.
fn rate(is_known: bool, value: f64) -> String {
    if !is_known {
        return String::new();
    }
    format!("{value:.5e}").parse::<f64>().map_or_else(|_| String::new(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::{rate, seconds};

    #[test]
    fn seconds_are_exact() {
        assert_eq!(seconds(0), "0");
        assert_eq!(seconds(1), "0.000000001");
        assert_eq!(seconds(1_500_000_000), "1.5");
        assert_eq!(seconds(100_000_000_000), "100");
        assert_eq!(seconds(u64::MAX), "18446744073.709551615");
    }

    #[test]
    fn rates_have_six_digits() {
        assert_eq!(rate(true, 2.433_734_939_759), "2.43373");
        assert_eq!(rate(true, 123_456_789.0), "123457000");
        assert_eq!(rate(false, 1.0), "");
    }
}
