//! Storing of imported trials: each once, and a corrected value in the place of the old one.

use std::thread;
use std::time::{Duration, Instant};

use treering_conduct::Failure;
use treering_model::{Annotation, AnnotationKind, Fact, Trial, TrialId, counted};
use treering_registry::{
    ImportState, KnownOrigins, ORIGIN_FACTS, PhaseRows, correction_reason, events_of, take_place,
};
use treering_store::{Filter, Store, StoreError};

use crate::place::StorePlace;
use crate::store_error::failure;

/// Maximum number of trials that are each named; more are counted.
const NAMED_MAX: usize = 3;
/// Time after which a batch is committed: until then, other writers of the store wait.
const BATCH: Duration = Duration::from_secs(1);
/// Pause between two batches, longer than those between two attempts of a waiting writer.
const PAUSE: Duration = Duration::from_millis(120);

/// Import of a trial.
#[derive(Clone, Copy)]
pub struct TrialImport<'i> {
    /// Name of the file.
    pub file: &'i str,
    /// True for a trial of an export, which nobody has corrected: another one is another run.
    pub is_exported: bool,
    /// True to store it once more.
    pub again: bool,
}

/// The store, and the origins of the trials in it.
pub struct TrialImporter {
    store: Store,
    /// Time of the import, in milliseconds since 1970 (UTC).
    now_unix_ms: i64,
    known: KnownOrigins,
    /// Begin of the batch, and end of the one before.
    begun: Option<Instant>,
    committed: Option<Instant>,
    /// A note for each trial that was in the store already.
    skipped: Vec<String>,
    /// A note for each trial with corrected values.
    corrected: Vec<String>,
}

impl TrialImporter {
    /// Opens the store, and reads the origins of its trials.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    pub fn open(place: StorePlace<'_>) -> Result<Self, Failure> {
        let now_unix_ms = place.host.unix_ms();
        Self::new(place.open_to_write()?, now_unix_ms).map_err(|error| failure(&error))
    }

    fn new(store: Store, now_unix_ms: i64) -> Result<Self, StoreError> {
        let trials = store.trials(&Filter::default())?;
        let facts = store.facts(&ORIGIN_FACTS)?;
        let of_trials: Vec<(TrialId, Vec<&Fact>)> = facts
            .chunk_by(|(one, _), (other, _)| one == other)
            .map(|facts| (facts[0].0, facts.iter().map(|(_, fact)| fact).collect()))
            .collect();
        let known = KnownOrigins::new(trials.iter().map(|known| known.trial), &of_trials);
        let (skipped, corrected) = (Vec::new(), Vec::new());
        Ok(Self { store, now_unix_ms, known, begun: None, committed: None, skipped, corrected })
    }

    /// Notes on the trials that were in the store already or were corrected; many are counted.
    pub fn notes(self) -> Vec<String> {
        let counted_from = |notes: Vec<String>, all: &str| {
            if notes.len() <= NAMED_MAX {
                return notes;
            }
            vec![format!("{} {all}", counted(notes.len(), "output"))]
        };
        let skipped = "already in the store: skipped (--again stores them once more)";
        let corrected = "with other values than in the store: corrected, the old ones are excluded \
                         (--again keeps both)";
        let mut notes = counted_from(self.corrected, corrected);
        notes.extend(counted_from(self.skipped, skipped));
        notes
    }

    /// Stores a trial unless it is stored already, since a duplicate would look like another run. A
    /// trial with another value for a row of the store takes the place of the old one. Returns true
    /// if the trial is stored.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn keep(
        &mut self,
        trial: &Trial,
        rows: &PhaseRows,
        import: TrialImport<'_>,
    ) -> Result<bool, Failure> {
        let header = &trial.beginning;
        let again = import.again;
        let state = self.known.state(trial);
        if let ImportState::Known(there) = state
            && (there == header.trial || !again)
        {
            let hint = if there == header.trial { "" } else { " (--again stores it once more)" };
            self.known.note_current(there);
            self.skipped.push(format!(
                "'{}' of {} is already in the store as {there}: skipped{hint}",
                header.label, header.workload
            ));
            return Ok(false);
        }
        let mut trial = trial.clone();
        if !again {
            self.known.without_known(&mut trial);
        }
        self.begin()?;
        match state {
            ImportState::Corrects(old) if !again && !import.is_exported => {
                self.correct(&mut trial, &old, rows, import.file)?;
            }
            _ => self.store(&trial, rows)?,
        }
        self.known.know(&trial);
        if self.begun.is_some_and(|begun| begun.elapsed() >= BATCH) {
            self.commit()?;
        }
        Ok(true)
    }

    /// Begins a batch unless there is one.
    fn begin(&mut self) -> Result<(), Failure> {
        if self.begun.is_some() {
            return Ok(());
        }
        let since_last = self.committed.map(|committed| committed.elapsed());
        if let Some(left) = since_last.and_then(|since| PAUSE.checked_sub(since)) {
            thread::sleep(left);
        }
        self.store.begin_batch().map_err(|error| failure(&error))?;
        self.begun = Some(Instant::now());
        Ok(())
    }

    /// Commits the batch, if there is one.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn commit(&mut self) -> Result<(), Failure> {
        if self.begun.take().is_none() {
            return Ok(());
        }
        self.committed = Some(Instant::now());
        self.store.commit_batch().map_err(|error| failure(&error))
    }

    /// Stores a trial in the place of others, which are excluded with the reason.
    fn correct(
        &mut self,
        trial: &mut Trial,
        old: &[TrialId],
        rows: &PhaseRows,
        file: &str,
    ) -> Result<(), Failure> {
        let loaded = old.iter().map(|old| self.store.load(*old));
        let loaded: Vec<Trial> =
            loaded.collect::<Result<_, _>>().map_err(|error| failure(&error))?;
        let mut what = take_place(trial, &loaded).join("; ");
        if what.is_empty() {
            "the link is another".clone_into(&mut what);
        }
        // Killed in between, the next import of the file goes on here.
        let reason = correction_reason(file, trial, &what);
        self.annotate(old, &AnnotationKind::Excluded { reason })?;
        self.store(trial, rows)?;
        let names: Vec<String> = old.iter().map(ToString::to_string).collect();
        self.corrected.push(format!(
            "{file}: '{}': {what}: corrected, {} is excluded (--again keeps both)",
            trial.beginning.label,
            names.join(", ")
        ));
        Ok(())
    }

    fn store(&mut self, trial: &Trial, rows: &PhaseRows) -> Result<(), Failure> {
        let mut recorder = self.store.recorder().copying();
        for event in events_of(trial, rows) {
            recorder.record(&event).map_err(|error| failure(&error))?;
        }
        drop(recorder);
        let own = [trial.beginning.trial];
        if let Some(reason) = trial.exclusion() {
            self.annotate(&own, &AnnotationKind::Excluded { reason: reason.to_owned() })?;
        }
        for change in Annotation::acknowledgements(&trial.annotations) {
            self.annotate(&own, &AnnotationKind::Acknowledged(change.clone()))?;
        }
        Ok(())
    }

    fn annotate(&mut self, trials: &[TrialId], change: &AnnotationKind) -> Result<(), Failure> {
        let annotated = self.store.annotate(trials, self.now_unix_ms, change);
        annotated.map_err(|error| failure(&error))
    }
}
