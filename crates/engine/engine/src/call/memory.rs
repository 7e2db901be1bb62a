//! Calls on a filesystem in memory, with the semantics of the system calls.
//!
//! Serves as the oracle of property tests, and runs whole sessions without a disk. It is never
//! full; calls fail only for errors of their own, such as a missing name.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use treering_script::{
    AsyncRequest, Call, CallError, CallResult, CallSubject, Completion, CreateHow, DirEntries,
    DirSlot, EntryKind, FileSlot, IoQueue, MAX_DIRS, MAX_FILES, OpenHow, StatfsSpace, SyncMode,
};
use treering_sys::{Errno, is_single_name};

use crate::call::memory_tree::{CAPACITY_BYTES, MemoryFilesystem, NodeContent, NodeId, ROOT, Tree};
use crate::{CallReply, Caller, LARGEST_CALL_BYTES};

/// Cap on waits for other threads; no other call takes time here.
const LONGEST_WAIT: Duration = Duration::from_millis(1);
/// Bytes of packed entries after which a batch is full.
const BATCH_BYTES: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct OpenDirectory {
    node: NodeId,
    /// Position of the next entry to report; `None` at the end of the directory.
    next: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct OpenFile {
    node: NodeId,
    position: u64,
    reads: bool,
    writes: bool,
    appends: bool,
}

/// Caller that carries out calls in memory.
#[derive(Debug)]
pub struct MemoryCaller {
    filesystem: MemoryFilesystem,
    dirs: Vec<Option<OpenDirectory>>,
    files: Vec<Option<OpenFile>>,
    packed: Vec<u8>,
    /// Completed requests; a request completes as soon as it is submitted.
    ended: Vec<Completion>,
    reaped: Vec<Completion>,
}

impl MemoryCaller {
    /// Caller whose target is the root of this filesystem.
    pub fn new(filesystem: &MemoryFilesystem) -> Self {
        let mut dirs = vec![None; usize::from(MAX_DIRS)];
        dirs[0] = Some(OpenDirectory { node: ROOT, next: Some(0) });
        let files = vec![None; usize::from(MAX_FILES)];
        Self {
            filesystem: filesystem.clone(),
            dirs,
            files,
            packed: Vec::new(),
            ended: Vec::new(),
            reaped: Vec::new(),
        }
    }

    fn dir(&self, dir: DirSlot) -> Result<NodeId, Errno> {
        let slot = self.dirs.get(usize::from(dir.0)).copied().flatten();
        slot.map(|open| open.node).ok_or(Errno::BADF)
    }

    fn changeable(&mut self, dir: DirSlot) -> Result<&mut Option<OpenDirectory>, Errno> {
        let slot =
            if dir == DirSlot::TARGET { None } else { self.dirs.get_mut(usize::from(dir.0)) };
        slot.ok_or(Errno::BADF)
    }

    fn file(&mut self, file: FileSlot) -> Result<&mut OpenFile, Errno> {
        self.files[usize::from(file.0)].as_mut().ok_or(Errno::BADF)
    }

    fn attempt(&mut self, tree: &mut Tree, call: &Call<'_>) -> Result<CallReply, Errno> {
        match *call {
            Call::OpenDir { at, path, into } => {
                self.changeable(into)?;
                let opened = open_dir(tree, self.dir(at)?, path.to_bytes())?;
                *self.changeable(into)? = Some(opened);
            }
            Call::CloseDir { dir } => {
                self.changeable(dir)?.take().ok_or(Errno::BADF)?;
            }
            Call::ReadDir { dir } => return self.read_dir(tree, dir),
            Call::MakeDir { at, name } | Call::MakePrivateDir { at, name } => {
                tree.add_new(self.dir(at)?, single(name)?, EntryKind::Directory)?;
            }
            Call::MakeAgain { dir } => {
                self.dir(dir)?;
                return Err(Errno::EXIST);
            }
            Call::RemoveDir { at, name } => {
                tree.remove(self.dir(at)?, single(name)?, EntryKind::Directory)?;
            }
            Call::Create { at, path, how, into } => {
                let opened = create(tree, self.dir(at)?, path.to_bytes(), how)?;
                self.files[usize::from(into.0)] = Some(opened);
            }
            Call::Open { at, path, how, into } => {
                let opened = open(tree, self.dir(at)?, path.to_bytes(), how)?;
                self.files[usize::from(into.0)] = Some(opened);
            }
            Call::SyncDir { dir, .. } => {
                self.dir(dir)?;
            }
            Call::Unlink { at, path } => {
                tree.remove(self.dir(at)?, path.to_bytes(), EntryKind::File)?;
            }
            Call::Stat { at, name } | Call::SetTimes { at, name } => {
                tree.find(self.dir(at)?, single(name)?)?;
            }
            Call::Size { at, name } => {
                let node = tree.find(self.dir(at)?, single(name)?)?;
                return Ok(CallReply::once(CallResult::Size(size(tree, node))));
            }
            Call::Rename { at, from, to_at, to } => {
                tree.rename(self.dir(at)?, single(from)?, self.dir(to_at)?, single(to)?)?;
            }
            Call::Link { at, from, to_at, to } => {
                tree.link(self.dir(at)?, single(from)?, self.dir(to_at)?, single(to)?)?;
            }
            Call::MakeNode { at, name } | Call::Symlink { at, name, .. } => {
                tree.add_new(self.dir(at)?, single(name)?, made_kind(call))?;
            }
            // As on a filesystem without extended attributes.
            Call::GetXattr { .. } | Call::GetFileXattr { .. } | Call::SetFileXattr { .. } => {
                return Err(Errno::OPNOTSUPP);
            }
            Call::OpenRoot { root: 0, into } => {
                *self.changeable(into)? = Some(OpenDirectory { node: ROOT, next: Some(0) });
            }
            Call::OpenRoot { .. } => return Err(Errno::BADF),
            Call::Statfs { dir } => {
                self.dir(dir)?;
                return Ok(CallReply::once(CallResult::Room(room(tree))));
            }
            // No effect in memory.
            Call::Pause { .. } | Call::Sync { .. } => {}
            _ => return self.attempt_on_file(tree, call),
        }
        Ok(CallReply::once(CallResult::Plain))
    }

    /// Calls on an open file.
    fn attempt_on_file(&mut self, tree: &mut Tree, call: &Call<'_>) -> Result<CallReply, Errno> {
        match *call {
            Call::Read { file, bytes } => return read(tree, self.file(file)?, bytes),
            Call::Write { file, bytes, .. } => return write(tree, self.file(file)?, bytes),
            Call::ReadAt { file, bytes, position } | Call::ReadMapped { file, bytes, position } => {
                let mut there = OpenFile { position, ..*self.file(file)? };
                return read(tree, &mut there, bytes);
            }
            Call::WriteAt { file, bytes, position }
            | Call::WriteMapped { file, bytes, position } => {
                let mut there = OpenFile { position, ..*self.file(file)? };
                return write(tree, &mut there, bytes);
            }
            Call::ReadEach { file, bytes } => {
                let got = read(tree, self.file(file)?, bytes)?;
                return Ok(split_into_bytes(got, bytes));
            }
            Call::WriteEach { file, bytes, .. } => {
                let taken = write(tree, self.file(file)?, bytes)?;
                return Ok(split_into_bytes(taken, bytes));
            }
            Call::Truncate { file, bytes } => truncate(tree, *self.file(file)?, bytes)?,
            Call::Fsync { file } | Call::Lock { file, .. } => {
                self.file(file)?;
            }
            Call::FileStat { file } => {
                let node = self.file(file)?.node;
                return Ok(CallReply::once(CallResult::Size(size(tree, node))));
            }
            Call::Seek { file, position } => seek(self.file(file)?, position)?,
            Call::SeekEnd { file } => {
                let file = self.file(file)?;
                file.position = size(tree, file.node);
                return Ok(CallReply::once(CallResult::Size(file.position)));
            }
            Call::Close { file } => {
                self.files[usize::from(file.0)].take().ok_or(Errno::BADF)?;
            }
            Call::DataSync { file }
            | Call::SyncRange { file, .. }
            | Call::Forget { file, .. }
            | Call::Advise { file, .. }
            | Call::Punch { file, .. }
            | Call::Map { file, .. }
            | Call::SyncMapped { file } => {
                self.file(file)?;
            }
            Call::Allocate { file, start, bytes, keep_size } => {
                let open = *self.file(file)?;
                let end = start.saturating_add(bytes);
                if !keep_size && end > size(tree, open.node) {
                    truncate(tree, open, end)?;
                }
            }
            Call::Submit { requests } => return Ok(self.submit(tree, requests)),
            Call::Reap { .. } => {
                self.reaped = std::mem::take(&mut self.ended);
                return Ok(CallReply::once(CallResult::Reaped));
            }
            _ => return self.attempt_maintenance(tree, call),
        }
        Ok(CallReply::once(CallResult::Plain))
    }

    /// Calls that maintain a filesystem: in memory they change names and sizes only.
    fn attempt_maintenance(
        &mut self,
        tree: &mut Tree,
        call: &Call<'_>,
    ) -> Result<CallReply, Errno> {
        match *call {
            // A snapshot is an empty directory here: it is never looked into.
            Call::MakeSubvolume { at, name } | Call::Snapshot { at, name, .. } => {
                tree.add_new(self.dir(at)?, single(name)?, EntryKind::Directory)?;
            }
            Call::DestroySubvolume { at, name } => {
                tree.remove(self.dir(at)?, single(name)?, EntryKind::Directory)?;
            }
            Call::Trim { dir, .. } | Call::Balance { dir, .. } => {
                self.dir(dir)?;
            }
            Call::Reflink { from, into } => {
                let bytes = size(tree, self.file(from)?.node);
                truncate(tree, *self.file(into)?, bytes)?;
            }
            Call::Copy { from, into, bytes, position } => {
                let mut there = OpenFile { position, ..*self.file(from)? };
                let got = read(tree, &mut there, bytes)?;
                let mut there = OpenFile { position, ..*self.file(into)? };
                let CallResult::Bytes(bytes) = got.done else { return Ok(got) };
                return write(tree, &mut there, u32::try_from(bytes).unwrap_or(u32::MAX));
            }
            Call::Dedupe { from, into, .. } => {
                self.file(from)?;
                self.file(into)?;
                return Ok(CallReply::moved(0, 1));
            }
            Call::Defragment { file, .. } => {
                self.file(file)?;
            }
            // All other calls were handled before.
            _ => return Err(Errno::NOSYS),
        }
        Ok(CallReply::once(CallResult::Plain))
    }

    /// Completes requests immediately.
    fn submit(&mut self, tree: &mut Tree, requests: &[AsyncRequest]) -> CallReply {
        for request in requests {
            let AsyncRequest { file, writes, bytes, position, tag } = *request;
            let call = if writes {
                Call::WriteAt { file, bytes, position }
            } else {
                Call::ReadAt { file, bytes, position }
            };
            let result = match self.attempt_on_file(tree, &call) {
                Ok(CallReply { done: CallResult::Bytes(moved), .. }) => {
                    Ok(u32::try_from(moved).unwrap_or(u32::MAX))
                }
                Ok(_) => Ok(0),
                Err(errno) => Err(errno.raw_os_error()),
            };
            self.ended.push(Completion { tag, result });
        }
        CallReply::once(CallResult::Taken(u32::try_from(requests.len()).unwrap_or(u32::MAX)))
    }

    fn read_dir(&mut self, tree: &Tree, dir: DirSlot) -> Result<CallReply, Errno> {
        let Self { dirs, packed, .. } = self;
        let open = dirs.get_mut(usize::from(dir.0)).and_then(Option::as_mut).ok_or(Errno::BADF)?;
        packed.clear();
        let Some(from) = open.next else {
            return Ok(CallReply::once(CallResult::Entries));
        };
        for (place, kind, name) in tree.entries(open.node, from)? {
            packed.push(kind as u8);
            packed.extend_from_slice(name);
            packed.push(0);
            open.next = place.checked_add(1);
            if packed.len() >= BATCH_BYTES {
                break;
            }
        }
        Ok(CallReply::once(CallResult::Entries))
    }
}

/// Path of a node, prefixed with `memory:`.
fn shown(tree: &Tree, node: NodeId) -> PathBuf {
    Path::new("memory:").join(tree.path(node))
}

fn single(name: &CStr) -> Result<&[u8], Errno> {
    let name = name.to_bytes();
    if is_single_name(name) { Ok(name) } else { Err(Errno::XDEV) }
}

fn create(tree: &mut Tree, at: NodeId, path: &[u8], how: CreateHow) -> Result<OpenFile, Errno> {
    let (dir, name) = tree.parent_of(at, path)?;
    let node = match tree.child(dir, name)? {
        None => tree.add(dir, name, EntryKind::File)?,
        Some(_) if matches!(how, CreateHow::Exclusive | CreateHow::ExclusiveToRead) => {
            return Err(Errno::EXIST);
        }
        Some(node) => match &mut tree.node_mut(node).body {
            NodeContent::Directory { .. } => return Err(Errno::ISDIR),
            NodeContent::Link => return Err(Errno::LOOP),
            NodeContent::File { bytes } => {
                if matches!(how, CreateHow::Truncate | CreateHow::TruncateToRead) {
                    *bytes = 0;
                }
                node
            }
        },
    };
    let appends = how == CreateHow::Append;
    let reads = !matches!(how, CreateHow::Truncate | CreateHow::Exclusive);
    Ok(OpenFile { node, position: 0, reads, writes: true, appends })
}

fn open_dir(tree: &Tree, at: NodeId, path: &[u8]) -> Result<OpenDirectory, Errno> {
    let node = tree.find(at, path)?;
    if tree.node(node).body.kind() != EntryKind::Directory {
        return Err(Errno::NOTDIR);
    }
    Ok(OpenDirectory { node, next: Some(0) })
}

fn open(tree: &Tree, at: NodeId, path: &[u8], how: OpenHow) -> Result<OpenFile, Errno> {
    let node = tree.find(at, path)?;
    let reads = matches!(how, OpenHow::Read | OpenHow::Directory | OpenHow::ReadWrite);
    let writes = !matches!(how, OpenHow::Read | OpenHow::Directory);
    match tree.node(node).body {
        NodeContent::Directory { .. } if writes => return Err(Errno::ISDIR),
        NodeContent::Link => return Err(Errno::LOOP),
        NodeContent::File { .. } if how == OpenHow::Directory => return Err(Errno::NOTDIR),
        NodeContent::Directory { .. } | NodeContent::File { .. } => {}
    }
    let appends = how == OpenHow::Append;
    Ok(OpenFile { node, position: 0, reads, writes, appends })
}

fn seek(file: &mut OpenFile, position: u64) -> Result<(), Errno> {
    file.position = i64::try_from(position).map_err(|_| Errno::INVAL)?.unsigned_abs();
    Ok(())
}

fn size(tree: &Tree, node: NodeId) -> u64 {
    match tree.node(node).body {
        NodeContent::File { bytes } => bytes,
        NodeContent::Directory { .. } | NodeContent::Link => 0,
    }
}

/// Reply for the same bytes moved by calls of one byte each; a read at the end takes one more call.
fn split_into_bytes(reply: CallReply, wanted: u32) -> CallReply {
    let CallResult::Bytes(bytes) = reply.done else { return reply };
    let calls = u32::try_from(bytes).unwrap_or(u32::MAX);
    CallReply::moved(bytes, calls.saturating_add(u32::from(calls < wanted)))
}

fn room(tree: &Tree) -> StatfsSpace {
    let free_bytes = tree.free_bytes();
    StatfsSpace {
        capacity_bytes: CAPACITY_BYTES,
        free_bytes,
        unused_bytes: free_bytes,
        inodes: None,
    }
}

fn read(tree: &Tree, open: &mut OpenFile, bytes: u32) -> Result<CallReply, Errno> {
    if !open.reads {
        return Err(Errno::BADF);
    }
    let NodeContent::File { bytes: size } = tree.node(open.node).body else {
        return Err(Errno::ISDIR);
    };
    let wanted = u64::from(bytes).min(LARGEST_CALL_BYTES as u64);
    let got = wanted.min(size.saturating_sub(open.position));
    open.position += got;
    Ok(CallReply::moved(got, 1))
}

fn write(tree: &mut Tree, open: &mut OpenFile, bytes: u32) -> Result<CallReply, Errno> {
    let NodeContent::File { bytes: size } = &mut tree.node_mut(open.node).body else {
        return Err(Errno::BADF);
    };
    if !open.writes {
        return Err(Errno::BADF);
    }
    if bytes > 0 {
        let from = if open.appends { *size } else { open.position };
        open.position = from + u64::from(bytes);
        *size = (*size).max(open.position);
    }
    let calls = u64::from(bytes).div_ceil(LARGEST_CALL_BYTES as u64).max(1);
    Ok(CallReply::moved(u64::from(bytes), u32::try_from(calls).unwrap_or(u32::MAX)))
}

fn truncate(tree: &mut Tree, open: OpenFile, bytes: u64) -> Result<(), Errno> {
    match &mut tree.node_mut(open.node).body {
        NodeContent::File { bytes: size } if open.writes && i64::try_from(bytes).is_ok() => {
            *size = bytes;
            Ok(())
        }
        _ => Err(Errno::INVAL),
    }
}

impl Caller for MemoryCaller {
    fn call(&mut self, call: &Call<'_>) -> Result<CallReply, CallError> {
        if let Call::Await { signal, seen, ns } = *call {
            // Others work meanwhile.
            signal.wait(seen, Duration::from_nanos(ns).min(LONGEST_WAIT));
            return Ok(CallReply::once(CallResult::Plain));
        }
        let filesystem = self.filesystem.clone();
        let mut tree = filesystem.lock();
        Ok(self.attempt(&mut tree, call)?)
    }

    fn entries(&self) -> DirEntries<'_> {
        DirEntries::new(&self.packed)
    }

    fn reaped(&self) -> &[Completion] {
        &self.reaped
    }

    fn reaches_kernel(&self) -> bool {
        false
    }

    fn path_of(&self, subject: CallSubject<'_>) -> PathBuf {
        let tree = self.filesystem.lock();
        let dir_path = |at: DirSlot| match self.dir(at) {
            Ok(node) => shown(&tree, node),
            Err(_) => format!("directory slot {}", at.0).into(),
        };
        match subject {
            CallSubject::Below(at, path) => dir_path(at).join(OsStr::from_bytes(path.to_bytes())),
            CallSubject::Directory(dir) => dir_path(dir),
            CallSubject::File(file) => match self.files[usize::from(file.0)] {
                Some(open) => shown(&tree, open.node),
                None => format!("file slot {}", file.0).into(),
            },
        }
    }

    /// Has no effect: there is no page cache here.
    fn open_through(&mut self, _direct: bool, _synchronous: SyncMode) {}

    fn open_queue(&mut self, _queue: Option<IoQueue>) -> io::Result<()> {
        Ok(())
    }

    fn close_all(&mut self) {
        self.dirs.iter_mut().skip(1).for_each(|slot| *slot = None);
        self.files.iter_mut().for_each(|slot| *slot = None);
    }
}
/// Kind of the entry that a call adds which makes no directory.
const fn made_kind(call: &Call<'_>) -> EntryKind {
    match call {
        Call::MakeNode { .. } => EntryKind::File,
        _ => EntryKind::Other,
    }
}
