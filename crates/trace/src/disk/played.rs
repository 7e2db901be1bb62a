//! Modelled disk in real time: requests arrive at a time, and each answer carries the time at which
//! the disk would complete it. Nothing sleeps here; the caller waits.

use std::collections::VecDeque;

use treering_model::PlayedParts;

use super::head::DiskHead;
use super::model::{DiskTransfer, ModelledDisk, ServiceTime};

/// Request to a played disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRequest {
    /// Number that identifies the request to the caller.
    pub number: u64,
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// True for a write.
    pub is_write: bool,
}

/// Completion of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskAnswer {
    /// Number of the request.
    pub number: u64,
    /// Completion time in nanoseconds.
    pub due_ns: u64,
    /// Service time of the request, in parts.
    pub parts: PlayedParts,
}

/// Disk that is played in real time.
///
/// A write is answered when it is on the platter, or in the write cache if the disk has one. A
/// flush is answered when all requests before it are on the platter, and holds up those after it.
#[derive(Clone, Debug)]
pub struct PlayedHead {
    disk: ModelledDisk,
    head: DiskHead,
    /// Requests that arrive while another one is served, oldest first: time, number, and transfer
    /// or flush.
    coming: VecDeque<(u64, u64, Option<DiskTransfer>)>,
}

impl PlayedHead {
    /// Creates an idle disk with the head at offset 0.
    pub fn new(disk: &ModelledDisk) -> Self {
        let disk = ModelledDisk { draws: Vec::new(), ..disk.clone() };
        Self { disk, head: DiskHead::default(), coming: VecDeque::new() }
    }

    /// Adds a request that arrives at `at_ns`; arrival times must not decrease.
    pub fn take(&mut self, at_ns: u64, request: DiskRequest) {
        let DiskRequest { number, offset, bytes, is_write } = request;
        let last = self.disk.capacity_bytes.saturating_sub(bytes);
        let offset = offset.min(last);
        let wanted = DiskTransfer { offset, bytes, is_write, is_durable: false };
        self.coming.push_back((at_ns, number, Some(wanted)));
    }

    /// Adds a flush that arrives at `at_ns`.
    pub fn take_flush(&mut self, at_ns: u64, number: u64) {
        self.coming.push_back((at_ns, number, None));
    }

    /// Discards a range of bytes, which takes no time.
    pub fn discard(&mut self, offset: u64, bytes: u64) {
        self.head.discard(&self.disk, (offset, offset.saturating_add(bytes)));
    }

    /// Reports whether no request is queued.
    pub fn is_idle(&self) -> bool {
        self.head.is_free() && self.coming.is_empty()
    }

    /// Serves the next request and returns its completion.
    pub fn next_answer(&mut self) -> Option<DiskAnswer> {
        if self.head.is_free() {
            let &(first_ns, ..) = self.coming.front()?;
            let idle_ns = (first_ns as f64 - self.head.now_ns).max(0.0);
            self.head.now_ns += idle_ns;
            self.head.idle_ns += idle_ns;
        }
        while let Some(&(at_ns, number, Some(wanted))) = self.coming.front()
            && at_ns as f64 <= self.head.now_ns
        {
            self.coming.pop_front();
            self.head.wait(number, wanted, at_ns as f64);
        }
        let (number, parts) = if self.head.is_free() {
            let (_, number, _flush) = self.coming.pop_front()?;
            (number, self.head.flush(&self.disk))
        } else {
            self.head.serve(&self.disk)?
        };
        let busy_ns = whole(parts.total());
        let ServiceTime { seek, rotation, transfer, .. } = parts;
        let [seek_ns, rotation_ns, transfer_ns] = [seek, rotation, transfer].map(whole);
        let parts = PlayedParts { busy_ns, seek_ns, rotation_ns, transfer_ns };
        Some(DiskAnswer { number, due_ns: whole(self.head.now_ns), parts })
    }

    /// Sets the clock back to `now_ns`, after answers that the caller did not wait for.
    pub fn reset(&mut self, now_ns: u64) {
        self.head.reset(now_ns as f64);
    }
}

/// Rounds a time in nanoseconds; times are non-negative and far below the limit.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn whole(ns: f64) -> u64 {
    ns.clamp(0.0, 9e18).round() as u64
}

#[cfg(test)]
mod tests {
    use super::{DiskRequest, PlayedHead};
    use crate::disk::replay::event_of_read;
    use crate::disk::{DiskReplay, ModelledDisk};
    use crate::event::Action;
    use proptest::prelude::{prop, prop_assert, proptest};

    /// Simulates `depth` programs with one read in flight each on a played disk. Returns its busy
    /// time, and the busy time that a replay of its requests and answers computes.
    fn both(disk: &str, offsets: &[u64], depth: usize, pause_ns: u64) -> (f64, f64) {
        let disk = ModelledDisk::named(disk).unwrap();
        let (mut played, mut replay) = (PlayedHead::new(&disk), DiskReplay::new(&disk));
        let mut unsent = offsets.iter().enumerate();
        let mut send = |played: &mut PlayedHead, replay: &mut DiskReplay, at_ns: u64| {
            let Some((place, &offset)) = unsent.next() else { return };
            let number = u64::try_from(place).unwrap();
            let request = DiskRequest { number, offset, bytes: 4096, is_write: false };
            played.take(at_ns, request);
            replay.entry(&event_of_read(Action::Issue, at_ns, offset, 4096));
        };
        for _ in 0..depth {
            send(&mut played, &mut replay, 1_000);
        }
        let mut busy_ns = 0;
        while let Some(answer) = played.next_answer() {
            busy_ns += answer.parts.busy_ns;
            let offset = offsets[usize::try_from(answer.number).unwrap()];
            replay.entry(&event_of_read(Action::Complete, answer.due_ns, offset, 4096));
            send(&mut played, &mut replay, answer.due_ns + pause_ns);
        }
        assert!(played.is_idle());
        (busy_ns as f64 / 1e9, replay.end().remove(0).busy.typical)
    }

    fn scattered(count: u64, within: u64) -> Vec<u64> {
        (1..=count).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % within).collect()
    }

    #[test]
    fn played_requests_and_their_replay_agree() {
        for (disk, within) in
            [("hdd-7200", 4 << 30), ("hdd-5400", 300 << 30), ("ssd-sata", 1 << 30)]
        {
            for (depth, pause_ns) in [(1, 0), (1, 3_000_000), (8, 0), (32, 0)] {
                let (played, replayed) = both(disk, &scattered(600, within), depth, pause_ns);
                let ratio = replayed / played;
                assert!((ratio - 1.0).abs() < 0.05, "{disk} {depth}: {played} s, {replayed} s");
            }
        }
    }

    #[test]
    fn sequential_reads_reach_the_transfer_rate() {
        let mut played = PlayedHead::new(&ModelledDisk::named("hdd-7200").unwrap());
        let (mut due_ns, bytes) = (0, 1 << 16);
        for number in 0..2000 {
            let offset = number * bytes;
            played.take(due_ns, DiskRequest { number, offset, bytes, is_write: false });
            due_ns = played.next_answer().unwrap().due_ns;
        }
        let rate = 2000.0 * bytes as f64 / (due_ns as f64 / 1e9);
        assert!((rate / 175e6 - 1.0).abs() < 0.02, "{rate}");
    }

    #[test]
    fn requests_are_not_served_before_their_arrival() {
        let name = "hdd-7200-write-through";
        let mut played = PlayedHead::new(&ModelledDisk::named(name).unwrap());
        let at = |number, offset| DiskRequest { number, offset, bytes: 4096, is_write: true };
        played.take(0, at(1, 2 << 40));
        played.take(60_000_000_000, at(2, 0));
        let (first, second) = (played.next_answer().unwrap(), played.next_answer().unwrap());
        assert_eq!((first.number, second.number), (1, 2));
        assert!(first.due_ns < 40_000_000 && second.due_ns > 60_000_000_000);
        assert_eq!(second.due_ns - 60_000_000_000, second.parts.busy_ns);
        let parts = second.parts;
        assert!(parts.busy_ns >= parts.seek_ns + parts.rotation_ns + parts.transfer_ns - 2);
    }

    #[test]
    fn a_flush_is_answered_when_all_writes_before_it_are_on_the_platter() {
        let mut played = PlayedHead::new(&ModelledDisk::named("hdd-7200").unwrap());
        let write = |number: u64| {
            let offset = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << 41);
            DiskRequest { number, offset, bytes: 4096, is_write: true }
        };
        (1..=10).for_each(|number| played.take(0, write(number)));
        played.take_flush(0, 11);
        played.take(0, write(12));
        let answers: Vec<_> = std::iter::from_fn(|| played.next_answer()).collect();
        let ms = |number: u64| {
            let answer = answers.iter().find(|answer| answer.number == number).unwrap();
            answer.due_ns as f64 / 1e6
        };
        assert_eq!(answers.len(), 12);
        assert!(ms(10) < 1.0, "ten writes are in the cache after {} ms", ms(10));
        assert!(ms(11) > 30.0 && ms(11) < 130.0, "and on the platter after {} ms", ms(11));
        assert!(ms(12) > ms(11), "later writes wait");
    }

    proptest! {
        #[test]
        fn every_request_is_answered_once_in_order_of_time(
            requests in prop::collection::vec((0..1u64 << 42, 0..1u64 << 30, 0..1u64 << 24), 0..60)
        ) {
            let mut played = PlayedHead::new(&ModelledDisk::named("hdd-7200").unwrap());
            let mut at_ns = 0;
            for (number, (offset, bytes, later_ns)) in (0..).zip(&requests) {
                at_ns += later_ns;
                let (offset, bytes) = (*offset, *bytes);
                played.take(at_ns, DiskRequest { number, offset, bytes, is_write: false });
            }
            let mut seen = Vec::new();
            let mut last_ns = 0;
            while let Some(answer) = played.next_answer() {
                prop_assert!(answer.due_ns >= last_ns);
                last_ns = answer.due_ns;
                seen.push(answer.number);
            }
            seen.sort_unstable();
            prop_assert!(seen.iter().copied().eq(0..u64::try_from(requests.len()).unwrap()));
        }
    }
}
