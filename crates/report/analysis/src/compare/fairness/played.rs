//! Simulated disks, compared with one another or with a plain device.

use std::collections::BTreeSet;

use treering_model::PlayedStatus;

use super::VariantView;
use crate::compare::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use crate::compare::variant::Factor;

/// Fact of a trial whose filesystem a plan created.
const MKFS_COMMAND: &str = "mkfs.command";

/// Caution about variants on different simulated disks, unless a plan placed them there.
pub(in crate::compare) fn of_played_disks(
    baseline: VariantView<'_>,
    contender: VariantView<'_>,
) -> Option<ComparisonCaution> {
    let both = [baseline, contender];
    let is_planned = |variant: &VariantView<'_>| {
        variant.factor == Factor::Variant && !values(*variant, MKFS_COMMAND).is_empty()
    };
    let prints = both.map(|variant| values(variant, PlayedStatus::FINGERPRINT_FACT));
    if prints[0] == prints[1] || both.iter().all(is_planned) {
        return None;
    }
    let disks_of = |variant: VariantView<'_>| {
        let disks: Vec<&str> = values(variant, PlayedStatus::DISK_FACT).into_iter().collect();
        let prints = values(variant, PlayedStatus::FINGERPRINT_FACT);
        let prints: Vec<&str> = prints.into_iter().collect();
        if disks.is_empty() {
            return "none".to_owned();
        }
        format!("{} ({})", disks.join(", "), prints.join(", "))
    };
    let message = format!(
        "the played disk is {} for '{}' and {} for '{}'",
        disks_of(baseline),
        baseline.name,
        disks_of(contender),
        contender.name
    );
    Some(ComparisonCaution::new(Code::DevicesDiffer, message))
}

fn values<'t>(variant: VariantView<'t>, name: &str) -> BTreeSet<&'t str> {
    let facts = variant.rounds.iter().flat_map(|trial| &trial.facts);
    facts.filter(|fact| fact.name == name).map(|fact| fact.value.as_str()).collect()
}
