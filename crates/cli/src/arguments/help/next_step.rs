//! Tips in the error messages of the command line: the words that would be right. Not here: exit
//! codes, which the parser of arguments chooses.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use treering_model::filesystems::by_name;
use treering_model::nearest::nearest;
use treering_model::quoted;

/// Maximum number of verbs that an error lists.
const VERBS_SHOWN: usize = 8;

/// The error with its next step: the options that take words typed without one, or the verb of
/// nearly the same name. Suggestions of the parser that are less alike are left out, and the advice
/// to pass a misspelt option as a value.
pub(in crate::arguments) fn with_next_step(
    mut refused: clap::Error,
    typed: &[OsString],
    command: &Command,
) -> clap::Error {
    let words: Option<Vec<&str>> = typed.iter().skip(1).map(|word| word.to_str()).collect();
    let words = words.unwrap_or_default();
    if let Some(tip) = tip(&refused, &words, command) {
        refused.remove(ContextKind::Usage);
        refused.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return refused;
    }
    match refused.kind() {
        ErrorKind::UnknownArgument => without_value(&mut refused, &verb(&words, command)),
        ErrorKind::InvalidSubcommand => nearest_verb(&mut refused, &verb(&words, command)),
        _ => {}
    }
    refused
}

/// Removes the advice to pass the option as a value where another option is meant, or the verb
/// takes no other program's options; and a usage line that requires the option that is meant.
fn without_value(refused: &mut clap::Error, verb: &[&Command]) {
    let is_meant = refused.get(ContextKind::SuggestedArg).is_some();
    if is_meant {
        refused.remove(ContextKind::Usage);
    }
    let takes_words = |argument: &Arg| argument.is_trailing_var_arg_set() || argument.is_last_set();
    let passes_words = verb.last().is_some_and(|verb| verb.get_positionals().any(takes_words));
    let Some(ContextValue::StyledStrs(tips)) = refused.remove(ContextKind::Suggested) else {
        return;
    };
    let is_right =
        |tip: &StyledStr| (passes_words && !is_meant) || !tip.to_string().starts_with("to pass");
    let tips: Vec<StyledStr> = tips.into_iter().filter(is_right).collect();
    if !tips.is_empty() {
        refused.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

/// Suggests the nearest verb alone, since the parser suggests verbs in the order of their
/// declaration; where none is near, all of a short list.
fn nearest_verb(refused: &mut clap::Error, above: &[&Command]) {
    let (Some(ContextValue::String(typed)), Some(above)) =
        (refused.get(ContextKind::InvalidSubcommand), above.last())
    else {
        return;
    };
    let shown = || above.get_subcommands().filter(|verb| !verb.is_hide_set());
    let names: Vec<&str> = shown().map(Command::get_name).collect();
    let nearest = nearest(typed, names.iter().copied()).map(str::to_owned);
    let is_short = names.len() <= VERBS_SHOWN;
    let tip = is_short.then(|| format!("there are: {}", names.join(", ")));
    match (nearest, tip) {
        (Some(nearest), _) => {
            let nearest = ContextValue::Strings(vec![nearest]);
            refused.insert(ContextKind::SuggestedSubcommand, nearest);
        }
        (None, Some(tip)) => {
            refused.remove(ContextKind::SuggestedSubcommand);
            refused.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
        (None, None) => {}
    }
}

/// The program and the verbs that the words begin with.
fn verb<'c>(words: &[&str], command: &'c Command) -> Vec<&'c Command> {
    let mut path = vec![command];
    for word in words {
        let Some(next) = path.last().and_then(|verb| verb.find_subcommand(word)) else { break };
        path.push(next);
    }
    path
}

/// Tip about words that stand where none is expected.
fn tip(refused: &clap::Error, words: &[&str], command: &Command) -> Option<String> {
    match (refused.kind(), refused.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(unknown))) => {
            of_directory(words, unknown)
                .or_else(|| of_names(words))
                .or_else(|| option_before_verb(words, command))
                .or_else(|| without_option(words, unknown, command))
                .or_else(|| show_in_place_of_list(words, unknown, command))
        }
        (ErrorKind::ArgumentConflict, _) => {
            directories_apart(words).or_else(|| misspelt_verb(words, command))
        }
        _ => None,
    }
}

/// Tip for an option before a word that stands without one: a directory, or a workload.
fn without_option(words: &[&str], unknown: &str, command: &Command) -> Option<String> {
    let path = verb(words, command);
    let names: Vec<&str> = path.iter().skip(1).map(|verb| verb.get_name()).collect();
    let stands = match unknown {
        "--dir" | "--directory" if names == ["compare"] => {
            "directories to compare go with --directories DIR,DIR"
        }
        "--dir" | "--directory" => {
            let takes = |argument: &&Arg| !argument.is_trailing_var_arg_set();
            path.last()?.get_positionals().find(takes)?;
            "the directory stands without an option: treering VERB DIR"
        }
        "--workload" => {
            path.last()?.find_subcommand("fs_mark")?;
            "the workload stands without an option: treering VERB WORKLOAD"
        }
        _ => return None,
    };
    Some(stands.replace("VERB", &names.join(" ")))
}

/// Tip for directories of a comparison that are separated by spaces.
fn directories_apart(words: &[&str]) -> Option<String> {
    let (_, after) = words.split_at(words.iter().position(|word| *word == "--directories")? + 1);
    let names: Vec<&str> =
        after.iter().copied().take_while(|word| !word.starts_with('-')).collect();
    let is_apart = names.len() > 1;
    is_apart.then(|| {
        format!("directories are separated by commas: --directories {}", quoted(&names.join(",")))
    })
}

/// Tip for a name after `list`, which `show` takes.
fn show_in_place_of_list(words: &[&str], unknown: &str, command: &Command) -> Option<String> {
    let path = verb(words, command);
    let [.., above, list] = path.as_slice() else { return None };
    let is_name = list.get_name() == "list" && !unknown.starts_with('-');
    above.find_subcommand("show").filter(|_| is_name)?;
    let above = path[1..path.len() - 1].iter().map(|verb| verb.get_name());
    let words: Vec<&str> = above.chain(["show"]).collect();
    Some(format!("did you mean `treering {} {}`?", words.join(" "), quoted(unknown)))
}

/// Tip for a directory without its option.
fn of_directory(words: &[&str], unknown: &str) -> Option<String> {
    let option = match *words.first()? {
        "run" => "--dir DIR",
        "compare" => "--directories DIR,DIR",
        _ => return None,
    };
    let is_directory = Path::new(unknown).is_dir();
    is_directory.then(|| format!("{} is a directory, which goes with {option}", quoted(unknown)))
}

/// Tip for filesystems, and for two labels, without their options.
fn of_names(words: &[&str]) -> Option<String> {
    let (verb, names) = words.split_first()?;
    match (*verb, names) {
        ("compare", names) if names.iter().all(|name| by_name(name).is_some()) => {
            Some(format!("filesystems go with --filesystems {}", names.join(",")))
        }
        ("report", [old, new]) if ![old, new].iter().any(|name| name.starts_with('-')) => {
            let [old, new] = [old, new].map(|name| quoted(name));
            Some(format!("labels go with --baseline {old} --contender {new}"))
        }
        _ => None,
    }
}

/// Tip for a verb below another that was taken for the argument of that one.
fn misspelt_verb(words: &[&str], command: &Command) -> Option<String> {
    let [verb, typed, ..] = words else { return None };
    let below = command.find_subcommand(verb)?.get_subcommands().map(Command::get_name);
    let nearest = nearest(typed, below)?;
    Some(format!("did you mean `treering {verb} {nearest}`?"))
}

/// Tip for a command line whose options stand before the verb: the same words in their order.
fn option_before_verb(words: &[&str], command: &Command) -> Option<String> {
    let is_verb = |word: &&str| command.find_subcommand(word).is_some();
    let place = words.iter().position(is_verb).filter(|_| words[0].starts_with('-'))?;
    let (options, tail) = (&words[..place], &words[place..]);
    let right: Vec<String> = tail.iter().chain(options).map(|word| quoted(word)).collect();
    Some(format!("options stand after the verb: treering {}", right.join(" ")))
}
