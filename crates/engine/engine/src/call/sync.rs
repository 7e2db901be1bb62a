//! Calls to the kernel, one at a time, on the real filesystem. Directories and files are kept open
//! in slots; a call costs itself and a few nanoseconds.
//! `treering-sys` ensures that no name leads outside the target.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use treering_script::{
    Buffers, Call, CallError, CallResult, CallSubject, Completion, DirEntries, DirSlot, EntryKind,
    FileSlot, IoQueue, MAX_DIRS, RequestFlags, StatfsSpace, SyncMode, SyncScope,
};
use treering_sys::{
    Confinement, EntryBuffer, Errno, FileMapping, FileType, FilesystemFacts, IoPath, OpenHow,
    PageBuffer, advise, allocate, attributes, close, device_bytes, fd_path, file_xattr,
    filesystem_facts, forget, link, lock_range, make_dir, make_existing_dir, make_node,
    make_private_dir, open_block_device, open_dir, open_file, punch, read, read_at, read_entries,
    read_vector, read_vector_at, remove_dir, rename, reopen_dir, seek_to, seek_to_end,
    set_file_xattr, set_times, stat, symlink, sync_data, sync_file, sync_filesystem, sync_machine,
    sync_range, truncate, unlink, write, write_at, write_both, write_both_at, write_vector_at,
    xattr,
};

use crate::call::buffered::{OpenFiles, attempt_buffered, is_buffered};
use crate::call::maintenance::{OpenPlaces, attempt_maintenance};
use crate::call::requests::{TaskRequests, WriteSource};
use crate::call::retired::RetiredMappings;
use crate::call::translated::{created, opened, size_reply};
use crate::call::whole::whole;
use crate::call::whole_paths::{PathOutcome, WholePaths};
use crate::places::manifest::{TreeManifest, announce, identify};
use crate::{CallReply, Caller, LARGEST_CALL_BYTES, Payload};

/// Buffer size for one `getdents64` call in bytes, the same as in glibc.
const ENTRY_BYTES: usize = 32 * 1024;
/// Extended attribute of the xattr calls, which dbench keeps as Samba does.
const ATTRIBUTE: &CStr = c"user.DosAttrib";

/// Space of a filesystem, from its `statfs` data.
pub(crate) fn room(facts: &FilesystemFacts) -> StatfsSpace {
    let FilesystemFacts { capacity_bytes, free_bytes, unused_bytes, used_inodes, .. } = *facts;
    StatfsSpace { capacity_bytes, free_bytes, unused_bytes, inodes: used_inodes }
}

/// Open file in a slot.
#[inline]
fn file_in(files: &[Option<OwnedFd>], file: FileSlot) -> Result<&OwnedFd, Errno> {
    files.get(usize::from(file.0)).and_then(Option::as_ref).ok_or(Errno::BADF)
}

/// Size of a block device, which its attributes do not tell.
fn device_size(path: &CStr) -> Result<CallReply, CallError> {
    let device = open_block_device(path, OpenHow::Read, IoPath::default())?;
    Ok(CallReply::once(CallResult::Size(device_bytes(&device)?)))
}

/// Caller that makes system calls.
#[derive(Debug)]
pub struct SyncCaller {
    confinement: Confinement,
    through: IoPath,
    /// Flags of vectored calls; `None` for plain ones.
    vectored: Option<RequestFlags>,
    /// Path of the target as given by the user.
    user_path: PathBuf,
    whole_paths: Option<WholePaths>,
    /// Root directories at which workers take turns; empty for a single place.
    roots: Vec<OwnedFd>,
    dirs: Vec<Option<OwnedFd>>,
    /// Open files by slot, up to the highest slot that was used.
    files: Vec<Option<OwnedFd>>,
    payload: Payload,
    reading: PageBuffer,
    entries: EntryBuffer,
    packed: Vec<u8>,
    mappings: HashMap<u16, FileMapping>,
    retired: RetiredMappings,
    requests: TaskRequests,
    buffers: Option<Buffers>,
    manifest: Option<Arc<dyn TreeManifest>>,
}

impl SyncCaller {
    /// Caller whose target is `dir`. The directory is opened again, so that callers do not share a
    /// reading position.
    ///
    /// # Errors
    /// When the directory cannot be opened again.
    pub fn new(
        dir: BorrowedFd<'_>,
        confinement: Confinement,
        payload: Payload,
    ) -> Result<Self, Errno> {
        let mut dirs: Vec<Option<OwnedFd>> = (0..MAX_DIRS).map(|_| None).collect();
        dirs[0] = Some(reopen_dir(dir)?);
        Ok(Self {
            confinement,
            through: IoPath::default(),
            vectored: None,
            user_path: PathBuf::new(),
            whole_paths: None,
            roots: Vec::new(),
            dirs,
            files: Vec::new(),
            payload,
            reading: PageBuffer::filled(0, LARGEST_CALL_BYTES),
            entries: EntryBuffer::new(ENTRY_BYTES),
            packed: Vec::with_capacity(2 * ENTRY_BYTES),
            mappings: HashMap::new(),
            retired: RetiredMappings::default(),
            requests: TaskRequests::default(),
            buffers: None,
            manifest: None,
        })
    }

    /// Sets the path of the target as its user gave it.
    #[must_use]
    pub fn named(self, user_path: &Path) -> Self {
        Self { user_path: user_path.to_owned(), ..self }
    }

    /// Sets the manifest that records directories made in the target.
    #[must_use]
    pub(crate) fn recorded_in(self, manifest: Option<Arc<dyn TreeManifest>>) -> Self {
        Self { manifest, ..self }
    }

    /// Sets the roots at which workers take turns.
    ///
    /// # Errors
    /// When one of them cannot be opened again.
    pub(crate) fn with_roots(mut self, roots: &[BorrowedFd<'_>]) -> Result<Self, Errno> {
        self.roots = roots.iter().map(reopen_dir).collect::<Result<_, _>>()?;
        Ok(self)
    }

    #[inline]
    fn dir(&self, dir: DirSlot) -> Result<BorrowedFd<'_>, Errno> {
        let slot = self.dirs.get(usize::from(dir.0)).and_then(Option::as_ref);
        slot.map(OwnedFd::as_fd).ok_or(Errno::BADF)
    }

    #[inline]
    fn file(&self, file: FileSlot) -> Result<BorrowedFd<'_>, Errno> {
        file_in(&self.files, file).map(OwnedFd::as_fd)
    }

    #[inline]
    fn attempt(&mut self, call: &Call<'_>) -> Result<CallReply, CallError> {
        if let Some(paths) = &mut self.whole_paths {
            match paths.attempt(call, self.through)? {
                PathOutcome::Done(reply) => return Ok(reply),
                PathOutcome::Opened(file, into) => {
                    self.keep_open(file, into)?;
                    return Ok(CallReply::once(CallResult::Plain));
                }
                PathOutcome::Other => {}
            }
        }
        match *call {
            _ if self.buffers.is_some() && is_buffered(call) => return self.buffered(call),
            Call::Write { file, bytes, position } => return self.write(file, bytes, position),
            Call::Read { file, bytes } => return self.read(file, bytes),
            Call::ReadAt { file, bytes, position } => return self.read_at(file, bytes, position),
            Call::WriteAt { file, bytes, position } => return self.write_at(file, bytes, position),
            Call::ReadEach { file, bytes } => return self.read_each(file, bytes),
            Call::WriteEach { file, bytes, position } => {
                return self.write_each(file, bytes, position);
            }
            Call::Create { at, path, how, into } => self.open(at, path, created(how), into)?,
            Call::Open { at, path, how, into } => self.open(at, path, opened(how), into)?,
            Call::Close { file } => {
                self.retired.add(self.mappings.remove(&file.0));
                let open = self.files.get_mut(usize::from(file.0)).and_then(Option::take);
                self.close_file(open.ok_or(Errno::BADF)?)?;
            }
            Call::Stat { at, name } => stat(self.dir(at)?, name).map(|_attributes| ())?,
            Call::Size { at: DirSlot::DEVICES, name } => return device_size(name),
            Call::Size { at, name } => return Ok(size_reply(&stat(self.dir(at)?, name)?)),
            Call::FileStat { file } => return Ok(size_reply(&attributes(self.file(file)?)?)),
            Call::Seek { file, position } => seek_to(self.file(file)?, position)?,
            Call::SeekEnd { file } => {
                return Ok(CallReply::once(CallResult::Size(seek_to_end(self.file(file)?)?)));
            }
            Call::Unlink { at, path } => unlink(self.confinement, self.dir(at)?, path)?,
            Call::Fsync { file } => sync_file(self.file(file)?)?,
            Call::Truncate { file, bytes } => truncate(self.file(file)?, bytes)?,
            Call::MakeDir { at, name } => make_dir(self.dir(at)?, name)?,
            Call::MakePrivateDir { at, name } => make_private_dir(self.dir(at)?, name)?,
            Call::MakeAgain { dir } => make_existing_dir(self.dir(dir)?)?,
            Call::RemoveDir { at, name } => remove_dir(self.dir(at)?, name)?,
            Call::OpenDir { at, path, into } => self.open_dir(at, path, into)?,
            Call::CloseDir { dir } => {
                let open = self.changeable(dir)?.take();
                close(open.ok_or(Errno::BADF)?)?;
            }
            Call::ReadDir { dir } => {
                return Ok(CallReply { done: CallResult::Entries, calls: self.read_dir(dir)? });
            }
            Call::Rename { at, from, to_at, to } => {
                rename(self.dir(at)?, from, self.dir(to_at)?, to)?;
            }
            Call::OpenRoot { root, into } => self.open_root(root, into)?,
            Call::Statfs { dir } => {
                let facts = filesystem_facts(self.dir(dir)?)?;
                return Ok(CallReply::once(CallResult::Room(room(&facts))));
            }
            Call::Pause { ns } => sleep(Duration::from_nanos(ns)),
            Call::Await { signal, seen, ns } => signal.wait(seen, Duration::from_nanos(ns)),
            Call::Sync { scope: SyncScope::Target } => sync_filesystem(self.dir(DirSlot::TARGET)?)?,
            _ => return self.attempt_rare(call),
        }
        Ok(CallReply::once(CallResult::Plain))
    }

    /// Carries out calls that few workloads make, apart from the hot path.
    fn attempt_rare(&mut self, call: &Call<'_>) -> Result<CallReply, CallError> {
        match *call {
            Call::Sync { scope: SyncScope::Machine } => sync_machine(),
            Call::SyncDir { dir, data_only: true } => sync_data(self.dir(dir)?)?,
            Call::SyncDir { dir, data_only: false } => sync_file(self.dir(dir)?)?,
            Call::Lock { file, start, bytes, locks } => {
                lock_range(self.file(file)?, start, bytes, locks)?;
            }
            Call::Link { at, from, to_at, to } => link(self.dir(at)?, from, self.dir(to_at)?, to)?,
            Call::MakeNode { at, name } => make_node(self.dir(at)?, name)?,
            Call::Symlink { at, name, target } => symlink(self.dir(at)?, name, target)?,
            Call::SetTimes { at, name } => {
                let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
                let now = i64::try_from(now).unwrap_or(i64::MAX);
                set_times(self.dir(at)?, name, now - 10, now - 12)?;
            }
            Call::GetXattr { at, name } => {
                let Self { dirs, reading, .. } = self;
                let dir = dirs.get(usize::from(at.0)).and_then(Option::as_ref);
                let dir = dir.ok_or(Errno::BADF)?;
                return Ok(CallReply::moved(
                    xattr(dir.as_fd(), name, ATTRIBUTE, reading)? as u64,
                    1,
                ));
            }
            Call::GetFileXattr { file } => {
                let Self { files, reading, .. } = self;
                let file = file_in(files, file)?;
                return Ok(CallReply::moved(
                    file_xattr(file.as_fd(), ATTRIBUTE, reading)? as u64,
                    1,
                ));
            }
            Call::SetFileXattr { file, bytes, position } => {
                let Self { files, payload, .. } = self;
                let file = file_in(files, file)?;
                let wanted = usize::try_from(bytes).unwrap_or(LARGEST_CALL_BYTES);
                let (value, _rest) = payload.take(position, wanted);
                set_file_xattr(file.as_fd(), ATTRIBUTE, value)?;
                return Ok(CallReply::moved(value.len() as u64, 1));
            }
            Call::DataSync { file } => sync_data(self.file(file)?)?,
            Call::SyncRange { file, start, bytes, flags } => {
                sync_range(self.file(file)?, start, bytes, flags)?;
            }
            Call::Forget { file, start, bytes } => {
                self.retired.clear(); // Mapped pages stay in the page cache.
                forget(self.file(file)?, start, bytes)?;
            }
            Call::Advise { file, start, bytes, random } => {
                advise(self.file(file)?, start, bytes, random)?;
            }
            Call::Allocate { file, start, bytes, keep_size } => {
                allocate(self.file(file)?, start, bytes, keep_size)?;
            }
            Call::Punch { file, start, bytes } => punch(self.file(file)?, start, bytes)?,
            Call::Submit { requests } => {
                let Self { files, payload, requests: queue, buffers, .. } = self;
                let source = WriteSource { payload, buffers: buffers.as_ref() };
                let taken = queue.submit(requests, &files[..], source)?;
                return Ok(CallReply::once(CallResult::Taken(taken)));
            }
            Call::Reap { least } => {
                let calls = self.requests.reap(least, self.buffers.as_ref())?;
                return Ok(CallReply { done: CallResult::Reaped, calls });
            }
            _ => return self.attempt_on_mapping(call),
        }
        Ok(CallReply::once(CallResult::Plain))
    }

    fn attempt_on_mapping(&mut self, call: &Call<'_>) -> Result<CallReply, CallError> {
        let Self { mappings, reading, payload, .. } = self;
        match *call {
            Call::Map { file, bytes, writes, random } => {
                let length = usize::try_from(bytes).map_err(|_too_large| Errno::NOMEM)?;
                let mapping = FileMapping::new(self.file(file)?, length, writes)?;
                mapping.advise(random)?;
                self.mappings.insert(file.0, mapping);
                Ok(CallReply::once(CallResult::Plain))
            }
            Call::ReadMapped { file, bytes, position } => {
                let wanted = usize::try_from(bytes).unwrap_or(LARGEST_CALL_BYTES);
                let into = reading.get_mut(..wanted).ok_or(Errno::INVAL)?;
                mappings.get(&file.0).ok_or(Errno::BADF)?.read(position, into)?;
                Ok(CallReply::moved(u64::from(bytes), 1))
            }
            Call::WriteMapped { file, bytes, position } => {
                let mapping = mappings.get_mut(&file.0).ok_or(Errno::BADF)?;
                let wanted = usize::try_from(bytes).unwrap_or(LARGEST_CALL_BYTES);
                let (head, tail) = payload.take(position, wanted);
                mapping.write(position, head)?;
                mapping.write(position + head.len() as u64, tail)?;
                Ok(CallReply::moved((head.len() + tail.len()) as u64, 1))
            }
            Call::SyncMapped { file } => {
                mappings.get(&file.0).ok_or(Errno::BADF)?.sync()?;
                Ok(CallReply::once(CallResult::Plain))
            }
            _ => {
                let Self { dirs, files, reading: buffer, .. } = self;
                attempt_maintenance(OpenPlaces { dirs, files, buffer }, call)
            }
        }
    }

    #[inline]
    fn open(
        &mut self,
        at: DirSlot,
        path: &CStr,
        how: OpenHow,
        into: FileSlot,
    ) -> Result<(), Errno> {
        let opened = if at == DirSlot::DEVICES {
            open_block_device(path, how, self.through)?
        } else {
            open_file(self.confinement, self.dir(at)?, path, how, self.through)?
        };
        self.keep_open(opened, into.0)
    }

    #[inline]
    fn keep_open(&mut self, opened: OwnedFd, into: u16) -> Result<(), Errno> {
        let slot = usize::from(into);
        if slot >= self.files.len() {
            self.files.resize_with(slot + 1, || None);
        }
        match self.files[slot].replace(opened) {
            None => Ok(()),
            Some(before) => self.close_file(before),
        }
    }

    #[inline]
    fn close_file(&mut self, file: OwnedFd) -> Result<(), Errno> {
        self.requests.forget_file(&file);
        close(file)
    }

    /// Slot of a directory that a script may open and close: any but the target's.
    fn changeable(&mut self, dir: DirSlot) -> Result<&mut Option<OwnedFd>, Errno> {
        let slot =
            if dir == DirSlot::TARGET { None } else { self.dirs.get_mut(usize::from(dir.0)) };
        slot.ok_or(Errno::BADF)
    }

    fn open_dir(&mut self, at: DirSlot, path: &CStr, into: DirSlot) -> Result<(), Errno> {
        self.changeable(into)?;
        let opened = open_dir(self.confinement, self.dir(at)?, path)?;
        // Looked up only now, since the slot may hold the directory that the path begins at.
        match self.changeable(into)?.replace(opened) {
            None => Ok(()),
            Some(before) => close(before),
        }
    }

    fn open_root(&mut self, root: u16, into: DirSlot) -> Result<(), Errno> {
        let opened = match self.roots.get(usize::from(root)) {
            Some(place) => reopen_dir(place)?,
            // A single place has no list of roots.
            None if root == 0 => reopen_dir(self.dir(DirSlot::TARGET)?)?,
            None => return Err(Errno::BADF),
        };
        self.changeable(into)?.replace(opened).map_or(Ok(()), close)
    }

    fn read_dir(&mut self, dir: DirSlot) -> Result<u32, Errno> {
        let Self { dirs, entries, packed, .. } = self;
        let dir = dirs.get(usize::from(dir.0)).and_then(Option::as_ref).ok_or(Errno::BADF)?;
        packed.clear();
        read_entries(dir.as_fd(), entries, |name, kind| {
            let kind = match kind {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Directory,
                _ => EntryKind::Other,
            };
            DirEntries::pack(packed, kind, name);
        })
    }

    fn read(&mut self, file: FileSlot, bytes: u32) -> Result<CallReply, CallError> {
        let Self { files, reading, .. } = self;
        let file = file_in(files, file)?;
        let wanted = usize::try_from(bytes).unwrap_or(LARGEST_CALL_BYTES).min(reading.len());
        let read = if self.vectored.is_some() { read_vector } else { read };
        let got = read(file.as_fd(), &mut reading[..wanted])?;
        Ok(CallReply::moved(got as u64, 1))
    }

    fn read_at(
        &mut self,
        file: FileSlot,
        bytes: u32,
        position: u64,
    ) -> Result<CallReply, CallError> {
        let Self { files, reading, .. } = self;
        let file = file_in(files, file)?;
        let wanted = usize::try_from(bytes).unwrap_or(LARGEST_CALL_BYTES).min(reading.len());
        let into = &mut reading[..wanted];
        let got = match self.vectored {
            Some(flags) => read_vector_at(file.as_fd(), into, position, flags)?,
            None => read_at(file.as_fd(), into, position)?,
        };
        Ok(CallReply::moved(got as u64, 1))
    }

    fn read_each(&mut self, file: FileSlot, bytes: u32) -> Result<CallReply, CallError> {
        let Self { files, reading, .. } = self;
        let file = file_in(files, file)?.as_fd();
        for before in 0..bytes {
            let came = |errno| CallError { errno, calls: before + 1, bytes: u64::from(before) };
            if read(file, &mut reading[..1]).map_err(came)? == 0 {
                return Ok(CallReply::moved(u64::from(before), before + 1));
            }
        }
        Ok(CallReply::moved(u64::from(bytes), bytes))
    }

    fn write_each(
        &mut self,
        file: FileSlot,
        bytes: u32,
        position: u64,
    ) -> Result<CallReply, CallError> {
        let Self { files, payload, .. } = self;
        let file = file_in(files, file)?.as_fd();
        for before in 0..bytes {
            let came = |errno| CallError { errno, calls: before + 1, bytes: u64::from(before) };
            let (byte, _rest) = payload.take(position.wrapping_add(u64::from(before)), 1);
            if write(file, byte).map_err(came)? == 0 {
                return Err(came(Errno::IO));
            }
        }
        Ok(CallReply::moved(u64::from(bytes), bytes))
    }

    #[inline]
    fn write(&mut self, file: FileSlot, bytes: u32, position: u64) -> Result<CallReply, CallError> {
        let Self { files, payload, vectored, .. } = self;
        let file = file_in(files, file)?.as_fd();
        whole(bytes, |written, wanted| {
            let (head, tail) = payload.take(position.wrapping_add(written), wanted);
            let is_one = tail.is_empty() && vectored.is_none();
            if is_one { write(file, head) } else { write_both(file, head, tail) }
        })
    }

    fn write_at(
        &mut self,
        file: FileSlot,
        bytes: u32,
        position: u64,
    ) -> Result<CallReply, CallError> {
        let Self { files, payload, vectored, .. } = self;
        let file = file_in(files, file)?.as_fd();
        whole(bytes, |written, wanted| {
            let at = position.wrapping_add(written);
            let (head, tail) = payload.take(at, wanted);
            if let Some(flags) = *vectored {
                write_vector_at(file, head, tail, at, flags)
            } else if tail.is_empty() {
                write_at(file, head, at)
            } else {
                write_both_at(file, head, tail, at)
            }
        })
    }

    #[cold]
    fn buffered(&mut self, call: &Call<'_>) -> Result<CallReply, CallError> {
        let Self { files, vectored, mappings, buffers, .. } = self;
        let buffers = buffers.as_ref().ok_or(Errno::BADF)?;
        let files = OpenFiles { files: &files[..], vectored: *vectored, mappings };
        attempt_buffered(files, buffers, call)
    }

    fn path_in(&self, at: DirSlot, below: Option<&CStr>) -> PathBuf {
        let by_path = self.whole_paths.as_ref().and_then(|paths| paths.below(at, below));
        if let Some(path) = by_path {
            return OsStr::from_bytes(&path).into();
        }
        if at == DirSlot::DEVICES {
            return below
                .map_or_else(PathBuf::new, |path| OsStr::from_bytes(path.to_bytes()).into());
        }
        let dir = self.dir(at).ok().and_then(fd_path);
        let dir = dir.unwrap_or_else(|| format!("directory slot {}", at.0).into());
        match below {
            None => dir,
            Some(name) => dir.join(OsStr::from_bytes(name.to_bytes())),
        }
    }
}

impl Caller for SyncCaller {
    #[inline]
    fn call(&mut self, call: &Call<'_>) -> Result<CallReply, CallError> {
        self.attempt(call)
    }

    #[cold]
    fn will_make(&mut self, name: &CStr) -> Result<(), CallError> {
        let Some(manifest) = &self.manifest else { return Ok(()) };
        Ok(announce(manifest.as_ref(), self.dir(DirSlot::TARGET)?, name)?)
    }

    #[cold]
    fn has_made(&mut self, name: &CStr) -> Result<(), CallError> {
        let Some(manifest) = &self.manifest else { return Ok(()) };
        Ok(identify(manifest.as_ref(), self.dir(DirSlot::TARGET)?, name)?)
    }

    #[cold]
    fn has_not_made(&mut self, name: &CStr) {
        self.manifest.iter().for_each(|manifest| manifest.not_made(name));
    }

    #[cold]
    fn has_removed(&mut self, name: &CStr) {
        self.manifest.iter().for_each(|manifest| manifest.removed(name));
    }

    fn entries(&self) -> DirEntries<'_> {
        DirEntries::new(&self.packed)
    }

    fn reaped(&self) -> &[Completion] {
        self.requests.reaped()
    }

    fn path_of(&self, subject: CallSubject<'_>) -> PathBuf {
        match subject {
            CallSubject::Below(at, path) => self.path_in(at, Some(path)),
            CallSubject::Directory(dir) => self.path_in(dir, None),
            CallSubject::File(file) => {
                let path = self.file(file).ok().and_then(fd_path);
                path.unwrap_or_else(|| format!("file slot {}", file.0).into())
            }
        }
    }

    fn open_through(&mut self, direct: bool, synchronous: SyncMode) {
        self.through = IoPath { direct, synchronous };
    }

    fn by_vectors(&mut self, vectored: Option<RequestFlags>) {
        self.vectored = vectored;
    }

    fn by_whole_paths(&mut self, are: bool) -> io::Result<()> {
        let paths = are.then(|| WholePaths::new(&self.user_path, self.dir(DirSlot::TARGET)?));
        self.whole_paths = paths.transpose()?;
        Ok(())
    }

    fn open_queue(&mut self, queue: Option<IoQueue>) -> io::Result<()> {
        // Buffers of the task are filled one by one, whatever the payload.
        let constant = self.payload.constant().filter(|_| self.buffers.is_none());
        self.requests = TaskRequests::open(queue, constant)?;
        Ok(())
    }

    fn use_buffers(&mut self, buffers: Option<Buffers>) {
        self.buffers = buffers;
    }

    fn close_all(&mut self) {
        self.requests = TaskRequests::default(); // Waits for those that are under way.
        self.mappings.clear();
        self.retired.clear();
        // Slots the task left open are closed here; errors of these closes are ignored.
        self.dirs.iter_mut().skip(1).for_each(|slot| *slot = None);
        self.files.iter_mut().for_each(|slot| *slot = None);
    }
}
