//! Jobs that are commands: `command`, `prepare`, `cleanup` and `metric` as keys of a job, which are
//! the options of the workload of that name.

use treering_script::ProgramWatch;

use super::format::{JobTable, MetricForm, MetricTable};
use super::given::GivenOption;
use super::tree::{Placed, Script};
use super::values::{Command, Listed};
use crate::plan::error::Fault;

/// The workload.
pub(crate) const WORKLOAD: &str = "command";

/// First of the keys that the job has, with the position of its value.
fn first(section: &JobTable) -> Option<Placed<&str>> {
    let value = |span: &std::ops::Range<usize>, value| Placed { span: span.clone(), value };
    let command = section.command.as_ref().map(|entry| value(&entry.span, "command"));
    let prepare = section.prepare.as_ref().map(|entry| value(&entry.span, "prepare"));
    let cleanup = section.cleanup.as_ref().map(|entry| value(&entry.span, "cleanup"));
    let metric = section.metric.as_ref().map(|entry| value(&entry.span, "metric"));
    command.or(prepare).or(cleanup).or(metric)
}

/// True if the job has one of the keys.
pub(super) fn is_one(section: &JobTable) -> bool {
    first(section).is_some()
}

/// Keys of the job as options of the workload.
pub(super) fn given(section: &JobTable, workload: &str) -> Result<Vec<GivenOption>, Fault> {
    if let Some(stray) = first(section).filter(|_| workload != WORKLOAD) {
        let message = format!("`{}` belongs to jobs that are commands", *stray);
        let hint = format!("leave it out, or leave out workload = \"{workload}\"");
        return Err(stray.fault(message, "").hint(hint));
    }
    let mut given = Vec::new();
    if let Some(command) = &section.command {
        let name = match &command.value.0 {
            Listed::Single(_) => "shell",
            Listed::Array(_) => "command",
        };
        for (span, word) in command.value.0.elements(&command.span) {
            given.push(GivenOption::new(name, word.0.clone(), span));
        }
    }
    for (name, line) in [("prepare", &section.prepare), ("cleanup", &section.cleanup)] {
        if let Some(line) = line {
            given.push(GivenOption::new(name, shell_line(line), &line.span));
        }
    }
    if let Some(metrics) = &section.metric {
        for (span, form) in metrics.value.0.elements(&metrics.span) {
            let text = match form {
                MetricForm::String(text) => text.clone(),
                MetricForm::Table(section) => metric(section, span)?,
            };
            given.push(GivenOption::new("metric", text, span));
        }
    }
    given.sort_by_key(|given| given.name);
    Ok(given)
}

/// Line for the shell. The words of an array are quoted, the placeholder of the directory like a
/// variable.
fn shell_line(line: &Command) -> String {
    let quoted = |Script(word): &Script| {
        let word = word.replace('\'', r"'\''");
        let place = ProgramWatch::PLACE;
        format!("'{}'", word.replace(place, &format!("'\"{place}\"'")))
    };
    match &line.0 {
        Listed::Single(Script(line)) => line.clone(),
        Listed::Array(words) => {
            words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(" ")
        }
    }
}

/// A metric in the form of the command line.
fn metric(section: &MetricTable, span: &std::ops::Range<usize>) -> Result<String, Fault> {
    let Some(name) = &section.name else {
        return Err(Fault::at(span.clone(), "a metric without `name`", ""));
    };
    let place = match (&section.regex, &section.json) {
        (Some(regex), None) => {
            let text = regex.value.as_str();
            // Commas and what looks like a pointer are part of it.
            let is_plain = !text.contains(',') && !text.starts_with("json:");
            if is_plain { text.to_owned() } else { format!("(?:{text})") }
        }
        (None, Some(pointer)) => format!("json:{}", pointer.value),
        _ => return Err(Fault::at(span.clone(), "a metric has either `regex` or `json`", "")),
    };
    let mut text = format!("{}={place}", name.text());
    for (key, value) in [("unit", &section.unit), ("better", &section.better)] {
        if let Some(value) = value {
            text += &format!(",{key}={}", value.value);
        }
    }
    if section.primary.as_ref().is_some_and(|primary| primary.value) {
        text += ",primary";
    }
    Ok(text)
}
