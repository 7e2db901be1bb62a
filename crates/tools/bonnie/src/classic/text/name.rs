//! First columns of both tables: the parameters in short form.

use crate::classic::asked::{CHUNK, FileKind, FilesShape, IoShape, SEEKERS, SEEKS};

/// Width of the columns before the figures.
const WIDTH: usize = 19;

/// Formats bytes with the largest suffix that gives a whole number.
pub(super) fn short(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        _ => bytes.to_string(),
    }
}

/// Formats MiB, as `G` if a whole number.
pub(super) fn size(mib: u64) -> String {
    if mib.is_multiple_of(1024) { format!("{}G", mib / 1024) } else { format!("{mib}M") }
}

/// Formats a chunk size; empty for the default.
pub(super) fn chunk(bytes: u32) -> String {
    if bytes == CHUNK { String::new() } else { short(bytes.into()) }
}

/// Name, truncated to fit, and parameters of the large file, right-aligned.
pub(super) fn io(name: &str, mib: u64, io: &IoShape, copies: u16) -> String {
    let unless = |usual: bool, text: String| if usual { String::new() } else { text };
    let fields = [
        size(mib),
        chunk(io.chunk),
        unless(copies == 1, copies.to_string()),
        unless(io.seeks == SEEKS, io.seeks.to_string()),
        unless(io.seekers == SEEKERS, io.seekers.to_string()),
    ];
    let mut text = fields.join(":");
    // As in the original, a last field of one digit is removed with the colons.
    if io.seekers < 10 && io.seekers != SEEKERS {
        text.pop();
    }
    let text = text.trim_end_matches(':');
    let room = WIDTH.saturating_sub(text.chars().count() + 1);
    let name: String = name.chars().take(room).collect();
    let room = WIDTH.saturating_sub(name.chars().count());
    format!("{name}{text:>room$}")
}

/// Heading of the small files' parameters.
pub(super) fn files_heading(files: &FilesShape) -> &'static str {
    match files.kind {
        FileKind::Regular if files.min_bytes > 0 => "files:max:min       ",
        FileKind::Regular if files.max_bytes == 0 => "              files ",
        _ => "files:max           ",
    }
}

/// Parameters of the small files, right-aligned.
pub(super) fn files(k: u64, files: &FilesShape) -> String {
    let sizes = match files.kind {
        FileKind::HardLinks => ":link".to_owned(),
        FileKind::SymbolicLinks => ":symlink".to_owned(),
        FileKind::Regular if files.max_bytes == 0 => String::new(),
        FileKind::Regular => format!(":{}:{}", files.max_bytes, files.min_bytes),
    };
    let dirs = if files.dirs > 1 { format!("/{}", files.dirs) } else { String::new() };
    let text = format!("{k}{sizes}{dirs}");
    format!("{text:>WIDTH$}")
}
