//! Rehearsal of the variants of a document: faults point at options that mkfs or the kernel
//! refuses, and at unknown settings.

use std::ops::Range;

use treering_lab::{RefusedPart, RehearsalError};
use treering_model::{GuestSpec, Variant};
use treering_script::with_causes;

use super::Known;
use super::device::PlacedDevice;
use super::format::{PlanTable, SettingTable, VariantTable};
use super::tree::{Entry, Placed};
use super::values::OneOrMany;
use super::variant::variant;
use crate::plan::error::{Fault, quoted};

/// Rehearses each distinct variant once, if `known` has a rehearsal.
pub(super) fn rehearse_variants(
    top: &PlanTable,
    shared: (&PlacedDevice, Option<&GuestSpec>),
    known: &Known<'_>,
) -> Result<(), Fault> {
    let Some(rehearse) = known.rehearsal else { return Ok(()) };
    let mut rehearsed: Vec<Variant> = Vec::new();
    for section in top.variant.iter().flat_map(|sections| &sections.0) {
        let (variant, span) = variant(section, shared, known)?;
        let recipe = Variant { name: String::new(), handicap_percent: 0, ..variant };
        if rehearsed.contains(&recipe) {
            continue;
        }
        rehearse(&recipe).map_err(|error| fault(section, &span, &error))?;
        rehearsed.push(recipe);
    }
    Ok(())
}

/// Fault at the refused part of a variant, or at its name.
fn fault(section: &VariantTable, span: &Range<usize>, refused: &RehearsalError) -> Fault {
    let why = with_causes(&*refused.error);
    let (key, place) = match &refused.part {
        // Without options of its own, mkfs refuses the device of the journal.
        Some(RefusedPart::Mkfs) => match (&section.mkfs, &section.journal) {
            (None, Some(journal)) => ("`journal`".to_owned(), Some(journal.span.clone())),
            (mkfs, _) => ("`mkfs`".to_owned(), mkfs.as_ref().map(|mkfs| mkfs.span.clone())),
        },
        Some(RefusedPart::Mount) => {
            ("`mount`".to_owned(), section.mount.as_ref().map(|mount| named_in(mount, &why)))
        }
        Some(RefusedPart::Sysctl(name)) => (quoted(name), key_span(section.sysctl.as_ref(), name)),
        Some(RefusedPart::Sysfs(name)) => (quoted(name), key_span(section.sysfs.as_ref(), name)),
        None => return Fault::at(span.clone(), why, "after the filesystem was tried"),
    };
    let place = place.unwrap_or_else(|| span.clone());
    let fault = Fault::at(place, format!("{key} is refused: {why}"), "");
    fault.hint(match &refused.part {
        Some(RefusedPart::Mount) if why.contains("'-o") => {
            "mount options are written without -o: mount = \"noatime\""
        }
        Some(RefusedPart::Sysctl(_) | RefusedPart::Sysfs(_)) => {
            "the setting was looked up on this machine; nothing has been measured yet"
        }
        _ => "the filesystem was tried on a sparse image; nothing has been measured yet",
    })
}

/// Position of the element whose option the message names; of the whole value if there is none.
fn named_in(mount: &Placed<OneOrMany<String>>, why: &str) -> Range<usize> {
    let is_named = |text: &str| {
        let mut names = text.split([',', '=']).filter(|name| !name.is_empty());
        names.any(|name| why.contains(&format!("'{name}'")))
    };
    let elements = mount.elements(&mount.span);
    let element = elements.into_iter().find(|(_, text)| is_named(text));
    element.map_or(&mount.span, |(span, _)| span).clone()
}

fn key_span(table: Option<&Entry<SettingTable>>, name: &str) -> Option<Range<usize>> {
    let entry = table?.value.0.iter().find(|entry| entry.key == name)?;
    Some(entry.key_span.clone())
}
