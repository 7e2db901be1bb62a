//! Environments of the variants side by side: every fact, whether it differs, and whether the
//! difference belongs to the declared factor.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::{
    GuestSpec, IMPORT_PREFIX, KEPT_TREES_FACT, PLAN_FACT, REBOOT_KERNEL_FACT, ROUNDS_FACT,
    SETTING_PREFIXES, WATCH_PREFIX, facts_that_follow,
};

use super::fairness::without_directories;
use super::variant::{ComparedVariant, Factor};

/// Value of a fact, with the number of trials of a variant that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactValue {
    /// Text of the value.
    pub value: String,
    /// Number of trials with this value.
    pub trials: usize,
}

/// Status of a fact between the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactStatus {
    /// The variants differ, and the fact does not belong to the declared factor.
    Differs,
    /// The value changes between trials of one variant.
    Varies,
    /// The variants differ, and the fact belongs to the declared factor or follows from it.
    Compared,
    /// The value is volatile: a name or a size that is new in every trial, or activity of the
    /// machine.
    Momentary,
    /// All trials that have the fact have the same value.
    Alike,
}

impl FactStatus {
    /// Name of the status in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Differs => "differs",
            Self::Varies => "varies",
            Self::Compared => "compared",
            Self::Momentary => "momentary",
            Self::Alike => "alike",
        }
    }
}

/// A fact of the environment, over all variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentFact {
    /// Name of the fact: `kernel.release`.
    pub name: String,
    /// Status of the fact between the variants.
    pub status: FactStatus,
    /// Values of the fact for each variant, the baseline first, sorted; empty where no trial has
    /// it.
    pub variants: Vec<Vec<FactValue>>,
}

/// All facts of the trials, in order of first occurrence.
pub fn environment(
    baseline: &ComparedVariant,
    contenders: &[ComparedVariant],
) -> Vec<EnvironmentFact> {
    let variants: Vec<&ComparedVariant> = std::iter::once(baseline).chain(contenders).collect();
    let has_kernel = |variant: &&ComparedVariant| {
        let mut facts = variant.trials.iter().flat_map(|trial| &trial.facts);
        facts.any(|fact| [GuestSpec::KERNEL_FACT, REBOOT_KERNEL_FACT].contains(&&*fact.name))
    };
    let is_of_kernels = variants.iter().all(has_kernel);
    let known: Vec<BTreeMap<&str, BTreeMap<&str, usize>>> =
        variants.iter().map(|variant| values(variant)).collect();
    let mut names: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    for fact in variants.iter().flat_map(|variant| &variant.trials).flat_map(|trial| &trial.facts) {
        let is_of_environment = ![PLAN_FACT, ROUNDS_FACT].contains(&fact.name.as_str())
            && !fact.name.starts_with(WATCH_PREFIX);
        if is_of_environment && seen.insert(fact.name.as_str()) {
            names.push(&fact.name);
        }
    }
    let following: BTreeSet<&str> =
        names.iter().flat_map(|name| facts_that_follow(name)).copied().collect();
    let of_name = |name: &str| {
        let of_variant = |values: &BTreeMap<&str, BTreeMap<&str, usize>>| -> Vec<FactValue> {
            let values = values.get(name).into_iter().flatten();
            let value = |(value, trials): (&&str, &usize)| FactValue {
                value: (*value).to_owned(),
                trials: *trials,
            };
            values.map(value).collect()
        };
        let mut values: Vec<Vec<FactValue>> = known.iter().map(of_variant).collect();
        let status = match fact_status(name, &values, contenders, &following) {
            FactStatus::Differs if is_of_kernels && OF_KERNELS.contains(&name) => {
                FactStatus::Compared
            }
            other => other,
        };
        if name == CONFIGURATION && status != FactStatus::Alike {
            leave_out_common(&mut values);
        }
        EnvironmentFact { name: name.to_owned(), status, variants: values }
    };
    names.into_iter().map(of_name).collect()
}

/// Fact that holds the kernel's configuration. It is so long that only differing options are shown.
const CONFIGURATION: &str = "kernel.config";
/// Fact with the options of a superblock, which name directories that are new at each mount.
const MOUNTED_WITH: &str = "filesystem.super_options";
/// Facts that depend on the kernel a variant boots.
const OF_KERNELS: [&str; 6] = [
    "kernel.release",
    "kernel.version",
    CONFIGURATION,
    GuestSpec::KERNEL_FACT,
    REBOOT_KERNEL_FACT,
    "guest.kernel_release",
];

/// Removes the words that occur in every value, keeping the order of the others.
fn leave_out_common(variants: &mut [Vec<FactValue>]) {
    let words = |value: &FactValue| -> BTreeSet<String> {
        value.value.split(' ').map(str::to_owned).collect()
    };
    let Some(common) = variants.iter().flatten().map(words).reduce(|left, right| &left & &right)
    else {
        return;
    };
    for value in variants.iter_mut().flatten() {
        let own: Vec<&str> =
            value.value.split(' ').filter(|word| !common.contains(*word)).collect();
        value.value = if own.is_empty() { "none of these".to_owned() } else { own.join(" ") };
    }
}

/// Values of each fact of a variant with the number of trials that have them.
fn values(variant: &ComparedVariant) -> BTreeMap<&str, BTreeMap<&str, usize>> {
    let mut values: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for fact in variant.trials.iter().flat_map(|trial| &trial.facts) {
        *values.entry(&fact.name).or_default().entry(&fact.value).or_default() += 1;
    }
    values
}

fn fact_status(
    name: &str,
    variants: &[Vec<FactValue>],
    contenders: &[ComparedVariant],
    following: &BTreeSet<&str>,
) -> FactStatus {
    let text = |fact: &FactValue| {
        let options = fact.value.split(',');
        match name {
            MOUNTED_WITH => options.map(without_directories).collect::<Vec<_>>().join(","),
            _ => fact.value.clone(),
        }
    };
    let texts =
        |variant: &Vec<FactValue>| -> BTreeSet<String> { variant.iter().map(text).collect() };
    let reported: Vec<BTreeSet<String>> =
        variants.iter().filter(|variant| !variant.is_empty()).map(texts).collect();
    let values: BTreeSet<&String> = reported.iter().flatten().collect();
    // A fact that one variant lacks and all trials of the others have is a difference, too.
    let missing = reported.len() < variants.len();
    if values.len() < 2 && !missing {
        return FactStatus::Alike;
    }
    if is_momentary(name) {
        return FactStatus::Momentary;
    }
    let is_declared = |variant: &ComparedVariant| {
        is_declared(variant.factor, name)
            || (variant.factor == Factor::Variant && following.contains(name))
    };
    if contenders.iter().all(is_declared) {
        return FactStatus::Compared;
    }
    if reported.iter().any(|values| values.len() > 1) {
        return FactStatus::Varies;
    }
    FactStatus::Differs
}

/// Reports whether a fact is expected to change with every trial.
fn is_momentary(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        KEPT_TREES_FACT,
        "command.errors",
        "command.output",
        "mkfs.output",
        "filesystem.source",
        "filesystem.mount_point",
        "filesystem.free_bytes",
        "filesystem.free_inodes",
        "filesystem.reserved_bytes",
        "device.name",
        "device.backing_file",
        "variant.name",
    ];
    NAMES.contains(&name) || name.starts_with("conditions.") || name.starts_with(IMPORT_PREFIX)
}

/// Reports whether a fact belongs to the factor by which the trials were selected.
fn is_declared(factor: Factor, name: &str) -> bool {
    if SETTING_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return factor == Factor::Variant;
    }
    let group = name.split_once('.').map_or(name, |(group, _)| group);
    match factor {
        Factor::Label | Factor::Id | Factor::Job => false,
        Factor::Kernel => group == "kernel",
        Factor::Filesystem => matches!(group, "filesystem" | "mkfs" | "mount"),
        Factor::Variant | Factor::Target => {
            matches!(group, "filesystem" | "device" | "mkfs" | "mount" | "variant")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FactValue, leave_out_common};

    #[test]
    fn only_differing_mount_options_are_kept() {
        let value = |value: &str| vec![FactValue { value: value.to_owned(), trials: 2 }];
        let mut variants =
            [value("KASAN HZ=250 XFS_FS=m"), value("HZ=1000 XFS_FS=m"), value("XFS_FS=m")];
        leave_out_common(&mut variants);
        let kept: Vec<&str> =
            variants.iter().flatten().map(|variant| variant.value.as_str()).collect();
        assert_eq!(kept, ["KASAN HZ=250", "HZ=1000", "none of these"]);
    }
}
