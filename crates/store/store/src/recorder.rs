//! Recorder: a listener that writes one trial to the store, and decides when to commit.
//!
//! Rows are buffered and written in short transactions, so that several processes can record into
//! one store. `rows` converts events to rows.

use std::time::{Duration, Instant};

use rusqlite::ErrorCode;
use treering_model::{SinkError, TrialEvent, TrialHeader, TrialOrderError, TrialSink};

use crate::connection::ErrorContext;
use crate::rows::{self, TableRow};
use crate::writer::WriterProcess;
use crate::{Store, StoreError};

/// Minimum time between commits of finished tasks: each commit flushes the disk.
const PAUSE: Duration = Duration::from_millis(200);

/// Maximum number of rows buffered in memory.
const MOST_WAITING: usize = 4096;

/// Records one trial, from its beginning to its end.
///
/// After `accept` returns for `Began`, `PhaseEnded` and `Ended`, everything up to that event is
/// safe on disk. Other events are written when the last commit is 200 ms old, and at the latest
/// with the next of those three, ticks only then; `TaskBegan` is not stored, but occupies a
/// position in the stream. A recorder dropped before the trial ended leaves an interrupted trial
/// with all events accepted so far.
///
/// If an event cannot be written, `accept` fails but keeps the event; the next call tries again.
#[derive(Debug)]
pub struct Recorder<'store> {
    store: &'store mut Store,
    progress: RecordingProgress,
    waiting: Vec<TableRow>,
    next_seq: i64,
    /// Time of the last attempt to write rows.
    tried: Option<Instant>,
    /// True if the last attempt failed.
    is_failing: bool,
    /// True if the end of a phase may be buffered like other events.
    is_copying: bool,
}

/// Progress of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordingProgress {
    Awaited,
    /// In progress, with the trial's row number.
    Running(i64),
    /// `Ended` was accepted; it is on disk when no rows are buffered.
    Ended(i64),
}

impl Store {
    /// Creates a listener that records one trial.
    pub fn recorder(&mut self) -> Recorder<'_> {
        Recorder::new(self)
    }
}

impl<'store> Recorder<'store> {
    pub(crate) const fn new(store: &'store mut Store) -> Self {
        Self {
            store,
            progress: RecordingProgress::Awaited,
            waiting: Vec::new(),
            next_seq: 0,
            tried: None,
            is_failing: false,
            is_copying: false,
        }
    }

    /// Buffers ends of phases, for a trial that also exists elsewhere. An imported log may have
    /// tens of thousands of phases.
    #[must_use]
    pub fn copying(mut self) -> Self {
        self.is_copying = true;
        self
    }

    /// Records an event, as [`TrialSink::accept`] does, but returns the store's error.
    ///
    /// # Errors
    /// If the event is out of order, has a number that cannot be stored, or cannot be written.
    pub fn record(&mut self, event: &TrialEvent) -> Result<(), StoreError> {
        if let TrialEvent::Began(beginning) = event {
            return match self.progress {
                RecordingProgress::Awaited => self.begin(beginning, event),
                _ => Err(TrialOrderError::AfterTheEnd.into()),
            };
        }
        let trial = match self.progress {
            RecordingProgress::Awaited => return Err(TrialOrderError::NotBegun.into()),
            RecordingProgress::Ended(_) => return Err(TrialOrderError::AfterTheEnd.into()),
            RecordingProgress::Running(trial) => trial,
        };
        self.waiting.extend(rows::of_event(event, self.next_seq)?);
        self.next_seq += 1;
        if matches!(event, TrialEvent::Ended { .. }) {
            self.progress = RecordingProgress::Ended(trial);
        }
        if self.is_due(event) { self.commit(trial) } else { Ok(()) }
    }

    fn is_due(&self, event: &TrialEvent) -> bool {
        match event {
            TrialEvent::PhaseEnded(_) if !self.is_copying => true,
            TrialEvent::Ended { .. } => true,
            TrialEvent::TaskBegan { .. } => false,
            // A flush of the disk each second would disturb the measurement.
            TrialEvent::Ticked { .. } => self.waiting.len() > MOST_WAITING && !self.is_failing,
            _ => {
                // A full disk stays full for a while: do not retry with every event.
                let is_much = self.waiting.len() > MOST_WAITING && !self.is_failing;
                is_much || self.tried.is_none_or(|tried| tried.elapsed() >= PAUSE)
            }
        }
    }

    fn begin(&mut self, beginning: &TrialHeader, event: &TrialEvent) -> Result<(), StoreError> {
        self.store.writable()?;
        let mut rows = rows::of_event(event, 0)?;
        if let Some(writer) = WriterProcess::of_this_process() {
            rows.push(TableRow::writer(&writer)?);
        }
        let path = self.store.path.clone();
        let refused = |error: rusqlite::Error| match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => {
                StoreError::AlreadyThere { path: path.clone(), trial: beginning.trial }
            }
            _ => ErrorContext::file(&path).refused(error),
        };
        let trial = self.store.write(|connection| {
            let trial = rows::insert_trial(connection, beginning).map_err(refused)?;
            rows.iter().try_for_each(|row| row.insert(connection, trial)).map_err(refused)?;
            Ok(trial)
        })?;
        self.progress = RecordingProgress::Running(trial);
        self.next_seq = 1;
        self.tried = Some(Instant::now());
        Ok(())
    }

    /// Writes the buffered rows. On failure, they remain buffered.
    fn commit(&mut self, trial: i64) -> Result<(), StoreError> {
        let (path, waiting) = (self.store.path.clone(), &self.waiting);
        let written = self.store.write(|connection| {
            let rows = waiting.iter().try_for_each(|row| row.insert(connection, trial));
            rows.map_err(|error| ErrorContext::file(&path).refused(error))
        });
        self.is_failing = written.is_err();
        self.tried = Some(Instant::now());
        if !self.is_failing {
            self.waiting.clear();
        }
        written
    }
}

impl TrialSink for Recorder<'_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.record(event).map_err(|error| SinkError::new("recording the trial", error))
    }
}

impl Drop for Recorder<'_> {
    /// Releases the trial: nobody writes it any more. A failure is harmless: the trial then counts
    /// as running until this process ends.
    fn drop(&mut self) {
        let trial = match self.progress {
            RecordingProgress::Running(trial) => {
                self.waiting.push(TableRow::departure());
                trial
            }
            RecordingProgress::Ended(trial) if !self.waiting.is_empty() => trial,
            RecordingProgress::Awaited | RecordingProgress::Ended(_) => return,
        };
        drop(self.commit(trial));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rusqlite::Connection;
    use treering_model::{
        Caution, CautionCode, Ending, PhaseTotals, RunMode, TrialEvent, TrialHeader, TrialId,
    };

    use super::MOST_WAITING;
    use crate::{Access, Filter, Store, StoreError, TrialState};

    fn began(trial: TrialId) -> TrialEvent {
        TrialEvent::Began(TrialHeader::new(trial, "compilebench", RunMode::Native))
    }

    fn phase_ended(phase: u32) -> TrialEvent {
        let name = "long name ".repeat(10_000);
        TrialEvent::PhaseEnded(PhaseTotals { phase, name, ..PhaseTotals::default() })
    }

    fn ended() -> TrialEvent {
        TrialEvent::Ended { ending: Ending::Completed, at_ns: 1 }
    }

    fn page_limit(store: &Store, pages: u32) {
        let query = format!("PRAGMA max_page_count = {pages}");
        store.connection.query_row(&query, [], |_| Ok(())).unwrap();
    }

    #[test]
    fn events_refused_by_a_full_disk_are_retried() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        let mut store = Store::open(&path, Access::ReadWrite).unwrap();
        let trial = TrialId::new();
        let mut recorder = store.recorder();
        recorder.record(&began(trial)).unwrap();
        // SQLite raises a lower limit to the number of pages in use.
        page_limit(recorder.store, 1);
        let refused = recorder.record(&phase_ended(0)).unwrap_err();
        assert!(matches!(refused, StoreError::Full { .. }), "{refused}");
        page_limit(recorder.store, 1_000_000);
        recorder.record(&phase_ended(1)).unwrap();
        let reader = Store::open(&path, Access::ReadOnly).unwrap();
        assert_eq!(reader.load(trial).unwrap().phases.len(), 2);

        page_limit(recorder.store, 1);
        recorder.record(&phase_ended(2)).unwrap_err();
        drop(recorder);
        // The release of the trial could not be written.
        assert_eq!(reader.trials(&Filter::default()).unwrap()[0].state, TrialState::Running);
    }

    #[test]
    fn held_lock_is_an_error_and_the_next_event_retries() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        let mut store = Store::open(&path, Access::ReadWrite).unwrap();
        store.connection.busy_timeout(Duration::from_millis(10)).unwrap();
        let trial = TrialId::new();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut recorder = store.recorder();
        let refused = recorder.record(&began(trial)).unwrap_err();
        assert!(matches!(refused, StoreError::Busy { .. }), "{refused}");
        other.execute_batch("ROLLBACK").unwrap();
        recorder.record(&began(trial)).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        recorder.record(&phase_ended(0)).unwrap_err();
        recorder.record(&ended()).unwrap_err();
        other.execute_batch("ROLLBACK").unwrap();
        // The end was accepted; dropping the recorder retries the write.
        drop(recorder);
        let trial = store.load(trial).unwrap();
        assert_eq!((trial.phases.len(), trial.ending), (1, Ending::Completed));
    }

    #[test]
    fn memory_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path().join("store.db"), Access::ReadWrite).unwrap();
        let mut recorder = store.recorder();
        recorder.record(&began(TrialId::new())).unwrap();
        let message = String::new();
        let caution = TrialEvent::Cautioned(Caution { code: CautionCode::MayNotFit, message });
        for _ in 0..3 * MOST_WAITING {
            recorder.record(&caution).unwrap();
            assert!(recorder.waiting.len() <= MOST_WAITING);
        }
    }
}
