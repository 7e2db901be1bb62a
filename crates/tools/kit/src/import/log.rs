//! Lines of a log file, without the decoration of mail programs, and with broken lines joined. The
//! file is read in pieces on demand, and pieces are released, so that a log of any length takes
//! little memory.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::io;

use crate::import::Importer;
use crate::import::decoration::{Decoration, DecorationCounts};
use crate::import::encoding::{Encoding, PieceStart, decode, is_line_end, survey};
use crate::import::prefix::{KnownPrefixes, without_escapes, without_markup};
use crate::import::source::{ImportError, TextSource};

/// Maximum number of lines into which one line of a tool may have been broken.
const BROKEN_INTO_MOST: usize = 4;
/// Maximum number of characters of a line quoted in remarks.
const SHOWN_CHARS: usize = 60;
/// Largest file that is decoded as a whole, in bytes; larger files with escaped or two-byte
/// characters are refused.
const DECODED_BYTES_MOST: u64 = 64 << 20;

/// Longest file that is searched for decorated outputs, in bytes: each decoration takes a pass.
const DECORATED_BYTES_MOST: u64 = 4 << 20;

/// Consecutive lines that are loaded and released together.
#[derive(Debug)]
struct LinePiece {
    text: String,
    /// Start and end of each line in the text, without prefixes and escape sequences.
    lines: Vec<(u32, u32)>,
}

/// Source of the bytes.
enum ByteSource<'t> {
    Memory(Cow<'t, [u8]>),
    Source(&'t dyn TextSource),
}

/// Lines of a file, read on demand.
pub struct Log<'t> {
    bytes: ByteSource<'t>,
    encoding: Encoding,
    starts: Vec<PieceStart>,
    end: PieceStart,
    pieces: Vec<OnceCell<LinePiece>>,
    /// Number of the first piece that may be in memory.
    lowest: Cell<usize>,
    /// Piece of the last access: its first line, the line after it, and its number.
    latest: Cell<(usize, usize, usize)>,
    failure: RefCell<Option<io::Error>>,
    /// Decoration that is removed from the lines, beside those that each line tells.
    decoration: Option<Decoration>,
    /// Importers that may find an output of their tool in the file.
    importers: &'static [&'static dyn Importer],
}

impl<'t> Log<'t> {
    /// Lines of a text.
    #[cfg(test)]
    pub fn from_text(text: &'t str) -> Self {
        Self::of_bytes(text.as_bytes(), &[])
    }

    /// Lines of a file in memory.
    pub fn of_bytes(bytes: &'t [u8], importers: &'static [&'static dyn Importer]) -> Self {
        let text = decode(bytes);
        let bytes = ByteSource::Memory(match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        });
        let log = Self::surveyed(bytes).unwrap_or_else(|_| Self::empty());
        Self { importers, ..log }
    }

    fn empty() -> Self {
        Self {
            bytes: ByteSource::Memory(Cow::Borrowed(&[])),
            encoding: Encoding::Utf8,
            starts: Vec::new(),
            end: PieceStart { offset: 0, line: 0 },
            pieces: Vec::new(),
            lowest: Cell::new(0),
            latest: Cell::new((0, 0, 0)),
            failure: RefCell::new(None),
            decoration: None,
            importers: &[],
        }
    }

    /// Lines of a file that is read on demand.
    pub fn of_source(
        source: &'t dyn TextSource,
        importers: &'static [&'static dyn Importer],
    ) -> Result<Self, ImportError> {
        let log = Self { importers, ..Self::surveyed(ByteSource::Source(source))? };
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
        Ok(Self { importers, ..Self::surveyed(ByteSource::Memory(bytes))? })
    }

    fn surveyed(bytes: ByteSource<'t>) -> Result<Self, ImportError> {
        let is_decoded = matches!(bytes, ByteSource::Memory(_));
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
            decoration: None,
            importers: &[],
        })
    }

    /// Decorations that outputs in the file may have; none in a long file.
    pub fn decorations(&mut self) -> Vec<Decoration> {
        if self.end.offset > DECORATED_BYTES_MOST {
            return Vec::new();
        }
        let mut counts = DecorationCounts::default();
        for at in 0..self.len() {
            self.forget_before(at);
            counts.take(self.line(at));
        }
        self.forget();
        counts.candidates()
    }

    /// Removes this decoration from the lines from now on.
    pub fn set_decoration(&mut self, decoration: Option<Decoration>) {
        if self.decoration != decoration {
            self.forget();
            self.decoration = decoration;
        }
    }

    /// Importers that may find an output of their tool in the file.
    pub fn importers(&self) -> &'static [&'static dyn Importer] {
        self.importers
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.end.line
    }

    /// True if the file has no line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Releases the pieces that end before this line. They are read again on demand.
    pub fn forget_before(&mut self, line: usize) {
        let keep = self.piece_of(line).unwrap_or(self.pieces.len());
        for piece in &mut self.pieces[self.lowest.get().min(keep)..keep] {
            *piece = OnceCell::new();
        }
        self.lowest.set(self.lowest.get().max(keep));
    }

    /// Releases all pieces.
    pub fn forget(&mut self) {
        self.forget_before(self.len());
        self.lowest.set(0);
    }

    /// Takes the error that occurred while lines were read; such lines appear empty.
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

    fn load(&self, number: usize) -> LinePiece {
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
        let text = without_markup(without_escapes(text));
        let prefixes = KnownPrefixes::learn(lines_of(&text));
        let place = |line: &str| {
            let at = line.as_ptr().addr() - text.as_ptr().addr();
            let number = |place: usize| u32::try_from(place).unwrap_or(0);
            (number(at), number(at + line.len()))
        };
        let bare = |line| {
            let line = prefixes.without(plain(line));
            self.decoration.as_ref().map_or(line, |it| it.without(line, &prefixes))
        };
        let lines = lines_of(&text).map(|line| place(bare(line))).collect();
        self.lowest.set(self.lowest.get().min(number));
        LinePiece { text, lines }
    }

    /// Line without mail quotation marks; empty after the last.
    pub fn line(&self, at: usize) -> &str {
        let Some(number) = self.piece_of(at) else { return "" };
        let piece = self.pieces[number].get_or_init(|| self.load(number));
        let place = piece.lines.get(at - self.starts[number].line);
        place.and_then(|(start, end)| piece.text.get(*start as usize..*end as usize)).unwrap_or("")
    }

    /// Like [`Log::read`], but skips lines whose first characters rule them out: most lines of a
    /// long log are foreign, and trying to join four of them is expensive.
    pub fn read_if<T>(
        &self,
        may_begin: impl Fn(&str) -> bool,
        at: usize,
        reader: impl Fn(&str) -> Option<T>,
    ) -> Option<(T, usize)> {
        if may_begin(self.line(at)) { self.read(at, reader) } else { None }
    }

    /// Parses a line, or several into which a mail program broke it; also returns the number of
    /// lines used.
    pub fn read<T>(&self, at: usize, reader: impl Fn(&str) -> Option<T>) -> Option<(T, usize)> {
        if let Some(read) = reader(self.line(at)) {
            return Some((read, 1));
        }
        // A line may only be broken if it is shorter than a mail's width and has a successor.
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

impl ByteSource<'_> {
    /// Reads until the buffer is full or the file ends; returns the number of bytes.
    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Source(source) => source.fill_at(offset, into),
            Self::Memory(bytes) => bytes.as_ref().fill_at(offset, into),
        }
    }
}

/// Lines of a text, as [`survey`] counts them: LF, CR LF and bare CR end a line, and several CR are
/// one.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    let mut tail = text;
    std::iter::from_fn(move || {
        if tail.is_empty() {
            return None;
        }
        let end = tail.bytes().position(is_line_end).unwrap_or(tail.len());
        let (line, behind) = tail.split_at(end);
        let behind = behind.trim_start_matches('\r');
        tail = behind.strip_prefix('\n').unwrap_or(behind);
        Some(line)
    })
}

/// Line without the leading `> ` of mail answers, and without trailing blanks.
fn plain(line: &str) -> &str {
    let mut line = line.trim_end();
    while let Some(tail) = line.strip_prefix('>') {
        line = tail.strip_prefix(' ').unwrap_or(tail);
    }
    line
}

/// First word of a text; empty if there is none.
pub fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("")
}

/// Text without control characters.
pub fn without_control_characters(words: &str) -> String {
    words.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Line for a message, without control characters and shortened.
pub fn shortened(line: &str) -> String {
    let mut words: String =
        without_control_characters(line.trim()).chars().take(SHOWN_CHARS + 1).collect();
    if words.chars().count() > SHOWN_CHARS {
        words = words.chars().take(SHOWN_CHARS - 1).chain(['…']).collect();
    }
    format!("`{words}`")
}

#[cfg(test)]
mod tests {
    use super::{Log, shortened};

    #[test]
    fn broken_and_quoted_lines_are_joined() {
        let log = Log::from_text("> > a b\r\n> > c\n\nd\n");
        assert_eq!(log.len(), 4);
        assert_eq!(log.line(0), "a b");
        let read = |text: &str| (text == "a b c").then_some(());
        assert_eq!(log.read(0, read), Some(((), 2)));
        assert_eq!(log.read(1, |text| (text == "c d").then_some(())), None, "over an empty line");
        assert_eq!(log.read(2, |text| (text == " d").then_some(())), None, "from an empty line");
        assert_eq!(log.line(9), "");
    }

    #[test]
    fn remarks_quote_short_harmless_text() {
        assert_eq!(shortened(" a\u{1b}[31mb "), "`a [31mb`");
        assert_eq!(shortened(&"x".repeat(100)).chars().count(), 62);
    }
}
