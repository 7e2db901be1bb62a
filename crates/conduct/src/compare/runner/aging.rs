//! Parts of aging runs, recorded as trials that prepare a round.

use std::sync::{Arc, Mutex, PoisonError};

use treering_age::{AgeWorkload, ResumedAging};
use treering_model::{
    Cell, CellRole, SinkError, Trial, TrialBuilder, TrialEvent, TrialHeader, TrialSink,
};
use treering_observe::ObserverOptions;
use treering_observe::layout::LayoutSchedule;
use treering_script::Workload;

use super::Runner;
use crate::aging::{AgingLeg, AgingRunner};
use crate::conduct::TrialPlan;
use crate::failure::Failure;
use crate::plan::document::options_until;
use crate::stage::{Stage, VARIANT_FACT, fact};
use crate::trial::beginning::{beginning, occupy};
use crate::trial::unrecorded;

impl AgingRunner for Runner<'_> {
    type Failure = Failure;

    fn age(&mut self, leg: &AgingLeg<'_>, stage: &Stage) -> Result<Trial, Failure> {
        let options = options_until(&leg.job.options, leg.operations);
        let settings = leg.job.settings.with_options(options);
        let job = match leg.earlier.as_slice() {
            [] => AgeWorkload.native(&settings)?,
            steps => ResumedAging { steps: steps.to_vec() }.native(&settings)?,
        };
        let place = occupy(&stage.work()?)?;
        let (trial, cell) = self.cell(&leg.cell);
        let cell = Cell {
            variant: leg.variant.name.clone(),
            job: leg.job.name.clone(),
            role: CellRole::Preparation,
            ..cell
        };
        // Variants of several ages share the target.
        let mut facts = stage.facts.clone();
        facts.retain(|fact| fact.name != VARIANT_FACT);
        facts.push(fact(VARIANT_FACT, leg.variant.name.clone()));
        facts.extend(self.plan_of_campaign(trial));
        let engine = leg.job.engine.options(job.as_ref(), self.plan.conditions.seed);
        let layout = Some(LayoutSchedule { every_tasks: 0, map: false });
        let prepared = TrialPlan {
            beginning: TrialHeader {
                label: leg.variant.name.clone(),
                cell: Some(cell),
                ..beginning(trial, &leg.job.workload, job.as_ref(), self.host.unix_ms())
            },
            job: job.as_ref(),
            engine,
            keep: true,
            cautions: stage.cautions.clone(),
            wanted: ObserverOptions { layout, ..ObserverOptions::default() },
            facts,
            metrics: &[],
            remount: None,
            world: None,
            environment: &[],
        };
        let whole = Arc::new(Mutex::new(TrialBuilder::default()));
        let also = Box::new(WholeTrial(Arc::clone(&whole)));
        self.record_here(prepared, place, (None, Some(also)))?;
        let mut whole = whole.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *whole).finish().ok_or_else(unrecorded)
    }

    fn tell(&self, words: &str) {
        self.say(&format!("  {words}"));
    }
}

/// Collects the events of a trial.
struct WholeTrial(Arc<Mutex<TrialBuilder>>);

impl TrialSink for WholeTrial {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        let pushed = self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        pushed.map_err(|error| SinkError::new("events are out of order", error))
    }
}
