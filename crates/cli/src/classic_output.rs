//! Standard streams of an imitated tool, and lines on standard error.

use std::io::{self, Write};

use treering_conduct::trial::ToolTerminal;
use treering_model::is_unsafe;

use crate::clock::local_time;

/// Standard streams and clock of an imitated tool.
pub(crate) struct StandardStreams {
    out: io::Stdout,
    err: io::Stderr,
}

impl StandardStreams {
    pub(crate) fn new() -> Self {
        Self { out: io::stdout(), err: io::stderr() }
    }
}

impl ToolTerminal for StandardStreams {
    fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    fn err(&mut self) -> &mut dyn Write {
        &mut self.err
    }

    fn local_time(&self) -> String {
        local_time()
    }

    fn wait_for_line(&mut self) {
        // Any line continues, as does the end of the input.
        let _anything = io::stdin().lines().next();
    }
}

/// Prints a line on standard error. Write errors are ignored: a closed stream must not stop a run.
pub(crate) fn say(line: &str) {
    let _nobody_listens = writeln!(io::stderr(), "{}", shown(line));
}

/// Prints a line on standard output. Write errors are ignored: a closed pipe must not stop the
/// command.
pub(crate) fn print_line(line: &str) {
    let _nobody_listens = writeln!(io::stdout(), "{line}");
}

/// Escapes control characters in text that may contain names of others; newline, carriage return,
/// tab and backspace are kept.
pub(crate) fn shown(words: &str) -> String {
    let acts = |sign: char| is_unsafe(sign) && !matches!(sign, '\n' | '\r' | '\t' | '\u{8}');
    let mut shown = String::with_capacity(words.len());
    for sign in words.chars() {
        if acts(sign) {
            shown.extend(sign.escape_default());
        } else {
            shown.push(sign);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn names_in_the_words_of_a_tool_do_not_act_on_a_terminal() {
        assert_eq!(shown("a\tb\r\n"), "a\tb\r\n");
        assert_eq!(shown("\u{1b}]52;c;Zm9v\u{7}\u{9b}1m"), "\\u{1b}]52;c;Zm9v\\u{7}\\u{9b}1m");
    }
}
