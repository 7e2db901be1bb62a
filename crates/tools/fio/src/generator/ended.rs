//! Completions that a clone has seen, where they come later than the requests and decide when to
//! sync.

use crate::language::{Engine, Section};

/// Queue of `ioengine=null`: requests complete when the next one finds them submitted.
#[derive(Debug)]
pub(super) struct NullQueue {
    batch: usize,
    depth: usize,
    /// Queued requests not yet submitted; true for a sync.
    waiting: Vec<bool>,
    given: Vec<bool>,
    /// True if the last completed request was a sync.
    was_sync: bool,
}

impl NullQueue {
    pub(super) fn from_job(job: &Section) -> Option<Self> {
        let [batch, depth] =
            [job.batch, job.depth].map(|count| usize::try_from(count).unwrap_or(1));
        let is_late = job.engine == Engine::Null && depth > 1;
        let (waiting, given) = (Vec::new(), Vec::new());
        is_late.then_some(Self { batch, depth, waiting, given, was_sync: false })
    }

    /// True if the last completed request was a sync.
    pub(super) const fn was_sync(&self) -> bool {
        self.was_sync
    }

    /// Drops all requests.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.given.clear();
        self.was_sync = false;
    }

    /// Queues another request.
    pub(super) fn issue(&mut self, is_sync: bool) {
        self.hear();
        self.waiting.push(is_sync);
        if self.waiting.len() >= self.batch {
            self.given.append(&mut self.waiting);
            if self.given.len() >= self.depth {
                self.hear();
            }
        }
    }

    fn hear(&mut self) {
        if let Some(was_sync) = self.given.last() {
            self.was_sync = *was_sync;
            self.given.clear();
        }
    }
}
