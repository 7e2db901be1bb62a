//! Trials that the user excluded from comparisons, and the remarks on the page about them.

use std::collections::BTreeSet;

use treering_analysis::compare::{ComparisonCaution, ComparisonCautionCode, Factor};
use treering_model::TrialId;

use super::selection::{Candidate, Known, Pick};
use crate::failure::Failure;
use crate::storage::failure;

/// Maximum number of trials that a caution names.
const NAMED: usize = 8;

impl Known<'_> {
    /// Caution that names the excluded trials of these variants with the reasons; `None` without
    /// any.
    pub(super) fn excluded_of(&self, picks: &[Pick]) -> Result<Option<ComparisonCaution>, Failure> {
        let is_of = |one: &&Candidate| picks.iter().any(|pick| pick.would_have(one));
        let out: Vec<&Candidate> = self.excluded.iter().filter(is_of).collect();
        if out.is_empty() {
            return Ok(None);
        }
        let ids: Vec<TrialId> = out.iter().map(|one| one.summary.trial).collect();
        let short = self.store.short_ids(&ids).map_err(|error| failure(&error))?;
        let words = out.iter().zip(short).take(NAMED).map(|(one, short)| {
            let cell = one.summary.cell.as_ref();
            let place = cell.map(|cell| format!(", {} round {}", cell.variant, cell.round));
            let reason = one.summary.excluded.as_deref().unwrap_or_default();
            format!("{short}{} ({reason})", place.unwrap_or_default())
        });
        let named: Vec<String> = words.collect();
        let more = match out.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let count = match out.len() {
            1 => "1 trial was excluded".to_owned(),
            count => format!("{count} trials were excluded"),
        };
        let message = format!("{count}: {}{more}", named.join("; "));
        Ok(Some(ComparisonCaution { code: ComparisonCautionCode::TrialsExcluded, message }))
    }

    /// A remark for trials that are compared although they are excluded, since they were named one
    /// by one.
    pub(super) fn excluded_and_named(&self, picks: &[Pick]) -> Result<Option<String>, Failure> {
        let named = picks.iter().filter(|pick| pick.factor == Factor::Id);
        let named: BTreeSet<TrialId> = named.flat_map(|pick| pick.trials.iter().copied()).collect();
        let out = self.excluded.iter().map(|one| one.summary.trial);
        let out: Vec<TrialId> = out.filter(|trial| named.contains(trial)).collect();
        if out.is_empty() {
            return Ok(None);
        }
        let short = self.store.short_ids(&out).map_err(|error| failure(&error))?;
        Ok(Some(format!(
            "excluded trials that are compared since they were named: {}",
            short.join(", ")
        )))
    }
}
