//! Decoding of files: UTF-8, UTF-16 with a byte order mark, else one byte a character; and
//! quoted-printable mails. Also finds the lines of a file, in one pass over it.

use std::borrow::Cow;
use std::io;

use crate::import::source::ImportError;

/// Minimum size of a piece in bytes.
const PIECE_BYTES: usize = 64 * 1024;
/// Longest line in bytes.
const LINE_BYTES_MOST: u64 = 64 << 20;
/// Mail header that names the encoding, in lower case.
const TRANSFER: &str = "content-transfer-encoding:";
/// Longest mail header that is examined, in bytes.
const HEADING_BYTES_MOST: usize = 128;

/// Character encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 or ASCII.
    Utf8,
    /// ISO 8859-1: one byte a character.
    Latin1,
    /// Other encodings, which [`decode`] converts as a whole.
    Other,
}

/// Start of a piece of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceStart {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Number of its first line, from 0.
    pub line: usize,
}

/// Positions of the lines of a file.
pub struct LineSurvey {
    /// Encoding of the file.
    pub encoding: Encoding,
    /// Starts of the pieces.
    pub starts: Vec<PieceStart>,
    /// End of the last line.
    pub end: PieceStart,
}

/// Surveys a file in one pass. Text that is decoded already is not decoded again.
pub fn survey(
    read: impl Fn(u64, &mut [u8]) -> io::Result<usize>,
    is_decoded: bool,
) -> Result<LineSurvey, ImportError> {
    let mut buffer = vec![0; PIECE_BYTES];
    let mut look = SurveyProgress::default();
    loop {
        let got = read(look.offset, &mut buffer)?;
        if got == 0 {
            return Ok(look.finish(is_decoded));
        }
        look.take(&buffer[..got])?;
    }
}

/// True for bytes that end a line.
pub(crate) const fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Survey of a file in progress.
#[derive(Default)]
struct SurveyProgress {
    offset: u64,
    line: usize,
    line_began: u64,
    /// True after a CR that may be followed by LF.
    is_returned: bool,
    starts: Vec<PieceStart>,
    /// First bytes of the current line.
    heading: Vec<u8>,
    is_quoted: bool,
    is_other: bool,
    is_not_utf_8: bool,
    /// Bytes of an incomplete character.
    broken: Vec<u8>,
}

impl SurveyProgress {
    fn take(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        if self.offset == 0 {
            self.starts.push(PieceStart { offset: 0, line: 0 });
            self.is_other = bytes.starts_with(&[0xff, 0xfe])
                || bytes.starts_with(&[0xfe, 0xff])
                || bytes.starts_with(&[0xef, 0xbb, 0xbf]);
        }
        self.check(bytes);
        let mut tail = bytes;
        while let Some(first) = tail.first() {
            // Several CR, and a following LF, end one line.
            if self.is_returned && *first != b'\r' {
                self.is_returned = false;
                self.offset += u64::from(*first == b'\n');
                tail = &tail[usize::from(*first == b'\n')..];
                self.end_line();
                continue;
            }
            let feed = tail.iter().position(|byte| is_line_end(*byte));
            let part = &tail[..feed.unwrap_or(tail.len())];
            let room = HEADING_BYTES_MOST.saturating_sub(self.heading.len());
            self.heading.extend_from_slice(&part[..part.len().min(room)]);
            self.offset += (part.len() + usize::from(feed.is_some())) as u64;
            if self.offset - self.line_began > LINE_BYTES_MOST {
                let mebibytes = LINE_BYTES_MOST >> 20;
                return Err(ImportError::LongLine { line: self.line + 1, mebibytes });
            }
            let Some(feed) = feed else { break };
            if tail[feed] == b'\n' {
                self.end_line();
            } else {
                self.is_returned = true;
            }
            tail = &tail[feed + 1..];
        }
        Ok(())
    }

    fn end_line(&mut self) {
        let heading = std::mem::take(&mut self.heading);
        let words = heading.trim_ascii();
        if words.is_empty() {
            self.is_other |= self.is_quoted;
        } else if let Some((name, how)) = words.split_at_checked(TRANSFER.len())
            && name.eq_ignore_ascii_case(TRANSFER.as_bytes())
        {
            self.is_quoted = how.trim_ascii().eq_ignore_ascii_case(b"quoted-printable");
        }
        self.heading = heading;
        self.heading.clear();
        self.line += 1;
        self.line_began = self.offset;
        let last = self.starts.last().map_or(0, |start| start.offset);
        if self.offset - last >= PIECE_BYTES as u64 {
            self.starts.push(PieceStart { offset: self.offset, line: self.line });
        }
    }

    /// Notes if the bytes are not UTF-8.
    fn check(&mut self, bytes: &[u8]) {
        if self.is_not_utf_8 {
            return;
        }
        let mut joined = std::mem::take(&mut self.broken);
        joined.extend_from_slice(bytes);
        match std::str::from_utf8(&joined) {
            Ok(_) => {}
            Err(error) if error.error_len().is_none() => {
                self.broken = joined.split_off(error.valid_up_to());
            }
            Err(_) => self.is_not_utf_8 = true,
        }
    }

    fn finish(mut self, is_decoded: bool) -> LineSurvey {
        if self.offset > self.line_began {
            self.end_line();
        }
        let encoding = match () {
            () if self.is_other && !is_decoded => Encoding::Other,
            () if self.is_not_utf_8 || !self.broken.is_empty() => Encoding::Latin1,
            () => Encoding::Utf8,
        };
        let end = PieceStart { offset: self.offset, line: self.line };
        self.starts.retain(|start| start.line < end.line);
        LineSurvey { encoding, starts: self.starts, end }
    }
}

/// Decodes a file. Invalid bytes become the replacement character.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let text = match bytes {
        [0xef, 0xbb, 0xbf, tail @ ..] => String::from_utf8_lossy(tail),
        [0xff, 0xfe, tail @ ..] => utf_16(tail, u16::from_le_bytes).into(),
        [0xfe, 0xff, tail @ ..] => utf_16(tail, u16::from_be_bytes).into(),
        bytes => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect::<String>().into(),
        },
    };
    match quoted_printable_body(&text) {
        Some(body) => format!("{}{}", &text[..body], unescaped(&text[body..])).into(),
        None => text,
    }
}

fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// Byte offset of the body of a mail that is declared quoted-printable (RFC 2045, 6.7).
fn quoted_printable_body(text: &str) -> Option<usize> {
    let mut place = 0;
    let mut is_said = false;
    for line in text.split_inclusive('\n') {
        let words = line.trim().to_ascii_lowercase();
        if let Some(how) = words.strip_prefix("content-transfer-encoding:") {
            is_said = how.trim() == "quoted-printable";
        }
        place += line.len();
        if is_said && words.is_empty() {
            return Some(place);
        }
    }
    None
}

/// Decodes quoted-printable: `=3D` is `=`, and `=` at the end of a line joins it with the next.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut tail = bytes;
    while let Some((&first, behind)) = tail.split_first() {
        tail = behind;
        if first != b'=' {
            plain.push(first);
            continue;
        }
        let digit = |place: usize| char::from(*behind.get(place)?).to_digit(16);
        match behind {
            [b'\n', behind @ ..] | [b'\r', b'\n', behind @ ..] => tail = behind,
            _ => match (digit(0), digit(1)) {
                (Some(high), Some(low)) => {
                    plain.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                    tail = &behind[2..];
                }
                // A plain equals sign, not an escape.
                _ => plain.push(first),
            },
        }
    }
    match String::from_utf8(plain) {
        Ok(text) => text,
        Err(error) => error.as_bytes().iter().map(|byte| char::from(*byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn text_survives_the_usual_encodings() {
        let wanted = "stat dir kernel-2 é\r\n";
        assert_eq!(decode(wanted.as_bytes()), wanted);
        assert_eq!(decode(&[b"\xef\xbb\xbf".as_slice(), wanted.as_bytes()].concat()), wanted);
        let units = |of: fn(u16) -> [u8; 2]| wanted.encode_utf16().flat_map(of).collect();
        let little: Vec<u8> = units(u16::to_le_bytes);
        assert_eq!(decode(&[vec![0xff, 0xfe], little].concat()), wanted);
        let big: Vec<u8> = units(u16::to_be_bytes);
        assert_eq!(decode(&[vec![0xfe, 0xff], big].concat()), wanted);
        assert_eq!(decode(b"caf\xe9 \xb5s"), "café µs");
    }

    #[test]
    fn quoted_printable_mails_are_decoded() {
        let mail = "Content-Transfer-Encoding: Quoted-Printable\nX: a=3Db\n\nsize =3D 4=\n096 \
                    =C3=A9 =zz\n";
        let wanted = "Content-Transfer-Encoding: Quoted-Printable\nX: a=3Db\n\nsize = 4096 é =zz\n";
        assert_eq!(decode(mail.as_bytes()), wanted);
        assert_eq!(decode(b"a=3Db\n\nc=3Dd"), "a=3Db\n\nc=3Dd");
    }
}
