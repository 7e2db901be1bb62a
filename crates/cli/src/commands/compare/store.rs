//! Store of the results of a plan.

use std::path::{Path, PathBuf};

use treering_conduct::plan::Judging;
use treering_conduct::{
    EarlierTrial, Failure as ConductFailure, MeasuredVariant, RecordedTrial, ResultStore, Standing,
    StoredCell,
};
use treering_model::{Caution, Ending, TrialId, TrialSink};
use treering_store::{Filter, LoadDetail, TrialState, TrialSummary};

use super::judging::standing;
use crate::arguments::StoreArgs;
use crate::commands::share::record_of;
use crate::failure::Failure;
use crate::places;
use crate::sinks::{Recording, WithRecord};
use crate::storage::{Keeping, failure, open_to_read, open_to_write, refuse_under_test};

/// Store that the user named, or the default one.
pub(crate) struct PlanStore<'a> {
    named: Option<&'a Path>,
}

impl<'a> PlanStore<'a> {
    pub(crate) fn new(args: &'a StoreArgs) -> Self {
        Self { named: args.store.as_deref() }
    }

    fn recorded(
        &self,
        trial: &RecordedTrial<'_>,
        run: &mut dyn FnMut(&mut dyn TrialSink, Option<Caution>),
    ) -> Result<(), Failure> {
        let mut keeping = Keeping::open(self.named, false, trial.under_test, trial.trial)?;
        let caution = keeping.caution();
        let mut unwritten = None;
        if let Some(store) = keeping.store() {
            let stop = trial.stop.clone();
            let recording = Recording::new(store.recorder(), false, stop, &mut unwritten);
            let record = trial.record.cloned().and_then(record_of);
            run(&mut WithRecord { record, others: vec![Box::new(recording)] }, caution);
        }
        keeping.settle()?;
        unwritten.map_or(Ok(()), Err)
    }
}

impl ResultStore for PlanStore<'_> {
    fn record(
        &self,
        trial: &RecordedTrial<'_>,
        run: &mut dyn FnMut(&mut dyn TrialSink, Option<Caution>),
    ) -> Result<(), ConductFailure> {
        Ok(self.recorded(trial, run)?)
    }

    fn cells(&self, plan: &str, resumes: bool) -> Result<Vec<StoredCell>, ConductFailure> {
        let filter = Filter { plan: Some(plan.to_owned()), ..Filter::default() };
        let trials = match open_to_read(self.named) {
            Ok(Some(store)) => store.trials(&filter).map_err(|error| failure(&error))?,
            Ok(None) => Vec::new(),
            // A store that is not there yet will be made.
            Err(_) if !resumes => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let stored = |trial: TrialSummary| {
            Some(StoredCell {
                trial: trial.trial,
                cell: trial.cell?,
                is_result: match &trial.state {
                    TrialState::Running => false,
                    TrialState::Ended(ending) => *ending != Ending::Interrupted,
                },
                is_excluded: trial.excluded.is_some(),
            })
        };
        Ok(trials.into_iter().filter_map(stored).collect())
    }

    fn parameters(&self, trials: &[TrialId]) -> Result<Vec<Vec<(String, String)>>, ConductFailure> {
        let Some(store) = open_to_read(self.named)? else { return Ok(Vec::new()) };
        let trials = store.load_with_facts(trials, &[]).map_err(|error| failure(&error))?;
        Ok(trials.into_iter().map(|trial| trial.beginning.parameters).collect())
    }

    fn earlier(&self, workload: &str, limit: usize) -> Result<Vec<EarlierTrial>, ConductFailure> {
        let Some(store) = open_to_read(self.named).ok().flatten() else { return Ok(Vec::new()) };
        let workload = Some(workload.to_owned());
        let filter = Filter { workload, limit: Some(limit), ..Filter::default() };
        let mut trials = store.trials(&filter).map_err(|error| failure(&error))?;
        trials.retain(|trial| trial.state == TrialState::Ended(Ending::Completed));
        let ids: Vec<TrialId> = trials.iter().map(|trial| trial.trial).collect();
        let trials =
            store.load_many(&ids, LoadDetail::Headlines).map_err(|error| failure(&error))?;
        let earlier = trials.into_iter().map(|trial| EarlierTrial {
            parameters: trial.beginning.parameters,
            seconds: trial.wall_ns as f64 / 1e9,
        });
        Ok(earlier.collect())
    }

    fn standing(
        &self,
        variants: &[MeasuredVariant<'_>],
        judging: &Judging,
    ) -> Result<Standing, ConductFailure> {
        let Some(store) = open_to_read(self.named)? else { return Ok(Standing::default()) };
        Ok(standing(&store, variants, judging)?)
    }

    fn make_named(&self) -> Result<(), ConductFailure> {
        if let Some(named) = self.named {
            open_to_write(named)?;
        }
        Ok(())
    }

    fn file(&self, under_test: &[&Path]) -> Result<Option<PathBuf>, ConductFailure> {
        let Some(named) = self.named else { return Ok(Some(places::default_store()?)) };
        refuse_under_test(named, under_test)?;
        Ok(Some(named.to_owned()))
    }
}
