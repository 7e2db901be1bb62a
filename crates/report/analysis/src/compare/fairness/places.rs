//! Differences of the environments of two variants beyond the declared factor: machine, kernel,
//! device, filesystem.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use treering_model::filesystems::{MetadataCopies, all, by_name};
use treering_model::{
    CautionCode, GENERAL_TOOLS, GuestSpec, IMPORT_FACT, REBOOT_KERNEL_FACT, Trial,
    facts_that_follow,
};
use treering_stats::median;

use super::facts::FactComparison::{self, Approximate, Bracketed, Exact, Words};
use super::facts::{
    BLOCK_BYTES, BUILD, CAPACITY, CHECKSUM_CODE, COMPARED_FACTS, DEVICE, DEVICE_BYTES, DISK, FACTS,
    FREE_BYTES, GEOMETRY, MEMORY_TOLERANCE, MKFS, MODEL, MOUNT_ASKED, OPTIONS, PLANNED_OF_LOOPS,
    PROFILE, RELEASE, RESERVED, ROTATIONAL, TYPE, given_to_guest,
};
use super::one_sided::Share;
use super::values::{chosen, device_driver, only, without_directories, words};
use super::{VariantView, listed};
use crate::compare::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use crate::compare::variant::{Factor, fact};

/// Tolerated relative difference of filesystem capacities. Filesystems reserve different shares, so
/// only larger differences indicate different devices.
pub(super) const SIZE_TOLERANCE: f64 = 0.05;
/// Tolerated difference of the share in use.
const FREE_TOLERANCE: f64 = 0.03;

/// Variant with the facts of all its trials by name, cached because they are looked up often.
pub(super) struct VariantFacts<'t> {
    pub(super) variant: VariantView<'t>,
    facts: HashMap<&'t str, Vec<&'t str>>,
}

impl<'t> VariantFacts<'t> {
    pub(super) fn new(variant: VariantView<'t>) -> Self {
        let mut facts: HashMap<&str, Vec<&str>> = HashMap::with_capacity(COMPARED_FACTS.len());
        for fact in variant.rounds.iter().flat_map(|trial| &trial.facts) {
            facts.entry(&fact.name).or_default().push(&fact.value);
        }
        Self { variant, facts }
    }

    fn values_of(&self, name: &str) -> &[&'t str] {
        debug_assert!(
            COMPARED_FACTS.contains(&name),
            "{name} is not compared for thousands of trials"
        );
        self.facts.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Distinct values of a fact.
    pub(super) fn values(&self, name: &str) -> BTreeSet<&'t str> {
        let values = self.values_of(name);
        // Consecutive trials mostly have the same value, so repetitions are skipped cheaply.
        let changes =
            values.iter().enumerate().filter(|(at, value)| *at == 0 || values[at - 1] != **value);
        changes.map(|(_, value)| *value).collect()
    }

    /// Median of a numeric fact.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let parsed = self.values_of(name).iter().filter_map(|value| value.parse::<f64>().ok());
        median(&parsed.collect::<Vec<f64>>()).ok()
    }

    /// Reports whether a fact about the guest's assigned resources replaces this one.
    pub(super) fn is_told_by_guest(&self, name: &str) -> bool {
        given_to_guest(name).is_some_and(|given| !self.values_of(given).is_empty())
    }

    /// Reports whether a recorded mkfs command of this filesystem contains an option.
    fn mkfs_has(&self, filesystem: &str, option: &str) -> bool {
        let commands = self.values(MKFS);
        commands.iter().any(|command| command.contains(filesystem) && command.contains(option))
    }
}

/// Two variants with their facts.
pub(super) struct VariantPair<'t> {
    pub(super) baseline: VariantFacts<'t>,
    pub(super) contender: VariantFacts<'t>,
    /// Messages by code, with those declared by a plan kept apart.
    differing: BTreeMap<(Code, bool), Vec<String>>,
}

/// Cautions about differences beyond the declared factor.
pub(in crate::compare) fn of_places(
    baseline: VariantView<'_>,
    contender: VariantView<'_>,
) -> Vec<ComparisonCaution> {
    let variants = (VariantFacts::new(baseline), VariantFacts::new(contender));
    let mut pair =
        VariantPair { baseline: variants.0, contender: variants.1, differing: BTreeMap::new() };
    let mut known = OneSidedFacts::default();
    for (name, code, how) in FACTS {
        if !pair.is_excused(name, code) {
            if name != CHECKSUM_CODE {
                known.look(&pair, name);
            }
            pair.compare(name, code, how);
        }
    }
    known.look(&pair, CAPACITY);
    known.look(&pair, OPTIONS[0]);
    known.report_to(&mut pair);
    let (left, right) = (versions(baseline), versions(contender));
    if left != right {
        pair.note(Code::VersionsDiffer, "treering", &listed(&left), &listed(&right));
    }
    pair.compare_sizes();
    pair.compare_free_space();
    pair.compare_profiles();
    pair.compare_disks();
    pair.compare_caches();
    pair.settings();
    if let Some((left, right)) = differing_options(&pair.baseline, &pair.contender) {
        pair.note(Code::MountOptionsDiffer, "mounted with", &left, &right);
    } else {
        pair.compare_barriers();
    }
    let caution = |((code, is_declared), messages): ((Code, bool), Vec<String>)| {
        ComparisonCaution::new(code, messages.join("; ")).declared_if(is_declared)
    };
    pair.differing.into_iter().map(caution).collect()
}

/// Facts known for one variant only: for the baseline, and for the contender.
#[derive(Default)]
struct OneSidedFacts {
    known: [Vec<&'static str>; 2],
    of_both: bool,
}

impl OneSidedFacts {
    fn look(&mut self, pair: &VariantPair<'_>, name: &'static str) {
        match (pair.baseline.values_of(name).is_empty(), pair.contender.values_of(name).is_empty())
        {
            (false, true) => self.known[0].push(name),
            (true, false) => self.known[1].push(name),
            (false, false) => self.of_both = true,
            (true, true) => {}
        }
    }

    fn report_to(self, pair: &mut VariantPair<'_>) {
        let names = [pair.baseline.variant.name, pair.contender.variant.name];
        for (known, (own, other)) in
            self.known.into_iter().zip([(names[0], names[1]), (names[1], names[0])])
        {
            if known.is_empty() {
                continue;
            }
            let message = if self.of_both {
                format!("known for '{own}' but not for '{other}': {}", known.join(", "))
            } else {
                format!("the environment of '{own}' is known, that of '{other}' is not")
            };
            pair.report(Code::KnownOfOneSide, message);
        }
    }
}

impl VariantPair<'_> {
    pub(super) fn note(&mut self, code: Code, name: &str, left: &str, right: &str) {
        let message = self.difference_words(name, left, right);
        self.report(code, message);
    }

    pub(super) fn difference_words(&self, name: &str, left: &str, right: &str) -> String {
        let (baseline, contender) = (self.baseline.variant.name, self.contender.variant.name);
        format!("{name} is {left} for '{baseline}' and {right} for '{contender}'")
    }

    pub(super) fn report(&mut self, code: Code, message: String) {
        self.report_difference(code, message, false);
    }

    fn report_difference(&mut self, code: Code, message: String, is_declared: bool) {
        self.differing.entry((code, is_declared)).or_default().push(message);
    }

    /// Reports whether both variants belong to a plan that made their filesystems.
    pub(super) fn is_made_by_plan(&self) -> bool {
        let is_made = |variant: &VariantFacts<'_>| !variant.values(MKFS).is_empty();
        self.contender.variant.factor == Factor::Variant
            && is_made(&self.baseline)
            && is_made(&self.contender)
    }

    fn compare(&mut self, name: &str, code: Code, how: FactComparison) {
        let (left, right) = (self.baseline.values(name), self.contender.values(name));
        if left.is_empty() || right.is_empty() || left == right {
            return;
        }
        match how {
            Exact => self.note(code, name, &listed(&left), &listed(&right)),
            Bracketed => {
                let (left, right) = (chosen(&left), chosen(&right));
                if left != right {
                    self.note(code, name, &listed(&left), &listed(&right));
                }
            }
            Words => {
                let (left, right) = (words(&left), words(&right));
                if left != right {
                    self.note(code, name, &only(&left, &right), &only(&right, &left));
                }
            }
            Approximate => {
                let variants = (self.baseline.number(name), self.contender.number(name));
                if let (Some(base_value), Some(own_value)) = variants
                    && (base_value - own_value).abs() > MEMORY_TOLERANCE * base_value.max(own_value)
                {
                    self.note(code, name, &listed(&left), &listed(&right));
                }
            }
        }
    }

    pub(super) fn is_same_type(&self) -> bool {
        self.baseline.values(TYPE) == self.contender.values(TYPE)
    }

    /// Reports whether a fact follows from a setting declared by a variant.
    fn follows_from_settings(&self, name: &str) -> bool {
        let variants = [self.baseline.variant, self.contender.variant];
        // All trials of a variant have its settings.
        let firsts = variants.iter().filter_map(|variant| variant.rounds.first());
        let mut facts = firsts.flat_map(|trial| &trial.facts);
        facts.any(|fact| facts_that_follow(&fact.name).contains(&name))
    }

    /// Reports whether a difference of this fact belongs to the declared factor or is no real
    /// difference.
    fn is_excused(&self, name: &str, code: Code) -> bool {
        let factor = self.contender.variant.factor;
        // Jobs that are compared with one another may have other ranks.
        if factor == Factor::Job && name.starts_with("ranks.") {
            return true;
        }
        if factor == Factor::Variant && self.follows_from_settings(name) {
            return true;
        }
        let both = [&self.baseline, &self.contender];
        if both.iter().all(|variant| variant.is_told_by_guest(name)) {
            return true;
        }
        // A different release always has a different build.
        if name == BUILD && self.baseline.values(RELEASE) != self.contender.values(RELEASE) {
            return true;
        }
        match code {
            Code::MetadataProfilesDiffer => true, // reported by `profiles`
            Code::FeaturesDiffer => {
                // Filesystems of a plan's variants are made as declared.
                let is_planned = self.is_made_by_plan();
                let types = both.iter().flat_map(|variant| variant.values(TYPE));
                let has_blocks = types
                    .into_iter()
                    .all(|fs_type| by_name(fs_type).is_some_and(|fs| fs.has_blocks));
                let is_asked = |variant: &&VariantFacts<'_>| variant.mkfs_has("", " -b ");
                match name {
                    // Groups and logs grow with the filesystem, and a difference in size is
                    // reported by another caution.
                    GEOMETRY if self.sizes_apart().is_some() => true,
                    BLOCK_BYTES => !has_blocks || (is_planned && both.iter().any(is_asked)),
                    _ => !self.is_same_type() || is_planned,
                }
            }
            Code::DevicesDiffer => is_declared(factor, code) && self.is_of_devices(name),
            // Kernels of a plan's variants are declared by the plan.
            Code::KernelsDiffer if factor == Factor::Variant => {
                [GuestSpec::KERNEL_FACT, REBOOT_KERNEL_FACT]
                    .iter()
                    .any(|name| both.iter().all(|variant| !variant.values(name).is_empty()))
            }
            _ => is_declared(factor, code),
        }
    }

    /// Reports whether a fact identifies the compared devices. For two devices of the same kind,
    /// queue settings do not, unless a plan set them.
    fn is_of_devices(&self, name: &str) -> bool {
        let of_plan = PLANNED_OF_LOOPS.contains(&name) && self.is_made_by_plan();
        of_plan || [MODEL, ROTATIONAL].contains(&name) || !self.is_same_kind_of_device()
    }

    pub(super) fn is_same_kind_of_device(&self) -> bool {
        let drivers = |variant: &VariantFacts<'_>| -> BTreeSet<String> {
            variant.values(DEVICE).into_iter().map(|name| device_driver(name).to_owned()).collect()
        };
        let same = |name: &str| self.baseline.values(name) == self.contender.values(name);
        same(MODEL) && same(ROTATIONAL) && drivers(&self.baseline) == drivers(&self.contender)
    }

    /// Reports flushes that are disabled on one variant, regardless of the factor, unless a plan
    /// requested that option: only the other variant spends time on flushes, and its writes are
    /// safe.
    fn compare_barriers(&mut self) {
        let without = |variant: &VariantFacts<'_>| -> Option<bool> {
            let options: Vec<&str> = OPTIONS.iter().flat_map(|name| variant.values(name)).collect();
            let is_off = options.iter().flat_map(|text| text.split(',')).any(is_barrier_off);
            (!options.is_empty()).then_some(is_off)
        };
        let is_asked = |variant: &VariantFacts<'_>| {
            let options = variant.values(MOUNT_ASKED);
            options.into_iter().flat_map(|text| text.split(',')).any(is_barrier_off)
        };
        let (left, right) = (without(&self.baseline), without(&self.contender));
        let (Some(left), Some(right)) = (left, right) else { return };
        if left == right || is_asked(&self.baseline) || is_asked(&self.contender) {
            return;
        }
        let word = |off: bool| if off { "without write barriers" } else { "with write barriers" };
        self.note(Code::MountOptionsDiffer, "mounting", word(left), word(right));
    }

    /// Sizes in bytes, if they differ so much that the devices differ.
    pub(super) fn sizes_apart(&self) -> Option<(f64, f64)> {
        let sizes = |name: &str| Some((self.baseline.number(name)?, self.contender.number(name)?));
        let (left, right) = sizes(DEVICE_BYTES).or_else(|| sizes(CAPACITY))?;
        ((left - right).abs() > SIZE_TOLERANCE * left.max(right)).then_some((left, right))
    }

    fn compare_sizes(&mut self) {
        if self.contender.variant.factor == Factor::Target {
            return;
        }
        if let Some((left, right)) = self.sizes_apart() {
            let mib = |bytes: f64| format!("{:.0} MiB", bytes / 1_048_576.0);
            let message = self.difference_words("the filesystem's size", &mib(left), &mib(right));
            // Sizes of loop images are keys of the plan; sizes of devices are not.
            let names = [&self.baseline, &self.contender].map(|variant| variant.values(DEVICE));
            let are_loops = names.iter().all(|names| {
                !names.is_empty() && names.iter().all(|name| device_driver(name) == "loop")
            });
            let is_declared = self.is_made_by_plan() && are_loops;
            self.report_difference(Code::SizesDiffer, message, is_declared);
        }
    }

    /// Reports whether both filesystems were made for the trials. Memory needs no mkfs.
    pub(super) fn are_fresh(&self) -> bool {
        let is_planned = self.contender.variant.factor == Factor::Variant;
        let is_fresh = |variant: &VariantFacts<'_>| {
            let is_memory = variant.values(TYPE) == BTreeSet::from(["tmpfs"]);
            !variant.values(MKFS).is_empty() || is_planned && is_memory
        };
        is_fresh(&self.baseline) && is_fresh(&self.contender)
    }

    /// Compares the used space before the trials, and the space that only root may fill. A
    /// filesystem made for the trial counts as empty, whatever it reserves.
    fn compare_free_space(&mut self) {
        if self.are_fresh() {
            return;
        }
        let share = |name: &str| {
            let share_of_capacity = |variant: &VariantFacts<'_>| {
                Some(variant.number(name)? / variant.number(CAPACITY)?)
            };
            Some([share_of_capacity(&self.baseline)?, share_of_capacity(&self.contender)?])
        };
        let Some(free) = share(FREE_BYTES) else { return };
        let kept = share(RESERVED);
        let reserved = kept.unwrap_or_default();
        let used = [0, 1].map(|side| 1.0 - free[side] - reserved[side]);
        let are_apart = |[left, right]: [f64; 2]| (left - right).abs() > FREE_TOLERANCE;
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        if are_apart(used) {
            let label = "the space used on the filesystem beforehand";
            self.note(Code::FreeSpaceDiffers, label, &percent(used[0]), &percent(used[1]));
        }
        // Filesystems of other types reserve other shares, which nobody chose; those that keep
        // their metadata twice count the second copy.
        let is_same_profile = self.baseline.values(PROFILE) == self.contender.values(PROFILE);
        if are_apart(reserved) && self.is_same_type() && is_same_profile {
            let label = "the space that only root may fill";
            self.note(Code::FeaturesDiffer, label, &percent(reserved[0]), &percent(reserved[1]));
        }
    }

    /// Compares metadata profiles. Duplicated metadata causes a caution even between different
    /// filesystems, as mkfs chooses it, not the filesystem.
    fn compare_profiles(&mut self) {
        let (left, right) = (self.baseline.values(PROFILE), self.contender.values(PROFILE));
        if left.is_empty() || right.is_empty() || left == right {
            return;
        }
        let (left, right) = (listed(&left), listed(&right));
        let message = format!(
            "metadata is kept {left} by '{}' and {right} by '{}'",
            self.baseline.variant.name, self.contender.variant.name
        );
        let is_asked = |variant: &VariantFacts<'_>| {
            all().any(|filesystem| match filesystem.metadata {
                MetadataCopies::Chosen { options, .. } => options
                    .iter()
                    .any(|option| variant.mkfs_has(filesystem.name, &format!(" {option}"))),
                MetadataCopies::Once | MetadataCopies::Unknown => false,
            })
        };
        let is_asked = is_asked(&self.baseline) || is_asked(&self.contender);
        let is_declared = is_asked && self.is_made_by_plan();
        let is_told = is_asked && !is_declared;
        let message = if is_told { format!("{message}, as mkfs was asked to") } else { message };
        self.report_difference(Code::MetadataProfilesDiffer, message, is_declared);
    }

    fn compare_disks(&mut self) {
        let pairs = |variant: &VariantFacts<'_>| -> (BTreeSet<String>, BTreeSet<String>) {
            let own = |name: &str| variant.values(name).iter().map(ToString::to_string).collect();
            (own(DISK), own(DEVICE))
        };
        let ((left_disk, left), (right_disk, right)) =
            (pairs(&self.baseline), pairs(&self.contender));
        if left_disk.is_empty() && right_disk.is_empty() {
            self.unknown_disks();
        }
        let shared: Vec<&String> = left_disk.intersection(&right_disk).collect();
        // Stacked devices have the same numbers in every guest, but different disks.
        let is_of_layers = self.follows_from_settings(DEVICE);
        if shared.is_empty() || is_of_layers || !left.is_disjoint(&right) {
            return;
        }
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        let message = format!(
            "'{}' is on {} and '{}' on {}, both of the disk {}",
            self.baseline.variant.name,
            list(&left),
            self.contender.variant.name,
            list(&right),
            shared[0]
        );
        self.report(Code::SameDisk, message);
    }

    /// Cautions about unknown disks. Imported logs do not record them; trials of treering do,
    /// except on filesystems without a disk, such as tmpfs.
    fn unknown_disks(&mut self) {
        let is_imported = |variant: VariantView<'_>| {
            let is_general =
                |trial: &Trial| GENERAL_TOOLS.contains(&trial.beginning.workload.as_str());
            let mut imported = variant.rounds.iter().filter(|trial| !is_general(trial));
            imported.any(|trial| fact(trial, IMPORT_FACT).is_some())
        };
        let (left, right) = (self.baseline.variant, self.contender.variant);
        if is_imported(left) && is_imported(right) {
            let message = format!(
                "it is unknown on which disk, and where on it, '{}' and '{}' were measured: two \
                 places of one disk, or two disks, are not equally fast",
                left.name, right.name
            );
            self.report(Code::PlacesUnknown, message);
        }
    }

    fn compare_caches(&mut self) {
        let share = |variant: VariantView<'_>| {
            let keeps_caches = |trial: &&&Trial| {
                trial.cautions.iter().any(|caution| caution.code == CautionCode::CachesNotDropped)
            };
            Share {
                count: variant.rounds.iter().filter(keeps_caches).count(),
                of: variant.rounds.len(),
            }
        };
        let (left, right) = (share(self.baseline.variant), share(self.contender.variant));
        if left.differs(right) {
            let in_trials = |share: Share| format!("in {share} trials");
            let label = "dropping caches failed: that";
            self.note(Code::CachesDiffer, label, &in_trials(left), &in_trials(right));
        }
    }
}

/// Reports whether a mount option disables the flushes that order writes.
fn is_barrier_off(option: &str) -> bool {
    all().any(|filesystem| filesystem.barrier_off.contains(&option))
}

/// Reports whether a caution concerns the declared factor.
pub(super) fn is_declared(factor: Factor, code: Code) -> bool {
    match factor {
        Factor::Label | Factor::Id | Factor::Job => false,
        Factor::Kernel => code == Code::KernelsDiffer,
        Factor::Filesystem => code == Code::FilesystemsDiffer,
        Factor::Variant | Factor::Target => {
            matches!(code, Code::FilesystemsDiffer | Code::DevicesDiffer)
        }
    }
}

/// Mount options that only one variant has, unless declared to differ. Between different
/// filesystems only access-time options are comparable.
fn differing_options(
    baseline: &VariantFacts<'_>,
    contender: &VariantFacts<'_>,
) -> Option<(String, String)> {
    if matches!(contender.variant.factor, Factor::Variant | Factor::Target) {
        return None;
    }
    let is_same_type = baseline.values(TYPE) == contender.values(TYPE);
    let options = |variant: &VariantFacts<'_>| -> BTreeSet<String> {
        let listed = OPTIONS.iter().flat_map(|name| variant.values(name));
        let listed = listed.flat_map(|text| text.split(','));
        // Default options may be omitted from the list.
        let is_usual = |option: &str| ["barrier", "barrier=1", "barrier=flush"].contains(&option);
        let counts =
            |option: &&str| !is_usual(option) && (is_same_type || option.ends_with("atime"));
        listed.filter(counts).map(without_directories).collect()
    };
    let (left, right) = (options(baseline), options(contender));
    if left.is_empty() || right.is_empty() {
        return None; // unknown, as for an imported log
    }
    (left != right).then(|| (only(&left, &right), only(&right, &left)))
}

fn versions(variant: VariantView<'_>) -> BTreeSet<&str> {
    variant.rounds.iter().map(|trial| trial.beginning.treering_version.as_str()).collect()
}
