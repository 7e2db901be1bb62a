//! Head of a modelled disk: the request queue, the choice of the next request, and the write cache.
//! Shared by trace replay and real-time play.

use super::buffer::DiskState;
use super::model::{DiskTransfer, ModelledDisk, ServiceTime};
use super::write_cache::WriteCache;

/// Request in the queue.
#[derive(Clone, Copy, Debug)]
struct WaitingTransfer {
    number: u64,
    wanted: DiskTransfer,
    /// Arrival time: the disk decodes a command while it serves others.
    since_ns: f64,
}

/// Head position, clock, queue and write cache of a disk.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskHead {
    /// Time at which the last request was answered.
    pub(super) now_ns: f64,
    pub(super) idle_ns: f64,
    state: DiskState,
    /// Sum over all requests, and over all that was written from the cache.
    pub(super) parts: ServiceTime,
    /// Queued requests, oldest first.
    waiting: Vec<WaitingTransfer>,
    cache: WriteCache,
    /// Time until which the head writes what was in the cache.
    writes_until_ns: f64,
}

impl DiskHead {
    /// Queues a request that arrives at `since_ns`.
    pub(super) fn wait(&mut self, number: u64, wanted: DiskTransfer, since_ns: f64) {
        self.waiting.push(WaitingTransfer { number, wanted, since_ns });
    }

    /// Reports whether the queue is empty.
    pub(super) fn is_free(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Serves the next request and returns its number and the parts of its time: a write that the
    /// cache takes, else the request with the shortest positioning time among the first
    /// `disk.queue` ones.
    pub(super) fn serve(&mut self, disk: &ModelledDisk) -> Option<(u64, ServiceTime)> {
        self.write_behind(disk);
        let limit = self.waiting.len().min(disk.queue);
        let queue = &self.waiting[..limit];
        let is_quick = |waiting: &WaitingTransfer| self.is_quick(disk, waiting.wanted);
        if let Some(place) = queue.iter().position(is_quick) {
            let WaitingTransfer { number, wanted, .. } = self.waiting.remove(place);
            return Some((number, self.serve_quickly(disk, wanted)));
        }
        let start_ns = self.now_ns.max(self.writes_until_ns);
        let times = queue.iter().enumerate().map(|(place, waiting)| {
            let since_ns = if disk.queue > 1 { waiting.since_ns } else { start_ns };
            let left_ns = (since_ns + disk.overhead_ns() - start_ns).max(0.0);
            let overhead_ns = left_ns.min(disk.overhead_ns());
            let wanted = waiting.wanted;
            (place, disk.time(start_ns, &self.state, (wanted, overhead_ns), limit))
        });
        let best = times.min_by(|a, b| a.1.positioning().total_cmp(&b.1.positioning()));
        let (place, mut parts) = best?;
        let WaitingTransfer { number, wanted, .. } = self.waiting.remove(place);
        disk.serve(start_ns, &mut self.state, wanted, parts);
        parts.writing = start_ns - self.now_ns;
        self.now_ns += parts.total();
        self.writes_until_ns = self.now_ns;
        self.parts.add(parts);
        Some((number, parts))
    }

    /// Reports whether the write cache answers the request.
    fn is_quick(&self, disk: &ModelledDisk, wanted: DiskTransfer) -> bool {
        let Some(cache_bytes) = disk.write_cache_bytes() else { return false };
        if wanted.is_write {
            return !wanted.is_durable && wanted.bytes <= cache_bytes;
        }
        self.cache.holds(wanted.offset, wanted.offset.saturating_add(wanted.bytes))
    }

    /// Serves a request from the write cache. A write waits until there is room.
    fn serve_quickly(&mut self, disk: &ModelledDisk, wanted: DiskTransfer) -> ServiceTime {
        let before_ns = self.now_ns;
        let cache_bytes = disk.write_cache_bytes().unwrap_or_default();
        while wanted.is_write
            && !self.cache.is_empty()
            && self.cache.bytes() + wanted.bytes > cache_bytes
        {
            self.write_one(disk, self.now_ns.max(self.writes_until_ns));
            self.now_ns = self.now_ns.max(self.writes_until_ns);
        }
        let parts =
            ServiceTime { writing: self.now_ns - before_ns, ..disk.time_in_cache(wanted.bytes) };
        self.now_ns = before_ns + parts.total();
        if wanted.is_write {
            let range = (wanted.offset, wanted.offset.saturating_add(wanted.bytes));
            self.state.forget(range);
            self.cache.add(self.now_ns, range, disk.joined_bytes());
        }
        self.parts.add(parts);
        parts
    }

    /// Writes from the cache up to the present: the head had nothing else to do.
    fn write_behind(&mut self, disk: &ModelledDisk) {
        while !self.cache.is_empty() {
            let start_ns = self.writes_until_ns.max(self.cache.filled_ns());
            if start_ns >= self.now_ns {
                return;
            }
            self.write_one(disk, start_ns);
        }
    }

    /// Writes the range of the cache that the head reaches first, from `start_ns` on.
    fn write_one(&mut self, disk: &ModelledDisk, start_ns: f64) {
        let times = self.cache.next_ones().map(|(offset, end)| {
            let bytes = end - offset;
            let wanted = DiskTransfer { offset, bytes, is_write: true, is_durable: true };
            (wanted, disk.time(start_ns, &self.state, (wanted, 0.0), 1))
        });
        let best = times.min_by(|a, b| a.1.positioning().total_cmp(&b.1.positioning()));
        let Some((wanted, parts)) = best else { return };
        self.cache.remove(wanted.offset);
        disk.serve(start_ns, &mut self.state, wanted, parts);
        self.writes_until_ns = start_ns + parts.total();
        self.parts.add(parts);
    }

    /// Flushes the write cache; returns the parts of the time that this takes.
    pub(super) fn flush(&mut self, disk: &ModelledDisk) -> ServiceTime {
        self.write_behind(disk);
        let (before_ns, before) = (self.now_ns, self.parts);
        while !self.cache.is_empty() {
            self.write_one(disk, self.now_ns.max(self.writes_until_ns));
        }
        self.now_ns = self.now_ns.max(self.writes_until_ns);
        let mut parts = self.parts.since(before);
        parts.writing = self.now_ns - before_ns - parts.total();
        parts
    }

    /// Discards a range of bytes, which takes no time.
    pub(super) fn discard(&mut self, disk: &ModelledDisk, range: (u64, u64)) {
        disk.discard(&mut self.state, range);
    }

    /// Serves requests until at most `waiting` are queued.
    pub(super) fn serve_down_to(&mut self, disk: &ModelledDisk, waiting: usize) {
        while self.waiting.len() > waiting {
            self.serve(disk);
        }
    }

    /// Sets the clock to `now_ns`, with everything on the platter.
    pub(super) fn reset(&mut self, now_ns: f64) {
        self.cache = WriteCache::default();
        (self.now_ns, self.writes_until_ns) = (now_ns, now_ns);
    }
}
