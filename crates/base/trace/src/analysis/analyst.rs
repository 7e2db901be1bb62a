//! Takes the events of a trace in their order and says what they mean, part by part.

use std::collections::BTreeMap;

use treering_model::Latency;

use super::course::Course;
use super::digest::{DeviceFigures, Digest, Direction, Figures, KindFigures};
use super::flight::Flight;
use super::map::Grid;
use super::tally::{Order, OrderCount, Sizes, figures_of};
use crate::event::{Action, Device, DeviceNumber, Entry, Event, Operation};

/// Devices that have a map each; what others did is in the figures.
const MAPS_MAX: usize = 16;

/// Completions after which requests are looked for that were never ended.
const LOOK_EVERY: u64 = 256;

/// Devices that are named.
const DEVICES_MAX: usize = 4096;

/// Works through a trace.
#[derive(Debug)]
pub struct Analyst {
    devices: BTreeMap<DeviceNumber, Device>,
    flight: Flight,
    order: Order,
    /// What orders requests: the best that was seen.
    ordered_by: Option<Direction>,
    part: Part,
    /// Completions until requests without an end are looked for.
    until_look: u64,
}

/// What was seen since the last cut.
#[derive(Debug, Default)]
struct Part {
    begin_ns: u64,
    now_ns: u64,
    events: u64,
    lost: u64,
    late: u64,
    unended: u64,
    reads: Kind,
    writes: Kind,
    discards: Kind,
    flushes: u64,
    failed: u64,
    merges: u64,
    requeues: u64,
    depth_max: u64,
    depth_ns: u128,
    course: Course,
    grids: BTreeMap<DeviceNumber, Grid>,
    moved: BTreeMap<DeviceNumber, Moved>,
}

/// What a device moved.
#[derive(Debug, Default)]
struct Moved {
    requests: u64,
    read_bytes: u64,
    write_bytes: u64,
}

/// Requests of a kind.
#[derive(Debug, Default)]
struct Kind {
    requests: u64,
    bytes: u64,
    sizes: Sizes,
    device: Latency,
    whole: Latency,
}

impl Kind {
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

impl Part {
    fn begun(begin_ns: u64) -> Self {
        Self { begin_ns, now_ns: begin_ns, ..Self::default() }
    }

    fn kind(&mut self, operation: Operation) -> Option<&mut Kind> {
        match operation {
            Operation::Read => Some(&mut self.reads),
            Operation::Write => Some(&mut self.writes),
            Operation::Discard => Some(&mut self.discards),
            Operation::Flush | Operation::Other => None,
        }
    }

    /// Time passes; so many requests were with the devices meanwhile.
    fn pass(&mut self, time_ns: u64, depth: u64) {
        if time_ns < self.now_ns {
            self.late += 1;
            return;
        }
        self.depth_ns += u128::from(depth) * u128::from(time_ns - self.now_ns);
        self.depth_max = self.depth_max.max(depth);
        let (from, until) = (self.now_ns - self.begin_ns, time_ns - self.begin_ns);
        self.course.depth(depth, from, until);
        self.now_ns = time_ns;
    }
}

impl Direction {
    fn of(action: Action) -> Option<Self> {
        match action {
            Action::Issue => Some(Self::Issue),
            Action::Queue => Some(Self::Queue),
            Action::Complete => Some(Self::Complete),
            _ => None,
        }
    }

    /// The lower, the better it says where a disk's head goes.
    fn rank(self) -> u8 {
        match self {
            Self::Issue => 0,
            Self::Queue => 1,
            Self::Complete => 2,
        }
    }
}

impl Analyst {
    /// Begins at a time of the trace's clock.
    pub fn new(begin_ns: u64) -> Self {
        Self {
            devices: BTreeMap::new(),
            flight: Flight::default(),
            order: Order::default(),
            ordered_by: None,
            part: Part::begun(begin_ns),
            until_look: LOOK_EVERY,
        }
    }

    /// Takes the next entry. Phases are the caller's matter: it cuts.
    pub fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Event(event) => self.event(event),
            Entry::Device(device) => {
                if self.devices.len() < DEVICES_MAX {
                    self.devices.insert(device.number, device.clone());
                }
            }
            Entry::Lost { events } => self.part.lost = self.part.lost.saturating_add(*events),
            Entry::Process { .. } | Entry::Phase { .. } => {}
        }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        let part = &mut self.part;
        part.events += 1;
        part.pass(event.time_ns, self.flight.depth());
        match event.action {
            Action::Queue => self.flight.queue(event),
            Action::BackMerge | Action::FrontMerge => part.merges += 1,
            Action::Issue => {
                if let Some(took) = self.flight.issue(event)
                    && let Some(kind) = part.kind(event.operation)
                {
                    kind.device.record(took);
                }
                part.depth_max = part.depth_max.max(self.flight.depth());
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
                    // Looking takes as long as there are requests.
                    self.until_look = self.flight.depth().max(LOOK_EVERY);
                }
            }
            Action::GetRequest | Action::Insert => {}
        }
        self.place(event);
    }

    /// Takes requests whose end was never told out of the account of what was under way.
    fn forget(&mut self, now_ns: u64) {
        for issued_ns in self.flight.forgotten(now_ns) {
            let part = &mut self.part;
            part.unended += 1;
            let from_ns = issued_ns.max(part.begin_ns);
            let until_ns = part.now_ns.max(from_ns);
            part.depth_ns = part.depth_ns.saturating_sub(u128::from(until_ns - from_ns));
            part.course.one_less(from_ns - part.begin_ns, until_ns - part.begin_ns);
        }
    }

    fn complete(&mut self, event: &Event) {
        let after = event.time_ns.saturating_sub(self.part.begin_ns);
        let took = self.flight.complete(event);
        let part = &mut self.part;
        part.failed += u64::from(event.error != 0);
        part.flushes += u64::from(event.operation == Operation::Flush);
        let bytes = u64::from(event.bytes);
        let Some(kind) = part.kind(event.operation) else { return };
        if bytes == 0 {
            return;
        }
        kind.requests += 1;
        kind.bytes = kind.bytes.saturating_add(bytes);
        kind.sizes.add(bytes);
        if let Some(took) = took {
            kind.device.record(took);
        }
        self.flight.answered(event, |took| kind.whole.record(took));
        if !event.operation.moves_data() {
            return;
        }
        let is_read = event.operation == Operation::Read;
        if part.moved.contains_key(&event.device) || part.moved.len() < DEVICES_MAX {
            let moved = part.moved.entry(event.device).or_default();
            moved.requests += 1;
            let sum = if is_read { &mut moved.read_bytes } else { &mut moved.write_bytes };
            *sum = sum.saturating_add(bytes);
        }
        let slot = part.course.at(after);
        let (requests, sum) = if is_read {
            (&mut slot.reads, &mut slot.read_bytes)
        } else {
            (&mut slot.writes, &mut slot.write_bytes)
        };
        *requests += 1;
        *sum = sum.saturating_add(bytes);
        if let Some(took) = took {
            slot.timed += 1;
            slot.latency_ns = slot.latency_ns.saturating_add(took);
            slot.latency_ns_max = slot.latency_ns_max.max(took);
        }
    }

    /// Where the request goes, if it is told by what orders requests here.
    fn place(&mut self, event: &Event) {
        let Some(direction) = Direction::of(event.action) else { return };
        if event.bytes == 0 {
            return;
        }
        match self.ordered_by {
            Some(best) if best.rank() < direction.rank() => return,
            Some(best) if best == direction => {}
            _ => {
                // What was taken before is of a worse order.
                self.ordered_by = Some(direction);
                self.order = Order::default();
                self.part.grids.clear();
                self.part.course.slots.iter_mut().for_each(|slot| slot.seeks = 0);
            }
        }
        let after = event.time_ns.saturating_sub(self.part.begin_ns);
        if event.operation.moves_data() && self.order.next(event) {
            self.part.course.at(after).seeks += 1;
        }
        let grids = &mut self.part.grids;
        if grids.contains_key(&event.device) || grids.len() < MAPS_MAX {
            grids.entry(event.device).or_insert_with(Grid::new).mark(after, event);
        }
    }

    /// Ends a part and begins the next: what was seen since the last cut. Requests that are under
    /// way go on, and so does the order.
    pub fn cut(&mut self, at_ns: u64) -> Digest {
        self.part.pass(at_ns, self.flight.depth());
        self.forget(at_ns);
        let part = std::mem::replace(&mut self.part, Part::begun(at_ns));
        let order = std::mem::take(&mut self.order.count);
        let figures = self.figures(&part, &order, at_ns);
        let maps = part.grids.into_iter().map(|(number, grid)| {
            let sectors = self.devices.get(&number).map_or(0, |device| device.sectors);
            grid.finish(self.name(number), sectors)
        });
        let maps = maps.collect();
        Digest { figures, course: part.course, maps }
    }

    fn name(&self, number: DeviceNumber) -> String {
        let named = self.devices.get(&number).map(|device| device.name.clone());
        named.filter(|name| !name.is_empty()).unwrap_or_else(|| number.to_string())
    }

    fn figures(&self, part: &Part, order: &OrderCount, at_ns: u64) -> Figures {
        let span_ns = at_ns.max(part.now_ns).saturating_sub(part.begin_ns);
        let devices = part.moved.iter().map(|(number, moved)| DeviceFigures {
            name: self.name(*number),
            bytes: self.devices.get(number).map_or(0, |known| known.sectors.saturating_mul(512)),
            read_bytes: moved.read_bytes,
            write_bytes: moved.write_bytes,
            requests: moved.requests,
            seeks: order.seeks_of.get(number).copied().unwrap_or(0),
        });
        Figures {
            span_ns,
            events: part.events,
            lost_events: part.lost,
            late_events: part.late,
            unended: part.unended,
            reads: part.reads.figures(),
            writes: part.writes.figures(),
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
            program_write_bytes: None,
        }
    }
}
