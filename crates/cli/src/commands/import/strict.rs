//! `--strict`: numbers of the outputs that were not stored, with their lines.

use std::process::ExitCode;

use treering_model::counted;
use treering_registry::{ImportFile, ImportReader, LostNumber};

use crate::classic_output::say;

/// Maximum number of lines that are each named; more are counted.
const NAMED_MAX: usize = 20;
/// Exit code if a number was not stored.
const LOST: u8 = 1;

/// Numbers that were not stored.
#[derive(Default)]
pub(super) struct StrictCheck {
    /// A message for each line.
    lines: Vec<String>,
}

impl StrictCheck {
    /// Adds numbers that an import of a file lost, in the order of its lines.
    pub(super) fn add(&mut self, file: &str, lost: Vec<LostNumber>) {
        self.lines.extend(lost.chunk_by(|one, other| one.line == other.line).map(|of_line| {
            let numbers: Vec<&str> = of_line.iter().map(|lost| lost.number.as_str()).collect();
            let LostNumber { line, text, .. } = &of_line[0];
            format!("{file}:{line}: not stored: {}: {text}", numbers.join(", "))
        }));
    }

    /// Adds a file without an output, and the numbers of outputs that became no trial.
    pub(super) fn add_empty(&mut self, file: &ImportFile, reader: &mut ImportReader<'_>) {
        if file.scan.outlines.is_empty() && file.scan.empty.is_empty() {
            self.lines.push(format!("{}: no known output", file.name));
        }
        for empty in &file.scan.empty {
            self.add(&file.name, reader.numbers_of_empty(empty));
        }
    }

    /// Prints the lines, and returns the exit code.
    pub(super) fn conclude(&self, is_full: bool) -> ExitCode {
        let shown = if is_full { self.lines.len() } else { NAMED_MAX };
        self.lines.iter().take(shown).for_each(|line| say(&format!("treering: {line}")));
        if let Some(more) = self.lines.len().checked_sub(shown).filter(|more| *more > 0) {
            say(&format!("treering: and {}", counted(more, "more line")));
            say("  hint: --full names all of them");
        }
        if self.lines.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(LOST) }
    }
}
