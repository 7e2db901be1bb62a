//! Writes pages to a terminal, a pipe or a file, in the requested format.

use std::io::{self, BufWriter, IsTerminal, Write};

use treering_model::nearest::nearest;
use treering_report::formats::plain::{MAIL, Plain};
use treering_report::formats::terminal::Terminal;
use treering_report::formats::{self, Format};
use treering_report::{Data, Report, write_data};
use treering_sys::write_whole_file;

use crate::arguments::OutputArgs;
use crate::colour;
use crate::failure::{Failure, Kind, output_failed};

/// Line width, in columns, of output to a pipe or a file.
const PIPE_WIDTH: usize = 100;

/// Writes a page as the user asked.
pub(crate) fn write(report: &Report, args: &OutputArgs) -> Result<(), Failure> {
    let to_terminal = args.output.is_none() && io::stdout().is_terminal();
    let width = args.width.map(usize::from);
    let mut terminal = terminal();
    terminal.width = width.unwrap_or(terminal.width);
    let mail = Plain { width: width.unwrap_or(MAIL.width) };
    let pipe = Plain { width: width.unwrap_or(PIPE_WIDTH) };
    let format: &dyn Format = match args.format() {
        None if to_terminal || colour::is_forced() => &terminal,
        None => &pipe,
        Some("terminal") => &terminal,
        Some("plain") => &mail,
        Some(name) => format_named(name)?,
    };
    with_writer(args.output.as_deref(), |out| format.render(report, out))
}

/// Rejects an unknown format before the work for a page begins.
pub(crate) fn check_format(args: &OutputArgs) -> Result<(), Failure> {
    match args.format() {
        None | Some("json" | "terminal" | "plain") => Ok(()),
        Some(name) => format_named(name).map(|_| ()),
    }
}

fn format_named(name: &str) -> Result<&'static dyn Format, Failure> {
    formats::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = formats::ALL.iter().map(|format| format.name()).collect();
        unknown_format(name, &names)
    })
}

/// Failure of a format that is none of these.
pub(super) fn unknown_format(name: &str, known: &[&str]) -> Failure {
    let message = format!("--format: '{name}' is not one of: {}", known.join(", "));
    let meant = nearest(name, known.iter().copied());
    Failure::usage(message).maybe_hint(meant.map(|meant| format!("did you mean `{meant}`?")))
}

/// Writes a page, or its data if JSON is requested.
pub(crate) fn write_or_data<D: Data>(
    page: &Report,
    data: &D,
    args: &OutputArgs,
) -> Result<(), Failure> {
    if args.format() != Some("json") {
        return write(page, args);
    }
    with_writer(args.output.as_deref(), |out| write_data(data, out))
}

/// True if the format has pictures (`html`).
pub(crate) fn is_html(format: Option<&str>) -> bool {
    format == Some("html")
}

/// Calls the function with a buffered writer to standard output, or to a file that appears only
/// when complete. A closed pipe is not an error.
pub(crate) fn with_writer(
    path: Option<&std::path::Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let Some(path) = path else {
        let mut out = BufWriter::new(io::stdout().lock());
        return write(&mut out).and_then(|()| out.flush()).or_else(|error| output_failed(&error));
    };
    let written = write_whole_file(path, |file| {
        let mut out = BufWriter::new(file);
        write(&mut out).and_then(|()| out.flush())
    });
    written
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}

/// Properties of the terminal: its width, and whether output is colored.
fn terminal() -> Terminal {
    let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
    Terminal { width, colour: colour::is_wanted(io::stdout().is_terminal()) }
}

/// Writes a page on standard error when standard output carries other data.
pub(crate) fn write_to_stderr(report: &Report) -> Result<(), Failure> {
    let Some(plain) = formats::by_name("plain") else { return Ok(()) };
    let mut text = Vec::new();
    plain.render(report, &mut text).map_err(|error| Failure::new(Kind::Bug, error.to_string()))?;
    let _nobody_listens = io::stderr().write_all(&text);
    Ok(())
}
