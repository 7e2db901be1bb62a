//! `[observe]`: traces and layouts to record, and the rounds for them.

use super::format::PlanTable;
use super::tree::Optional;
use super::values::WholeNumber;
use crate::plan::error::Fault;
use crate::plan::{ObservedIn, Observing};

/// Checks rules that involve two keys, and fills in the defaults.
pub(super) fn observing(top: &PlanTable) -> Result<Observing, Fault> {
    let default = Observing::default();
    let Some(section) = &top.observe else { return Ok(default) };
    let observing = Observing {
        trace: section.trace.value().unwrap_or_default(),
        layout: section.layout.value().unwrap_or_default(),
        layout_every: section.layout_every.value().map_or(0, WholeNumber::small),
        place: section.r#in.value().map_or(default.place, |place| place.0),
        rounds: section.rounds.value().map_or(default.rounds, WholeNumber::small),
    };
    if let (Some(rounds), ObservedIn::Measured) = (&section.rounds, observing.place) {
        let message = "`rounds` is the number of observing rounds, but there are none";
        return Err(rounds.key_fault(message, "").hint("leave it out, or write in = \"own\""));
    }
    if !observing.is_wanted() {
        let message = "[observe] does not say what to observe";
        return Err(section.fault(message, "").hint("write trace = true, layout = true, or both"));
    }
    Ok(observing)
}
