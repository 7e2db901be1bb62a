//! `treering label`, `exclude` and `include`: annotate stored trials. Recorded data are never
//! changed.

mod delete;

use std::process::ExitCode;

use treering_model::{AnnotationKind, TrialId};
use treering_store::Store;

use crate::arguments::{ExcludeArgs, IncludeArgs, LabelArgs, StoreArgs};
use crate::classic_output::say;
use crate::clock;
use crate::failure::Failure;
use crate::storage::{failure, open_results, place_of};

pub(crate) use delete::run as delete;

/// Changes the label of trials.
pub(crate) fn label(args: &LabelArgs) -> Result<ExitCode, Failure> {
    let mut named = NamedTrials::find(&args.trials, &args.store)?;
    let label = args.label.clone();
    let words = match label.as_str() {
        "" => "label removed".to_owned(),
        label => format!("labelled '{label}'"),
    };
    named.add(&AnnotationKind::Relabelled { label, was: String::new() }, &words)?;
    Ok(ExitCode::SUCCESS)
}

/// Excludes trials from comparisons.
pub(crate) fn exclude(args: &ExcludeArgs) -> Result<ExitCode, Failure> {
    let reason = args.reason.trim();
    if reason.is_empty() {
        return Err(Failure::usage("--reason is empty").hint("give a reason; reports show it"));
    }
    let words = format!("is excluded from comparisons: {reason}");
    let change = AnnotationKind::Excluded { reason: reason.to_owned() };
    NamedTrials::find(&args.trials, &args.store)?.add(&change, &words)?;
    Ok(ExitCode::SUCCESS)
}

/// Includes excluded trials in comparisons again.
pub(crate) fn include(args: &IncludeArgs) -> Result<ExitCode, Failure> {
    let mut named = NamedTrials::find(&args.trials, &args.store)?;
    let trials = named.store.load_with_facts(&named.ids, &[]).map_err(|error| failure(&error))?;
    for trial in trials.iter().filter(|trial| trial.exclusion().is_none()) {
        let id = trial.beginning.trial;
        say(&format!("{id} was not excluded"));
        named.ids.retain(|one| *one != id);
    }
    named.add(&AnnotationKind::Included, "included again")?;
    Ok(ExitCode::SUCCESS)
}

/// Trials named on the command line, without duplicates, and the store that holds them.
struct NamedTrials {
    store: Store,
    ids: Vec<TrialId>,
}

impl NamedTrials {
    fn find(names: &[String], store: &StoreArgs) -> Result<Self, Failure> {
        // Opening the store to read moves waiting results into it, and does not create it.
        let reader = open_results(store)?;
        let mut ids = Vec::new();
        for name in names {
            let id = reader.find(name).map_err(|error| failure(&error))?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        drop(reader);
        Ok(Self { store: place_of(store).open_to_write()?, ids })
    }

    /// Adds the annotation to each of the trials, and prints a message.
    fn add(&mut self, change: &AnnotationKind, words: &str) -> Result<(), Failure> {
        let now_ms = clock::trial_unix_ms();
        self.store.annotate(&self.ids, now_ms, change).map_err(|error| failure(&error))?;
        self.ids.iter().for_each(|id| say(&format!("{id} {words}")));
        Ok(())
    }
}
