//! Splitting of lines into words at blanks; quotes enclose names with blanks.

use treering_kit::cursor::TextCursor;
use treering_kit::faults::{Fault, Faults, Place};

/// Maximum length of a line; the original cuts lines after 1023 bytes.
const LINE_MAX: usize = 8192;
/// Maximum number of words in a line.
const WORDS_MAX: usize = 20;

/// Word and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'t> {
    /// Text of the word, without quotes.
    pub(super) text: &'t [u8],
    pub(super) place: Place,
    pub(super) quoted: bool,
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c')
}

/// Splits a line into words; none for an empty line or a comment.
pub(super) fn words<'t>(
    line: &'t [u8],
    place: Place,
    faults: &Faults,
    into: &mut Vec<Word<'t>>,
) -> Result<(), Fault> {
    into.clear();
    if line.len() > LINE_MAX {
        let message = format!("the line has {} bytes", line.len());
        let right = "a line has at most 8192 bytes: is this a load file?";
        return Err(faults.error(place, message).hint(right));
    }
    let mut cursor = TextCursor::new(line, place);
    loop {
        cursor.take_while(is_blank);
        let place = cursor.place();
        let Some(first) = cursor.peek() else { return Ok(()) };
        if into.is_empty() && first == b'#' {
            return Ok(());
        }
        if into.len() == WORDS_MAX {
            let right = "an operation has at most 20 words";
            return Err(faults.error(place, "there are more words than that").hint(right));
        }
        let quoted = cursor.take(b'"');
        let text = cursor.take_while(|byte| if quoted { byte != b'"' } else { !is_blank(byte) });
        if quoted && !cursor.take(b'"') {
            let right = "close the quotation mark before the end of the line";
            return Err(faults.error(place, "the quotation mark is never closed").hint(right));
        }
        if let Some(byte) = text.iter().position(u8::is_ascii_control) {
            let message = format!("the control character {:#04x}", text[byte]);
            let at = place.after(usize::from(quoted) + byte);
            return Err(faults.error(at, message).hint("a load file is plain text"));
        }
        into.push(Word { text, place, quoted });
    }
}

#[cfg(test)]
mod tests {
    use super::{Faults, Place, words};

    fn cut(line: &[u8]) -> Vec<(String, u32)> {
        let mut into = Vec::new();
        words(line, Place::new(3, 1), &Faults::new("f", b""), &mut into).unwrap();
        let word = |word: &super::Word<'_>| {
            (String::from_utf8_lossy(word.text).into_owned(), word.place.column)
        };
        into.iter().map(word).collect()
    }

    fn refused(line: &[u8]) -> String {
        let faults = Faults::new("f", b"");
        let fault = words(line, Place::new(3, 1), &faults, &mut Vec::new()).unwrap_err();
        faults.in_one_line(&fault)
    }

    #[test]
    fn lines_are_cut_at_blanks_and_quotes() {
        let cut_words = cut(b" Rename \"\\a b\"\t\"\\c\" 0x0\r");
        let cut_words: Vec<(&str, u32)> =
            cut_words.iter().map(|(word, at)| (word.as_str(), *at)).collect();
        assert_eq!(cut_words, [("Rename", 2), ("\\a b", 9), ("\\c", 16), ("0x0", 21)]);
        assert!(cut(b"  # \"comment").is_empty());
        assert!(cut(b"").is_empty());
    }

    #[test]
    fn malformed_lines_are_refused_with_their_position() {
        assert_eq!(refused(b"a \"b"), "f:3:3: the quotation mark is never closed");
        assert_eq!(refused(b"a \"b\0\""), "f:3:5: the control character 0x00");
        assert_eq!(refused(&[b'a'; 8193]), "f:3:1: the line has 8193 bytes");
        assert_eq!(refused(&b"a ".repeat(21)), "f:3:41: there are more words than that");
    }
}
