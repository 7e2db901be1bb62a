//! The doctor's examination of a plan: what cannot run, and which cautions its comparison would
//! give.

use std::path::Path;

use treering_analysis::compare::{
    ComparedVariant, ComparisonCautionCode as Code, ComparisonTerms, Factor, compare,
};
use treering_conduct::plan::{Plan, baselines};
use treering_conduct::{Forecast, beginning};
use treering_lab::{LabDevice, inspect};
use treering_model::filesystems::by_name;
use treering_model::{Caution, CautionCode, DeviceSpec, Ending, Fact, Trial, TrialId, Variant};
use treering_observe::{ObserverContext, ObserverOptions, look, look_at_device};
use treering_report::Warning;
use treering_script::TargetFacts;
use treering_sys::is_root;

use super::Findings;
use crate::arguments::StoreArgs;
use crate::clock;
use crate::commands::compare::PlanStore;
use crate::commands::lab;
use crate::failure::Failure;

/// Cautions of a comparison that are known before it runs: those about targets.
const FORESEEN: [Code; 7] = [
    Code::SizesDiffer,
    Code::FreeSpaceDiffers,
    Code::FeaturesDiffer,
    Code::MetadataProfilesDiffer,
    Code::SameDisk,
    Code::MountOptionsDiffer,
    Code::DevicesDiffer,
];

/// Examines each variant, and compares each with the first.
pub(super) fn look_at_plan(plan: &Plan, findings: &mut Findings) -> Result<(), Failure> {
    let lab = lab::open();
    let usual_store = StoreArgs::default();
    let forecast = Forecast::new(plan, &PlanStore::new(&usual_store), |_| false)?;
    findings.plan.extend_from_slice(forecast.lines());
    let shortfall = plan.shortfall();
    if plan.stopping.most_rounds() < plan.rounds_needed() {
        findings.obstacles.extend(shortfall);
    } else {
        findings.plan.extend(shortfall.map(|shortfall| format!("caution: {shortfall}")));
    }
    let memory = findings.number("memory.usable_bytes");
    for variant in &plan.variants {
        let name = &variant.name;
        if let Err(error) = LabDevice::check(variant, &lab) {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            findings.obstacles.push(format!("{name}: {error}{hint}"));
        }
        if !is_root() && !matches!(variant.device, DeviceSpec::Directory { .. }) {
            findings.obstacles.push(format!("{name}: only root can make and mount it"));
        }
        if let DeviceSpec::Block { paths } = &variant.device {
            paths.iter().for_each(|path| block_device(name, path, findings));
        }
        room(plan, variant, findings);
    }
    warm_reads(plan, memory, findings);
    findings.warnings.extend(foreseen(plan));
    Ok(())
}

fn block_device(name: &str, path: &Path, findings: &mut Findings) {
    match inspect(path) {
        Ok(inspection) => {
            let said = |what: String| format!("{name}: {}: {what}", path.display());
            let hint = inspection.leftover_hint();
            let obstacles = inspection.obstacles.iter().map(ToString::to_string).chain(hint);
            findings.obstacles.extend(obstacles.map(said));
        }
        Err(error) => findings.obstacles.push(format!("{name}: {error}")),
    }
    findings.cautions.extend(look_at_device(path).cautions);
}

/// Checks that the jobs fit into the images of a variant.
fn room(plan: &Plan, variant: &Variant, findings: &mut Findings) {
    let DeviceSpec::Loop { bytes, count, .. } = variant.device else { return };
    let has = bytes.saturating_mul(u64::from(count));
    for planned in &plan.jobs {
        let needs = planned.job.footprint(&TargetFacts::unknown()).peak_block_bytes;
        if needs > has {
            let message = format!(
                "{}: {} needs up to {} MiB, the device has {}",
                variant.name,
                planned.name,
                needs >> 20,
                has >> 20
            );
            findings.cautions.push(Caution { code: CautionCode::MayNotFit, message });
        }
    }
}

/// Warns about jobs that keep the caches and whose data fit into memory.
fn warm_reads(plan: &Plan, memory: Option<u64>, findings: &mut Findings) {
    let Some(memory) = memory else { return };
    for planned in &plan.jobs {
        let kept = ("drop-caches".to_owned(), "none".to_owned());
        let data = planned.job.footprint(&TargetFacts::unknown()).peak_bytes;
        if planned.job.parameters().contains(&kept) && data < memory.saturating_mul(2) {
            let message = format!(
                "{} does not drop caches: its {} MiB of data fit in {} MiB of memory",
                planned.name,
                data >> 20,
                memory >> 20
            );
            findings.cautions.push(Caution { code: CautionCode::DataFitInMemory, message });
        }
    }
}

/// Cautions of a comparison about the targets of a plan, found by comparing an empty trial on each.
fn foreseen(plan: &Plan) -> Vec<Warning> {
    let all = plan.variants.iter().zip(baselines(&plan.variants)).enumerate();
    let mut variants = all.filter_map(|(place, (variant, baseline))| {
        let (name, trials) = (variant.name.clone(), vec![trial(plan, variant)?]);
        let against = Some(plan.variants[baseline.unwrap_or(place)].name.clone());
        Some(ComparedVariant { name, factor: Factor::Variant, against, trials })
    });
    let Some(baseline) = variants.next() else { return Vec::new() };
    let contenders: Vec<ComparedVariant> = variants.collect();
    let outcome = compare(&baseline, &contenders, &ComparisonTerms::default());
    let cautions = outcome.map(|outcome| outcome.cautions).unwrap_or_default();
    let about_places = cautions.into_iter().filter(|caution| FORESEEN.contains(&caution.code));
    let warning = about_places.map(|caution| Warning {
        code: caution.code.name().to_owned(),
        message: caution.message,
        advice: caution.code.advice().to_owned(),
    });
    warning.collect()
}

fn trial(plan: &Plan, variant: &Variant) -> Option<Trial> {
    let planned = plan.jobs.first()?;
    Some(Trial {
        facts: facts(variant),
        ending: Ending::Completed,
        ..Trial::new(beginning(
            TrialId::new(),
            &planned.workload,
            planned.job.as_ref(),
            clock::trial_unix_ms(),
        ))
    })
}

/// Facts about a variant's target that are known before the target is made.
fn facts(variant: &Variant) -> Vec<Fact> {
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    let (mut facts, count, bytes) = match &variant.device {
        DeviceSpec::Directory { path } => {
            return look(&ObserverContext { target: path, options: ObserverOptions::default() })
                .facts;
        }
        DeviceSpec::Loop { bytes, count, .. } => {
            let count = usize::from(*count);
            (Vec::new(), count, bytes.saturating_mul(count as u64))
        }
        DeviceSpec::Block { paths } => {
            let seen: Vec<Vec<Fact>> =
                paths.iter().map(|path| look_at_device(path).facts).collect();
            let sectors = seen.iter().flatten().filter(|fact| fact.name == "device.sectors");
            let sectors = sectors.filter_map(|fact| fact.value.parse::<u64>().ok()).sum::<u64>();
            (seen.concat(), paths.len(), sectors.saturating_mul(512))
        }
    };
    if bytes > 0 {
        facts.push(fact("variant.device_bytes", bytes.to_string()));
    }
    let kind = &variant.filesystem;
    facts.push(fact("filesystem.type", kind.clone()));
    facts.push(fact("mkfs.command", format!("mkfs.{kind} {}", variant.mkfs.join(" "))));
    let made = by_name(kind);
    let profile = made.and_then(|made| made.metadata_profile(&variant.mkfs, count));
    facts.extend(profile.map(|profile| fact("filesystem.metadata_profile", profile)));
    facts
}
