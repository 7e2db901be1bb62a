//! Reading of trace files, with errors for the command line and remarks about truncated files.

use std::path::Path;

use treering_observe::block_trace::{self, summarise_file};
use treering_report::pages::trace::TracedRun;
use treering_trace::{TraceEntry, TraceWindow};

use crate::classic_output::say;
use crate::failure::Failure;

/// Reads a trace and summarizes the events in the window.
pub(super) fn summary(path: &Path, window: TraceWindow) -> Result<TracedRun, Failure> {
    let read = summarise_file(path, window)?;
    if !read.is_whole {
        say(&format!("{}: truncated; showing what is there", path.display()));
    }
    Ok(TracedRun { name: read.name, summary: read.summary, on_disk: read.on_disk })
}

/// Calls `each` with every entry of a trace.
pub(in crate::commands) fn each_entry(
    path: &Path,
    each: impl FnMut(&TraceEntry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !block_trace::each_entry(path, each)? {
        say(&format!("{}: truncated; using what is there", path.display()));
    }
    Ok(())
}
