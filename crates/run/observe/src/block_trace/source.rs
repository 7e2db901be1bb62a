//! Where events come from: an instance of tracefs of our own, or rings by `perf_event_open`.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use treering_sys::{TraceSample, Tracefs, Tracepoint, Tracepoints, online_cpus, trace_page};

use super::layout::{Layout, POINTS};
use super::{BlockTraceError, TracedDevice, Way};

/// How the names of our instances begin; the number of the process follows.
const INSTANCE: &str = "treering-";

/// A filter is no longer than a page. Without one every event comes, and is looked at here.
const FILTER_BYTES_MAX: usize = 4000;

/// A page of a tracefs ring is a page of the machine.
const PAGE_BYTES: usize = 1 << 16;

/// What tells events.
pub(super) trait Source: Send {
    /// Waits for events, at most so long.
    fn wait(&self, at_most: Duration);

    /// Tells the events there are: each CPU's in their order.
    fn drain(&mut self, each: &mut dyn FnMut(&TraceSample<'_>));

    /// How many were lost so far.
    fn lost(&self) -> u64;
}

/// An open source with how its events are read.
pub(super) struct Opened {
    pub(super) source: Box<dyn Source>,
    pub(super) layouts: Vec<Layout>,
    pub(super) way: Way,
}

/// Opens the best source there is.
pub(super) fn open(
    devices: &[TracedDevice],
    ring_bytes: usize,
    only: Option<Way>,
) -> Result<Opened, BlockTraceError> {
    let traces = Tracefs::open().map_err(BlockTraceError::Tracefs)?;
    let layouts = layouts(&traces)?;
    let filter = filter(devices);
    // What the rings of tracefs lose they tell. Those of perf were seen to miss completions on a
    // busy machine (Linux 6.18, a task preempted within its event) without counting them.
    if only != Some(Way::PerfEvent)
        && let Ok(instance) = Instance::open(traces, &filter, ring_bytes)
    {
        return Ok(Opened { source: Box::new(instance), layouts, way: Way::Tracefs });
    }
    if only == Some(Way::Tracefs) {
        return Err(BlockTraceError::Tracefs(Errno::OPNOTSUPP));
    }
    let points = perf(&layouts, &filter, ring_bytes).map_err(BlockTraceError::PerfEvent)?;
    Ok(Opened { source: Box::new(points), layouts, way: Way::PerfEvent })
}

fn layouts(traces: &Tracefs) -> Result<Vec<Layout>, BlockTraceError> {
    let mut layouts = Vec::new();
    for (name, action, needed) in POINTS {
        let text = match traces.read(&format!("events/block/{name}/format")) {
            Ok(text) => text,
            Err(_) if !needed => continue,
            Err(errno) => return Err(BlockTraceError::Tracefs(errno)),
        };
        match Layout::parse(&text, action) {
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

fn perf(layouts: &[Layout], filter: &str, ring_bytes: usize) -> Result<Tracepoints, Errno> {
    let point = |layout: &Layout| Tracepoint { id: layout.id, filter: filter.to_owned() };
    let points: Vec<Tracepoint> = layouts.iter().map(point).collect();
    let opened = Tracepoints::open(&points, ring_bytes)?;
    opened.enable()?;
    Ok(opened)
}

impl Source for Tracepoints {
    fn wait(&self, at_most: Duration) {
        Tracepoints::wait(self, at_most);
    }

    fn drain(&mut self, each: &mut dyn FnMut(&TraceSample<'_>)) {
        Tracepoints::drain(self, each);
    }

    fn lost(&self) -> u64 {
        Tracepoints::lost(self)
    }
}

/// An instance of tracefs, which goes when this does.
struct Instance {
    traces: Tracefs,
    own: Option<Tracefs>,
    name: String,
    pages: Vec<(u32, OwnedFd)>,
    buffer: Vec<u8>,
    lost: u64,
}

impl Instance {
    fn open(traces: Tracefs, filter: &str, ring_bytes: usize) -> Result<Self, Errno> {
        remove_leftovers(&traces);
        let name = format!("{INSTANCE}{}", std::process::id());
        let own = traces.make_instance(&name)?;
        let (pages, buffer) = (Vec::new(), vec![0; PAGE_BYTES]);
        let mut instance = Self { traces, own: Some(own), name, pages, buffer, lost: 0 };
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
        for cpu in online_cpus() {
            self.pages.push((cpu, own.raw_pages(cpu)?));
        }
        own.write("tracing_on", "1")
    }
}

/// Removes instances that a killed run left.
fn remove_leftovers(traces: &Tracefs) {
    let left = |name: &String| {
        let process = name.strip_prefix(INSTANCE).and_then(|number| number.parse::<u32>().ok());
        process.is_some_and(|process| !std::path::Path::new(&format!("/proc/{process}")).exists())
    };
    for name in traces.instances().unwrap_or_default().iter().filter(|name| left(name)) {
        let _somebody_may_read_it = traces.remove_instance(name);
    }
}

impl Source for Instance {
    fn wait(&self, at_most: Duration) {
        std::thread::sleep(at_most.min(Duration::from_millis(10)));
    }

    fn drain(&mut self, each: &mut dyn FnMut(&TraceSample<'_>)) {
        for (cpu, pages) in &self.pages {
            while let Ok(length) = rustix::io::read(pages, &mut self.buffer[..page_bytes()]) {
                if length == 0 {
                    break;
                }
                let lost = trace_page(&self.buffer[..length], |time_ns, fields| {
                    each(&TraceSample { cpu: *cpu, time_ns, fields });
                });
                self.lost = self.lost.saturating_add(lost);
            }
        }
    }

    fn lost(&self) -> u64 {
        self.lost
    }
}

fn page_bytes() -> usize {
    rustix::param::page_size().min(PAGE_BYTES)
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            let _it_goes_anyway = own.write("tracing_on", "0");
        }
        // Nobody may have a file of it open.
        self.pages.clear();
        let _the_next_start_tries_again = self.traces.remove_instance(&self.name);
    }
}
