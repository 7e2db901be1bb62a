//! Compares the metrics of a run with those that its job announced beforehand.

use treering_model::{Metric, SinkError, TaskTotals, TrialEvent, TrialSink};
use treering_script::{Job, TargetFacts};

/// Asserts that the job announced every metric of its run, and announced as primary every metric
/// that is primary.
pub fn assert_was_foreseen(job: &dyn Job, metrics: &[Metric]) {
    let foreseen = job.foreseen_metrics(&TargetFacts::unknown());
    for metric in metrics {
        let name = metric.full_name();
        let known = foreseen.iter().find(|other| other.full_name() == name);
        assert!(known.is_some(), "{name} was not foreseen");
        assert!(
            !metric.primary || known.is_some_and(|other| other.primary),
            "{name} was not to decide"
        );
    }
}

/// Asserts as [`assert_was_foreseen`], and that no announced primary metric is missing, unless the
/// run has none at all.
pub fn assert_decides_as_foreseen(job: &dyn Job, metrics: &[Metric]) {
    assert_was_foreseen(job, metrics);
    let deciding = |metrics: &[Metric]| -> Vec<String> {
        metrics.iter().filter(|metric| metric.primary).map(Metric::full_name).collect()
    };
    if !deciding(metrics).is_empty() {
        assert_eq!(deciding(metrics), deciding(&job.foreseen_metrics(&TargetFacts::unknown())));
    }
}

/// Sink that keeps the totals of ended tasks.
#[derive(Default)]
pub struct TaskCollector(pub Vec<TaskTotals>);

impl TrialSink for TaskCollector {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if let TrialEvent::TaskEnded(task) = event {
            self.0.push(task.clone());
        }
        Ok(())
    }
}
