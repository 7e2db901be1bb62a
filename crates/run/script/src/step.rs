//! Steps: calls with what may come of them, and what came of them.

use crate::call::{Call, Completion};
use crate::{Entries, Room};

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
