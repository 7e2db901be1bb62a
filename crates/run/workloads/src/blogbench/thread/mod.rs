//! A thread: does one thing to one blog after the other until the bell rings.
//!
//! What fails since somebody else works on the same blog, and a blog that is not there, cost it a
//! second, as in the original. All other failures end the run.

mod reading;
mod writing;

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use treering_script::{
    Bell, Board, Call, CreateHow, Dir, OpenHow, Outcome, Random, Script, Spans, Step,
};

use super::config::Role;
use super::counts::{Count, Counts};
use super::draws::{self, File};
use super::names::Name;

/// The slots of what a thread has open.
const ROOT: Dir = Dir(1);
const BLOG: Dir = Dir(2);
const FILE: treering_script::File = treering_script::File(0);
/// How long it waits when it cannot go on, in pieces: nothing ends a piece early.
const WAIT_NS: u64 = 1_000_000_000;
const PIECE_NS: u64 = 20_000_000;

/// What all threads have in common.
#[derive(Debug)]
pub(super) struct Common {
    /// In its first cell, how many blogs were begun.
    pub(super) begun: Board,
    pub(super) bell: Bell,
    /// So many blogs stand at once; then the oldest is written anew.
    pub(super) standing: u64,
    /// The directory of all blogs; the target itself without it.
    pub(super) root: Option<CString>,
    pub(super) read_bytes: u32,
    /// Whether a blog is done to its end when the bell has rung.
    pub(super) finishes: bool,
    /// Whether every call is timed: latencies of some calls are those of no file.
    pub(super) is_timed: bool,
}

impl Common {
    fn begun(&self) -> u64 {
        self.begun.cell(0).load(Ordering::Relaxed)
    }
}

/// What was asked for last, and what comes after it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing yet.
    Begin,
    /// All is there for the next blog.
    Ready,
    BlogMade,
    BlogOpened,
    /// A file was created, or a piece of it written.
    Written,
    WrittenClosed,
    Renamed,
    /// A file was opened to be read.
    Opened,
    Read,
    ReadClosed,
    Waiting,
}

/// A step without borrowed names.
#[derive(Clone, Copy, Debug)]
enum Doing {
    OpenRoot,
    MakeBlog,
    OpenBlog,
    Create,
    Write(u32),
    Rename,
    Open,
    Read,
    Close,
    Pause(u64),
}

/// The script.
#[derive(Debug)]
pub(super) struct Thread {
    role: Role,
    common: Arc<Common>,
    counts: Counts,
    random: Random,
    /// Latencies of files, and of whole blogs.
    files: Spans,
    blogs: Spans,
    stage: Stage,
    blog: u64,
    /// The present file, or the next one.
    file: File,
    number: u32,
    bytes: u64,
    position: u64,
    wait_ns: u64,
    name: Name,
    other_name: Name,
}

/// The place of a file's latencies in the notes: written ones come first.
pub(super) const fn span_place(file: File, reads: bool) -> usize {
    if reads { File::ALL.len() + file.place() } else { file.place() }
}

/// How many kinds of latencies of files there are.
pub(super) const SPANS: usize = 2 * File::ALL.len();

impl Thread {
    /// A thread that counts on a board of its own.
    pub(super) fn new(role: Role, common: Arc<Common>, counts: Counts, random: Random) -> Self {
        Self {
            role,
            common,
            counts,
            random,
            files: Spans::new(SPANS),
            blogs: Spans::new(Role::ALL.len()),
            stage: Stage::Begin,
            blog: 0,
            file: File::Article,
            number: 0,
            bytes: 0,
            position: 0,
            wait_ns: 0,
            name: Name::default(),
            other_name: Name::default(),
        }
    }

    /// The next thing to do; `None` at the end.
    fn advance(&mut self, refused: bool, bytes: u64) -> Option<Doing> {
        match self.stage {
            Stage::Begin if self.common.root.is_some() => {
                self.stage = Stage::Ready;
                Some(Doing::OpenRoot)
            }
            Stage::Begin | Stage::Ready => self.choose(),
            Stage::BlogMade => Some(self.open_blog()),
            Stage::BlogOpened if refused => Some(self.wait()),
            Stage::BlogOpened => self.begin_file(),
            Stage::Written => Some(self.write_on()),
            Stage::WrittenClosed => Some(self.rename()),
            Stage::Renamed if refused => Some(self.wait()),
            Stage::Renamed => self.written(),
            Stage::Opened if refused => self.next_to_read(false),
            Stage::Read if bytes == 0 => {
                self.stage = Stage::ReadClosed;
                Some(Doing::Close)
            }
            Stage::Opened | Stage::Read => {
                self.stage = Stage::Read;
                Some(Doing::Read)
            }
            Stage::ReadClosed => self.has_read(),
            Stage::Waiting => self.wait_on(),
        }
    }

    /// The next blog, and the first thing to do to it.
    fn choose(&mut self) -> Option<Doing> {
        if self.common.bell.has_rung() {
            return None;
        }
        if self.role == Role::Writer {
            return Some(self.new_blog());
        }
        self.blog = draws::blog(&mut self.random, self.common.begun(), self.common.standing);
        // Only commenters take the first one; to the others it is none.
        if self.blog == 0 && self.role != Role::Commenter {
            return Some(self.wait());
        }
        self.blogs.begin();
        match self.role {
            Role::Reader => self.begin_reading(),
            _ => {
                self.first_to_write();
                Some(self.open_blog())
            }
        }
    }

    /// Opens the directory of the present blog.
    fn open_blog(&mut self) -> Doing {
        self.name = Name::blog(self.blog);
        self.stage = Stage::BlogOpened;
        Doing::OpenBlog
    }

    /// The present blog is done.
    fn done(&mut self) -> Option<Doing> {
        self.blogs.end(self.role.place(), false);
        match self.role {
            Role::Writer => self.counts.add(Count::BlogsWritten),
            Role::Reader => self.counts.add(Count::BlogsRead),
            Role::Rewriter | Role::Commenter => {}
        }
        self.choose()
    }

    /// Whether it ends between two files.
    fn is_cut_short(&self) -> bool {
        !self.common.finishes && self.common.bell.has_rung()
    }

    /// It cannot go on with this blog.
    fn wait(&mut self) -> Doing {
        self.counts.add(Count::Waits);
        self.wait_ns = WAIT_NS - PIECE_NS;
        self.stage = Stage::Waiting;
        Doing::Pause(PIECE_NS)
    }

    fn wait_on(&mut self) -> Option<Doing> {
        if self.wait_ns == 0 || self.common.bell.has_rung() {
            return self.choose();
        }
        let piece = self.wait_ns.min(PIECE_NS);
        self.wait_ns -= piece;
        Some(Doing::Pause(piece))
    }

    fn step(&self, doing: Doing) -> Step<'_> {
        let at = if self.common.root.is_some() { ROOT } else { Dir::TARGET };
        let (name, other) = (self.name.as_c_str(), self.other_name.as_c_str());
        match doing {
            Doing::OpenRoot => {
                let path = self.common.root.as_deref().unwrap_or_default();
                Call::OpenDir { at: Dir::TARGET, path, into: ROOT }.into()
            }
            Doing::MakeBlog => Call::MakeDir { at, name }.unless_existing(),
            Doing::OpenBlog => Call::OpenDir { at, path: name, into: BLOG }.unless_missing(),
            Doing::Create => {
                let how = CreateHow::Truncate;
                Call::Create { at: BLOG, path: other, how, into: FILE }.into()
            }
            Doing::Write(bytes) => {
                Call::Write { file: FILE, bytes, position: self.position }.into()
            }
            // Another thread may have written the same file meanwhile.
            Doing::Rename => {
                Call::Rename { at: BLOG, from: other, to_at: BLOG, to: name }.unless_missing()
            }
            Doing::Open => {
                let how = OpenHow::Read;
                Call::Open { at, path: name, how, into: FILE }.unless_missing()
            }
            Doing::Read => Call::Read { file: FILE, bytes: self.common.read_bytes }.into(),
            Doing::Close => Call::Close { file: FILE }.into(),
            Doing::Pause(ns) => Call::Pause { ns }.into(),
        }
    }
}

impl Script for Thread {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        let refused = matches!(last, Outcome::Refused);
        let bytes = if let Outcome::Bytes(bytes) = last { bytes } else { 0 };
        if self.stage == Stage::Written {
            self.position += bytes;
        }
        let doing = self.advance(refused, bytes)?;
        Some(self.step(doing))
    }

    fn timed(&mut self, began_ns: u64, ended_ns: u64) {
        if self.common.is_timed {
            self.files.timed(began_ns, ended_ns);
            self.blogs.timed(began_ns, ended_ns);
        }
    }

    fn notes(&mut self) -> Vec<u64> {
        let mut notes = self.files.notes();
        notes.extend(self.blogs.notes());
        notes
    }
}
