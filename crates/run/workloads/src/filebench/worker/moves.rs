//! Bytes are read and written; and what came of a call.

use treering_script::{File, Outcome, Request};

use super::super::plan::Kind;
use super::doing::Doing;
use super::{Then, Worker};

/// A read brings no more at once.
const PIECE_MAX: u64 = 4 << 20;

impl Worker {
    /// A flowop that moves bytes begins.
    #[inline]
    pub(super) fn move_bytes(&mut self) -> Then {
        let kind = self.flow().kind;
        let Self { steps, pc, random, .. } = self;
        let mut wanted = steps[*pc].io_bytes.draw(random);
        if kind == Kind::AppendFileRand {
            wanted = random.below(wanted);
            if wanted == 0 {
                // As the original: it counts, and nothing is done.
                return Then::Count;
            }
        }
        self.present.wanted = wanted;
        match self.has_file() {
            None => self.move_in_hand(),
            Some(then) => then,
        }
    }

    /// The bytes among which a flowop may choose: its working set, or the file as it was made.
    fn working_set(&self) -> u64 {
        let descriptor = self.fds[usize::from(self.present.fd)];
        match self.flow().working_set {
            0 => self.land.filesets[descriptor.fileset].tree.sizes.of(descriptor.file),
            bytes => bytes,
        }
    }

    /// The file is open.
    #[inline]
    pub(super) fn move_in_hand(&mut self) -> Then {
        let position = self.fds[usize::from(self.present.fd)].position;
        let flow = self.flow();
        match flow.kind {
            Kind::Read | Kind::Write | Kind::AioWrite if flow.random => self.at_random(),
            Kind::Read => {
                self.present.piece = self.present.wanted.min(PIECE_MAX);
                Then::Do(Doing::Read)
            }
            Kind::Write => {
                self.present.piece = self.present.wanted;
                self.present.position = position;
                Then::Do(Doing::Write)
            }
            Kind::ReadWholeFile => {
                if self.present.wanted == 0 {
                    self.present.wanted = self.working_set();
                    if self.present.wanted == 0 {
                        return Then::Count;
                    }
                }
                self.present.piece = self.present.wanted.min(PIECE_MAX);
                let there = position == 0 && !self.land.classic;
                Then::Do(if there { Doing::Read } else { Doing::SeekStart })
            }
            Kind::WriteWholeFile => self.write_whole(position),
            _ => Then::Do(Doing::SeekEnd),
        }
    }

    fn write_whole(&mut self, position: u64) -> Then {
        let source = usize::from(self.flow().source_fd);
        let from = self.fds[source];
        let whole = if from.file != super::files::NONE {
            self.land.filesets[from.fileset].tree.sizes.of(from.file)
        } else if source > 0 {
            return self.fail("its srcfd has no file");
        } else {
            self.working_set()
        };
        if whole == 0 {
            return Then::Count;
        }
        let piece = if self.present.wanted == 0 { whole } else { self.present.wanted };
        self.present.left = whole;
        self.present.wanted = piece;
        self.present.piece = piece.min(whole);
        self.present.position = position;
        Then::Do(Doing::Write)
    }

    fn at_random(&mut self) -> Then {
        let (set, wanted) = (self.working_set(), self.present.wanted);
        if wanted == 0 || set < wanted {
            return self.fail("the file is smaller than its iosize");
        }
        self.present.position = self.random.below(set) / wanted * wanted;
        self.present.piece = wanted.min(PIECE_MAX);
        match self.flow().kind {
            Kind::Read => Then::Do(Doing::ReadAt),
            Kind::AioWrite => self.submit(),
            _ => {
                self.present.piece = wanted;
                Then::Do(Doing::WriteAt)
            }
        }
    }

    fn submit(&mut self) -> Then {
        let Some(tag) = self.tags.pop() else { return Then::Do(Doing::Reap(1)) };
        let bytes = u32::try_from(self.present.wanted).unwrap_or(u32::MAX);
        let (file, position) = (File(self.present.fd.into()), self.present.position);
        self.request = [Request { file, writes: true, bytes, position, tag }];
        Then::Do(Doing::Submit)
    }

    pub(super) fn wait_for_requests(&mut self) -> Then {
        let under_way = super::DEPTH - u16::try_from(self.tags.len()).unwrap_or(super::DEPTH);
        if under_way == 0 {
            return Then::Count;
        }
        Then::Do(Doing::Reap((under_way / 2).max(1)))
    }

    fn reaped(&mut self, last: &Outcome<'_>) -> Then {
        let Outcome::Reaped(ended) = last else { return Then::Count };
        for completion in *ended {
            self.tags.push(completion.tag);
            if let Err(errno) = completion.result {
                let why = std::io::Error::from_raw_os_error(errno);
                return self.fail(&format!("a request failed: {why}"));
            }
        }
        match self.flow().kind {
            Kind::AioWrite => self.submit(),
            _ => Then::Count,
        }
    }

    #[inline]
    fn read(&mut self, got: u64) -> Then {
        self.present.moved += got;
        let fd = usize::from(self.present.fd);
        self.fds[fd].position += got;
        if self.flow().kind == Kind::ReadWholeFile {
            let short = got < self.present.piece;
            let ended = got == 0 || short && !self.land.classic;
            return if ended { Then::Count } else { Then::Do(Doing::Read) };
        }
        if got == 0 {
            // At the end it begins anew the next time.
            return Then::Do(Doing::SeekStart);
        }
        if self.present.moved < self.present.wanted && got == self.present.piece {
            self.present.piece = (self.present.wanted - self.present.moved).min(PIECE_MAX);
            return Then::Do(Doing::Read);
        }
        Then::Count
    }

    fn read_at(&mut self, got: u64) -> Then {
        self.present.moved += got;
        self.present.position += got;
        let left = self.present.wanted - self.present.moved.min(self.present.wanted);
        if left > 0 && got == self.present.piece {
            self.present.piece = left.min(PIECE_MAX);
            return Then::Do(Doing::ReadAt);
        }
        Then::Count
    }

    fn written(&mut self, bytes: u64) -> Then {
        self.present.moved += bytes;
        self.present.position += bytes;
        self.fds[usize::from(self.present.fd)].position = self.present.position;
        if self.flow().kind == Kind::WriteWholeFile {
            self.present.left = self.present.left.saturating_sub(bytes);
            if self.present.left > 0 && bytes > 0 {
                self.present.piece = self.present.wanted.min(self.present.left);
                return Then::Do(Doing::Write);
            }
        }
        Then::Count
    }

    fn at_start(&mut self) -> Then {
        self.fds[usize::from(self.present.fd)].position = 0;
        match self.flow().kind {
            Kind::ReadWholeFile => Then::Do(Doing::Read),
            _ => Then::Count,
        }
    }

    fn at_end(&mut self, position: u64) -> Then {
        self.present.position = position;
        self.present.piece = self.present.wanted;
        Then::Do(Doing::Write)
    }

    /// What came of the last call.
    #[inline]
    pub(super) fn hear(&mut self, last: &Outcome<'_>) -> Then {
        match (self.doing, last) {
            (Doing::Read, &Outcome::Bytes(got)) => self.read(got),
            (Doing::Open, _) => self.opened(false),
            (Doing::Close, _) => self.closed(),
            (Doing::Create, _) => self.opened(true),
            (Doing::Write, &Outcome::Bytes(bytes)) => self.written(bytes),
            (Doing::ReadAt, &Outcome::Bytes(got)) => self.read_at(got),
            (Doing::WriteAt, &Outcome::Bytes(bytes)) => {
                self.present.moved += bytes;
                Then::Count
            }
            (Doing::Unlink, _) => self.deleted(),
            (Doing::Stat, _) => self.looked_at(),
            (Doing::SeekStart, _) => self.at_start(),
            (Doing::SeekEnd, &Outcome::Size(position)) => self.at_end(position),
            _ => self.hear_seldom(last),
        }
    }

    fn hear_seldom(&mut self, last: &Outcome<'_>) -> Then {
        match (self.doing, last) {
            (Doing::OpenDir { fileset, dir }, _) => {
                self.dir_opened(fileset, dir, last).unwrap_or_else(|| self.resume())
            }
            (Doing::MakeAbove { fileset, dir, level }, _) => {
                Then::Do(Doing::EnterAbove { fileset, dir, level })
            }
            (Doing::EnterAbove { fileset, dir, level }, _) => {
                self.make_above(fileset, dir, level + 1)
            }
            (Doing::NoReadahead, _) => self.opened_for(),
            (Doing::Fsync(_), _) => match self.flow().kind {
                Kind::FsyncSet => self.sync_set(),
                _ => Then::Count,
            },
            (Doing::MakeLeaf, _) => self.leaf_done(true),
            (Doing::RemoveLeaf, _) => self.leaf_done(false),
            (Doing::OpenList, Outcome::Refused) => Then::Count,
            (Doing::OpenList, _) => Then::Do(Doing::List),
            (Doing::List, _) => self.listed(last),
            (Doing::Submit, &Outcome::Taken(taken)) => {
                if taken == 0 {
                    self.tags.push(self.request[0].tag);
                    return Then::Do(Doing::Reap(1));
                }
                self.present.moved += self.present.wanted;
                Then::Count
            }
            (Doing::Reap(_), _) => self.reaped(last),
            (Doing::Pause(_) | Doing::Await { .. } | Doing::AwaitEvent(_), _) => self.waited(),
            // It is done: a look at an open file, for one.
            _ => Then::Count,
        }
    }
}
