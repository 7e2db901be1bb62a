//! Filesystems of guests in a resumed plan: the same bytes as in its earlier trials, from templates
//! in the store.

use std::collections::HashMap;

use treering_lab::{FilesystemTemplate, Lab, PackedTemplate};
use treering_model::{DeviceSpec, TrialId, Variant};
use treering_script::with_causes;

use crate::failure::Failure;
use crate::host::ResultStore;
use crate::plan::Plan;
use crate::stage::{IMAGE_FACT, TEMPLATE_ARTIFACT, TEMPLATE_VERSION, recipe};

/// Templates, each with the index of a variant, and notes about those that are gone.
type KeptTemplates = (Vec<(usize, FilesystemTemplate)>, Vec<String>);

/// Unpacks the filesystems from which the earlier trials of a plan started: `trials`, oldest first,
/// with the index of their variant.
///
/// # Errors
/// When the store cannot be read.
pub(in crate::compare) fn kept_templates(
    plan: &Plan,
    trials: &[(TrialId, usize)],
    store: &dyn ResultStore,
    lab: &Lab,
) -> Result<KeptTemplates, Failure> {
    // A new plan may have no store yet.
    let facts = if trials.is_empty() { Vec::new() } else { store.facts(IMAGE_FACT)? };
    let wanted = fingerprints(&plan.variants, trials, &facts);
    let mut packed: HashMap<String, PackedTemplate> = HashMap::new();
    if !wanted.is_empty() {
        for (trial, artifact) in store.artifacts(TEMPLATE_ARTIFACT)? {
            let is_own = trials.iter().any(|(own, _)| *own == trial);
            let template: Option<PackedTemplate> =
                is_own.then(|| artifact.read(TEMPLATE_ARTIFACT, TEMPLATE_VERSION)).flatten();
            packed.extend(template.map(|template| (template.fingerprint().to_owned(), template)));
        }
    }
    let (mut templates, mut notes) = (Vec::new(), Vec::new());
    for (variant, fingerprint) in wanted {
        let of = &plan.variants[variant];
        let Some(packed) = packed.remove(&fingerprint) else {
            notes.push(note(&of.name, "it is not in the store"));
            continue;
        };
        match FilesystemTemplate::from_packed(packed, (&of.filesystem, &of.device), lab) {
            Ok(template) => templates.push((variant, template)),
            Err(error) => notes.push(note(&of.name, &with_causes(&error))),
        }
    }
    Ok((templates, notes))
}

/// The newest fingerprint of each filesystem that was made for guests, with the index of a variant
/// that has it.
fn fingerprints(
    variants: &[Variant],
    trials: &[(TrialId, usize)],
    facts: &[(TrialId, String)],
) -> Vec<(usize, String)> {
    let facts: HashMap<TrialId, &String> = facts.iter().map(|(trial, it)| (*trial, it)).collect();
    let mut wanted: Vec<(usize, String)> = Vec::new();
    for (trial, variant) in trials {
        let Some(fingerprint) = facts.get(trial) else { continue };
        let of = &variants[*variant];
        let is_on_loop = matches!(of.device, DeviceSpec::Loop { .. });
        if of.guest.is_none() || !is_on_loop || of.image.is_some() || of.age.is_some() {
            continue;
        }
        let same = |(other, _): &(usize, String)| recipe(&variants[*other]) == recipe(of);
        wanted.retain(|known| !same(known));
        wanted.push((*variant, (*fingerprint).clone()));
    }
    wanted
}

/// Note about a filesystem that cannot be made again.
fn note(variant: &str, why: &str) -> String {
    format!(
        "caution: the filesystem from which the earlier trials of {variant} started cannot be made \
         again ({why}): the trials from here on start from a new one, with another UUID and hash \
         seed, which can move the results; without --resume, all start from the same"
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use treering_model::{DeviceSpec, GuestSpec, TrialId, Variant};

    use super::fingerprints;

    #[test]
    fn variants_of_one_recipe_want_the_newest_fingerprint_once() {
        let variant = |filesystem: &str| {
            let guest = Some(GuestSpec::new(PathBuf::from("/a.deb")));
            Variant { guest, ..Variant::new("a", filesystem, DeviceSpec::loop_image(256 << 20)) }
        };
        let saved = Variant { image: Some("old".to_owned()), ..variant("ext4") };
        let variants = [variant("ext4"), variant("ext4"), variant("xfs"), saved];
        let ids: Vec<TrialId> = (0..6).map(|_| TrialId::default()).collect();
        let trials: Vec<(TrialId, usize)> = ids.iter().copied().zip([0, 1, 2, 3, 0, 1]).collect();
        let values = ["1", "1", "2", "3", "4"].map(str::to_owned);
        let facts: Vec<(TrialId, String)> = ids.iter().copied().zip(values).collect();
        let wanted = fingerprints(&variants, &trials, &facts);
        assert_eq!(wanted, [(2, "2".to_owned()), (0, "4".to_owned())]);
        assert_eq!(fingerprints(&variants, &[], &facts), []);
    }
}
