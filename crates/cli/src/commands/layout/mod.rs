//! `treering layout`: locations of files on disk, and free space, of a directory, a device or an
//! image, none of which are written to.

mod extents;
mod fresh_copy;
mod heat;

use std::fmt::Display;
use std::io::{IsTerminal, Write, stderr};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use treering_lab::{ReadOnlyView, ViewKind};
use treering_model::LayoutMap;
use treering_observe::layout::{LayoutSurvey, SurveyPlan, WalkCounts, survey};
use treering_report::pages::layout::{LayoutView, map_page, page, write_json};
use treering_report::{DrawingPreset, drawings};
use treering_sys::write_whole_file;

use super::typed::origin_of_files;
use super::{charts, output};
use crate::arguments::LayoutArgs;
use crate::failure::{Failure, Kind};

/// Runs the mode of `treering layout` that the arguments select.
pub(crate) fn run(args: &LayoutArgs) -> Result<ExitCode, Failure> {
    if extents::are_wanted(args)? {
        return extents::run(args);
    }
    if args.fresh_copy {
        return fresh_copy::run(args);
    }
    if let Some(trace) = &args.heat {
        return heat::run(args, trace);
    }
    // A walk may take minutes, so the format is checked first.
    output::check_format(&args.output)?;
    let opened = ReadOnlyView::open(&args.path)?;
    let is_html = output::is_html(args.output.format());
    let plan = SurveyPlan {
        sample: args.sample,
        seed: args.seed,
        map: args.map.is_some() || (is_html && args.sample.is_none()),
        write_back: !args.no_sync && !matches!(opened.kind(), ViewKind::Private { .. }),
    };
    let LayoutSurvey { layout, map } = survey_with_progress(&opened, &plan)?;
    let path = args.path.to_string_lossy();
    let through = opened.kind().words();
    let view = LayoutView { path: &path, through: &through };
    if let (Some(file), Some(map)) = (&args.map, &map) {
        draw(&path, map, file)?;
    }
    if args.output.format() == Some("json") {
        output::with_writer(args.output.output.as_deref(), |out| write_json(&layout, &view, out))?;
    } else {
        let map = map.filter(|_| is_html);
        let mut page = page(&layout, map, &view);
        if args.path.is_file() {
            page.note("--extents lists the extents of the image file itself.");
        }
        if is_html {
            page.origin(origin_of_files());
        }
        output::write(&page, &args.output)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the map to a separate file; an existing file must be a chart that treering wrote.
fn draw(path: &str, map: &LayoutMap, file: &Path) -> Result<(), Failure> {
    let failed = |error: &dyn Display| {
        let message = format!("cannot write {}: {error}", file.display());
        Failure::environment(message)
    };
    if !charts::may_be_written(file) {
        return Err(failed(&"it exists and is not a chart made by treering")
            .hint("choose another name or move the file away"));
    }
    let drawing = drawings(&map_page(path, map.clone()), DrawingPreset::Screen).into_iter().next();
    let svg = drawing.map(|drawing| drawing.svg).unwrap_or_default();
    let written = write_whole_file(file, |mut out| out.write_all(svg.as_bytes()));
    written.map_err(|error| failed(&error))
}

/// Surveys the filesystem, and shows the progress on a terminal. It can be killed at any time
/// without leaving anything behind.
fn survey_with_progress(view: &ReadOnlyView, plan: &SurveyPlan) -> Result<LayoutSurvey, Failure> {
    let bar = stderr().is_terminal().then(|| {
        let bar = ProgressBar::new_spinner();
        let template = "{spinner} {pos} files{msg}  {per_sec}  {elapsed}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    });
    let mut show_progress = |counts: &WalkCounts, total: Option<u64>| {
        if let Some(bar) = &bar {
            bar.set_position(counts.files);
            if let (Some(total), None) = (total, bar.length()) {
                bar.set_message(format!(" of {total}"));
                bar.set_length(total);
            }
        }
        ControlFlow::Continue(())
    };
    let result = survey(view.root(), plan, &mut show_progress);
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    result.map_err(|error| Failure::of(Kind::Environment, &error).maybe_hint(error.hint()))
}
