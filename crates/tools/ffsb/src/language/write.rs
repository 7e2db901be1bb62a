//! Formatting of a profile: as text, and as names and values.
//!
//! Both contain every setting, defaults included, in an order that does not depend on the file that
//! the profile came from.

use super::keys::weight_key;
use super::operation::Operation;
use super::timed_call::TimedCall;
use super::{Aging, FileSizes, Filesystem, LatencySelection, Profile, ThreadGroup};

/// Name and value of a setting; repeated names are adjacent.
type SettingRow = (&'static str, String);

fn switch(on: bool) -> String {
    u8::from(on).to_string()
}

fn globals(profile: &Profile) -> Vec<SettingRow> {
    let mut rows = vec![
        ("time", profile.seconds.to_string()),
        ("directio", switch(profile.direct)),
        ("alignio", switch(profile.align)),
        ("bufferio", switch(profile.buffered)),
    ];
    rows.extend(profile.callout.iter().map(|command| ("callout", command.clone())));
    rows
}

/// Rows of a filesystem, without its location and its aging group.
fn filesystem(filesystem: &Filesystem) -> Vec<SettingRow> {
    let mut rows = vec![
        ("num_files", filesystem.files.to_string()),
        ("num_dirs", filesystem.dirs.to_string()),
    ];
    match &filesystem.sizes {
        FileSizes::Range(least, most) => {
            rows.push(("min_filesize", least.to_string()));
            rows.push(("max_filesize", most.to_string()));
        }
        FileSizes::Weights(weights) => {
            let row = |(size, weight): &(u64, u64)| ("size_weight", format!("{size} {weight}"));
            rows.extend(weights.iter().map(row));
        }
    }
    rows.extend([
        ("init_size", filesystem.init_bytes.to_string()),
        ("init_util", filesystem.init_share.to_string()),
        ("create_blocksize", filesystem.create_block_bytes.to_string()),
        ("age_blocksize", filesystem.age_block_bytes.to_string()),
        ("reuse", switch(filesystem.reuse)),
        ("agefs", switch(filesystem.aging.is_some())),
    ]);
    let desired = filesystem.aging.iter().map(|aging| aging.until_share);
    rows.extend(desired.map(|share| ("desired_util", share.to_string())));
    rows
}

/// Rows of a group, without its `bindfs` and its stats.
fn group(group: &ThreadGroup) -> Vec<SettingRow> {
    let mut rows = vec![
        ("num_threads", group.threads.to_string()),
        ("op_delay", group.delay_ms.to_string()),
        ("read_random", switch(group.read_random)),
        ("read_size", group.read_bytes.to_string()),
        ("read_blocksize", group.read_block_bytes.to_string()),
        ("read_skip", switch(group.read_skip_bytes.is_some())),
        ("read_skipsize", group.read_skip_bytes_given.to_string()),
        ("write_random", switch(group.write_random)),
        ("write_size", group.write_bytes.to_string()),
        ("write_blocksize", group.write_block_bytes.to_string()),
    ];
    // A block of nothing is one that is not given.
    rows.retain(|(key, value)| !key.ends_with("_blocksize") || value != "0");
    for operation in Operation::ALL {
        let weight = group.weight(operation);
        if weight > 0 {
            rows.push((weight_key(operation), weight.to_string()));
        }
    }
    rows
}

fn stats(stats: &LatencySelection) -> Vec<SettingRow> {
    let mut rows =
        vec![("enable_stats", switch(true)), ("enable_range", switch(!stats.ranges_ms.is_empty()))];
    let ignored = TimedCall::ALL.into_iter().filter(|call| stats.ignored[call.place()]);
    rows.extend(ignored.map(|call| ("ignore", call.name().to_owned())));
    let range = |(from, to): &(f64, f64)| ("msec_range", format!("{from} {to}"));
    rows.extend(stats.ranges_ms.iter().map(range));
    rows
}

/// Adds rows with a name prefix; rows of the same name are joined into one.
fn put(prefix: &str, rows: Vec<SettingRow>, into: &mut Vec<(String, String)>) {
    for (key, value) in rows {
        let name = format!("{prefix}{key}");
        match into.last_mut() {
            Some((last, values)) if *last == name => {
                values.push_str(", ");
                values.push_str(&value);
            }
            _ => into.push((name, value)),
        }
    }
}

/// Names and values of all settings.
pub(super) fn parameters(profile: &Profile) -> Vec<(String, String)> {
    let prefix = |several: bool, word: &str, number: usize| {
        if several { format!("{word}{number}.") } else { String::new() }
    };
    let mut named = Vec::new();
    put("", globals(profile), &mut named);
    for (number, section) in profile.filesystems.iter().enumerate() {
        let prefix = prefix(profile.filesystems.len() > 1, "filesystem", number);
        put(&prefix, filesystem(section), &mut named);
        if let Some(Aging { group: ager, .. }) = &section.aging {
            put(&format!("{prefix}aging."), group(ager), &mut named);
        }
    }
    for (number, section) in profile.groups.iter().enumerate() {
        let prefix = prefix(profile.groups.len() > 1, "threadgroup", number);
        let bound = section.bound.map(|number| ("bindfs", number.to_string()));
        put(&prefix, bound.into_iter().collect(), &mut named);
        put(&prefix, group(section), &mut named);
        let rows = section.stats.as_ref().map_or(vec![("enable_stats", switch(false))], stats);
        put(&prefix, rows, &mut named);
    }
    named
}

/// The whole text.
pub(super) fn text(profile: &Profile) -> String {
    let mut text = String::new();
    lines("", globals(profile), &mut text);
    for (number, section) in profile.filesystems.iter().enumerate() {
        text += &format!("\n[filesystem{number}]\n\tlocation = {}\n", section.location);
        lines("\t", filesystem(section), &mut text);
        if let Some(Aging { group: ager, .. }) = &section.aging {
            text += "\t[threadgroup0]\n";
            lines("\t\t", group(ager), &mut text);
            text += "\t[end0]\n";
        }
        text += &format!("[end{number}]\n");
    }
    for (number, section) in profile.groups.iter().enumerate() {
        text += &format!("\n[threadgroup{number}]\n");
        if let Some(filesystem) = section.bound.and_then(|number| profile.filesystems.get(number)) {
            text += &format!("\tbindfs = {}\n", filesystem.location);
        }
        lines("\t", group(section), &mut text);
        if let Some(printed) = &section.stats {
            text += "\t[stats]\n";
            lines("\t\t", stats(printed), &mut text);
            text += "\t[end]\n";
        }
        text += &format!("[end{number}]\n");
    }
    text
}

fn lines(indent: &str, rows: Vec<SettingRow>, text: &mut String) {
    for (key, value) in rows {
        let between = if matches!(key, "size_weight" | "msec_range") { " " } else { " = " };
        text.extend([indent, key, between, &value, "\n"]);
    }
}
