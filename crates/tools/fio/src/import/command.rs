//! Command line above an output, as in the log of a terminal or of a script. It gives options that
//! terse lines lack.

use crate::report::Run;

use treering_kit::import::log::Log;

/// Maximum number of lines into which a command line is broken.
const LINES_MOST: usize = 6;
/// Longest command line, in bytes.
const BYTES_MOST: usize = 4096;
/// Options that concern the output only.
const ASIDE: [&str; 7] =
    ["name", "minimal", "output", "output-format", "terse-version", "eta", "status-interval"];

/// Parsed command line.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CommandLine {
    pub(super) options: Vec<(String, String)>,
    /// Directories and files of the run.
    pub(super) places: Vec<String>,
    /// True if no job file adds to the options.
    pub(super) is_all: bool,
}

impl CommandLine {
    /// Adds options that the output itself does not state.
    pub(super) fn add_options_to(self, run: &mut Run) {
        if run.options.is_empty() {
            run.options = self.options;
            run.has_all_options |= self.is_all;
        }
        if run.places.is_empty() {
            run.places = self.places;
        }
    }
}

/// Command line directly above a line.
pub(super) fn above(log: &Log<'_>, at: usize) -> Option<CommandLine> {
    let mut words: Vec<&str> = Vec::new();
    for line in (at.saturating_sub(LINES_MOST)..at).rev() {
        let text = log.line(line).trim();
        if text.is_empty() || text.len() > BYTES_MOST {
            return None;
        }
        let start = command_start(text);
        let part = start.map_or(text, |start| &text[start..]);
        let mut preceding: Vec<&str> = part.split_whitespace().collect();
        preceding.append(&mut words);
        words = preceding;
        if start.is_some() {
            return Some(read(&words[1..]));
        }
        // A continuation line contains options only.
        if !text.starts_with("--") {
            return None;
        }
    }
    None
}

/// Byte offset of `fio` as a command: first in the line, or behind a prompt.
fn command_start(text: &str) -> Option<usize> {
    let is_command = |at: &usize| {
        let before = &text[..*at];
        let behind = text[at + 3..].starts_with([' ', '\t']);
        let is_first = before.is_empty() || [" ", "/"].iter().any(|end| before.ends_with(end));
        behind && is_first && (before.len() < 3 || before.contains(['$', '#', '%', '/']))
    };
    text.match_indices("fio").map(|(at, _)| at).find(is_command)
}

fn read(words: &[&str]) -> CommandLine {
    let mut command = CommandLine { is_all: true, ..CommandLine::default() };
    for word in words.iter().filter(|word| **word != "\\") {
        let Some(option) = word.strip_prefix("--") else {
            // A job file, or a redirection of the output.
            command.is_all = false;
            continue;
        };
        let (name, value) = option.split_once('=').unwrap_or((option, "1"));
        match name {
            "directory" | "filename" => command.places.push(value.to_owned()),
            name if ASIDE.contains(&name) => {}
            name if name.starts_with("write_") && name.ends_with("_log") => {}
            name => command.options.push((name.to_owned(), value.to_owned())),
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::above;
    use treering_kit::import::log::Log;

    #[test]
    fn the_command_above_an_output_is_read() {
        let read = |text: &str| above(&Log::of_bytes(text.as_bytes(), &[]), text.lines().count());
        let reported = |text: &str| -> Vec<String> {
            let command = read(text).unwrap();
            command.options.iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        let command_line =
            "me@oak:~# ./fio --name=a --rw=read \\\n  --numjobs=4 --group_reporting --minimal";
        assert_eq!(reported(command_line), ["rw=read", "numjobs=4", "group_reporting=1"]);
        assert!(read(command_line).unwrap().is_all);
        let file = read("fio --directory=/m --minimal job.fio").unwrap();
        assert!(!file.is_all);
        assert_eq!(file.places, ["/m"]);
        for text in ["", "fio", "results of fio follow", "fio --rw=read\n\n", "3;fio-3.33;a;0"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
