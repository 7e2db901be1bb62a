//! Analyses the events of a trace in order, one part (such as a phase) at a time.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::Latency;

use super::digest::{
    CountingEvent, DeviceFigures, KindFigures, RequestOrder, TraceDigest, TraceFigures,
};
use super::flight::InFlightTable;
use super::latency::LatencyTimeline;
use super::map::MapGrid;
use super::tally::{LogHistogram, SeekCounts, SeekTracker, figures_of};
use super::timeline::Timeline;
use crate::event::{Action, DeviceNumber, Operation, RequestEvent, TraceDevice, TraceEntry};
use crate::returned::ReturnedRequests;

/// Number of devices that get a map; the requests of further devices count in the figures only.
const MAPS_MAX: usize = 16;

/// Completions between two searches for requests that were never completed.
const LOOK_EVERY: u64 = 256;

/// Limit of tracked devices without completions, and the requests after which such a device is
/// taken to have no completions at all.
const UNCOMPLETED_MAX: usize = 64;
const UNCOMPLETED_SURELY: u64 = 1000;

/// Limit of devices whose names are kept.
const DEVICES_MAX: usize = 4096;

/// Incremental trace analysis.
#[derive(Debug)]
pub struct TraceAnalyzer {
    devices: BTreeMap<DeviceNumber, TraceDevice>,
    flight: InFlightTable,
    returned: ReturnedRequests,
    order: SeekTracker,
    /// Event that defines the request order: the best one seen so far.
    ordered_by: Option<RequestOrder>,
    part: PartCounters,
    /// Devices with at least one completion.
    completing: BTreeSet<DeviceNumber>,
    /// Requests since the last cut of devices without completions, and the event that counted them.
    uncompleted: BTreeMap<DeviceNumber, (CountingEvent, PartCounters)>,
    /// Completions until the next search for requests without a completion.
    until_look: u64,
    /// First and last sector shown in maps.
    shown: (u64, u64),
}

/// Figures since the last cut.
#[derive(Debug, Default)]
struct PartCounters {
    begin_ns: u64,
    now_ns: u64,
    events: u64,
    lost_events: u64,
    late: u64,
    unended: u64,
    reads: KindCounters,
    writes: KindCounters,
    discards: KindCounters,
    zeroes: u64,
    zeroed_bytes: u64,
    flushes: u64,
    failed: u64,
    merges: u64,
    requeues: u64,
    depth_max: u64,
    depth_ns: u128,
    timeline: Timeline,
    latency: LatencyTimeline,
    grids: BTreeMap<DeviceNumber, MapGrid>,
    moved: BTreeMap<DeviceNumber, DeviceTraffic>,
}

/// Requests and bytes of one device.
#[derive(Clone, Copy, Debug, Default)]
struct DeviceTraffic {
    requests: u64,
    read_bytes: u64,
    write_bytes: u64,
}

impl DeviceTraffic {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
    }
}

/// Requests of one kind: reads, writes or discards.
#[derive(Debug, Default)]
struct KindCounters {
    requests: u64,
    bytes: u64,
    sizes: LogHistogram,
    device: Latency,
    whole: Latency,
}

impl KindCounters {
    fn count(&mut self, bytes: u64) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.sizes.add(bytes);
    }

    /// Adds the requests of `other`, without their latencies.
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.sizes.merge(&other.sizes);
    }

    fn figures(&self) -> KindFigures {
        KindFigures {
            requests: self.requests,
            bytes: self.bytes,
            request_bytes_p50: self.sizes.quantile(0.5),
            request_bytes_max: self.sizes.max(),
            issue_to_complete: figures_of(&self.device),
            queue_to_complete: figures_of(&self.whole),
        }
    }
}

impl PartCounters {
    fn begun(begin_ns: u64) -> Self {
        Self { begin_ns, now_ns: begin_ns, ..Self::default() }
    }

    fn kind(&mut self, operation: Operation) -> Option<&mut KindCounters> {
        match operation {
            Operation::Read => Some(&mut self.reads),
            Operation::Write | Operation::WriteZeroes => Some(&mut self.writes),
            Operation::Discard => Some(&mut self.discards),
            Operation::Flush | Operation::Other => None,
        }
    }

    /// Counts a completed request.
    fn count(&mut self, event: &RequestEvent) {
        self.failed += u64::from(event.error != 0);
        self.flushes += u64::from(event.operation == Operation::Flush);
        let (bytes, operation) = (u64::from(event.bytes), event.operation);
        let Some(kind) = self.kind(operation).filter(|_| bytes > 0) else { return };
        kind.count(bytes);
        if !operation.moves_data() {
            return;
        }
        let read_bytes = if operation == Operation::Read { bytes } else { 0 };
        let request_traffic =
            DeviceTraffic { requests: 1, read_bytes, write_bytes: bytes - read_bytes };
        if operation == Operation::WriteZeroes {
            self.zeroes += 1;
            self.zeroed_bytes = self.zeroed_bytes.saturating_add(bytes);
        }
        if self.moved.contains_key(&event.device) || self.moved.len() < DEVICES_MAX {
            self.moved.entry(event.device).or_default().add(request_traffic);
        }
        let after = event.time_ns.saturating_sub(self.begin_ns);
        let slot = self.timeline.at(after);
        if operation == Operation::Read {
            slot.reads += 1;
            slot.read_bytes = slot.read_bytes.saturating_add(bytes);
        } else {
            slot.writes += 1;
            slot.write_bytes = slot.write_bytes.saturating_add(bytes);
        }
    }

    /// Adds the counts of another part with the same start.
    fn add(&mut self, other: Self) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        self.discards.add(&other.discards);
        self.flushes += other.flushes;
        self.zeroes += other.zeroes;
        self.zeroed_bytes = self.zeroed_bytes.saturating_add(other.zeroed_bytes);
        self.timeline.add(other.timeline);
        for (device, moved) in other.moved {
            self.moved.entry(device).or_default().add(moved);
        }
    }

    /// Records the latency of a read or write that completed at `time_ns`.
    fn record_latency(&mut self, time_ns: u64, took_ns: u64) {
        let after = time_ns.saturating_sub(self.begin_ns);
        let slot = self.timeline.at(after);
        slot.timed += 1;
        slot.latency_ns = slot.latency_ns.saturating_add(took_ns);
        slot.latency_ns_max = slot.latency_ns_max.max(took_ns);
        self.latency.add(after, took_ns);
    }

    /// Advances the clock; `depth` requests were in flight meanwhile.
    fn pass(&mut self, time_ns: u64, depth: u64) {
        if time_ns < self.now_ns {
            self.late += 1;
            return;
        }
        self.depth_ns += u128::from(depth) * u128::from(time_ns - self.now_ns);
        self.depth_max = self.depth_max.max(depth);
        let (from, until) = (self.now_ns - self.begin_ns, time_ns - self.begin_ns);
        self.timeline.depth(depth, from, until);
        self.now_ns = time_ns;
    }
}

impl RequestOrder {
    fn from_action(action: Action) -> Option<Self> {
        match action {
            Action::Issue => Some(Self::Issue),
            Action::Queue => Some(Self::Queue),
            Action::Complete => Some(Self::Complete),
            _ => None,
        }
    }

    /// Quality of the order as a proxy for the head position; lower is better.
    fn rank(self) -> u8 {
        match self {
            Self::Issue => 0,
            Self::Queue => 1,
            Self::Complete => 2,
        }
    }
}

impl TraceAnalyzer {
    /// Starts the analysis at a time of the trace's clock.
    pub fn new(begin_ns: u64) -> Self {
        Self {
            devices: BTreeMap::new(),
            flight: InFlightTable::default(),
            returned: ReturnedRequests::default(),
            order: SeekTracker::default(),
            ordered_by: None,
            part: PartCounters::begun(begin_ns),
            completing: BTreeSet::new(),
            uncompleted: BTreeMap::new(),
            until_look: LOOK_EVERY,
            shown: (0, u64::MAX),
        }
    }

    /// Limits maps to the sectors `first..=last`; requests are clipped to them.
    #[must_use]
    pub(super) fn showing(mut self, first: u64, last: u64) -> Self {
        self.shown = (first, last);
        self
    }

    /// Processes the next entry. Phase entries are ignored: the caller calls `cut`.
    pub fn entry(&mut self, entry: &TraceEntry) {
        match entry {
            TraceEntry::Event(event) => self.event(event),
            TraceEntry::Device(device) => {
                if self.devices.len() < DEVICES_MAX {
                    self.devices.insert(device.number, device.clone());
                }
            }
            TraceEntry::Lost { events } => {
                self.part.lost_events = self.part.lost_events.saturating_add(*events);
            }
            TraceEntry::Process { .. } | TraceEntry::Phase { .. } | TraceEntry::Note { .. } => {}
        }
    }

    /// Processes the next event.
    pub fn event(&mut self, event: &RequestEvent) {
        let part = &mut self.part;
        part.events += 1;
        part.pass(event.time_ns, self.flight.depth());
        // A request that the device returned is one request, in the order of its first issue.
        let is_repeated = self.returned.is_repeated_issue(event);
        match event.action {
            Action::Queue => {
                self.flight.queue(event);
                self.count_uncompleted(event, CountingEvent::Queue);
            }
            Action::BackMerge | Action::FrontMerge => part.merges += 1,
            Action::Issue => {
                if let Some(took) = self.flight.issue(event)
                    && let Some(kind) = part.kind(event.operation)
                {
                    kind.device.record(took);
                }
                part.depth_max = part.depth_max.max(self.flight.depth());
                if !is_repeated {
                    self.count_uncompleted(event, CountingEvent::Issue);
                }
            }
            Action::Requeue => {
                part.requeues += 1;
                self.flight.requeue(event);
            }
            Action::Complete => {
                self.complete(event);
                self.until_look = self.until_look.saturating_sub(1);
                if self.until_look == 0 {
                    self.forget(event.time_ns);
                    // The search visits every request in flight, so its interval grows with their
                    // number.
                    self.until_look = self.flight.depth().max(LOOK_EVERY);
                }
            }
            Action::GetRequest | Action::Insert => {}
        }
        if !is_repeated {
            self.place(event);
        }
    }

    /// Removes requests whose completion was never reported from the queue depth.
    fn forget(&mut self, now_ns: u64) {
        for issued_ns in self.flight.forgotten(now_ns) {
            let part = &mut self.part;
            part.unended += 1;
            let from_ns = issued_ns.max(part.begin_ns);
            let until_ns = part.now_ns.max(from_ns);
            part.depth_ns = part.depth_ns.saturating_sub(u128::from(until_ns - from_ns));
            part.timeline.subtract_request(from_ns - part.begin_ns, until_ns - part.begin_ns);
        }
    }

    fn complete(&mut self, event: &RequestEvent) {
        let took = self.flight.complete(event);
        if event.bytes > 0 && self.completing.len() < DEVICES_MAX {
            self.completing.insert(event.device);
            self.uncompleted.remove(&event.device);
        }
        let part = &mut self.part;
        part.count(event);
        let Some(kind) = part.kind(event.operation).filter(|_| event.bytes > 0) else { return };
        if let Some(took) = took {
            kind.device.record(took);
        }
        let mut longest = None;
        self.flight.answered(event, |took| {
            longest = longest.max(Some(took));
            kind.whole.record(took);
        });
        let bios = longest.filter(|_| self.flight.is_bio_based(event.device));
        if event.operation.moves_data()
            && let Some(took) = took.or(bios)
        {
            part.record_latency(event.time_ns, took);
        }
    }

    /// Counts a request of a device without completions so far: the trace may lack them.
    fn count_uncompleted(&mut self, event: &RequestEvent, by: CountingEvent) {
        let device = event.device;
        if self.completing.contains(&device)
            || self.uncompleted.len() >= UNCOMPLETED_MAX && !self.uncompleted.contains_key(&device)
        {
            return;
        }
        let begin_ns = self.part.begin_ns;
        let (kept, part) =
            self.uncompleted.entry(device).or_insert_with(|| (by, PartCounters::begun(begin_ns)));
        if by < *kept {
            // The more reliable event is reported as well: start over with it.
            (*kept, *part) = (by, PartCounters::begun(begin_ns));
        }
        if by == *kept {
            part.count(event);
        }
    }

    /// Adds requests of devices without completions to the figures; returns the least reliable
    /// event that counted them.
    fn add_uncompleted(&mut self, is_end: bool) -> CountingEvent {
        let mut worst = CountingEvent::Complete;
        for (by, part) in std::mem::take(&mut self.uncompleted).into_values() {
            let requests = part.reads.requests + part.writes.requests + part.discards.requests;
            if requests > 0 && (is_end || requests >= UNCOMPLETED_SURELY) {
                worst = worst.max(by);
                self.part.add(part);
            }
        }
        worst
    }

    /// Adds the request to the seek statistics and the map, if the event is the one that defines
    /// the order.
    fn place(&mut self, event: &RequestEvent) {
        let Some(direction) = RequestOrder::from_action(event.action) else { return };
        if event.bytes == 0 {
            return;
        }
        match self.ordered_by {
            Some(best) if best.rank() < direction.rank() => return,
            Some(best) if best == direction => {}
            _ => {
                // The statistics so far used a less reliable order.
                self.ordered_by = Some(direction);
                self.order = SeekTracker::default();
                self.part.grids.clear();
                self.part.timeline.slots.iter_mut().for_each(|slot| slot.seeks = 0);
            }
        }
        let after = event.time_ns.saturating_sub(self.part.begin_ns);
        if event.operation.moves_data() && self.order.next(event) {
            self.part.timeline.at(after).seeks += 1;
        }
        let grids = &mut self.part.grids;
        if grids.contains_key(&event.device) || grids.len() < MAPS_MAX {
            grids.entry(event.device).or_insert_with(MapGrid::new).mark(after, event, self.shown);
        }
    }

    /// Ends a part and begins the next: returns the figures since the last cut. Requests in flight
    /// and the request order carry over.
    pub fn cut(&mut self, at_ns: u64) -> TraceDigest {
        self.digest(at_ns, false)
    }

    /// Ends the last part. Requests of devices without completions count by their issue events,
    /// else by their queue events.
    pub fn end(&mut self, at_ns: u64) -> TraceDigest {
        self.digest(at_ns, true)
    }

    fn digest(&mut self, at_ns: u64, is_end: bool) -> TraceDigest {
        self.part.pass(at_ns, self.flight.depth());
        self.forget(at_ns);
        let counted_by = self.add_uncompleted(is_end);
        let mut part = std::mem::replace(&mut self.part, PartCounters::begun(at_ns));
        if counted_by != CountingEvent::Complete && !self.flight.has_completions() {
            // Without completions the queue depth is unknown.
            (part.depth_ns, part.depth_max) = (0, 0);
            part.timeline
                .slots
                .iter_mut()
                .for_each(|slot| (slot.depth_ns, slot.depth_max) = (0, 0));
        }
        let order = std::mem::take(&mut self.order.count);
        let figures = TraceFigures { counted_by, ..self.figures(&part, &order, at_ns) };
        let maps = part.grids.into_iter().map(|(number, grid)| {
            let sectors = self.devices.get(&number).map_or(0, |device| device.sectors);
            grid.finish(self.name(number), sectors)
        });
        let maps = maps.collect();
        TraceDigest { figures, timeline: part.timeline, maps, latency: part.latency.finish() }
    }

    fn name(&self, number: DeviceNumber) -> String {
        let named = self.devices.get(&number).map(|device| device.name.clone());
        named.filter(|name| !name.is_empty()).unwrap_or_else(|| number.to_string())
    }

    fn figures(&self, part: &PartCounters, order: &SeekCounts, at_ns: u64) -> TraceFigures {
        let span_ns = at_ns.max(part.now_ns).saturating_sub(part.begin_ns);
        let devices = part.moved.iter().map(|(number, moved)| DeviceFigures {
            name: self.name(*number),
            bytes: self.devices.get(number).map_or(0, |known| known.sectors.saturating_mul(512)),
            read_bytes: moved.read_bytes,
            write_bytes: moved.write_bytes,
            requests: moved.requests,
            seeks: order.seeks_of.get(number).copied().unwrap_or(0),
        });
        TraceFigures {
            span_ns,
            events: part.events,
            lost_events: part.lost_events,
            late_events: part.late,
            unended: part.unended,
            reads: part.reads.figures(),
            writes: part.writes.figures(),
            write_zeroes: part.zeroes,
            write_zeroes_bytes: part.zeroed_bytes,
            discards: part.discards.figures(),
            flushes: part.flushes,
            failed: part.failed,
            merges: part.merges,
            requeues: part.requeues,
            ordered: order.requests,
            ordered_by: self.ordered_by.unwrap_or_default(),
            seeks: order.seeks,
            seek_bytes: order.seek_bytes,
            seek_bytes_p50: order.distances.quantile(0.5),
            seek_bytes_p90: order.distances.quantile(0.9),
            sequential: order.sequential,
            blocks: order.blocks,
            following: order.following,
            read_blocks: order.read_blocks,
            read_following: order.read_following,
            depth_mean: part.depth_ns as f64 / span_ns.max(1) as f64,
            depth_max: part.depth_max,
            devices: devices.collect(),
            ..TraceFigures::default()
        }
    }
}
