//! Headline metrics: the true rate, the original's figure and its excess, and the skew between
//! workers.

use treering_model::metrics::fs_mark::{CLASSIC_FILES_PER_SECOND, CLASSIC_INFLATION_PERCENT};
use treering_model::metrics::times::WORKER_SKEW_RATIO;
use treering_model::metrics::{cpu, rates};
use treering_model::{Metric, Scope, TaskTotals};

use super::account::FileCounters;

/// Kind of the tasks that create files.
pub(super) const CREATE: &str = "create";
/// Excess in percent that comes from the rounding of the divisions.
const ROUNDING_PERCENT: f64 = 1e-9;
/// Kind of the tasks that unlink files.
pub(super) const UNLINK: &str = "unlink";

/// Timing and counts of one worker.
#[derive(Clone, Copy, Debug)]
struct WorkerTotals {
    began_ns: u64,
    ended_ns: u64,
    files: u64,
    bytes: u64,
    cpu_ns: u64,
}

/// Totals: workers of the current group, and sums of the earlier groups.
#[derive(Clone, Debug, Default)]
struct RunTotals {
    present: Vec<WorkerTotals>,
    tasks: u64,
    groups: u64,
    /// Time from the first start to the last end, over all groups.
    wall_ns: u64,
    files: u64,
    bytes: u64,
    cpu_ns: u64,
    /// Total time in nanoseconds that all files would take at the rates printed by the original.
    classic_ns: f64,
    /// Sum over groups of the ratio of the slowest worker's time to the fastest's.
    skews: f64,
}

impl RunTotals {
    fn add(&mut self, part: WorkerTotals) {
        self.present.push(part);
    }

    fn close(&mut self) {
        let parts = std::mem::take(&mut self.present);
        let began = parts.iter().map(|part| part.began_ns).min();
        let ended = parts.iter().map(|part| part.ended_ns).max();
        let (Some(began), Some(ended)) = (began, ended) else { return };
        let wall_ns = ended.saturating_sub(began).max(1);
        let lengths = || parts.iter().map(|part| (part.ended_ns - part.began_ns).max(1));
        let (slowest, fastest) = (lengths().max().unwrap_or(1), lengths().min().unwrap_or(1));
        self.tasks += parts.len() as u64;
        self.groups += 1;
        self.wall_ns += wall_ns;
        self.skews += slowest as f64 / fastest as f64;
        let (mut files, mut rate) = (0, 0.0);
        for (part, length) in parts.iter().zip(lengths()) {
            files += part.files;
            self.bytes += part.bytes;
            self.cpu_ns += part.cpu_ns;
            rate += part.files as f64 / length as f64;
        }
        self.files += files;
        if files > 0 {
            self.classic_ns += files as f64 / rate;
        }
    }

    fn metrics(&self, kind: &str) -> Vec<Metric> {
        let mut closed = self.clone();
        closed.close();
        if closed.files == 0 {
            return Vec::new();
        }
        let seconds = closed.wall_ns as f64 / 1e9;
        let files = closed.files as f64;
        let of = || Scope::Kind(kind.to_owned());
        let makes = kind == CREATE;
        let mut metrics = vec![
            rates::FILES_PER_SECOND.of(of(), files / seconds).primary_if(makes),
            cpu::CPU_SECONDS.of(of(), closed.cpu_ns as f64 / 1e9),
            WORKER_SKEW_RATIO.of(of(), closed.skews / closed.groups as f64),
        ];
        if makes {
            let mib = closed.bytes as f64 / 1_048_576.0;
            let classic = files / (closed.classic_ns / 1e9);
            // One worker's rates are equal but for the rounding of the divisions.
            let inflation = match (classic * seconds / files - 1.0) * 100.0 {
                rounding if rounding.abs() < ROUNDING_PERCENT => 0.0,
                inflation => inflation,
            };
            metrics.extend([
                rates::MIB_PER_SECOND.of(of(), mib / seconds),
                CLASSIC_FILES_PER_SECOND.of(of(), classic),
                CLASSIC_INFLATION_PERCENT.of(of(), inflation),
            ]);
        }
        metrics.into_iter().map(|metric| metric.of_tasks(closed.tasks)).collect()
    }
}

/// Metrics that a run will have; the values are meaningless. `unlinks` if it also unlinks its
/// files.
pub(super) fn foreseen(unlinks: bool) -> Vec<Metric> {
    let part = WorkerTotals { began_ns: 0, ended_ns: 1, files: 1, bytes: 1, cpu_ns: 1 };
    let mut headline = HeadlineSums::default();
    headline.creates.add(part);
    if unlinks {
        headline.unlinks.add(part);
    }
    headline.metrics()
}

/// Sums of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadlineSums {
    creates: RunTotals,
    unlinks: RunTotals,
}

impl HeadlineSums {
    /// Begins a group of workers.
    pub(super) fn group(&mut self) {
        self.creates.close();
        self.unlinks.close();
    }

    /// Adds a task; `counters` are those of a worker that creates files.
    pub(super) fn add(&mut self, task: &TaskTotals, counters: Option<&FileCounters>) {
        let sums = match task.kind.as_str() {
            CREATE => &mut self.creates,
            UNLINK => &mut self.unlinks,
            _ => return,
        };
        // A classic worker's loop ends before its unlinks.
        let loop_ns = counters.map(|counters| counters.loop_us * 1000).filter(|&ns| ns > 0);
        sums.add(WorkerTotals {
            began_ns: task.began_ns,
            ended_ns: task.began_ns + loop_ns.unwrap_or(task.wall_ns),
            files: counters.map_or(task.files, |counters| counters.files),
            bytes: task.bytes,
            cpu_ns: task.cpu.total_ns(),
        });
    }

    /// Metrics of the run so far.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.creates.metrics(CREATE);
        metrics.extend(self.unlinks.metrics(UNLINK));
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::{FileCounters, HeadlineSums};
    use treering_model::TaskTotals;

    fn task(kind: &str, began_ms: u64, wall_ms: u64, files: u64) -> TaskTotals {
        TaskTotals {
            kind: kind.to_owned(),
            began_ns: began_ms * 1_000_000,
            wall_ns: wall_ms * 1_000_000,
            files,
            bytes: files << 10,
            ..TaskTotals::default()
        }
    }

    fn value(headline: &HeadlineSums, name: &str) -> f64 {
        headline.metrics().iter().find(|metric| metric.name == name).unwrap().value
    }

    #[test]
    fn sequential_workers_have_the_rate_of_a_single_worker() {
        let mut headline = HeadlineSums::default();
        assert!(headline.metrics().is_empty());
        for iteration in 0..2 {
            headline.group();
            for worker in 0..4 {
                let began = iteration * 10_000 + worker * 1000;
                headline.add(&task("create", began, 1000, 500), None);
            }
        }
        let near = |name, wanted: f64| {
            let measured = value(&headline, name);
            assert!((measured / wanted - 1.0).abs() < 1e-9, "{name}: {measured}");
        };
        near("files_per_second", 500.0);
        near("classic_files_per_second", 2000.0);
        near("classic_inflation_percent", 300.0);
        near("worker_skew_ratio", 1.0);
        near("mib_per_second", 500.0 / 1024.0);
        let primary: Vec<_> =
            headline.metrics().into_iter().filter(|metric| metric.primary).collect();
        assert_eq!(primary.len(), 1);
        assert_eq!(primary[0].name, "files_per_second");
    }

    #[test]
    fn rate_is_set_by_the_slowest_worker_and_excludes_unlinks() {
        let mut headline = HeadlineSums::default();
        headline.add(&task("create", 0, 1000, 100), None);
        headline.add(&task("create", 0, 4000, 100), None);
        headline.group();
        headline.add(&task("unlink", 5000, 500, 100), None);
        assert!((value(&headline, "files_per_second") - 50.0).abs() < 1e-9);
        assert!((value(&headline, "worker_skew_ratio") - 4.0).abs() < 1e-9);
        assert!((value(&headline, "classic_files_per_second") - 125.0).abs() < 1e-9);
        let unlinks = headline.metrics().into_iter().filter(|metric| !metric.primary).count();
        assert_eq!(unlinks, 5 + 3);
    }

    #[test]
    fn classic_rate_excludes_unlinks() {
        let mut headline = HeadlineSums::default();
        let counters = FileCounters { files: 90, loop_us: 1_000_000, ..FileCounters::default() };
        headline.add(&task("create", 0, 5000, 100), Some(&counters));
        assert!((value(&headline, "files_per_second") - 90.0).abs() < 1e-9);
    }
}
