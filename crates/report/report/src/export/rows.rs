//! CSV forms of an export: RFC 4180, one header, one row for each item.
//!
//! Times are in seconds, exact to the nanosecond; rates have six significant digits; empty fields
//! were not measured or are not applicable.

use std::io;

use treering_analysis::KnownTotals;
use treering_model::{CpuTime, OpTotals, Scope, TaskTotals, Trial};

use crate::formats::csv::{text_field, write_record};

/// Leading columns of every table.
const TRIAL: [&str; 4] = ["trial", "workload", "mode", "label"];

/// Columns of the task table, after the leading ones.
pub(super) const TASKS: &[&str] = &[
    "phase",
    "phase_name",
    "task",
    "worker",
    "kind",
    "subject",
    "state",
    "tally",
    "began_s",
    "seconds",
    "sync_seconds",
    "user_s",
    "system_s",
    "sync_user_s",
    "sync_system_s",
    "files",
    "bytes",
    "listed_bytes",
    "mib_per_s",
    "files_per_s",
];

/// Columns of the call table.
pub(super) const OPS: &[&str] = &[
    "scope",
    "phase",
    "phase_name",
    "task",
    "kind",
    "subject",
    "op",
    "calls",
    "errors",
    "bytes",
    "timed",
    "mean_ns",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p999_ns",
    "max_ns",
];

/// Columns of the interval table.
pub(super) const INTERVALS: &[&str] = &["phase", "phase_name", "second", "calls", "bytes"];

/// Columns of the metric table.
pub(super) const METRICS: &[&str] =
    &["metric", "scope", "scope_name", "value", "unit", "better", "primary", "tasks"];

/// Writes the header of a table.
pub(super) fn header(columns: &[&str], out: &mut dyn io::Write) -> io::Result<()> {
    let names: Vec<String> = TRIAL.iter().chain(columns).map(ToString::to_string).collect();
    write_record(&names, out)
}

/// Writes one row for each task.
pub(super) fn tasks(trial: &Trial, out: &mut dyn io::Write) -> io::Result<()> {
    let known = KnownTotals::for_trial(trial);
    let reported = |ns: u64| known.amount(ns).map(seconds).unwrap_or_default();
    let number = |amount: Option<u64>| amount.map(|amount| amount.to_string()).unwrap_or_default();
    for task in &trial.tasks {
        let cpu = |of: CpuTime| match known.amount(of) {
            Some(of) => [seconds(of.user_ns), seconds(of.system_ns)],
            None => [String::new(), String::new()],
        };
        let ([user, system], [sync_user, sync_system]) = (cpu(task.cpu), cpu(task.sync_cpu));
        let timed = task.wall_ns > 0;
        let moves = timed && (task.bytes > 0 || task.listed_bytes > 0);
        let mut record = identity(trial);
        record.extend([
            task.phase.to_string(),
            phase_name(trial, task.phase),
            task.task.to_string(),
            task.worker.to_string(),
            text_field(&task.kind),
            text_field(&task.subject),
            text_field(&task.state),
            text_field(&task.tally),
            seconds(task.began_ns),
            reported(task.wall_ns),
            reported(task.sync_ns),
            user,
            system,
            sync_user,
            sync_system,
            number(KnownTotals::files(task.files)),
            number(known.amount(task.bytes)),
            number(known.amount(task.listed_bytes)),
            rate(moves, task.mib_per_second()),
            rate(timed && task.files > 0, task.files_per_second()),
        ]);
        write_record(&record, out)?;
    }
    Ok(())
}

/// Writes one row for each kind of call in each task, then in each phase.
pub(super) fn ops(trial: &Trial, out: &mut dyn io::Write) -> io::Result<()> {
    for task in &trial.tasks {
        for op in &task.ops {
            write_record(&op_record(trial, task.phase, Some(task), op), out)?;
        }
    }
    for phase in &trial.phases {
        for op in &phase.ops {
            write_record(&op_record(trial, phase.phase, None, op), out)?;
        }
    }
    Ok(())
}

fn op_record(trial: &Trial, phase: u32, task: Option<&TaskTotals>, op: &OpTotals) -> Vec<String> {
    let timed = op.latency.samples();
    let latency = |ns: u64| if timed == 0 { String::new() } else { ns.to_string() };
    let quantile = |share| latency(op.latency.quantile_ns(share));
    let mut record = identity(trial);
    record.extend([
        if task.is_some() { "task" } else { "phase" }.to_owned(),
        phase.to_string(),
        phase_name(trial, phase),
        task.map(|task| task.task.to_string()).unwrap_or_default(),
        task.map(|task| text_field(&task.kind)).unwrap_or_default(),
        task.map(|task| text_field(&task.subject)).unwrap_or_default(),
        op.op.name().to_owned(),
        op.calls.to_string(),
        op.errors.to_string(),
        op.bytes.to_string(),
        timed.to_string(),
        rate(timed > 0, op.latency.mean_ns()),
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        quantile(0.999),
        latency(op.latency.max_ns()),
    ]);
    record
}

/// Writes one row for each second of a phase.
pub(super) fn intervals(trial: &Trial, out: &mut dyn io::Write) -> io::Result<()> {
    for phase in &trial.phases {
        for interval in &phase.intervals {
            let mut record = identity(trial);
            record.extend([
                phase.phase.to_string(),
                text_field(&phase.name),
                interval.second.to_string(),
                interval.calls.to_string(),
                interval.bytes.to_string(),
            ]);
            write_record(&record, out)?;
        }
    }
    Ok(())
}

/// Writes one row for each metric.
pub(super) fn metrics(trial: &Trial, out: &mut dyn io::Write) -> io::Result<()> {
    for metric in &trial.metrics {
        let (scope, scope_name) = match &metric.scope {
            Scope::Trial => ("trial", ""),
            Scope::Phase(name) => ("phase", name.as_str()),
            Scope::Kind(name) => ("kind", name.as_str()),
        };
        let better = metric.better.word();
        let mut record = identity(trial);
        record.extend([
            text_field(&metric.name),
            scope.to_owned(),
            text_field(scope_name),
            format!("{}", metric.value),
            metric.unit.symbol().to_owned(),
            better.to_owned(),
            metric.primary.to_string(),
            metric.tasks.to_string(),
        ]);
        write_record(&record, out)?;
    }
    Ok(())
}

fn identity(trial: &Trial) -> Vec<String> {
    let beginning = &trial.beginning;
    vec![
        beginning.trial.text(),
        text_field(&beginning.workload),
        beginning.mode.name().to_owned(),
        text_field(&beginning.label),
    ]
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
