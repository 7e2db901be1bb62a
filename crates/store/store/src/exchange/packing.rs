//! Trials of a store as the records of a pack.

use std::collections::BTreeSet;
use std::io::{Seek, Write};

use thiserror::Error;
use treering_model::{Fact, PLAN_FACT, TrialEvent, TrialId};
use treering_pack::{
    NameKind, NameRemover, PackError, PackHead, PackRecord, PackSeal, PackWriter, PackedPlan,
    RemovedName,
};

use crate::{LoadDetail, Store, StoreError, TrialSummary};

/// Error of writing a pack.
#[derive(Debug, Error)]
pub enum PackingError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The pack cannot be written.
    #[error(transparent)]
    Pack(#[from] PackError),
}

/// Trials and plans to pack.
pub struct PackedTrials<'a> {
    store: &'a Store,
    summaries: &'a [TrialSummary],
    plans: Vec<PackedPlan>,
    /// Kinds of artifacts that are not packed.
    left_out_kinds: &'a [&'a str],
    /// Names to be removed; `None` if all names are packed.
    known_names: Option<Vec<(NameKind, String)>>,
}

impl<'a> PackedTrials<'a> {
    /// Selects trials of a store, with the plans of their campaigns. `known_names` are removed from
    /// a pack without names.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn new(
        store: &'a Store,
        summaries: &'a [TrialSummary],
        left_out_kinds: &'a [&'a str],
        known_names: Option<Vec<(NameKind, String)>>,
    ) -> Result<Self, StoreError> {
        let plans = plans(store, summaries)?;
        Ok(Self { store, summaries, plans, left_out_kinds, known_names })
    }

    /// Passes every record except the first to `take`, with names removed; returns the removed
    /// names.
    ///
    /// # Errors
    /// When the store cannot be read, or `take` fails.
    pub fn records<E: From<StoreError>>(
        &self,
        take: &mut dyn FnMut(&PackRecord) -> Result<(), E>,
    ) -> Result<Vec<RemovedName>, E> {
        let mut names = self.known_names.clone().map(NameRemover::new);
        for plan in &self.plans {
            let mut plan = plan.clone();
            if let Some(names) = &mut names {
                names.text(&mut plan.document);
            }
            take(&PackRecord::Plan(plan))?;
        }
        for summary in self.summaries {
            let events = self.store.events(summary.trial)?;
            for mut event in events {
                if self.is_left_out(&event) {
                    continue;
                }
                if let Some(names) = &mut names {
                    names.leave_out(&mut event);
                }
                take(&PackRecord::Event(event))?;
            }
            let headlines = self.store.load_many(&[summary.trial], LoadDetail::Headlines);
            for mut annotation in headlines?.into_iter().flat_map(|trial| trial.annotations) {
                if let Some(names) = &mut names {
                    names.leave_out_of_annotation(&mut annotation);
                }
                take(&PackRecord::Annotation(annotation))?;
            }
        }
        Ok(names.map(|names| names.left_out()).unwrap_or_default())
    }

    fn is_left_out(&self, event: &TrialEvent) -> bool {
        match event {
            TrialEvent::Produced(artifact) => self.left_out_kinds.contains(&&*artifact.kind),
            _ => false,
        }
    }

    /// Writes the pack.
    ///
    /// # Errors
    /// When the store cannot be read, or the writer fails.
    pub fn write<W: Write + Seek>(
        &self,
        head: PackHead,
        to: W,
    ) -> Result<(PackSeal, W), PackingError> {
        let mut packing = PackWriter::begin(to, head)?;
        self.records(&mut |record| Ok::<(), PackingError>(packing.add(record)?))?;
        Ok(packing.finish()?)
    }
}

/// Plans of the trials, from the first trial of each campaign.
fn plans(store: &Store, summaries: &[TrialSummary]) -> Result<Vec<PackedPlan>, StoreError> {
    let cells = summaries.iter().filter_map(|one| one.cell.as_ref());
    let campaigns: BTreeSet<TrialId> = cells.map(|cell| cell.campaign).collect();
    let known = store.facts(&[PLAN_FACT])?;
    let known = known.into_iter().filter(|(trial, _)| campaigns.contains(trial));
    let plan = |(campaign, fact): (TrialId, Fact)| PackedPlan {
        campaign,
        document: fact.value,
        files: Vec::new(),
    };
    Ok(known.map(plan).collect())
}
