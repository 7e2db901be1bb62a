//! Event sources: a private tracefs instance, or `perf_event_open` rings.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use treering_sys::{
    TraceSample, Tracefs, Tracepoint, Tracepoints, online_cpus, possible_cpus, trace_page,
};

use super::instances::{StaleInstance, next_name};
use super::layout::{EventLayout, POINTS};
use super::{BlockTraceError, TraceMethod, TracedDevice};

/// Limit of a filter in bytes, less than a page. Longer filters are omitted and applied to the
/// events here.
const FILTER_BYTES_MAX: usize = 4000;

/// Fill level at which a tracefs ring wakes the reader, in percent.
const WAKE_PERCENT: &str = "25";

/// Sleep interval on kernels without such wake-ups.
const PAUSE: Duration = Duration::from_millis(10);

/// Buffer size for a ring page, which has the size of a memory page.
const PAGE_BYTES: usize = 1 << 16;

/// Source of trace events.
pub(super) trait EventSource: Send {
    /// Waits for events, at most for `at_most`.
    fn wait(&self, at_most: Duration);

    /// Calls `each` with the available events, in chronological order per CPU.
    fn drain(&mut self, each: &mut dyn FnMut(&TraceSample<'_>));

    /// Lost events so far, according to the drained data.
    fn reported_lost(&self) -> u64;

    /// Lost events so far, according to the kernel's counters, which are slower to read.
    fn lost(&self) -> u64;
}

/// Open source with the layouts of its events.
pub(super) struct OpenedSource {
    pub(super) source: Box<dyn EventSource>,
    pub(super) layouts: Vec<EventLayout>,
    pub(super) method: TraceMethod,
}

/// Opens the best available source.
pub(super) fn open(
    devices: &[TracedDevice],
    ring_bytes: usize,
    only: Option<TraceMethod>,
) -> Result<OpenedSource, BlockTraceError> {
    let traces = Tracefs::open().map_err(BlockTraceError::Tracefs)?;
    let layouts = layouts(&traces)?;
    let filter = filter(devices);
    // tracefs rings report their losses. perf rings were seen to miss completions on a busy machine
    // (Linux 6.18, a task preempted within its event) without counting them.
    if only != Some(TraceMethod::PerfEvent)
        && let Ok(instance) = TraceInstance::open(traces, &filter, ring_bytes)
    {
        return Ok(OpenedSource {
            source: Box::new(instance),
            layouts,
            method: TraceMethod::Tracefs,
        });
    }
    if only == Some(TraceMethod::Tracefs) {
        return Err(BlockTraceError::Tracefs(Errno::OPNOTSUPP));
    }
    let points = perf(&layouts, &filter, ring_bytes).map_err(BlockTraceError::PerfEvent)?;
    Ok(OpenedSource { source: Box::new(points), layouts, method: TraceMethod::PerfEvent })
}

fn layouts(traces: &Tracefs) -> Result<Vec<EventLayout>, BlockTraceError> {
    let mut layouts = Vec::new();
    for (name, action, needed) in POINTS {
        let text = match traces.read(&format!("events/block/{name}/format")) {
            Ok(text) => text,
            Err(_) if !needed => continue,
            Err(errno) => return Err(BlockTraceError::Tracefs(errno)),
        };
        match EventLayout::parse(&text, action) {
            Some(layout) => layouts.push(layout),
            None if !needed => {}
            None => return Err(BlockTraceError::Format { point: name }),
        }
    }
    Ok(layouts)
}

fn filter(devices: &[TracedDevice]) -> String {
    let filters: Vec<String> =
        devices.iter().map(|device| format!("({})", device.filter())).collect();
    let filter = filters.join(" || ");
    if filter.len() > FILTER_BYTES_MAX { String::new() } else { filter }
}

fn perf(layouts: &[EventLayout], filter: &str, ring_bytes: usize) -> Result<Tracepoints, Errno> {
    let point = |layout: &EventLayout| Tracepoint { id: layout.id, filter: filter.to_owned() };
    let points: Vec<Tracepoint> = layouts.iter().map(point).collect();
    let opened = Tracepoints::open(&points, ring_bytes)?;
    opened.enable()?;
    Ok(opened)
}

impl EventSource for Tracepoints {
    fn wait(&self, at_most: Duration) {
        Tracepoints::wait(self, at_most);
    }

    fn drain(&mut self, each: &mut dyn FnMut(&TraceSample<'_>)) {
        Tracepoints::drain(self, each);
    }

    fn reported_lost(&self) -> u64 {
        Tracepoints::reported_lost(self)
    }

    fn lost(&self) -> u64 {
        Tracepoints::lost(self)
    }
}

/// Private tracefs instance, removed on drop.
struct TraceInstance {
    traces: Tracefs,
    own: Option<Tracefs>,
    name: String,
    pages: Vec<(u32, OwnedFd)>,
    buffer: Vec<u8>,
    /// Ring size per CPU in pages.
    ring_pages: usize,
    /// True if the kernel wakes the reader at a fill level instead of at the first event.
    wakes: bool,
    lost: u64,
}

impl TraceInstance {
    fn open(traces: Tracefs, filter: &str, ring_bytes: usize) -> Result<Self, Errno> {
        for left in StaleInstance::list_in(&traces) {
            let _somebody_may_read_it = left.remove_from(&traces);
        }
        let name = next_name();
        let own = traces.make_instance(&name)?;
        let (pages, buffer) = (Vec::new(), vec![0; PAGE_BYTES]);
        let ring_pages = ring_bytes.div_ceil(page_bytes());
        let mut instance =
            Self { traces, own: Some(own), name, pages, buffer, ring_pages, wakes: false, lost: 0 };
        instance.begin(filter, ring_bytes)?;
        Ok(instance)
    }

    fn begin(&mut self, filter: &str, ring_bytes: usize) -> Result<(), Errno> {
        let Some(own) = &self.own else { return Err(Errno::NODEV) };
        own.write("tracing_on", "0")?;
        own.write("trace_clock", "mono")?;
        own.write("buffer_size_kb", &(ring_bytes / 1024).max(1).to_string())?;
        for (point, _, needed) in POINTS {
            let file = |name: &str| format!("events/block/{point}/{name}");
            let filtered =
                if filter.is_empty() { Ok(()) } else { own.write(&file("filter"), filter) };
            match filtered.and_then(|()| own.write(&file("enable"), "1")) {
                Err(errno) if needed => return Err(errno),
                Ok(()) | Err(_) => {}
            }
        }
        // Kernels before 5.0 wake the reader at the first event; there the reader sleeps instead.
        self.wakes = own.write("buffer_percent", WAKE_PERCENT).is_ok();
        let online = online_cpus();
        for cpu in &online {
            self.pages.push((*cpu, own.raw_pages(*cpu)?));
        }
        // CPUs that may come online later have rings as well.
        for cpu in possible_cpus().into_iter().filter(|cpu| !online.contains(cpu)) {
            self.pages.extend(own.raw_pages(cpu).ok().map(|pages| (cpu, pages)));
        }
        own.write("tracing_on", "1")
    }
}

impl EventSource for TraceInstance {
    fn wait(&self, at_most: Duration) {
        if !self.wakes {
            std::thread::sleep(at_most.min(PAUSE));
            return;
        }
        let mut polled: Vec<PollFd<'_>> = (self.pages.iter())
            .map(|(_, pages)| PollFd::from_borrowed_fd(pages.as_fd(), PollFlags::IN))
            .collect();
        let timeout = Timespec::try_from(at_most).ok();
        if poll(&mut polled, timeout.as_ref()).is_err() {
            std::thread::sleep(at_most.min(PAUSE));
        }
    }

    fn drain(&mut self, each: &mut dyn FnMut(&TraceSample<'_>)) {
        for (cpu, pages) in &self.pages {
            // Reads at most one ring per call: events may arrive as fast as they are read.
            for page in 0..=self.ring_pages {
                let read = rustix::io::read(pages, &mut self.buffer[..page_bytes()]);
                let Some(length) = read.ok().filter(|length| *length > 0) else { break };
                let reported = trace_page(&self.buffer[..length], |time_ns, fields| {
                    each(&TraceSample { cpu: *cpu, time_ns, fields });
                });
                self.lost = self.lost.saturating_add(reported.lost);
                // The first page may be the rest of one read before. A later one that is not full
                // was still being written, and nothing follows it.
                if page > 0 && reported.bytes < length / 2 {
                    break;
                }
            }
        }
    }

    fn reported_lost(&self) -> u64 {
        self.lost
    }

    fn lost(&self) -> u64 {
        let Some(own) = &self.own else { return self.lost };
        let lost_of_ring = |(cpu, _): &(u32, OwnedFd)| {
            own.read(&format!("per_cpu/cpu{cpu}/stats")).map_or(0, |text| counted_lost(&text))
        };
        self.pages.iter().map(lost_of_ring).fold(0, u64::saturating_add).max(self.lost)
    }
}

/// Lost events according to the statistics of a CPU's ring (`per_cpu/cpuN/stats`).
fn counted_lost(stats: &str) -> u64 {
    let count = |line: &str| {
        let (name, number) = line.split_once(':')?;
        let is_loss = ["overrun", "commit overrun", "dropped events"].contains(&name.trim());
        is_loss.then(|| number.trim().parse::<u64>().ok()).flatten()
    };
    stats.lines().filter_map(count).fold(0, u64::saturating_add)
}

fn page_bytes() -> usize {
    rustix::param::page_size().min(PAGE_BYTES)
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            let _it_goes_anyway = own.write("tracing_on", "0");
        }
        // Open files would prevent the removal.
        self.pages.clear();
        let _the_next_start_tries_again = self.traces.remove_instance(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::counted_lost;

    #[test]
    fn losses_of_a_ring_are_counted() {
        let stats = "entries: 9\noverrun: 70\ncommit overrun: 5\nbytes: 52\n\
            oldest event ts:  42.1\nnow ts: 43.0\ndropped events: 2\nread events: 8\n";
        assert_eq!(counted_lost(stats), 77);
        assert_eq!(counted_lost("overrun: x\n"), 0);
    }
}
