//! A job file as a command line of the original: `--showcmd`.

use std::fmt::Write;

use treering_script::ConfigError;

use treering_kit::faults::{Fault, Faults, shown};

use super::expand::expand;
use super::lines::{Lines, Section};
use super::{ParseContext, keys};

/// Formats the sections of a file as options, each job after its name. Settings of the command line
/// are left out.
pub(crate) fn command_line(
    file: &str,
    text: &[u8],
    only: &[String],
    around: &ParseContext<'_>,
) -> Result<String, ConfigError> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let around = ParseContext { typed: &[], ..*around };
    let (sections, mut faults) = Lines::read(file, text, &around)?;
    let written = written(&sections, only, &around, &faults);
    written.map_err(|fault| faults.refuse(fault))
}

fn written(
    sections: &[Section],
    only: &[String],
    around: &ParseContext<'_>,
    faults: &Faults<'_>,
) -> Result<String, Fault> {
    let mut line = String::from("fio ");
    for section in sections {
        if !section.is_global() {
            if !only.is_empty() && !only.contains(&section.name) {
                continue;
            }
            // Writing into a string cannot fail.
            let _ = write!(line, "--name={} ", section.name);
        }
        for setting in &section.settings {
            let name = keys::canonical_key(&setting.key, setting.place, faults)?;
            let written = setting.value.as_deref();
            let value = written.map(|text| expand(text, around.environment, around.machine));
            let value = value.transpose().map_err(|why| {
                faults
                    .error(setting.value_place, format!("{}: {why}", shown(&setting.key)))
                    .hint("set the variable, or write the value itself")
            })?;
            let _ = match value {
                Some(value) => write!(line, "--{name}={value} "),
                None => write!(line, "--{name} "),
            };
        }
    }
    line.push('\n');
    Ok(line)
}
