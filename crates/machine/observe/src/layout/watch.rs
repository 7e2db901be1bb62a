//! Layout observer: surveys the target after each phase, and optionally every given number of
//! tasks. Syncs first.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use treering_model::metrics::MetricSpec;
use treering_model::metrics::layout::{
    ADJACENT_SIBLINGS_PERCENT, DIRECTORY_ORDER_PERCENT, DIRECTORY_STRETCHES, EXTENTS_PER_FILE,
    FREE_EXTENTS, FREE_IN_LARGE_PERCENT, FREE_IN_SMALL_PERCENT, FREE_MEAN_BYTES, GAP_BYTES_P90,
    GROUPS_IN_USE, GROUPS_PER_DIRECTORY, INODE_DISTANCE_MEDIAN, MODELLED_READ_SECONDS,
    NEXT_INODES_PERCENT, SCORE_PERCENT, SPAN_MEDIAN, TRAVERSAL_SCORE_PERCENT,
};
use treering_model::{
    Artifact, Fact, FileLayout, LAYOUT_AFTER_TASK, LAYOUT_ARTIFACT, LAYOUT_MAP_ARTIFACT,
    LAYOUT_VERSION, Metric, PhaseTotals, Scope, TaskTotals,
};
use treering_sys::open_top;

use super::{LayoutSurvey, SurveyPlan, survey};
use crate::{Findings, Observer, ObserverContext, TrialWatch};

/// Times at which layouts are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutSchedule {
    /// Interval in tasks; 0 for after each phase only.
    pub every_tasks: u32,
    /// True to store the map of the device, too.
    pub map: bool,
}

/// Observer of the target's layout, if requested.
#[derive(Debug)]
pub(crate) struct LayoutObserver;

impl Observer for LayoutObserver {
    fn name(&self) -> &'static str {
        "layout"
    }

    fn look(&self, _scene: &ObserverContext<'_>) -> Findings {
        Findings::default()
    }

    fn watch(&self, scene: &ObserverContext<'_>) -> Option<Box<dyn TrialWatch>> {
        let schedule = scene.options.layout?;
        let target = scene.target.to_owned();
        Some(Box::new(LayoutWatch {
            schedule,
            target,
            tasks: 0,
            problem: None,
            phase: 0,
            metrics: Vec::new(),
        }))
    }
}

struct LayoutWatch {
    schedule: LayoutSchedule,
    target: PathBuf,
    /// Number of ended tasks.
    tasks: u32,
    /// Reason of the first failed survey.
    problem: Option<String>,
    phase: u32,
    /// Metrics by the name of the phase; of phases of one name those of the last.
    metrics: Vec<(String, Vec<Metric>)>,
}

impl TrialWatch for LayoutWatch {
    fn phase_begins(&mut self, phase: u32, _name: &str) {
        self.phase = phase;
    }

    fn task_ended(&mut self, _totals: &TaskTotals) -> Findings {
        self.tasks = self.tasks.saturating_add(1);
        let every = self.schedule.every_tasks;
        if every == 0 || !self.tasks.is_multiple_of(every) {
            return Findings::default();
        }
        let Some(LayoutSurvey { layout, .. }) = self.survey(false) else {
            return Findings::default();
        };
        let name = format!("{LAYOUT_AFTER_TASK}{}", self.tasks);
        Findings { artifacts: artifact(self.phase, name, &layout), ..Findings::default() }
    }

    fn phase_ended(&mut self, totals: &PhaseTotals) -> Findings {
        let Some(LayoutSurvey { layout, map }) = self.survey(self.schedule.map) else {
            return Findings::default();
        };
        let mut artifacts = artifact(totals.phase, String::new(), &layout);
        let of_map = |map| Artifact::new(LAYOUT_MAP_ARTIFACT, LAYOUT_VERSION, &map).ok();
        let phase = Some(totals.phase);
        artifacts.extend(map.and_then(of_map).map(|made| Artifact { phase, ..made }));
        let metrics = layout_metrics(&layout, &Scope::Phase(totals.name.clone()));
        self.metrics.retain(|(name, _)| *name != totals.name);
        self.metrics.push((totals.name.clone(), metrics));
        Findings { artifacts, ..Findings::default() }
    }

    fn end(self: Box<Self>) -> Findings {
        let fact = |value| Fact { name: "layout.problem".to_owned(), value };
        let metrics = self.metrics.into_iter().flat_map(|(_, metrics)| metrics).collect();
        let facts = self.problem.map(fact).into_iter().collect();
        Findings { facts, metrics, ..Findings::default() }
    }
}

impl LayoutWatch {
    fn survey(&mut self, map: bool) -> Option<LayoutSurvey> {
        match take(&self.target, map) {
            Ok(survey) => Some(survey),
            Err(problem) => {
                self.problem.get_or_insert(problem);
                None
            }
        }
    }
}

fn take(target: &Path, map: bool) -> Result<LayoutSurvey, String> {
    let top = open_top(target).map_err(|errno| errno.to_string())?;
    let plan = SurveyPlan { map, write_back: true, ..SurveyPlan::default() };
    survey(top.as_fd(), &plan, &mut |_, _| ControlFlow::Continue(()))
        .map_err(|error| error.to_string())
}

fn artifact(phase: u32, name: String, layout: &FileLayout) -> Vec<Artifact> {
    // A layout that cannot be represented in JSON has no comparable numbers either.
    let made = Artifact::new(LAYOUT_ARTIFACT, LAYOUT_VERSION, layout).ok();
    made.map(|made| Artifact { phase: Some(phase), name, ..made }).into_iter().collect()
}

/// Metrics of a layout, for the whole trial or one of its phases.
pub fn layout_metrics(layout: &FileLayout, scope: &Scope) -> Vec<Metric> {
    let free = layout.free_space.as_ref();
    let percent = |share: Option<f64>| share.map(|share| share * 100.0);
    let structure = layout.structure.as_ref();
    let of_directories = structure.and_then(|found| found.directories.as_ref());
    let groups = structure.and_then(|found| found.groups);
    let values = [
        (EXTENTS_PER_FILE, layout.extents_per_file),
        (SCORE_PERCENT, percent(layout.layout_score)),
        (TRAVERSAL_SCORE_PERCENT, percent(layout.traversal_score)),
        (ADJACENT_SIBLINGS_PERCENT, percent(layout.adjacent_siblings)),
        (GAP_BYTES_P90, layout.gap_bytes.map(|gap| gap.p90 as f64)),
        (SPAN_MEDIAN, layout.span_median),
        (MODELLED_READ_SECONDS, layout.modelled_read.as_ref().map(|read| read.seconds.typical)),
        (DIRECTORY_ORDER_PERCENT, percent(of_directories.and_then(|found| found.in_order))),
        (DIRECTORY_STRETCHES, of_directories.map(|found| found.stretches as f64)),
        (INODE_DISTANCE_MEDIAN, structure.and_then(|found| Some(found.inode_distance?.p50 as f64))),
        (NEXT_INODES_PERCENT, percent(structure.and_then(|found| found.next_inodes))),
        (GROUPS_IN_USE, groups.map(|groups| groups.used as f64)),
        (GROUPS_PER_DIRECTORY, groups.and_then(|groups| groups.per_directory)),
        (FREE_EXTENTS, free.map(|free| free.extents as f64)),
        (FREE_MEAN_BYTES, free.and_then(|free| free.mean_bytes)),
        (FREE_IN_LARGE_PERCENT, percent(free.and_then(|free| free.large_share))),
        (FREE_IN_SMALL_PERCENT, percent(free.and_then(|free| free.small_share))),
    ];
    let metric = |(spec, value): (MetricSpec, Option<f64>)| Some(spec.of(scope.clone(), value?));
    values.into_iter().filter_map(metric).collect()
}

#[cfg(test)]
mod tests {
    use super::{LayoutObserver, LayoutSchedule};
    use crate::{Observer, ObserverContext, ObserverOptions};
    use std::path::Path;
    use treering_model::{FileLayout, PhaseTotals, TaskTotals};

    fn scene(target: &Path, schedule: Option<LayoutSchedule>) -> ObserverContext<'_> {
        ObserverContext {
            target,
            options: ObserverOptions { layout: schedule, ..ObserverOptions::default() },
        }
    }

    #[test]
    fn surveys_run_only_on_request() {
        assert!(LayoutObserver.watch(&scene(Path::new("/"), None)).is_none());
    }

    #[test]
    fn filesystems_without_extents_report_a_problem() {
        let wanted = LayoutSchedule { every_tasks: 2, map: false };
        let mut watch = LayoutObserver.watch(&scene(Path::new("/nowhere"), Some(wanted))).unwrap();
        let seen = watch.phase_ended(&PhaseTotals::default());
        assert!(seen.metrics.is_empty() && seen.artifacts.is_empty());
        assert_eq!(watch.end().facts[0].name, "layout.problem");
    }

    #[test]
    fn layouts_are_taken_after_tasks_and_phases() {
        // Beside the program, where it is built: hardly ever a filesystem in memory.
        let place = tempfile::tempdir_in(".").unwrap();
        std::fs::write(place.path().join("file"), vec![1; 9000]).unwrap();
        let wanted = LayoutSchedule { every_tasks: 2, map: true };
        let scene = scene(place.path(), Some(wanted));
        let mut watch = LayoutObserver.watch(&scene).unwrap();
        watch.phase_begins(1, "work");
        let tasks: Vec<_> =
            (0..5).map(|_| watch.task_ended(&TaskTotals::default()).artifacts).collect();
        let seen = watch.phase_ended(&PhaseTotals { phase: 1, ..PhaseTotals::default() });
        std::fs::write(place.path().join("other"), vec![1; 9000]).unwrap();
        watch.phase_ended(&PhaseTotals { phase: 2, ..PhaseTotals::default() });
        let end = watch.end();
        if !end.facts.is_empty() {
            return; // A filesystem that does not tell: said above.
        }
        let names: Vec<_> = tasks.iter().flatten().map(|made| made.name.as_str()).collect();
        assert_eq!(names, ["after task 2", "after task 4"]);
        assert_eq!(seen.artifacts.len(), 2);
        let layout: FileLayout = serde_json::from_str(&seen.artifacts[0].body).unwrap();
        assert_eq!(layout.files, 1);
        let found = end.metrics.iter().filter(|metric| metric.name == "layout_extents_per_file");
        assert_eq!(found.count(), 1, "two phases of one name have one metric");
    }
}
