//! Lines of a profile: sections and settings, with their positions.
//!
//! A `#` begins a comment anywhere. The original deletes all blanks before it parses a line; here
//! they are removed from names, and from values of kinds that cannot contain blanks.

use std::borrow::Cow;

use treering_kit::cursor;
use treering_kit::faults::{Fault, Faults, Place, shown};

/// The longest profile.
const BYTES_MAX: usize = 1 << 20;

/// Parsed line of a profile.
#[derive(Debug, PartialEq)]
pub(super) enum ProfileLine<'t> {
    /// `[word]`, without brackets and the digits after the word.
    Section { word: String, place: Place },
    /// `key = value`; the value has no blanks at its ends.
    Setting { key: String, place: Place, value: &'t str, value_place: Place },
    /// Words without `=`; at least one.
    Words(Vec<(&'t str, Place)>),
}

/// White space of C's `isspace`, except line ends.
const fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\x0b' | '\x0c')
}

/// Removes all blanks from a text.
pub(super) fn without_blanks(text: &str) -> Cow<'_, str> {
    if text.contains(is_blank) {
        Cow::Owned(text.chars().filter(|c| !is_blank(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Lines that are not empty; malformed ones are kept as faults.
pub(super) fn lines<'t>(
    text: &'t [u8],
    faults: &mut Faults<'t>,
) -> Result<Vec<ProfileLine<'t>>, Fault> {
    if text.len() > BYTES_MAX {
        let message = format!("the profile has {} bytes", text.len());
        let right = format!("a profile has at most {BYTES_MAX} bytes: is this one?");
        return Err(faults.error(Place::START, message).hint(right));
    }
    let mut parsed = Vec::new();
    for (place, line) in cursor::lines(text, 0) {
        let cut = LineScanner { line, place, faults };
        let read = cut.read();
        parsed.extend(faults.ok_or_record(read).flatten());
        if faults.is_full() {
            break;
        }
    }
    Ok(parsed)
}

/// Scanner state for one line.
struct LineScanner<'t, 'f> {
    line: &'t [u8],
    place: Place,
    faults: &'f Faults<'t>,
}

impl<'t> LineScanner<'t, '_> {
    fn read(&self) -> Result<Option<ProfileLine<'t>>, Fault> {
        let content = self.content()?;
        let (body, place, value) = cursor::setting(content, self.place, is_blank);
        if let Some(tail) = body.strip_prefix('[') {
            let tail = content.trim_matches(is_blank).strip_prefix('[').unwrap_or(tail);
            return self.section(tail, place).map(Some);
        }
        if let Some((value, value_place)) = value {
            let key = without_blanks(body).into_owned();
            return Ok(Some(ProfileLine::Setting { key, place, value, value_place }));
        }
        let words = body.split(is_blank).filter(|word| !word.is_empty());
        // A word's column follows from the position of its slice in the line.
        let offset = |word: &str| word.as_ptr() as usize - content.as_ptr() as usize;
        let words: Vec<_> = words.map(|word| (word, self.place.after(offset(word)))).collect();
        Ok((!words.is_empty()).then_some(ProfileLine::Words(words)))
    }

    /// Text before the comment, free of control characters.
    fn content(&self) -> Result<&'t str, Fault> {
        let content = cursor::before(self.line, b"#");
        let content = cursor::text(content, self.place, "a profile is text in UTF-8", self.faults)?;
        match content.char_indices().find(|(_, c)| c.is_control() && !is_blank(*c)) {
            Some((byte, c)) => {
                let message = format!("the control character {}", c.escape_debug());
                Err(self
                    .faults
                    .error(self.place.after(byte), message)
                    .hint("a profile is plain text"))
            }
            None => Ok(content),
        }
    }

    /// Parses a section header after its bracket.
    fn section(&self, tail: &str, place: Place) -> Result<ProfileLine<'t>, Fault> {
        let right = "a section is a line like [filesystem0], [threadgroup0], [stats] or [end]";
        let Some(close) = tail.find(']') else {
            let message = format!("'[{}' has no ]", shown(tail));
            return Err(self.faults.error(place, message).hint(right));
        };
        let after = tail[close + 1..].trim_start_matches(is_blank);
        if !after.is_empty() {
            let message = format!("'{}' stands after the section's ]", shown(after));
            let place = place.after(1 + tail.len() - after.len());
            return Err(self.faults.error(place, message).hint(right));
        }
        let name = without_blanks(&tail[..close]);
        let word = name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        Ok(ProfileLine::Section { word, place })
    }
}

#[cfg(test)]
mod tests {
    use super::{Faults, Place, ProfileLine, lines};

    fn cut(text: &[u8]) -> Vec<ProfileLine<'_>> {
        lines(text, &mut Faults::new("f", text)).unwrap()
    }

    fn refused(text: &[u8]) -> String {
        let mut faults = Faults::new("f", text);
        let read = lines(text, &mut faults);
        let error = read.err().map(|fault| faults.refuse(fault));
        error
            .unwrap_or_else(|| faults.check().unwrap_err())
            .message
            .lines()
            .next()
            .unwrap()
            .to_owned()
    }

    fn place(line: usize, column: usize) -> Place {
        Place::new(line, column)
    }

    #[test]
    fn lines_are_split_with_positions() {
        let text =
            b"\xef\xbb\xbftime=3 # s\r\n\t[ file system 12 ]\r\n\n\x0c size_weight\t4k  33\n  \
                     num_ threads =  1 0";
        let setting = |key: &str, at, value, value_place| ProfileLine::Setting {
            key: key.to_owned(),
            place: at,
            value,
            value_place,
        };
        assert_eq!(
            cut(text),
            [
                setting("time", place(1, 1), "3", place(1, 6)),
                ProfileLine::Section { word: "filesystem".into(), place: place(2, 2) },
                ProfileLine::Words(vec![
                    ("size_weight", place(4, 3)),
                    ("4k", place(4, 15)),
                    ("33", place(4, 19))
                ]),
                setting("num_threads", place(5, 3), "1 0", place(5, 19)),
            ]
        );
        assert_eq!(cut(b""), []);
        assert_eq!(cut(b"# caf\xe9 \0\n  \n"), []);
        assert_eq!(cut(b"="), [setting("", place(1, 1), "", place(1, 2))]);
    }

    #[test]
    fn binary_input_is_refused_with_its_position() {
        assert_eq!(refused(b"\n a\xffb"), "f:2:3: the byte 0xff is no UTF-8");
        assert_eq!(refused(b"ti\0me"), "f:1:3: the control character \\0");
        assert_eq!(refused(b"a=\x1b[31m"), "f:1:3: the control character \\u{1b}");
        assert_eq!(refused(b"[end"), "f:1:1: '[end' has no ]");
        assert_eq!(refused(b" [end] x"), "f:1:8: 'x' stands after the section's ]");
        assert_eq!(refused(&vec![b'\n'; (1 << 20) + 1]), "f:1:1: the profile has 1048577 bytes");
        assert_eq!(cut(&vec![b'\n'; 1 << 20]), []);
    }
}
