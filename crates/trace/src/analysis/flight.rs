//! Requests in flight: matches completions to issues, and both to submitted bios.
//!
//! A completion may cover a part of a request; a request may be merged from several bios, and a bio
//! may be split into several requests.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use crate::event::{DeviceNumber, Operation, RequestEvent};

/// Limit of tracked requests. Real queues are shorter; a table this large means that completion
/// events were lost.
const HELD_MAX: usize = 1 << 20;

/// Limit of completions kept for late issues: an event may be reported after one that happened
/// later on another CPU.
const EARLY_MAX: usize = 1024;

/// Age in nanoseconds, and later completions on the same device, after which a request counts as
/// done: the kernel omits about one completion in ten thousand.
const FORGOTTEN_NS: u64 = 1_000_000_000;
const FORGOTTEN_LATER: u64 = 1024;
/// Age after which any request counts as done: the block layer itself gives up after 30 s.
const FORGOTTEN_SURELY_NS: u64 = 60_000_000_000;

/// Limit of distinguished devices.
const DEVICES_MAX: usize = 4096;

/// Device and first sector of a request.
type RequestStart = (DeviceNumber, u64);

/// Device, first sector and a serial number, which distinguishes requests at the same sector.
type RequestKey = (DeviceNumber, u64, u64);

/// Table of requests between their events.
#[derive(Debug, Default)]
pub(super) struct InFlightTable {
    /// Oldest issued request per start sector; later ones at the same sector are in `again`.
    issued: BTreeMap<RequestStart, IssuedRequest>,
    again: BTreeMap<RequestKey, IssuedRequest>,
    queued: BTreeMap<RequestKey, QueuedBio>,
    /// Bios finished by a completion and their latencies; a reused buffer.
    answers: Vec<(RequestKey, u64)>,
    /// Completion times of requests whose issue was not seen yet.
    early: BTreeMap<RequestStart, u64>,
    number: u64,
    /// Completions per device.
    done: BTreeMap<DeviceNumber, u64>,
    /// Devices with issue events.
    issuing: BTreeSet<DeviceNumber>,
    /// Devices that complete bios without issue events, as zram, md and device mapper do: queued
    /// bios count as in flight.
    bio_based: BTreeSet<DeviceNumber>,
    /// Bios in flight on bio-based devices.
    bios: u64,
}

#[derive(Clone, Copy, Debug)]
struct IssuedRequest {
    time_ns: u64,
    sectors: u64,
    /// Completions of the device before this issue.
    done_before: u64,
}

#[derive(Clone, Copy, Debug)]
struct QueuedBio {
    time_ns: u64,
    end: u64,
    /// Sectors not completed yet.
    remaining_sectors: u64,
    operation: Operation,
}

/// Table key of a request; requests without data, such as flushes, use sector 0.
fn place(event: &RequestEvent) -> RequestStart {
    (event.device, if event.bytes == 0 { 0 } else { event.sector })
}

impl InFlightTable {
    /// Number of requests in flight on all devices.
    pub(super) fn depth(&self) -> u64 {
        self.issued.len() as u64 + self.again.len() as u64 + self.bios
    }

    /// Reports whether a device takes bios without issuing them as requests.
    pub(super) fn is_bio_based(&self, device: DeviceNumber) -> bool {
        self.bio_based.contains(&device)
    }

    /// Reports whether any completion was seen.
    pub(super) fn has_completions(&self) -> bool {
        !self.done.is_empty()
    }

    fn queued_of(&self, device: DeviceNumber) -> u64 {
        self.queued.range((device, 0, 0)..=(device, u64::MAX, u64::MAX)).count() as u64
    }

    /// Marks a device as bio-based if it completes requests without any issue event.
    fn completes_bios(&mut self, device: DeviceNumber) {
        if !self.issuing.contains(&device)
            && self.bio_based.len() < DEVICES_MAX
            && self.bio_based.insert(device)
        {
            self.bios += self.queued_of(device);
        }
    }

    /// Marks a device as one with issue events.
    fn issues(&mut self, device: DeviceNumber) {
        if self.issuing.len() < DEVICES_MAX
            && self.issuing.insert(device)
            && self.bio_based.remove(&device)
        {
            self.bios = self.bios.saturating_sub(self.queued_of(device));
        }
    }

    fn key(&mut self, (device, sector): RequestStart) -> RequestKey {
        self.number += 1;
        (device, sector, self.number)
    }

    /// Stores an issued request.
    fn put(&mut self, place: RequestStart, issued: IssuedRequest) {
        match self.issued.entry(place) {
            Slot::Vacant(free) => {
                free.insert(issued);
            }
            Slot::Occupied(_) => {
                let key = self.key(place);
                self.again.insert(key, issued);
            }
        }
    }

    /// Removes the oldest request issued at a sector.
    fn take(&mut self, place: RequestStart) -> Option<IssuedRequest> {
        let first = self.issued.remove(&place)?;
        if !self.again.is_empty() {
            self.move_up(place);
        }
        Some(first)
    }

    /// Promotes the oldest re-issue at this sector to the in-flight table.
    fn move_up(&mut self, place: RequestStart) {
        let (device, sector) = place;
        let mut next = self.again.range((device, sector, 0)..=(device, sector, u64::MAX));
        if let Some(key) = next.next().map(|(key, _)| *key)
            && let Some(issued) = self.again.remove(&key)
        {
            self.issued.insert(place, issued);
        }
    }

    pub(super) fn queue(&mut self, event: &RequestEvent) {
        if event.bytes == 0 {
            return;
        }
        if self.queued.len() >= HELD_MAX {
            self.queued.clear();
            self.bios = 0;
        }
        self.bios += u64::from(self.is_bio_based(event.device));
        let key = self.key(place(event));
        let queued = QueuedBio {
            time_ns: event.time_ns,
            end: event.end(),
            remaining_sectors: event.sectors(),
            operation: event.operation,
        };
        self.queued.insert(key, queued);
    }

    /// Records an issue. Returns the device latency if the completion was reported first.
    pub(super) fn issue(&mut self, event: &RequestEvent) -> Option<u64> {
        self.issues(event.device);
        if let Some(done_ns) = self.early.remove(&place(event))
            && done_ns >= event.time_ns
        {
            return Some(done_ns - event.time_ns);
        }
        if self.issued.len() + self.again.len() >= HELD_MAX {
            self.issued.clear();
            self.again.clear();
        }
        let done_before = self.done.get(&event.device).copied().unwrap_or(0);
        let (time_ns, sectors) = (event.time_ns, event.sectors());
        self.put(place(event), IssuedRequest { time_ns, sectors, done_before });
        None
    }

    /// Drops requests whose completion was never reported; returns their issue times.
    pub(super) fn forgotten(&mut self, now_ns: u64) -> Vec<u64> {
        let Self { issued, again, done, .. } = self;
        let mut issue_times_ns = Vec::new();
        let mut stays = |device: DeviceNumber, issued: &IssuedRequest| {
            let age = now_ns.saturating_sub(issued.time_ns);
            let later = done.get(&device).map_or(0, |done| done - issued.done_before);
            let is_gone =
                age >= FORGOTTEN_SURELY_NS || age >= FORGOTTEN_NS && later >= FORGOTTEN_LATER;
            issue_times_ns.extend(is_gone.then_some(issued.time_ns));
            !is_gone
        };
        issued.retain(|(device, _), issued| stays(*device, issued));
        again.retain(|(device, ..), issued| stays(*device, issued));
        let places: Vec<RequestStart> =
            again.keys().map(|(device, sector, _)| (*device, *sector)).collect();
        for place in places {
            if !self.issued.contains_key(&place) {
                self.move_up(place);
            }
        }
        issue_times_ns
    }

    /// Records that the device returned the request to the queue.
    pub(super) fn requeue(&mut self, event: &RequestEvent) {
        let _perhaps_it_was_lost = self.take(place(event));
    }

    /// Records a completion. Returns the device latency in nanoseconds; `None` if the issue is
    /// unknown or a part is still in flight.
    pub(super) fn complete(&mut self, event: &RequestEvent) -> Option<u64> {
        *self.done.entry(event.device).or_default() += 1;
        if event.bytes > 0 {
            self.completes_bios(event.device);
        }
        let Some(issued) = self.take(place(event)) else {
            if self.early.len() >= EARLY_MAX {
                self.early.clear();
            }
            self.early.insert(place(event), event.time_ns);
            return None;
        };
        let done = event.sectors();
        if done > 0 && done < issued.sectors {
            let remainder = IssuedRequest { sectors: issued.sectors - done, ..issued };
            self.put((event.device, event.end()), remainder);
            return None;
        }
        Some(event.time_ns.saturating_sub(issued.time_ns))
    }

    /// Calls `each` with the latency of every bio finished by this completion.
    pub(super) fn answered(&mut self, event: &RequestEvent, mut each: impl FnMut(u64)) {
        if self.queued.is_empty() || event.bytes == 0 {
            return;
        }
        let (device, end) = (event.device, event.end());
        let mut answers = std::mem::take(&mut self.answers);
        // Iterates backwards over bios that overlap the completed range; stops at the first one
        // that does not.
        for (key, queued) in self.queued.range_mut(..(device, end, 0)).rev() {
            let began_before = key.1 < event.sector;
            if key.0 != device || began_before && queued.end <= event.sector {
                break;
            }
            if queued.operation == event.operation {
                let common = queued.end.min(end).saturating_sub(key.1.max(event.sector));
                queued.remaining_sectors = queued.remaining_sectors.saturating_sub(common);
                if queued.remaining_sectors == 0 {
                    answers.push((*key, event.time_ns.saturating_sub(queued.time_ns)));
                }
            }
            if began_before {
                break;
            }
        }
        for (key, took) in answers.drain(..).rev() {
            self.queued.remove(&key);
            if self.bio_based.contains(&device) {
                self.bios = self.bios.saturating_sub(1);
            }
            each(took);
        }
        self.answers = answers;
    }
}

#[cfg(test)]
mod tests {
    use super::InFlightTable;
    use crate::event::{Action, DeviceNumber, Operation, RequestEvent, RequestFlags};

    fn event(time_ns: u64, sector: u64, sectors: u32) -> RequestEvent {
        RequestEvent {
            time_ns,
            sector,
            bytes: sectors * 512,
            device: DeviceNumber::new(7, 0),
            action: Action::Queue,
            operation: Operation::Write,
            flags: RequestFlags::default(),
            process: 1,
            cpu: 0,
            error: 0,
        }
    }

    fn answered(flight: &mut InFlightTable, event: &RequestEvent) -> Vec<u64> {
        let mut latencies = Vec::new();
        flight.answered(event, |ns| latencies.push(ns));
        latencies
    }

    #[test]
    fn partial_completions_end_with_the_last_part() {
        let mut flight = InFlightTable::default();
        flight.issue(&event(10, 100, 8));
        assert_eq!(flight.complete(&event(20, 100, 4)), None);
        assert_eq!(flight.depth(), 1);
        assert_eq!(flight.complete(&event(30, 104, 4)), Some(20));
        assert_eq!(flight.complete(&event(40, 104, 4)), None);
        assert_eq!(flight.depth(), 0);
    }

    #[test]
    fn requests_at_the_same_sector_are_distinguished() {
        let mut flight = InFlightTable::default();
        flight.issue(&event(10, 100, 8));
        flight.issue(&event(15, 100, 8));
        assert_eq!(flight.complete(&event(20, 100, 8)), Some(10));
        assert_eq!(flight.complete(&event(35, 100, 8)), Some(20));
        flight.issue(&event(40, 7, 0));
        flight.requeue(&event(41, 9, 0));
        assert_eq!(flight.depth(), 0);
    }

    #[test]
    fn an_issue_reported_after_its_completion_is_not_in_flight() {
        let mut flight = InFlightTable::default();
        assert_eq!(flight.complete(&event(30, 100, 8)), None);
        assert_eq!(flight.issue(&event(10, 100, 8)), Some(20));
        assert_eq!(flight.depth(), 0);
        // An old completion does not match a later request.
        assert_eq!(flight.complete(&event(40, 100, 8)), None);
        assert_eq!(flight.issue(&event(50, 100, 8)), None);
        assert_eq!(flight.depth(), 1);
    }

    #[test]
    fn requests_without_a_completion_expire() {
        let mut flight = InFlightTable::default();
        flight.issue(&event(10, 100, 8));
        for time in 0..2000 {
            flight.issue(&event(20 + time, 9000, 8));
            flight.complete(&event(21 + time, 9000, 8));
        }
        assert!(flight.forgotten(900_000_000).is_empty(), "it may take long");
        assert_eq!(flight.forgotten(1_100_000_000), [10]);
        assert_eq!(flight.depth(), 0);
        flight.issue(&event(2_000_000_000, 100, 8));
        assert!(flight.forgotten(40_000_000_000).is_empty(), "nothing came after it");
        assert_eq!(flight.forgotten(70_000_000_000), [2_000_000_000]);
    }

    #[test]
    fn bios_of_merged_and_split_requests_end_with_their_last_sector() {
        let mut flight = InFlightTable::default();
        flight.queue(&event(1, 100, 8));
        flight.queue(&event(2, 108, 8));
        assert_eq!(answered(&mut flight, &event(11, 100, 16)), [10, 9]);
        flight.queue(&event(20, 200, 16));
        assert_eq!(answered(&mut flight, &event(30, 200, 8)), [0; 0]);
        assert_eq!(answered(&mut flight, &event(33, 208, 8)), [13]);
        assert_eq!(answered(&mut flight, &event(34, 208, 8)), [0; 0]);
        flight.queue(&event(40, 300, 8));
        let read = RequestEvent { operation: Operation::Read, ..event(50, 300, 8) };
        assert_eq!(answered(&mut flight, &read), [0; 0]);
        let elsewhere = RequestEvent { device: DeviceNumber::new(7, 1), ..event(50, 300, 8) };
        assert_eq!(answered(&mut flight, &elsewhere), [0; 0]);
        assert_eq!(answered(&mut flight, &event(60, 300, 8)), [20]);
    }
}
