//! Command lines that repeat stored trials.

use treering_model::{IMPORT_COMMAND_FACT, IMPORT_FACT, RunMode, Trial};
use treering_script::{Settings, ValueKind, Workload};

use super::beginning::named as workload_named;
use crate::load::{FIO, LOAD};
use crate::plan::plain_names;
use crate::shell::quoted;

/// The command line that repeats a trial of one of these workloads, quoted for a shell.
pub fn command_line(trial: &Trial, workloads: &[&'static dyn Workload]) -> String {
    let beginning = &trial.beginning;
    let classic = beginning.mode == RunMode::Classic;
    let searches = beginning.workload == LOAD;
    let verb = if classic || searches { "" } else { "run " };
    // The target of a cell no longer exists, so a placeholder stands for it.
    let target = match beginning.cell {
        Some(_) => "DIR".to_owned(),
        None => quoted(&beginning.target),
    };
    // A load search has its own options before those of the load.
    let name = if searches { FIO } else { &beginning.workload };
    let specs = workload_named(workloads, name).map_or(&[][..], |workload| {
        let manifest = workload.manifest();
        if classic { manifest.classic } else { manifest.native }
    });
    let is_operand = |name: &str| {
        let spec = specs.iter().find(|spec| spec.name == name);
        spec.is_some_and(|spec| matches!(spec.value, ValueKind::Operand | ValueKind::Operands))
    };
    // The directory may be among the tool's own options, or in its job file.
    let mut names = beginning.parameters.iter().map(|(name, _)| name.as_str());
    let names_dirs =
        names.any(|name| ["dir", "directory"].contains(&name) || (classic && is_operand(name)));
    let dir = match (names_dirs, classic) {
        (true, _) => String::new(),
        (false, true) if specs.iter().any(|spec| spec.short == Some('D')) => {
            format!(" -D {target}")
        }
        (false, true) => String::new(),
        (false, false) => format!(" --dir {target}"),
    };
    let mut line = format!("treering {verb}{}{dir}", beginning.workload);
    let mut parameters = beginning.parameters.iter().peekable();
    if searches {
        let is_own = |one: &&(String, String)| !is_operand(&one.0);
        line = search_line(std::iter::from_fn(|| parameters.next_if(is_own)), &dir);
    }
    let settings = Settings::default();
    let is_command = |name: &str| {
        specs.iter().any(|spec| spec.name == name && matches!(spec.value, ValueKind::Words))
    };
    for (name, value) in parameters {
        if is_command(name) {
            // The command is already quoted, and comes last.
            line += &format!(" -- {value}");
            continue;
        }
        if is_operand(name) {
            line += &format!(" {}", quoted(value));
            continue;
        }
        // An option given several times is numbered; options from a job file are in the file.
        let name = match name.split_once('.') {
            Some((file, _)) if is_operand(file) => continue,
            Some((option, _)) => option,
            None => name,
        };
        let is_default = settings.text_or_default(specs, name) == Some(value);
        match value.as_str() {
            "false" => {}
            "true" => line += &format!(" --{name}"),
            _ if is_default => {}
            _ => line += &format!(" --{name} {}", quoted(value)),
        }
    }
    plain_names(&line)
}

/// Command line of a load search up to its own options, which precede those of the load.
fn search_line<'p>(own: impl Iterator<Item = &'p (String, String)>, dir: &str) -> String {
    let own_options: Vec<String> =
        own.map(|(name, value)| format!("--{name} {} ", quoted(value))).collect();
    format!("treering {LOAD} {}{FIO}{dir}", own_options.concat())
}

/// Command line of the trial; `None` for an imported log that lacks the job or the directory.
pub fn known_command_line(trial: &Trial, workloads: &[&'static dyn Workload]) -> Option<String> {
    if let Some(logged) = trial.fact(IMPORT_COMMAND_FACT) {
        let words = logged.split_whitespace().map(quoted).collect::<Vec<_>>();
        return Some(format!("treering {}", words.join(" ")));
    }
    if trial.fact(IMPORT_FACT).is_some() && !has_known_options(trial, workloads) {
        return None;
    }
    let line = command_line(trial, workloads);
    let (target, tool) = (&trial.beginning.target, &trial.beginning.workload);
    let lacks_place = target.is_empty() && line.contains(&quoted(""));
    let is_unknown = lacks_place || line == format!("treering {tool}");
    (trial.fact(IMPORT_FACT).is_none() || !is_unknown).then_some(line)
}

/// True if the tool accepts all parameters of an imported trial as options. Importers take
/// parameters from a log, which may name things that are no options.
fn has_known_options(trial: &Trial, workloads: &[&'static dyn Workload]) -> bool {
    let beginning = &trial.beginning;
    let Some(workload) = workload_named(workloads, &beginning.workload) else { return false };
    let specs = match beginning.mode {
        RunMode::Classic => workload.manifest().classic,
        RunMode::Native => workload.manifest().native,
    };
    beginning.parameters.iter().all(|(name, _)| specs.iter().any(|spec| spec.name == name))
}
