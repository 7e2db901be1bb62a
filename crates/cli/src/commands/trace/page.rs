//! Output of trace summaries: as a page, as JSON or as a plot.

use std::process::ExitCode;

use treering_report::pages::trace::{TracedRun, json, page};
use treering_report::{DrawingPreset, PageOrigin, drawings, formats};

use super::{files, window};
use crate::arguments::{OutputArgs, PlotArgs};
use crate::commands::output;
use crate::commands::typed::origin_of_files;
use crate::failure::Failure;

/// Writes the page as the user asked.
pub(super) fn write(
    runs: &[TracedRun],
    origin: PageOrigin,
    args: &OutputArgs,
) -> Result<(), Failure> {
    if args.format() == Some("json") {
        return output::with_writer(args.output.as_deref(), |out| writeln!(out, "{}", json(runs)));
    }
    let mut shown = page(runs, output::is_html(args.format()));
    shown.origin(origin);
    output::write(&shown, args)
}

/// Draws traces.
pub(super) fn plot(args: &PlotArgs) -> Result<ExitCode, Failure> {
    let window = window(&args.window)?;
    let extension = args.output.extension().map(|word| word.to_string_lossy().to_lowercase());
    let wrong = || {
        let message = format!("{}: a plot is an .svg or .html file", args.output.display());
        Failure::usage(message)
    };
    if !matches!(extension.as_deref(), Some("svg" | "html" | "htm")) {
        return Err(wrong());
    }
    let read = args.files.iter().map(|path| files::summary(path, window));
    let mut runs = read.collect::<Result<Vec<_>, _>>()?;
    for (run, label) in runs.iter_mut().zip(&args.label) {
        run.name.clone_from(label);
    }
    let mut page = page(&runs, true);
    page.origin(origin_of_files());
    output::with_writer(Some(&args.output), |out| {
        if extension.as_deref() == Some("svg") {
            let drawings = drawings(&page, DrawingPreset::Screen);
            return drawings.first().map_or(Ok(()), |first| out.write_all(first.svg.as_bytes()));
        }
        formats::by_name("html").map_or(Ok(()), |html| html.render(&page, out))
    })?;
    Ok(ExitCode::SUCCESS)
}
