//! The head of a modelled disk: what waits for it, and which request is served next. Both who
//! replays a trace and who plays a disk in real time have their requests served here.

use super::buffer::DiskState;
use super::model::{Disk, Parts, Wanted};

/// A disk at work.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    pub(super) now_ns: f64,
    pub(super) idle_ns: f64,
    state: DiskState,
    pub(super) parts: Parts,
    /// What waits with its number, oldest first.
    waiting: Vec<(u64, Wanted)>,
}

impl Head {
    /// A request more waits.
    pub(super) fn wait(&mut self, number: u64, wanted: Wanted) {
        self.waiting.push((number, wanted));
    }

    /// Whether nothing waits.
    pub(super) fn is_free(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Serves the request that is reached first, among as many as the queue holds; its number, and
    /// what it took.
    pub(super) fn serve(&mut self, disk: &Disk) -> Option<(u64, Parts)> {
        let waiting = self.waiting.len().min(disk.queue);
        let times = self.waiting[..waiting]
            .iter()
            .enumerate()
            .map(|(place, (_, one))| (place, disk.time(self.now_ns, &self.state, *one, waiting)));
        let best = times.min_by(|a, b| a.1.positioning().total_cmp(&b.1.positioning()));
        let (place, parts) = best?;
        let (number, wanted) = self.waiting.remove(place);
        disk.serve(self.now_ns, &mut self.state, wanted, parts);
        self.now_ns += parts.total();
        self.parts.add(parts);
        Some((number, parts))
    }

    /// Serves requests until no more than so many wait.
    pub(super) fn serve_down_to(&mut self, disk: &Disk, waiting: usize) {
        while self.waiting.len() > waiting {
            self.serve(disk);
        }
    }
}
