//! Settings of a variant besides its filesystem: sysctls, attributes in sysfs, and the commands
//! around each trial.

use treering_model::{DeviceSpec, GuestSpec, VariantSettings};

use super::format::{SettingTable, VariantTable};
use super::tree::{Entry, Script};
use super::values::{Command, Datum, Listed};
use crate::plan::error::{Fault, quoted};

/// Settings of the variant of a section.
pub(super) fn settings(
    section: &VariantTable,
    device: &DeviceSpec,
    guest: Option<&GuestSpec>,
) -> Result<VariantSettings, Fault> {
    if let (DeviceSpec::Directory { .. }, Some(sysfs)) = (device, &section.sysfs) {
        let message = "`sysfs` is of a device, and the variant is a directory";
        return Err(sysfs.key_fault(message, "").hint("give the variant a device"));
    }
    for command in [&section.prepare, &section.cleanup] {
        if let (Some(_), Some(command)) = (guest, command) {
            let message = format!("`{}` cannot run in a guest", command.key);
            let hint = "a guest has no programs: leave it out, or leave out `kernel`";
            return Err(command.key_fault(message, "").hint(hint));
        }
    }
    Ok(VariantSettings {
        sysctl: pairs(
            section.sysctl.as_ref(),
            &is_sysctl,
            "a sysctl is written as \"vm.dirty_ratio\"",
        )?,
        sysfs: pairs(
            section.sysfs.as_ref(),
            &is_attribute,
            "an attribute is written as \"queue/scheduler\", \"fs/mb_stats\", \
             \"bdi/read_ahead_kb\" or \"/sys/kernel/mm/transparent_hugepage/enabled\"",
        )?,
        prepare: words(section.prepare.as_ref())?,
        cleanup: words(section.cleanup.as_ref())?,
    })
}

/// Names and values of a table.
fn pairs(
    table: Option<&Entry<SettingTable>>,
    is_name: &dyn Fn(&str) -> bool,
    hint: &str,
) -> Result<Vec<(String, String)>, Fault> {
    let entries = table.map_or(&[][..], |table| &table.value.0);
    entries.iter().map(|entry| pair(entry, is_name, hint)).collect()
}

fn pair(
    entry: &Entry<Datum>,
    is_name: &dyn Fn(&str) -> bool,
    hint: &str,
) -> Result<(String, String), Fault> {
    if let Datum::Table(_) = entry.value {
        let message = format!("{} is a table", quoted(&entry.key));
        let hint = "a name with dots is written in quotation marks: \"vm.dirty_ratio\" = 10";
        return Err(entry.key_fault(message, "").hint(hint));
    }
    if !is_name(&entry.key) {
        let message = format!("{} is no name of a setting", quoted(&entry.key));
        return Err(entry.key_fault(message, "").hint(hint));
    }
    let value = match &entry.value {
        Datum::String(Script(text)) if text.contains(['\n', '\0']) => None,
        Datum::String(Script(text)) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Datum::Boolean(is_set) => Some(u8::from(*is_set).to_string()),
        number => number.number(),
    };
    let value = value.ok_or_else(|| {
        let message = format!("{} is {}, not a value", quoted(&entry.key), entry.value.kind());
        entry.fault(message, "write a number, or a text on one line")
    })?;
    Ok((entry.key.clone(), value))
}

/// True for the name of a sysctl, with dots or with slashes.
fn is_sysctl(name: &str) -> bool {
    let parts: Vec<&str> =
        if name.contains('/') { name.split('/').collect() } else { name.split('.').collect() };
    parts.len() >= 2 && parts.iter().all(|part| is_part(part))
}

/// True for the path of an attribute: below a device, below `fs` or `bdi`, or from `/sys` on.
fn is_attribute(name: &str) -> bool {
    let inside = name.strip_prefix("/sys/").unwrap_or(name);
    !inside.starts_with('/') && inside.split('/').all(is_part)
}

fn is_part(part: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    !matches!(part, "" | "." | "..") && part.chars().all(is_plain)
}

/// Words of a command; a text is for the shell.
fn words(command: Option<&Entry<Command>>) -> Result<Vec<String>, Fault> {
    let Some(command) = command else { return Ok(Vec::new()) };
    let words: Vec<String> = match &command.value.0 {
        Listed::Single(Script(line)) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
        Listed::Array(words) => words.iter().map(|word| word.value.0.clone()).collect(),
    };
    if words.iter().any(|word| word.contains('\0')) || words.first().is_none_or(String::is_empty) {
        return Err(command.fault(format!("`{}` names no program", command.key), ""));
    }
    Ok(words)
}
