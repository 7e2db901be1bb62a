//! Tasks that are not straight code: each yields one step after the other, and is told what came of
//! the one before.

use treering_sys::Errno;

use crate::call::{Call, Completion};
use crate::job::{Script, Usage};
use crate::{CallError, Done, Entries, Io, Room, Stop};

/// Yields the steps of one task.
pub trait Steps: Send {
    /// The next step, given what came of the one before; `None` ends the task.
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>>;

    /// Is told when the task begins, in nanoseconds from the start of the trial.
    fn began(&mut self, _at_ns: u64) {}

    /// Is told when the last step began and ended, if it was timed, in nanoseconds from the start
    /// of the trial.
    fn timed(&mut self, _began_ns: u64, _ended_ns: u64) {}

    /// As [`Script::used`].
    fn used(&mut self, _usage: Usage) {}

    /// As [`Script::notes`].
    fn notes(&mut self) -> Vec<u64> {
        Vec::new()
    }
}

impl<S: Steps> Script for S {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.began(io.began_ns());
        let mut outcome = Outcome::Start;
        while let Some(step) = self.next(outcome) {
            let tolerate = step.tolerate;
            let done = io.call(&step.call);
            if let Some((began_ns, ended_ns)) = io.timed() {
                self.timed(began_ns, ended_ns);
            }
            outcome = match done {
                Ok(Done::Plain) => Outcome::Done,
                Ok(Done::Bytes(bytes)) => Outcome::Bytes(bytes),
                Ok(Done::Size(bytes)) => Outcome::Size(bytes),
                Ok(Done::Room(room)) => Outcome::Room(room),
                Ok(Done::Taken(requests)) => Outcome::Taken(requests),
                Ok(Done::Entries) => Outcome::Entries(io.entries()),
                Ok(Done::Reaped) => Outcome::Reaped(io.reaped()),
                Err(Stop::Failed(error)) => tolerate.outcome(error)?,
                Err(Stop::Asked) => return Err(Stop::Asked),
            };
        }
        Ok(())
    }

    fn used(&mut self, usage: Usage) {
        Steps::used(self, usage);
    }

    fn notes(&mut self) -> Vec<u64> {
        Steps::notes(self)
    }
}

/// Which failures are expected and are told to the script instead of ending the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerate {
    /// None.
    Nothing,
    /// `EEXIST`: it is there already.
    Existing,
    /// `ENOENT`: it is not there.
    Missing,
    /// `ENOSPC` and `EDQUOT`: there is no room left.
    Full,
    /// `EEXIST`, and no room left.
    ExistingOrFull,
    /// Any, told as it is.
    Anything,
}

impl Tolerate {
    /// What a script is told of a call that failed, where it expects that.
    fn outcome(self, error: CallError) -> Result<Outcome<'static>, Stop> {
        let CallError { errno, bytes, .. } = error;
        match (self, errno) {
            (Self::Existing | Self::ExistingOrFull, Errno::EXIST)
            | (Self::Missing, Errno::NOENT) => Ok(Outcome::Refused),
            (Self::Full | Self::ExistingOrFull, Errno::NOSPC | Errno::DQUOT) => {
                Ok(Outcome::Full(bytes))
            }
            // A limit of our own is no answer of the filesystem's, whatever a script expects.
            (Self::Anything, errno) if !matches!(errno, Errno::MFILE | Errno::NFILE) => {
                Ok(Outcome::Failed(errno.raw_os_error()))
            }
            _ => Err(Stop::Failed(error)),
        }
    }
}

/// One intended operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// What is asked.
    pub call: Call<'a>,
    /// Which failure the script expects.
    pub tolerate: Tolerate,
}

impl<'a> From<Call<'a>> for Step<'a> {
    fn from(call: Call<'a>) -> Self {
        Self { call, tolerate: Tolerate::Nothing }
    }
}

impl<'a> Call<'a> {
    /// This call, with `EEXIST` told to the script.
    pub const fn unless_existing(self) -> Step<'a> {
        Step { call: self, tolerate: Tolerate::Existing }
    }

    /// This call, with a full filesystem told to the script.
    pub const fn unless_full(self) -> Step<'a> {
        Step { call: self, tolerate: Tolerate::Full }
    }

    /// This call, with `ENOENT` told to the script.
    pub const fn unless_missing(self) -> Step<'a> {
        Step { call: self, tolerate: Tolerate::Missing }
    }

    /// This call, with every failure told to the script.
    pub const fn whatever_happens(self) -> Step<'a> {
        Step { call: self, tolerate: Tolerate::Anything }
    }
}

/// What came of the step before.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// There was no step before.
    Start,
    /// It was done.
    Done,
    /// So many bytes were moved.
    Bytes(u64),
    /// It is there, and a file of so many bytes; 0 when it is none.
    Size(u64),
    /// The filesystem has this room.
    Room(Room),
    /// Directory entries, in the order of the filesystem, without `.` and `..`; empty at the end.
    Entries(Entries<'a>),
    /// So many requests were taken, the first ones of those given.
    Taken(u32),
    /// These requests have ended.
    Reaped(&'a [Completion]),
    /// It failed in the way the script said it would tolerate.
    Refused,
    /// It failed with this error number, and the script said that it would hear of any.
    Failed(i32),
    /// There was no room for it, which the script said it would tolerate; so many bytes were moved
    /// before.
    Full(u64),
}
