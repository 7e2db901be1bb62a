//! A worker of an iteration: makes its files, syncs them, and in classic mode unlinks them.

use std::ffi::CString;

use treering_script::{
    Call, CreateHow, Dir, File, OpenHow, Outcome, Step, Steps, SyncScope, Tolerate,
};

use super::account::{Account, Notes, Timed};
use super::locator::{Locator, ROOT};
use super::naming::dir_name;
use super::shape::{Reopened, Shape};

const FILE: File = File(0);
/// The slot of the subdirectory in which a classic worker unlinks.
const UNLINK_DIR: Dir = Dir(2);

/// What a classic worker has beyond a native one.
#[derive(Debug)]
struct Classic {
    account: Account,
    /// The second at which the trial began.
    started_unix_s: u64,
    /// The nanoseconds of it.
    started_ns: u64,
    /// Which call was made last.
    made: Timed,
    /// The name of the subdirectory that is made.
    subdir: CString,
    subdir_number: Option<u32>,
}

impl Classic {
    /// The second that is so many nanoseconds after the trial began.
    fn second(&self, at_ns: u64) -> u64 {
        self.started_unix_s + (self.started_ns + at_ns) / 1_000_000_000
    }
}

/// The way of the original or our own.
#[derive(Debug)]
enum Manner {
    /// Paths from the root, a mkdir before each file, unlinks at the end, own accounts.
    Classic(Box<Classic>),
    /// Names in open directories, below a root that must be opened.
    Native { root: CString },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Is there room for all files.
    Look,
    Begin,
    NextFile,
    Make,
    Create,
    Write,
    Fsync,
    Close,
    System,
    Reopen,
    FsyncAgain,
    CloseAgain,
    Unlink,
    End,
}

/// What is to be done, without borrowed names.
#[derive(Clone, Copy, Debug)]
enum Doing {
    OpenRoot,
    MakeSubdir,
    MakeRoot,
    OpenSubdir(u32, Dir),
    Create(u64),
    Plain(Step<'static>),
    Reopen(u64),
    Unlink(u64),
}

/// The script.
#[derive(Debug)]
pub(super) struct Worker {
    shape: Shape,
    key: u64,
    manner: Manner,
    locator: Locator,
    stage: Stage,
    /// The file that is being made, and how many are whole.
    file: u64,
    written: u64,
    /// Whether there is no more room, and whether the present file is not whole therefore.
    full: bool,
    broken: bool,
    /// Whether it has not begun since there was no room for all files.
    no_room: bool,
    /// How many files of the pass after the writing are done.
    passed: u64,
    path: CString,
    /// The subdirectory that is open to unlink in.
    unlinking_in: Option<u32>,
}

impl Worker {
    /// A worker as in the original, in a trial that began at this time.
    pub(super) fn classic(shape: &Shape, key: u64, started_unix_ms: u64) -> Self {
        let only_first = shape.sync.reopened() == Reopened::First;
        let classic = Classic {
            account: Account::new(only_first),
            started_unix_s: started_unix_ms / 1000,
            started_ns: started_unix_ms % 1000 * 1_000_000,
            made: Timed::Other,
            subdir: CString::default(),
            subdir_number: None,
        };
        let locator = Locator::classic(shape, key, started_unix_ms / 1000);
        let manner = Manner::Classic(Box::new(classic));
        Self::new(shape, key, manner, locator, Stage::Look)
    }

    /// A native worker of an iteration below this root.
    pub(super) fn native(shape: &Shape, key: u64, iteration: u32, root: CString) -> Self {
        let locator = Locator::native(shape, key, iteration);
        Self::new(shape, key, Manner::Native { root }, locator, Stage::Begin)
    }

    fn new(shape: &Shape, key: u64, manner: Manner, locator: Locator, stage: Stage) -> Self {
        let shape = shape.clone();
        Self {
            shape,
            key,
            manner,
            locator,
            stage,
            file: 0,
            written: 0,
            full: false,
            broken: false,
            no_room: false,
            passed: 0,
            path: CString::default(),
            unlinking_in: None,
        }
    }

    /// The present second, in classic mode.
    fn seconds(&self) -> Option<u64> {
        match &self.manner {
            Manner::Classic(classic) => Some(classic.second(classic.account.now_ns())),
            Manner::Native { .. } => None,
        }
    }

    fn is_classic(&self) -> bool {
        matches!(self.manner, Manner::Classic(_))
    }

    /// There was no room for the last step.
    fn give_up(&mut self) {
        self.full = true;
        self.stage = match self.stage {
            // It was making a subdirectory, or creating.
            Stage::Create | Stage::Write if self.written == 0 => Stage::System,
            // It was writing, or syncing in the loop: the file is there and open.
            Stage::Write | Stage::Fsync | Stage::Close => {
                self.broken = true;
                Stage::Close
            }
            later => later,
        };
    }

    /// The next thing to do; `None` at the end.
    fn advance(&mut self) -> Option<Doing> {
        loop {
            match self.stage {
                Stage::Look => {
                    self.stage = Stage::NextFile;
                    return Some(Doing::Plain(Call::Statfs { dir: Dir::TARGET }.into()));
                }
                Stage::Begin => {
                    self.stage = Stage::NextFile;
                    return Some(Doing::OpenRoot);
                }
                Stage::NextFile if self.full || self.file == self.shape.files => {
                    self.stage = Stage::System;
                }
                Stage::NextFile => {
                    let seconds = self.seconds();
                    self.locator.advance(self.file, seconds);
                    self.stage = Stage::Make;
                }
                Stage::Make => {
                    self.stage = Stage::Create;
                    self.written = 0;
                    if let Some(doing) = self.make() {
                        return Some(doing);
                    }
                }
                Stage::Create => {
                    self.stage = Stage::Write;
                    return Some(Doing::Create(self.file));
                }
                Stage::Write => return Some(self.write()),
                Stage::Fsync => {
                    self.stage = Stage::Close;
                    return Some(Doing::Plain(self.fsync()));
                }
                Stage::Close => {
                    self.stage = Stage::NextFile;
                    self.file += u64::from(!self.broken);
                    return Some(Doing::Plain(Call::Close { file: FILE }.into()));
                }
                Stage::System | Stage::Reopen | Stage::FsyncAgain | Stage::CloseAgain => {
                    if let Some(doing) = self.sync_later() {
                        return Some(doing);
                    }
                }
                Stage::Unlink if self.passed < self.file => {
                    let file = self.passed;
                    self.locator.recall(file);
                    if let Some(doing) = self.open_to_unlink() {
                        return Some(doing);
                    }
                    self.passed += 1;
                    return Some(Doing::Unlink(file));
                }
                Stage::Unlink => self.stage = Stage::End,
                Stage::End => return None,
            }
        }
    }

    /// What comes before a file: the original's mkdir, or opening a subdirectory the first time.
    fn make(&mut self) -> Option<Doing> {
        if self.is_classic() {
            let subdir = self.locator.subdir();
            return Some(if subdir.is_some() { Doing::MakeSubdir } else { Doing::MakeRoot });
        }
        self.locator.opens().map(|(subdir, slot)| Doing::OpenSubdir(subdir, slot))
    }

    fn write(&mut self) -> Doing {
        let left = self.shape.bytes - self.written;
        let bytes = u32::try_from(left).unwrap_or(u32::MAX).min(self.shape.write_bytes);
        let position = self.written;
        self.written += u64::from(bytes);
        // At least one write, also of nothing.
        if self.written >= self.shape.bytes {
            let inband = self.shape.sync == super::shape::SyncMethod::Inband;
            self.stage = if inband { Stage::Fsync } else { Stage::Close };
        }
        let call = Call::Write { file: FILE, bytes, position };
        Doing::Plain(self.unless_full(call))
    }

    fn fsync(&self) -> Step<'static> {
        self.unless_full(Call::Fsync { file: FILE })
    }

    fn unless_full<'a>(&self, call: Call<'a>) -> Step<'a> {
        if self.shape.until_full { call.unless_full() } else { call.into() }
    }

    /// The passes after the loop: sync, and files reopened.
    fn sync_later(&mut self) -> Option<Doing> {
        let count = match self.shape.sync.reopened() {
            Reopened::Nothing => 0,
            Reopened::First => self.file.min(1),
            Reopened::Forward | Reopened::Backward => self.file,
        };
        match self.stage {
            Stage::System => {
                self.stage = Stage::Reopen;
                let scope = if self.is_classic() { SyncScope::Machine } else { SyncScope::Target };
                let sync = Doing::Plain(Call::Sync { scope }.into());
                self.shape.sync.syncs().then_some(sync)
            }
            Stage::Reopen if self.passed < count => {
                self.stage = Stage::FsyncAgain;
                let backward = self.shape.sync.reopened() == Reopened::Backward;
                let file = if backward { count - 1 - self.passed } else { self.passed };
                self.locator.recall(file);
                Some(Doing::Reopen(file))
            }
            Stage::FsyncAgain => {
                self.stage = Stage::CloseAgain;
                Some(Doing::Plain(self.fsync()))
            }
            Stage::CloseAgain => {
                self.stage = Stage::Reopen;
                self.passed += 1;
                Some(Doing::Plain(Call::Close { file: FILE }.into()))
            }
            _ => {
                self.passed = 0;
                let unlinks = self.is_classic() && !self.shape.keep;
                self.stage = if unlinks { Stage::Unlink } else { Stage::End };
                None
            }
        }
    }

    /// The subdirectory of the next unlinks is opened, so that each of them is one call.
    fn open_to_unlink(&mut self) -> Option<Doing> {
        let subdir = self.locator.subdir();
        let is_open = std::mem::replace(&mut self.unlinking_in, subdir) == subdir;
        subdir.filter(|_| !is_open).map(|subdir| Doing::OpenSubdir(subdir, UNLINK_DIR))
    }

    /// Tells the account which call comes.
    fn note(&mut self, doing: Doing) {
        let stage = self.stage;
        let Manner::Classic(classic) = &mut self.manner else { return };
        let Classic { made, subdir, subdir_number, .. } = &mut **classic;
        *made = match doing {
            // The unlinks have begun: the loop is over.
            Doing::OpenSubdir(..) => Timed::Outside,
            Doing::OpenRoot | Doing::MakeRoot => Timed::Other,
            Doing::MakeSubdir => {
                if *subdir_number != self.locator.subdir() {
                    *subdir_number = self.locator.subdir();
                    *subdir = c_string(&dir_name(subdir_number.unwrap_or(0)));
                }
                Timed::Other
            }
            Doing::Create(_) => Timed::Create,
            Doing::Reopen(_) => Timed::Reopen,
            Doing::Unlink(_) => Timed::Unlink,
            Doing::Plain(step) => match step.call {
                Call::Write { .. } => Timed::Write,
                Call::Fsync { .. } => Timed::Fsync,
                Call::Sync { .. } => Timed::Sync,
                Call::Statfs { .. } => Timed::Before,
                Call::Close { .. } if stage == Stage::Reopen => Timed::CloseAgain,
                Call::Close { .. } => Timed::Close,
                _ => Timed::Other,
            },
        };
    }
}

/// A name of ours: hex or letters.
pub(super) fn c_string(name: &str) -> CString {
    CString::new(name).unwrap_or_default()
}

impl Steps for Worker {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        match last {
            Outcome::Full(_) => self.give_up(),
            Outcome::Room(room) if !self.shape.until_full => {
                // As the original: each worker for itself, metadata not counted.
                let needs = self.shape.files.saturating_mul(self.shape.bytes);
                if room.free_bytes < needs {
                    self.no_room = true;
                    self.stage = Stage::End;
                }
            }
            _ => {}
        }
        let doing = self.advance()?;
        self.note(doing);
        let until_full = self.shape.until_full;
        let root = if self.is_classic() { Dir::TARGET } else { ROOT };
        let existing = if until_full { Tolerate::ExistingOrFull } else { Tolerate::Existing };
        let step = match doing {
            Doing::Plain(step) => step,
            Doing::OpenRoot => {
                let Manner::Native { root } = &self.manner else { return None };
                Call::OpenDir { at: Dir::TARGET, path: root, into: ROOT }.into()
            }
            Doing::MakeSubdir => {
                let Manner::Classic(classic) = &self.manner else { return None };
                let call = Call::MakeDir { at: Dir::TARGET, name: &classic.subdir };
                Step { call, tolerate: existing }
            }
            Doing::MakeRoot => {
                Step { call: Call::MakeAgain { dir: Dir::TARGET }, tolerate: existing }
            }
            Doing::OpenSubdir(subdir, into) => {
                self.path = c_string(&dir_name(subdir));
                Call::OpenDir { at: root, path: &self.path, into }.into()
            }
            Doing::Create(file) => {
                let (at, path) = self.locator.place(file, root);
                let call = Call::Create { at, path, how: CreateHow::TruncateToRead, into: FILE };
                if until_full { call.unless_full() } else { call.into() }
            }
            Doing::Reopen(file) => {
                let (at, path) = self.locator.place(file, root);
                Call::Open { at, path, how: OpenHow::Read, into: FILE }.into()
            }
            Doing::Unlink(file) => {
                let at = if self.unlinking_in.is_some() { UNLINK_DIR } else { root };
                let path = self.locator.bare_name(file);
                // One of two files of the same name is gone with the other.
                Call::Unlink { at, path }.unless_missing()
            }
        };
        Some(step)
    }

    fn began(&mut self, at_ns: u64) {
        if let Manner::Classic(classic) = &mut self.manner {
            classic.account.begin(at_ns);
            let seconds = classic.second(at_ns);
            self.locator = Locator::classic(&self.shape, self.key, seconds);
        }
    }

    fn timed(&mut self, began_ns: u64, ended_ns: u64) {
        if let Manner::Classic(classic) = &mut self.manner {
            classic.account.add(classic.made, began_ns, ended_ns);
        }
    }

    fn notes(&mut self) -> Vec<u64> {
        match &self.manner {
            Manner::Classic(classic) => {
                let notes = classic.account.close(self.file, self.full, self.locator.since());
                Notes { no_room: self.no_room, ..notes }.to_words()
            }
            Manner::Native { .. } => {
                Notes { files: self.file, full: self.full, ..Notes::default() }.to_words()
            }
        }
    }
}
