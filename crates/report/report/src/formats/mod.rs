//! Output formats of a document. A new format is a file here and a line in the list.

pub(crate) mod csv;
pub(crate) mod html;
mod json;
mod markdown;
pub mod plain;
pub mod terminal;

use std::io;

use crate::Report;

/// An output format of documents.
pub trait Format: Sync {
    /// Name that selects the format: `--format plain`.
    fn name(&self) -> &'static str;

    /// Renders the document.
    ///
    /// # Errors
    /// If the writer fails.
    fn render(&self, report: &Report, out: &mut dyn io::Write) -> io::Result<()>;
}

/// All formats, the default first.
pub const ALL: &[&dyn Format] = &[
    &terminal::DEFAULT,  // terminal, the default
    &plain::MAIL,        // for mail
    &markdown::Markdown, // for issues and wikis
    &csv::Csv,           // for spreadsheets
    &json::Json,         // for programs
    &html::Html,         // browsers and printing
];

/// Looks up a format by its name.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|format| format.name() == name)
}

#[cfg(test)]
mod tests {
    use super::{ALL, by_name};

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in ALL {
            assert_eq!(by_name(format.name()).unwrap().name(), format.name());
        }
        assert!(by_name("html5").is_none());
    }
}
