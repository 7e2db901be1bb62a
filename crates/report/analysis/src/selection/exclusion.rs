//! Trials that the user excluded from comparisons, and the remarks on the page about them.

use std::collections::BTreeSet;

use treering_model::TrialId;

use super::{SelectedVariant, SelectionError, StoredTrial, TrialSelection, TrialSource};
use crate::compare::{ComparisonCaution, ComparisonCautionCode, Factor};

/// Maximum number of trials that a caution names.
const EXCLUDED_NAMED_MAX: usize = 8;

impl<S: TrialSource> TrialSelection<'_, S> {
    /// Caution that names the excluded trials of these variants with the reasons; `None` if there
    /// are none.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn excluded_of(
        &self,
        variants: &[SelectedVariant],
    ) -> Result<Option<ComparisonCaution>, SelectionError<S::Error>> {
        let is_of = |one: &&StoredTrial| variants.iter().any(|variant| variant.would_include(one));
        let excluded: Vec<&StoredTrial> = self.excluded.iter().filter(is_of).collect();
        if excluded.is_empty() {
            return Ok(None);
        }
        let ids: Vec<TrialId> = excluded.iter().map(|one| one.trial).collect();
        let short = self.source.short_ids(&ids).map_err(SelectionError::Source)?;
        let words = excluded.iter().zip(short).take(EXCLUDED_NAMED_MAX).map(|(one, short)| {
            let cell = one.cell.as_ref();
            let place = cell.map(|cell| format!(", {} round {}", cell.variant, cell.round));
            let reason = one.excluded.as_deref().unwrap_or_default();
            format!("{short}{} ({reason})", place.unwrap_or_default())
        });
        let named: Vec<String> = words.collect();
        let more = match excluded.len().saturating_sub(EXCLUDED_NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let count = match excluded.len() {
            1 => "1 trial was excluded".to_owned(),
            count => format!("{count} trials were excluded"),
        };
        let message = format!("{count}: {}{more}", named.join("; "));
        Ok(Some(ComparisonCaution {
            code: ComparisonCautionCode::TrialsExcluded,
            message,
            is_declared: false,
        }))
    }

    /// Remark about excluded trials that are compared nevertheless, since they were named
    /// individually.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn excluded_and_named(
        &self,
        variants: &[SelectedVariant],
    ) -> Result<Option<String>, SelectionError<S::Error>> {
        let named = variants.iter().filter(|variant| variant.factor == Factor::Id);
        let named: BTreeSet<TrialId> =
            named.flat_map(|variant| variant.trials.iter().copied()).collect();
        let excluded = self.excluded.iter().map(|one| one.trial);
        let excluded: Vec<TrialId> = excluded.filter(|trial| named.contains(trial)).collect();
        if excluded.is_empty() {
            return Ok(None);
        }
        let short = self.source.short_ids(&excluded).map_err(SelectionError::Source)?;
        Ok(Some(format!(
            "excluded trials that are compared since they were named: {}",
            short.join(", ")
        )))
    }
}
