//! JSON documents among the lines of a log.

use crate::import::log::Log;

/// Longest document in bytes that is kept.
pub const BYTES_MOST: usize = 64 << 20;

/// Text of a document that begins at this line, up to its closing bracket or to a line at which
/// another begins, and the number of the line after it. A text that exceeds [`BYTES_MOST`] is cut.
pub fn extent(log: &Log<'_>, at: usize, begins: impl Fn(usize) -> bool) -> (String, usize) {
    let mut text = String::new();
    let (mut depth, mut in_words, mut is_escaped) = (0_usize, false, false);
    for line in at..log.len() {
        if line > at && begins(line) {
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

/// First letters of a document that begins at this line, without blanks; empty if none begins.
pub fn opening(log: &Log<'_>, at: usize) -> String {
    const LINES_MOST: usize = 6;
    const LETTERS_MOST: usize = 80;
    if !log.line(at).trim_start().starts_with('{') {
        return String::new();
    }
    let lines = (at..at.saturating_add(LINES_MOST)).map(|line| log.line(line));
    let letters = lines.flat_map(|line| line.chars().take(4 * LETTERS_MOST));
    letters.filter(|letter| !letter.is_whitespace()).take(LETTERS_MOST).collect()
}
