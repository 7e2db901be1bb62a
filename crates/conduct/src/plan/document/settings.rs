//! Settings of a variant besides its filesystem: sysctls, attributes in sysfs, the commands around
//! each trial, and layers.

use treering_model::filesystems::is_in_memory;
use treering_model::{DeviceSpec, GuestSpec, LimitSettings, VariantSettings};

use super::command::{no_command_in_a_guest, words};
use super::format::{EnvironmentTable, LimitTable, PlanTable, SettingTable, VariantTable};
use super::tree::{Entry, Script};
use super::values::{Datum, FilesystemName, Percentage};
use crate::plan::PlannedJob;
use crate::plan::error::{Fault, quoted};

/// Settings of a variant, except job options and layers.
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
            return Err(no_command_in_a_guest(command));
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
        env: environment(section.env.as_ref())?,
        options: Vec::new(),
        limits: limits(section.limits.as_ref(), device, section.filesystem.as_ref())?,
        prepare: words(section.prepare.as_ref())?,
        cleanup: words(section.cleanup.as_ref())?,
        layers: Vec::new(),
        second_device: None,
    })
}

/// Limits of a variant; I/O limits need a device.
fn limits(
    table: Option<&Entry<LimitTable>>,
    device: &DeviceSpec,
    filesystem: Option<&Entry<FilesystemName>>,
) -> Result<LimitSettings, Fault> {
    let Some(table) = table else { return Ok(LimitSettings::default()) };
    let LimitTable { memory, cpu, io_read, io_write } = &table.value;
    let has_device = !matches!(device, DeviceSpec::Directory { .. })
        && !filesystem.is_some_and(|name| is_in_memory(name.text()));
    let io = io_read.as_ref().or(io_write.as_ref());
    if let Some(io) = io.filter(|_| !has_device) {
        let message = format!("`{}` limits a device, and the variant has none", io.key);
        return Err(io.key_fault(message, "").hint("leave it out, or give the variant a device"));
    }
    let percent = |cpu: &Entry<Percentage<100, 10_240_000>>| {
        let percent = cpu.0 * 100.0;
        let whole = (1..=102_400).find(|whole| (percent - f64::from(*whole)).abs() < 1e-6);
        whole.ok_or_else(|| cpu.fault("`cpu` is a whole number of percent", "write \"50%\""))
    };
    let limits = LimitSettings {
        memory_bytes: memory.as_ref().map(|memory| memory.0),
        cpu_percent: cpu.as_ref().map(percent).transpose()?,
        io_read_bytes: io_read.as_ref().map(|rate| rate.0),
        io_write_bytes: io_write.as_ref().map(|rate| rate.0),
    };
    if limits.is_empty() {
        let hint = "for example: limits = { memory = \"512M\", cpu = \"50%\" }";
        return Err(table.fault("`limits` has no limit", "").hint(hint));
    }
    Ok(limits)
}

/// Refuses limits for jobs on ranks, which may run on other machines.
pub(super) fn limits_are_possible(top: &PlanTable, jobs: &[PlannedJob]) -> Result<(), Fault> {
    let sections = top.variant.as_ref().map_or(&[][..], |sections| &sections.0);
    let limits = sections.iter().find_map(|section| section.limits.as_ref());
    match limits.filter(|_| jobs.iter().any(|job| job.launch.is_some())) {
        None => Ok(()),
        Some(limits) => {
            let message = "`limits` are those of this machine, and ranks may run on others";
            Err(limits.key_fault(message, "").hint("leave `limits` or `ranks` out"))
        }
    }
}

/// Prefix of the variables in which treering passes information about a trial to a command.
const OWN_VARIABLES: &str = "TREERING_";

/// Environment variables of a variant.
pub(super) fn environment(
    table: Option<&Entry<EnvironmentTable>>,
) -> Result<Vec<(String, String)>, Fault> {
    let entries = table.map_or(&[][..], |table| &table.value.0);
    entries.iter().map(variable).collect()
}

fn variable(entry: &Entry<Datum>) -> Result<(String, String), Fault> {
    let name = entry.key.as_str();
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name =
        name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit());
    if !is_name {
        let message = format!("{} is no name of an environment variable", quoted(name));
        let hint = "a name has letters, digits and underscores: env = { MALLOC_ARENA_MAX = \"1\" }";
        return Err(entry.key_fault(message, "").hint(hint));
    }
    if name.starts_with(OWN_VARIABLES) {
        let message = format!("{} is a variable that treering sets itself", quoted(name));
        return Err(entry.key_fault(message, "").hint("choose another name"));
    }
    let value = match &entry.value {
        Datum::String(Script(text)) => Some(text.clone()).filter(|text| !text.contains('\n')),
        number => number.number(),
    };
    let value = value.ok_or_else(|| {
        let message = format!("{} is {}, not a value", quoted(name), entry.value.kind());
        entry.fault(message, "write a text on one line in quotation marks")
    })?;
    Ok((name.to_owned(), value))
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

/// True for the path of a sysfs attribute: relative to a device, below `fs` or `bdi`, or absolute
/// below `/sys`.
fn is_attribute(name: &str) -> bool {
    let inside = name.strip_prefix("/sys/").unwrap_or(name);
    !inside.starts_with('/') && inside.split('/').all(is_part)
}

fn is_part(part: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    !matches!(part, "" | "." | "..") && part.chars().all(is_plain)
}
