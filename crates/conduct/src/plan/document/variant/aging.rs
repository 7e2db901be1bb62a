//! `[aging]`: the ages of the variants, and the run that gives them these ages.
//!
//! Ages are expanded in the parsed document, as sweeps are: a variant becomes one for each age,
//! and, unless `copies` is false, one for each age with a copy of its files on a fresh filesystem.
//! An aged variant is compared with the copy of its age.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};
use treering_model::filesystems::is_in_memory;
use treering_model::{AgedTree, DeviceSpec, Variant, VariantAge};

use super::super::Known;
use super::super::format::{AgingTable, PlanTable, VariantTable, fault};
use super::super::given::{self, GivenOption};
use super::super::job::{JobRequest, find, planned};
use super::super::sweep::{elements, name, spanned, text};
use super::super::tree::Value;
use crate::plan::error::{Fault, quoted};
use crate::plan::{Conditions, JobCommands, JobEngine, Machine, PlannedJob};

/// Workload that ages a filesystem, and its option with the rule that ends it.
const WORKLOAD: &str = "age";
const UNTIL: &str = "until";
/// Name of the job that ages, in the trials that it records.
const NAME: &str = "aging";
const AGES_MAX: usize = 32;

/// Document with the ages of `[aging]` given to every variant that has none of its own; `None` if
/// there is nothing to expand.
pub(in crate::plan::document) fn expanded<'d>(
    document: &DeTable<'d>,
) -> Result<Option<DeTable<'d>>, Fault> {
    let Some((key, value)) = document.get_key_value("aging") else { return Ok(None) };
    let at = (key.get_ref().as_ref(), key.span());
    let section = AgingTable::deserialize(Value::new(at, value.get_ref(), value.span()));
    let section = section.map_err(fault)?;
    let Some(ages) = &section.age else { return Ok(None) };
    let ages: Vec<u64> = ages.0.iter().map(|age| age.value.0).collect();
    let is_rising = ages.windows(2).all(|pair| pair[0] < pair[1]);
    if ages.is_empty() || ages.len() > AGES_MAX || !is_rising {
        let message = format!("`age` has 1 to {AGES_MAX} rising numbers of operations");
        return Err(Fault::at(value.span(), message, "").hint("age = [0, 1000, 5000, 20000]"));
    }
    let with_copies = section.copies.as_ref().is_none_or(|copies| copies.value);
    let Some(variants) = elements(document, "variant") else { return Ok(None) };
    let mut expanded_variants = DeArray::new();
    for element in variants {
        match element.get_ref() {
            DeValue::Table(table) if !table.contains_key("age") => {
                for one in with_ages(table, element, &ages, with_copies) {
                    expanded_variants.push(Spanned::new(element.span(), DeValue::Table(one)));
                }
            }
            _ => expanded_variants.push(element.clone()),
        }
    }
    let mut expanded = document.clone();
    let Some((key, value)) = document.get_key_value("variant") else { return Ok(None) };
    expanded.insert(key.clone(), Spanned::new(value.span(), DeValue::Array(expanded_variants)));
    Ok(Some(expanded))
}

/// A variant at each age. Copies come first, since a variant is compared with one above it; without
/// copies the first age is the one to compare with.
fn with_ages<'d>(
    table: &DeTable<'d>,
    element: &Spanned<DeValue<'d>>,
    ages: &[u64],
    with_copies: bool,
) -> Vec<DeTable<'d>> {
    let span = element.span();
    let base = name(table, false);
    let name_of = |age: u64, tree: AgedTree| {
        let state = if with_copies { format!(", tree={}", tree.name()) } else { String::new() };
        format!("{base}{state}, age={age}")
    };
    let one = |age: u64, tree: AgedTree, against: Option<String>| {
        let mut one = table.clone();
        let mut put = |key: &'static str, value: String| {
            one.insert(spanned(&span, key), Spanned::new(span.clone(), text(value)));
        };
        put("name", name_of(age, tree));
        put("age", age.to_string());
        put("tree", tree.name().to_owned());
        if let Some(against) = against {
            put("against", against);
        }
        one
    };
    let copied = ages.iter().filter(|_| with_copies);
    let copied = copied.map(|&age| one(age, AgedTree::Copied, None));
    let aged = ages.iter().map(|&age| {
        let first = ages.first().filter(|first| !with_copies && **first != age);
        let first = first.map(|&first| name_of(first, AgedTree::Aged));
        let against = if with_copies { Some(name_of(age, AgedTree::Copied)) } else { first };
        one(age, AgedTree::Aged, against)
    });
    copied.chain(aged).collect()
}

/// Age of a variant.
pub(super) fn age(section: &VariantTable) -> Result<Option<VariantAge>, Fault> {
    let Some(age) = &section.age else {
        let Some(tree) = &section.tree else { return Ok(None) };
        let message = "`tree` says where the files of an age are, and the variant has no `age`";
        return Err(tree.key_fault(message, "").hint("write age = 1000, or leave `tree` out"));
    };
    let tree = section.tree.as_ref().map_or(AgedTree::Aged, |tree| tree.value.0);
    Ok(Some(VariantAge { operations: age.value.0, tree }))
}

/// The run that ages the variants; `None` if none has an age.
pub(in crate::plan::document) fn aging(
    top: &PlanTable,
    (variants, conditions): (&[Variant], &Conditions),
    known: &Known<'_>,
) -> Result<Option<PlannedJob>, Fault> {
    let aged = || variants.iter().filter_map(|variant| Some((variant, variant.age?)));
    let Some(section) = &top.aging else {
        let Some((variant, _)) = aged().next() else { return Ok(None) };
        let message = format!("{} has an `age`, and the plan no [aging]", quoted(&variant.name));
        return Err(Fault::whole(message).hint("write [aging] with the options of the run"));
    };
    let oldest = aged().map(|(_, age)| age.operations).max();
    let Some(oldest) = oldest else {
        let message = "[aging] gives no variant an age";
        return Err(section.fault(message, "").hint("write age = [0, 1000, 5000]"));
    };
    for (variant, _) in aged() {
        suits(variant, conditions).map_err(|(message, hint)| {
            section.fault(format!("{}: {message}", quoted(&variant.name)), "").hint(hint)
        })?;
    }
    let Some(workload) = find(WORKLOAD, known) else {
        return Err(section.fault("this program cannot age filesystems", ""));
    };
    let manifest = workload.manifest();
    let options = section.options.as_ref();
    let mut given = match options {
        Some(options) => given::given(&options.0, manifest, true)?,
        None => Vec::new(),
    };
    if let Some(until) = given.iter().find(|option| option.name == UNTIL) {
        let message = "`until` is the age of each variant";
        return Err(Fault::at(until.span.clone(), message, "").hint("leave it out"));
    }
    given.push(GivenOption::new(UNTIL, until(oldest), &section.span));
    let request = JobRequest {
        name: NAME,
        workload,
        launch: None,
        place: &section.span,
        environment: &known.environment,
        engine: JobEngine::default(),
        around: JobCommands::default(),
    };
    let job = planned(request, &given, known)?;
    if job.job.remounts() {
        let message = "an aging run of a plan is not remounted between its operations";
        return Err(section.fault(message, "").hint("leave `remount-every` out"));
    }
    Ok(Some(job))
}

/// Rule that ends the run at an age.
fn until(operations: u64) -> String {
    format!("operations={operations}")
}

/// Refuses variants whose filesystem has no image that trials could start from.
fn suits(variant: &Variant, conditions: &Conditions) -> Result<(), (&'static str, &'static str)> {
    let loop_hint = "give it a loop device: device = { loop = \"4GiB\" }";
    if !matches!(variant.device, DeviceSpec::Loop { .. }) || is_in_memory(&variant.filesystem) {
        return Err(("an age is kept as an image of a loop device", loop_hint));
    }
    if variant.image.is_some() {
        return Err(("a saved image has its own age", "leave `image` or the age out"));
    }
    if variant.guest.is_some() || conditions.machine == Machine::Reboot {
        return Err(("filesystems are aged under the running kernel", "leave the kernel out"));
    }
    let settings = &variant.settings;
    if !settings.layers.is_empty() {
        return Err(("a filesystem on layers is not aged by a plan", "leave `layers` out"));
    }
    if settings.second_device.is_some() {
        return Err(("a filesystem on two kinds of devices is not aged by a plan", "leave it out"));
    }
    if !(settings.prepare.is_empty() && settings.cleanup.is_empty()) {
        let hint = "write it in the job, which starts from the image";
        return Err(("a command of the variant would run before each age, too", hint));
    }
    Ok(())
}

/// Options of a run that ends at this age.
pub(crate) fn options_until(
    options: &[(String, String)],
    operations: u64,
) -> Vec<(String, String)> {
    let mut options = options.to_vec();
    options.retain(|(name, _)| name != UNTIL);
    options.push((UNTIL.to_owned(), until(operations)));
    options
}

/// Options of the run without the rule that ends it, as a plan writes them.
pub(in crate::plan) fn written_options(job: &PlannedJob) -> Vec<(String, String)> {
    job.options.iter().filter(|(name, _)| name != UNTIL).cloned().collect()
}
