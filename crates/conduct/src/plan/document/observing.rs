//! `[observe]`: traces and layouts to record, and the rounds for them.

use treering_observe::FunctionName;

use super::format::{KernelFunctions, PlanTable};
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
        functions: section.functions.as_ref().map(functions).transpose()?.unwrap_or_default(),
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

/// Functions of the kernel, each once.
fn functions(array: &KernelFunctions) -> Result<Vec<FunctionName>, Fault> {
    let mut names: Vec<FunctionName> = Vec::new();
    for element in &array.0 {
        let name: FunctionName =
            element.text().parse().map_err(|why: String| element.fault(why, ""))?;
        if names.contains(&name) {
            return Err(element.fault(format!("{} appears twice", name.as_str()), "again"));
        }
        names.push(name);
    }
    Ok(names)
}
