//! Examination of a plan by the doctor: variants that cannot run, and cautions that its comparison
//! would give.

use treering_analysis::compare::{
    ComparedVariant, ComparisonCautionCode as Code, ComparisonTerms, Factor, compare,
};
use treering_conduct::plan::{Plan, baselines};
use treering_conduct::{examine_plan, foreseen_trial};
use treering_lab::MachineFindings;
use treering_report::Warning;

use crate::arguments::StoreArgs;
use crate::clock::trial_unix_ms;
use crate::commands::lab;
use crate::failure::Failure;
use crate::storage::plan_store;

/// Cautions of a comparison that are known before it runs: those about targets.
const TARGET_CAUTIONS: [Code; 7] = [
    Code::SizesDiffer,
    Code::FreeSpaceDiffers,
    Code::FeaturesDiffer,
    Code::MetadataProfilesDiffer,
    Code::SameDisk,
    Code::MountOptionsDiffer,
    Code::DevicesDiffer,
];

/// Examines each variant, and compares each with the first; returns the size of the plan and the
/// cautions of the comparison.
pub(super) fn look_at_plan(
    plan: &Plan,
    store: &StoreArgs,
    findings: &mut MachineFindings,
) -> Result<(Vec<String>, Vec<Warning>), Failure> {
    let memory_bytes = findings.number("memory.usable_bytes");
    let examination = examine_plan(plan, &plan_store(store), &lab::open(), memory_bytes)?;
    findings.obstacles.extend(examination.obstacles);
    findings.cautions.extend(examination.cautions);
    Ok((examination.size, target_cautions(plan)))
}

/// Cautions of a comparison about the targets of a plan, found by comparing an empty trial on each.
fn target_cautions(plan: &Plan) -> Vec<Warning> {
    let numbered_variants = plan.variants.iter().zip(baselines(&plan.variants)).enumerate();
    let mut variants = numbered_variants.filter_map(|(place, (variant, baseline))| {
        let (name, trials) =
            (variant.name.clone(), vec![foreseen_trial(plan, variant, trial_unix_ms())?]);
        let against = Some(plan.variants[baseline.unwrap_or(place)].name.clone());
        Some(ComparedVariant { name, factor: Factor::Variant, against, trials })
    });
    let Some(baseline) = variants.next() else { return Vec::new() };
    let contenders: Vec<ComparedVariant> = variants.collect();
    let outcome = compare(&baseline, &contenders, &ComparisonTerms::default());
    let cautions = outcome.map(|outcome| outcome.cautions).unwrap_or_default();
    let about_places =
        cautions.into_iter().filter(|caution| TARGET_CAUTIONS.contains(&caution.code));
    let warning = about_places.map(|caution| Warning {
        code: caution.code.name().to_owned(),
        message: caution.message,
        advice: caution.code.advice().to_owned(),
    });
    warning.collect()
}
