//! Command lines of `treering completions` and `man`, and the completion candidates for the values
//! of options: one table by the names of the command and the option.
//!
//! The candidates themselves are listed in `completion`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;
use clap_complete::engine::ArgValueCandidates;
use treering_script::Workload;

use super::{classic_command, command, link, named};
use crate::completion::{
    Candidates, campaigns, caution_codes, comparison_formats, datasets, export_forms, filesystems,
    labels, metrics, metrics_of_workload, page_formats, personalities, plans, profiles,
    shipped_plans, trials, workloads,
};

#[derive(Debug, Args)]
#[command(after_help = AFTER_COMPLETIONS)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: Shell,
    /// Complete these classic tools instead, called through links to treering.
    #[arg(value_name = "TOOL", value_parser = tools())]
    pub(crate) names: Vec<String>,
}

const AFTER_COMPLETIONS: &str = "\
The script asks the treering in PATH for completions, so it knows data sets, labels, plans
and trials:
  source <(treering completions bash)
  source <(treering completions bash fs_mark compilebench)";

/// The names of the imitated tools.
fn tools() -> PossibleValuesParser {
    treering_registry::workloads()
        .iter()
        .map(|workload| workload.manifest())
        .filter(|manifest| manifest.has_classic())
        .map(|manifest| manifest.name)
        .collect::<Vec<_>>()
        .into()
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory; it must exist.
    pub(crate) dir: PathBuf,
    /// Also write pages for the names of the classic tools.
    #[arg(long)]
    pub(crate) links: bool,
}

/// Command line of an imitated tool under its own name.
pub(crate) fn as_link(workload: &'static dyn Workload) -> Command {
    let name = workload.manifest().name;
    classic_command(workload).bin_name(name).display_name(name)
}

/// Command line that begins with this word, with completion candidates for its options.
pub(crate) fn to_complete(program: &OsString) -> Command {
    let tool = link(std::slice::from_ref(program)).and_then(named);
    let command = match tool {
        Some(workload) => as_link(workload),
        None => command(treering_registry::workloads()),
    };
    with_candidates(command, "")
}

/// The command with candidates for its options, and for those of the commands below it.
fn with_candidates(command: Command, above: &str) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|arg| {
            let known = candidates(above, &name, &arg);
            match known {
                Some(known) => arg.add(ArgValueCandidates::new(known)),
                None if is_path(&arg) => arg.value_hint(ValueHint::AnyPath),
                None => arg,
            }
        })
        .mut_subcommands(|below| with_candidates(below, &name))
}

/// True for an option that takes a path. Imitated tools have paths as plain text.
fn is_path(arg: &Arg) -> bool {
    let is_named_so = |name: &str| matches!(name, "PATH" | "FILE" | "DIR" | "DEVICE");
    let names = arg.get_value_names().unwrap_or_default();
    arg.get_value_hint() == ValueHint::Unknown && names.iter().any(|name| is_named_so(name))
}

fn candidates(above: &str, command: &str, arg: &Arg) -> Option<Candidates> {
    let is_option = arg.get_long().is_some();
    let candidates: Candidates = match (command, arg.get_id().as_str()) {
        ("show", "trial") | (_, "trials") => trials,
        ("show", "name") if above == "plan" => shipped_plans,
        ("show", "name") if above == "age" => profiles,
        ("show", "name") if above == "dataset" => datasets,
        ("compilebench", "dataset") => datasets,
        ("filebench", "workload" | "file") => personalities,
        (_, "workload") => workloads,
        ("report", "baseline" | "contender") | (_, "label") => labels,
        ("report", "campaign") => campaigns,
        (_, "plan") if is_option => plans,
        ("compare" | "doctor", "plan") => shipped_plans,
        ("export", "format") => export_forms,
        ("compare" | "report", "format") => comparison_formats,
        (_, "format") => page_formats,
        (_, "accept") => caution_codes,
        ("compare", "primary") => metrics_of_workload,
        (_, "primary" | "metric") => metrics,
        (_, "profile") => profiles,
        (_, "filesystems") => filesystems,
        ("completions", "names") => workloads,
        _ => return None,
    };
    Some(candidates)
}
