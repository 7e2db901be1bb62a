//! Code of a thread: works on one blog after the other until the deadline.
//!
//! A missing blog, or a failure because another thread works on the same blog, costs a second, as
//! in the original. All other failures end the run.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use treering_model::Counters;
use treering_script::{
    CounterBoard, CreateHow, Deadline, DirSlot, ExpectedErrors, Io, OpenHow, OperationSpans,
    Random, Script, Stop,
};

use super::config::ThreadRole;
use super::counts::{BlogCounters, Counter, CounterSums};
use super::draws::{self, FileKind};
use super::names::NameBuffer;

/// Slots of directories and files that a thread has open.
const ROOT: DirSlot = DirSlot(1);
const BLOG: DirSlot = DirSlot(2);
const FILE: treering_script::FileSlot = treering_script::FileSlot(0);
/// Size of a write, in bytes.
const WRITE_BYTES: u64 = 8192;
/// Wait after a missing blog or file; a thread that waits ends the run so much later at most, as in
/// the original.
const WAIT_NS: u64 = 1_000_000_000;

/// State shared by all threads.
#[derive(Debug)]
pub(super) struct SharedState {
    /// Board whose first cell counts the blogs begun.
    pub(super) begun: CounterBoard,
    pub(super) deadline: Deadline,
    /// Maximum number of existing blogs; at the limit, the oldest is written again.
    pub(super) standing: u64,
    /// Directory of all blogs; `None` for the target itself.
    pub(super) root: Option<CString>,
    pub(super) read_bytes: u32,
    /// True if a thread finishes its blog after the deadline.
    pub(super) finishes: bool,
    /// True if every call is timed: latencies of sampled calls would not be those of whole files.
    pub(super) is_timed: bool,
}

/// Outcome of a blog, or of one of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlogOutcome {
    Done,
    /// The blog or file is missing, or another thread was faster.
    Missing,
    /// The deadline was reached between two files.
    CutShort,
}

/// Code of one thread.
#[derive(Debug)]
pub(super) struct ThreadScript {
    role: ThreadRole,
    common: Arc<SharedState>,
    counts: BlogCounters,
    random: Random,
    timed: ThreadCounters,
    /// Start of the current blog's first call.
    blog_began: Option<u64>,
}

/// Counters of a thread: latencies of files and of whole blogs, and counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ThreadCounters {
    /// Latencies of files, by [`span_place`].
    pub(super) files: OperationSpans,
    /// Latencies of blogs, by [`ThreadRole::place`].
    pub(super) blogs: OperationSpans,
    /// Counts of the whole thread, set at its end.
    pub(super) done: CounterSums,
}

/// Index of a file's latencies in the counters: written files come first.
pub(super) const fn span_place(file: FileKind, reads: bool) -> usize {
    if reads { FileKind::ALL.len() + file.place() } else { file.place() }
}

/// Number of kinds of file latencies.
pub(super) const SPANS: usize = 2 * FileKind::ALL.len();

impl ThreadScript {
    /// Thread that counts on a board of its own.
    pub(super) fn new(
        role: ThreadRole,
        common: Arc<SharedState>,
        counts: BlogCounters,
        random: Random,
    ) -> Self {
        Self {
            role,
            common,
            counts,
            random,
            timed: ThreadCounters {
                files: OperationSpans::new(SPANS),
                blogs: OperationSpans::new(ThreadRole::ALL.len()),
                done: CounterSums::default(),
            },
            blog_began: None,
        }
    }

    /// Works on the next blog, by the role of the thread.
    fn blog(&mut self, io: &mut dyn Io) -> Result<BlogOutcome, Stop> {
        self.blog_began = None;
        if self.role == ThreadRole::Writer {
            return self.new_blog(io);
        }
        let begun = self.common.begun.cell(0).load(Ordering::Relaxed);
        let blog = draws::blog(&mut self.random, begun, self.common.standing);
        match self.role {
            ThreadRole::Commenter => self.write_to(io, blog),
            // Only commenters use blog 0; the original takes it for none elsewhere.
            _ if blog == 0 => Ok(BlogOutcome::Missing),
            ThreadRole::Reader => self.read(io, blog),
            ThreadRole::Rewriter | ThreadRole::Writer => self.write_to(io, blog),
        }
    }

    /// Writes a new blog: articles and pictures, each from a drawn number down to 1.
    fn new_blog(&mut self, io: &mut dyn Io) -> Result<BlogOutcome, Stop> {
        let begun = self.common.begun.cell(0).fetch_add(1, Ordering::Relaxed);
        let blog = begun % self.common.standing.max(1);
        if begun != blog {
            self.counts.add(Counter::Anew);
        }
        let made = io.make_dir(self.blogs_dir(), NameBuffer::blog(blog).as_c_str());
        made.unless_existing()?;
        self.begin_blog(io);
        self.write_to(io, blog)
    }

    /// Writes files to a blog that may be another thread's: writers and commenters write all
    /// numbers from a drawn one down to 1, rewriters write one file of each kind.
    fn write_to(&mut self, io: &mut dyn Io, blog: u64) -> Result<BlogOutcome, Stop> {
        let kinds: &[FileKind] = match self.role {
            ThreadRole::Commenter => &[FileKind::Comment],
            ThreadRole::Rewriter if draws::coin(&mut self.random) => {
                &[FileKind::Picture, FileKind::Article]
            }
            ThreadRole::Rewriter => &[FileKind::Article],
            ThreadRole::Writer | ThreadRole::Reader => &[FileKind::Article, FileKind::Picture],
        };
        let mut first = draws::number(&mut self.random);
        let opened = io.open_dir(self.blogs_dir(), NameBuffer::blog(blog).as_c_str(), BLOG);
        let is_there = opened.unless_missing()?.is_some();
        self.begin_blog(io);
        if !is_there {
            return Ok(BlogOutcome::Missing);
        }
        for (place, &kind) in kinds.iter().enumerate() {
            if place > 0 {
                first = draws::number(&mut self.random);
            }
            let last = if self.role == ThreadRole::Rewriter { first } else { 1 };
            for number in (last..=first).rev() {
                let outcome = self.write_file(io, kind, number)?;
                if outcome != BlogOutcome::Done {
                    return Ok(outcome);
                }
            }
        }
        Ok(BlogOutcome::Done)
    }

    /// Writes a file under a temporary name and renames it.
    fn write_file(
        &mut self,
        io: &mut dyn Io,
        file: FileKind,
        number: u32,
    ) -> Result<BlogOutcome, Stop> {
        if self.is_cut_short() {
            return Ok(BlogOutcome::CutShort);
        }
        let bytes = draws::size(&mut self.random, file);
        let (name, other) = (NameBuffer::file(file, number), NameBuffer::unfinished(file, number));
        io.create(BLOG, other.as_c_str(), CreateHow::Truncate, FILE)?;
        let began = self.began(io);
        let mut position = 0;
        while position < bytes {
            let piece = u32::try_from((bytes - position).min(WRITE_BYTES)).unwrap_or(u32::MAX);
            position += io.write(FILE, piece, position)?;
        }
        io.close(FILE)?;
        // Another thread may have written the same file meanwhile.
        let renamed = io.rename(BLOG, other.as_c_str(), BLOG, name.as_c_str());
        if renamed.unless_missing()?.is_none() {
            return Ok(BlogOutcome::Missing);
        }
        self.timed.files.record(span_place(file, false), false, began, self.ended(io));
        self.counts.add(file.written());
        Ok(BlogOutcome::Done)
    }

    /// Reads the comments with probability one half, then pictures and articles in turn, until an
    /// article is missing.
    fn read(&mut self, io: &mut dyn Io, blog: u64) -> Result<BlogOutcome, Stop> {
        if draws::coin(&mut self.random) {
            for number in 1.. {
                match self.read_file(io, blog, FileKind::Comment, number)? {
                    BlogOutcome::Done => {}
                    BlogOutcome::Missing => break,
                    BlogOutcome::CutShort => return Ok(BlogOutcome::CutShort),
                }
            }
        }
        for number in 1.. {
            if self.read_file(io, blog, FileKind::Picture, number)? == BlogOutcome::CutShort {
                return Ok(BlogOutcome::CutShort);
            }
            match self.read_file(io, blog, FileKind::Article, number)? {
                BlogOutcome::Done => {}
                BlogOutcome::Missing => break,
                BlogOutcome::CutShort => return Ok(BlogOutcome::CutShort),
            }
        }
        Ok(BlogOutcome::Done)
    }

    /// Reads a file to its end.
    fn read_file(
        &mut self,
        io: &mut dyn Io,
        blog: u64,
        file: FileKind,
        number: u32,
    ) -> Result<BlogOutcome, Stop> {
        if self.is_cut_short() {
            return Ok(BlogOutcome::CutShort);
        }
        let name = NameBuffer::path(blog, file, number);
        let opened = io.open(self.blogs_dir(), name.as_c_str(), OpenHow::Read, FILE);
        let is_there = opened.unless_missing()?.is_some();
        self.begin_blog(io);
        if !is_there {
            return Ok(BlogOutcome::Missing);
        }
        let began = self.began(io);
        while io.read(FILE, self.common.read_bytes)? > 0 {}
        io.close(FILE)?;
        self.timed.files.record(span_place(file, true), false, began, self.ended(io));
        self.counts.add(file.read());
        Ok(BlogOutcome::Done)
    }

    /// Waits a second after a missing blog or file.
    fn wait(&self, io: &mut dyn Io) -> Result<(), Stop> {
        self.counts.add(Counter::Waits);
        io.pause(WAIT_NS)
    }

    fn blogs_dir(&self) -> DirSlot {
        if self.common.root.is_some() { ROOT } else { DirSlot::TARGET }
    }

    /// True if the thread must end between two files.
    fn is_cut_short(&self) -> bool {
        !self.common.finishes && self.common.deadline.is_reached()
    }

    /// Start of the last call, if all calls are timed.
    fn began(&self, io: &dyn Io) -> Option<u64> {
        io.timed().filter(|_| self.common.is_timed).map(|(began_ns, _)| began_ns)
    }

    fn ended(&self, io: &dyn Io) -> Option<u64> {
        io.timed().filter(|_| self.common.is_timed).map(|(_, ended_ns)| ended_ns)
    }

    /// Sets the start of the current blog to the first call made for it.
    fn begin_blog(&mut self, io: &dyn Io) {
        if self.blog_began.is_none() {
            self.blog_began = self.began(io);
        }
    }
}

impl Script for ThreadScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if let Some(root) = &self.common.root {
            io.open_dir(DirSlot::TARGET, root, ROOT)?;
        }
        while !self.common.deadline.is_reached() {
            match self.blog(io)? {
                BlogOutcome::CutShort => break,
                BlogOutcome::Missing => self.wait(io)?,
                BlogOutcome::Done => {
                    self.timed.blogs.record(
                        self.role.place(),
                        false,
                        self.blog_began,
                        self.ended(io),
                    );
                    match self.role {
                        ThreadRole::Writer => self.counts.add(Counter::BlogsWritten),
                        ThreadRole::Reader => self.counts.add(Counter::BlogsRead),
                        ThreadRole::Rewriter | ThreadRole::Commenter => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        self.timed.done = self.counts.sums();
        Counters::from_value(&self.timed)
    }
}
