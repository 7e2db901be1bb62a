//! Text of `--cmdhelp` and `--enghelp` without an installed original: the keys and engines that are
//! run natively.
//!
//! The texts are those of the table in `docs/workloads/fio-jobfile.md`, so that each is written
//! once.

use crate::language::{Engine, KNOWN};
use thiserror::Error;

const TABLE: &str = include_str!("../shared/fio-jobfile");

/// Row of the help table: keys, description, and default.
struct HelpRow {
    keys: Vec<&'static str>,
    text: String,
    default: String,
}

fn entries() -> impl Iterator<Item = HelpRow> {
    TABLE.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ").collect();
        let [keys, text, rest @ ..] = cells.as_slice() else { return None };
        let keys = keys.split('`').filter(|key| KNOWN.iter().any(|(known, _)| known == key));
        let keys: Vec<&str> = keys.collect();
        let plain = |cell: &str| cell.replace('`', "").trim().to_owned();
        let default = rest.first().map_or(String::new(), |cell| plain(cell));
        (!keys.is_empty()).then(|| HelpRow { keys, text: plain(text), default })
    })
}

/// Error of a help request, in the words of fio.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HelpError {
    /// Unknown option.
    #[error("No such command: {0}\n")]
    NoCommand(String),
    /// Unknown engine.
    #[error("IO engine {0} not found\n")]
    NoEngine(String),
}

/// Answer to a help word of the command line, or the error in its request; `None` for other words.
pub fn native_help(word: &str) -> Option<Result<String, HelpError>> {
    let body = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let (question, about) = body.split_once('=').unwrap_or((body, ""));
    match question {
        "cmdhelp" => Some(of_keys(about)),
        "enghelp" => Some(of_engines(about)),
        _ => None,
    }
}

fn of_keys(about: &str) -> Result<String, HelpError> {
    if matches!(about, "" | "all") {
        let line = |key: &str, text: &str| format!("{key:<24}: {text}\n");
        let rows = entries().flat_map(|entry| {
            let lines = entry.keys.iter().map(|key| line(key, &entry.text));
            lines.collect::<Vec<_>>()
        });
        return Ok(rows.collect());
    }
    let entry_keys = KNOWN.iter().find(|(known, _)| *known == about);
    let Some((_, name)) = entry_keys else {
        return Err(HelpError::NoCommand(about.to_owned()));
    };
    let others = KNOWN.iter().filter(|(other, meant)| meant == name && other != name);
    let aliases: Vec<&str> = others.map(|(other, _)| *other).collect();
    let entry = entries().find(|entry| entry.keys.contains(&about) || entry.keys.contains(name));
    let (text, default) = entry.map_or_else(Default::default, |entry| (entry.text, entry.default));
    let mut help = format!("{name:>20}: {text}\n");
    if !aliases.is_empty() {
        help.push_str(&format!("{:>20}: {}\n", "alias", aliases.join(", ")));
    }
    let default = if default.is_empty() { "no default" } else { &default };
    help.push_str(&format!("{:>20}: {default}\n", "default"));
    Ok(help)
}

fn of_engines(about: &str) -> Result<String, HelpError> {
    if about.is_empty() {
        let names = Engine::NAMES.iter().map(|(name, _)| format!("\t{name}\n"));
        return Ok(format!("Available IO engines:\n{}", names.collect::<String>()));
    }
    let (engine, key) = about.split_once(',').unwrap_or((about, ""));
    let Some((name, engine)) = Engine::NAMES.iter().find(|(name, _)| *name == engine) else {
        return Err(HelpError::NoEngine(engine.to_owned()));
    };
    if !key.is_empty() {
        return of_keys(key);
    }
    let keys: Vec<&str> = engine.keys().collect();
    if keys.is_empty() {
        return Ok(format!("IO engine {name} has no options\n"));
    }
    let text = |key: &&str| {
        let entry = entries().find(|entry| entry.keys.contains(key));
        entry.map_or_else(String::new, |entry| entry.text)
    };
    let lines: Vec<String> = keys.iter().map(|key| format!("{key:<24}: {}\n", text(key))).collect();
    Ok(lines.concat())
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, entries, native_help};

    #[test]
    fn every_supported_key_is_in_the_documented_table() {
        let reported: Vec<&str> = entries().flat_map(|entry| entry.keys).collect();
        let missing: Vec<&str> =
            KNOWN.iter().map(|(key, _)| *key).filter(|key| !reported.contains(key)).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn help_is_printed_for_known_names_and_refused_for_unknown_ones() {
        let answer = |word| native_help(word).unwrap().unwrap();
        assert!(answer("--cmdhelp").contains("\nnumjobs "));
        assert!(
            answer("-cmdhelp=blocksize").starts_with("                  bs: sizes of requests")
        );
        assert!(answer("--cmdhelp=bs").contains("alias: blocksize"));
        assert!(answer("--enghelp").starts_with("Available IO engines:\n\tpsync\n"));
        assert!(answer("--enghelp=libaio").contains("userspace_reap"));
        assert_eq!(answer("--enghelp=psync"), "IO engine psync has no options\n");
        assert!(native_help("--cmdhelp=x").unwrap().is_err());
        assert!(native_help("--enghelp=x").unwrap().is_err());
        assert!(native_help("--rw=read").is_none());
    }
}
