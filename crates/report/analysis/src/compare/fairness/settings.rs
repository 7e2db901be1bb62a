//! Settings that are only part of a fact, or need several facts: kernel clock rate, swap, a
//! different disk of the same kind, free inodes, and initialisation deferred by mkfs.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::{SETTING_PREFIXES, facts_that_follow};

use super::facts::{
    CONFIGURATION, DEVICE, DISK, FREE_INODES, GUEST_CHOICES, GUEST_MEMORY, IMAGE, IMAGE_NAME, MKFS,
    SWAP,
};
use super::places::{VariantFacts, VariantPair};
use super::values::{device_driver, matching_words};
use super::{VariantView, listed};
use crate::compare::caution::ComparisonCautionCode as Code;
use crate::compare::variant::Factor;

/// Tolerated relative difference of the number of free inodes.
const INODE_TOLERANCE: f64 = 0.03;

/// Prefix of the settings that are options of jobs.
const OPTION_PREFIX: &str = "options.";

/// Drivers whose devices get new numbers each time.
pub(super) const NUMBERED: [&str; 4] = ["loop", "dm", "md", "zram"];

impl VariantPair<'_> {
    /// Compares settings that are parts of facts, or need several facts.
    pub(super) fn settings(&mut self) {
        let clock = |word: &str| word.starts_with("HZ=");
        self.words_of(Code::KernelSettingsDiffer, "the clock of the kernel", CONFIGURATION, clock);
        if !self.is_made_by_plan() {
            let lazy = |word: &str| word.starts_with("lazy_");
            self.words_of(Code::FeaturesDiffer, "what mkfs initialises later", MKFS, lazy);
        }
        self.compare_swap();
        self.guests();
        self.plan_settings();
        self.images();
        self.other_disk();
        self.compare_inodes();
    }

    /// Compares the words of a fact that match `counts`.
    fn words_of(&mut self, code: Code, label: &str, name: &str, counts: impl Fn(&str) -> bool) {
        let words = |variant: &VariantFacts<'_>| -> BTreeSet<String> {
            let words =
                variant.values(name).into_iter().flat_map(|text| matching_words(text, &counts));
            words.map(str::to_owned).collect()
        };
        let (left, right) = (words(&self.baseline), words(&self.contender));
        let are_known = [&self.baseline, &self.contender]
            .iter()
            .all(|variant| !variant.values(name).is_empty());
        if are_known && left != right {
            let list = |words: &BTreeSet<String>| {
                let words: BTreeSet<&str> = words.iter().map(String::as_str).collect();
                if words.is_empty() { "not said".to_owned() } else { listed(&words) }
            };
            self.note(code, label, &list(&left), &list(&right));
        }
    }

    /// Compares what the plans of two guests asked for, unless one plan has both.
    fn guests(&mut self) {
        let is_guest = |variant: &VariantFacts<'_>| !variant.values(GUEST_MEMORY).is_empty();
        let are_guests = is_guest(&self.baseline) && is_guest(&self.contender);
        if !are_guests || self.contender.variant.factor == Factor::Variant {
            return;
        }
        for name in GUEST_CHOICES {
            let (left, right) = (self.baseline.values(name), self.contender.values(name));
            if left != right {
                let word = |values: &BTreeSet<&str>| {
                    if values.is_empty() { "the default".to_owned() } else { listed(values) }
                };
                self.note(Code::MachinesDiffer, name, &word(&left), &word(&right));
            }
        }
    }

    /// Compares the settings by which plans changed the machine, except those whose effect is a
    /// fact of its own, and options of jobs, which are parameters.
    fn plan_settings(&mut self) {
        if matches!(self.contender.variant.factor, Factor::Variant | Factor::Job) {
            return;
        }
        let counts = |name: &str| {
            let is_setting = SETTING_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            is_setting && !name.starts_with(OPTION_PREFIX) && facts_that_follow(name).is_empty()
        };
        let settings_of = |variant: VariantView<'_>| -> BTreeMap<String, BTreeSet<String>> {
            let mut settings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            let facts = variant.rounds.iter().flat_map(|trial| &trial.facts);
            for fact in facts.filter(|fact| counts(&fact.name)) {
                settings.entry(fact.name.clone()).or_default().insert(fact.value.clone());
            }
            settings
        };
        let (left, right) =
            (settings_of(self.baseline.variant), settings_of(self.contender.variant));
        let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        let word = |values: Option<&BTreeSet<String>>| {
            values.map_or_else(
                || "not set".to_owned(),
                |values| listed(&values.iter().map(String::as_str).collect()),
            )
        };
        for name in names.into_iter().filter(|name| left.get(*name) != right.get(*name)) {
            let (left, right) = (word(left.get(name)), word(right.get(name)));
            self.note(Code::KernelSettingsDiffer, name, &left, &right);
        }
    }

    /// Compares the saved images from which the trials started. The fingerprint of a filesystem
    /// that was made anew is always another one.
    fn images(&mut self) {
        if self.contender.variant.factor == Factor::Variant {
            return;
        }
        let image = |variant: &VariantFacts<'_>| {
            let names = variant.values(IMAGE_NAME);
            let prints = if names.is_empty() { names.clone() } else { variant.values(IMAGE) };
            (listed(&names), listed(&prints))
        };
        let (left, right) = (image(&self.baseline), image(&self.contender));
        if left != right {
            let word = |(name, print): (String, String)| match name.as_str() {
                "" => "none".to_owned(),
                name => format!("{name} ({print})"),
            };
            let label = "the image from which it started";
            self.note(Code::FeaturesDiffer, label, &word(left), &word(right));
        }
    }

    /// Reports swap that only one machine has.
    fn compare_swap(&mut self) {
        let (left, right) = (self.baseline.number(SWAP), self.contender.number(SWAP));
        let (Some(left), Some(right)) = (left, right) else { return };
        if (left > 0.0) != (right > 0.0) {
            let mib = |bytes: f64| format!("{:.0} MiB", bytes / 1_048_576.0);
            self.note(Code::MachinesDiffer, "swap", &mib(left), &mib(right));
        }
    }

    /// Reports different disks of the same kind, unless devices are compared: two disks of one
    /// model are seldom equally fast.
    fn other_disk(&mut self) {
        if matches!(self.contender.variant.factor, Factor::Variant | Factor::Target) {
            return;
        }
        let disks = |variant: &VariantFacts<'_>| -> BTreeSet<String> {
            let names = variant.values(DISK).into_iter().chain(variant.values(DEVICE));
            names.map(str::to_owned).collect()
        };
        let is_numbered = |names: &BTreeSet<String>| {
            names.iter().any(|name| NUMBERED.contains(&device_driver(name)))
        };
        let (left, right) = (disks(&self.baseline), disks(&self.contender));
        let are_known = !left.is_empty() && !right.is_empty();
        if !are_known || !left.is_disjoint(&right) || is_numbered(&left) || is_numbered(&right) {
            return;
        }
        if self.is_same_kind_of_device() {
            let list =
                |names: &BTreeSet<String>| listed(&names.iter().map(String::as_str).collect());
            self.note(Code::DevicesDiffer, "the disk", &list(&left), &list(&right));
        }
    }

    /// Compares the free inodes before the trials, on filesystems of the same type that were not
    /// made for the trials.
    fn compare_inodes(&mut self) {
        // The number of inodes grows with the filesystem, and a difference in size is reported by
        // another caution.
        if !self.is_same_type() || self.sizes_apart().is_some() {
            return;
        }
        if self.are_fresh() {
            return;
        }
        let free = (self.baseline.number(FREE_INODES), self.contender.number(FREE_INODES));
        let (Some(left), Some(right)) = free else { return };
        if (left - right).abs() > INODE_TOLERANCE * left.max(right) {
            let count = |inodes: f64| format!("{inodes:.0}");
            self.note(Code::FreeSpaceDiffers, "free inodes", &count(left), &count(right));
        }
    }
}
