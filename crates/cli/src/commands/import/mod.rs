//! `treering import`: imports logs of other tools, and exports of treering, into the store.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use treering_model::{Annotation, AnnotationKind, Trial, TrialId, counted};
use treering_registry::{
    ImportFile, ImportFileError, ImportFiles, ImportReader, ORIGIN_FACTS, OutputOutline, PhaseRows,
    TrialOrigin, completed_trial, events_of, labels, origins_of, read_files, remarks, tools,
    without_rows,
};
use treering_report::pages::imported::{ImportView, ImportedRow, page};
use treering_store::{Filter, Store, StoreError};

use crate::arguments::ImportArgs;
use crate::clock;
use crate::commands::output;
use crate::failure::Failure;
use crate::places;
use crate::storage::{failure, open_to_write};

/// Maximum number of skipped trials that are named; more are only counted.
const SKIPPED_MAX: usize = 3;

/// Imports the files.
pub(crate) fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let ImportFiles { files, errors } = read_files(&args.files, &std::env::temp_dir());
    let mut failures = errors.into_iter().map(unreadable_file);
    if files.iter().all(|file| file.scan.outlines.is_empty()) {
        if let Some(failure) = failures.next() {
            return Err(failure);
        }
        return Err(nothing_found(&files));
    }
    let labels = labels(&files, &args.label)?;
    let mut keeper =
        if args.dry_run { None } else { Some(TrialImporter::open(args.store.store.as_deref())?) };
    let mut rows = Vec::new();
    let mut counters = remarks(&files);
    let first_failure = failures.next();
    counters.extend(failures.map(|failure| format!("{}; skipped", failure.message())));
    let mut labels = labels.into_iter();
    for file in files.iter().filter(|file| !file.scan.outlines.is_empty()) {
        let source = file.reopened().map_err(unreadable_file)?;
        let wrong = |error| ImportFileError::unread(&file.path, error);
        let mut importing =
            ImportReader::new(source.as_ref()).map_err(wrong).map_err(unreadable_file)?;
        let mut outlines = file.scan.outlines.iter().peekable();
        while let Some(line) = outlines.peek().map(|outline| outline.lines.0) {
            // Only one trial at a time is in memory.
            let mut take = |content| -> Result<(), Failure> {
                let changed =
                    || ImportFileError::unread(&file.path, "it changed while it was read");
                let is_next = |outline: &&OutputOutline| outline.lines.0 == line;
                let outline =
                    outlines.next_if(is_next).ok_or_else(changed).map_err(unreadable_file)?;
                let label = labels.next().unwrap_or_default();
                let now_unix_ms = clock::trial_unix_ms();
                let (trial, table) = completed_trial(content, outline, file, &label, now_unix_ms);
                let is_kept = match &mut keeper {
                    None => false,
                    Some(keeper) => keeper.keep(&trial, &table, args.again)?,
                };
                let (first, last) = outline.lines;
                let place = format!("{}:{first}-{last}", file.name);
                let more = (table.len(), table.metrics_count());
                rows.push(ImportedRow::new(place, outline.tool, is_kept, &trial, more));
                Ok(())
            };
            let mut taken = Ok(());
            let read = importing.read(line, &mut |content| {
                taken = take(content);
                if taken.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            read.map_err(wrong).map_err(unreadable_file)?;
            taken?;
            if outlines.peek().is_some_and(|outline| outline.lines.0 == line) {
                let why = "it changed while it was read";
                return Err(unreadable_file(ImportFileError::unread(&file.path, why)));
            }
        }
    }
    counters.extend(keeper.map_or_else(Vec::new, TrialImporter::notes));
    let store = args.store.store.as_deref().map(Path::to_string_lossy);
    let view = ImportView {
        notes: &counters,
        is_dry: args.dry_run,
        is_whole: args.full || args.output.format.is_some(),
        store: store.as_deref(),
    };
    output::write(&page(&rows, &view), &args.output)?;
    // Trials that could be read are stored even if others could not.
    first_failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Failure for files without an output. The first remark explains why text that begins like an
/// output is none.
fn nothing_found(files: &[ImportFile]) -> Failure {
    let known = format!("supported logs: {}", tools().collect::<Vec<_>>().join(", "));
    let mut remarks = remarks(files).into_iter();
    match remarks.next() {
        Some(first) => Failure::usage(first).hint(remarks.next().unwrap_or(known)),
        None => {
            let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            let message = format!("no known output in {}", names.join(", "));
            Failure::usage(message).hint(known)
        }
    }
}

/// Failure for a file that cannot be imported.
fn unreadable_file(error: ImportFileError) -> Failure {
    Failure::usage(error.to_string()).hint(error.hint())
}

/// The store, and the origins of the trials in it.
struct TrialImporter {
    store: Store,
    trials: HashSet<TrialId>,
    origins: HashMap<TrialOrigin, TrialId>,
    /// A note for each trial that was in the store already.
    skipped: Vec<String>,
}

impl TrialImporter {
    fn open(named: Option<&Path>) -> Result<Self, Failure> {
        let place = match named {
            Some(place) => place.to_owned(),
            None => places::default_store()?,
        };
        let store = open_to_write(&place)?;
        Self::of(store).map_err(|error| failure(&error))
    }

    fn of(store: Store) -> Result<Self, StoreError> {
        let known = store.trials(&Filter::default())?;
        let trials = known.iter().map(|known| known.trial).collect();
        let facts = store.facts(&ORIGIN_FACTS)?;
        let mut origins = HashMap::new();
        for of_trial in facts.chunk_by(|(one, _), (other, _)| one == other) {
            for origin in origins_of(of_trial.iter().map(|(_, fact)| fact)) {
                origins.entry(origin).or_insert(of_trial[0].0);
            }
        }
        Ok(Self { store, trials, origins, skipped: Vec::new() })
    }

    /// Notes on the trials that were in the store already; many are counted.
    fn notes(self) -> Vec<String> {
        if self.skipped.len() <= SKIPPED_MAX {
            return self.skipped;
        }
        let skipped = counted(self.skipped.len(), "output");
        vec![format!("{skipped} already in the store: skipped (--again stores them once more)")]
    }

    fn remember_origin(&mut self, trial: &Trial) {
        let id = trial.beginning.trial;
        self.trials.insert(id);
        for origin in origins_of(trial.facts.iter()) {
            self.origins.entry(origin).or_insert(id);
        }
    }

    /// Trial in the store that equals this one: same identity, same lines of the same file, or the
    /// same rows.
    fn stored_equal(&self, trial: &Trial) -> Option<TrialId> {
        let id = trial.beginning.trial;
        if self.trials.contains(&id) {
            Some(id)
        } else {
            let origins = origins_of(trial.facts.iter());
            let there: Option<Vec<TrialId>> =
                origins.iter().map(|origin| self.origins.get(origin).copied()).collect();
            there?.first().copied()
        }
    }

    /// Stores a trial unless it is stored already, since a duplicate would look like another run.
    fn keep(&mut self, trial: &Trial, rows: &PhaseRows, again: bool) -> Result<bool, Failure> {
        let header = &trial.beginning;
        if let Some(there) = self.stored_equal(trial)
            && (there == header.trial || !again)
        {
            let hint = if there == header.trial { "" } else { " (--again stores it once more)" };
            self.skipped.push(format!(
                "'{}' of {} is already in the store as {there}: skipped{hint}",
                header.label, header.workload
            ));
            return Ok(false);
        }
        let mut trial = trial.clone();
        if !again {
            without_rows(&mut trial, |row| self.origins.contains_key(row));
        }
        let trial = &trial;
        let mut recorder = self.store.recorder().copying();
        for event in events_of(trial, rows) {
            recorder.record(&event).map_err(|error| failure(&error))?;
        }
        drop(recorder);
        if let Some(reason) = trial.exclusion() {
            let now_ms = clock::trial_unix_ms();
            let change = AnnotationKind::Excluded { reason: reason.to_owned() };
            let annotated = self.store.annotate(&[header.trial], now_ms, &change);
            annotated.map_err(|error| failure(&error))?;
        }
        for change in Annotation::acknowledgements(&trial.annotations) {
            let annotation = AnnotationKind::Acknowledged(change.clone());
            let annotated =
                self.store.annotate(&[header.trial], clock::trial_unix_ms(), &annotation);
            annotated.map_err(|error| failure(&error))?;
        }
        self.remember_origin(trial);
        Ok(true)
    }
}
