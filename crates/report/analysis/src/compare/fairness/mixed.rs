//! Differences among the trials of one variant in what needs more than the equality of a fact:
//! mount options, the clock of the kernel, swap, disks, mkfs, size, used space and inodes.

use std::collections::BTreeSet;

use treering_model::{LEVEL_FACT, STEP_FACT, Trial};

use super::facts::{
    CAPACITY, CONFIGURATION, DEVICE, DEVICE_BYTES, DISK, FREE_BYTES, FREE_INODES, MKFS, MODEL,
    OPTIONS, RELEASE, RESERVED, SWAP, TYPE,
};
use super::places::{SIZE_TOLERANCE, VariantFacts};
use super::settings::NUMBERED;
use super::values::{device_driver, matching_words};
use crate::compare::variant::fact;

/// Tolerated difference of the used share of space or inodes among the trials of one variant, which
/// fill the filesystem themselves if they keep their trees.
const USED_TOLERANCE: f64 = 0.10;

/// Beginnings of the mount options that are others at each mount.
const OF_A_MOUNT: [&str; 6] =
    ["port=", "mountport=", "clientaddr=", "addr=", "subvolid=", "subvol="];

/// Descriptions of the differences among the trials of one variant.
pub(super) fn mixed(place: &VariantFacts<'_>) -> Vec<String> {
    let trials = place.variant.rounds;
    let mut mixed = Vec::new();
    let mut words_of = |label: &str, name: &str, counts: &dyn Fn(&str) -> bool| {
        let sets: BTreeSet<BTreeSet<&str>> =
            place.values(name).into_iter().map(|value| matching_words(value, counts)).collect();
        let words_of_any: BTreeSet<&str> = sets.iter().flatten().copied().collect();
        let is_shared = |word: &&str| sets.iter().all(|set| set.contains(word));
        let some: Vec<&str> = words_of_any.into_iter().filter(|word| !is_shared(word)).collect();
        if !some.is_empty() {
            mixed.push(format!("{label} (some have {})", some.join(", ")));
        }
    };
    let is_setting = |word: &str| {
        let is_of_mount = OF_A_MOUNT.iter().any(|start| word.starts_with(start));
        !is_of_mount && !word.contains('/')
    };
    words_of("the mount options", OPTIONS[0], &is_setting);
    words_of("the options of the superblock", OPTIONS[1], &is_setting);
    words_of("the clock of the kernel", CONFIGURATION, &|word| word.starts_with("HZ="));
    // Names of devices and identifiers change with every filesystem.
    words_of("the options of mkfs", MKFS, &|word| !word.contains('/') && !has_identifier(word));
    let disks: BTreeSet<&str> = place.values(DISK).into_iter().collect();
    let devices: BTreeSet<&str> = place.values(DEVICE).into_iter().collect();
    // Disks of one kind may change their names when another kernel boots.
    let is_renamed = place.values(RELEASE).len() > 1 && place.values(MODEL).len() <= 1;
    let named = [("the disk", disks), ("the device", devices)];
    for (label, names) in named.into_iter().filter(|_| !is_renamed) {
        if names.len() > 1 && !names.iter().any(|name| NUMBERED.contains(&device_driver(name))) {
            let names: Vec<&str> = names.into_iter().collect();
            mixed.push(format!("{label} ({})", names.join(", ")));
            break;
        }
    }
    let swaps = trials.iter().filter_map(|trial| number(trial, SWAP)).map(|bytes| bytes > 0.0);
    if swaps.collect::<BTreeSet<bool>>().len() > 1 {
        mixed.push("swap (some have none)".to_owned());
    }
    let size = |trial: &&Trial| number(trial, DEVICE_BYTES).or_else(|| number(trial, CAPACITY));
    let mib = |bytes: f64| format!("{:.0} MiB", bytes / 1_048_576.0);
    let sizes = extremes(trials.iter().filter_map(size));
    let differs_in_size =
        sizes.filter(|(least, most)| most - least > SIZE_TOLERANCE * most.max(1.0));
    if let Some((least, most)) = differs_in_size {
        mixed.push(format!("the filesystem's size ({} to {})", mib(least), mib(most)));
        return mixed;
    }
    // Steps and levels of one filesystem are filled differently on purpose.
    let is_filled = |trial: &&Trial| fact(trial, STEP_FACT).or(fact(trial, LEVEL_FACT)).is_some();
    if trials.iter().any(is_filled) || !place.values(MKFS).is_empty() {
        return mixed;
    }
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let apart = extremes(trials.iter().filter_map(|trial| used_share(trial)));
    if let Some((least, most)) = apart.filter(|(least, most)| most - least > USED_TOLERANCE) {
        mixed.push(format!("the used space ({} to {})", percent(least), percent(most)));
    }
    // Filesystems that make inodes of free space have fewer where less is free.
    let has_table = place.values(TYPE).iter().all(|kind| kind.starts_with("ext"));
    let inodes = extremes(trials.iter().filter_map(|trial| number(trial, FREE_INODES)));
    let differ =
        inodes.filter(|(least, most)| has_table && most - least > USED_TOLERANCE * most.max(1.0));
    if let Some((least, most)) = differ {
        mixed.push(format!("free inodes ({least:.0} to {most:.0})"));
    }
    mixed
}

/// A fact that is a number; `None` without one.
fn number(trial: &Trial, name: &str) -> Option<f64> {
    fact(trial, name)?.parse().ok()
}

/// Used share of the space of a filesystem, without what is reserved for root.
fn used_share(trial: &Trial) -> Option<f64> {
    let unused = number(trial, FREE_BYTES)? + number(trial, RESERVED).unwrap_or(0.0);
    Some(1.0 - unused / number(trial, CAPACITY)?)
}

/// True for a word with a UUID.
fn has_identifier(word: &str) -> bool {
    let is_part = |part: &str| part.len() == 4 && part.chars().all(|c| c.is_ascii_hexdigit());
    word.split('-').filter(|part| is_part(part)).count() >= 3
}

/// Least and greatest of several numbers; `None` without numbers.
fn extremes(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    numbers.fold(None, |known, number| match known {
        None => Some((number, number)),
        Some((least, most)) => Some((least.min(number), most.max(number))),
    })
}

#[cfg(test)]
mod tests {
    use treering_model::{Fact, RunMode, Trial, TrialHeader, TrialId};

    use super::super::VariantView;
    use super::super::places::VariantFacts;
    use super::mixed;
    use crate::compare::variant::Factor;

    fn found(values: &[&[(&str, &str)]]) -> Vec<String> {
        let with = |facts: &&[(&str, &str)]| {
            let fact = |(name, value): &(&str, &str)| Fact {
                name: (*name).to_owned(),
                value: (*value).to_owned(),
            };
            Trial {
                facts: facts.iter().map(fact).collect(),
                ..Trial::new(TrialHeader::new(TrialId::new(), "fs_mark", RunMode::Native))
            }
        };
        let trials: Vec<Trial> = values.iter().map(with).collect();
        let rounds: Vec<&Trial> = trials.iter().collect();
        let variant = VariantView { name: "new", factor: Factor::Label, rounds: &rounds };
        mixed(&VariantFacts::new(variant))
    }

    #[test]
    fn a_setting_that_changes_on_one_side_is_found() {
        for (name, first, second, told) in [
            ("filesystem.mount_options", "rw,relatime", "rw,relatime,nobarrier", "nobarrier"),
            ("kernel.config", "SMP HZ=250", "SMP HZ=1000", "HZ=1000, HZ=250"),
            ("memory.swap_bytes", "0", "4096", "swap"),
            ("filesystem.capacity_bytes", "1000000", "500000", "size"),
            ("filesystem.free_inodes", "1000", "100", "inodes"),
            ("mkfs.command", "mkfs.ext4 -q /dev/sda1", "mkfs.ext4 -m 0 /dev/sda1", "-m"),
            ("device.name", "sda1", "sdb1", "sdb1"),
        ] {
            let mixed = found(&[&[(name, first)], &[(name, second)], &[(name, first)]]);
            assert!(matches!(&mixed[..], [one] if one.contains(told)), "{name}: {mixed:?}");
            assert!(found(&[&[(name, first)], &[(name, first)]]).is_empty(), "{name}");
        }
        let half = [("filesystem.capacity_bytes", "1000"), ("filesystem.free_bytes", "500")];
        let empty = [("filesystem.capacity_bytes", "1000"), ("filesystem.free_bytes", "990")];
        assert!(found(&[&half, &empty])[0].contains("used space (1 % to 50 %)"));
    }

    #[test]
    fn what_changes_with_every_trial_is_not_found() {
        for (name, first, second) in [
            ("device.name", "loop0", "loop7"),
            ("mkfs.command", "mkfs.xfs -f /dev/loop0", "mkfs.xfs -f /dev/loop7"),
            (
                "mkfs.command",
                "mkfs.ext4 -U 6f7ad2ae-0c34-4ad1-9f2e-0123456789ab /dev/loop0",
                "mkfs.ext4 -U 01234567-0c34-4ad1-9f2e-6f7ad2ae0123 /dev/loop0",
            ),
            ("filesystem.free_inodes", "1000", "990"),
        ] {
            let mixed = found(&[&[(name, first)], &[(name, second)]]);
            assert!(mixed.is_empty(), "{name}: {mixed:?}");
        }
    }
}
