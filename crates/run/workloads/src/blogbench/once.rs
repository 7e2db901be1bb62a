//! What is done once, around the work.

use std::ffi::CString;

use treering_script::{Call, Dir, Outcome, Script, Step, SyncScope};

/// A script of one step.
#[derive(Debug)]
pub(super) struct Once {
    what: What,
    is_done: bool,
}

#[derive(Debug)]
enum What {
    MakeDir(CString),
    Sync(SyncScope),
}

impl Once {
    /// Makes a directory below the target.
    pub(super) const fn make_dir(name: CString) -> Self {
        Self { what: What::MakeDir(name), is_done: false }
    }

    /// Waits until everything is on disk.
    pub(super) const fn sync(scope: SyncScope) -> Self {
        Self { what: What::Sync(scope), is_done: false }
    }
}

impl Script for Once {
    fn next<'s>(&'s mut self, _last: Outcome<'_>) -> Option<Step<'s>> {
        if std::mem::replace(&mut self.is_done, true) {
            return None;
        }
        let call = match &self.what {
            What::MakeDir(name) => Call::MakeDir { at: Dir::TARGET, name },
            What::Sync(scope) => Call::Sync { scope: *scope },
        };
        Some(call.into())
    }
}
