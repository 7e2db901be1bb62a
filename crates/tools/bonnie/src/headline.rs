//! Headline metrics: for each test a rate, its uncertainty, its CPU, and the time of its final
//! sync.

use treering_model::metrics::bonnie::{OPS_PER_SECOND, RATE_UNCERTAINTY_PERCENT};
use treering_model::metrics::{cpu, latency, rates, times};
use treering_model::{Metric, Scope, TaskTotals};

use super::meter::TaskMeasurements;
use super::shape::RunShape;
use super::test::{RateUnit, Test};

/// Standard errors on either side of a 95 % confidence interval.
const DEVIATIONS: f64 = 1.96;
const MIB: f64 = 1_048_576.0;

/// Sums over concurrent tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GroupTotals {
    began_ns: Option<u64>,
    ended_ns: u64,
    /// CPU time of all tasks.
    pub(super) cpu_ns: u64,
    /// Longest loop body; `None` where not every step was timed.
    pub(super) longest_ns: Option<u64>,
    /// Longest closing time (fsync, close or sync).
    pub(super) closing_ns: u64,
    /// Sum of the squared standard errors of the rates, and sum of the rates; `None` when one is
    /// unknown.
    errors: Option<(f64, f64)>,
    tasks: u64,
    /// Number of tasks of other ranks; each rank does all of the work.
    others: u64,
}

impl GroupTotals {
    /// Adds a task.
    pub(super) fn add(&mut self, task: &TaskTotals, noted: &TaskMeasurements) {
        let began_ns = self.began_ns.map_or(task.began_ns, |began| began.min(task.began_ns));
        self.began_ns = Some(began_ns);
        self.ended_ns = self.ended_ns.max(task.began_ns.saturating_add(task.wall_ns));
        self.cpu_ns += task.cpu.total_ns();
        self.closing_ns = self.closing_ns.max(noted.closing_ns);
        let longest = noted.bodies.as_ref().and_then(|bodies| bodies.rows().first());
        if let Some(row) = longest {
            self.longest_ns = Some(self.longest_ns.unwrap_or(0).max(row.longest_ns));
        }
        let (squares, rates) =
            if self.tasks == 0 { (0.0, 0.0) } else { self.errors.unwrap_or((f64::NAN, 0.0)) };
        self.errors =
            noted.rate_error().map(|(error, rate)| (squares + error.powi(2), rates + rate));
        self.errors = self.errors.filter(|(squares, _)| squares.is_finite());
        self.tasks += 1;
    }

    /// Number of times that the work was done: once by each rank.
    fn times(&self) -> u64 {
        self.tasks / self.tasks.saturating_sub(self.others).max(1)
    }

    /// Number of tasks.
    pub(super) const fn tasks(&self) -> u64 {
        self.tasks
    }

    /// Time from the first start to the last end.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.began_ns.unwrap_or(self.ended_ns))
    }

    /// Half-width of the rate's 95 % confidence interval, in percent of the rate.
    fn uncertainty_percent(&self) -> Option<f64> {
        let (squares, rates) = self.errors.filter(|(_, rates)| *rates > 0.0)?;
        Some(DEVIATIONS * squares.sqrt() / rates * 100.0)
    }
}

/// Groups of one test.
#[derive(Clone, Debug, Default)]
struct TestGroups {
    groups: Vec<GroupTotals>,
}

/// Accumulator of the headline metrics of a run.
#[derive(Clone, Debug)]
pub(super) struct HeadlineSums {
    /// Work of each test in a group: bytes, seeks or files.
    work: [u64; Test::COUNT],
    sums: [TestGroups; Test::COUNT],
    /// True if the next task is the first of its group.
    begins: bool,
}

impl HeadlineSums {
    /// Empty accumulator for a run of this shape.
    pub(super) fn new(shape: &RunShape) -> Self {
        Self {
            work: Test::ALL.map(|test| shape.work(test)),
            sums: Default::default(),
            begins: true,
        }
    }

    /// Begins the next group.
    pub(super) fn begin(&mut self) {
        self.begins = true;
    }

    /// Adds a task of a test.
    pub(super) fn add(&mut self, test: Test, task: &TaskTotals, noted: TaskMeasurements) {
        self.present(test).add(task, &noted);
    }

    /// Adds a task of a test at another rank.
    pub(super) fn add_other_rank(
        &mut self,
        test: Test,
        task: &TaskTotals,
        noted: &TaskMeasurements,
    ) {
        let present = self.present(test);
        present.add(task, noted);
        present.others += 1;
    }

    /// Sums of the current group.
    fn present(&mut self, test: Test) -> &mut GroupTotals {
        let groups = &mut self.sums[test.place()].groups;
        if std::mem::take(&mut self.begins) || groups.is_empty() {
            groups.push(GroupTotals::default());
        }
        let last = groups.len() - 1;
        &mut groups[last]
    }

    /// Metrics that a run of this shape will have; the values are meaningless.
    pub(super) fn foreseen(shape: &RunShape) -> Vec<Metric> {
        let mut headline = Self::new(shape);
        let done = GroupTotals {
            began_ns: Some(0),
            ended_ns: 1,
            cpu_ns: 1,
            longest_ns: Some(1),
            closing_ns: 1,
            errors: Some((1.0, 1.0)),
            tasks: 1,
            others: 0,
        };
        for test in &shape.tests {
            headline.sums[test.place()].groups.push(done.clone());
        }
        headline.metrics()
    }

    /// Metrics so far.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        Test::ALL.into_iter().flat_map(|test| self.test_metrics(test)).collect()
    }

    fn test_metrics(&self, test: Test) -> Vec<Metric> {
        let groups = &self.sums[test.place()].groups;
        let seconds = groups.iter().map(GroupTotals::elapsed_ns).sum::<u64>() as f64 / 1e9;
        if seconds <= 0.0 {
            return Vec::new();
        }
        let tasks = groups.iter().map(|group| group.tasks).sum();
        let scope = || Scope::Kind(test.name().to_owned());
        let times = groups.iter().map(GroupTotals::times).sum::<u64>();
        let work = self.work[test.place()] as f64 * times as f64;
        let (rate, size) = match test.counted() {
            RateUnit::Bytes => (rates::MIB_PER_SECOND, MIB),
            RateUnit::Seeks => (OPS_PER_SECOND, 1.0),
            RateUnit::Files => (rates::FILES_PER_SECOND, 1.0),
        };
        let cpu_seconds = groups.iter().map(|group| group.cpu_ns).sum::<u64>() as f64 / 1e9;
        let closing = groups.iter().map(|group| group.closing_ns).sum::<u64>() as f64 / 1e9;
        let mut metrics = vec![
            // Rates of single bytes measure the calls, not the filesystem.
            rate.of(scope(), work / size / seconds).primary_if(!test.is_per_char()),
            times::ELAPSED_SECONDS.of(scope(), seconds),
            cpu::CPU_PERCENT.of(scope(), cpu_seconds / seconds * 100.0),
        ];
        let uncertainties: Vec<f64> =
            groups.iter().filter_map(GroupTotals::uncertainty_percent).collect();
        if uncertainties.len() == groups.len() {
            let squares: f64 = uncertainties.iter().map(|percent| percent.powi(2)).sum();
            let percent = squares.sqrt() / uncertainties.len() as f64;
            metrics.push(RATE_UNCERTAINTY_PERCENT.of(scope(), percent));
        }
        if closing > 0.0 {
            metrics.push(times::FINAL_SYNC_SECONDS.of(scope(), closing));
        }
        if let Some(longest_ns) = groups.iter().filter_map(|group| group.longest_ns).max() {
            metrics.push(latency::LATENCY_NS.of_member(&["max"], scope(), longest_ns as f64));
        }
        metrics.into_iter().map(|metric| metric.of_tasks(tasks)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupTotals, HeadlineSums};
    use crate::asked::IoShape;
    use crate::dice::RandomSource;
    use crate::meter::TaskMeasurements;
    use crate::shape::{ExtraFsync, RunShape};
    use crate::test::Test;
    use treering_model::{CpuTime, Metric, TaskTotals};
    use treering_script::SyncScope;

    fn shape(copies: u16) -> RunShape {
        let io = IoShape { bytes: 64 << 20, char_bytes: 0, chunk: 8192, seeks: 1000, seekers: 4 };
        RunShape {
            io: Some(io),
            files: None,
            tests: vec![Test::BlockWrite, Test::Seeks],
            runs: 1,
            copies,
            source: RandomSource::Seed(1),
            fsync: ExtraFsync::Never,
            direct: false,
            sync: SyncScope::Target,
            drop_caches: false,
            identity: None,
        }
    }

    fn task(began_ms: u64, wall_ms: u64, cpu_ms: u64) -> TaskTotals {
        TaskTotals {
            began_ns: began_ms * 1_000_000,
            wall_ns: wall_ms * 1_000_000,
            cpu: CpuTime { user_ns: 0, system_ns: cpu_ms * 1_000_000 },
            ..TaskTotals::default()
        }
    }

    fn value(metrics: &[Metric], name: &str) -> f64 {
        metrics.iter().find(|metric| metric.name == name).unwrap().value
    }

    #[test]
    fn ranks_add_up_to_one_rate_over_their_common_time() {
        let mut headline = HeadlineSums::new(&shape(1));
        headline.begin();
        headline.add(Test::BlockWrite, &task(0, 1000, 500), TaskMeasurements::default());
        headline.add_other_rank(
            Test::BlockWrite,
            &task(500, 1500, 500),
            &TaskMeasurements::default(),
        );
        // The work is twice 64 MiB, in the two seconds from the first start to the last end.
        assert_eq!(value(&headline.metrics(), "mib_per_second"), 64.0);
        assert_eq!(value(&headline.metrics(), "elapsed_seconds"), 2.0);
    }

    #[test]
    fn copies_add_up_to_one_rate_over_their_common_time() {
        let mut headline = HeadlineSums::new(&shape(2));
        assert!(headline.metrics().is_empty());
        headline.begin();
        headline.add(Test::BlockWrite, &task(0, 1000, 500), TaskMeasurements::default());
        headline.add(Test::BlockWrite, &task(1000, 1000, 500), TaskMeasurements::default());
        let metrics = headline.metrics();
        assert_eq!(value(&metrics, "mib_per_second"), 64.0);
        assert_eq!(value(&metrics, "cpu_percent"), 50.0);
        assert!(metrics[0].primary && !metrics[1].primary);
    }

    #[test]
    fn seekers_count_their_own_cpu_only() {
        let mut headline = HeadlineSums::new(&shape(1));
        headline.begin();
        (0..4).for_each(|_| {
            headline.add(Test::Seeks, &task(0, 500, 50), TaskMeasurements::default());
        });
        let metrics = headline.metrics();
        assert_eq!(value(&metrics, "ops_per_second"), 2000.0);
        assert_eq!(value(&metrics, "cpu_percent"), 40.0);
    }

    #[test]
    fn consecutive_runs_have_one_rate() {
        let mut headline = HeadlineSums::new(&shape(1));
        for began_ms in [0, 50_000] {
            headline.begin();
            headline.add(Test::BlockWrite, &task(began_ms, 1000, 0), TaskMeasurements::default());
        }
        assert_eq!(value(&headline.metrics(), "mib_per_second"), 64.0);
    }

    #[test]
    fn the_uncertainty_of_a_rate_follows_from_the_spread_of_its_pieces() {
        let noted = |tenth: u64| {
            let marks = (0..20).map(|piece| (piece * 10, piece * 1_000_000 + piece % 2 * tenth));
            TaskMeasurements { marks: marks.collect(), ..TaskMeasurements::default() }
        };
        let uncertainty = |noted: &TaskMeasurements, tasks: u64| {
            let mut measured = GroupTotals::default();
            (0..tasks).for_each(|_| measured.add(&task(0, 1000, 0), noted));
            measured.uncertainty_percent()
        };
        assert!(uncertainty(&noted(0), 1).unwrap() < 1e-6);
        let single = uncertainty(&noted(100_000), 1).unwrap();
        assert!((3.0..15.0).contains(&single), "{single}");
        let four = uncertainty(&noted(100_000), 4).unwrap();
        assert!((four - single / 2.0).abs() < 1e-6);
        assert_eq!(uncertainty(&TaskMeasurements::default(), 1), None);
    }
}
