//! Trials of cells in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use treering_engine::{EngineOptions, RunProgress, TrialClock};
use treering_lab::OwnedDirectory;
use treering_model::{Artifact, Cell, Ending, TrialHeader, TrialId, TrialSink};
use treering_observe::ObserverOptions;
use treering_sys::raise_open_files;

use super::Runner;
use crate::cells::PlannedCell;
use crate::compare::reboots::Rebooting;
use crate::conduct::{Conclusion, TrialPlan, conduct};
use crate::failure::Failure;
use crate::host::RecordedTrial;
use crate::messages::say_left_behind;
use crate::stage::Stage;
use crate::trial::beginning::beginning;
use crate::trial::{Recipients, WithSources, sources, unrecorded};

impl Runner<'_> {
    /// Runs the trial of a cell in this process.
    pub(super) fn run_here(
        &mut self,
        planned: &PlannedCell,
        stage: &Stage,
        place: OwnedDirectory,
    ) -> Result<(), Failure> {
        let (trial, cell) = self.cell(planned);
        let job = self.job(planned);
        let remount = || stage.remount();
        let mut prepared = self.trial_plan(planned, stage, (trial, cell));
        prepared.remount = (self.plan.conditions.remount || job.job.remounts()).then_some(&remount);
        let sources = sources(job.record.clone(), self.host);
        let ending = self.record_here(prepared, place, (sources, None))?;
        self.record_ending(planned, trial, &ending)?;
        self.reboots.as_ref().map_or(Ok(()), Rebooting::is_used)
    }

    /// Conducts a trial and records it, with its sources, in the store and in a further sink.
    pub(super) fn record_here<'s>(
        &'s self,
        mut prepared: TrialPlan<'s>,
        mut place: OwnedDirectory,
        (sources, also): (Option<Artifact>, Option<Box<dyn TrialSink + 's>>),
    ) -> Result<Ending, Failure> {
        prepared.beginning.target = place.target().path().to_string_lossy().into_owned();
        let _as_many_as_we_may = raise_open_files();
        let under_test: Vec<PathBuf> =
            place.roots().iter().map(|root| root.path().to_owned()).collect();
        let under_test: Vec<&Path> = under_test.iter().map(PathBuf::as_path).collect();
        let trial = prepared.beginning.trial;
        let recorded =
            RecordedTrial { trial, is_optional: false, under_test: &under_test, stop: self.stop };
        let (mut prepared, mut concluded) = (Some((prepared, sources, also)), None);
        let record_result = self.store.record(&recorded, &mut |store, caution| {
            let Some((mut prepared, sources, also)) = prepared.take() else { return };
            prepared.engine.clock = TrialClock::begin();
            prepared.cautions.splice(0..0, caution);
            let progress = Arc::new(RunProgress::new());
            let mut others: Vec<Box<dyn TrialSink + '_>> = Vec::new();
            for sink in self.listeners(prepared.job, &progress) {
                others.push(sink);
            }
            others.extend(also);
            let mut sinks = WithSources { sources, sink: Recipients { first: store, others } };
            let none_is_removed = &mut |_: &str| {};
            concluded = Some(conduct(
                prepared,
                &mut place,
                &mut sinks,
                &progress,
                self.stop,
                none_is_removed,
            ));
            self.stop.lift_halt();
        });
        let Some(concluded) = concluded else { return record_result.and(Err(unrecorded())) };
        let Conclusion { ending, left_behind, .. } = concluded?;
        say_left_behind(&left_behind, &|words| self.host.say(words));
        record_result?;
        Ok(ending)
    }

    /// Plan of a cell's trial in this process, without the target directory.
    fn trial_plan<'s>(
        &'s self,
        planned: &PlannedCell,
        stage: &'s Stage,
        (trial, cell): (TrialId, Cell),
    ) -> TrialPlan<'s> {
        let job = self.job(planned);
        let facts = self.all_facts(planned, stage, trial);
        let (wanted, parameters) = self.plan.observed(planned.role);
        let wanted = ObserverOptions { heat_half_life: job.engine.heat_half_life(), ..wanted };
        let mut beginning = TrialHeader {
            label: self.label(planned),
            cell: Some(cell),
            ..beginning(trial, &job.workload, job.job.as_ref(), self.host.unix_ms())
        };
        beginning.parameters.extend(job.parameters_around());
        beginning.parameters.extend(parameters);
        TrialPlan {
            beginning,
            job: job.job.as_ref(),
            engine: EngineOptions {
                handicap_percent: self.plan.variants[planned.variant].handicap_percent,
                ..job.engine.options(job.job.as_ref(), self.plan.conditions.seed)
            },
            // The next cell formats the device, so there is no need to remove trees.
            keep: stage.is_fresh(),
            cautions: stage.cautions.clone(),
            wanted,
            facts,
            metrics: &stage.metrics,
            remount: None,
            world: None,
            environment: &self.plan.variants[planned.variant].settings.env,
        }
    }
}
