//! Tips in the error messages of the command line: the words that would be right. Not here: exit
//! codes, which the parser of arguments chooses.

use std::ffi::OsString;
use std::path::Path;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use treering_model::nearest::by_nearness;
use treering_model::quoted;

/// The error with its next step: the option that takes the directory typed without one, or the
/// nearest verb alone, since the parser suggests verbs in the order of their declaration.
pub(in crate::arguments) fn with_next_step(
    mut refused: clap::Error,
    typed: &[OsString],
    command: &Command,
) -> clap::Error {
    let option = match typed.get(1).and_then(|verb| verb.to_str()) {
        Some("run") => Some("--dir DIR"),
        Some("compare") => Some("--directories DIR,DIR"),
        _ => None,
    };
    if refused.kind() == ErrorKind::UnknownArgument
        && let Some(option) = option
        && let Some(ContextValue::String(word)) = refused.get(ContextKind::InvalidArg)
        && Path::new(word).is_dir()
    {
        let tip = format!("{} is a directory, which goes with {option}", quoted(word));
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        refused.insert(ContextKind::Suggested, tips);
        return refused;
    }
    if refused.kind() == ErrorKind::UnknownArgument
        && let Some(tip) = option_before_verb(typed, command)
    {
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

/// Tip for a command line whose options stand before the verb: the same words in their order.
fn option_before_verb(typed: &[OsString], command: &Command) -> Option<String> {
    let words: Vec<&str> = typed.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let is_verb = |word: &&str| command.find_subcommand(word).is_some();
    let place = words.iter().position(is_verb).filter(|_| words[0].starts_with('-'))?;
    let (options, tail) = (&words[..place], &words[place..]);
    let right: Vec<String> = tail.iter().chain(options).map(|word| quoted(word)).collect();
    Some(format!("options stand after the verb: treering {}", right.join(" ")))
}
