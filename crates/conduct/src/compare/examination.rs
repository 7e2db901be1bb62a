//! Examines a plan before it runs, for obstacles and for causes of questionable figures. Makes and
//! changes nothing.

use std::path::Path;

use treering_lab::{Lab, LabDevice, inspect};
use treering_model::filesystems::by_name;
use treering_model::{
    Caution, CautionCode, DeviceSpec, Ending, Fact, SecondDevice, Trial, TrialId, Variant,
};
use treering_observe::{ObserverContext, ObserverOptions, look, look_at_device};
use treering_script::TargetFacts;
use treering_sys::is_root;

use crate::compare::forecast::Forecast;
use crate::failure::Failure;
use crate::host::ResultStore;
use crate::plan::Plan;
use crate::trial::beginning::beginning;

/// Findings about a plan.
#[derive(Debug, Default)]
pub struct PlanExamination {
    /// Lines about the size of the plan: rounds, trials, time, comparisons.
    pub size: Vec<String>,
    /// Reasons why variants cannot run.
    pub obstacles: Vec<String>,
    /// Cautions about the figures.
    pub cautions: Vec<Caution>,
}

/// Examines each variant. `memory_bytes` is the memory that caches can use, if it is known.
///
/// # Errors
/// When the store cannot be read.
pub fn examine_plan(
    plan: &Plan,
    store: &dyn ResultStore,
    lab: &Lab,
    memory_bytes: Option<u64>,
) -> Result<PlanExamination, Failure> {
    let mut examination = PlanExamination::default();
    let forecast = Forecast::new(plan, store, |_| false)?;
    examination.size.extend_from_slice(forecast.lines());
    let uncompared = plan.uncompared();
    examination.size.extend(uncompared.map(|uncompared| format!("caution: {uncompared}")));
    let shortfall = plan.shortfall();
    if plan.stopping.most_rounds() < plan.rounds_needed() {
        examination.obstacles.extend(shortfall);
    } else {
        examination.size.extend(shortfall.map(|shortfall| format!("caution: {shortfall}")));
    }
    for variant in &plan.variants {
        let name = &variant.name;
        if let Err(error) = LabDevice::check(variant, lab) {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            examination.obstacles.push(format!("{name}: {error}{hint}"));
        }
        if !is_root() && !matches!(variant.device, DeviceSpec::Directory { .. }) {
            examination.obstacles.push(format!("{name}: only root can make and mount it"));
        }
        for device in variant.devices() {
            if let DeviceSpec::Block { paths } = device {
                paths.iter().for_each(|path| block_device(name, path, &mut examination));
            }
        }
        check_space(plan, variant, &mut examination);
    }
    warm_reads(plan, memory_bytes, &mut examination);
    Ok(examination)
}

fn block_device(name: &str, path: &Path, examination: &mut PlanExamination) {
    match inspect(path) {
        Ok(inspection) => {
            let obstacle = |what: String| format!("{name}: {}: {what}", path.display());
            let hint = inspection.leftover_hint();
            let obstacles = inspection.obstacles.iter().map(ToString::to_string).chain(hint);
            examination.obstacles.extend(obstacles.map(obstacle));
        }
        Err(error) => examination.obstacles.push(format!("{name}: {error}")),
    }
    examination.cautions.extend(look_at_device(path).cautions);
}

/// Checks that the jobs fit into the images of a variant.
fn check_space(plan: &Plan, variant: &Variant, examination: &mut PlanExamination) {
    let DeviceSpec::Loop { bytes, count, .. } = variant.device else { return };
    let second = variant.settings.second_device.as_ref().filter(|second| !second.is_journal());
    let more = match second.map(SecondDevice::spec) {
        Some(DeviceSpec::Loop { bytes, count, .. }) => bytes.saturating_mul(u64::from(*count)),
        Some(_) => return,
        None => 0,
    };
    let has = bytes.saturating_mul(u64::from(count)).saturating_add(more);
    for planned in &plan.jobs {
        let planned = planned.changed_by(&variant.settings);
        let needs = planned.job.footprint(&TargetFacts::unknown()).peak_block_bytes;
        if needs > has {
            let message = format!(
                "{}: {} needs up to {} MiB, the device has {}",
                variant.name,
                planned.name,
                needs >> 20,
                has >> 20
            );
            examination.cautions.push(Caution { code: CautionCode::MayNotFit, message });
        }
    }
}

/// Warns about jobs that do not drop the caches although their data fit into memory.
fn warm_reads(plan: &Plan, memory: Option<u64>, examination: &mut PlanExamination) {
    let Some(memory) = memory else { return };
    for planned in &plan.jobs {
        let keeps_caches = ("drop-caches".to_owned(), "none".to_owned());
        let data = planned.job.footprint(&TargetFacts::unknown()).peak_bytes;
        if planned.job.parameters().contains(&keeps_caches) && data < memory.saturating_mul(2) {
            let message = format!(
                "{} does not drop caches: its {} MiB of data fit in {} MiB of memory",
                planned.name,
                data >> 20,
                memory >> 20
            );
            examination.cautions.push(Caution { code: CautionCode::DataFitInMemory, message });
        }
    }
}

/// Empty trial on the target of a variant, with the facts that are known before the target is made;
/// `None` for a plan without jobs.
pub fn foreseen_trial(plan: &Plan, variant: &Variant, started_unix_ms: i64) -> Option<Trial> {
    let planned = plan.jobs.first()?;
    Some(Trial {
        facts: facts(variant),
        ending: Ending::Completed,
        ..Trial::new(beginning(
            TrialId::new(),
            &planned.workload,
            planned.job.as_ref(),
            started_unix_ms,
        ))
    })
}

/// Facts about a variant's target that are known before the target is made.
fn facts(variant: &Variant) -> Vec<Fact> {
    let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
    let (mut facts, bytes) = match &variant.device {
        DeviceSpec::Directory { path } => {
            return look(&ObserverContext { target: path, options: ObserverOptions::default() })
                .facts;
        }
        DeviceSpec::Loop { bytes, count, .. } => {
            (Vec::new(), bytes.saturating_mul(u64::from(*count)))
        }
        DeviceSpec::Block { paths } => {
            let found_facts: Vec<Vec<Fact>> =
                paths.iter().map(|path| look_at_device(path).facts).collect();
            let sectors = found_facts.iter().flatten().filter(|fact| fact.name == "device.sectors");
            let sectors = sectors.filter_map(|fact| fact.value.parse::<u64>().ok()).sum::<u64>();
            (found_facts.concat(), sectors.saturating_mul(512))
        }
    };
    if bytes > 0 {
        facts.push(fact("variant.device_bytes", bytes.to_string()));
    }
    let kind = &variant.filesystem;
    facts.push(fact("filesystem.type", kind.clone()));
    facts.push(fact("mkfs.command", format!("mkfs.{kind} {}", variant.mkfs.join(" "))));
    let made = by_name(kind);
    let profile =
        made.and_then(|made| made.metadata_profile(&variant.mkfs, variant.member_count()));
    facts.extend(profile.map(|profile| fact("filesystem.metadata_profile", profile)));
    facts
}
