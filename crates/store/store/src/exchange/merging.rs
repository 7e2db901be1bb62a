//! Merge of a pack into a store: which of its trials the store lacks.

use std::io::{Read, Seek};

use thiserror::Error;
use treering_model::{TrialEvent, TrialHeader, TrialId};
use treering_pack::{CanonicalTrial, PackError, PackReader};

use crate::{Store, StoreError};

/// Numbers of merged trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergedCounts {
    /// Trials that the store lacks.
    pub new: u64,
    /// Trials that the store has.
    pub known: u64,
}

/// Error of merging a pack.
#[derive(Debug, Error)]
pub enum MergeError {
    /// The pack cannot be read.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// A store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A trial of the pack has the identity of another trial of the store.
    #[error("trial {trial} is another one than that in the store")]
    OtherTrial {
        /// Identity that both trials have.
        trial: TrialId,
    },
    /// A store refuses a trial of the pack, for example because its events are out of order.
    #[error("trial {trial}: {error}")]
    Refused {
        /// Identity of the trial.
        trial: TrialId,
        /// Error of the store.
        error: StoreError,
    },
}

/// Merge of a pack: its trials are recorded into a temporary store, so that only trials that a
/// store accepts are added.
pub struct PackMerge<'a, R: Read + Seek> {
    /// The pack.
    pub pack: PackReader<R>,
    /// The store that may have some of its trials.
    pub present: Option<&'a Store>,
    /// Temporary store for the trials that the other store lacks.
    pub waiting: &'a mut Store,
    /// Creates the canonical form in which trials of the pack and of the store are compared.
    pub canonical: &'a dyn Fn() -> CanonicalTrial,
}

impl<R: Read + Seek> PackMerge<'_, R> {
    /// Records each new trial of the pack, and recognises those that the store has.
    ///
    /// # Errors
    /// When the pack or a store cannot be read, or a trial is not valid.
    pub fn run(mut self) -> Result<MergedCounts, MergeError> {
        let mut merged = MergedCounts::default();
        while let Some(beginning) = self.pack.next_trial()? {
            let trial = beginning.trial;
            let known = match self.present {
                Some(store) => match store.events(trial) {
                    Ok(events) => Some(events),
                    Err(StoreError::NoSuchTrial { .. }) => None,
                    Err(error) => return Err(error.into()),
                },
                None => None,
            };
            if let Some(events) = known {
                self.recognise(beginning, &events)?;
                merged.known += 1;
            } else {
                self.record(beginning)?;
                merged.new += 1;
            }
        }
        Ok(merged)
    }

    /// Refuses a trial that has the identity of a stored trial but other contents.
    fn recognise(
        &mut self,
        beginning: TrialHeader,
        events: &[TrialEvent],
    ) -> Result<(), MergeError> {
        let trial = beginning.trial;
        let (mut here, mut packed) = ((self.canonical)(), (self.canonical)());
        events.iter().for_each(|event| here.add(event));
        packed.add(&TrialEvent::Began(beginning));
        while let Some(event) = self.pack.next_event()? {
            packed.add(&event);
        }
        if here.agrees_with(&packed) {
            return Ok(());
        }
        Err(MergeError::OtherTrial { trial })
    }

    fn record(&mut self, beginning: TrialHeader) -> Result<(), MergeError> {
        let trial = beginning.trial;
        let mut recorder = self.waiting.recorder().copying();
        let mut next = Some(TrialEvent::Began(beginning));
        while let Some(event) = next {
            recorder.record(&event).map_err(|error| MergeError::Refused { trial, error })?;
            next = self.pack.next_event()?;
        }
        drop(recorder);
        self.annotate(trial)
    }

    fn annotate(&mut self, trial: TrialId) -> Result<(), MergeError> {
        while let Some(annotation) = self.pack.next_annotation()? {
            self.waiting.annotate(&[trial], annotation.at_unix_ms, &annotation.change)?;
        }
        Ok(())
    }
}
