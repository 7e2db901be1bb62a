//! Parts of fact values: words, bracketed choices, and drivers of devices.

use std::collections::BTreeSet;

/// Bracketed words of each value; the whole value if it has none.
pub(super) fn chosen<'t>(values: &BTreeSet<&'t str>) -> BTreeSet<&'t str> {
    let bracketed = |word: &'t str| word.strip_prefix('[')?.strip_suffix(']');
    let choice = |value: &&'t str| value.split_whitespace().find_map(bracketed).unwrap_or(value);
    values.iter().map(choice).collect()
}

/// Driver part of a device name: `loop` of `loop3`, `sd` of `sda1`, `nvme` of `nvme0n1`.
pub(super) fn device_driver(name: &str) -> &str {
    let letters = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
    let lettered = ["sd", "vd", "hd", "xvd"].into_iter().find(|kind| name.starts_with(kind));
    lettered.unwrap_or(&name[..letters])
}

/// Words of an option list or a command that match `counts`.
pub(super) fn matching_words<'t>(
    text: &'t str,
    counts: &dyn Fn(&str) -> bool,
) -> BTreeSet<&'t str> {
    text.split([' ', ',']).filter(|word| !word.is_empty() && counts(word)).collect()
}

/// Mount option with the names of directories and devices instead of their paths, since the
/// directories above them may be new at each mount: `lowerdir=lower` for `lowerdir=/run/1/lower`.
pub(in crate::compare) fn without_directories(option: &str) -> String {
    let Some((name, value)) = option.split_once('=').filter(|(_, value)| value.contains('/'))
    else {
        return option.to_owned();
    };
    let names = value.split(':').map(|path| path.rsplit('/').next().unwrap_or(path));
    format!("{name}={}", names.collect::<Vec<_>>().join(":"))
}

/// Options in `own` that are missing in `others`.
pub(super) fn only(own: &BTreeSet<String>, others: &BTreeSet<String>) -> String {
    let only: Vec<&str> = own.difference(others).map(String::as_str).collect();
    if only.is_empty() { "none of these".to_owned() } else { only.join(",") }
}

/// Words of all values, except the path of the kernel image, which follows from the release.
pub(super) fn words(values: &BTreeSet<&str>) -> BTreeSet<String> {
    let words_of = |text: &&str| -> Vec<String> {
        let between = if text.contains(", ") { ", " } else { " " };
        let counts = |word: &&str| {
            let reported = ["BOOT_IMAGE=", "initrd="].iter().any(|prefix| word.starts_with(prefix));
            !word.is_empty() && !reported
        };
        text.split(between).filter(counts).map(str::to_owned).collect()
    };
    values.iter().flat_map(words_of).collect()
}
