//! Conversion of a fio run to a trial.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::metrics::fio::{
    BUSY_PERCENT, CONTEXT_SWITCHES, DIRECTION_BYTES, DIRECTION_COMPLETION_NANOSECONDS,
    DIRECTION_LATENCY_NANOSECONDS, DIRECTION_REQUESTS, DIRECTION_RUNTIME_SECONDS,
    DIRECTION_SAMPLED_MIB_PER_SECOND, DIRECTION_SAMPLED_MIB_PER_SECOND_STDDEV,
    DIRECTION_SAMPLED_OPERATIONS_PER_SECOND, DIRECTION_SAMPLED_OPERATIONS_PER_SECOND_STDDEV,
    DIRECTION_SUBMISSION_NANOSECONDS, DISK_MERGES, DISK_REQUESTS, DISK_SECTORS, DISK_TICKS_SECONDS,
    IN_QUEUE_SECONDS, MAJOR_FAULTS, MINOR_FAULTS, WITHIN_PERCENT,
};
use treering_model::metrics::{MetricSpec, cpu, rates};
use treering_model::{
    CpuTime, IMPORT_FACT, Latency, Metric, Op, OpTotals, PhaseTotals, Scope, WorkLimit,
};

use super::cautions;
use crate::report::{Direction, Disk, Job, Run, Statistic, printed};
use treering_kit::import::trial::ForeignTrial;

const MIB: f64 = 1_048_576.0;
/// Exponents of the latency limits in nanoseconds that become metrics: 10 ns to 1 s.
const LIMITS: std::ops::RangeInclusive<u32> = 1..=9;

/// Trial of the run, and remarks about it.
pub(super) fn trial(run: &Run) -> (ForeignTrial, Vec<String>) {
    let mut trial = ForeignTrial {
        workload: super::TOOL,
        target: run.places.join(" "),
        is_interrupted: run.is_interrupted,
        wall_ns: wall_ns(run),
        cautions: cautions::cautions(run),
        ..ForeignTrial::default()
    };
    let mut remarks = Vec::new();
    trial.fact(IMPORT_FACT, format!("{} {}", super::TOOL, run.version).trim_end());
    let longest = run.jobs.iter().map(longest_ms).max();
    let ran_ms = if trial.wall_ns > 0 { trial.wall_ns / 1_000_000 } else { longest.unwrap_or(0) };
    let began = |reported: i64| reported.checked_sub_unsigned(ran_ms);
    trial.started_unix_ms = run.reported_unix_ms.and_then(began);
    parameters(run, &mut trial);
    amount(run, &mut trial, &mut remarks);
    let names = names(&run.jobs);
    for (phase, (job, name)) in (0..).zip(run.jobs.iter().zip(&names)) {
        of_job(job, name, &mut trial);
        trial.phases.extend(totals(job, phase, &name.own));
    }
    sums(&run.jobs, &names, &mut trial);
    let mut reported = BTreeSet::new();
    for disk in run.disks.iter().filter(|disk| reported.insert(disk.name.as_str())) {
        of_disk(disk, &mut trial);
    }
    if run.jobs.iter().flat_map(|job| &job.directions).any(cautions::is_of_completion) {
        trial.fact("import.latency", "completion (clat), without submission");
    }
    if let Some(names) = cautions::ended_within_submission(run) {
        remarks.push(format!(
            "{names}: asynchronous without direct=1: much of each I/O happens during submission, \
             but its histogram covers completion only"
        ));
    }
    (trial, remarks)
}

/// Longest runtime among the directions of a job.
fn longest_ms(job: &Job) -> u64 {
    job.directions.iter().map(|direction| direction.runtime_ms).max().unwrap_or(0)
}

/// Wall time of the run. The report has whole seconds, rounded up, which include the layout of
/// files; if the jobs, summed over groups, account for all but a part of the last second, their
/// milliseconds are taken instead.
fn wall_ns(run: &Run) -> u64 {
    let mut groups: BTreeMap<u64, u64> = BTreeMap::new();
    for job in &run.jobs {
        let group = groups.entry(job.group).or_default();
        *group = longest_ms(job).max(*group);
    }
    let worked_ns = groups.values().sum::<u64>().saturating_mul(1_000_000);
    let is_rounded = worked_ns > run.elapsed_ns.saturating_sub(1_000_000_000);
    if worked_ns <= run.elapsed_ns && is_rounded { worked_ns } else { run.elapsed_ns }
}

/// Name of a job in the trial.
struct JobName {
    /// Job name, with a number from 0 appended if several jobs share it.
    own: String,
    /// True if several jobs share the name.
    is_clone: bool,
}

fn names(jobs: &[Job]) -> Vec<JobName> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for job in jobs {
        *counts.entry(&job.name).or_default() += 1;
    }
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let name = |job: &'_ Job| {
        let is_clone = counts.get(job.name.as_str()).is_some_and(|count| *count > 1);
        (job.name.clone(), is_clone)
    };
    let mut names = Vec::new();
    for job in jobs {
        let number = numbers.entry(&job.name).or_default();
        let (name, is_clone) = name(job);
        let own = if is_clone { format!("{name}.{number}") } else { name };
        *number += 1;
        names.push(JobName { own, is_clone });
    }
    names
}

/// Records the options of all jobs, then those of each job; of normal output, those in its job
/// headers.
fn parameters(run: &Run, trial: &mut ForeignTrial) {
    for (name, value) in &run.options {
        trial.parameter(name, value);
    }
    let mut reported = BTreeSet::new();
    let mut clones: BTreeMap<&str, u64> = BTreeMap::new();
    for job in &run.jobs {
        *clones.entry(&job.name).or_default() += job.clones.max(1);
    }
    for job in run.jobs.iter().filter(|job| reported.insert(job.name.as_str())) {
        for (name, value) in &job.options {
            trial.parameter(&format!("{} {name}", job.name), value);
        }
        // Normal output states the number of clones; terse lines state nothing else about the jobs.
        let is_reported = job.clones > 0 || job.options.is_empty();
        if let Some(clones) = clones.get(job.name.as_str()).filter(|_| is_reported) {
            trial.parameter(&format!("{} jobs", job.name), clones);
        }
    }
}

/// Records whether size or time limits the amount of work.
fn amount(run: &Run, trial: &mut ForeignTrial, remarks: &mut Vec<String>) {
    if run.has_all_options {
        let is_timed = |job: &Job| cautions::option(run, job, "runtime").is_some();
        if run.jobs.iter().any(is_timed) {
            trial.fact(WorkLimit::FACT, WorkLimit::Timed.name());
        }
        return;
    }
    let moved = |job: &Job| -> u64 {
        job.directions.iter().fold(0, |sum, one| sum.saturating_add(one.bytes))
    };
    if run.jobs.iter().map(moved).any(|bytes| bytes % (1 << 20) != 0) {
        trial.fact(WorkLimit::FACT, WorkLimit::Timed.name());
        let what = "its size is not a whole number of MiB: taken for a run with a time limit";
        remarks.push(what.to_owned());
    }
}

fn of_job(job: &Job, name: &JobName, trial: &mut ForeignTrial) {
    for direction in &job.directions {
        of_direction(direction, &name.own, !name.is_clone, trial);
    }
    if let Some(sync) = &job.sync {
        let mut times = LatencyCollector::new("sync", &name.own, sync.ios, trial);
        times.spread(DIRECTION_LATENCY_NANOSECONDS, sync.time);
        for (level, ns) in &sync.percentiles {
            times.percentile(DIRECTION_LATENCY_NANOSECONDS, level, *ns);
        }
        if sync.ios > 0 {
            let scope = Scope::Kind(name.own.clone());
            let requests = DIRECTION_REQUESTS.of_member(&["sync"], scope, sync.ios as f64);
            trial.metrics.push(requests);
        }
    }
    let scope = || Scope::Phase(name.own.clone());
    if let Some([user, system]) = job.cpu_percent {
        trial.metrics.push(cpu::USER_CPU_PERCENT.of(scope(), user));
        trial.metrics.push(cpu::SYSTEM_CPU_PERCENT.of(scope(), system));
    }
    for (what, count) in &job.counts {
        let known = [CONTEXT_SWITCHES, MAJOR_FAULTS, MINOR_FAULTS];
        let spec = known.into_iter().find(|spec| spec.name == *what);
        trial.metrics.extend(spec.map(|spec| spec.of(scope(), *count as f64)));
    }
    for (limit, share) in within(&job.shares) {
        trial.metrics.push(WITHIN_PERCENT.of_member(&[&duration(limit)], scope(), share));
    }
    if !job.shares.is_empty() {
        trial.fact(&format!("import.{}.latency_shares", name.own), reported(&job.shares));
    }
    for (what, reported) in job.levels.iter().filter(|(_, reported)| !reported.is_empty()) {
        trial.fact(&format!("import.{}.{what}", name.own), reported);
    }
}

/// Cumulative shares at powers of ten of nanoseconds, from the first to the last limit that is not
/// empty.
fn within(shares: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let limits = shares.iter().map(|(limit, _)| *limit).filter(|limit| *limit < u64::MAX);
    let (Some(first), Some(last)) = (limits.clone().min(), limits.max()) else {
        return Vec::new();
    };
    let up_to = |limit: u64| {
        let of = shares.iter().filter(|(own, _)| *own <= limit);
        of.map(|(_, share)| share).sum::<f64>().min(100.0)
    };
    let limits = LIMITS.map(|power| 10_u64.pow(power));
    let limits = limits.filter(|limit| (first..=last).contains(limit));
    limits.map(|limit| (limit, up_to(limit))).collect()
}

/// Printed form of all shares: `2us=3.53%, 50us=0.01%, more=0.03%`.
fn reported(shares: &[(u64, f64)]) -> String {
    let limit = |limit: u64| if limit == u64::MAX { "more".to_owned() } else { duration(limit) };
    let share = |(at, share): &(u64, f64)| format!("{}={}%", limit(*at), printed(*share, 2));
    shares.iter().map(share).collect::<Vec<_>>().join(", ")
}

/// Formats a duration: `500ns`, `1us`, `750ms`, `2s`.
fn duration(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let unit = units.into_iter().find(|(_, size)| ns >= *size && ns.is_multiple_of(*size));
    unit.map_or_else(|| format!("{ns}ns"), |(unit, size)| format!("{}{unit}", ns / size))
}

fn of_direction(of: &Direction, job: &str, decides: bool, trial: &mut ForeignTrial) {
    let scope = || Scope::Kind(job.to_owned());
    rates_of(job, of.name, [of.bytes_per_second, of.ops_per_second], decides, 1, trial);
    let seconds = of.runtime_ms as f64 / 1000.0;
    trial.metrics.push(DIRECTION_RUNTIME_SECONDS.of_member(&[of.name], scope(), seconds));
    for (spec, amount) in [(DIRECTION_BYTES, of.bytes), (DIRECTION_REQUESTS, of.ios)] {
        if amount > 0 {
            trial.metrics.push(spec.of_member(&[of.name], scope(), amount as f64));
        }
    }
    let has_whole = of.times.iter().any(|(name, _)| *name == "lat");
    let mut times = LatencyCollector::new(of.name, job, of.ios, trial);
    for (name, spread) in &of.times {
        specs_of(name, has_whole).for_each(|spec| times.spread(spec, *spread));
    }
    for (name, level, ns) in &of.percentiles {
        specs_of(name, has_whole).for_each(|spec| times.percentile(spec, level, *ns));
    }
    let samples = [
        (
            DIRECTION_SAMPLED_MIB_PER_SECOND,
            DIRECTION_SAMPLED_MIB_PER_SECOND_STDDEV,
            of.bandwidth,
            1.0 / MIB,
        ),
        (
            DIRECTION_SAMPLED_OPERATIONS_PER_SECOND,
            DIRECTION_SAMPLED_OPERATIONS_PER_SECOND_STDDEV,
            of.iops,
            1.0,
        ),
    ];
    for (spec, stddev, spread, factor) in samples {
        let Some(spread) = spread.map(|spread| spread.scaled(factor)) else { continue };
        let figures = [("min", spread.least), ("mean", spread.mean), ("max", spread.most)];
        for (what, value) in figures {
            trial.metrics.push(spec.of_member(&[of.name, what], scope(), value));
        }
        trial.metrics.push(stddev.of_member(&[of.name], scope(), spread.deviation));
    }
}

/// Metrics that record a latency kind of fio: slat, clat or lat. If fio did not report the total,
/// completion latency also stands for it, as in native runs.
fn specs_of(name: &str, has_whole: bool) -> impl Iterator<Item = MetricSpec> + use<> {
    let (first, second) = match name {
        "slat" => (DIRECTION_SUBMISSION_NANOSECONDS, None),
        "clat" => {
            let whole = DIRECTION_LATENCY_NANOSECONDS;
            (DIRECTION_COMPLETION_NANOSECONDS, (!has_whole).then_some(whole))
        }
        _ => (DIRECTION_LATENCY_NANOSECONDS, None),
    };
    std::iter::once(first).chain(second)
}

/// Throughput metrics: bandwidth is primary, or the rate of operations if no data are moved.
fn rates_of(
    job: &str,
    direction: &str,
    [bytes_per_second, ops_per_second]: [f64; 2],
    decides: bool,
    tasks: u64,
    trial: &mut ForeignTrial,
) {
    let has_bytes = bytes_per_second > 0.0;
    let mut take = |spec: MetricSpec, value: f64, is_first: bool| {
        if value > 0.0 && value.is_finite() {
            let metric = spec.of_member(&[direction], Scope::Kind(job.to_owned()), value);
            trial.metrics.push(metric.primary_if(decides && is_first).of_tasks(tasks));
        }
    };
    take(rates::DIRECTION_MIB_PER_SECOND, bytes_per_second / MIB, true);
    take(rates::DIRECTION_OPERATIONS_PER_SECOND, ops_per_second, !has_bytes);
}

/// Collects the latencies of one direction of a job.
struct LatencyCollector<'t> {
    direction: &'t str,
    job: &'t str,
    /// Number of timed requests.
    requests: u64,
    trial: &'t mut ForeignTrial,
}

impl<'t> LatencyCollector<'t> {
    fn new(direction: &'t str, job: &'t str, requests: u64, trial: &'t mut ForeignTrial) -> Self {
        Self { direction, job, requests: requests.max(1), trial }
    }

    /// Adds a metric unless it exists already.
    fn take(&mut self, spec: MetricSpec, what: &str, ns: f64) {
        let scope = Scope::Kind(self.job.to_owned());
        let metric = spec.of_member(&[self.direction, what], scope, ns).of_tasks(self.requests);
        let is_it = |known: &Metric| known.name == metric.name && known.scope == metric.scope;
        if !self.trial.metrics.iter().any(is_it) {
            self.trial.metrics.push(metric);
        }
    }

    fn spread(&mut self, spec: MetricSpec, spread: Statistic) {
        let figures = [
            ("min", spread.least),
            ("mean", spread.mean),
            ("max", spread.most),
            ("stddev", spread.deviation),
        ];
        figures.into_iter().for_each(|(what, ns)| self.take(spec, what, ns));
    }

    fn percentile(&mut self, spec: MetricSpec, level: &str, ns: f64) {
        self.take(spec, &percentile(level), ns);
    }
}

/// Percentile suffix of a metric: `50.00` gives `p50`, `99.950000` gives `p9995`.
fn percentile(level: &str) -> String {
    let Some((whole, part)) = level.split_once('.') else { return format!("p{level}") };
    match (whole, part.trim_end_matches('0')) {
        (whole, "") => format!("p{whole}"),
        ("99", part) => format!("p99{part}"),
        (whole, part) => format!("p{whole}_{part}"),
    }
}

/// Time, data and CPU of a job. `None` where CPU is only given as a share of an unreported time:
/// zero would be wrong.
fn totals(job: &Job, phase: u32, name: &str) -> Option<PhaseTotals> {
    if job.clones_ms == 0 {
        return None;
    }
    let [user, system] = job.cpu_percent.unwrap_or_default();
    // Percent of milliseconds.
    let cpu_ns = |percent: f64| {
        let seconds = percent / 100.0 * job.clones_ms as f64 / 1000.0;
        treering_kit::import::number::nanoseconds(seconds).unwrap_or(0)
    };
    let longest = job.directions.iter().map(|direction| direction.runtime_ms).max().unwrap_or(0);
    let bytes = |sum: u64, direction: &Direction| sum.saturating_add(direction.bytes);
    Some(PhaseTotals {
        phase,
        name: name.to_owned(),
        wall_ns: longest.saturating_mul(1_000_000),
        tasks: u32::try_from(job.clones.max(1)).unwrap_or(u32::MAX),
        bytes: job.directions.iter().fold(0, bytes),
        cpu: CpuTime { user_ns: cpu_ns(user), system_ns: cpu_ns(system) },
        ops: job.directions.iter().filter_map(calls).collect(),
        ..PhaseTotals::default()
    })
}

/// Latency histogram as the totals of an operation.
fn calls(of: &Direction) -> Option<OpTotals> {
    let op = match of.name {
        "read" => Op::Read,
        "write" => Op::Write,
        _ => return None,
    };
    let (_, bins) = of.bins.as_ref()?;
    let mut latency = Latency::new();
    for (ns, count) in bins {
        latency.record_many(*ns, *count);
    }
    Some(OpTotals { op, calls: of.ios, errors: 0, bytes: of.bytes, latency })
}

/// Metrics of several jobs together: the clones of each name, and each group of several names. As
/// in fio, a rate is the sum of the bytes over the longest runtime.
fn sums(jobs: &[Job], names: &[JobName], trial: &mut ForeignTrial) {
    let mut clones: BTreeMap<(String, &str), Vec<&Direction>> = BTreeMap::new();
    let mut groups: BTreeMap<(u64, &str), Vec<&Direction>> = BTreeMap::new();
    let mut members: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
    for (job, name) in jobs.iter().zip(names) {
        members.entry(job.group).or_default().insert(&job.name);
        for direction in &job.directions {
            if name.is_clone {
                let key = (job.name.clone(), direction.name);
                clones.entry(key).or_default().push(direction);
            }
            groups.entry((job.group, direction.name)).or_default().push(direction);
        }
    }
    for ((name, direction), all) in clones {
        sum(&name, direction, &all, true, trial);
    }
    for ((group, direction), all) in groups {
        if members.get(&group).is_some_and(|names| names.len() > 1) && all.len() > 1 {
            sum(&format!("group {group}"), direction, &all, false, trial);
        }
    }
}

fn sum(
    name: &str,
    direction: &str,
    directions: &[&Direction],
    decides: bool,
    trial: &mut ForeignTrial,
) {
    let longest = directions.iter().map(|direction| direction.runtime_ms).max().unwrap_or(0);
    let seconds = longest as f64 / 1000.0;
    let over = |amount: &dyn Fn(&Direction) -> f64| {
        directions.iter().map(|direction| amount(direction)).sum::<f64>() / seconds
    };
    let bytes = over(&|direction| direction.bytes as f64);
    let own = |direction: &Direction| direction.runtime_ms as f64 / 1000.0;
    let ops = over(&|direction| direction.ops_per_second * own(direction));
    rates_of(name, direction, [bytes, ops], decides, directions.len() as u64, trial);
    let scope = Scope::Kind(name.to_owned());
    trial.metrics.push(DIRECTION_RUNTIME_SECONDS.of_member(&[direction], scope, seconds));
}

fn of_disk(disk: &Disk, trial: &mut ForeignTrial) {
    let scope = || Scope::Kind(format!("disk {}", disk.name));
    for (name, count) in &disk.counts {
        let count = *count as f64;
        let metric = match name.split_once('_') {
            Some(("in", "queue_ms")) => IN_QUEUE_SECONDS.of(scope(), count / 1e3),
            Some((direction, "ios")) => DISK_REQUESTS.of_member(&[direction], scope(), count),
            Some((direction, "sectors")) => DISK_SECTORS.of_member(&[direction], scope(), count),
            Some((direction, "merges")) => DISK_MERGES.of_member(&[direction], scope(), count),
            Some((direction, "ticks_ms")) => {
                DISK_TICKS_SECONDS.of_member(&[direction], scope(), count / 1e3)
            }
            _ => continue,
        };
        trial.metrics.push(metric);
    }
    trial.metrics.extend(disk.busy_percent.map(|percent| BUSY_PERCENT.of(scope(), percent)));
}

#[cfg(test)]
mod tests {
    use crate::report::{Direction, Job, Run};

    use super::{duration, percentile, reported, wall_ns, within};

    #[test]
    fn wall_time_takes_milliseconds_from_jobs_that_fill_the_last_second() {
        let job = |group, runtime_ms| Job {
            group,
            directions: vec![Direction { runtime_ms, ..Direction::default() }],
            ..Job::default()
        };
        let ran = |seconds: u64, jobs: Vec<Job>| {
            wall_ns(&Run { elapsed_ns: seconds * 1_000_000_000, jobs, ..Run::default() })
                / 1_000_000
        };
        assert_eq!(ran(4, vec![job(0, 3001), job(0, 2500)]), 3001);
        assert_eq!(ran(5, vec![job(0, 3001), job(1, 1501)]), 4502);
        assert_eq!(ran(10, vec![job(0, 3001)]), 10_000, "files were laid out before");
        assert_eq!(ran(4, vec![job(0, 3001), job(1, 3000)]), 4_000, "groups side by side");
        assert_eq!(ran(0, vec![job(0, 3001)]), 0);
    }

    #[test]
    fn metric_suffixes_encode_percentiles_and_limits() {
        let suffixes =
            ["1.00", "50.000000", "99.50", "99.950000", "99.99", "9.5", "90"].map(percentile);
        assert_eq!(suffixes, ["p1", "p50", "p995", "p9995", "p9999", "p9_5", "p90"]);
        let suffixes = [500, 1_000, 750_000, 1_000_000_000].map(duration);
        assert_eq!(suffixes, ["500ns", "1us", "750us", "1s"]);
    }

    #[test]
    fn latency_shares_are_accumulated() {
        let shares = [(4_000, 1.0), (20_000, 50.0), (100_000, 9.5), (u64::MAX, 39.5)];
        assert_eq!(within(&shares), [(10_000, 1.0), (100_000, 60.5)]);
        assert_eq!(reported(&shares), "4us=1.00%, 20us=50.00%, 100us=9.50%, more=39.50%");
        assert_eq!(within(&[(u64::MAX, 1.0)]), []);
    }
}
