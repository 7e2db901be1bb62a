//! The FUSE filesystem of a played disk: a directory with two files, the image and the status.
//!
//! Reads and writes are executed at once; the spindle answers them later. The server never syncs,
//! and waits only for the image file. Waiting for anything else could deadlock, since that may
//! itself wait for this filesystem.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, Session, SessionACL, WriteFlags,
};
use rustix::fs::{FallocateFlags, fallocate};
use treering_model::{PLAYED_STATUS, PlayedStatus};
use treering_sys::serve_a_device;

use super::model::PlayedModel;
use super::spindle::{DelayedReply, QueuedRequest, Spindle};
use super::{HURRY, IMAGE, PLAY};

const ROOT_INODE: u64 = 1;
const IMAGE_INODE: u64 = 2;
const STATUS_INODE: u64 = 3;
/// Validity of attributes and entries, which never change.
const ATTRIBUTE_VALIDITY: Duration = Duration::from_secs(1 << 30);
/// Limit on concurrent kernel requests: more than the queue of any loop device holds.
const REQUESTS_MAX: u16 = 1024;

struct PlayedFilesystem {
    spindle: Arc<Spindle>,
    image: File,
    bytes: u64,
    /// Status without current counters.
    status: PlayedStatus,
    /// Status texts by open handle; each text is fixed when the handle is opened.
    texts: Mutex<BTreeMap<u64, Vec<u8>>>,
}

/// Serves a played disk on an image through a FUSE connection that is already mounted, until it is
/// unmounted.
///
/// # Errors
/// When the description is not that of a disk, or the connection breaks.
pub fn serve_played_disk(
    fuse: OwnedFd,
    image: File,
    path: &Path,
    (name, text): (&str, &str),
) -> io::Result<()> {
    let model = PlayedModel::read(name, text).map_err(io::Error::other)?;
    let bytes = image.metadata()?.len();
    // A refusal is ignored: it only makes answers late, which is counted.
    let _refused = serve_a_device();
    let spindle = Arc::new(Spindle::new(&model.disk));
    let shared = Arc::clone(&spindle);
    let spindle_thread =
        thread::Builder::new().name("spindle".to_owned()).spawn(move || shared.answer_queued())?;
    let path = path.to_string_lossy().into_owned();
    let status = PlayedStatus { image: path, ..model.status() };
    let texts = Mutex::default();
    let filesystem =
        PlayedFilesystem { spindle: Arc::clone(&spindle), image, bytes, status, texts };
    // Any caller may be allowed, since only root can reach the mount point.
    let session = Session::from_fd(filesystem, fuse, SessionACL::All, Config::default())?;
    let served = session.run();
    spindle.end();
    // The thread ends after `end`.
    let _ended = spindle_thread.join();
    served
}

impl PlayedFilesystem {
    fn attributes(&self, inode: u64) -> Option<FileAttr> {
        let (kind, size) = match inode {
            ROOT_INODE => (FileType::Directory, 0),
            IMAGE_INODE => (FileType::RegularFile, self.bytes),
            // Size 0 makes readers read up to the end of file.
            STATUS_INODE => (FileType::RegularFile, 0),
            _ => return None,
        };
        let time = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm: if kind == FileType::Directory { 0o700 } else { 0o600 },
            nlink: 1,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn open_texts(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<u8>>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the current status for a reader, and returns the reader's handle.
    fn open_status(&self) -> u64 {
        let status = PlayedStatus { counts: self.spindle.counts(), ..self.status.clone() };
        let text = serde_json::to_vec(&status).unwrap_or_default();
        let mut texts = self.open_texts();
        let handle = texts.last_key_value().map_or(1, |(last, _)| last + 1);
        texts.insert(handle, text);
        handle
    }

    fn read_status(&self, handle: u64, offset: u64, size: u32, reply: ReplyData) {
        let texts = self.open_texts();
        let text = texts.get(&handle).map_or([].as_slice(), Vec::as_slice);
        let at = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).min(text.len());
        reply.data(&text[at(offset)..at(offset.saturating_add(u64::from(size)))]);
    }

    /// Reads the part of the range within the image; the reply may be short.
    fn read_image(&self, offset: u64, size: u32) -> io::Result<Vec<u8>> {
        let bytes = self.bytes.saturating_sub(offset).min(u64::from(size));
        let mut data = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
        self.image.read_exact_at(&mut data, offset)?;
        Ok(data)
    }
}

impl Filesystem for PlayedFilesystem {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without this capability the kernel sends one direct request at a time, and the disk's
        // queue stays empty.
        let _older_kernels_have_none = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _known = config.set_max_background(REQUESTS_MAX);
        let _known = config.set_congestion_threshold(REQUESTS_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let inode = match name.to_str() {
            Some(IMAGE) if parent.0 == ROOT_INODE => IMAGE_INODE,
            Some(PLAYED_STATUS) if parent.0 == ROOT_INODE => STATUS_INODE,
            _ => return reply.error(Errno::ENOENT),
        };
        match self.attributes(inode) {
            Some(attributes) => reply.entry(&ATTRIBUTE_VALIDITY, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode.0) {
            Some(attributes) => reply.attr(&ATTRIBUTE_VALIDITY, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<fuser::TimeOrNow>,
        _mtime: Option<fuser::TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        // The disk's size is fixed; opening the status file for writing truncates it, which is
        // ignored.
        match self.attributes(inode.0) {
            Some(_) if inode.0 == IMAGE_INODE && size.is_some_and(|size| size != self.bytes) => {
                reply.error(Errno::EPERM);
            }
            Some(attributes) => reply.attr(&ATTRIBUTE_VALIDITY, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let direct = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        let handle = if inode.0 == STATUS_INODE { self.open_status() } else { 0 };
        reply.opened(FileHandle(handle), direct);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.open_texts().remove(&handle.0);
        reply.ok();
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, from: u64, reply: ReplyDirectory) {
        let mut reply = reply;
        let entries = [
            (ROOT_INODE, FileType::Directory, "."),
            (ROOT_INODE, FileType::Directory, ".."),
            (IMAGE_INODE, FileType::RegularFile, IMAGE),
            (STATUS_INODE, FileType::RegularFile, PLAYED_STATUS),
        ];
        let remaining = (1..).zip(entries).skip(usize::try_from(from).unwrap_or(usize::MAX));
        for (next, (inode, kind, name)) in remaining {
            if reply.add(INodeNo(inode), next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if inode.0 == STATUS_INODE {
            return self.read_status(handle.0, offset, size, reply);
        }
        let request = QueuedRequest::new(offset, u64::from(size), false);
        match self.read_image(offset, size) {
            Ok(data) => self.spindle.take(request, DelayedReply::Read(reply, data)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
        if inode.0 == STATUS_INODE {
            return match data {
                word if word == PLAY.as_bytes() => {
                    self.spindle.set_answers_at_once(false);
                    reply.written(bytes);
                }
                word if word == HURRY.as_bytes() => {
                    self.spindle.set_answers_at_once(true);
                    reply.written(bytes);
                }
                _ => reply.error(Errno::EINVAL),
            };
        }
        if offset.saturating_add(u64::from(bytes)) > self.bytes {
            return reply.error(Errno::ENOSPC);
        }
        let request = QueuedRequest::new(offset, u64::from(bytes), true);
        match self.image.write_all_at(data, offset) {
            Ok(()) => self.spindle.take(request, DelayedReply::Written(reply, bytes)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // No page cache above needs to be flushed.
        reply.ok();
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if inode.0 == IMAGE_INODE { self.spindle.flush(reply) } else { reply.ok() }
    }

    fn fallocate(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let flags = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        let is_within = offset.checked_add(length).is_some_and(|end| end <= self.bytes);
        if inode.0 != IMAGE_INODE || !is_within {
            return reply.error(Errno::EINVAL);
        }
        let is_discard = flags.contains(FallocateFlags::PUNCH_HOLE);
        if !is_discard && !flags.contains(FallocateFlags::ZERO_RANGE) {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let request = QueuedRequest::new(offset, length, true);
        match fallocate(self.image.as_fd(), flags | FallocateFlags::KEEP_SIZE, offset, length) {
            // A discard takes no time; a disk with a head ignores it, and images stay sparse.
            Ok(()) if is_discard => {
                self.spindle.discard(offset, length);
                reply.ok();
            }
            Ok(()) => self.spindle.take(request, DelayedReply::Done(reply)),
            Err(errno) => reply.error(Errno::from_i32(errno.raw_os_error())),
        }
    }
}
