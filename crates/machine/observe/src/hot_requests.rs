//! Device requests ordered by address, for attribution to files.

use treering_stats::layout::HeatCells;
use treering_trace::{Action, Operation, RequestEvent, ReturnedRequests};

/// Limit of stored requests; further ones are only counted.
const REQUESTS_MAX: usize = 1 << 22;

/// Request to the filesystem's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceRequest {
    pub(crate) at_ns: u64,
    /// Offset on the filesystem's device, in bytes.
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    /// Bytes within extents of files.
    pub(crate) placed: u32,
    /// Bytes within free space.
    pub(crate) free: u32,
    pub(crate) writes: bool,
}

/// Requests of a trace, sorted by address before attribution.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    requests: Vec<DeviceRequest>,
    pub(crate) left_out: u64,
    /// Quality of the event kind that the requests are taken from: issue over completion over
    /// queue.
    rank: u8,
    returned: ReturnedRequests,
    longest: u64,
    pub(crate) last_ns: u64,
}

/// Quality of an event kind; a trace has several events per request, and the issue to the device is
/// preferred.
const fn rank(action: Action) -> u8 {
    match action {
        Action::Issue => 3,
        Action::Complete => 2,
        Action::Queue => 1,
        _ => 0,
    }
}

impl RequestLog {
    /// Adds an event of the filesystem's device; sectors before its beginning are ignored.
    pub(crate) fn event(&mut self, event: &RequestEvent, first_sector: u64) {
        let is_repeated = self.returned.is_repeated_issue(event);
        let writes = match event.operation {
            Operation::Read => false,
            operation if operation.is_write() => true,
            _ => return,
        };
        let rank = rank(event.action);
        let Some(sector) = event.sector.checked_sub(first_sector) else { return };
        if is_repeated || rank == 0 || rank < self.rank || event.bytes == 0 {
            return;
        }
        if rank > self.rank {
            self.rank = rank;
            self.requests.clear();
            self.left_out = 0;
        }
        self.last_ns = self.last_ns.max(event.time_ns);
        if self.requests.len() >= REQUESTS_MAX {
            self.left_out += 1;
            return;
        }
        let (at_ns, offset) = (event.time_ns, sector.saturating_mul(512));
        let bytes = event.bytes;
        self.longest = self.longest.max(u64::from(bytes));
        self.requests.push(DeviceRequest { at_ns, offset, bytes, placed: 0, free: 0, writes });
    }

    /// Sorts the requests by address.
    pub(crate) fn sort(&mut self) {
        self.requests.sort_unstable_by_key(|request| (request.offset, request.at_ns));
    }

    pub(crate) fn list(&self) -> &[DeviceRequest] {
        &self.requests
    }

    /// Calls `each` with every request that overlaps a range: index, request, and bounds of the
    /// overlap.
    pub(crate) fn within(
        &mut self,
        physical: u64,
        length: u64,
        mut each: impl FnMut(usize, &mut DeviceRequest, u64, u64),
    ) {
        let end = physical.saturating_add(length);
        let longest = self.longest;
        let first = self.requests.partition_point(|r| r.offset.saturating_add(longest) <= physical);
        for (number, request) in self.requests.iter_mut().enumerate().skip(first) {
            if request.offset >= end {
                break;
            }
            let from = request.offset.max(physical);
            let to = request.offset.saturating_add(u64::from(request.bytes)).min(end);
            if from < to {
                each(number, request, from, to);
            }
        }
    }

    /// Heat of the device's cells at the time of the last request.
    pub(crate) fn cells(&self, half_life_ns: u64) -> HeatCells {
        let mut cells = HeatCells::default();
        for request in &self.requests {
            let age = self.last_ns.saturating_sub(request.at_ns) as f64 / half_life_ns as f64;
            cells.add(request.offset, u64::from(request.bytes), (-age).exp2());
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::RequestLog;
    use treering_trace::{Action, DeviceNumber, Operation, RequestEvent, RequestFlags};

    fn event(time_ns: u64, sector: u64, bytes: u32, action: Action) -> RequestEvent {
        RequestEvent {
            time_ns,
            sector,
            bytes,
            device: DeviceNumber(1),
            action,
            operation: Operation::Read,
            flags: RequestFlags::default(),
            process: 1,
            cpu: 0,
            error: 0,
        }
    }

    #[test]
    fn requests_with_several_events_count_once() {
        let mut requests = RequestLog::default();
        for action in [Action::Queue, Action::Issue, Action::Complete] {
            requests.event(&event(1, 100, 4096, action), 100);
        }
        requests.event(&event(2, 99, 512, Action::Issue), 100);
        assert_eq!(requests.list().len(), 1);
        assert_eq!((requests.list()[0].offset, requests.list()[0].bytes), (0, 4096));
    }

    #[test]
    fn overlaps_with_a_range_are_found() {
        let mut requests = RequestLog::default();
        for (time, sector) in [(1, 800), (2, 0), (3, 8), (4, 4)] {
            requests.event(&event(time, sector, 4096, Action::Issue), 0);
        }
        requests.sort();
        let mut parts = Vec::new();
        requests.within(4096, 4096, |_, request, from, to| parts.push((request.at_ns, from, to)));
        assert_eq!(parts, [(4, 4096, 6144), (3, 4096, 8192)]);
        let cells = requests.cells(1_000_000_000);
        assert!((cells.cells.iter().sum::<f64>() - 4.0).abs() < 1e-6);
    }
}
