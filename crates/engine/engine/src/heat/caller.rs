//! Caller that records the reads and writes of another caller.

use std::collections::HashMap;
use std::ffi::CStr;
use std::io;
use std::path::PathBuf;

use treering_script::{
    Buffers, Call, CallError, CallResult, CallSubject, Completion, CreateHow, DirEntries, DirSlot,
    FileSlot, IoQueue, OpenHow, RequestFlags, SyncMode,
};
use treering_stats::Access;
use treering_sys::monotonic_ns;

use super::book::{FileNumber, HeatBook};
use crate::{CallReply, Caller};

/// File that a worker has open.
#[derive(Clone, Copy, Debug)]
struct OpenFile {
    /// Number of the file; `None` if the book is full.
    number: Option<FileNumber>,
    position: u64,
    appends: bool,
}

/// Wrapper that passes calls to another caller and records their accesses.
#[derive(Debug)]
pub(crate) struct HeatCaller<C> {
    caller: C,
    notes: AccessRecorder,
}

#[derive(Debug)]
struct AccessRecorder {
    half_life_ns: u64,
    book: HeatBook,
    roots: Vec<String>,
    /// Names of open directories, each with a trailing slash.
    dirs: HashMap<u16, String>,
    files: HashMap<u16, OpenFile>,
}

impl<C> HeatCaller<C> {
    pub(super) fn new(caller: C, half_life_ns: u64, roots: &[String], worker: u16) -> Self {
        let own = roots.get(usize::from(worker) % roots.len().max(1)).cloned().unwrap_or_default();
        let mut notes = AccessRecorder {
            half_life_ns,
            book: HeatBook::new(half_life_ns),
            roots: roots.to_vec(),
            dirs: HashMap::new(),
            files: HashMap::new(),
        };
        notes.dirs.insert(DirSlot::TARGET.0, as_dir(own));
        Self { caller, notes }
    }
}

/// Adds a trailing slash to a name that is not empty.
fn as_dir(mut name: String) -> String {
    if !name.is_empty() && !name.ends_with('/') {
        name.push('/');
    }
    name
}

impl<C: Caller> Caller for HeatCaller<C> {
    fn call(&mut self, call: &Call<'_>) -> Result<CallReply, CallError> {
        let reply = self.caller.call(call);
        match &reply {
            Ok(reply) => self.notes.note(call, reply.done),
            // Counts the bytes that were written before the failure.
            Err(error) => self.notes.moved(call, CallResult::Bytes(error.bytes)),
        }
        reply
    }

    fn will_make(&mut self, name: &CStr) -> Result<(), CallError> {
        self.caller.will_make(name)
    }

    fn has_made(&mut self, name: &CStr) -> Result<(), CallError> {
        self.caller.has_made(name)
    }

    fn has_not_made(&mut self, name: &CStr) {
        self.caller.has_not_made(name);
    }

    fn has_removed(&mut self, name: &CStr) {
        self.caller.has_removed(name);
    }

    fn entries(&self) -> DirEntries<'_> {
        self.caller.entries()
    }

    fn reaped(&self) -> &[Completion] {
        self.caller.reaped()
    }

    fn path_of(&self, subject: CallSubject<'_>) -> PathBuf {
        self.caller.path_of(subject)
    }

    fn open_through(&mut self, direct: bool, synchronous: SyncMode) {
        self.caller.open_through(direct, synchronous);
    }

    fn by_vectors(&mut self, vectored: Option<RequestFlags>) {
        self.caller.by_vectors(vectored);
    }

    fn by_whole_paths(&mut self, are: bool) -> io::Result<()> {
        self.caller.by_whole_paths(are)
    }

    fn use_buffers(&mut self, buffers: Option<Buffers>) {
        self.caller.use_buffers(buffers);
    }

    fn open_queue(&mut self, queue: Option<IoQueue>) -> io::Result<()> {
        self.caller.open_queue(queue)
    }

    fn close_all(&mut self) {
        self.caller.close_all();
        self.notes.dirs.retain(|slot, _| *slot == DirSlot::TARGET.0);
        self.notes.files.clear();
    }

    fn take_heat(&mut self) -> Option<HeatBook> {
        let empty = HeatBook::new(self.notes.half_life_ns);
        Some(std::mem::replace(&mut self.notes.book, empty)).filter(|book| !book.is_empty())
    }
}

impl AccessRecorder {
    fn path(&self, at: DirSlot, name: &CStr) -> String {
        let dir = self.dirs.get(&at.0).map_or("", String::as_str);
        format!("{dir}{}", name.to_string_lossy())
    }

    /// Records a successful call.
    fn note(&mut self, call: &Call<'_>, done: CallResult) {
        match *call {
            Call::OpenDir { at, path, into } => {
                let name = as_dir(self.path(at, path));
                self.dirs.insert(into.0, name);
            }
            Call::OpenRoot { root, into } => {
                let name = self.roots.get(usize::from(root)).cloned().unwrap_or_default();
                self.dirs.insert(into.0, as_dir(name));
            }
            Call::Create { at, path, how, into } => {
                let number = self.open(at, path, into, how == CreateHow::Append);
                let cuts = matches!(how, CreateHow::Truncate | CreateHow::TruncateToRead);
                if let Some(number) = number.filter(|_| cuts) {
                    self.book.set_end(number, 0);
                }
            }
            Call::Open { how: OpenHow::Directory, into, .. } => {
                self.files.remove(&into.0);
            }
            Call::Open { at, path, how, into } => {
                let number = self.open(at, path, into, how == OpenHow::Append);
                if let (Some(number), CallResult::Size(bytes)) = (number, done) {
                    self.book.set_end(number, bytes);
                }
            }
            Call::Close { file } => {
                self.files.remove(&file.0);
            }
            Call::Unlink { at, path } => {
                let name = self.path(at, path);
                self.book.remove(&name);
            }
            Call::Rename { at, from, to_at, to } => {
                let (from, to) = (self.path(at, from), self.path(to_at, to));
                self.book.rename(&from, &to);
            }
            Call::Seek { file, position } => {
                if let Some(open) = self.files.get_mut(&file.0) {
                    open.position = position;
                }
            }
            Call::Truncate { file, bytes } => {
                let number = self.files.get(&file.0).and_then(|open| open.number);
                number.into_iter().for_each(|number| self.book.set_end(number, bytes));
            }
            ref other => self.moved(other, done),
        }
    }

    /// Records that a file was opened into a slot.
    fn open(
        &mut self,
        at: DirSlot,
        path: &CStr,
        into: FileSlot,
        appends: bool,
    ) -> Option<FileNumber> {
        let name = self.path(at, path);
        let number = self.book.file(&name);
        self.files.insert(into.0, OpenFile { number, position: 0, appends });
        number
    }

    /// Records the data that a call moved, if any.
    fn moved(&mut self, call: &Call<'_>, done: CallResult) {
        if let (Call::Submit { requests }, CallResult::Taken(taken)) = (call, done) {
            let taken = usize::try_from(taken).unwrap_or(usize::MAX);
            for request in requests.iter().take(taken) {
                let bytes = u64::from(request.bytes);
                self.count(request.file, Some(request.position), request.writes, 1, bytes);
            }
            return;
        }
        let CallResult::Bytes(bytes) = done else { return };
        match *call {
            Call::Read { file, .. } => self.count(file, None, false, 1, bytes),
            Call::ReadEach { file, .. } => self.count(file, None, false, bytes, bytes),
            Call::Write { file, .. } => self.count(file, None, true, 1, bytes),
            Call::WriteEach { file, .. } => self.count(file, None, true, bytes, bytes),
            Call::ReadAt { file, position, .. } | Call::ReadMapped { file, position, .. } => {
                self.count(file, Some(position), false, 1, bytes);
            }
            Call::WriteAt { file, position, .. } | Call::WriteMapped { file, position, .. } => {
                self.count(file, Some(position), true, 1, bytes);
            }
            _ => {}
        }
    }

    /// Counts bytes at an offset, or at the file position, which then advances.
    fn count(&mut self, file: FileSlot, place: Option<u64>, writes: bool, count: u64, bytes: u64) {
        let Some(open) = self.files.get_mut(&file.0) else { return };
        if bytes == 0 {
            return;
        }
        let position = match place {
            Some(position) => position,
            None => {
                let appends = writes && open.appends;
                let end = open.number.filter(|_| appends).map(|number| self.book.end(number));
                let position = end.unwrap_or(open.position);
                open.position = position.saturating_add(bytes);
                position
            }
        };
        let access = Access { at_ns: monotonic_ns(), writes, count, bytes };
        self.book.access(open.number, position, access);
    }
}
