//! Writer of treering's dataset files. The library decides where the file goes.

use std::io::{self, Write};

use thiserror::Error;
use treering_script::{NameId, NameTree, NodeKind};
use zstd::stream::raw::CParameter;
use zstd::stream::write::Encoder;

use super::escape::escape;
use super::{EntryState, Header, ListCount, MAGIC, VERSION, WINDOW_LOG};
use crate::language::order::{ranks, sorted_places, walk_order};
use crate::language::title::{TitleError, check_title};
use crate::language::{Dataset, FileList, StateSet, TreeState};

/// Longest `about` in bytes.
pub(super) const ABOUT_BYTES_MAX: usize = 1000;

/// Compression level of shipped datasets and ordinary trees.
const LEVEL: i32 = 19;

/// Compression level of trees with more entries than this, where the best level would take minutes.
const LEVEL_HUGE: i32 = 6;
const HUGE_ENTRIES: u64 = 1_000_000;

/// Error of writing a dataset.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The name is not allowed.
    #[error(transparent)]
    Title(#[from] TitleError),
    /// The description of the origin is too long.
    #[error("the text about the dataset has more than {ABOUT_BYTES_MAX} bytes")]
    LongAbout,
    /// The lists contradict each other.
    #[error("the dataset has a path twice in one list, or lists a directory as a file")]
    Inconsistent,
    /// The stream cannot be written.
    #[error("cannot write the dataset")]
    Write(#[from] io::Error),
}

/// Writes a dataset and returns the stream, flushed but not synced.
///
/// # Errors
/// When the name or the text about it cannot be kept, a list contradicts itself, or the stream
/// cannot be written.
pub fn write<W: Write>(dataset: &Dataset, out: W) -> Result<W, WriteError> {
    check_title(&dataset.name)?;
    if dataset.about.len() > ABOUT_BYTES_MAX {
        return Err(WriteError::LongAbout);
    }
    let mut entries = EntryWalk::new(dataset);
    let header = header(dataset, &mut entries)?;
    let mut out = encoder(out, header.entries)?;
    write_header(&header, &mut out)?;
    let (mut path, mut previous, mut line) = (Vec::new(), Vec::new(), Vec::new());
    entries.rewind();
    while let Some((id, beings)) = entries.next() {
        path.clear();
        dataset.names.write_path(id, &mut path);
        line.clear();
        write_entry(&previous, &path, beings, &mut line);
        out.write_all(&line)?;
        std::mem::swap(&mut path, &mut previous);
    }
    writeln!(out, "end {}", header.entries)?;
    let mut out = out.finish()?;
    out.flush()?;
    Ok(out)
}

/// Creates an encoder with a window for the whole text, up to the limit of a reader. Its memory
/// grows with the window, so a small dataset needs little.
fn encoder<W: Write>(out: W, entries: u64) -> io::Result<Encoder<'static, W>> {
    const LINE_BYTES: u64 = 32;
    let is_huge = entries > HUGE_ENTRIES;
    let mut out = Encoder::new(out, if is_huge { LEVEL_HUGE } else { LEVEL })?;
    let window = (entries.saturating_mul(LINE_BYTES).max(1).ilog2() + 1).clamp(16, WINDOW_LOG);
    out.set_parameter(CParameter::WindowLog(window))?;
    if !is_huge {
        out.set_parameter(CParameter::HashLog(window))?;
        out.set_parameter(CParameter::ChainLog(window + 1))?;
    }
    out.include_checksum(true)?;
    Ok(out)
}

/// Computes the header by a first pass over all entries.
fn header(dataset: &Dataset, entries: &mut EntryWalk<'_>) -> Result<Header, WriteError> {
    let count = |list: &FileList| ListCount { files: list.len() as u64, bytes: list.bytes() };
    let mut header = Header {
        version: VERSION,
        name: dataset.name.clone(),
        about: dataset.about.clone(),
        entries: 0,
        lists: TreeState::ALL.map(|state| count(dataset.list(state))),
        links: 0,
        empty_directories: 0,
    };
    while let Some((_, beings)) = entries.next() {
        header.entries += 1;
        header.links += u64::from(beings.contains(&EntryState::Link));
        header.empty_directories += u64::from(beings.contains(&EntryState::EmptyDirectory));
    }
    if entries.are_all_taken() { Ok(header) } else { Err(WriteError::Inconsistent) }
}

fn write_header(header: &Header, out: &mut impl Write) -> io::Result<()> {
    let mut about = Vec::new();
    escape(header.about.as_bytes(), &mut about);
    writeln!(out, "{MAGIC} {}", header.version)?;
    writeln!(out, "name {}", header.name)?;
    out.write_all(b"about ")?;
    out.write_all(&about)?;
    writeln!(out, "\nentries {}", header.entries)?;
    for state in TreeState::ALL {
        let count = header.list(state);
        writeln!(out, "{} {} {}", state.label(), count.files, count.bytes)?;
    }
    writeln!(out, "links {}", header.links)?;
    writeln!(out, "empty-directories {}\n", header.empty_directories)
}

/// Formats `SHARED STATES REST`: the length shared with the previous path, the entry's states, and
/// the rest of the path.
fn write_entry(previous: &[u8], path: &[u8], beings: [EntryState; 4], line: &mut Vec<u8>) {
    let shared = previous.iter().zip(path).take_while(|(a, b)| a == b).count();
    let [clean, patched, compiled, patched_compiled] = beings;
    write_all(line, format_args!("{shared} "));
    write_being(clean, line);
    if beings != [clean; 4] {
        line.push(b':');
        write_being(patched, line);
        if (clean, patched) != (compiled, patched_compiled) {
            line.push(b':');
            write_being(compiled, line);
            line.push(b':');
            write_being(patched_compiled, line);
        }
    }
    line.push(b' ');
    escape(&path[shared..], line);
    line.push(b'\n');
}

fn write_being(being: EntryState, line: &mut Vec<u8>) {
    match being {
        EntryState::Absent => line.push(b'-'),
        EntryState::File(size) => write_all(line, format_args!("{size}")),
        EntryState::Link => line.push(b'l'),
        EntryState::EmptyDirectory => line.push(b'd'),
    }
}

fn write_all(line: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    line.write_fmt(text).expect("a vector takes everything");
}

/// Names of a dataset in walk order, with the entry's state in the four trees.
struct EntryWalk<'a> {
    names: &'a NameTree,
    order: Vec<NameId>,
    next: usize,
    files: [ListCursor<'a>; 4],
    links: MarkCursor,
    empty: MarkCursor,
}

impl<'a> EntryWalk<'a> {
    fn new(dataset: &'a Dataset) -> Self {
        let order = walk_order(&dataset.names);
        let ranks = ranks(&order);
        Self {
            names: &dataset.names,
            next: 0,
            files: TreeState::ALL.map(|state| ListCursor::new(dataset.list(state), &ranks)),
            links: MarkCursor::new(&dataset.links, &ranks),
            empty: MarkCursor::new(&dataset.empty_directories, &ranks),
            order,
        }
    }

    fn rewind(&mut self) {
        self.next = 0;
        self.files.iter_mut().for_each(|cursor| cursor.next = 0);
        self.links.next = 0;
        self.empty.next = 0;
    }

    /// True if each listed file was met during the walk.
    fn are_all_taken(&self) -> bool {
        let files = self.files.iter().all(|cursor| cursor.next == cursor.places.len());
        let marks = |marks: &MarkCursor| marks.next == marks.marks.len();
        files && marks(&self.links) && marks(&self.empty)
    }

    fn next(&mut self) -> Option<(NameId, [EntryState; 4])> {
        while let Some(&id) = self.order.get(self.next) {
            self.next += 1;
            let links = self.links.take(id);
            let empty = self.empty.take(id);
            let is_file = self.names.kind(id) == NodeKind::File;
            let beings = TreeState::ALL.map(|state| {
                let files = &mut self.files[state.index()];
                match if is_file { files.take(id) } else { None } {
                    Some(size) => EntryState::File(size),
                    None if links.contains(state) => EntryState::Link,
                    None if empty.contains(state) => EntryState::EmptyDirectory,
                    None => EntryState::Absent,
                }
            });
            if beings != [EntryState::Absent; 4] {
                return Some((id, beings));
            }
        }
        None
    }
}

/// Cursor of a list during the walk.
struct ListCursor<'a> {
    list: &'a FileList,
    places: Vec<u32>,
    next: usize,
}

impl<'a> ListCursor<'a> {
    fn new(list: &'a FileList, ranks: &[u32]) -> Self {
        Self { list, places: sorted_places(list, ranks), next: 0 }
    }

    /// Size of this name, if it is the next of the list.
    fn take(&mut self, id: NameId) -> Option<u64> {
        let place = *self.places.get(self.next)?;
        let (name, size) = self.list.get(place as usize)?;
        (name == id).then(|| {
            self.next += 1;
            size
        })
    }
}

/// Cursor of links or empty directories during the walk.
struct MarkCursor {
    marks: Vec<(u32, NameId, StateSet)>,
    next: usize,
}

impl MarkCursor {
    fn new(marks: &[(NameId, StateSet)], ranks: &[u32]) -> Self {
        let rank = |id: NameId| ranks[id.index()];
        let mut marks: Vec<_> = marks.iter().map(|&(id, states)| (rank(id), id, states)).collect();
        marks.sort_by_key(|mark| mark.0);
        Self { marks, next: 0 }
    }

    fn take(&mut self, id: NameId) -> StateSet {
        let Some(&(_, _, states)) = self.marks.get(self.next).filter(|mark| mark.1 == id) else {
            return StateSet::default();
        };
        self.next += 1;
        states
    }
}
