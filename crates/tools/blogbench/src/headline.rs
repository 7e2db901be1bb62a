//! Headline metrics: blogs per second overall and in the best and worst interval, latencies of
//! files and of whole blogs.

use treering_model::metrics::blogbench::{
    BLOGS_WRITTEN_ANEW, SCORE_PER_SECOND_EXTREME, SCORES, SCORES_PER_SECOND, WAITS,
};
use treering_model::metrics::{cpu, latency, rates, times};
use treering_model::{Metric, Op, Scope, TaskTotals};
use treering_script::{OperationSpans, SpanRow};

use super::config::ThreadRole;
use super::counts::{Counter, CounterSums};
use super::draws::FileKind;
use super::thread::{SPANS, ThreadCounters, span_place};

/// Counts at the end of an interval.
#[derive(Clone, Copy, Debug)]
struct IntervalRow {
    elapsed_ns: u64,
    sums: CounterSums,
}

/// Accumulator of the headline metrics of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadlineSums {
    rows: Vec<IntervalRow>,
    threads: u64,
    /// Latencies of files by [`span_place`]; `blogs` by [`ThreadRole::place`].
    files: Option<OperationSpans>,
    blogs: Option<OperationSpans>,
    read_bytes: u64,
    written_bytes: u64,
    longest_ns: u64,
    cpu_ns: u64,
    final_sync_ns: Option<u64>,
    /// Counts of other ranks, if any.
    others: Option<CounterSums>,
}

impl HeadlineSums {
    /// Records the end of an interval and returns the number of intervals so far.
    pub(super) fn row(&mut self, elapsed_ns: u64, sums: CounterSums) -> u64 {
        self.rows.push(IntervalRow { elapsed_ns, sums });
        self.rows.len() as u64
    }

    /// Adds the totals of a thread.
    pub(super) fn worked(&mut self, task: &TaskTotals) {
        self.threads += 1;
        self.longest_ns = self.longest_ns.max(task.wall_ns);
        self.cpu_ns += task.cpu.total_ns();
        for op in &task.ops {
            match op.op {
                Op::Read => self.read_bytes += op.bytes,
                Op::Write => self.written_bytes += op.bytes,
                _ => {}
            }
        }
        let Some(timed) = task.counters.read() else { return };
        self.timed(&timed);
    }

    /// Adds the totals of a thread of another rank, whose intervals are not recorded here.
    pub(super) fn others_worked(&mut self, task: &TaskTotals) {
        self.worked(task);
        let Some(ThreadCounters { done, .. }) = task.counters.read() else { return };
        self.others = Some(self.others.unwrap_or_default().plus(done));
    }

    fn timed(&mut self, ThreadCounters { files, blogs, .. }: &ThreadCounters) {
        self.files.get_or_insert_with(|| OperationSpans::new(SPANS)).merge(files);
        self.blogs.get_or_insert_with(|| OperationSpans::new(ThreadRole::ALL.len())).merge(blogs);
    }

    /// Records the sync after the benchmark.
    pub(super) fn synced(&mut self, task: &TaskTotals) {
        self.final_sync_ns = Some(task.wall_ns);
    }

    /// Metrics that a run will have, with latencies if they are recorded; the values are
    /// meaningless.
    pub(super) fn foreseen(with_latencies: bool) -> Vec<Metric> {
        let once = |kinds: usize| {
            let mut spans = OperationSpans::new(kinds);
            for kind in 0..kinds {
                spans.record(kind, false, Some(0), Some(1));
            }
            with_latencies.then_some(spans)
        };
        let headline = Self {
            rows: vec![IntervalRow { elapsed_ns: 1, sums: CounterSums::all_one() }],
            threads: 1,
            files: once(SPANS),
            blogs: once(ThreadRole::ALL.len()),
            read_bytes: 1,
            written_bytes: 1,
            longest_ns: 1,
            cpu_ns: 1,
            final_sync_ns: Some(1),
            others: None,
        };
        headline.metrics()
    }

    /// Metrics so far; empty before the end of the first interval.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let Some(last) = self.rows.last().filter(|last| last.elapsed_ns > 0) else {
            return Vec::new();
        };
        let seconds = last.elapsed_ns as f64 / 1e9;
        let sums = last.sums.plus(self.others.unwrap_or_default());
        let mut metrics = Vec::new();
        let sides = [(Counter::BlogsWritten, "write"), (Counter::BlogsRead, "read")];
        let specs = SCORES.into_iter().zip(SCORES_PER_SECOND);
        for ((side, word), (total, rate)) in sides.into_iter().zip(specs) {
            let score = sums.count(side) as f64;
            let rates = self.rates(side);
            metrics.push(rate.of(Scope::Trial, score / seconds).primary());
            metrics.push(total.of(Scope::Trial, score));
            if self.others.is_some() {
                continue;
            }
            let of = |pick: fn(f64, f64) -> f64| rates.iter().copied().reduce(pick).unwrap_or(0.0);
            for (extreme, rate) in [("min", of(f64::min)), ("max", of(f64::max))] {
                let words = [word, extreme];
                metrics.push(SCORE_PER_SECOND_EXTREME.of_member(&words, Scope::Trial, rate));
            }
        }
        metrics.extend([
            WAITS.of(Scope::Trial, sums.count(Counter::Waits) as f64),
            BLOGS_WRITTEN_ANEW.of(Scope::Trial, sums.count(Counter::Anew) as f64),
            cpu::CPU_SECONDS.of(Scope::Trial, self.cpu_ns as f64 / 1e9),
        ]);
        let working = self.longest_ns as f64 / 1e9;
        for (direction, bytes) in [("read", self.read_bytes), ("write", self.written_bytes)] {
            if bytes > 0 && working > 0.0 {
                let mib = bytes as f64 / 1_048_576.0 / working;
                let rate = rates::DIRECTION_MIB_PER_SECOND;
                metrics.push(rate.of_member(&[direction], Scope::Trial, mib));
            }
        }
        if let Some(ns) = self.final_sync_ns {
            metrics.push(times::FINAL_SYNC_SECONDS.of(Scope::Trial, ns as f64 / 1e9));
        }
        let threads = self.threads.max(1);
        let mut metrics: Vec<Metric> =
            metrics.into_iter().map(|metric| metric.of_tasks(threads)).collect();
        metrics.extend(self.file_metrics(&sums, seconds));
        metrics.extend(self.blog_metrics());
        metrics
    }

    /// Blogs per second in each interval.
    fn rates(&self, side: Counter) -> Vec<f64> {
        let mut before = IntervalRow { elapsed_ns: 0, sums: CounterSums::default() };
        let mut rates = Vec::new();
        for row in &self.rows {
            let seconds = row.elapsed_ns.saturating_sub(before.elapsed_ns).max(1) as f64 / 1e9;
            rates.push(row.sums.since(before.sums).count(side) as f64 / seconds);
            before = *row;
        }
        rates
    }

    /// Rate and latencies of each kind of file, written and read.
    fn file_metrics(&self, sums: &CounterSums, seconds: f64) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for reads in [false, true] {
            for file in FileKind::ALL {
                let (verb, count) =
                    if reads { ("read", file.read()) } else { ("write", file.written()) };
                let count = sums.count(count);
                if count == 0 {
                    continue;
                }
                let scope = Scope::Kind(format!("{verb} {}", file.name()));
                let rate = count as f64 / seconds;
                metrics.push(rates::FILES_PER_SECOND.of(scope.clone(), rate).of_tasks(count));
                let row = self.files.as_ref().map(|spans| spans.row(span_place(file, reads)));
                metrics.extend(row.into_iter().flat_map(|row| latencies(&scope, row)));
            }
        }
        metrics
    }

    /// Latencies of whole blogs by kind of thread.
    fn blog_metrics(&self) -> Vec<Metric> {
        let Some(blogs) = &self.blogs else { return Vec::new() };
        let verb = |role: ThreadRole| match role {
            ThreadRole::Writer => "write blog",
            ThreadRole::Rewriter => "rewrite blog",
            ThreadRole::Commenter => "comment blog",
            ThreadRole::Reader => "read blog",
        };
        let of_role = |role: ThreadRole| {
            latencies(&Scope::Kind(verb(role).to_owned()), blogs.row(role.place()))
        };
        ThreadRole::ALL.into_iter().flat_map(of_role).collect()
    }
}

/// Latency metrics of one kind; empty without samples.
fn latencies(scope: &Scope, row: &SpanRow) -> Vec<Metric> {
    if row.latency.samples() == 0 {
        return Vec::new();
    }
    let quantile = |quantile: f64| row.latency.quantile_ns(quantile) as f64;
    let figures = [
        ("mean", row.mean_ns()),
        ("p50", quantile(0.5)),
        ("p99", quantile(0.99)),
        ("max", row.longest_ns as f64),
    ];
    let metric = |(statistic, ns): (&str, f64)| {
        latency::LATENCY_NS.of_member(&[statistic], scope.clone(), ns).of_tasks(row.count)
    };
    figures.into_iter().map(metric).collect()
}

#[cfg(test)]
mod tests {
    use super::HeadlineSums;
    use crate::counts::{BlogCounters, Counter};
    use treering_model::{Op, OpTotals, Scope, TaskTotals};
    use treering_script::OperationSpans;

    #[test]
    fn scores_are_by_the_second_and_of_each_interval() {
        let mut headline = HeadlineSums::default();
        assert!(headline.metrics().is_empty());
        let counts = BlogCounters::default();
        for (elapsed_ns, written, read) in [(2_000_000_000, 4, 1), (4_000_000_000, 2, 9)] {
            (0..written).for_each(|_| counts.add(Counter::BlogsWritten));
            (0..read).for_each(|_| counts.add(Counter::BlogsRead));
            counts.add(Counter::PicturesRead);
            headline.row(elapsed_ns, counts.sums());
        }
        let mut files = OperationSpans::new(6);
        files.record(4, false, Some(1000), Some(3000));
        let mut blogs = OperationSpans::new(4);
        blogs.record(3, false, Some(0), Some(9000));
        let counters = treering_model::Counters::from_value(&super::ThreadCounters {
            files,
            blogs,
            done: counts.sums(),
        });
        let op = OpTotals {
            op: Op::Read,
            calls: 1,
            errors: 0,
            bytes: 8 << 20,
            latency: treering_model::Latency::new(),
        };
        let task =
            TaskTotals { wall_ns: 4_000_000_000, counters, ops: vec![op], ..TaskTotals::default() };
        headline.worked(&task);
        headline.synced(&TaskTotals { wall_ns: 500_000_000, ..TaskTotals::default() });
        let metrics = headline.metrics();
        let value = |scope: &Scope, name: &str| {
            let measured =
                metrics.iter().find(|metric| metric.name == name && metric.scope == *scope);
            measured.map_or(f64::NAN, |metric| metric.value)
        };
        let trial = Scope::Trial;
        for (name, wanted) in [
            ("write_score", 6.0),
            ("write_score_per_second", 1.5),
            ("write_score_per_second_min", 1.0),
            ("write_score_per_second_max", 2.0),
            ("read_score", 10.0),
            ("read_score_per_second_max", 4.5),
            ("read_mib_per_second", 2.0),
            ("final_sync_seconds", 0.5),
            ("waits", 0.0),
        ] {
            assert!((value(&trial, name) - wanted).abs() < 1e-9, "{name}: {}", value(&trial, name));
        }
        let picture = Scope::Kind("read picture".to_owned());
        assert!((value(&picture, "files_per_second") - 0.5).abs() < 1e-9);
        assert!((value(&picture, "latency_ns_max") - 2000.0).abs() < 1e-9);
        let blog = Scope::Kind("read blog".to_owned());
        assert!((value(&blog, "latency_ns_mean") - 9000.0).abs() < 1e-9);
        assert_eq!(metrics.iter().filter(|metric| metric.primary).count(), 2);
    }
}
