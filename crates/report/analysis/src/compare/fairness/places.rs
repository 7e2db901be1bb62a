//! What differs between the places of two variants beyond what was declared: machine, kernel,
//! device, filesystem.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use treering_model::filesystems::{Metadata, all, by_name};
use treering_model::{
    Accelerator, CautionCode, GuestSpec, IMPORT_FACT, LEVEL_FACT, PlayedStatus, REBOOT_KERNEL_FACT,
    Trial, USED_FACT, USED_GROWTH_FACT, USED_GROWTH_FILES_FACT,
};
use treering_stats::median;

use super::{Seen, listed};
use crate::compare::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use crate::compare::variant::{Factor, fact};

/// How the values of a fact are held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// As they are.
    Whole,
    /// The one in brackets of several, as `[none] mq-deadline`: which others a kernel offers makes
    /// no difference.
    Chosen,
    /// Word by word: only the words that one variant lacks are reported.
    Words,
    /// As numbers: another kernel keeps another part of the memory for itself.
    Roughly,
}

impl Compared {
    /// Whether the trials of one variant have several values.
    pub(super) fn is_mixed(self, values: &BTreeSet<&str>) -> bool {
        let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
        match (self, numbers) {
            (Self::Chosen, _) => chosen(values).len() > 1,
            (Self::Roughly, Some(numbers)) => {
                let most = numbers.iter().copied().fold(0.0, f64::max);
                numbers.iter().any(|one| most - one > MEMORY_TOLERANCE * most)
            }
            _ => values.len() > 1,
        }
    }
}

use Compared::{Chosen, Roughly, Whole, Words};

/// Facts that should be alike on both variants, and the caution when they are not.
pub(super) const FACTS: [(&str, Code, Compared); 37] = [
    ("kernel.release", Code::KernelsDiffer, Whole),
    ("kernel.command_line", Code::KernelSettingsDiffer, Words),
    ("kernel.debug_options", Code::KernelSettingsDiffer, Words),
    ("cpu.unmitigated", Code::KernelSettingsDiffer, Words),
    ("kernel.preemption", Code::KernelSettingsDiffer, Whole),
    ("kernel.preemption_built", Code::KernelSettingsDiffer, Whole),
    ("cpu.governor", Code::KernelSettingsDiffer, Whole),
    ("cpu.simultaneous_threads", Code::KernelSettingsDiffer, Whole),
    ("memory.transparent_hugepages", Code::KernelSettingsDiffer, Chosen),
    ("memory.swappiness", Code::KernelSettingsDiffer, Whole),
    ("memory.dirty_ratio", Code::KernelSettingsDiffer, Whole),
    ("memory.dirty_background_ratio", Code::KernelSettingsDiffer, Whole),
    ("memory.dirty_limit_bytes", Code::KernelSettingsDiffer, Whole),
    ("memory.dirty_background_limit_bytes", Code::KernelSettingsDiffer, Whole),
    ("memory.dirty_expire_centisecs", Code::KernelSettingsDiffer, Whole),
    (TYPE, Code::FilesystemsDiffer, Whole),
    (BLOCK_BYTES, Code::FeaturesDiffer, Whole),
    ("filesystem.features", Code::FeaturesDiffer, Words),
    (GEOMETRY, Code::FeaturesDiffer, Words),
    (PROFILE, Code::MetadataProfilesDiffer, Whole),
    ("cpu.model", Code::MachinesDiffer, Whole),
    ("cpu.count", Code::MachinesDiffer, Whole),
    ("memory.bytes", Code::MachinesDiffer, Roughly),
    ("machine.architecture", Code::MachinesDiffer, Whole),
    ("cgroup.limits", Code::MachinesDiffer, Words),
    (MODEL, Code::DevicesDiffer, Whole),
    (ROTATIONAL, Code::DevicesDiffer, Whole),
    ("device.scheduler", Code::DevicesDiffer, Chosen),
    (PLANNED_OF_LOOPS[0], Code::DevicesDiffer, Whole),
    (PLANNED_OF_LOOPS[1], Code::DevicesDiffer, Whole),
    (PLANNED_OF_LOOPS[2], Code::DevicesDiffer, Whole),
    ("device.read_ahead_kib", Code::DevicesDiffer, Whole),
    ("device.write_cache", Code::DevicesDiffer, Whole),
    ("device.nr_requests", Code::DevicesDiffer, Whole),
    ("device.nomerges", Code::DevicesDiffer, Whole),
    ("device.writeback_latency_us", Code::DevicesDiffer, Whole),
    ("device.max_io_kib", Code::DevicesDiffer, Whole),
];

/// Of the devices, where we made the filesystem; otherwise what the filesystem says of itself.
const DEVICE_BYTES: &str = "variant.device_bytes";
const CAPACITY: &str = "filesystem.capacity_bytes";
const FREE: &str = "filesystem.free_bytes";
const TYPE: &str = "filesystem.type";
const BLOCK_BYTES: &str = "filesystem.block_bytes";
const GEOMETRY: &str = "filesystem.geometry";
const PROFILE: &str = "filesystem.metadata_profile";
const MODEL: &str = "device.model";
const ROTATIONAL: &str = "device.rotational";
/// What a plan says of the loop devices it makes.
const PLANNED_OF_LOOPS: [&str; 3] =
    ["device.logical_block_bytes", "device.direct_io", "device.image_allocation"];
/// The mount options that a plan asked for.
const MOUNT_ASKED: &str = "mount.asked";
const DISK: &str = "device.disk";
const DEVICE: &str = "device.name";
/// How the filesystem was made, where treering made it.
const MKFS: &str = "mkfs.command";
const OPTIONS: [&str; 2] = ["filesystem.mount_options", "filesystem.super_options"];
const OTHERS: [&str; 19] = [
    CAPACITY,
    FREE,
    DEVICE_BYTES,
    DISK,
    DEVICE,
    MKFS,
    MOUNT_ASKED,
    OPTIONS[0],
    OPTIONS[1],
    LEVEL_FACT,
    IMPORT_FACT,
    USED_FACT,
    USED_GROWTH_FACT,
    USED_GROWTH_FILES_FACT,
    Accelerator::FACT,
    GuestSpec::KERNEL_FACT,
    REBOOT_KERNEL_FACT,
    PlayedStatus::DISK_FACT,
    PlayedStatus::FINGERPRINT_FACT,
];

/// The facts of a trial that a comparison looks at; the others need not be read for it.
pub const COMPARED_FACTS: [&str; FACTS.len() + OTHERS.len()] = {
    let mut names = [""; FACTS.len() + OTHERS.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] =
            if place < FACTS.len() { FACTS[place].0 } else { OTHERS[place - FACTS.len()] };
        place += 1;
    }
    names
};

/// Filesystems keep some of their room for themselves, each its own share: only sizes further
/// apart than this are of different devices.
const SIZE_TOLERANCE: f64 = 0.05;
/// Two kernels find this much more or less memory on one machine.
const MEMORY_TOLERANCE: f64 = 0.01;
/// So much more of one filesystem may be taken than of the other.
const FREE_TOLERANCE: f64 = 0.1;
/// A variant with the facts of all its trials by their names: they are asked for again and again.
pub(super) struct Place<'t> {
    variant: Seen<'t>,
    facts: HashMap<&'t str, Vec<&'t str>>,
}

impl<'t> Place<'t> {
    pub(super) fn of(variant: Seen<'t>) -> Self {
        let mut facts: HashMap<&str, Vec<&str>> = HashMap::with_capacity(COMPARED_FACTS.len());
        for fact in variant.rounds.iter().flat_map(|trial| &trial.facts) {
            facts.entry(&fact.name).or_default().push(&fact.value);
        }
        Self { variant, facts }
    }

    fn all(&self, name: &str) -> &[&'t str] {
        debug_assert!(
            COMPARED_FACTS.contains(&name),
            "{name} is not compared for thousands of trials"
        );
        self.facts.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The different values of a fact.
    pub(super) fn values(&self, name: &str) -> BTreeSet<&'t str> {
        let all = self.all(name);
        // Trials of one place say the same, one after the other.
        let changes = all.iter().enumerate().filter(|(at, one)| *at == 0 || all[at - 1] != **one);
        changes.map(|(_, one)| *one).collect()
    }

    /// The median of a number among the facts.
    fn number(&self, name: &str) -> Option<f64> {
        let parsed = self.all(name).iter().filter_map(|value| value.parse::<f64>().ok());
        median(&parsed.collect::<Vec<f64>>()).ok()
    }

    /// Whether a mkfs of this filesystem was reported something.
    fn mkfs_has(&self, filesystem: &str, option: &str) -> bool {
        let commands = self.values(MKFS);
        commands.iter().any(|command| command.contains(filesystem) && command.contains(option))
    }
}

/// Two variants.
struct Pair<'t> {
    baseline: Place<'t>,
    contender: Place<'t>,
    differing: BTreeMap<Code, Vec<String>>,
}

/// What differs between the variants beyond what was declared.
pub(in crate::compare) fn of_places(
    baseline: Seen<'_>,
    contender: Seen<'_>,
) -> Vec<ComparisonCaution> {
    let variants = (Place::of(baseline), Place::of(contender));
    let mut pair = Pair { baseline: variants.0, contender: variants.1, differing: BTreeMap::new() };
    let mut known = OneSided::default();
    for (name, code, how) in FACTS {
        if !pair.is_excused(name, code) {
            known.look(&pair, name);
            pair.compare(name, code, how);
        }
    }
    known.look(&pair, CAPACITY);
    known.look(&pair, OPTIONS[0]);
    known.tell(&mut pair);
    let (left, right) = (versions(baseline), versions(contender));
    if left != right {
        pair.note(Code::VersionsDiffer, "treering", &listed(&left), &listed(&right));
    }
    pair.sizes();
    pair.room();
    pair.profiles();
    pair.disks();
    pair.caches();
    if let Some((left, right)) = differing_options(&pair.baseline, &pair.contender) {
        pair.note(Code::MountOptionsDiffer, "mounted with", &left, &right);
    } else {
        pair.barriers();
    }
    let caution = |(code, said): (Code, Vec<String>)| ComparisonCaution::new(code, said.join("; "));
    pair.differing.into_iter().map(caution).collect()
}

/// Facts that are known of one variant only: of the baseline, and of the contender.
#[derive(Default)]
struct OneSided {
    known: [Vec<&'static str>; 2],
    of_both: bool,
}

impl OneSided {
    fn look(&mut self, pair: &Pair<'_>, name: &'static str) {
        match (pair.baseline.all(name).is_empty(), pair.contender.all(name).is_empty()) {
            (false, true) => self.known[0].push(name),
            (true, false) => self.known[1].push(name),
            (false, false) => self.of_both = true,
            (true, true) => {}
        }
    }

    fn tell(self, pair: &mut Pair<'_>) {
        let names = [pair.baseline.variant.name, pair.contender.variant.name];
        for (known, (own, other)) in
            self.known.into_iter().zip([(names[0], names[1]), (names[1], names[0])])
        {
            if known.is_empty() {
                continue;
            }
            let said = if self.of_both {
                format!("known for '{own}' but not for '{other}': {}", known.join(", "))
            } else {
                format!("the environment of '{own}' is known, that of '{other}' is not")
            };
            pair.say(Code::KnownOfOneSide, said);
        }
    }
}

impl Pair<'_> {
    fn note(&mut self, code: Code, name: &str, left: &str, right: &str) {
        let said = format!(
            "{name} is {left} for '{}' and {right} for '{}'",
            self.baseline.variant.name, self.contender.variant.name
        );
        self.say(code, said);
    }

    fn say(&mut self, code: Code, said: String) {
        self.differing.entry(code).or_default().push(said);
    }

    fn compare(&mut self, name: &str, code: Code, how: Compared) {
        let (left, right) = (self.baseline.values(name), self.contender.values(name));
        if left.is_empty() || right.is_empty() || left == right {
            return;
        }
        match how {
            Whole => self.note(code, name, &listed(&left), &listed(&right)),
            Chosen => {
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
            Roughly => {
                let variants = (self.baseline.number(name), self.contender.number(name));
                if let (Some(one), Some(other)) = variants
                    && (one - other).abs() > MEMORY_TOLERANCE * one.max(other)
                {
                    self.note(code, name, &listed(&left), &listed(&right));
                }
            }
        }
    }

    fn is_same_type(&self) -> bool {
        self.baseline.values(TYPE) == self.contender.values(TYPE)
    }

    /// Whether a difference of a fact is what was asked about, or none.
    fn is_excused(&self, name: &str, code: Code) -> bool {
        let factor = self.contender.variant.factor;
        match code {
            Code::MetadataProfilesDiffer => true, // has words of its own
            Code::FeaturesDiffer => {
                let both = [&self.baseline, &self.contender];
                let is_made = both.iter().all(|variant| !variant.values(MKFS).is_empty());
                // Variants of a plan are made as the plan says.
                let is_planned = factor == Factor::Variant && is_made;
                let types = both.iter().flat_map(|variant| variant.values(TYPE));
                let has_blocks =
                    types.into_iter().all(|one| by_name(one).is_some_and(|fs| fs.has_blocks));
                let is_asked = |variant: &&Place<'_>| variant.mkfs_has("", " -b ");
                match name {
                    // Groups and logs grow with the filesystem; its size has a caution of its own.
                    GEOMETRY if self.sizes_apart().is_some() => true,
                    BLOCK_BYTES => !has_blocks || (is_planned && both.iter().any(is_asked)),
                    _ => !self.is_same_type() || is_planned,
                }
            }
            Code::DevicesDiffer => is_declared(factor, code) && self.is_of_devices(name),
            // Variants of a plan have the kernels that the plan gives them.
            Code::KernelsDiffer if factor == Factor::Variant => {
                let both = [&self.baseline, &self.contender];
                [GuestSpec::KERNEL_FACT, REBOOT_KERNEL_FACT]
                    .iter()
                    .any(|name| both.iter().all(|variant| !variant.values(name).is_empty()))
            }
            _ => is_declared(factor, code),
        }
    }

    /// Whether a fact tells one device from another where devices are what is compared. How the
    /// queues of two devices of one kind are set does not, unless a plan said so.
    fn is_of_devices(&self, name: &str) -> bool {
        let is_planned = |variant: &Place<'_>| {
            variant.variant.factor == Factor::Variant && !variant.values(MKFS).is_empty()
        };
        let of_plan = PLANNED_OF_LOOPS.contains(&name)
            && is_planned(&self.baseline)
            && is_planned(&self.contender);
        of_plan || [MODEL, ROTATIONAL].contains(&name) || !self.is_same_kind_of_device()
    }

    fn is_same_kind_of_device(&self) -> bool {
        let drivers = |variant: &Place<'_>| -> BTreeSet<String> {
            variant.values(DEVICE).into_iter().map(|name| driver(name).to_owned()).collect()
        };
        let same = |name: &str| self.baseline.values(name) == self.contender.values(name);
        same(MODEL) && same(ROTATIONAL) && drivers(&self.baseline) == drivers(&self.contender)
    }

    /// Flushes that one variant leaves out are reported whatever was asked about, unless a plan
    /// asked for that very option: then writes may be lost, which the other variant pays for not to
    /// happen.
    fn barriers(&mut self) {
        let without = |variant: &Place<'_>| -> Option<bool> {
            let all: Vec<&str> = OPTIONS.iter().flat_map(|name| variant.values(name)).collect();
            let is_off = all.iter().flat_map(|text| text.split(',')).any(is_barrier_off);
            (!all.is_empty()).then_some(is_off)
        };
        let is_asked = |variant: &Place<'_>| {
            let all = variant.values(MOUNT_ASKED);
            all.into_iter().flat_map(|text| text.split(',')).any(is_barrier_off)
        };
        let (left, right) = (without(&self.baseline), without(&self.contender));
        let (Some(left), Some(right)) = (left, right) else { return };
        if left == right || is_asked(&self.baseline) || is_asked(&self.contender) {
            return;
        }
        let word = |off: bool| if off { "without write barriers" } else { "with write barriers" };
        self.note(Code::MountOptionsDiffer, "mounting", word(left), word(right));
    }

    /// The sizes in bytes, where they are those of different devices.
    fn sizes_apart(&self) -> Option<(f64, f64)> {
        let sizes = |name: &str| Some((self.baseline.number(name)?, self.contender.number(name)?));
        let (left, right) = sizes(DEVICE_BYTES).or_else(|| sizes(CAPACITY))?;
        ((left - right).abs() > SIZE_TOLERANCE * left.max(right)).then_some((left, right))
    }

    fn sizes(&mut self) {
        if self.contender.variant.factor == Factor::Target {
            return;
        }
        if let Some((left, right)) = self.sizes_apart() {
            let mib = |bytes: f64| format!("{:.0} MiB", bytes / 1_048_576.0);
            self.note(Code::SizesDiffer, "the filesystem's size", &mib(left), &mib(right));
        }
    }

    /// How full they were before. What was made for the trial is empty, however much of it the
    /// filesystem keeps for itself.
    fn room(&mut self) {
        let is_fresh = |variant: &Place<'_>| !variant.values(MKFS).is_empty();
        if is_fresh(&self.baseline) && is_fresh(&self.contender) {
            return;
        }
        let taken =
            |variant: &Place<'_>| Some(1.0 - variant.number(FREE)? / variant.number(CAPACITY)?);
        let (Some(left), Some(right)) = (taken(&self.baseline), taken(&self.contender)) else {
            return;
        };
        if (left - right).abs() > FREE_TOLERANCE {
            let percent = |share: f64| format!("{:.0} %", share * 100.0);
            let what = "the space used on the filesystem beforehand";
            self.note(Code::FreeSpaceDiffers, what, &percent(left), &percent(right));
        }
    }

    /// That one keeps its metadata twice is cautioned also between filesystems that were asked
    /// about: it is a choice of mkfs, not of the filesystem.
    fn profiles(&mut self) {
        let (left, right) = (self.baseline.values(PROFILE), self.contender.values(PROFILE));
        if left.is_empty() || right.is_empty() || left == right {
            return;
        }
        let (left, right) = (listed(&left), listed(&right));
        let said = format!(
            "metadata is kept {left} by '{}' and {right} by '{}'",
            self.baseline.variant.name, self.contender.variant.name
        );
        let is_asked = |variant: &Place<'_>| {
            all().any(|filesystem| match filesystem.metadata {
                Metadata::Chosen { options, .. } => options
                    .iter()
                    .any(|option| variant.mkfs_has(filesystem.name, &format!(" {option}"))),
                Metadata::Once | Metadata::Unknown => false,
            })
        };
        let asked = is_asked(&self.baseline) || is_asked(&self.contender);
        let said = if asked { format!("{said}, as mkfs was asked to") } else { said };
        self.say(Code::MetadataProfilesDiffer, said);
    }

    fn disks(&mut self) {
        let pairs = |variant: &Place<'_>| -> (BTreeSet<String>, BTreeSet<String>) {
            let own = |name: &str| variant.values(name).iter().map(ToString::to_string).collect();
            (own(DISK), own(DEVICE))
        };
        let ((left_disk, left), (right_disk, right)) =
            (pairs(&self.baseline), pairs(&self.contender));
        if left_disk.is_empty() && right_disk.is_empty() {
            self.unknown_disks();
        }
        let shared: Vec<&String> = left_disk.intersection(&right_disk).collect();
        if shared.is_empty() || !left.is_disjoint(&right) {
            return;
        }
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        let said = format!(
            "'{}' is on {} and '{}' on {}, both of the disk {}",
            self.baseline.variant.name,
            list(&left),
            self.contender.variant.name,
            list(&right),
            shared[0]
        );
        self.say(Code::SameDisk, said);
    }

    /// Logs do not tell where they were made. Ours do, but for what has no disk, as memory.
    fn unknown_disks(&mut self) {
        let is_imported = |variant: Seen<'_>| {
            variant.rounds.iter().any(|trial| fact(trial, IMPORT_FACT).is_some())
        };
        let (left, right) = (self.baseline.variant, self.contender.variant);
        if is_imported(left) && is_imported(right) {
            let said = format!(
                "it is unknown on which disk, and where on it, '{}' and '{}' were measured: two \
                 places of one disk, or two disks, are not equally fast",
                left.name, right.name
            );
            self.say(Code::PlacesUnknown, said);
        }
    }

    fn caches(&mut self) {
        let share = |variant: Seen<'_>| {
            let has = |trial: &&&Trial| {
                trial.cautions.iter().any(|one| one.code == CautionCode::CachesNotDropped)
            };
            (variant.rounds.iter().filter(has).count(), variant.rounds.len())
        };
        let (left, right) = (share(self.baseline.variant), share(self.contender.variant));
        if (left.0 == 0) != (right.0 == 0) {
            let said = |(count, all): (usize, usize)| format!("in {count} of {all} trials");
            let what = "dropping caches failed: that";
            self.note(Code::CachesDiffer, what, &said(left), &said(right));
        }
    }
}

/// The words in brackets; all of a value where there is none.
fn chosen<'t>(values: &BTreeSet<&'t str>) -> BTreeSet<&'t str> {
    let bracketed = |word: &'t str| word.strip_prefix('[')?.strip_suffix(']');
    let of = |value: &&'t str| value.split_whitespace().find_map(bracketed).unwrap_or(value);
    values.iter().map(of).collect()
}

/// The kind of a device by its name: `loop` of `loop3`, `sd` of `sda1`, `nvme` of `nvme0n1`.
fn driver(name: &str) -> &str {
    let letters = name.find(|one: char| !one.is_ascii_alphabetic()).unwrap_or(name.len());
    let lettered = ["sd", "vd", "hd", "xvd"].into_iter().find(|kind| name.starts_with(kind));
    lettered.unwrap_or(&name[..letters])
}

/// Whether a mount option leaves out the flushes that keep the order of writes.
fn is_barrier_off(option: &str) -> bool {
    all().any(|filesystem| filesystem.barrier_off.contains(&option))
}

/// Whether a difference is what the user asked about.
pub(super) fn is_declared(factor: Factor, code: Code) -> bool {
    match factor {
        Factor::Label | Factor::Id => false,
        Factor::Kernel => code == Code::KernelsDiffer,
        Factor::Filesystem => code == Code::FilesystemsDiffer,
        Factor::Variant | Factor::Target => {
            matches!(code, Code::FilesystemsDiffer | Code::DevicesDiffer)
        }
    }
}

/// The mount options that one variant has and the other lacks, unless they were declared to differ.
/// Of different filesystems only access times can be held against each other.
fn differing_options(baseline: &Place<'_>, contender: &Place<'_>) -> Option<(String, String)> {
    if matches!(contender.variant.factor, Factor::Variant | Factor::Target) {
        return None;
    }
    let is_same_type = baseline.values(TYPE) == contender.values(TYPE);
    let options = |variant: &Place<'_>| -> BTreeSet<String> {
        let all = OPTIONS.iter().flat_map(|name| variant.values(name));
        let all = all.flat_map(|text| text.split(','));
        // What is usual need not be written out.
        let is_usual = |option: &str| ["barrier", "barrier=1", "barrier=flush"].contains(&option);
        let counts =
            |option: &&str| !is_usual(option) && (is_same_type || option.ends_with("atime"));
        all.filter(counts).map(str::to_owned).collect()
    };
    let (left, right) = (options(baseline), options(contender));
    if left.is_empty() || right.is_empty() {
        return None; // of an imported log, say: nothing is known
    }
    (left != right).then(|| (only(&left, &right), only(&right, &left)))
}

/// What one has and the other lacks.
fn only(one: &BTreeSet<String>, other: &BTreeSet<String>) -> String {
    let only: Vec<&str> = one.difference(other).map(String::as_str).collect();
    if only.is_empty() { "none of these".to_owned() } else { only.join(",") }
}

/// The words of all values. Where the kernel lies is a matter of its release.
fn words(values: &BTreeSet<&str>) -> BTreeSet<String> {
    let of = |text: &&str| -> Vec<String> {
        let between = if text.contains(", ") { ", " } else { " " };
        let counts = |word: &&str| {
            let reported = ["BOOT_IMAGE=", "initrd="].iter().any(|one| word.starts_with(one));
            !word.is_empty() && !reported
        };
        text.split(between).filter(counts).map(str::to_owned).collect()
    };
    values.iter().flat_map(of).collect()
}

fn versions(variant: Seen<'_>) -> BTreeSet<&str> {
    variant.rounds.iter().map(|trial| trial.beginning.treering_version.as_str()).collect()
}
