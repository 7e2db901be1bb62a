//! The sync before the benchmark, and the one after it.

use treering_script::{Call, Outcome, Step, Steps, SyncScope};

/// Waits until everything is on disk.
pub(super) struct SyncAll {
    scope: SyncScope,
    done: bool,
}

impl SyncAll {
    /// A sync that covers so much.
    pub(super) const fn new(scope: SyncScope) -> Self {
        Self { scope, done: false }
    }
}

impl Steps for SyncAll {
    fn next<'s>(&'s mut self, _last: Outcome<'_>) -> Option<Step<'s>> {
        let first = !std::mem::replace(&mut self.done, true);
        first.then(|| Call::Sync { scope: self.scope }.into())
    }
}
