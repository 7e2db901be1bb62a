//! Modelled time of a trace on a disk.
//!
//! A request arrives when the number of requests in flight is no higher than at its arrival in the
//! trace, and after the idle time that the device had then. Among as many waiting requests as the
//! disk's queue holds, the one that the head reaches first is served next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use treering_model::ModelledSeconds;

use super::head::DiskHead;
use super::model::{DiskTransfer, ModelledDisk};
use crate::event::{Action, DeviceNumber, Operation, RequestEvent, TraceEntry};
use crate::returned::ReturnedRequests;

/// Limit of queued requests; the oldest are served before others are added.
const WAITING_MAX: usize = 65_536;
/// Age in nanoseconds, and later requests, after which a request counts as done: its completion was
/// lost.
const FORGOTTEN_NS: u64 = 1_000_000_000;
const FORGOTTEN_LATER: u64 = 1024;
/// Limit of distinguished devices.
const DEVICES_MAX: usize = 256;

/// Modelled time of the requests to a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskCost {
    /// Device of the trace.
    pub device: String,
    /// Number of reads and writes.
    pub requests: u64,
    /// Sum of their sizes, in bytes.
    pub bytes: u64,
    /// Time with at least one request on the modelled disk, until all is on the platter.
    pub busy: ModelledSeconds,
    /// Seek part of the typical time, including what is written from the cache while no request
    /// waits.
    pub seek_seconds: f64,
    /// Rotational delay, including gaps that are read through.
    pub rotation_seconds: f64,
    /// Transfer time of the data.
    pub transfer_seconds: f64,
    /// Time with at least one request on the recorded device.
    pub recorded_busy_seconds: f64,
    /// Idle time of the recorded device between its first and last request: the same on any disk.
    pub idle_seconds: f64,
    /// Requests beyond the end of the modelled disk, placed at its end.
    pub beyond: u64,
}

/// Replay of a trace on a disk.
#[derive(Debug)]
pub struct DiskReplay {
    /// Typical version of the disk, and draws from its uncertainty.
    disks: Vec<ModelledDisk>,
    names: BTreeMap<DeviceNumber, String>,
    /// Devices by the event with which they take requests: issue, or queue for devices without
    /// issues.
    issued: BTreeMap<DeviceNumber, DeviceReplay>,
    queued: BTreeMap<DeviceNumber, DeviceReplay>,
    returned: ReturnedRequests,
}

/// Requests of one device.
#[derive(Debug)]
struct DeviceReplay {
    /// Heads of the disks of the replay.
    heads: Vec<DiskHead>,
    requests: u64,
    bytes: u64,
    beyond: u64,
    /// Requests in flight on the recorded device: first sector and number.
    outstanding: BTreeSet<(u64, u64)>,
    /// Arrivals (time, sector, number), oldest first; includes some completed requests.
    came: VecDeque<(u64, u64, u64)>,
    /// True while the recorded device flushes.
    is_flushing: bool,
    now_ns: u64,
    busy_ns: u64,
    idle_ns: u64,
}

impl DeviceReplay {
    fn new(disks: &[ModelledDisk]) -> Self {
        Self {
            heads: vec![DiskHead::default(); disks.len()],
            requests: 0,
            bytes: 0,
            beyond: 0,
            outstanding: BTreeSet::new(),
            came: VecDeque::new(),
            is_flushing: false,
            now_ns: 0,
            busy_ns: 0,
            idle_ns: 0,
        }
    }

    /// Advances the clock; returns the idle time of the device in nanoseconds.
    fn pass(&mut self, time_ns: u64) -> u64 {
        let passed = if self.now_ns == 0 { 0 } else { time_ns.saturating_sub(self.now_ns) };
        self.now_ns = self.now_ns.max(time_ns);
        if self.outstanding.is_empty() && !self.is_flushing {
            self.idle_ns += passed;
            return passed;
        }
        self.busy_ns += passed;
        0
    }

    /// Drops outstanding requests whose completion was lost.
    fn forget(&mut self, time_ns: u64) {
        while let Some(&(came_ns, sector, number)) = self.came.front() {
            let is_old = time_ns.saturating_sub(came_ns) > FORGOTTEN_NS
                && self.requests > number + FORGOTTEN_LATER;
            if !is_old && self.outstanding.contains(&(sector, number)) {
                return;
            }
            self.outstanding.remove(&(sector, number));
            self.came.pop_front();
        }
    }

    fn begins(&mut self, event: &RequestEvent, disks: &[ModelledDisk]) {
        let idle_ns = self.pass(event.time_ns);
        // The completion of a flush may be lost.
        self.is_flushing = false;
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(u64::from(event.bytes));
        self.forget(event.time_ns);
        self.came.push_back((event.time_ns, event.sector, self.requests));
        let others = self.outstanding.len().min(WAITING_MAX);
        self.outstanding.insert((event.sector, self.requests));
        let last = disks[0].capacity_bytes.saturating_sub(u64::from(event.bytes));
        let offset = event.sector.saturating_mul(512);
        self.beyond += u64::from(offset > last);
        let wanted = DiskTransfer {
            offset: offset.min(last),
            bytes: u64::from(event.bytes),
            is_write: event.operation.is_write(),
            is_durable: event.flags.fua,
        };
        for (head, disk) in self.heads.iter_mut().zip(disks) {
            head.serve_down_to(disk, others);
            head.now_ns += idle_ns as f64;
            head.idle_ns += idle_ns as f64;
            head.wait(self.requests, wanted, head.now_ns);
        }
    }

    /// Serves all requests and writes what is in the cache, as a flush does: the kernel passes no
    /// others on meanwhile.
    fn flush(&mut self, event: &RequestEvent, disks: &[ModelledDisk]) {
        let idle_ns = self.pass(event.time_ns);
        self.is_flushing = event.operation == Operation::Flush;
        for (head, disk) in self.heads.iter_mut().zip(disks) {
            head.serve_down_to(disk, 0);
            head.now_ns += idle_ns as f64;
            head.idle_ns += idle_ns as f64;
            head.flush(disk);
        }
    }

    fn ends(&mut self, event: &RequestEvent) {
        self.pass(event.time_ns);
        let oldest = self.outstanding.range((event.sector, 0)..=(event.sector, u64::MAX)).next();
        let Some(&key) = oldest else { return };
        self.outstanding.remove(&key);
    }

    fn cost(mut self, device: String, disks: &[ModelledDisk]) -> DiskCost {
        for (head, disk) in self.heads.iter_mut().zip(disks) {
            head.serve_down_to(disk, 0);
            head.flush(disk);
        }
        let seconds = |ns: f64| ns / 1e9;
        let busy = self.heads.iter().map(|head| seconds(head.now_ns - head.idle_ns));
        let parts = self.heads[0].parts;
        DiskCost {
            device,
            requests: self.requests,
            bytes: self.bytes,
            busy: ModelledSeconds::from_times(busy),
            seek_seconds: seconds(parts.seek),
            rotation_seconds: seconds(parts.rotation),
            transfer_seconds: seconds(parts.transfer),
            recorded_busy_seconds: seconds(self.busy_ns as f64),
            idle_seconds: seconds(self.idle_ns as f64),
            beyond: self.beyond,
        }
    }
}

impl DiskReplay {
    /// Creates a replay; each device of the trace gets a disk of its own, with the head at offset
    /// 0.
    pub fn new(disk: &ModelledDisk) -> Self {
        Self {
            disks: disk.with_draws(),
            names: BTreeMap::new(),
            issued: BTreeMap::new(),
            queued: BTreeMap::new(),
            returned: ReturnedRequests::default(),
        }
    }

    /// Processes the next entry of the trace.
    pub fn entry(&mut self, entry: &TraceEntry) {
        match entry {
            TraceEntry::Event(event) => self.event(event),
            TraceEntry::Device(device) if self.names.len() < DEVICES_MAX => {
                self.names.insert(device.number, device.name.clone());
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &RequestEvent) {
        if self.returned.is_repeated_issue(event) {
            return;
        }
        let is_request = event.operation.moves_data() && event.bytes > 0;
        let devices = match event.action {
            Action::Issue => &mut self.issued,
            // Devices with issue events are replayed by those alone.
            Action::Queue if !self.issued.contains_key(&event.device) => &mut self.queued,
            // A flush is no request in flight: nothing is served beside it.
            Action::Complete if event.operation == Operation::Flush => {
                for devices in [&mut self.issued, &mut self.queued] {
                    if let Some(device) = devices.get_mut(&event.device) {
                        device.pass(event.time_ns);
                        device.is_flushing = false;
                    }
                }
                return;
            }
            Action::Complete => {
                for devices in [&mut self.issued, &mut self.queued] {
                    if let Some(device) = devices.get_mut(&event.device) {
                        device.ends(event);
                    }
                }
                return;
            }
            _ => return,
        };
        let is_flush = event.operation == Operation::Flush || event.flags.flush_first;
        if is_flush && let Some(device) = devices.get_mut(&event.device) {
            device.flush(event, &self.disks);
        }
        if event.operation == Operation::Discard
            && let Some(device) = devices.get_mut(&event.device)
        {
            let offset = event.sector.saturating_mul(512);
            let range = (offset, offset.saturating_add(u64::from(event.bytes)));
            device.heads.iter_mut().zip(&self.disks).for_each(|(head, disk)| {
                head.discard(disk, range);
            });
        }
        if is_request && (devices.contains_key(&event.device) || devices.len() < DEVICES_MAX) {
            let device =
                devices.entry(event.device).or_insert_with(|| DeviceReplay::new(&self.disks));
            device.begins(event, &self.disks);
        }
    }

    /// Ends the replay; returns the cost per device, by device number.
    pub fn end(self) -> Vec<DiskCost> {
        let Self { disks, names, mut issued, queued, .. } = self;
        for (number, device) in queued {
            issued.entry(number).or_insert(device);
        }
        let name = |number: DeviceNumber| {
            names.get(&number).cloned().unwrap_or_else(|| number.to_string())
        };
        issued.into_iter().map(|(number, device)| device.cost(name(number), &disks)).collect()
    }
}

/// Entry with one read event, for tests.
#[cfg(test)]
pub(super) fn event_of_read(action: Action, time_ns: u64, offset: u64, bytes: u32) -> TraceEntry {
    use crate::event::{DeviceNumber, Operation, RequestEvent, RequestFlags};
    TraceEntry::Event(RequestEvent {
        time_ns,
        sector: offset / 512,
        bytes,
        device: DeviceNumber::new(8, 0),
        action,
        operation: Operation::Read,
        flags: RequestFlags::default(),
        process: 0,
        cpu: 0,
        error: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::{DiskCost, DiskReplay, event_of_read};
    use crate::disk::ModelledDisk;
    use crate::event::{Action, Operation, TraceEntry};

    /// Replays requests of 4 KiB at these offsets, `depth` at a time; each took 10 µs in the
    /// recording.
    fn replay(disk: &str, offsets: impl IntoIterator<Item = u64>, depth: usize) -> DiskCost {
        replay_of(4096, disk, offsets, depth)
    }

    fn replay_of(
        bytes: u32,
        disk: &str,
        offsets: impl IntoIterator<Item = u64>,
        depth: usize,
    ) -> DiskCost {
        let mut replay = DiskReplay::new(&ModelledDisk::named(disk).unwrap());
        let mut waiting = std::collections::VecDeque::new();
        let mut time_ns = 1_000_000;
        let mut event = |action, offset: u64| {
            time_ns += 10_000;
            replay.entry(&event_of_read(action, time_ns, offset, bytes));
        };
        for offset in offsets {
            event(Action::Issue, offset);
            waiting.push_back(offset);
            if waiting.len() >= depth {
                event(Action::Complete, waiting.pop_front().unwrap());
            }
        }
        waiting.into_iter().for_each(|offset| event(Action::Complete, offset));
        replay.end().remove(0)
    }

    /// Pseudo-random offsets all over a disk.
    fn scattered(count: u64, capacity: u64) -> impl Iterator<Item = u64> {
        (1..=count).map(move |number| {
            // SplitMix64.
            let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            (mixed % (capacity - 4096)) / 4096 * 4096
        })
    }

    #[test]
    fn scattered_single_reads_take_a_seek_and_half_a_revolution() {
        for (disk, capacity, wanted_ms) in [
            ("hdd-7200", 4_000_000_000_000, 8.2 + 4.17 + 0.2),
            ("hdd-5400", 320_000_000_000, 12.0 + 5.56 + 0.2),
        ] {
            let cost = replay(disk, scattered(3000, capacity), 1);
            let ms = cost.busy.typical / 3000.0 * 1000.0;
            assert!((ms / wanted_ms - 1.0).abs() < 0.05, "{disk}: {ms} ms");
            assert!(cost.busy.low < cost.busy.typical && cost.busy.typical < cost.busy.high);
        }
    }

    #[test]
    fn a_queue_of_32_serves_more_requests_than_one() {
        let without_queue = replay("hdd-7200", scattered(2000, 4_000_000_000_000), 1).busy.typical;
        let with_queue = replay("hdd-7200", scattered(2000, 4_000_000_000_000), 32).busy.typical;
        assert!(
            without_queue / with_queue > 1.8 && without_queue / with_queue < 4.5,
            "{}",
            without_queue / with_queue
        );
        // The HP 97560 has no queue.
        let without_queue = replay("hp97560", scattered(2000, 1_374_000_000), 1).busy.typical;
        let with_queue = replay("hp97560", scattered(2000, 1_374_000_000), 32).busy.typical;
        assert!((without_queue / with_queue - 1.0).abs() < 0.02, "{}", without_queue / with_queue);
    }

    #[test]
    fn sequential_reads_take_their_transfer_time() {
        let cost = replay_of(65_536, "hdd-7200-500g", (0..100_000).map(|number| number << 16), 1);
        // This disk reads ahead while idle.
        let rate = cost.bytes as f64 / (cost.busy.typical + cost.idle_seconds);
        assert!((rate / 193e6 - 1.0).abs() < 0.02, "{rate}");
        let cost = replay("hdd-7200", (0..100_000).map(|number| number * 4096), 1);
        // Each one takes the overhead and the bus transfer.
        let rate = cost.bytes as f64 / cost.busy.typical;
        assert!((rate / (4096.0 / 63.7e-6) - 1.0).abs() < 0.05, "{rate}");
        assert_eq!((cost.requests, cost.beyond), (100_000, 0));
        // The device was idle between completions and the next issues.
        assert!(cost.idle_seconds > 0.9 && cost.recorded_busy_seconds > 0.9, "{cost:?}");
    }

    #[test]
    fn random_reads_match_published_times() {
        // ArghyaB118/filesystem_aging at 50981a6, Natural_Transfer_Size/result_hdd.txt: the first
        // 1000 pieces of a size, each read once.
        for (bytes, seconds) in [(4u32 << 20, 28.79), (8 << 20, 50.57), (64 << 20, 354.5)] {
            let mut pieces: Vec<u64> = (0..1000).collect();
            pieces.sort_unstable_by_key(|piece| {
                scattered(1000, 1 << 62).nth(usize::try_from(*piece).unwrap())
            });
            let offsets = pieces.iter().map(|piece| piece * u64::from(bytes));
            let took = replay_of(bytes, "hdd-7200-500g", offsets, 1).busy.typical;
            assert!((took / seconds - 1.0).abs() < 0.05, "{bytes}: {took} s");
        }
    }

    #[test]
    fn random_reads_of_a_7200_rpm_disk_are_within_the_usual_bands() {
        // Often quoted: 75 to 90 requests a second one at a time, 180 to 250 with 32.
        for (depth, least, most) in [(1, 75.0, 90.0), (32, 180.0, 250.0)] {
            let count = 1000;
            let busy = replay("hdd-7200", scattered(count, 4_000_000_000_000), depth).busy;
            let rates = [busy.high, busy.typical, busy.low].map(|seconds| count as f64 / seconds);
            assert!(rates[1] > least && rates[1] < most, "{depth}: {rates:?}");
            assert!(rates[0] > least * 0.9 && rates[2] < most * 1.1, "{depth}: {rates:?}");
        }
    }

    /// Writes of 4 KiB, one at a time, each followed by a flush if `flushes`; requests a second.
    fn rate_of_writes(disk: &str, offsets: impl IntoIterator<Item = u64>, flushes: bool) -> f64 {
        let mut replay = DiskReplay::new(&ModelledDisk::named(disk).unwrap());
        let mut time_ns = 1_000_000;
        for offset in offsets {
            let actions = [(Action::Issue, false), (Action::Complete, false)];
            let flush = [(Action::Issue, true), (Action::Complete, true)];
            let flush = if flushes { flush.as_slice() } else { &[] };
            for (action, is_flush) in actions.iter().chain(flush) {
                time_ns += 1;
                let mut entry = event_of_read(*action, time_ns, offset, 4096);
                if let TraceEntry::Event(event) = &mut entry {
                    event.operation = if *is_flush { Operation::Flush } else { Operation::Write };
                }
                replay.entry(&entry);
            }
        }
        let cost = replay.end().remove(0);
        cost.requests as f64 / cost.busy.typical
    }

    #[test]
    fn small_sequential_writes_cost_a_revolution_each_without_the_cache() {
        let one_after_the_other = || (0..2000).map(|number| (1 << 30) + number * 4096);
        let rate = rate_of_writes("hdd-7200-write-through", one_after_the_other(), false);
        assert!((rate - 120.0).abs() < 2.0, "{rate} a second");
        let rate = rate_of_writes("hdd-7200", one_after_the_other(), true);
        assert!((rate - 120.0).abs() < 2.0, "{rate} a second, each flushed");
        let rate = rate_of_writes("hdd-7200", one_after_the_other(), false);
        assert!(rate > 5000.0, "{rate} a second, in the cache");
    }

    #[test]
    fn random_writes_with_the_cache_are_reordered() {
        // Measured on disks of 8 and 10 TB with 128 in flight: 315 to 405 a second.
        let scattered = || scattered(1500, 4_000_000_000_000);
        let with_cache = rate_of_writes("hdd-7200", scattered(), false);
        assert!(with_cache > 270.0 && with_cache < 405.0, "{with_cache}");
        let flushed = rate_of_writes("hdd-7200", scattered(), true);
        let without = rate_of_writes("hdd-7200-write-through", scattered(), false);
        // Measured on a disk of 4 TB, cached and flushed: 96.
        assert!(flushed > 75.0 && flushed < 100.0, "{flushed}");
        assert!((flushed / without - 1.0).abs() < 0.05, "{flushed} {without}");
    }

    #[test]
    fn a_flash_drive_without_spare_pages_pays_for_what_it_copies() {
        // Random writes of whole pages to a drive, all of which was written before.
        let pages = (4 << 30) / 16_384;
        let mut replay = DiskReplay::new(&ModelledDisk {
            draws: Vec::new(),
            ..ModelledDisk::named("ssd-ftl").unwrap()
        });
        let mut time_ns = 1_000_000;
        let mut write = |replay: &mut DiskReplay, page: u64| {
            for action in [Action::Issue, Action::Complete] {
                time_ns += 1;
                let mut entry = event_of_read(action, time_ns, page * 16_384, 16_384);
                if let TraceEntry::Event(event) = &mut entry {
                    event.operation = Operation::Write;
                }
                replay.entry(&entry);
            }
        };
        (0..pages).for_each(|page| write(&mut replay, page));
        let filled = replay.issued.values().next().unwrap().heads[0].now_ns;
        (0..pages).for_each(|number| write(&mut replay, number.wrapping_mul(7_919) % pages));
        let total = replay.end().remove(0).busy.typical;
        let ratio = (total - filled / 1e9) / (filled / 1e9);
        assert!(ratio > 3.0, "written anew at random it takes {ratio} times as long");
    }

    #[test]
    fn an_interval_contains_more_than_the_typical_time() {
        // Whatever the order of reads, some disks within the uncertainty are faster, some slower.
        for stride in [1, 3, 7, 1001] {
            let offsets = (0..1000u64).map(|number| number * stride % 1009 * 200_000);
            let busy = replay("hdd-7200", offsets, 1).busy;
            assert!(busy.low < busy.typical && busy.typical < busy.high, "{stride}: {busy:?}");
        }
    }

    #[test]
    fn requests_beyond_the_disk_are_counted() {
        let cost = replay("hp97560", [0, 1 << 40, 1 << 41], 1);
        assert_eq!((cost.requests, cost.beyond), (3, 2));
    }
}
