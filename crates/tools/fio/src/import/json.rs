//! fio's JSON of 2.x and 3.x, with the counts of JSON+.

use crate::report::{Run, run};

use treering_kit::import::Remark;
use treering_kit::import::document::{BYTES_MOST, extent};
use treering_kit::import::log::Log;

/// First key of every document.
const MARK: &str = "\"fio version\"";

/// Parsed document.
pub(super) struct JsonDocument {
    /// Run in the document; `None` if it has no usable job.
    pub(super) run: Option<Run>,
    pub(super) end: usize,
    pub(super) remarks: Vec<Remark>,
}

/// True if a JSON document begins at this line.
pub(super) fn begins(log: &Log<'_>, at: usize) -> bool {
    let Some(rest) = log.line(at).trim_start().strip_prefix('{') else { return false };
    match rest.trim_start() {
        "" => log.line(at + 1).trim_start().starts_with(MARK),
        rest => rest.starts_with(MARK),
    }
}

/// Reads a document.
pub(super) fn read(log: &Log<'_>, at: usize) -> JsonDocument {
    let (text, end) = extent(log, at, |line| begins(log, line));
    let mut remarks = Vec::new();
    if text.len() > BYTES_MOST {
        let what = format!("a document of more than {} MiB is not fio's", BYTES_MOST >> 20);
        return JsonDocument { run: None, end, remarks: vec![Remark { line: at + 1, what }] };
    }
    let mut say = |line: usize, what: String| remarks.push(Remark { line, what });
    let read = serde_json::from_str(&text).or_else(|error| {
        // Old versions divide by zero, and print invalid JSON.
        let repaired =
            text.replace(": -nan", ": 0").replace(": nan", ": 0").replace(": inf", ": 0");
        if repaired == text { Err(error) } else { serde_json::from_str(&repaired) }
    });
    let run = match read {
        Ok(value) => run(&value, &mut |what| say(at + 1, what)),
        Err(error) => {
            let line = at + error.line().max(1);
            say(line.min(end.max(1)), format!("this JSON of fio cannot be read: {error}"));
            None
        }
    };
    JsonDocument { run, end, remarks }
}
