//! Readers: perhaps the comments, then pictures and articles in turns, until an article is missing.

use super::{Doing, Stage, Thread, span_place};
use crate::blogbench::draws::{self, File};
use crate::blogbench::names::Name;

impl Thread {
    pub(super) fn begin_reading(&mut self) -> Option<Doing> {
        let with_comments = draws::coin(&mut self.random);
        self.file = if with_comments { File::Comment } else { File::Picture };
        self.number = 1;
        self.open_file()
    }

    fn open_file(&mut self) -> Option<Doing> {
        if self.is_cut_short() {
            return None;
        }
        self.name = Name::path(self.blog, self.file, self.number);
        self.files.begin();
        self.stage = Stage::Opened;
        Some(Doing::Open)
    }

    /// The present file was read to its end.
    pub(super) fn has_read(&mut self) -> Option<Doing> {
        self.files.end(span_place(self.file, true), false);
        self.counts.add(self.file.read());
        self.next_to_read(true)
    }

    /// Goes on behind a file that was there, or was not.
    pub(super) fn next_to_read(&mut self, was_there: bool) -> Option<Doing> {
        match (self.file, was_there) {
            (File::Comment, true) => self.number += 1,
            (File::Comment, false) => (self.file, self.number) = (File::Picture, 1),
            (File::Picture, _) => self.file = File::Article,
            (File::Article, true) => {
                self.file = File::Picture;
                self.number += 1;
            }
            (File::Article, false) => return self.done(),
        }
        self.open_file()
    }
}
