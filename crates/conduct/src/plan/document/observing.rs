//! `[observe]`: traces and layouts to record, and the rounds for them.

use super::section::{OBSERVE, Section};
use crate::plan::error::{Fault, quoted};
use crate::plan::{ObservedIn, Observing};

const ROUNDS_MAX: u32 = 1000;
const EVERY_MAX: u32 = 1_000_000;

pub(super) fn observing(top: &Section<'_>) -> Result<Observing, Fault> {
    let mut observing = Observing::default();
    let Some(value) = top.get("observe") else { return Ok(observing) };
    let section = value.section(&OBSERVE)?;
    if let Some(value) = section.get("trace") {
        observing.trace = value.flag()?;
    }
    if let Some(value) = section.get("layout") {
        observing.layout = value.flag()?;
    }
    if let Some(value) = section.get("layout-every") {
        observing.layout_every = value.whole_u32(1..=EVERY_MAX)?;
    }
    if let Some(value) = section.get("in") {
        let word = value.word("\"own\" or \"measured\"")?;
        observing.place = ObservedIn::from_name(word).ok_or_else(|| {
            let message = format!("`in` is {}, not \"own\" or \"measured\"", quoted(word));
            value.fault(message, "").hint(
                "\"own\": in separate rounds after the others; \"measured\": in the rounds that \
                 are compared",
            )
        })?;
    }
    if let Some(value) = section.get("rounds") {
        observing.rounds = value.whole_u32(1..=ROUNDS_MAX)?;
        if observing.place == ObservedIn::Measured {
            let message = "`rounds` is the number of observing rounds, but there are none";
            return Err(
                Fault::at(value.key_span, message, "").hint("leave it out, or write in = \"own\"")
            );
        }
    }
    if !observing.is_wanted() {
        let message = "[observe] does not say what to observe";
        return Err(value.fault(message, "").hint("write trace = true, layout = true, or both"));
    }
    Ok(observing)
}
