//! Store of the results of plans, of series and of single runs.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use treering_analysis::history;
use treering_conduct::plan::Judging;
use treering_conduct::watch::{AnchorChanges, ChangedFact, SeriesStore};
use treering_conduct::{
    EarlierTrial, Failure, MeasuredVariant, RecordedTrial, ResultStore, Standing, StoredCell,
    WarmUpTrial,
};
use treering_model::{
    Accelerator, AnnotationKind, Artifact, Caution, Ending, GuestSpec, Trial, TrialId, TrialSink,
};
use treering_store::{Filter, LoadDetail, Store, TrialState, TrialSummary};

use crate::place::{ResultDestination, StorePlace, refuse_under_test};
use crate::recording::{NoStore, StoreSink};
use crate::standing::standing;
use crate::store_error::{failure, open_to_write};

/// Store that the user named, or the default one, or none.
pub struct PlanStore<'a> {
    place: StorePlace<'a>,
    /// True if results are kept.
    keeps: bool,
    /// Open store of the newest trial, for a run outside of plans.
    newest: Option<RefCell<Option<Store>>>,
}

impl<'a> PlanStore<'a> {
    /// Store of the trials of a plan.
    pub fn new(place: StorePlace<'a>) -> Self {
        Self { place, keeps: true, newest: None }
    }

    /// Store of a run outside of plans; without `keeps` its results are discarded.
    pub fn of_run(place: StorePlace<'a>, keeps: bool) -> Self {
        Self { place, keeps, newest: Some(RefCell::default()) }
    }

    /// Takes the store that now holds the newest trial; `None` if that is not kept.
    pub fn take_newest(&self) -> Option<Store> {
        self.newest.as_ref()?.take()
    }

    /// Opens the destination of a trial. If the trial's results are optional, as for imitated
    /// tools, which store none, it runs even if they cannot be stored, unless the user named the
    /// store.
    fn destination(&self, trial: &RecordedTrial<'_>) -> Result<ResultDestination, Failure> {
        if !self.keeps {
            return Ok(ResultDestination::nowhere());
        }
        match self.place.destination(trial.under_test, trial.trial) {
            Err(failure) if trial.is_optional && self.place.named.is_none() => {
                let why = failure.message();
                self.place.host.say(&format!("treering: the results are not stored: {why}"));
                Ok(ResultDestination::nowhere())
            }
            opened => opened,
        }
    }
}

impl ResultStore for PlanStore<'_> {
    fn keeps_results(&self) -> bool {
        self.keeps
    }

    fn record(
        &self,
        trial: &RecordedTrial<'_>,
        run: &mut dyn FnMut(&mut dyn TrialSink, Option<Caution>),
    ) -> Result<(), Failure> {
        let mut destination = self.destination(trial)?;
        let caution = destination.caution();
        let mut unwritten = None;
        match destination.store() {
            Some(store) => {
                let (recorder, stop) = (store.recorder(), trial.stop.clone());
                let mut recording = StoreSink::new(
                    recorder,
                    (trial.is_optional, stop),
                    &mut unwritten,
                    self.place.host,
                );
                run(&mut recording, caution);
            }
            None => run(&mut NoStore, caution),
        }
        let settled = destination.finish();
        unwritten.map_or(Ok(()), Err)?;
        let store = settled?;
        if let Some(newest) = &self.newest {
            newest.replace(store);
        }
        Ok(())
    }

    fn cells(&self, plan: &str, resumes: bool) -> Result<Vec<StoredCell>, Failure> {
        let filter = Filter { plan: Some(plan.to_owned()), ..Filter::default() };
        let trials = match self.place.open_to_read() {
            Ok(Some(store)) => store.trials(&filter).map_err(|error| failure(&error))?,
            Ok(None) => Vec::new(),
            // A missing store will be created.
            Err(_) if !resumes => Vec::new(),
            Err(error) => return Err(error),
        };
        let stored = |trial: TrialSummary| {
            Some(StoredCell {
                trial: trial.trial,
                cell: trial.cell?,
                is_result: match &trial.state {
                    TrialState::Running => false,
                    TrialState::Ended(ending) => *ending != Ending::Interrupted,
                },
                has_failed: matches!(&trial.state, TrialState::Ended(Ending::Failed { .. })),
                is_excluded: trial.excluded.is_some(),
            })
        };
        Ok(trials.into_iter().filter_map(stored).collect())
    }

    fn warm_ups(&self, trials: &[TrialId]) -> Result<Vec<WarmUpTrial>, Failure> {
        let Some(store) = self.place.open_to_read()? else { return Ok(Vec::new()) };
        let mut trials =
            store.load_many(trials, LoadDetail::Headlines).map_err(|error| failure(&error))?;
        trials.retain(|trial| trial.ending == Ending::Completed);
        let number = |trial: &Trial, name: &str| trial.fact(name)?.parse().ok();
        let warm_up = |trial: Trial| {
            // Host seconds of a second of the guest.
            let scale = match trial.fact_seconds(GuestSpec::TRIAL_SECONDS_FACT) {
                Some(host_seconds) if trial.wall_ns > 0 => {
                    host_seconds / (trial.wall_ns as f64 / 1e9)
                }
                _ => 1.0,
            };
            let phases = trial.phases.iter();
            let phases = phases.map(|it| (it.name.clone(), it.wall_ns as f64 / 1e9 * scale));
            WarmUpTrial {
                free_bytes: number(&trial, "filesystem.free_bytes"),
                free_inodes: number(&trial, "filesystem.free_inodes"),
                phases: phases.collect(),
                boot_seconds: trial.fact_seconds(GuestSpec::BOOT_SECONDS_FACT).unwrap_or_default(),
            }
        };
        Ok(trials.into_iter().map(warm_up).collect())
    }

    fn parameters(&self, trials: &[TrialId]) -> Result<Vec<Vec<(String, String)>>, Failure> {
        let Some(store) = self.place.open_to_read()? else { return Ok(Vec::new()) };
        let trials = store.load_with_facts(trials, &[]).map_err(|error| failure(&error))?;
        Ok(trials.into_iter().map(|trial| trial.beginning.parameters).collect())
    }

    fn facts(&self, name: &str) -> Result<Vec<(TrialId, String)>, Failure> {
        let Some(store) = self.place.open_to_read()? else { return Ok(Vec::new()) };
        let facts = store.facts(&[name]).map_err(|error| failure(&error))?;
        Ok(facts.into_iter().map(|(trial, fact)| (trial, fact.value)).collect())
    }

    fn artifacts(&self, kind: &str) -> Result<Vec<(TrialId, Artifact)>, Failure> {
        let Some(store) = self.place.open_to_read()? else { return Ok(Vec::new()) };
        store.artifacts_of_kind(kind).map_err(|error| failure(&error))
    }

    fn earlier(&self, workload: &str, limit: usize) -> Result<Vec<EarlierTrial>, Failure> {
        let Some(store) = self.place.open_to_read().ok().flatten() else { return Ok(Vec::new()) };
        let workload = Some(workload.to_owned());
        let filter = Filter { workload, limit: Some(limit), ..Filter::default() };
        let mut trials = store.trials(&filter).map_err(|error| failure(&error))?;
        trials.retain(|trial| trial.state == TrialState::Ended(Ending::Completed));
        let ids: Vec<TrialId> = trials.iter().map(|trial| trial.trial).collect();
        let trials =
            store.load_many(&ids, LoadDetail::Headlines).map_err(|error| failure(&error))?;
        let earlier = trials.into_iter().map(|trial| {
            let of_guest = trial
                .fact_seconds(GuestSpec::TRIAL_SECONDS_FACT)
                .zip(trial.fact_seconds(GuestSpec::BOOT_SECONDS_FACT));
            let of_host = trial.wall_ns as f64 / 1e9;
            EarlierTrial {
                seconds: of_guest.map_or(of_host, |(trial, boot)| trial + boot),
                is_of_guest: trial.fact(Accelerator::FACT).is_some(),
                started_unix_ms: trial.beginning.started_unix_ms,
                cell: trial.beginning.cell,
                parameters: trial.beginning.parameters,
            }
        });
        Ok(earlier.collect())
    }

    fn boots(&self, limit: usize) -> Result<Vec<f64>, Failure> {
        let Some(store) = self.place.open_to_read().ok().flatten() else { return Ok(Vec::new()) };
        let facts =
            store.facts(&[GuestSpec::BOOT_SECONDS_FACT]).map_err(|error| failure(&error))?;
        let boots = facts.iter().take(limit).filter_map(|(_, fact)| fact.value.parse().ok());
        Ok(boots.filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0).collect())
    }

    fn standing(
        &self,
        variants: &[MeasuredVariant],
        judging: &Judging,
    ) -> Result<Standing, Failure> {
        let Some(store) = self.place.open_to_read()? else { return Ok(Standing::default()) };
        standing(&store, variants, judging)
    }

    fn make_named(&self) -> Result<(), Failure> {
        self.place.named.map_or(Ok(()), |named| open_to_write(named).map(|_made| ()))
    }

    fn file(&self, under_test: &[&Path]) -> Result<Option<PathBuf>, Failure> {
        self.place.named.map_or(Ok(()), |named| refuse_under_test(named, under_test))?;
        self.place.path().map(Some)
    }
}

impl SeriesStore for PlanStore<'_> {
    fn ended_trials(&self, plan: &str) -> Result<Vec<Trial>, Failure> {
        // A missing store will be created.
        if self.place.named.is_some_and(|place| !place.exists()) {
            return Ok(Vec::new());
        }
        let Some(store) = self.place.open_to_read()? else { return Ok(Vec::new()) };
        let filter = Filter { plan: Some(plan.to_owned()), ..Filter::default() };
        let mut summaries = store.trials(&filter).map_err(|error| failure(&error))?;
        summaries.retain(|summary| matches!(summary.state, TrialState::Ended(_)));
        let ids: Vec<TrialId> = summaries.iter().rev().map(|summary| summary.trial).collect();
        store.load_many(&ids, LoadDetail::Headlines).map_err(|error| failure(&error))
    }

    fn annotate(
        &self,
        trials: &[TrialId],
        now_ms: i64,
        change: &AnnotationKind,
    ) -> Result<(), Failure> {
        let mut store = self.place.open_to_write()?;
        store.annotate(trials, now_ms, change).map_err(|error| failure(&error))
    }

    fn anchor_changes(&self, before: Vec<Trial>, after: Vec<Trial>) -> AnchorChanges {
        let fact = |fact: history::ChangedFact| ChangedFact {
            name: fact.name,
            before: fact.before,
            after: fact.after,
        };
        let changes = history::anchor_changes(before, after);
        AnchorChanges {
            of_anchor: changes.of_anchor.into_iter().map(fact).collect(),
            of_machine: changes.of_machine.into_iter().map(fact).collect(),
        }
    }
}
