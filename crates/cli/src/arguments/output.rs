//! Options for the destination and the format of a page.

use std::path::{Path, PathBuf};

use clap::Args;

use super::width;

/// Output options of a page.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OutputArgs {
    /// The format: terminal, plain, markdown, html, csv or json [default: that of the name of
    /// --output, such as page.html; else terminal; plain in a pipe].
    #[arg(long)]
    pub(crate) format: Option<String>,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Width of text output in columns [default: that of the terminal; 100 in a pipe; 72 with
    /// --format plain].
    #[arg(long, value_name = "COLUMNS", value_parser = width())]
    pub(crate) width: Option<u16>,
}

impl OutputArgs {
    /// Requested format, by its name or by the name of the output file.
    pub(crate) fn format(&self) -> Option<&str> {
        self.format.as_deref().or_else(|| format_of(self.output.as_deref()))
    }
}

/// Format that the extension of a file name stands for.
pub(crate) fn format_of(output: Option<&Path>) -> Option<&'static str> {
    match output?.extension()?.to_str()? {
        "html" | "htm" => Some("html"),
        "json" => Some("json"),
        "csv" => Some("csv"),
        "md" | "markdown" => Some("markdown"),
        _ => None,
    }
}
