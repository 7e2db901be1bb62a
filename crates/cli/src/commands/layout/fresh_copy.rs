//! `treering layout --fresh-copy`: compares a tree with a fresh copy of it.

use std::io::{IsTerminal, stderr};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use treering_conduct::watch_signals;
use treering_lab::{EraseList, FreshCopyComparison, ReadOnlyView};
use treering_report::pages::fresh_copy::{page, write_json};
use treering_report::pages::layout::LayoutView;
use treering_sys::raise_open_files;

use crate::arguments::LayoutArgs;
use crate::commands::{lab, output};
use crate::failure::Failure;

/// Copies the tree, and compares the original with the copy.
pub(super) fn run(args: &LayoutArgs) -> Result<ExitCode, Failure> {
    let original = ReadOnlyView::open(&args.path)?;
    let signals = watch_signals()?;
    let _as_many_as_we_may = raise_open_files();
    let bar = bar();
    let comparison = FreshCopyComparison {
        path: &args.path,
        view: &original,
        on: args.on.as_deref(),
        erasing: &EraseList::new(args.erase.iter().cloned()),
        turns: args.repeat,
        stop: signals.flag(),
        progress: &|action, files| {
            if let Some(bar) = &bar {
                bar.set_message(action);
                bar.set_position(files);
            }
        },
    };
    let compared = comparison.run(lab::open);
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let copy = compared?;
    let path = args.path.to_string_lossy();
    let through = original.kind().words();
    let view = LayoutView { path: &path, through: &through };
    if args.output.format() == Some("json") {
        output::with_writer(args.output.output.as_deref(), |out| write_json(&copy, &view, out))?;
    } else {
        output::write(&page(&copy, &view), &args.output)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn bar() -> Option<ProgressBar> {
    let style = ProgressStyle::with_template("{spinner} {msg}: {pos} files  {elapsed}").ok()?;
    stderr().is_terminal().then(|| ProgressBar::new_spinner().with_style(style))
}
