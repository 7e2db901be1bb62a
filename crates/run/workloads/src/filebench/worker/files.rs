//! Files are picked, opened, made, closed, removed and looked at.

use treering_script::Random;

use super::super::draw::{Amount, whole};
use super::super::plan::{FDS, Kind};
use super::super::pool::{Pick, Wanted};
use super::doing::Doing;
use super::{Then, Worker};

/// No file.
pub(super) const NONE: u32 = u32::MAX;
/// How often another file is looked for that nobody has open.
const TRIES_MAX: u64 = 100;
/// A wait for another to put something back.
const MOMENT_NS: u64 = 10_000;

/// What a descriptor of a thread has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    pub(super) is_open: bool,
    pub(super) fileset: usize,
    /// The file, also after it was closed: by this it can be removed.
    pub(super) file: u32,
    /// Where reading and writing go on.
    pub(super) position: u64,
}

impl Default for Descriptor {
    fn default() -> Self {
        Self { is_open: false, fileset: 0, file: NONE, position: 0 }
    }
}

impl Worker {
    /// An index as the original makes it: a number around 1 is in the middle.
    pub(super) fn index(index: &Amount, count: u64, random: &mut Random) -> u32 {
        let half = (count / 2) as f64;
        let drawn = whole(index.draw_real(random) * half);
        u32::try_from(drawn % count.max(1)).unwrap_or(0)
    }

    /// The next file of the flowop's fileset.
    #[inline]
    fn pick(&mut self, wanted: Wanted) -> Pick {
        let Some(number) = self.flow().fileset else { return Pick::None };
        self.present.fileset = number;
        let Self { land, steps, pc, random, .. } = self;
        let fileset = &land.filesets[number];
        match &steps[*pc].indexed {
            None => fileset.files.next(wanted),
            Some(index) => {
                let count = fileset.tree.files.len() as u64;
                fileset.files.from(Self::index(index, count, random), wanted)
            }
        }
    }

    /// Others have what is looked for in hand.
    pub(super) fn again(&mut self) -> Then {
        Then::Do(Doing::Pause(MOMENT_NS))
    }

    /// The descriptor that is opened: its own, or the next one in rotation.
    fn next_fd(&mut self) -> u8 {
        let flow = self.flow();
        if flow.fd > 0 || !flow.opens_next {
            return flow.fd;
        }
        let entries = flow.fileset.map_or(1, |fileset| self.land.filesets[fileset].plan.entries);
        let last = usize::try_from(FDS).unwrap_or(1);
        let most = usize::try_from(entries).unwrap_or(1);
        // As the original: from the end of the table down, one for each file.
        if self.fd_rotor == 0 || last - self.fd_rotor == most {
            self.fd_rotor = last;
        }
        self.fd_rotor -= 1;
        u8::try_from(self.fd_rotor).unwrap_or(0)
    }

    pub(super) fn open_file(&mut self) -> Then {
        self.present.fd = self.next_fd();
        if self.fds[usize::from(self.present.fd)].is_open {
            return self.fail("attempted to open without closing on its fd");
        }
        self.open_picked()
    }

    /// The flowop's descriptor has a file, or gets one: `None` when it has.
    #[inline]
    pub(super) fn has_file(&mut self) -> Option<Then> {
        self.present.fd = self.next_fd();
        if self.fds[usize::from(self.present.fd)].is_open {
            return None;
        }
        Some(self.open_picked())
    }

    fn open_picked(&mut self) -> Then {
        match self.pick(Wanted::Standing) {
            Pick::One(file) => {
                self.present.entry = file;
                self.in_hand(Doing::Open)
            }
            Pick::Busy => self.again(),
            Pick::None if self.flow().fileset.is_none() => {
                self.fail("there is no open file on its fd")
            }
            Pick::None => self.out_of_files(),
        }
    }

    /// What is done to the file in hand, when its directory is open.
    #[inline]
    pub(super) fn in_hand(&mut self, doing: Doing) -> Then {
        let fileset = self.present.fileset;
        let entry = self.land.filesets[fileset].tree.files[self.present.entry as usize];
        let takes_path = doing != Doing::Stat;
        Then::Do(self.locate(fileset, entry, takes_path).unwrap_or(doing))
    }

    /// What was meant to be done when the directory is open.
    pub(super) fn resume(&mut self) -> Then {
        let kind = self.flow().kind;
        match kind {
            Kind::CreateFile => self.in_hand(Doing::Create),
            Kind::DeleteFile => self.in_hand(Doing::Unlink),
            Kind::StatFile => self.in_hand(Doing::Stat),
            Kind::MakeDir | Kind::RemoveDir => self.leaf_in_hand(kind),
            _ => self.in_hand(Doing::Open),
        }
    }

    /// The file is open, or made.
    #[inline]
    pub(super) fn opened(&mut self, made: bool) -> Then {
        let present = self.present;
        let files = &self.land.filesets[present.fileset].files;
        files.opened(present.entry);
        if made {
            files.made(present.entry);
        } else {
            files.put_back(present.entry);
        }
        let (fileset, file) = (present.fileset, present.entry);
        self.fds[usize::from(present.fd)] =
            Descriptor { is_open: true, fileset, file, position: 0 };
        if self.flow().no_readahead {
            return Then::Do(Doing::NoReadahead);
        }
        self.opened_for()
    }

    /// A flowop that opens is done; another one goes on, and its time begins now.
    #[inline]
    pub(super) fn opened_for(&mut self) -> Then {
        if matches!(self.flow().kind, Kind::OpenFile | Kind::CreateFile) {
            return Then::Count;
        }
        (self.present.calls, self.present.timed) = (0, 0);
        self.move_in_hand()
    }

    pub(super) fn create_file(&mut self) -> Then {
        if self.fds[usize::from(self.present.fd)].is_open {
            return self.fail("attempted to create without closing on its fd");
        }
        match self.pick(Wanted::Missing) {
            Pick::One(file) => {
                self.present.entry = file;
                self.in_hand(Doing::Create)
            }
            Pick::Busy => self.again(),
            Pick::None => self.out_of_files(),
        }
    }

    #[inline]
    pub(super) fn close_file(&mut self) -> Then {
        let descriptor = &self.fds[usize::from(self.present.fd)];
        if !descriptor.is_open {
            return self.fail("attempted to close an already closed fd");
        }
        Then::Do(Doing::Close)
    }

    #[inline]
    pub(super) fn closed(&mut self) -> Then {
        let descriptor = &mut self.fds[usize::from(self.present.fd)];
        descriptor.is_open = false;
        self.land.filesets[descriptor.fileset].files.closed(descriptor.file);
        Then::Count
    }

    pub(super) fn delete_file(&mut self) -> Then {
        let fd = usize::from(self.present.fd);
        let descriptor = self.fds[fd];
        let mine = u32::from(descriptor.is_open);
        if fd > 0 && descriptor.file != NONE {
            let files = &self.land.filesets[descriptor.fileset].files;
            if !files.hold(descriptor.file) {
                // Another one has it in hand, or removed it meanwhile: then the next one will do.
                if self.present.left > TRIES_MAX {
                    self.fds[fd].file = NONE;
                    return Then::Skip;
                }
                self.present.left += 1;
                return self.again();
            }
            self.fds[fd].file = NONE;
            self.present.fileset = descriptor.fileset;
            self.present.entry = descriptor.file;
            return self.delete_in_hand(mine);
        }
        match self.pick(Wanted::Standing) {
            Pick::One(file) => {
                self.present.entry = file;
                self.delete_in_hand(0)
            }
            Pick::Busy => self.again(),
            Pick::None if self.flow().fileset.is_none() => self.fail("it has no file to delete"),
            Pick::None => self.out_of_files(),
        }
    }

    /// A file that others have open stays: in classic mode, as in the original, nothing is done and
    /// nothing said; natively the next one is taken, so that there are as many as before.
    fn delete_in_hand(&mut self, mine: u32) -> Then {
        let files = &self.land.filesets[self.present.fileset].files;
        if files.opens(self.present.entry) <= mine {
            return self.in_hand(Doing::Unlink);
        }
        files.put_back(self.present.entry);
        self.present.left += 1;
        if self.land.classic || self.present.left > TRIES_MAX || self.flow().fileset.is_none() {
            return Then::Skip;
        }
        self.delete_file()
    }

    pub(super) fn deleted(&mut self) -> Then {
        self.land.filesets[self.present.fileset].files.gone(self.present.entry);
        Then::Count
    }

    pub(super) fn stat_file(&mut self) -> Then {
        let fd = usize::from(self.present.fd);
        if fd > 0 && self.fds[fd].is_open {
            return Then::Do(Doing::FileStat);
        }
        match self.pick(Wanted::Standing) {
            Pick::One(file) => {
                self.present.entry = file;
                self.in_hand(Doing::Stat)
            }
            Pick::Busy => self.again(),
            Pick::None if self.flow().fileset.is_none() => self.fail("it has no file to look at"),
            Pick::None => self.out_of_files(),
        }
    }

    pub(super) fn looked_at(&mut self) -> Then {
        self.land.filesets[self.present.fileset].files.put_back(self.present.entry);
        Then::Count
    }

    pub(super) fn sync_file(&mut self) -> Then {
        if !self.fds[usize::from(self.present.fd)].is_open {
            return self.fail("attempted to fsync a closed fd");
        }
        Then::Do(Doing::Fsync(self.present.fd))
    }

    /// Each file of the fileset that is open, from this descriptor on.
    pub(super) fn sync_set(&mut self) -> Then {
        let fileset = self.flow().fileset;
        let from = self.present.at;
        let found = self
            .fds
            .iter()
            .enumerate()
            .skip(from)
            .find(|(_, descriptor)| descriptor.is_open && Some(descriptor.fileset) == fileset);
        match found {
            Some((fd, _)) => {
                self.present.at = fd + 1;
                Then::Do(Doing::Fsync(u8::try_from(fd).unwrap_or(0)))
            }
            None if self.present.calls > 0 => Then::Count,
            None => Then::Skip,
        }
    }
}
