//! Reader of treering's dataset files from any, also untrusted, stream: nothing is allocated by the
//! counts of the header, and decompression is limited. Never panics or hangs, whatever the bytes.

use std::io::{self, BufRead, BufReader, Read};

use thiserror::Error;
use treering_script::{NameError, NameId, NamesBuilder, NodeKind};
use zstd::stream::read::Decoder;

use super::escape::{escaped_bytes, unescape};
use super::{EntryState, Header, LINE_BYTES_MAX, ListCount, MAGIC, VERSION, WINDOW_LOG};
use crate::language::classic::column_of;
use crate::language::lines::{LineError, LineReader, NumberError, number};
use crate::language::order::compare;
use crate::language::title::check_title;
use crate::language::{Dataset, FileList, StateSet, TreeState};
use treering_kit::excerpt::in_line;
use treering_kit::faults::Place;

/// Limits of a reader, so that a small hostile file cannot fill the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// Maximum number of names: entries and the directories above them.
    pub names: u64,
    /// Maximum number of bytes of text after decompression.
    pub text_bytes: u64,
}

impl Default for ReaderLimits {
    /// 64 Mi names and 4 GiB of text: six times the ten million files that treering promises.
    fn default() -> Self {
        Self { names: 64 << 20, text_bytes: 4 << 30 }
    }
}

/// Error of reading a dataset file.
#[derive(Debug, Error)]
pub enum FormatError {
    /// The file is of another kind.
    #[error("not a dataset of treering; the original's text files go through `dataset import`")]
    NotADataset,
    /// The file was written by a newer treering.
    #[error("the dataset has format version {version}, this treering reads up to {VERSION}")]
    Newer {
        /// Version of the file.
        version: u64,
    },
    /// The stream cannot be read.
    #[error("cannot read the dataset")]
    Read(#[source] io::Error),
    /// The compressed data is corrupt or truncated.
    #[error("the dataset is damaged or cut off")]
    Damaged(#[source] io::Error),
    /// The dataset exceeds the limits.
    #[error("the dataset is larger than {} names or {} bytes of text", .0.names, .0.text_bytes)]
    TooLarge(ReaderLimits),
    /// A header line is invalid.
    #[error("line {line} of the decompressed dataset: {fault}{excerpt}")]
    Header {
        /// Line number, from 1.
        line: u64,
        /// Error in the line.
        fault: HeaderFault,
        /// Line with a caret, after a line feed; empty if there is nothing to show.
        excerpt: String,
    },
    /// An entry is invalid. Later lines are not checked, since a path builds on the one before.
    #[error("line {line}, column {column} of the decompressed dataset: {fault}{excerpt}")]
    Entry {
        /// Line number, from 1.
        line: u64,
        /// Byte in the line, from 1.
        column: usize,
        /// Error in the entry.
        fault: EntryFault,
        /// Line with a caret, after a line feed; empty if there is nothing to show.
        excerpt: String,
    },
    /// A count of the header differs from the content.
    #[error("the dataset says it has {said} {what}, but it has {found}")]
    Count {
        /// Kind of the counted things.
        what: String,
        /// Count in the header.
        said: u64,
        /// Count of the content.
        found: u64,
    },
    /// The file continues after its end mark.
    #[error("the dataset goes on after its end")]
    AfterEnd,
}

/// Error in a line of the header.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HeaderFault {
    /// A different line is expected.
    #[error("expected a line '{0}'")]
    Expected(&'static str),
    /// The line is longer than allowed.
    #[error("the line has more than {LINE_BYTES_MAX} bytes")]
    TooLong,
}

/// Error in the line of an entry.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EntryFault {
    /// The entry has not three fields, or an invalid one.
    #[error("expected: bytes shared with the path before, sizes, and the rest of the path")]
    Fields,
    /// The shared length exceeds the previous path.
    #[error("shares more bytes with the path before than that has")]
    Shared,
    /// The entry has not one, two or four sizes.
    #[error("expected one, two or four of: a size, '-', 'l', 'd'; not all '-'")]
    Sizes,
    /// A byte is not escaped, or an escape is invalid.
    #[error("expected printable ASCII, anything else as \\x and two digits 0-9a-f")]
    Escape,
    /// The entry is out of order.
    #[error("the paths are not in order, or one comes twice")]
    Order,
    /// The sizes of a list sum up to 2^63 or more.
    #[error("the sizes sum up to more than 9223372036854775807 bytes")]
    TooManyBytes,
    /// The path cannot be part of a tree.
    #[error(transparent)]
    Path(NameError),
    /// The line is longer than allowed.
    #[error("the line has more than {LINE_BYTES_MAX} bytes")]
    TooLong,
}

/// Reads a dataset.
///
/// # Errors
/// When the stream cannot be read, is no dataset, is newer than this treering, or makes no sense.
pub fn read(reader: impl Read) -> Result<Dataset, FormatError> {
    read_within(reader, &ReaderLimits::default())
}

/// Reads only the header of a dataset.
///
/// # Errors
/// As [`read`], as far as the header shows.
pub fn read_header(reader: impl Read) -> Result<Header, FormatError> {
    header(&mut decompressed(reader)?)
}

/// Reads a dataset within the given limits.
///
/// # Errors
/// As [`read`].
pub fn read_within(reader: impl Read, limits: &ReaderLimits) -> Result<Dataset, FormatError> {
    let mut lines = decompressed(reader)?;
    let header = header(&mut lines)?;
    if header.entries > limits.names {
        return Err(FormatError::TooLarge(*limits));
    }
    let mut body = ParsedEntries::default();
    let mut entries = 0;
    loop {
        let line = match lines.next() {
            Ok(line) => line.ok_or_else(cut_off)?,
            Err(LineError::TooLong) => return Err(entry_error(&lines, (1, EntryFault::TooLong))),
            Err(LineError::Read(error)) => return Err(stream_error(error)),
        };
        if let Some(end) = line.strip_prefix(b"end ") {
            let declared = number(end).map_err(|_| cut_off())?;
            expect_count("entries before its end", declared, entries)?;
            break;
        }
        if entries == header.entries {
            return Err(miscounted("entries", entries, entries + 1));
        }
        let read = body.read_entry(line);
        read.map_err(|fault| entry_error(&lines, fault))?;
        entries += 1;
        if body.names.len() as u64 > limits.names || lines.bytes() > limits.text_bytes {
            return Err(FormatError::TooLarge(*limits));
        }
    }
    match lines.next() {
        Ok(None) => {}
        Ok(Some(_)) | Err(LineError::TooLong) => return Err(FormatError::AfterEnd),
        Err(LineError::Read(error)) => return Err(stream_error(error)),
    }
    body.finish(header, entries)
}

/// Lines of the decompressed text.
type DecodedLines<R> =
    LineReader<BufReader<Decoder<'static, BufReader<io::Chain<io::Cursor<Vec<u8>>, R>>>>>;

fn decompressed<R: Read>(mut reader: R) -> Result<DecodedLines<R>, FormatError> {
    const ZSTD_MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
    let mut magic = Vec::with_capacity(ZSTD_MAGIC.len());
    reader.by_ref().take(4).read_to_end(&mut magic).map_err(FormatError::Read)?;
    if magic != ZSTD_MAGIC {
        return Err(FormatError::NotADataset);
    }
    let whole = io::Cursor::new(magic).chain(reader);
    let mut decoder = Decoder::new(whole).map_err(FormatError::Read)?;
    decoder.window_log_max(WINDOW_LOG).map_err(FormatError::Read)?;
    Ok(LineReader::new(BufReader::with_capacity(64 * 1024, decoder), LINE_BYTES_MAX))
}

/// Converts an error of the stream: kernel errors have an errno, decompression errors have none.
fn stream_error(error: io::Error) -> FormatError {
    if error.raw_os_error().is_some() {
        FormatError::Read(error)
    } else {
        FormatError::Damaged(error)
    }
}

fn cut_off() -> FormatError {
    FormatError::Damaged(io::Error::new(io::ErrorKind::UnexpectedEof, "there is no end line"))
}

fn entry_error<R: BufRead>(
    lines: &LineReader<R>,
    (column, fault): (usize, EntryFault),
) -> FormatError {
    FormatError::Entry { line: lines.number(), column, fault, excerpt: shown(lines, column) }
}

fn header_error<R: BufRead>(lines: &LineReader<R>, fault: HeaderFault) -> FormatError {
    FormatError::Header { line: lines.number(), fault, excerpt: shown(lines, 1) }
}

/// Last line with a caret below this column.
fn shown<R: BufRead>(lines: &LineReader<R>, column: usize) -> String {
    let line = usize::try_from(lines.number()).unwrap_or(usize::MAX);
    let excerpt = in_line(lines.last(), Place::new(line, column));
    excerpt.map_or_else(String::new, |excerpt| format!("\n{excerpt}"))
}

fn miscounted(counted: &str, declared: u64, actual: u64) -> FormatError {
    FormatError::Count { what: counted.to_owned(), said: declared, found: actual }
}

fn expect_count(counted: &str, declared: u64, actual: u64) -> Result<(), FormatError> {
    if declared == actual { Ok(()) } else { Err(miscounted(counted, declared, actual)) }
}

fn header<R: BufRead>(lines: &mut LineReader<R>) -> Result<Header, FormatError> {
    let version = match field(lines, MAGIC, "treering-dataset VERSION") {
        Ok(text) => number(text).ok().filter(|version| *version > 0),
        Err(FormatError::Header { .. }) => None,
        Err(other) => return Err(other),
    };
    let version = version.ok_or(FormatError::NotADataset)?;
    if version > VERSION {
        return Err(FormatError::Newer { version });
    }
    let name = text(lines, "name", "name NAME", |name| check_title(name).is_ok())?;
    let about = text(lines, "about", "about TEXT", |_| true)?;
    let entries = one_number(lines, "entries", "entries NUMBER")?;
    let mut lists = [ListCount::default(); 4];
    for (state, list) in TreeState::ALL.iter().zip(&mut lists) {
        *list = list_count(lines, state.label())?;
    }
    let links = one_number(lines, "links", "links NUMBER")?;
    let empty_directories = one_number(lines, "empty-directories", "empty-directories NUMBER")?;
    if !header_line(lines)?.is_empty() {
        return Err(expected(lines, ""));
    }
    Ok(Header { version, name, about, entries, lists, links, empty_directories })
}

fn expected<R: BufRead>(lines: &LineReader<R>, expected_value: &'static str) -> FormatError {
    header_error(lines, HeaderFault::Expected(expected_value))
}

fn header_line<R: BufRead>(lines: &mut LineReader<R>) -> Result<&[u8], FormatError> {
    match lines.next() {
        Ok(Some(_)) => Ok(lines.last()),
        Ok(None) => Err(cut_off()),
        Err(LineError::TooLong) => Err(header_error(lines, HeaderFault::TooLong)),
        Err(LineError::Read(error)) => Err(stream_error(error)),
    }
}

/// Reads a header line, and returns the text after the key and a blank.
fn field<'l, R: BufRead>(
    lines: &'l mut LineReader<R>,
    key: &str,
    wanted: &'static str,
) -> Result<&'l [u8], FormatError> {
    let line = header_line(lines)?;
    let is_it = line.strip_prefix(key.as_bytes()).is_some_and(|tail| tail.first() == Some(&b' '));
    if is_it { Ok(&lines.last()[key.len() + 1..]) } else { Err(expected(lines, wanted)) }
}

fn text<R: BufRead>(
    lines: &mut LineReader<R>,
    key: &str,
    wanted: &'static str,
    is_good: impl FnOnce(&str) -> bool,
) -> Result<String, FormatError> {
    let mut bytes = Vec::new();
    let escaped = field(lines, key, wanted)?;
    let text = unescape(escaped, &mut bytes).ok().and_then(|()| String::from_utf8(bytes).ok());
    text.filter(|text| is_good(text)).ok_or_else(|| expected(lines, wanted))
}

fn one_number<R: BufRead>(
    lines: &mut LineReader<R>,
    key: &str,
    wanted: &'static str,
) -> Result<u64, FormatError> {
    let value = number(field(lines, key, wanted)?);
    value.map_err(|_| expected(lines, wanted))
}

fn list_count<R: BufRead>(lines: &mut LineReader<R>, key: &str) -> Result<ListCount, FormatError> {
    const WHAT: &str = "clean|patched|compiled|patched-compiled FILES BYTES";
    let text = field(lines, key, WHAT)?;
    let mut fields = text.split(|byte| *byte == b' ').map(|field| number(field).ok());
    let count = match (fields.next().flatten(), fields.next().flatten(), fields.next()) {
        (Some(files), Some(bytes), None) => Some(ListCount { files, bytes }),
        _ => None,
    };
    count.ok_or_else(|| expected(lines, WHAT))
}

/// Error and its column.
type ColumnFault = (usize, EntryFault);

/// Entries read so far.
#[derive(Default)]
struct ParsedEntries {
    names: NamesBuilder,
    lists: [FileList; 4],
    links: Vec<(NameId, StateSet)>,
    empty_directories: Vec<(NameId, StateSet)>,
    previous: Vec<u8>,
    path: Vec<u8>,
}

impl ParsedEntries {
    fn read_entry(&mut self, line: &[u8]) -> Result<(), ColumnFault> {
        let mut fields = line.splitn(3, |byte| *byte == b' ');
        let (Some(shared), Some(sizes), Some(tail)) = (fields.next(), fields.next(), fields.next())
        else {
            return Err((1, EntryFault::Fields));
        };
        let sizes_column = shared.len() + 2;
        let rest_column = sizes_column + sizes.len() + 1;
        let shared = number(shared).map_err(|_| (1, EntryFault::Fields))?;
        let shared = usize::try_from(shared).ok().filter(|shared| *shared <= self.previous.len());
        let shared = shared.ok_or((1, EntryFault::Shared))?;
        self.path.clear();
        self.path.extend_from_slice(&self.previous[..shared]);
        unescape(tail, &mut self.path)
            .map_err(|place| (rest_column + place, EntryFault::Escape))?;
        if compare(&self.previous[shared..], &self.path[shared..]).is_ge() {
            return Err((rest_column, EntryFault::Order));
        }
        let beings = beings(sizes).map_err(|(place, fault)| (sizes_column + place, fault))?;
        self.add(beings).map_err(|(byte, fault)| {
            let byte = byte.saturating_sub(shared);
            (rest_column + escaped_bytes(tail, byte), fault)
        })?;
        std::mem::swap(&mut self.path, &mut self.previous);
        Ok(())
    }

    /// Adds an entry. The column of an error is a byte of the path, from 0.
    fn add(&mut self, beings: [EntryState; 4]) -> Result<(), ColumnFault> {
        let is_directory = beings.contains(&EntryState::EmptyDirectory);
        let kind = if is_directory { NodeKind::Directory } else { NodeKind::File };
        let id = self
            .names
            .add(&self.path, kind)
            .map_err(|error| (column_of(&self.path, error) - 1, EntryFault::Path(error)))?;
        let (mut links, mut empty) = (StateSet::default(), StateSet::default());
        for (state, being) in TreeState::ALL.into_iter().zip(beings) {
            match being {
                EntryState::Absent => {}
                EntryState::File(_) | EntryState::Link if is_directory => {
                    return Err((0, EntryFault::Path(NameError::KindConflict)));
                }
                EntryState::File(size) => {
                    let pushed = self.lists[state.index()].try_push(id, size);
                    pushed.map_err(|_| (0, EntryFault::TooManyBytes))?;
                }
                EntryState::Link => links = links.with(state),
                EntryState::EmptyDirectory => empty = empty.with(state),
            }
        }
        if !links.is_empty() {
            self.links.push((id, links));
        }
        if !empty.is_empty() {
            self.empty_directories.push((id, empty));
        }
        Ok(())
    }

    fn finish(self, header: Header, entries: u64) -> Result<Dataset, FormatError> {
        expect_count("entries", header.entries, entries)?;
        for (state, list) in TreeState::ALL.into_iter().zip(&self.lists) {
            let (declared, label) = (header.list(state), state.label());
            expect_count(&format!("{label} files"), declared.files, list.len() as u64)?;
            expect_count(&format!("{label} bytes"), declared.bytes, list.bytes())?;
        }
        expect_count("links", header.links, self.links.len() as u64)?;
        let empty = self.empty_directories.len() as u64;
        expect_count("empty directories", header.empty_directories, empty)?;
        let mut dataset = Dataset::from_lists(&header.name, self.names.build(), self.lists);
        dataset.about = header.about;
        dataset.links = self.links;
        dataset.empty_directories = self.empty_directories;
        Ok(dataset)
    }
}

/// Parses an entry's state in the four trees: one for all, one for each version, or one for each
/// tree.
fn beings(field: &[u8]) -> Result<[EntryState; 4], ColumnFault> {
    let mut beings = [EntryState::Absent; 4];
    let mut count = 0;
    let mut place = 0;
    for part in field.split(|byte| *byte == b':') {
        let slot = beings.get_mut(count).ok_or((place, EntryFault::Sizes))?;
        *slot = being(part).map_err(|fault| (place, fault))?;
        count += 1;
        place += part.len() + 1;
    }
    let [a, b, ..] = beings;
    let beings = match count {
        1 => [a; 4],
        2 => [a, b, a, b],
        4 => beings,
        _ => return Err((0, EntryFault::Sizes)),
    };
    if beings == [EntryState::Absent; 4] { Err((0, EntryFault::Sizes)) } else { Ok(beings) }
}

fn being(part: &[u8]) -> Result<EntryState, EntryFault> {
    match part {
        b"-" => Ok(EntryState::Absent),
        b"l" => Ok(EntryState::Link),
        b"d" => Ok(EntryState::EmptyDirectory),
        digits => match number(digits) {
            Ok(size) => Ok(EntryState::File(size)),
            Err(NumberError::TooBig) => Err(EntryFault::TooManyBytes),
            Err(NumberError::NotADigit(_)) => Err(EntryFault::Sizes),
        },
    }
}
