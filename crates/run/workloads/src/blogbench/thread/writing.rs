//! Who writes: writers, rewriters, commenters. A file is written under another name, then renamed.

use std::sync::atomic::Ordering;

use super::{Doing, Stage, Thread, span_place};
use crate::blogbench::config::Role;
use crate::blogbench::counts::Count;
use crate::blogbench::draws::{self, File};
use crate::blogbench::names::Name;

/// Bytes of each write.
const WRITE_BYTES: u32 = 8192;

impl Thread {
    /// A blog of its own.
    pub(super) fn new_blog(&mut self) -> Doing {
        let begun = self.common.begun.cell(0).fetch_add(1, Ordering::Relaxed);
        self.blog = begun % self.common.standing.max(1);
        if begun != self.blog {
            self.counts.add(Count::Anew);
        }
        self.blogs.begin();
        self.first_to_write();
        self.name = Name::blog(self.blog);
        self.stage = Stage::BlogMade;
        Doing::MakeBlog
    }

    /// The first file that is written to the present blog.
    pub(super) fn first_to_write(&mut self) {
        self.file = match self.role {
            Role::Commenter => File::Comment,
            Role::Rewriter if draws::coin(&mut self.random) => File::Picture,
            _ => File::Article,
        };
        self.number = draws::number(&mut self.random);
    }

    /// The file after it; `false` when there is none.
    fn next_to_write(&mut self) -> bool {
        // A rewriter writes one of a kind, the others all from a number down to 1.
        if self.role != Role::Rewriter && self.number > 1 {
            self.number -= 1;
            return true;
        }
        self.file = match (self.role, self.file) {
            (Role::Writer, File::Article) => File::Picture,
            (Role::Rewriter, File::Picture) => File::Article,
            _ => return false,
        };
        self.number = draws::number(&mut self.random);
        true
    }

    pub(super) fn begin_file(&mut self) -> Option<Doing> {
        if self.is_cut_short() {
            return None;
        }
        self.bytes = draws::size(&mut self.random, self.file);
        self.position = 0;
        self.name = Name::file(self.file, self.number);
        self.other_name = Name::unfinished(self.file, self.number);
        self.files.begin();
        self.stage = Stage::Written;
        Some(Doing::Create)
    }

    pub(super) fn write_on(&mut self) -> Doing {
        let rest = self.bytes.saturating_sub(self.position);
        if rest == 0 {
            self.stage = Stage::WrittenClosed;
            return Doing::Close;
        }
        Doing::Write(u32::try_from(rest).map_or(WRITE_BYTES, |rest| rest.min(WRITE_BYTES)))
    }

    pub(super) fn rename(&mut self) -> Doing {
        self.stage = Stage::Renamed;
        Doing::Rename
    }

    /// The file has its name.
    pub(super) fn written(&mut self) -> Option<Doing> {
        self.files.end(span_place(self.file, false), false);
        self.counts.add(self.file.written());
        if self.next_to_write() { self.begin_file() } else { self.done() }
    }
}
