//! The lines of a file, without what mail programs put before and behind them; and lines that they
//! broke, put together again. The file is read in pieces when its lines are asked for, and pieces
//! are let go of, so that a log of any length takes little memory.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::io;

use crate::import::Importer;
use crate::import::encoding::{Encoding, Start, decode, is_line_end, survey};
use crate::import::prefix::{Prefixes, without_escapes};
use crate::import::source::{ImportError, Source};

/// So many lines may one line of a tool have become.
const BROKEN_INTO_MOST: usize = 4;
/// So much of a line is quoted in remarks.
const SHOWN_CHARS: usize = 60;
/// A longer file whose characters are escaped or have two bytes is not read: it is decoded whole.
const DECODED_BYTES_MOST: u64 = 64 << 20;

/// Some neighbouring lines.
#[derive(Debug)]
struct Piece {
    text: String,
    /// Where each line begins and ends, without what is around it.
    lines: Vec<(u32, u32)>,
}

/// Where the bytes come from.
enum Bytes<'t> {
    Memory(Cow<'t, [u8]>),
    Source(&'t dyn Source),
}

/// The lines of a file.
pub struct Log<'t> {
    bytes: Bytes<'t>,
    encoding: Encoding,
    starts: Vec<Start>,
    end: Start,
    pieces: Vec<OnceCell<Piece>>,
    /// No piece before this one is in memory.
    lowest: Cell<usize>,
    /// The piece that was asked for last: its first line, the line behind it, and which it is.
    latest: Cell<(usize, usize, usize)>,
    failure: RefCell<Option<io::Error>>,
    /// All importers, each of which may find an output of its tool in this file.
    importers: &'static [&'static dyn Importer],
}

impl<'t> Log<'t> {
    /// The lines of a text.
    #[cfg(test)]
    pub fn of(text: &'t str) -> Self {
        Self::of_bytes(text.as_bytes(), &[])
    }

    /// The lines of a file in memory.
    pub fn of_bytes(bytes: &'t [u8], importers: &'static [&'static dyn Importer]) -> Self {
        let text = decode(bytes);
        let bytes = Bytes::Memory(match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        });
        let log = Self::surveyed(bytes).unwrap_or_else(|_| Self::empty());
        Self { importers, ..log }
    }

    fn empty() -> Self {
        Self {
            bytes: Bytes::Memory(Cow::Borrowed(&[])),
            encoding: Encoding::Utf8,
            starts: Vec::new(),
            end: Start { offset: 0, line: 0 },
            pieces: Vec::new(),
            lowest: Cell::new(0),
            latest: Cell::new((0, 0, 0)),
            failure: RefCell::new(None),
            importers: &[],
        }
    }

    /// The lines of a file that is read when they are asked for.
    pub fn of_source(
        source: &'t dyn Source,
        importers: &'static [&'static dyn Importer],
    ) -> Result<Self, ImportError> {
        let log = Self { importers, ..Self::surveyed(Bytes::Source(source))? };
        if log.encoding != Encoding::Other {
            return Ok(log);
        }
        let mut whole = Vec::new();
        if log.end.offset > DECODED_BYTES_MOST {
            return Err(ImportError::Encoding { mebibytes: DECODED_BYTES_MOST >> 20 });
        }
        whole.resize(usize::try_from(log.end.offset).unwrap_or(0), 0);
        log.bytes.read(0, &mut whole)?;
        let bytes = Cow::Owned(decode(&whole).into_owned().into_bytes());
        Ok(Self { importers, ..Self::surveyed(Bytes::Memory(bytes))? })
    }

    fn surveyed(bytes: Bytes<'t>) -> Result<Self, ImportError> {
        let is_decoded = matches!(bytes, Bytes::Memory(_));
        let surveyed = survey(|offset, into| bytes.read(offset, into), is_decoded)?;
        let pieces = surveyed.starts.iter().map(|_| OnceCell::new()).collect();
        Ok(Self {
            bytes,
            encoding: surveyed.encoding,
            starts: surveyed.starts,
            end: surveyed.end,
            pieces,
            lowest: Cell::new(0),
            latest: Cell::new((0, 0, 0)),
            failure: RefCell::new(None),
            importers: &[],
        })
    }

    /// All importers.
    pub fn importers(&self) -> &'static [&'static dyn Importer] {
        self.importers
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.end.line
    }

    /// Lets go of the pieces that end before this line. They are read again if they are needed.
    pub fn forget_before(&mut self, line: usize) {
        let keep = self.piece_of(line).unwrap_or(self.pieces.len());
        for piece in &mut self.pieces[self.lowest.get().min(keep)..keep] {
            *piece = OnceCell::new();
        }
        self.lowest.set(self.lowest.get().max(keep));
    }

    /// Lets go of all pieces.
    pub fn forget(&mut self) {
        self.forget_before(self.len());
        self.lowest.set(0);
    }

    /// What went wrong while lines were read that were taken for empty then.
    pub fn take_failure(&self) -> Result<(), ImportError> {
        self.failure.borrow_mut().take().map_or(Ok(()), |error| Err(error.into()))
    }

    fn piece_of(&self, line: usize) -> Option<usize> {
        let (first, behind, latest) = self.latest.get();
        if (first..behind).contains(&line) {
            return Some(latest);
        }
        if line >= self.len() {
            return None;
        }
        let next = self.starts.partition_point(|start| start.line <= line);
        let number = next.checked_sub(1)?;
        let behind = self.starts.get(next).unwrap_or(&self.end).line;
        self.latest.set((self.starts[number].line, behind, number));
        Some(number)
    }

    fn load(&self, number: usize) -> Piece {
        let start = self.starts[number];
        let end = self.starts.get(number + 1).copied().unwrap_or(self.end);
        let length = usize::try_from(end.offset - start.offset).unwrap_or(0);
        let mut bytes = vec![0; length];
        if let Err(error) = self.bytes.read(start.offset, &mut bytes) {
            self.failure.borrow_mut().get_or_insert(error);
            bytes.clear();
        }
        let text = match self.encoding {
            Encoding::Latin1 => bytes.iter().map(|byte| char::from(*byte)).collect(),
            Encoding::Utf8 | Encoding::Other => match String::from_utf8(bytes) {
                Ok(text) => text,
                // The file changed while it was read.
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            },
        };
        let text = without_escapes(text);
        let prefixes = Prefixes::of(lines_of(&text));
        let place = |line: &str| {
            let at = line.as_ptr().addr() - text.as_ptr().addr();
            let number = |place: usize| u32::try_from(place).unwrap_or(0);
            (number(at), number(at + line.len()))
        };
        let lines = lines_of(&text).map(|line| place(prefixes.without(plain(line)))).collect();
        self.lowest.set(self.lowest.get().min(number));
        Piece { text, lines }
    }

    /// A line, without quotation marks of a mail; empty behind the last.
    pub fn line(&self, at: usize) -> &str {
        let Some(number) = self.piece_of(at) else { return "" };
        let piece = self.pieces[number].get_or_init(|| self.load(number));
        let place = piece.lines.get(at - self.starts[number].line);
        place.and_then(|(start, end)| piece.text.get(*start as usize..*end as usize)).unwrap_or("")
    }

    /// Like [`Log::read`], unless what the line begins with says that it cannot be one: most lines
    /// of a long log are somebody else's, and to put four of them together costs more than that.
    pub fn read_if<T>(
        &self,
        may_begin: impl Fn(&str) -> bool,
        at: usize,
        reader: impl Fn(&str) -> Option<T>,
    ) -> Option<(T, usize)> {
        if may_begin(self.line(at)) { self.read(at, reader) } else { None }
    }

    /// Reads a line, or several that were one before a mail program broke it. Says how many.
    pub fn read<T>(&self, at: usize, reader: impl Fn(&str) -> Option<T>) -> Option<(T, usize)> {
        if let Some(read) = reader(self.line(at)) {
            return Some((read, 1));
        }
        // Only what is shorter than a mail's width and goes on can have been broken.
        let mut whole = self.line(at).trim_end().to_owned();
        if whole.is_empty() {
            return None;
        }
        for more in 1..BROKEN_INTO_MOST {
            let next = self.line(at + more).trim();
            if next.is_empty() {
                return None;
            }
            whole.push(' ');
            whole.push_str(next);
            if let Some(read) = reader(&whole) {
                return Some((read, more + 1));
            }
        }
        None
    }
}

impl Bytes<'_> {
    /// Reads as much as there is room for; less only at the end. How much it was.
    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut got = 0;
        while got < into.len() {
            let at = offset + got as u64;
            let more = match self {
                Self::Source(source) => source.read_at(at, &mut into[got..])?,
                Self::Memory(bytes) => {
                    let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
                    let rest = rest.unwrap_or(&[]);
                    let more = rest.len().min(into.len() - got);
                    into[got..got + more].copy_from_slice(&rest[..more]);
                    more
                }
            };
            if more == 0 {
                break;
            }
            got += more;
        }
        Ok(got)
    }
}

/// The lines of a text, as [`survey`] counts them: LF, CR LF and bare CR end a line, and several CR
/// are one.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.bytes().position(is_line_end).unwrap_or(rest.len());
        let (line, behind) = rest.split_at(end);
        let behind = behind.trim_start_matches('\r');
        rest = behind.strip_prefix('\n').unwrap_or(behind);
        Some(line)
    })
}

/// A line without `> ` before it, as answers quote, and without blanks behind it.
fn plain(line: &str) -> &str {
    let mut line = line.trim_end();
    while let Some(rest) = line.strip_prefix('>') {
        line = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line
}

/// The first word of a text; empty where there is none.
pub fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("")
}

/// Words without control characters.
pub fn tame(words: &str) -> String {
    words.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A line for a message: no control characters, not too long.
pub fn shortened(line: &str) -> String {
    let mut words: String = tame(line.trim()).chars().take(SHOWN_CHARS + 1).collect();
    if words.chars().count() > SHOWN_CHARS {
        words = words.chars().take(SHOWN_CHARS - 1).chain(['…']).collect();
    }
    format!("`{words}`")
}

#[cfg(test)]
mod tests {
    use super::{Log, shortened};

    #[test]
    fn broken_and_quoted_lines_are_put_together() {
        let log = Log::of("> > a b\r\n> > c\n\nd\n");
        assert_eq!(log.len(), 4);
        assert_eq!(log.line(0), "a b");
        let read = |text: &str| (text == "a b c").then_some(());
        assert_eq!(log.read(0, read), Some(((), 2)));
        assert_eq!(log.read(1, |text| (text == "c d").then_some(())), None, "over an empty line");
        assert_eq!(log.read(2, |text| (text == " d").then_some(())), None, "from an empty line");
        assert_eq!(log.line(9), "");
    }

    #[test]
    fn remarks_quote_little_and_nothing_dangerous() {
        assert_eq!(shortened(" a\u{1b}[31mb "), "`a [31mb`");
        assert_eq!(shortened(&"x".repeat(100)).chars().count(), 62);
    }
}
