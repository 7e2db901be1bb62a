//! Classic command lines beyond the declared options: abbreviations as the original reads them,
//! words that it ignores, and a subcommand.
//!
//! Each workload declares its own options.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args, Command};
use treering_dbench::generate::BLOCKS_MAX;
use treering_script::{OptionSpec, Workload};

use super::quantities::whole;

/// Options of `treering dbench generate`.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// The seed that decides the order of operations, their sizes and places.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of blocks of about 3550 operations; the original's load has 129.
    #[arg(long, value_name = "N", default_value_t = 129,
        value_parser = whole::<u32>(1..=BLOCKS_MAX))]
    pub(crate) blocks: u32,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Name of the workload whose load files can be generated. The original ignores words after the
/// number of processes.
const DBENCH: &str = "dbench";
/// Name of the workload whose original ignores words that belong to no option.
const COMPILEBENCH: &str = "compilebench";

/// Adds the subcommands and ignored words that a tool accepts besides its options.
pub(super) fn with_more(command: Command, tool: &str) -> Command {
    match tool {
        DBENCH => with_ignored_words(with_generate(command)),
        COMPILEBENCH => with_ignored_words(command),
        _ => command,
    }
}

fn with_generate(command: Command) -> Command {
    let generate = GenerateArgs::augment_args(Command::new("generate"))
        .about("Write a load file with the mix of the original's, under names of its own")
        .long_about(None);
    command
        .subcommand(generate)
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
}

fn with_ignored_words(command: Command) -> Command {
    let words = Arg::new("ignored words")
        .num_args(0..)
        .action(ArgAction::Append)
        .value_parser(clap::value_parser!(OsString))
        .hide(true);
    command.arg(words)
}

/// Expands abbreviated names of the tool's options. An abbreviation means the tool's option even if
/// an option of treering begins in the same way.
pub(super) fn in_full(specs: &[OptionSpec], words: Vec<String>) -> Vec<String> {
    let mut are_options = true;
    let words = words.into_iter().map(|word| {
        are_options &= word != "--";
        match word.strip_prefix("--").filter(|rest| are_options && !rest.is_empty()) {
            Some(rest) => full(specs, rest).unwrap_or(word),
            None => word,
        }
    });
    words.collect()
}

/// Option that a word without its dashes abbreviates, if there is exactly one.
fn full(specs: &[OptionSpec], word: &str) -> Option<String> {
    let end = word.find('=').unwrap_or(word.len());
    let (name, value) = word.split_at(end);
    // A full name may be the beginning of another option's name.
    if specs.iter().any(|spec| spec.name == name) {
        return None;
    }
    let mut meant = specs.iter().filter(|spec| spec.name.starts_with(name));
    match (meant.next(), meant.next()) {
        (Some(only), None) => Some(format!("--{}{value}", only.name)),
        _ => None,
    }
}

/// Name of the workload, if treering was called by that name.
pub(super) fn link(typed: &[OsString]) -> Option<&'static str> {
    let name = Path::new(typed.first()?).file_name()?.to_str()?;
    named(name).map(|workload| workload.manifest().name)
}

/// The workload with this name, if it imitates a tool.
pub(super) fn named(name: &str) -> Option<&'static dyn Workload> {
    treering_registry::workloads().iter().copied().find(|workload| {
        let manifest = workload.manifest();
        manifest.has_classic() && (manifest.name == name || manifest.aliases.contains(&name))
    })
}

/// Words of the classic command line as they were typed, the tool's name first.
pub(crate) fn classic_words() -> Vec<String> {
    classic_os_words().iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Words of the classic command line, including non-UTF-8 ones.
pub(crate) fn classic_os_words() -> Vec<OsString> {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let skipped = usize::from(link(&typed).is_none());
    typed.into_iter().skip(skipped).collect()
}

/// True if treering was called as this tool: by a link, or with the tool's name as the first word.
pub(crate) fn is_called(typed: &[OsString], tool: &str) -> bool {
    let called = link(typed).or_else(|| typed.get(1)?.to_str()).and_then(named);
    called.is_some_and(|workload| workload.manifest().name == tool)
}

#[cfg(test)]
mod tests {
    use super::in_full;

    fn read(words: &str) -> String {
        let manifest = treering_registry::workloads().iter().map(|workload| workload.manifest());
        let own = manifest.clone().find(|manifest| manifest.name == "compilebench").unwrap();
        let words = words.split(' ').map(str::to_owned).collect();
        in_full(own.classic, words).join(" ")
    }

    #[test]
    fn an_abbreviation_means_the_only_option_of_the_tool_that_begins_so() {
        assert_eq!(read("--no-s --makej x"), "--no-sync --makej x");
        assert_eq!(read("--initial=3 -n"), "--initial-dirs=3 -n");
        // treering's own options, ambiguous abbreviations and operands are unchanged.
        assert_eq!(read("--no-store --dry-r"), "--no-store --dry-r");
        assert_eq!(read("--d 3 -- --no-s"), "--d 3 -- --no-s");
    }
}
