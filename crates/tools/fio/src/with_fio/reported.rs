//! Results of the original in terms of native runs: a task for each clone, with calls and
//! latencies, and the tallies for the headline.

use crate::language::{Direction, RelayedJob, number_of};
use crate::report::{self, Job, Statistic};
use treering_model::{CpuTime, Latency, Op, OpTotals, PhaseTotals, TaskTotals};
use treering_script::{ProgramEnd, ReportedPhase};

use super::super::headline::Headline;
use super::super::histogram::{BUCKETS, bucket};
use super::super::tally::{DirectionTally, Latencies, Stat, Tally};
use super::traits;

/// Converted results.
#[derive(Debug, Default)]
pub(super) struct ReportedResults {
    pub(super) phases: Vec<ReportedPhase>,
    pub(super) headline: Option<Headline>,
}

/// Finds the JSON document in the output; counters may precede it.
pub(super) fn document(output: &[u8]) -> Option<serde_json::Value> {
    let begins = |at: &usize| *at == 0 || output[at - 1] == b'\n';
    let starts = output.iter().enumerate().filter(|(_, byte)| **byte == b'{');
    let at = starts.map(|(at, _)| at).find(begins)?;
    let mut values = serde_json::Deserializer::from_slice(&output[at..]).into_iter();
    values.next()?.ok()
}

/// Clone in the report.
struct ReportedClone<'t> {
    reported: &'t Job,
    /// Number of its job, and its index among the reported clones of that job.
    job: usize,
    place: usize,
}

/// Converts the report; its jobs are those that were relayed.
pub(super) fn reported(
    document: &serde_json::Value,
    jobs: &[RelayedJob],
    end: &ProgramEnd,
) -> ReportedResults {
    let Some(run) = report::run(document, &mut |_odd| ()) else {
        return ReportedResults::default();
    };
    let mut clones: Vec<ReportedClone<'_>> = Vec::new();
    for reported in &run.jobs {
        let Some(job) = number_of(&reported.description).filter(|job| *job < jobs.len()) else {
            continue;
        };
        let place = clones.iter().filter(|before| before.job == job).count();
        clones.push(ReportedClone { reported, job, place });
    }
    let tallies: Vec<Tally> = clones.iter().map(|clone| tally(clone.reported)).collect();
    let tasks: Vec<TaskTotals> = clones
        .iter()
        .zip(&tallies)
        .map(|(clone, tally)| {
            let siblings = clones.iter().filter(|other| other.job == clone.job).count();
            // The first clone is created first, then the others from the last one down.
            let number = if clone.place == 0 { 0 } else { siblings - clone.place };
            let job = &jobs[clone.job];
            let direct = is_direct(&job.settings);
            TaskTotals { direct, ..task(clone.reported, tally, &job.section.name, number) }
        })
        .collect();
    let rows = rows(&clones, jobs).into_iter().zip(&clones);
    let rows = rows.map(|(row, clone)| {
        let job = &jobs[clone.job];
        (Some(row), job.section.name.as_str(), traits(job, jobs.len() > 1))
    });
    let mut headline = Headline::from_rows(rows);
    for (number, (task, tally)) in tasks.iter().zip(&tallies).enumerate() {
        headline.worked(number, task, tally);
    }
    ReportedResults { phases: phases(&clones, tasks, jobs, end), headline: Some(headline) }
}

/// Row number of each clone, as in native runs: shared by the clones of a reporting group.
fn rows(clones: &[ReportedClone<'_>], jobs: &[RelayedJob]) -> Vec<usize> {
    let mut rows = Vec::new();
    let (mut row, mut last) = (0_usize, None);
    for (number, clone) in clones.iter().enumerate() {
        let group = clone.reported.group;
        let together = jobs[clone.job].section.group_reporting && last == Some(group);
        if number > 0 && !together {
            row += 1;
        }
        last = Some(group);
        rows.push(row);
    }
    rows
}

/// Phases of the run, one between each two stonewalls. Their start times are not reported: the last
/// phase ended with the program.
fn phases(
    clones: &[ReportedClone<'_>],
    tasks: Vec<TaskTotals>,
    jobs: &[RelayedJob],
    end: &ProgramEnd,
) -> Vec<ReportedPhase> {
    let mut phases: Vec<ReportedPhase> = Vec::new();
    for (number, (clone, mut task)) in clones.iter().zip(tasks).enumerate() {
        let begins = jobs[clone.job].section.stonewall && clone.place == 0;
        if number == 0 || begins {
            phases.push(ReportedPhase::default());
        }
        let Some(phase) = phases.last_mut() else { continue };
        let name = &task.kind;
        if phase.tasks.iter().all(|before| before.kind != *name) {
            let comma = if phase.totals.name.is_empty() { "" } else { ", " };
            phase.totals.name += &format!("{comma}{name}");
        }
        phase.totals.wall_ns = phase.totals.wall_ns.max(task.wall_ns);
        task.worker = u16::try_from(phase.tasks.len()).unwrap_or(u16::MAX);
        phase.tasks.push(task);
    }
    let mut began_ns = end.began_ns.saturating_add(end.wall_ns);
    for ReportedPhase { totals, tasks } in phases.iter_mut().rev() {
        began_ns = began_ns.saturating_sub(totals.wall_ns).max(end.began_ns);
        *totals = PhaseTotals { began_ns, ..std::mem::take(totals) };
        tasks.iter_mut().for_each(|task| task.began_ns = began_ns);
    }
    phases
}

/// True if these settings, read in order as fio does, bypass the page cache.
fn is_direct(settings: &[(String, Option<String>)]) -> bool {
    let switch = |(name, value): &(String, Option<String>)| {
        let is_on = value.as_deref().is_none_or(|value| value != "0");
        match name.as_str() {
            "direct" | "odirect" => Some(is_on),
            "buffered" => Some(!is_on),
            _ => None,
        }
    };
    settings.iter().rev().find_map(switch).unwrap_or(false)
}

fn task(reported: &Job, tally: &Tally, name: &str, number: usize) -> TaskTotals {
    let longest = tally.directions.iter().map(|direction| direction.runtime_ms).max().unwrap_or(0);
    let moved = |name: &str| reported.directions.iter().find(|direction| direction.name == name);
    let mut ops = Vec::new();
    for (op, word) in [(Op::Read, "read"), (Op::Write, "write")] {
        let Some(direction) = moved(word) else { continue };
        let bins = direction.bins.as_ref().map_or(&[][..], |(_, bins)| bins);
        let (calls, bytes) = (direction.ios.min(FIGURE_MAX), direction.bytes.min(FIGURE_MAX));
        ops.push(OpTotals { op, calls, errors: 0, bytes, latency: latency(bins) });
    }
    if let Some(sync) = &reported.sync {
        let latency = latency(&sync.bins);
        ops.push(OpTotals {
            op: Op::Fsync,
            calls: sync.ios.min(FIGURE_MAX),
            errors: 0,
            bytes: 0,
            latency,
        });
    }
    TaskTotals {
        kind: name.to_owned(),
        subject: format!("{name}.{number}"),
        wall_ns: longest.saturating_mul(1_000_000),
        cpu: CpuTime { user_ns: tally.user_ns, system_ns: tally.system_ns },
        bytes: ops.iter().fold(0, |sum, op| sum.saturating_add(op.bytes)),
        ops,
        counters: tally.counters(),
        ..TaskTotals::default()
    }
}

fn latency(bins: &[(u64, u64)]) -> Latency {
    let mut latency = Latency::new();
    bins.iter().for_each(|(ns, count)| latency.record_many(*ns, (*count).min(COUNT_MAX)));
    latency
}

fn tally(of: &Job) -> Tally {
    let mut tally =
        Tally { errno: of.error, runtime_ms: of.clones_ms.min(COUNT_MAX), ..Tally::default() };
    for (direction, word) in Direction::ALL.into_iter().zip(Direction::NAMES) {
        if let Some(moved) = of.directions.iter().find(|direction| direction.name == word) {
            tally.directions[direction.place()] = direction_tally(moved);
        }
    }
    if let Some(sync) = &of.sync {
        tally.sync.stat = stat(sync.ios, sync.time);
        fill(&mut tally.sync, &sync.bins);
    }
    for (place, name) in report::COUNTS.into_iter().enumerate() {
        let count = of.counts.iter().find(|(reported, _)| *reported == name);
        tally.usage[place] = count.map_or(0, |(_, count)| (*count).min(FIGURE_MAX));
    }
    if let Some([user, system]) = of.cpu_percent {
        // Percent of milliseconds.
        let ns = |percent: f64| whole(percent / 100.0 * of.clones_ms as f64 * 1e6).min(FIGURE_MAX);
        (tally.user_ns, tally.system_ns) = (ns(user), ns(system));
    }
    tally
}

/// Largest accepted figures, so that sums over all clones do not overflow.
const FIGURE_MAX: u64 = 1 << 50;
const COUNT_MAX: u64 = 1 << 40;

fn direction_tally(of: &report::Direction) -> DirectionTally {
    let mut direction = DirectionTally {
        bytes: of.bytes.min(FIGURE_MAX),
        requests: of.ios.min(FIGURE_MAX),
        runtime_ms: of.runtime_ms.min(COUNT_MAX),
        ..DirectionTally::default()
    };
    for (name, spread) in &of.times {
        let stat = stat(of.ios, *spread);
        match *name {
            "slat" => direction.slat.stat = stat,
            "clat" => direction.clat.stat = stat,
            _ => direction.lat.stat = stat,
        }
    }
    match &of.bins {
        Some(("lat", bins)) => fill(&mut direction.lat, bins),
        Some(("clat", bins)) => {
            fill(&mut direction.clat, bins);
            // Only the extremes of these latencies are known.
            direction.lat = Latencies::default();
        }
        _ => {}
    }
    direction
}

fn fill(latencies: &mut Latencies, bins: &[(u64, u64)]) {
    for (ns, count) in bins {
        latencies.histogram.add(bucket(*ns).min(BUCKETS - 1), (*count).min(COUNT_MAX));
    }
    latencies.stat.samples = latencies.histogram.samples();
}

fn stat(samples: u64, spread: Statistic) -> Stat {
    let Statistic { least, most, mean, deviation } = spread;
    let ns = |value: f64| whole(value).min(FIGURE_MAX);
    let [mean, deviation] = [mean, deviation].map(|figure| figure.clamp(0.0, FIGURE_MAX as f64));
    Stat::reported(samples.min(FIGURE_MAX), [ns(least), ns(most)], mean, deviation)
}

/// Converts a figure to an integer: 0 if it is negative or not a number, and the largest integer if
/// it is infinite.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};
    use serde_json::{Value, json};
    use treering_model::Op;
    use treering_script::ProgramEnd;

    use crate::language::{RelayedJob, Section};

    use super::{document, reported};

    fn job(name: &str, stonewall: bool, group_reporting: bool) -> RelayedJob {
        let mut section = Section::default();
        name.clone_into(&mut section.name);
        (section.stonewall, section.group_reporting) = (stonewall, group_reporting);
        RelayedJob { section, settings: Vec::new() }
    }

    fn clone(number: u64, group: u64, direction: &str, bytes: u64) -> Value {
        let latency = json!({"min": 10, "max": 30, "mean": 20.0, "stddev": 1.0, "N": 2,
            "percentile": {"50.000000": 20}, "bins": {"10": 1, "30": 1}});
        json!({"jobname": "x", "desc": format!("treering {number}"), "groupid": group, "error": 0,
            "job_runtime": 1000, "usr_cpu": 10.0, "sys_cpu": 20.0, "ctx": 3, "majf": 1, "minf": 2,
            direction: {"io_bytes": bytes, "io_kbytes": bytes / 1024, "bw_bytes": bytes,
                "iops": 2.0, "runtime": 1000, "total_ios": 2, "lat_ns": latency,
                "clat_ns": latency}})
    }

    #[test]
    fn reported_clones_become_tasks_phases_and_rows() {
        let jobs = [job("a", false, true), job("b", true, false)];
        let document = json!({"fio version": "fio-3.33", "jobs": [
            clone(0, 0, "read", 1 << 20), clone(0, 0, "read", 1 << 20), clone(1, 1, "write", 4096),
            clone(7, 2, "read", 1), {"jobname": "of somebody else"}]});
        let end = ProgramEnd { began_ns: 5, wall_ns: 3_000_000_000, ..ProgramEnd::default() };
        let reported = reported(&document, &jobs, &end);
        let phases: Vec<(&str, usize, u64)> = reported
            .phases
            .iter()
            .map(|phase| (phase.totals.name.as_str(), phase.tasks.len(), phase.totals.began_ns))
            .collect();
        assert_eq!(phases, [("a", 2, 1_000_000_005), ("b", 1, 2_000_000_005)]);
        let task = &reported.phases[0].tasks[1];
        assert_eq!((task.subject.as_str(), task.cpu.user_ns), ("a.1", 100_000_000));
        assert_eq!((task.ops[0].op, task.ops[0].latency.samples()), (Op::Read, 2));
        let metrics = reported.headline.unwrap().metrics();
        let rate = metrics.iter().find(|metric| metric.name == "read_mib_per_second").unwrap();
        assert_eq!((rate.value, rate.tasks), (2.0, 2));
    }

    #[test]
    fn json_document_is_found_at_the_start_of_a_line() {
        assert_eq!(document(b"note: {x}\n{\"a\": 1}\nmore"), Some(json!({"a": 1})));
        for text in [&b""[..], b"fio: no {", b"{", b"\n{\"a\":"] {
            assert_eq!(document(text), None);
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<u64>().prop_map(|number| json!(number)),
            any::<f64>().prop_map(|number| json!(number)),
            Just(json!(u64::MAX)),
            Just(Value::Null),
            any::<String>().prop_map(Value::String),
        ]
    }

    #[test]
    fn huge_means_are_clamped() {
        let mut huge = clone(0, 1, "read", 4096);
        for (path, figure) in
            [("total_ios", 1.0), ("lat_ns/mean", 2.03e293), ("lat_ns/stddev", 1e300)]
        {
            *huge.pointer_mut(&format!("/read/{path}")).unwrap() = json!(figure);
        }
        let document = json!({"jobs": [huge.clone(), huge]});
        let jobs = [job("a", false, true), job("b", true, false)];
        let headline = reported(&document, &jobs, &ProgramEnd::default()).headline.unwrap();
        assert!(headline.metrics().iter().all(|metric| metric.value.is_finite()));
    }

    proptest! {
        #[test]
        fn any_figures_are_an_answer(
            figures in proptest::collection::vec(value(), 12),
            group in 0..3_u64,
            output in any::<Vec<u8>>(),
        ) {
            document(&output);
            let jobs = [job("a", false, true), job("b", true, false)];
            let mut changed = clone(0, group, "read", 4096);
            let set = |value: &mut Value, path: &str, figure: &Value| {
                *value.pointer_mut(path).unwrap() = figure.clone();
            };
            for (path, figure) in [
                "/job_runtime", "/usr_cpu", "/ctx", "/error", "/read/io_bytes", "/read/iops",
                "/read/runtime", "/read/total_ios", "/read/lat_ns/mean", "/read/lat_ns/bins/10",
                "/read/clat_ns/bins/30", "/read/lat_ns/stddev",
            ].iter().zip(&figures) {
                set(&mut changed, path, figure);
            }
            let document = json!({"jobs": [changed.clone(), changed, clone(1, 2, "write", 9)]});
            let end = ProgramEnd::default();
            let reported = reported(&document, &jobs, &end);
            let headline = reported.headline.unwrap();
            prop_assert!(headline.metrics().iter().all(|metric| metric.value.is_finite()));
        }
    }
}
