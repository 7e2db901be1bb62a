//! Decides whether output is colored: by the option, else by the terminal and the environment.

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::{Arg, ColorChoice, ValueEnum, value_parser};

use crate::launcher::is_launched;

/// Value of the color option; applies to all output of the process.
static COLOR_CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Declares the option, for every command of treering's own.
pub(crate) fn option() -> Arg {
    Arg::new("color")
        .long("color")
        .value_name("WHEN")
        .value_parser(value_parser!(ColorChoice))
        .hide_possible_values(true)
        .help("Color the output: auto, always or never [default: auto]")
}

/// Reads the option from an unparsed command line, since it applies to the parser's errors, too.
pub(crate) fn remember(typed: &[OsString]) -> ColorChoice {
    *COLOR_CHOICE.get_or_init(|| find(typed).unwrap_or_default())
}

/// True if output to a stream is colored; `is_terminal` says whether the stream is a terminal.
pub(crate) fn is_wanted(is_terminal: bool) -> bool {
    match COLOR_CHOICE.get().copied().unwrap_or_default() {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            is_terminal && !refused && !is_dumb() && !is_launched()
        }
    }
}

/// True if the color option is `always`.
pub(crate) fn is_forced() -> bool {
    COLOR_CHOICE.get() == Some(&ColorChoice::Always)
}

/// True if the terminal can neither color nor move its cursor (`TERM=dumb`).
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb")
}

fn find(typed: &[OsString]) -> Option<ColorChoice> {
    let mut words = typed.iter().map_while(|word| word.to_str().filter(|word| *word != "--"));
    let mut found = None;
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => continue,
        };
        found = value.and_then(|value| ColorChoice::from_str(value, false).ok()).or(found);
    }
    found
}

#[cfg(test)]
mod tests {
    use clap::ColorChoice;

    use super::find;

    #[test]
    fn the_last_choice_before_two_dashes_counts() {
        let read = |words: &str| find(&words.split(' ').map(Into::into).collect::<Vec<_>>());
        assert_eq!(read("treering list"), None);
        assert_eq!(read("treering --color always list --color=never"), Some(ColorChoice::Never));
        assert_eq!(read("treering trace -- ls --color=always"), None);
        assert_eq!(read("treering list --color"), None);
    }
}
