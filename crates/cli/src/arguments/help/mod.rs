//! Lists of the verbs in groups for `-h` and `--help`: the most used ones first.

pub(super) mod next_step;

use clap::{Arg, Command};

/// Template of the top-level help: the groups come before the options.
pub(super) const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n\
                                   {before-help}Options:\n{options}{after-help}";
/// Width of the help's lines.
const WIDTH: usize = 100;
/// Width of the column of names.
const NAMES: usize = 15;

/// Group of verbs.
struct VerbGroup {
    title: &'static str,
    verbs: &'static [&'static str],
}

/// Most used verbs, which `-h` describes.
const DAILY: VerbGroup = VerbGroup {
    title: "Every day",
    verbs: &["doctor", "compare", "run", "age", "report", "history"],
};

const GROUPS: [VerbGroup; 4] = [
    VerbGroup {
        title: "Trials",
        verbs: &[
            "list", "show", "label", "exclude", "include", "delete", "import", "export", "store",
        ],
    },
    VerbGroup { title: "Questions", verbs: &["plan", "load", "watch", "kernel", "io500"] },
    VerbGroup { title: "Causes", verbs: &["layout", "trace", "image", "dataset"] },
    VerbGroup { title: "This machine", verbs: &["lab", "links", "completions", "man", "help"] },
];

/// Options of long commands that `-h` lists; `--help` lists all.
const SHORT_OPTIONS: [(&str, &str); 2] = [
    (
        "compare",
        "list filesystems directories workload kernels device erase mount rounds minutes trace \
         layout dry_run resume quiet gate output full help",
    ),
    ("age", "profile until live measure_every history trace label dry_run save resume quiet help"),
];

/// Heading of the options that every run has.
pub(super) const EVERY_RUN: &str = "Options of every run";
/// Options of every run that `treering run WORKLOAD -h` lists; `--help` lists all.
const SHORT_RUN_OPTIONS: &str = "dir keep layout trace quiet";
/// Most options whose whole texts `-h` prints: with more, each gets a line.
const WHOLE_TEXTS_MAX: usize = 10;
/// Width of an option's text in `-h`, beside the longest names.
const SHORT_TEXT: usize = 66;
/// Length of a clause that says something, in bytes; `With --check` alone does not.
const SHORTEST_CLAUSE: usize = 24;
/// Beginnings of what a clause can do without.
const CLAUSE_ENDS: [&str; 10] = [
    ". ",
    "; ",
    ": ",
    ", such as ",
    ", which ",
    ", given ",
    ", in place ",
    ", where ",
    ", whether ",
    ", by ",
];
/// Most examples in a `-h` whose options have a line each.
const EXAMPLES_MAX: usize = 4;

/// The command with a `-h` of one screen for the verbs that have many options.
pub(super) fn with_short_options(mut command: Command) -> Command {
    for (verb, options) in SHORT_OPTIONS {
        command = command.mut_subcommand(verb, |verb| {
            verb.mut_args(|arg| {
                let is_hidden = arg.get_long().is_some() && !is_listed(&arg, options);
                if is_hidden { arg.hide_short_help(true) } else { arg }
            })
        });
    }
    command.mut_subcommands(shortened)
}

fn is_listed(arg: &Arg, options: &str) -> bool {
    let id = arg.get_id().as_str().replace('-', "_");
    options.split(' ').any(|option| id == option)
}

/// The command with a line of `-h` for each option, if it has many; its subcommands likewise.
fn shortened(command: Command) -> Command {
    let command = command.mut_subcommands(shortened).mut_args(|arg| {
        let is_of_every_run = arg.get_help_heading() == Some(EVERY_RUN);
        let is_hidden = is_of_every_run && !is_listed(&arg, SHORT_RUN_OPTIONS);
        if is_hidden { arg.hide_short_help(true) } else { arg }
    });
    if command.get_arguments().count() <= WHOLE_TEXTS_MAX {
        return command;
    }
    let whole = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let examples = first_examples(&whole);
    command.mut_args(with_short_text).after_help(examples).after_long_help(whole)
}

/// The option with the first clauses of its text in `-h`, and the whole text in `--help`.
fn with_short_text(arg: Arg) -> Arg {
    let Some(whole) = arg.get_help().map(ToString::to_string) else { return arg };
    let short = first_clauses(&whole);
    if short.len() == whole.len() || arg.get_long_help().is_some() {
        return arg.help(short);
    }
    arg.help(short).long_help(whole)
}

/// Beginning of a text up to the end of a clause that needs no more words: the longest one that
/// fits into a line of `-h`, or the shortest one of all. Defaults are left to `--help`.
fn first_clauses(text: &str) -> String {
    let text = text.split(" [").next().unwrap_or(text);
    let ends = CLAUSE_ENDS.into_iter().flat_map(|mark| text.match_indices(mark));
    let mut clauses: Vec<&str> = ends.filter_map(|(end, _)| text.get(..end)).collect();
    clauses.retain(|clause| clause.len() >= SHORTEST_CLAUSE);
    clauses.push(text);
    clauses.sort_by_key(|clause| clause.len());
    let longest = clauses.iter().rfind(|clause| clause.chars().count() <= SHORT_TEXT);
    longest.or(clauses.first()).map_or_else(String::new, |clause| (*clause).to_owned())
}

/// Examples among the lines below the options, at most `EXAMPLES_MAX`.
fn first_examples(text: &str) -> String {
    let examples =
        text.lines().filter(|line| line.starts_with("  treering") && !line.ends_with('\\'));
    examples.take(EXAMPLES_MAX).collect::<Vec<_>>().join("\n")
}

/// The command with its verbs in the order of the help, which completion keeps: the daily ones
/// first, the old names last.
pub(super) fn in_order(command: Command, old: &[&str]) -> Command {
    let groups = std::iter::once(&DAILY).chain(&GROUPS);
    let verbs = groups.flat_map(|group| group.verbs.iter()).chain(old);
    // A verb that is changed becomes the last one.
    verbs.fold(command, |command, verb| match command.find_subcommand(verb) {
        Some(_) => command.mut_subcommand(verb, |verb| verb),
        None => command,
    })
}

/// Title of the group of imitated tools, which the workloads register.
const OLD_NAMES: &str = "Old names";

/// Help of one screen: descriptions of the most used verbs, and the names of all others.
pub(super) fn short(command: &Command, old: &[&str]) -> String {
    let mut text = described(&DAILY, command);
    text += "\n";
    for group in &GROUPS {
        text += &in_columns(group.title, &group.verbs.join(", "));
    }
    text += &in_columns(OLD_NAMES, &old.join(", "));
    text
}

/// Help with a description of every verb.
pub(super) fn long(command: &Command, old: &[&str]) -> String {
    let mut texts: Vec<String> = vec![described(&DAILY, command)];
    texts.extend(GROUPS.iter().map(|group| described(group, command)));
    let old = old.join(", ");
    texts
        .push(format!("{OLD_NAMES}, with the options and the output of the originals:\n  {old}\n"));
    texts.join("\n")
}

/// Formats the title of a group, and a line for each of its verbs.
fn described(group: &VerbGroup, command: &Command) -> String {
    let mut text = format!("{}:\n", group.title);
    for verb in group.verbs {
        let about = match *verb {
            "help" => Some("Print the help of a command".to_owned()),
            verb => {
                command.find_subcommand(verb).and_then(Command::get_about).map(ToString::to_string)
            }
        };
        text += &in_columns(&format!("  {verb}"), &about.unwrap_or_default());
    }
    text
}

/// Formats a name in the first column, and its description, wrapped, in the second.
fn in_columns(name: &str, words: &str) -> String {
    let mut text = format!("{name:<NAMES$}");
    let mut column = NAMES;
    for (place, word) in words.split(' ').enumerate() {
        if place > 0 && column + 1 + word.len() > WIDTH {
            text += &format!("\n{:NAMES$}", "");
            column = NAMES;
        } else if place > 0 {
            text += " ";
            column += 1;
        }
        text += word;
        column += word.len();
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Command;

    use super::{DAILY, GROUPS, first_clauses};

    #[test]
    fn every_verb_is_in_one_group_and_old_names_are_in_none() {
        let command = crate::arguments::command(treering_registry::workloads());
        let old = crate::arguments::old_names(treering_registry::workloads());
        let shown: BTreeSet<&str> = command
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(Command::get_name)
            .filter(|name| !old.contains(name))
            .collect();
        let listed: Vec<&str> = DAILY
            .verbs
            .iter()
            .copied()
            .chain(GROUPS.iter().flat_map(|group| group.verbs.iter().copied()))
            .filter(|verb| *verb != "help")
            .collect();
        let distinct: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(listed.len(), distinct.len(), "a verb is in two groups: {listed:?}");
        assert_eq!(distinct, shown);
    }

    #[test]
    fn the_short_help_fits_on_one_screen() {
        let mut command = crate::arguments::command(treering_registry::workloads());
        let help = command.render_help().to_string();
        assert!(help.lines().count() <= 40, "{help}");
        assert!(help.find("doctor") < help.find("label"), "{help}");
        let manual = command.render_long_help().to_string();
        assert!(manual.contains("\n  completions") && manual.contains("Exit codes:"), "{manual}");
    }

    #[test]
    fn the_short_help_of_each_own_verb_fits_on_one_screen() {
        let workloads = treering_registry::workloads();
        let mut command = crate::arguments::command(workloads);
        command.build();
        let old = crate::arguments::old_names(workloads);
        let is_own =
            |verb: &&mut Command| verb.get_name() != "help" && !old.contains(&verb.get_name());
        let own = command.get_subcommands_mut().filter(is_own);
        for verb in own {
            assert_fits(verb);
            verb.get_subcommands_mut().for_each(assert_fits);
        }
    }

    fn assert_fits(command: &mut Command) {
        let help = command.render_help().to_string();
        assert!(help.lines().count() <= 50, "{help}");
    }

    #[test]
    fn a_short_text_ends_with_a_clause_and_fits_where_one_does() {
        let text = "Rounds of a point: in each, every variant runs once [default: 5]";
        assert_eq!(first_clauses(text), "Rounds of a point: in each, every variant runs once");
        let long = format!("{text}, {}", "x".repeat(80));
        assert_eq!(first_clauses(&long), "Rounds of a point: in each, every variant runs once");
        let words = "With --on DEVICE: allow it to be erased, whatever it contains, such as disks";
        assert_eq!(
            first_clauses(words),
            "With --on DEVICE: allow it to be erased, whatever it contains"
        );
        assert_eq!(first_clauses("With --gate: decide"), "With --gate: decide");
    }
}
