//! Dataset format of the original: four text files, one `path size` a line.
//!
//! Files are read as streams, line by line; no path outlives its line. Reading never panics or
//! hangs, whatever the bytes. The interpretation of the lists is left to the operations.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use thiserror::Error;
use treering_script::{ConfigError, NameError, NameId, NamesBuilder, NodeKind, path_components};

use super::lines::{LineError, LineReader, NumberError, number};
use super::{Dataset, FileList, TreeState};
use treering_kit::excerpt::in_line;
use treering_kit::faults::{FAULTS_MAX, Place, combined};

/// Longest line in bytes; Linux allows no path that needs more.
const LINE_BYTES_MAX: usize = 8192;

/// Buffer size for reading files, in bytes.
const PIECE_BYTES: usize = 256 * 1024;

impl TreeState {
    /// Name of the original's file for this state.
    pub const fn classic_file(self) -> &'static str {
        match self {
            Self::Unpatched => "dataset-unpatched",
            Self::Patched => "dataset-patched",
            Self::UnpatchedCompiled => "dataset-unpatched-compiled",
            Self::PatchedCompiled => "dataset-patched-compiled",
        }
    }
}

/// Error of a dataset in the original's format.
#[derive(Debug, Error)]
pub enum ClassicError {
    /// A file of the four is missing.
    #[error(
        "{} is missing; the original's dataset is four files in one directory: dataset-unpatched, \
         dataset-patched, dataset-unpatched-compiled and dataset-patched-compiled",
        .file.display()
    )]
    Missing {
        /// Path of the file.
        file: PathBuf,
        /// Error of the system call.
        #[source]
        source: io::Error,
    },
    /// A file of the four cannot be opened or read.
    #[error("cannot read {}", .file.display())]
    Read {
        /// Path of the file.
        file: PathBuf,
        /// Error of the system call.
        #[source]
        source: io::Error,
    },
    /// Invalid lines, each with a caret and a hint.
    #[error("{}", as_error(.0).message)]
    Lines(Vec<WrongLine>),
}

impl ClassicError {
    /// Hint how to correct the error, where the message gives none.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Lines(lines) => as_error(lines).hint,
            Self::Missing { .. } | Self::Read { .. } => None,
        }
    }
}

/// Invalid line.
#[derive(Clone, Debug)]
pub struct WrongLine {
    /// Path of the file.
    pub file: PathBuf,
    /// Line number, from 1.
    pub line: u64,
    /// Byte in the line, from 1.
    pub column: usize,
    /// Error in the line.
    pub fault: LineFault,
    /// Line with a caret.
    pub excerpt: Option<String>,
}

fn as_error(lines: &[WrongLine]) -> ConfigError {
    let errors = lines.iter().map(|WrongLine { file, line, column, fault, excerpt }| {
        let excerpt = excerpt.as_ref().map_or_else(String::new, |excerpt| format!("\n{excerpt}"));
        let message = format!("{}:{line}:{column}: {fault}{excerpt}", file.display());
        ConfigError { message, hint: fault.right().map(str::to_owned) }
    });
    combined(errors.collect(), 0)
}

/// Error in a line of a list.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LineFault {
    /// The line is longer than a path and a size can be.
    #[error("the line has more than {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// The line has only one field.
    #[error("the size is missing")]
    NoSize,
    /// The text after the last blank is not a number.
    #[error("the size has something else than digits")]
    SizeNotANumber,
    /// The size is 2^63 or more.
    #[error("the size is too big")]
    SizeTooBig,
    /// The sum of sizes reaches 2^63 with this line.
    #[error("with this file the list has more than 9223372036854775807 bytes")]
    TotalTooBig,
    /// The path occurs twice in the list.
    #[error("the path is in this list already")]
    Duplicate,
    /// The path cannot be part of a tree.
    #[error(transparent)]
    Path(NameError),
}

impl LineFault {
    /// Hint how to correct the error, where the message does not show it.
    const fn right(&self) -> Option<&'static str> {
        match self {
            Self::TooLong => Some("a line is one path and its size"),
            Self::NoSize => Some(
                "a line is a path, one blank and the size in bytes; a path with blanks needs a \
                 size after its last one",
            ),
            Self::SizeNotANumber => Some("what follows the last blank is a size in bytes"),
            Self::SizeTooBig => Some("a file has at most 9223372036854775807 bytes"),
            Self::TotalTooBig => Some("the sum of all sizes of a list must fit as well"),
            Self::Duplicate => Some("a list has every path once"),
            Self::Path(_) => None,
        }
    }

    /// True if later lines of the list cannot be checked.
    const fn ends_list(&self) -> bool {
        matches!(self, Self::TooLong | Self::TotalTooBig)
    }
}

/// Reads the original's four files from a directory.
///
/// # Errors
/// When a file is missing or unreadable, or lines make no sense; then file, line and column are
/// named.
pub fn read_directory(name: &str, directory: &Path) -> Result<Dataset, ClassicError> {
    let mut readers = Vec::with_capacity(TreeState::ALL.len());
    for state in TreeState::ALL {
        let file = directory.join(state.classic_file());
        match File::open(&file) {
            Ok(reader) => readers.push((file, BufReader::with_capacity(PIECE_BYTES, reader))),
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                return Err(ClassicError::Missing { file, source });
            }
            Err(source) => return Err(ClassicError::Read { file, source }),
        }
    }
    let sources = readers.try_into().unwrap_or_else(|_| unreachable!("one reader for each state"));
    read_lists(name, sources)
}

/// Reads the four lists, in the order of [`TreeState::ALL`], from streams. The paths are only for
/// errors.
///
/// # Errors
/// When a stream cannot be read or a line makes no sense.
pub fn read_lists<R: BufRead>(
    name: &str,
    sources: [(PathBuf, R); 4],
) -> Result<Dataset, ClassicError> {
    let mut names = NamesBuilder::default();
    let mut lists = [const { FileList { names: Vec::new(), sizes: Vec::new(), bytes: 0 } }; 4];
    let mut wrong = Vec::new();
    for (list, (file, reader)) in lists.iter_mut().zip(sources) {
        read_list(&file, reader, &mut names, list, &mut wrong)?;
    }
    if !wrong.is_empty() {
        return Err(ClassicError::Lines(wrong));
    }
    Ok(Dataset::from_lists(name, names.build(), lists))
}

fn read_list<R: BufRead>(
    file: &Path,
    reader: R,
    names: &mut NamesBuilder,
    list: &mut FileList,
    wrong: &mut Vec<WrongLine>,
) -> Result<(), ClassicError> {
    let mut lines = LineReader::new(reader, LINE_BYTES_MAX);
    let mut seen = NameSet::default();
    while wrong.len() < FAULTS_MAX {
        let read = match lines.next() {
            Ok(Some(line)) => read_line(line, names, &mut seen, list),
            Ok(None) => return Ok(()),
            Err(LineError::TooLong) => Err((LINE_BYTES_MAX + 1, LineFault::TooLong)),
            Err(LineError::Read(source)) => {
                return Err(ClassicError::Read { file: file.to_owned(), source });
            }
        };
        let Err((column, fault)) = read else { continue };
        let line = lines.number();
        let place = Place::new(usize::try_from(line).unwrap_or(usize::MAX), column);
        let excerpt = in_line(lines.last(), place);
        let ends_list = fault.ends_list();
        wrong.push(WrongLine { file: file.to_owned(), line, column, fault, excerpt });
        if ends_list {
            break;
        }
    }
    Ok(())
}

/// Error and its column.
type ColumnFault = (usize, LineFault);

fn read_line(
    line: &[u8],
    names: &mut NamesBuilder,
    seen: &mut NameSet,
    list: &mut FileList,
) -> Result<(), ColumnFault> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return Ok(());
    }
    let (path, size, size_column) = path_and_size(line)?;
    let id = names
        .add(path, NodeKind::File)
        .map_err(|error| (column_of(path, error), LineFault::Path(error)))?;
    if !seen.insert(id) {
        return Err((1, LineFault::Duplicate));
    }
    list.try_push(id, size).map_err(|_| (size_column, LineFault::TotalTooBig))
}

/// Splits a line at its last blank: the path, the size and the size's column.
fn path_and_size(line: &[u8]) -> Result<(&[u8], u64, usize), ColumnFault> {
    let blank = line.iter().rposition(|byte| matches!(byte, b' ' | b'\t'));
    let Some(blank) = blank.filter(|blank| blank + 1 < line.len()) else {
        return Err((line.len() + 1, LineFault::NoSize));
    };
    let start = blank + 1;
    let size = number(&line[start..]).map_err(|error| match error {
        NumberError::NotADigit(place) => (start + place + 1, LineFault::SizeNotANumber),
        NumberError::TooBig => (start + 1, LineFault::SizeTooBig),
    })?;
    Ok((&line[..blank], size, start + 1))
}

/// Column at which a path becomes invalid, if the error has one.
pub(super) fn column_of(path: &[u8], error: NameError) -> usize {
    let nul = || path.iter().position(|byte| *byte == 0);
    let component = || {
        let mut start = 0;
        for component in path.split(|byte| *byte == b'/') {
            if path_components(component).err() == Some(error) {
                return Some(start);
            }
            start += component.len() + 1;
        }
        None
    };
    let place = if error == NameError::Nul { nul() } else { component() };
    place.unwrap_or(0) + 1
}

/// Set of names in a list, one bit each.
#[derive(Default)]
struct NameSet(Vec<u64>);

impl NameSet {
    /// Marks the name; false if it was marked before.
    fn insert(&mut self, id: NameId) -> bool {
        let (word, bit) = (id.index() / 64, 1 << (id.index() % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};
    use treering_script::NameError;

    use super::{ClassicError, FAULTS_MAX, LINE_BYTES_MAX, LineFault, WrongLine, read_lists};
    use crate::language::{Dataset, TreeState};

    fn read(lists: [&[u8]; 4]) -> Result<Dataset, ClassicError> {
        let mut states = TreeState::ALL.iter();
        let sources =
            lists.map(|list| (PathBuf::from(states.next().unwrap().classic_file()), list));
        read_lists("test", sources)
    }

    /// File, line, column and kind of the error in these lists.
    fn fault(lists: [&[u8]; 4]) -> (String, u64, usize, LineFault) {
        match read(lists) {
            Err(ClassicError::Lines(mut lines)) => {
                let WrongLine { file, line, column, fault, .. } = lines.remove(0);
                (file.display().to_string(), line, column, fault)
            }
            other => panic!("no fault in a line: {other:?}"),
        }
    }

    fn fault_in(list: &[u8]) -> (u64, usize, LineFault) {
        let (file, line, column, fault) = fault([b"good 1\n", list, b"", b""]);
        assert_eq!(file, "dataset-patched");
        (line, column, fault)
    }

    fn content(dataset: &Dataset, state: TreeState) -> Vec<(String, u64)> {
        let list = dataset.list(state).iter();
        list.map(|(id, size)| (dataset.names.display_path(id), size)).collect()
    }

    #[test]
    fn lists_share_names_but_not_sizes() {
        let dataset = read([b"a/b 1\nc 2\n", b"a/b 3\nd 4", b"c 5\n", b""]).unwrap();
        let list = |state| content(&dataset, state);
        assert_eq!(list(TreeState::Unpatched), [("a/b".to_owned(), 1), ("c".to_owned(), 2)]);
        assert_eq!(list(TreeState::Patched), [("a/b".to_owned(), 3), ("d".to_owned(), 4)]);
        assert_eq!(list(TreeState::UnpatchedCompiled), [("c".to_owned(), 5)]);
        assert_eq!(list(TreeState::PatchedCompiled), []);
        assert_eq!(dataset.names.len(), 5);
        assert_eq!(dataset.patched.bytes(), 7);
    }

    #[test]
    fn line_ends_blanks_and_unprintable_bytes_are_accepted() {
        let text = b"\r\na 1\r\n\n with blank 2\nx  y\t3\n\xff\xfe/\x01 4\nlast 0007";
        let dataset = read([text, b"", b"", b""]).unwrap();
        let expected =
            [("a", 1), (" with blank", 2), ("x  y", 3), ("\\xff\\xfe/\\x01", 4), ("last", 7)]
                .map(|(path, size)| (path.to_owned(), size));
        assert_eq!(content(&dataset, TreeState::Unpatched), expected);
    }

    #[test]
    fn paths_that_lead_outside_are_refused() {
        use NameError::{Absolute, Dots, EmptyComponent, LongComponent, LongPath, Nul};
        let long_name = [b"a/".as_slice(), &[b'x'; 256], b" 1"].concat();
        let deep = [b"d/".repeat(250).as_slice(), b"x 1"].concat();
        for (line, column, error) in [
            (b"../etc/passwd 1".as_slice(), 1, Dots),
            (b"a/../../b 1", 3, Dots),
            (b"a/. 1", 3, Dots),
            (b"/etc/passwd 1", 1, Absolute),
            (b"a\0b 1", 2, Nul),
            (b"a//b 1", 3, EmptyComponent),
            (b"a/ 1", 3, EmptyComponent),
            (b" 1", 1, EmptyComponent),
            (&long_name, 3, LongComponent),
            (&deep, 1, LongPath),
        ] {
            let text = [b"fine 1\n".as_slice(), line].concat();
            assert_eq!(fault_in(&text), (2, column, LineFault::Path(error)));
        }
    }

    #[test]
    fn duplicates_are_refused_within_a_list_only() {
        assert_eq!(fault_in(b"a 1\nb 1\na 1\n"), (3, 1, LineFault::Duplicate));
        assert!(read([b"a 1\n"; 4]).is_ok());
    }

    #[test]
    fn a_file_that_is_also_a_directory_is_refused_in_any_list() {
        let conflict = LineFault::Path(NameError::KindConflict);
        assert_eq!(fault_in(b"a/b 1\na 1\n"), (2, 1, conflict.clone()));
        assert_eq!(fault_in(b"a 1\na/b 1\n"), (2, 1, conflict.clone()));
        let across = fault([b"a/b 1\n", b"", b"", b"c 1\n\na 1\n"]);
        assert_eq!(across, ("dataset-patched-compiled".to_owned(), 3, 1, conflict));
    }

    #[test]
    fn missing_and_oversized_sizes_are_refused() {
        assert_eq!(fault_in(b"fs/inode.c\n"), (1, 11, LineFault::NoSize));
        assert_eq!(fault_in(b"fs/inode.c \n"), (1, 12, LineFault::NoSize));
        assert_eq!(fault_in(b"17\n"), (1, 3, LineFault::NoSize));
        assert_eq!(fault_in(b"with blank\n"), (1, 6, LineFault::SizeNotANumber));
        assert_eq!(fault_in(b"a -1\n"), (1, 3, LineFault::SizeNotANumber));
        assert_eq!(fault_in(b"a 12k\n"), (1, 5, LineFault::SizeNotANumber));
        assert_eq!(fault_in(b"a 9223372036854775808\n"), (1, 3, LineFault::SizeTooBig));
        assert_eq!(fault_in(b"a 99999999999999999999999\n"), (1, 3, LineFault::SizeTooBig));
        let sum = b"a 9223372036854775807\nbb 1\n";
        assert_eq!(fault_in(sum), (2, 4, LineFault::TotalTooBig));
        let most = read([b"a 9223372036854775807\nb 0\n", b"", b"", b""]).unwrap();
        assert_eq!(most.unpatched.bytes(), i64::MAX.unsigned_abs());
    }

    #[test]
    fn long_lines_are_refused() {
        let line = [b"a".repeat(LINE_BYTES_MAX).as_slice(), b" 1\n"].concat();
        let place = (1, LINE_BYTES_MAX + 1, LineFault::TooLong);
        assert_eq!(fault_in(&line), place);
    }

    #[test]
    fn errors_contain_position_cause_and_hint() {
        let error = read([b"a 1\nb\nc 1k\n", b"/a 1\n", b"", b""]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "dataset-unpatched:2:2: the size is missing\n  2 | b\n    |  ^\n  hint: a line is a path, \
             one blank and the size in bytes; a path with blanks needs a size after its last one\n\
             dataset-unpatched:3:4: the size has something else than digits\n  3 | c 1k\n    |    ^\n  \
             hint: what follows the last blank is a size in bytes\ndataset-patched:1:1: the path is \
             absolute; it must be relative to the tree\n  1 | /a 1\n    | ^"
        );
        assert_eq!(error.hint(), None);
        let right = read([b"a 1\na 1\n", b"", b"", b""]).unwrap_err().hint();
        assert_eq!(right.as_deref(), Some("a list has every path once"));
        let many = "x\n".repeat(FAULTS_MAX + 1);
        let Err(ClassicError::Lines(lines)) = read([many.as_bytes(); 4]) else { panic!() };
        assert_eq!(lines.len(), FAULTS_MAX);
    }

    #[test]
    fn a_missing_file_is_named_with_the_other_three() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("dataset-unpatched"), "a 1\n").unwrap();
        let error = super::read_directory("test", dir.path()).unwrap_err().to_string();
        assert!(error.contains("dataset-patched is missing"), "{error}");
        assert!(
            error.contains("dataset-unpatched-compiled and dataset-patched-compiled"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_dataset_or_an_error(lists in vec(vec(any::<u8>(), 0..200), 4)) {
            let _ = read([&lists[0], &lists[1], &lists[2], &lists[3]]);
        }

        #[test]
        fn near_lines_give_a_dataset_or_an_error(text in "([a./\\\\ \t0-9\r\n]|a 1\n){0,60}") {
            if let Ok(dataset) = read([text.as_bytes(), text.as_bytes(), b"", b""]) {
                assert_eq!(dataset.unpatched.len(), dataset.patched.len());
            }
        }
    }
}
