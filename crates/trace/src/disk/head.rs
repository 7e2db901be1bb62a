//! Head of a modelled disk: the request queue and the choice of the next request. Shared by trace
//! replay and real-time play.

use super::buffer::DiskState;
use super::model::{DiskTransfer, ModelledDisk, ServiceTime};

/// Head position, clock and queue of a disk.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskHead {
    pub(super) now_ns: f64,
    pub(super) idle_ns: f64,
    state: DiskState,
    pub(super) parts: ServiceTime,
    /// Queued requests with their numbers, oldest first.
    waiting: Vec<(u64, DiskTransfer)>,
}

impl DiskHead {
    /// Queues a request.
    pub(super) fn wait(&mut self, number: u64, wanted: DiskTransfer) {
        self.waiting.push((number, wanted));
    }

    /// Reports whether the queue is empty.
    pub(super) fn is_free(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Serves the request with the shortest positioning time among the first `disk.queue` ones;
    /// returns its number and the parts of its time.
    pub(super) fn serve(&mut self, disk: &ModelledDisk) -> Option<(u64, ServiceTime)> {
        let waiting = self.waiting.len().min(disk.queue);
        let times = self.waiting[..waiting].iter().enumerate().map(|(place, (_, request))| {
            (place, disk.time(self.now_ns, &self.state, *request, waiting))
        });
        let best = times.min_by(|a, b| a.1.positioning().total_cmp(&b.1.positioning()));
        let (place, parts) = best?;
        let (number, wanted) = self.waiting.remove(place);
        disk.serve(self.now_ns, &mut self.state, wanted, parts);
        self.now_ns += parts.total();
        self.parts.add(parts);
        Some((number, parts))
    }

    /// Serves requests until at most `waiting` are queued.
    pub(super) fn serve_down_to(&mut self, disk: &ModelledDisk, waiting: usize) {
        while self.waiting.len() > waiting {
            self.serve(disk);
        }
    }
}
