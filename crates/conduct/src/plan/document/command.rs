//! Jobs that are commands: the job keys `command`, `prepare`, `cleanup` and `metric` become options
//! of the workload `command`.

use treering_model::Variant;
use treering_script::ProgramWatch;

use super::format::{JobTable, MetricForm, MetricTable, PlanTable};
use super::given::GivenOption;
use super::tree::{Entry, Placed, Script};
use super::values::{Command, OneOrMany};
use crate::plan::error::Fault;
use crate::plan::{JobCommands, PlannedJob};

/// Name of the workload that runs commands.
pub(crate) const WORKLOAD: &str = "command";

/// Key `command` or `metric`, whichever the job has, with the position of its value.
fn command_key(section: &JobTable) -> Option<Placed<&str>> {
    let value = |span: &std::ops::Range<usize>, value| Placed { span: span.clone(), value };
    let command = section.command.as_ref().map(|entry| value(&entry.span, "command"));
    let metric = section.metric.as_ref().map(|entry| value(&entry.span, "metric"));
    command.or(metric)
}

/// True if the job has a key of a command.
pub(super) fn is_one(section: &JobTable) -> bool {
    command_key(section).is_some() || section.prepare.is_some() || section.cleanup.is_some()
}

/// Keys of the job as options of the workload.
pub(super) fn given(section: &JobTable, workload: &str) -> Result<Vec<GivenOption>, Fault> {
    if let Some(stray) = command_key(section).filter(|_| workload != WORKLOAD) {
        let message = format!("`{}` belongs to jobs that are commands", *stray);
        let hint = format!("leave it out, or leave out workload = \"{workload}\"");
        return Err(stray.fault(message, "").hint(hint));
    }
    if workload != WORKLOAD {
        return Ok(Vec::new());
    }
    let mut options = Vec::new();
    if let Some(command) = &section.command {
        let name = match &command.value.0 {
            OneOrMany::Single(_) => "shell",
            OneOrMany::Array(_) => "command",
        };
        for (span, word) in command.value.0.elements(&command.span) {
            options.push(GivenOption::new(name, word.0.clone(), span));
        }
    }
    for (name, line) in [("prepare", &section.prepare), ("cleanup", &section.cleanup)] {
        if let Some(line) = line {
            options.push(GivenOption::new(name, shell_line(line), &line.span));
        }
    }
    if let Some(metrics) = &section.metric {
        for (span, form) in metrics.value.0.elements(&metrics.span) {
            let text = match form {
                MetricForm::String(text) => text.clone(),
                MetricForm::Table(section) => metric(section, span)?,
            };
            options.push(GivenOption::new("metric", text, span));
        }
    }
    options.sort_by_key(|option| option.name);
    Ok(options)
}

/// Commands around the trials of a job that is no command itself.
pub(super) fn around(section: &JobTable, workload: &str) -> Result<JobCommands, Fault> {
    if workload == WORKLOAD {
        return Ok(JobCommands::default());
    }
    Ok(JobCommands {
        prepare: words(section.prepare.as_ref())?,
        cleanup: words(section.cleanup.as_ref())?,
    })
}

/// Refuses prepare and cleanup commands of jobs that run in guests.
pub(super) fn refuse_commands_in_guests(
    top: &PlanTable,
    (variants, jobs): (&[Variant], &[PlannedJob]),
) -> Result<(), Fault> {
    let sections = top.job.as_ref().map_or(&[][..], |sections| &sections.0);
    let around = sections.iter().zip(jobs).filter(|(_, job)| !job.around.is_empty());
    let mut commands =
        around.filter_map(|(section, _)| section.prepare.as_ref().or(section.cleanup.as_ref()));
    let is_in_guest = variants.iter().any(|variant| variant.guest.is_some());
    match commands.next().filter(|_| is_in_guest) {
        Some(command) => Err(no_command_in_a_guest(command)),
        None => Ok(()),
    }
}

/// Fault for a command that would run in a guest.
pub(super) fn no_command_in_a_guest(command: &Entry<Command>) -> Fault {
    let message = format!("`{}` cannot run in a guest", command.key);
    let hint = "a guest has no programs: leave it out, or leave out `kernel`";
    command.key_fault(message, "").hint(hint)
}

/// Words of a command; a string is a line for the shell.
pub(super) fn words(command: Option<&Entry<Command>>) -> Result<Vec<String>, Fault> {
    let Some(command) = command else { return Ok(Vec::new()) };
    let words: Vec<String> = match &command.value.0 {
        OneOrMany::Single(Script(line)) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
        OneOrMany::Array(words) => words.iter().map(|word| word.value.0.clone()).collect(),
    };
    if words.iter().any(|word| word.contains('\0')) || words.first().is_none_or(String::is_empty) {
        return Err(command.fault(format!("`{}` names no program", command.key), ""));
    }
    Ok(words)
}

/// Line for the shell. The words of an array are quoted; the placeholder of the directory is put in
/// double quotes, like a variable.
fn shell_line(line: &Command) -> String {
    let quoted = |Script(word): &Script| {
        let word = word.replace('\'', r"'\''");
        let place = ProgramWatch::PLACE;
        format!("'{}'", word.replace(place, &format!("'\"{place}\"'")))
    };
    match &line.0 {
        OneOrMany::Single(Script(line)) => line.clone(),
        OneOrMany::Array(words) => {
            words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(" ")
        }
    }
}

/// Formats a metric as on the command line.
fn metric(section: &MetricTable, span: &std::ops::Range<usize>) -> Result<String, Fault> {
    let Some(name) = &section.name else {
        return Err(Fault::at(span.clone(), "a metric without `name`", ""));
    };
    let place = match (&section.regex, &section.json) {
        (Some(regex), None) => {
            let text = regex.value.as_str();
            // The group protects commas and a leading `json:` from being parsed.
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
    if section.work.as_ref().is_some_and(|work| work.value) {
        text += ",work";
    }
    Ok(text)
}
