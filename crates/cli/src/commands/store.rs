//! `treering store`: maintains the store file: size, integrity, and unused space.

use std::io::{Write, stdout};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressDrawTarget};
use treering_model::{Ending, counted};
use treering_report::pages::machine::store::{StoreFacts, page};
use treering_results::open_to_write;
use treering_store::{Filter, Store, StoreError, TrialState};

use super::{output, overview, share};
use crate::arguments::{KeepVerb, OutputArgs};
use crate::classic_output::say;
use crate::colour::is_dumb;
use crate::failure::Failure;
use crate::storage::{failure, open_results};

/// Maximum number of unreadable trials that are named.
const NAMED_MAX: usize = 20;

/// Runs a subcommand of `treering store`.
pub(crate) fn run(verb: &KeepVerb) -> Result<ExitCode, Failure> {
    match verb {
        KeepVerb::Info { store, output } => info(&open_results(store)?, output),
        KeepVerb::Check { store } => check(&open_results(store)?),
        KeepVerb::Vacuum { store } => vacuum(open_results(store)?),
        KeepVerb::Overview(args) => return overview::run(args),
        KeepVerb::Pack(args) => return share::pack(args),
        KeepVerb::Merge(args) => return share::merge(args),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn info(store: &Store, args: &OutputArgs) -> Result<(), Failure> {
    let room = store.room().map_err(|error| failure(&error))?;
    let trials = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
    let count = |state: TrialState| trials.iter().filter(|one| one.state == state).count();
    let facts = StoreFacts {
        path: store.path().display().to_string(),
        version: store.version().to_string(),
        bytes: room.bytes,
        unused_bytes: room.unused,
        trials: trials.len(),
        interrupted: count(TrialState::Ended(Ending::Interrupted)),
        running: count(TrialState::Running),
    };
    output::write(&page(&facts), args)
}

fn check(store: &Store) -> Result<(), Failure> {
    store.check().map_err(|error| failure(&error))?;
    let trials = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
    let bar = ProgressBar::new(trials.len() as u64);
    if is_dumb() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let read = |trial| -> Result<(), StoreError> {
        store.load(trial)?;
        bar.inc(1);
        Ok(())
    };
    let all = trials.iter().map(|summary| (summary.trial, read(summary.trial)));
    let broken: Vec<_> = all.filter_map(|(trial, read)| Some((trial, read.err()?))).collect();
    bar.finish_and_clear();
    let path = store.path().display();
    if broken.is_empty() {
        _ = writeln!(stdout(), "{path}: {} read, no fault found", counted(trials.len(), "trial"));
        return Ok(());
    }
    for (trial, error) in broken.iter().take(NAMED_MAX) {
        say(&format!("treering: trial {trial}: {error}"));
    }
    if broken.len() > NAMED_MAX {
        say(&format!("treering: and {} more", broken.len() - NAMED_MAX));
    }
    let message =
        format!("{path}: {} of {} cannot be read", broken.len(), counted(trials.len(), "trial"));
    Err(Failure::environment(message)
        .hint("all others can be saved with `treering export --format json TRIAL…`"))
}

fn vacuum(found: Store) -> Result<(), Failure> {
    let path = found.path().to_owned();
    drop(found);
    let store = open_to_write(&path)?;
    let trials = store.trials(&Filter::default()).map_err(|error| failure(&error))?;
    if trials.iter().any(|trial| trial.state == TrialState::Running) {
        let message = format!("a run is recording into {}", path.display());
        return Err(Failure::environment(message)
            .hint("try again when `treering list` shows no running trial"));
    }
    let before = store.room().map_err(|error| failure(&error))?;
    store.vacuum().map_err(|error| {
        let failure = failure(&error);
        match error {
            StoreError::Full { .. } => failure.hint(format!(
                "as much space as the store has ({} bytes) is needed beside it and in the \
                 temporary directory (SQLITE_TMPDIR or /var/tmp); the store is unchanged",
                before.bytes
            )),
            _ => failure,
        }
    })?;
    let after = store.room().map_err(|error| failure(&error))?;
    let released = before.bytes.saturating_sub(after.bytes);
    _ = writeln!(stdout(), "{}: {} bytes, {released} bytes released", path.display(), after.bytes);
    Ok(())
}
