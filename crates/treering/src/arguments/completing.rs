//! What completion offers as the values of options, beyond the words that clap itself knows: one
//! table by the names of the command and the option.
//!
//! Where the values come from is in `completion`.

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::ArgValueCandidates;

use crate::completion::{
    Candidates, campaigns, caution_codes, comparison_formats, datasets, export_forms, filesystems,
    labels, page_formats, personalities, plans, trials, workloads,
};

/// The command with candidates for its options, and for those of the commands below it.
pub(crate) fn with_candidates(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|arg| {
            let known = candidates(&name, &arg);
            match known {
                Some(known) => arg.add(ArgValueCandidates::new(known)),
                None if is_path(&arg) => arg.value_hint(ValueHint::AnyPath),
                None => arg,
            }
        })
        .mut_subcommands(with_candidates)
}

/// Paths are text where the imitated tools have them.
fn is_path(arg: &Arg) -> bool {
    let is_named_so = |name: &str| matches!(name, "PATH" | "FILE" | "DIR" | "DEVICE");
    let names = arg.get_value_names().unwrap_or_default();
    arg.get_value_hint() == ValueHint::Unknown && names.iter().any(|name| is_named_so(name))
}

fn candidates(command: &str, arg: &Arg) -> Option<Candidates> {
    let is_option = arg.get_long().is_some();
    let candidates: Candidates = match (command, arg.get_id().as_str()) {
        ("show", "trial") | (_, "trials") => trials,
        ("show", "name") | ("compilebench", "dataset") => datasets,
        ("filebench", "workload" | "file") => personalities,
        (_, "workload") => workloads,
        ("report", "baseline" | "contender") | (_, "label") => labels,
        ("report", "campaign") => campaigns,
        (_, "plan") if is_option => plans,
        ("export", "format") => export_forms,
        ("compare" | "report", "format") => comparison_formats,
        (_, "format") => page_formats,
        (_, "accept") => caution_codes,
        (_, "filesystems") => filesystems,
        ("completions", "names") => workloads,
        _ => return None,
    };
    Some(candidates)
}
