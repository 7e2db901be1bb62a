//! The environments of the variants beside each other: every fact, where it differs, and whether
//! the difference is what was declared to be compared.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::{GuestSpec, IMPORT_PREFIX, PLAN_FACT, REBOOT_KERNEL_FACT, WATCH_PREFIX};

use super::variant::{ComparedVariant, Factor};

/// A value of a fact, and how many trials of a variant have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactValue {
    /// The value.
    pub value: String,
    /// Trials that have it.
    pub trials: usize,
}

/// How a fact stands between the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// The variants differ in it, and it was not declared to be what is compared.
    Differs,
    /// It changes from trial to trial of a variant.
    Varies,
    /// The variants differ in it, and that is what is compared, or comes of it.
    Compared,
    /// It is of the moment: a name or a size that is new in every trial, or what the machine did
    /// meanwhile.
    Momentary,
    /// All trials that have it have the same.
    Alike,
}

impl Standing {
    /// The word used in tables.
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

/// A fact of the environment on all variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentFact {
    /// Its name: `kernel.release`.
    pub name: String,
    /// How it stands between the variants.
    pub standing: Standing,
    /// Its values on each variant, the baseline first, in the order of the values; none where no
    /// trial knows it.
    pub variants: Vec<Vec<FactValue>>,
}

/// Every fact that a trial has, in the order in which they first occur.
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
        let is_of_environment = fact.name != PLAN_FACT && !fact.name.starts_with(WATCH_PREFIX);
        if is_of_environment && seen.insert(fact.name.as_str()) {
            names.push(&fact.name);
        }
    }
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
        let standing = match standing(name, &values, contenders) {
            Standing::Differs if is_of_kernels && OF_KERNELS.contains(&name) => Standing::Compared,
            other => other,
        };
        if name == CONFIGURATION && standing != Standing::Alike {
            leave_out_common(&mut values);
        }
        EnvironmentFact { name: name.to_owned(), standing, variants: values }
    };
    names.into_iter().map(of_name).collect()
}

/// How the kernel was built: so many words that only those are shown that not all have.
const CONFIGURATION: &str = "kernel.config";
/// What comes of the kernel that a variant boots.
const OF_KERNELS: [&str; 6] = [
    "kernel.release",
    "kernel.version",
    CONFIGURATION,
    GuestSpec::KERNEL_FACT,
    REBOOT_KERNEL_FACT,
    "guest.kernel_release",
];

/// Leaves out the words that every value has, and keeps the order of the others.
fn leave_out_common(variants: &mut [Vec<FactValue>]) {
    let words = |value: &FactValue| -> BTreeSet<String> {
        value.value.split(' ').map(str::to_owned).collect()
    };
    let Some(common) = variants.iter().flatten().map(words).reduce(|one, other| &one & &other)
    else {
        return;
    };
    for value in variants.iter_mut().flatten() {
        let own: Vec<&str> =
            value.value.split(' ').filter(|word| !common.contains(*word)).collect();
        value.value = if own.is_empty() { "none of these".to_owned() } else { own.join(" ") };
    }
}

/// The values of each fact of a variant with the number of trials that have it.
fn values(variant: &ComparedVariant) -> BTreeMap<&str, BTreeMap<&str, usize>> {
    let mut values: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for fact in variant.trials.iter().flat_map(|trial| &trial.facts) {
        *values.entry(&fact.name).or_default().entry(&fact.value).or_default() += 1;
    }
    values
}

fn standing(name: &str, variants: &[Vec<FactValue>], contenders: &[ComparedVariant]) -> Standing {
    let texts = |variant: &Vec<FactValue>| -> BTreeSet<String> {
        variant.iter().map(|one| one.value.clone()).collect()
    };
    let reported: Vec<BTreeSet<String>> =
        variants.iter().filter(|variant| !variant.is_empty()).map(texts).collect();
    let all: BTreeSet<&String> = reported.iter().flatten().collect();
    // A fact that one variant lacks, where all trials of the others have it, is a difference too.
    let missing = reported.len() < variants.len();
    if all.len() < 2 && !missing {
        return Standing::Alike;
    }
    if is_momentary(name) {
        return Standing::Momentary;
    }
    if contenders.iter().all(|variant| is_declared(variant.factor, name)) {
        return Standing::Compared;
    }
    if reported.iter().any(|values| values.len() > 1) {
        return Standing::Varies;
    }
    Standing::Differs
}

/// Whether a fact is expected to change with every trial, whatever is compared.
fn is_momentary(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "command.errors",
        "command.output",
        "mkfs.output",
        "filesystem.source",
        "filesystem.mount_point",
        "filesystem.free_bytes",
        "filesystem.free_inodes",
        "device.name",
        "device.backing_file",
        "variant.name",
    ];
    NAMES.contains(&name) || name.starts_with("conditions.") || name.starts_with(IMPORT_PREFIX)
}

/// Whether a fact belongs to what the user chose the trials by.
fn is_declared(factor: Factor, name: &str) -> bool {
    let group = name.split_once('.').map_or(name, |(group, _)| group);
    match factor {
        Factor::Label | Factor::Id => false,
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
    fn of_many_options_only_those_are_kept_that_differ() {
        let value = |value: &str| vec![FactValue { value: value.to_owned(), trials: 2 }];
        let mut variants =
            [value("KASAN HZ=250 XFS_FS=m"), value("HZ=1000 XFS_FS=m"), value("XFS_FS=m")];
        leave_out_common(&mut variants);
        let kept: Vec<&str> = variants.iter().flatten().map(|one| one.value.as_str()).collect();
        assert_eq!(kept, ["KASAN HZ=250", "HZ=1000", "none of these"]);
    }
}
