//! Jobs that are commands: `command`, `prepare`, `cleanup` and `metric` as keys of a job, which are
//! the options of the workload of that name.

use toml::de::DeValue;
use treering_script::ProgramWatch;

use super::section::{Given, METRIC, Section, Value};
use crate::plan::error::Fault;

/// The workload.
pub(super) const WORKLOAD: &str = "command";
const KEYS: [&str; 4] = ["command", "prepare", "cleanup", "metric"];
const WANTED: &str = "an array of strings, or a string for the shell";
const WANTED_METRIC: &str = "a table { name, regex or json, unit, better }, or an array of them";

/// True if the job has one of the keys.
pub(super) fn is_one(section: &Section<'_>) -> bool {
    KEYS.iter().any(|key| section.get(key).is_some())
}

/// Keys of the job as options of the workload; `None` if the job has none of them.
pub(super) fn given<'d>(
    section: &Section<'d>,
    workload: &str,
) -> Result<Option<Vec<Given<'d>>>, Fault> {
    let Some(first) = KEYS.iter().find_map(|key| section.get(key)) else { return Ok(None) };
    if workload != WORKLOAD {
        let message = format!("`{}` belongs to jobs that are commands", first.key);
        let hint = format!("leave it out, or leave out workload = \"{workload}\"");
        return Err(first.fault(message, "").hint(hint));
    }
    let mut given = Vec::new();
    if let Some(value) = section.get("command") {
        match value.value {
            DeValue::String(_) => {
                let text = value.script(WANTED)?.to_owned();
                given.push(Given { name: "shell", text, value });
            }
            _ => {
                for value in value.array(WANTED)? {
                    let text = value.script("a string")?.to_owned();
                    given.push(Given { name: "command", text, value });
                }
            }
        }
    }
    for name in ["prepare", "cleanup"] {
        if let Some(value) = section.get(name) {
            let text = match value.value {
                DeValue::String(_) => value.script(WANTED)?.to_owned(),
                _ => shell_line(&value)?,
            };
            given.push(Given { name, text, value });
        }
    }
    if let Some(value) = section.get("metric") {
        let all = match value.value {
            DeValue::Array(array) => value.elements(array),
            _ => vec![value],
        };
        for value in all {
            let text = metric(&value)?;
            given.push(Given { name: "metric", text, value });
        }
    }
    given.sort_by_key(|given| given.name);
    Ok(Some(given))
}

/// Shell line of a command given as an array; the placeholder of the directory is quoted like a
/// variable.
fn shell_line(value: &Value<'_>) -> Result<String, Fault> {
    let mut words = Vec::new();
    for element in value.array(WANTED)? {
        let word = element.script("a string")?.replace('\'', r"'\''");
        let place = ProgramWatch::PLACE;
        words.push(format!("'{}'", word.replace(place, &format!("'\"{place}\"'"))));
    }
    Ok(words.join(" "))
}

/// A metric in the form of the command line.
fn metric(value: &Value<'_>) -> Result<String, Fault> {
    if matches!(value.value, DeValue::String(_)) {
        return value.text(WANTED_METRIC).map(str::to_owned);
    }
    let section = Section::new(&METRIC, value.table(WANTED_METRIC)?, value.span.clone())?;
    let Some(name) = section.get("name") else {
        return Err(value.fault("a metric without `name`", ""));
    };
    let name = name.word("a name")?;
    let place = match (section.get("regex"), section.get("json")) {
        (Some(regex), None) => {
            let text = regex.text("a regular expression")?;
            // Commas and what looks like a pointer are part of it.
            let is_plain = !text.contains(',') && !text.starts_with("json:");
            if is_plain { text.to_owned() } else { format!("(?:{text})") }
        }
        (None, Some(pointer)) => format!("json:{}", pointer.text("a JSON pointer")?),
        _ => return Err(value.fault("a metric has either `regex` or `json`", "")),
    };
    let mut text = format!("{name}={place}");
    for key in ["unit", "better"] {
        if let Some(value) = section.get(key) {
            text += &format!(",{key}={}", value.text("a string")?);
        }
    }
    let is_primary = section.get("primary").map_or(Ok(false), |value| value.flag())?;
    if is_primary {
        text += ",primary";
    }
    Ok(text)
}
