//! Tips in the error messages of the command line: the words that would be right. Not here: exit
//! codes, which the parser of arguments chooses.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use treering_model::filesystems::by_name;
use treering_model::nearest::{by_nearness, nearest};
use treering_model::quoted;

/// The error with its next step: the options that take words typed without one, or the nearest
/// verb alone, since the parser suggests verbs in the order of their declaration.
pub(in crate::arguments) fn with_next_step(
    mut refused: clap::Error,
    typed: &[OsString],
    command: &Command,
) -> clap::Error {
    let words: Option<Vec<&str>> = typed.iter().skip(1).map(|word| word.to_str()).collect();
    if let Some(tip) = words.and_then(|words| tip(&refused, &words, command)) {
        refused.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        return refused;
    }
    let context = |kind| refused.get(kind);
    let (Some(ContextValue::String(typed)), Some(ContextValue::Strings(suggested))) =
        (context(ContextKind::InvalidSubcommand), context(ContextKind::SuggestedSubcommand))
    else {
        return refused;
    };
    let nearest = by_nearness(typed, suggested.iter().map(String::as_str));
    let nearest = nearest.first().map(|verb| (*verb).to_owned()).into_iter().collect();
    refused.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(nearest));
    refused
}

/// Tip about words that stand where none is expected.
fn tip(refused: &clap::Error, words: &[&str], command: &Command) -> Option<String> {
    match (refused.kind(), refused.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(unknown))) => {
            of_directory(words, unknown)
                .or_else(|| of_names(words))
                .or_else(|| option_before_verb(words, command))
        }
        (ErrorKind::ArgumentConflict, _) => misspelt_verb(words, command),
        _ => None,
    }
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
