//! Checks that concern several settings or the whole profile.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use super::keys::{THREADS_MAX, weight_key};
use super::operation::Operation;
use super::sections::Section;
use super::{FileSizes, Filesystem, Profile, ThreadGroup};
use treering_kit::faults::{Fault, Faults, Place, shown};

/// `O_DIRECT` moves whole sectors.
const SECTOR_BYTES: u64 = 512;
/// Files of a run with `O_DIRECT` are whole blocks of this.
const DIRECT_BYTES: u64 = 4096;

/// Checks that the profile can be run.
pub(super) fn profile(profile: &Profile, sections: &Section, to: &mut Faults) -> Result<(), Fault> {
    check_section_count(sections, "num_filesystems", "[filesystem]", profile.filesystems.len(), to);
    check_section_count(sections, "num_threadgroups", "[threadgroup]", profile.groups.len(), to);
    if profile.filesystems.is_empty() {
        let right = "write [filesystem0], location = /a/directory and [end]";
        return Err(to.error(Place::START, "the profile has no filesystem").hint(right));
    }
    if profile.groups.is_empty() && profile.seconds > 0 {
        let message = format!("time: {} seconds without a threadgroup", profile.seconds);
        let mut right = "write a [threadgroup0], or time = 0 to make the files only".to_owned();
        if sections.filesystems.iter().any(|filesystem| !filesystem.groups.is_empty()) {
            right += "; a [threadgroup] before the [end] of a [filesystem] only ages that";
        }
        return Err(to.error(sections.place_of("time"), message).hint(right));
    }
    check_disjoint(&sections.filesystems, to)?;
    let with_sections = || sections.filesystems.iter().zip(&profile.filesystems);
    for (section, checked) in with_sections() {
        filesystem(checked, section, profile.direct, to)?;
    }
    for (section, checked) in sections.groups.iter().zip(&profile.groups) {
        group(checked, section, to)?;
        if profile.direct {
            sectors(section, &["read_blocksize", "write_blocksize"], to);
            if Operation::ALL.into_iter().any(|o| writes_by_size(o) && checked.weight(o) > 0) {
                sectors(section, &["write_size"], to);
            }
            if checked.read_skip_bytes.is_some() {
                sectors(section, &["read_skipsize"], to);
            }
        }
    }
    threads(sections.groups.iter().zip(&profile.groups), to)?;
    let agers = with_sections()
        .filter_map(|(section, checked)| Some((section, &checked.aging.as_ref()?.group)));
    threads(agers, to)
}

/// Checks that an obsolete key, which states the number of sections, agrees with their actual
/// number.
fn check_section_count(sections: &Section, key: &str, word: &str, count: usize, to: &mut Faults) {
    let Some(number) = sections.number(key) else { return };
    let contradiction = if number == count as u64 {
        String::new()
    } else {
        format!(", and there are not {number} but {count}")
    };
    let message = format!("FFSB 6.0-RC2 refuses {key}; each {word} counts{contradiction}");
    to.warn(sections.place_of(key), message);
}

/// Checks that no filesystem lies within the files of another, which are removed before they are
/// created.
fn check_disjoint(sections: &[Section], to: &Faults) -> Result<(), Fault> {
    let path = |section: &Section| section.text("location").unwrap_or_default().to_owned();
    let mut whole = HashMap::new();
    for (number, section) in sections.iter().enumerate() {
        let hash = hashes(Path::new(&path(section))).last().map(|(_, hash)| hash);
        whole.insert(hash.unwrap_or_default(), number);
    }
    for section in sections {
        let inner = path(section);
        let mut before = None;
        for (component, hash) in hashes(Path::new(&inner)) {
            let around = before.replace(hash).and_then(|hash| whole.get(&hash));
            let Some(around) = around.filter(|_| matches!(component, "data" | "meta")) else {
                continue;
            };
            let outer = path(&sections[*around]);
            if Path::new(&inner).starts_with(&outer) {
                let message = format!(
                    "location: '{}' lies in the {component} directory of '{}'",
                    shown(&inner),
                    shown(&outer)
                );
                let right = "the files of a filesystem are removed before they are made";
                return Err(to.error(section.place_of("location"), message).hint(right));
            }
        }
    }
    Ok(())
}

/// The components of a path, each with the hash of the path up to it.
fn hashes(path: &Path) -> impl Iterator<Item = (&str, u64)> {
    let mut hasher = DefaultHasher::new();
    path.components().map(move |component| {
        component.hash(&mut hasher);
        (component.as_os_str().to_str().unwrap_or_default(), hasher.finish())
    })
}

fn filesystem(
    checked: &Filesystem,
    section: &Section,
    direct: bool,
    to: &mut Faults,
) -> Result<(), Fault> {
    // A clone is as right as what it is a clone of.
    if section.has("clone") {
        return Ok(());
    }
    match &checked.sizes {
        FileSizes::Weights(rows) => {
            let place = section.place_of("size_weight");
            let sum = rows.iter().try_fold(0u64, |sum, (_, weight)| sum.checked_add(*weight));
            check_sum(sum, "size_weight", place, to)?;
        }
        FileSizes::Range(least, most) if least > most => {
            let message =
                format!("min_filesize, {least} bytes, is above max_filesize, {most} bytes");
            let key = if section.has("min_filesize") { "min_filesize" } else { "max_filesize" };
            let right = "give both; what is not given is 0";
            return Err(to.error(section.place_of(key), message).hint(right));
        }
        FileSizes::Range(..) => {}
    }
    check_fill(checked, section, to)?;
    if direct {
        sectors(section, &["create_blocksize", "age_blocksize"], to);
        whole_blocks(section, to);
    }
    if !section.is_on("agefs") {
        return Ok(());
    }
    let Some((aging, ager)) = checked.aging.as_ref().zip(section.groups.first()) else {
        let right = "write a [threadgroup] before the [end] of the filesystem, or agefs = 0";
        let message = "agefs: there is no group that ages the filesystem";
        return Err(to.error(section.place_of("agefs"), message).hint(right));
    };
    if !section.has("desired_util") {
        let right = "write desired_util = 0.2 for a fifth of the filesystem, or agefs = 0";
        let message = "agefs: desired_util does not say until when";
        return Err(to.error(section.place_of("agefs"), message).hint(right));
    }
    group(&aging.group, ager, to)?;
    let wrong = Operation::ALL.into_iter().find(|o| aging.group.weight(*o) > 0 && !o.ages());
    if let Some(operation) = wrong {
        let key = weight_key(operation);
        let right = "creates, appends, their _fsync forms and deletes age a filesystem";
        let message = format!("{key}: nothing is aged by that");
        return Err(to.error(ager.place_of(key), message).hint(right));
    }
    if ager.has("bindfs") {
        to.warn(ager.place_of("bindfs"), "bindfs has no effect: the group ages its filesystem");
    }
    if let Some(stats) = ager.stats.first() {
        to.warn(stats.place, "[stats] has no effect in a group that ages");
    }
    Ok(())
}

/// Checks that files of these sizes can fill a filesystem up to its limit.
fn check_fill(checked: &Filesystem, section: &Section, to: &Faults) -> Result<(), Fault> {
    let largest = match &checked.sizes {
        FileSizes::Range(least, most) if least < most => most - 1,
        FileSizes::Range(least, _) => *least,
        FileSizes::Weights(rows) => rows
            .iter()
            .filter(|(_, weight)| *weight > 0)
            .map(|(bytes, _)| *bytes)
            .max()
            .unwrap_or(0),
    };
    let key = match checked {
        Filesystem { files: 1.., .. } => return Ok(()),
        Filesystem { init_bytes: 1.., .. } => "init_size",
        Filesystem { init_share, .. } if *init_share > 0.0 => "init_util",
        _ => return Ok(()),
    };
    if largest > 0 {
        return Ok(());
    }
    let message = format!("{key}: files of 0 bytes never come to that");
    let right = "write num_files, or give the files a size";
    Err(to.error(section.place_of(key), message).hint(right))
}

/// Checks that a sum of weights is positive and does not overflow.
fn check_sum(sum: Option<u64>, quantity: &str, place: Place, to: &Faults) -> Result<(), Fault> {
    match sum {
        Some(0) => Err(to
            .error(place, format!("{quantity}: every weight is 0"))
            .hint("at least one weight is above 0")),
        Some(_) => Ok(()),
        None => Err(to
            .error(place, format!("{quantity}: the sum of the weights is too large"))
            .hint(format!("the sum is at most {}", u64::MAX))),
    }
}

/// Warns of sizes that files do not have with `O_DIRECT`.
fn whole_blocks(section: &Section, to: &mut Faults) {
    let odd = |bytes: &u64| !bytes.is_multiple_of(DIRECT_BYTES);
    let ends = ["min_filesize", "max_filesize"].map(|key| (key, section.number(key)));
    let row = section.size_weights.iter().map(|&(bytes, _)| bytes).find(odd);
    let row = [("size_weight", row)];
    let sizes = if section.size_weights.is_empty() { &ends[..] } else { &row[..] };
    for &(key, bytes) in sizes {
        if let Some(bytes) = bytes.filter(odd) {
            let message = format!(
                "{key}: with directio, files are made up to whole blocks of {DIRECT_BYTES} bytes, \
                 not {bytes}"
            );
            to.warn(section.place_of(key), message);
        }
    }
}

/// Warns of sizes with which `O_DIRECT` fails.
fn sectors(section: &Section, keys: &[&str], to: &mut Faults) {
    for key in keys {
        let number = section.number(key).filter(|bytes| bytes % SECTOR_BYTES != 0);
        if let Some(bytes) = number {
            let message =
                format!("{key}: with directio, {bytes} is no multiple of {SECTOR_BYTES} and fails");
            to.warn(section.place_of(key), message);
        }
    }
}

fn group(checked: &ThreadGroup, section: &Section, to: &mut Faults) -> Result<(), Fault> {
    if checked.threads == 0 {
        let right = format!("write num_threads = 4, or another number up to {THREADS_MAX}");
        let message = "the group has no num_threads above 0";
        return Err(to.error(section.place_of("num_threads"), message).hint(right));
    }
    let sum = checked.weights.iter().try_fold(0u64, |sum, weight| sum.checked_add(*weight));
    check_sum(sum, "the group's operations", section.place, to)?;
    for operation in Operation::ALL.into_iter().filter(|o| checked.weight(*o) > 0) {
        needs(operation, checked, section, to)?;
    }
    if checked.read_random && checked.read_skip_bytes.is_some() {
        let right = "write read_random = 0 or read_skip = 0";
        let message = "read_skip: excludes read_random";
        return Err(to.error(section.place_of("read_skip"), message).hint(right));
    }
    if checked.read_skip_bytes == Some(0) {
        let right = "write read_skipsize = 4k, or read_skip = 0";
        let message = "read_skip: needs a read_skipsize above 0";
        return Err(to.error(section.place_of("read_skip"), message).hint(right));
    }
    let reads_nothing = checked.read_bytes < u64::from(checked.read_block_bytes);
    if checked.weight(Operation::Read) > 0 && reads_nothing {
        let message = "read_size: below read_blocksize nothing is read, only whole blocks are";
        to.warn(section.place_of("read_size"), message);
    }
    Ok(())
}

/// True if an operation writes `write_size` bytes.
const fn writes_by_size(operation: Operation) -> bool {
    use Operation::{Append, AppendFsync, Write, WriteFsync};
    matches!(operation, Write | WriteFsync | Append | AppendFsync)
}

/// Checks that the settings an operation needs are present.
fn needs(
    operation: Operation,
    checked: &ThreadGroup,
    section: &Section,
    to: &Faults,
) -> Result<(), Fault> {
    let [mut block, mut bytes] = [None, None];
    if operation.reads() && checked.read_block_bytes == 0 {
        block = Some("read_blocksize");
    }
    if operation.writes() && checked.write_block_bytes == 0 {
        block = Some("write_blocksize");
    }
    if operation == Operation::Read && checked.read_bytes == 0 {
        bytes = Some("read_size");
    }
    if writes_by_size(operation) && checked.write_bytes == 0 {
        bytes = Some("write_size");
    }
    let Some(missing) = block.or(bytes) else { return Ok(()) };
    let key = weight_key(operation);
    let message = format!("{key}: needs a {missing} above 0");
    let right = format!("write {missing} = 4k in the [threadgroup]");
    Err(to.error(section.place_of(key), message).hint(right))
}

/// Checks that the number of concurrent threads is within the limit.
fn threads<'p>(
    groups: impl Iterator<Item = (&'p Section, &'p ThreadGroup)>,
    to: &Faults,
) -> Result<(), Fault> {
    let mut sum = 0;
    for (section, group) in groups {
        sum += u64::from(group.threads);
        if sum > THREADS_MAX {
            let right = format!("all groups together have at most {THREADS_MAX}");
            let message = format!("num_threads: with the groups before there are {sum} threads");
            return Err(to.error(section.place_of("num_threads"), message).hint(right));
        }
    }
    Ok(())
}
