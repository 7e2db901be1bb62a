//! fio's JSON of 2.x and 3.x, with the counts of JSON+.

use crate::report::{Run, run};

use treering_kit::import::Remark;
use treering_kit::import::log::Log;

/// First key of every document.
const MARK: &str = "\"fio version\"";
/// Longest document of fio, in bytes.
const BYTES_MOST: usize = 64 << 20;

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
    let (text, end) = extent(log, at);
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

/// Text up to the closing bracket of the document, or to the start of another.
fn extent(log: &Log<'_>, at: usize) -> (String, usize) {
    let mut text = String::new();
    let (mut depth, mut in_words, mut is_escaped) = (0_usize, false, false);
    for line in at..log.len() {
        if line > at && begins(log, line) {
            return (text, line);
        }
        let words = log.line(line);
        for (place, byte) in words.bytes().enumerate() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_words => is_escaped = true,
                b'"' => in_words = !in_words,
                b'{' if !in_words => depth += 1,
                b'}' if !in_words => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        if text.len() <= BYTES_MOST {
                            text.push_str(&words[..=place]);
                        }
                        return (text, line + 1);
                    }
                }
                _ => {}
            }
        }
        if text.len() <= BYTES_MOST {
            text.push_str(words);
            text.push('\n');
        }
    }
    (text, log.len())
}
