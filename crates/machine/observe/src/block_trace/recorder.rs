//! Recording thread: drains the rings, merges the events of all CPUs in chronological order, and
//! passes them to the analysis and the sinks.
//!
//! Only the events of two rounds of about 20 ms are buffered.

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use treering_sys::{TraceSample, monotonic_ns};
use treering_trace::{EntrySink, RequestEvent, TraceAnalyzer, TraceDigest, TraceEntry};

use super::layout::EventLayout;
use super::source::{EventSource, OpenedSource, open};
use super::statistics::moved_bytes;
use super::{BlockTraceError, TraceMethod, TracedDevice};

/// Limits of a CPU's ring and of all rings, in bytes. An event takes about 80 bytes: at 240,000
/// requests per second, each queued, issued and completed, a single CPU fills its ring in 70 ms.
const RING_BYTES: usize = 4 << 20;
const RINGS_BYTES_MAX: usize = 512 << 20;

/// Longest sleep of the thread between two looks at the rings.
const PAUSE: Duration = Duration::from_millis(20);

/// Shortest round, in nanoseconds.
const ROUND_NS: u64 = 15_000_000;

/// Limit of processes whose names are reported.
const NAMES_MAX: usize = 65_536;

/// Size of the cache of recently seen processes.
const RECENT: usize = 32;

/// Options of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecorderOptions {
    /// Ring size per CPU in bytes.
    pub ring_bytes: usize,
    /// Forced method; `None` for the best available one.
    pub method: Option<TraceMethod>,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self { ring_bytes: RING_BYTES, method: None }
    }
}

/// Sink of trace entries that runs on the recording thread.
pub type SharedSink = Box<dyn EntrySink + Send>;

/// Result of a recording.
#[derive(Debug)]
pub struct RecordingResult {
    /// Figures since the last cut.
    pub digest: TraceDigest,
    /// Errors of sinks that failed.
    pub failed: Vec<io::Error>,
    /// Total number of lost events.
    pub lost_events: u64,
    /// Bytes in /sys/block/*/stat that no trace completion accounts for.
    pub missing_bytes: u64,
}

/// Command to the recording thread.
enum RecorderCommand {
    /// Start of a phase; an empty name ends the current one.
    Phase { at_ns: u64, name: String },
    /// End of a part; the digest is sent back.
    Cut { moment: PartBoundary, to: Sender<TraceDigest> },
    /// End of the recording, with the bytes written by the program, if known.
    Stop { moment: PartBoundary, program_write_bytes: Option<u64> },
}

/// Boundary between two parts, with the devices' byte counters just before and after it, which
/// bracket the completions.
#[derive(Clone, Copy, Debug)]
struct PartBoundary {
    before: Option<u64>,
    at_ns: u64,
    after: Option<u64>,
}

impl PartBoundary {
    fn now(devices: &[TracedDevice]) -> Self {
        let before = moved_bytes(devices);
        Self { before, at_ns: monotonic_ns(), after: moved_bytes(devices) }
    }
}

/// Running recording.
#[derive(Debug)]
pub struct BlockRecorder {
    commands: Sender<RecorderCommand>,
    thread: JoinHandle<RecordingResult>,
    devices: Vec<TracedDevice>,
    method: TraceMethod,
}

impl BlockRecorder {
    /// Starts to record the requests of devices. Sinks get every entry in chronological order.
    ///
    /// # Errors
    /// Describes what is missing for a recording.
    pub fn begin(
        devices: &[TracedDevice],
        options: RecorderOptions,
        sinks: Vec<SharedSink>,
    ) -> Result<Self, BlockTraceError> {
        let cpus = treering_sys::online_cpus().len().max(1);
        let ring_bytes = options.ring_bytes.min(RINGS_BYTES_MAX / cpus);
        let OpenedSource { source, layouts, method } = open(devices, ring_bytes, options.method)?;
        let (commands, received_commands) = channel();
        let moment = PartBoundary::now(devices);
        let now = moment.at_ns;
        let work = RecordingThread {
            source,
            layouts,
            devices: devices.to_vec(),
            analyst: TraceAnalyzer::new(now),
            sinks,
            failed: Vec::new(),
            held: Vec::new(),
            named: ProcessNames::default(),
            lost: 0,
            missing_bytes: 0,
            counted_bytes: moment.after,
            round_ns: now,
            before_ns: now,
        };
        let thread = std::thread::Builder::new()
            .name("block trace".to_owned())
            .spawn(move || work.run(&received_commands))
            .map_err(BlockTraceError::Thread)?;
        Ok(Self { commands, thread, devices: devices.to_vec(), method })
    }

    /// Method in use.
    pub fn method(&self) -> TraceMethod {
        self.method
    }

    /// Starts a phase now; an empty name ends the current one.
    pub fn phase(&self, name: &str) {
        let phase = RecorderCommand::Phase { at_ns: monotonic_ns(), name: name.to_owned() };
        // If the thread is gone, the end of the recording reports it.
        let _gone = self.commands.send(phase);
    }

    /// Figures since the last cut; starts the next part.
    pub fn cut(&self) -> Option<TraceDigest> {
        let (to, from) = channel();
        self.commands
            .send(RecorderCommand::Cut { moment: PartBoundary::now(&self.devices), to })
            .ok()?;
        from.recv().ok()
    }

    /// Ends the recording; `None` if its thread failed.
    pub fn stop(self) -> Option<RecordingResult> {
        self.stop_with(None)
    }

    /// Ends the recording of a program that wrote this many bytes, which sinks receive as a note;
    /// `None` if the recording thread failed.
    pub(crate) fn stop_with(self, program_write_bytes: Option<u64>) -> Option<RecordingResult> {
        let moment = PartBoundary::now(&self.devices);
        let _gone = self.commands.send(RecorderCommand::Stop { moment, program_write_bytes });
        self.thread.join().ok()
    }
}

/// State of the recording thread.
struct RecordingThread {
    source: Box<dyn EventSource>,
    layouts: Vec<EventLayout>,
    devices: Vec<TracedDevice>,
    analyst: TraceAnalyzer,
    sinks: Vec<SharedSink>,
    failed: Vec<io::Error>,
    /// Buffered events, which may still be preceded by unread ones.
    held: Vec<RequestEvent>,
    named: ProcessNames,
    lost: u64,
    /// Bytes counted by the devices without a completion in the trace so far, and the devices'
    /// counter at the start of this part.
    missing_bytes: u64,
    counted_bytes: Option<u64>,
    /// Start times of the current and the previous round.
    round_ns: u64,
    before_ns: u64,
}

impl RecordingThread {
    fn run(mut self, commands: &Receiver<RecorderCommand>) -> RecordingResult {
        self.tell(&TraceEntry::note(TraceEntry::BEGIN_NS, self.round_ns));
        for device in self.devices.clone() {
            self.tell(&TraceEntry::Device(device.device));
        }
        loop {
            self.source.wait(PAUSE);
            self.next_round(monotonic_ns());
            self.drain();
            self.pass(self.before_ns);
            loop {
                match commands.try_recv() {
                    Ok(RecorderCommand::Phase { at_ns, name }) => self.phase(at_ns, name),
                    Ok(RecorderCommand::Cut { moment, to }) => {
                        let digest = self.cut(moment);
                        let _nobody_waits = to.send(digest);
                    }
                    Ok(RecorderCommand::Stop { moment, program_write_bytes }) => {
                        return self.end(moment, program_write_bytes);
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        let moment = PartBoundary::now(&self.devices);
                        return self.end(moment, None);
                    }
                }
            }
        }
    }

    /// Starts a new round after [`ROUND_NS`]. Events from before the previous round are in the
    /// rings by now, even if a virtual CPU was paused between taking the time and writing the
    /// event. A full ring causes an additional drain, but no new round.
    fn next_round(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.round_ns) >= ROUND_NS {
            self.before_ns = std::mem::replace(&mut self.round_ns, now_ns);
        }
    }

    /// Drains the rings into the buffer.
    fn drain(&mut self) {
        let Self { source, layouts, devices, held, named, .. } = self;
        source.drain(&mut |sample| {
            held.extend(read(sample, layouts, devices, &mut |process, name| {
                named.hear(process, name);
            }));
        });
        // The events of each CPU are in order, so sorting is a merge.
        held.sort_by_key(|event| event.time_ns);
        for (process, name) in std::mem::take(&mut self.named.new) {
            self.tell(&TraceEntry::Process { process, name });
        }
        self.report_lost(self.source.reported_lost());
    }

    /// Reports newly lost events; `lost` is the total.
    fn report_lost(&mut self, lost: u64) {
        if lost > self.lost {
            self.tell(&TraceEntry::Lost { events: lost - self.lost });
            self.lost = lost;
        }
    }

    /// Passes on buffered events up to a time.
    fn pass(&mut self, until_ns: u64) {
        let ready = self.held.partition_point(|event| event.time_ns <= until_ns);
        let held = self.held.split_off(ready);
        let ready = std::mem::replace(&mut self.held, held);
        for event in ready {
            self.tell(&TraceEntry::Event(event));
        }
    }

    fn tell(&mut self, entry: &TraceEntry) {
        self.analyst.entry(entry);
        let failed = &mut self.failed;
        self.sinks.retain_mut(|sink| match sink.entry(entry) {
            Ok(()) => true,
            Err(error) => {
                failed.push(error);
                false
            }
        });
    }

    /// Reads and passes on all events up to a time.
    fn reach(&mut self, at_ns: u64) {
        self.drain();
        self.drain();
        self.report_lost(self.source.lost());
        self.pass(at_ns);
    }

    fn phase(&mut self, at_ns: u64, name: String) {
        self.reach(at_ns);
        self.tell(&TraceEntry::Phase { time_ns: at_ns, name });
    }

    fn cut(&mut self, moment: PartBoundary) -> TraceDigest {
        self.reach(moment.at_ns);
        let digest = self.analyst.cut(moment.at_ns);
        self.compared(digest, moment)
    }

    /// Compares the figures with the byte counters of the devices.
    fn compared(&mut self, mut digest: TraceDigest, moment: PartBoundary) -> TraceDigest {
        let counted =
            self.counted_bytes.zip(moment.before).map(|(from, to)| to.saturating_sub(from));
        let figures = &mut digest.figures;
        let seen = [&figures.reads, &figures.writes, &figures.discards].map(|kind| kind.bytes);
        figures.missing_bytes = counted.unwrap_or(0).saturating_sub(seen.iter().sum());
        self.missing_bytes += figures.missing_bytes;
        self.counted_bytes = moment.after;
        digest
    }

    fn end(mut self, moment: PartBoundary, program_write_bytes: Option<u64>) -> RecordingResult {
        self.reach(moment.at_ns);
        let digest = self.analyst.end(moment.at_ns);
        let mut digest = self.compared(digest, moment);
        digest.figures.program_write_bytes = program_write_bytes;
        self.tell(&TraceEntry::note(TraceEntry::END_NS, moment.at_ns));
        if self.missing_bytes > 0 {
            self.tell(&TraceEntry::note(TraceEntry::MISSING_BYTES, self.missing_bytes));
        }
        if let Some(bytes) = program_write_bytes {
            self.tell(&TraceEntry::note(TraceEntry::PROGRAM_WRITE_BYTES, bytes));
        }
        for mut sink in std::mem::take(&mut self.sinks) {
            self.failed.extend(sink.end().err());
        }
        RecordingResult {
            digest,
            failed: self.failed,
            lost_events: self.lost,
            missing_bytes: self.missing_bytes,
        }
    }
}

/// Process names, each reported once.
#[derive(Default)]
struct ProcessNames {
    known: BTreeSet<u32>,
    /// Recently seen processes by the lowest bits of their IDs; matches nearly every event.
    recent: [u32; RECENT],
    /// Names not reported yet.
    new: Vec<(u32, String)>,
}

impl ProcessNames {
    fn hear(&mut self, process: u32, name: &[u8]) {
        let recent = &mut self.recent[usize::try_from(process).unwrap_or(0) % RECENT];
        if *recent == process {
            return;
        }
        *recent = process;
        if self.known.len() < NAMES_MAX && self.known.insert(process) {
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            self.new.push((process, String::from_utf8_lossy(name).into_owned()));
        }
    }
}

/// Decodes an event of one of the devices.
fn read(
    sample: &TraceSample<'_>,
    layouts: &[EventLayout],
    devices: &[TracedDevice],
    name: &mut impl FnMut(u32, &[u8]),
) -> Option<RequestEvent> {
    let id = u16::from_ne_bytes([*sample.fields.first()?, *sample.fields.get(1)?]);
    let layout = layouts.iter().find(|layout| layout.id == u32::from(id))?;
    let reported = layout.read(sample.fields)?;
    let place =
        |device: &TracedDevice| device.place(reported.device, reported.sector, reported.sectors);
    let (device, sector) =
        devices.iter().find_map(|device| Some((device.device.number, place(device)?)))?;
    if !reported.name.is_empty() {
        name(reported.process, reported.name);
    }
    Some(RequestEvent {
        time_ns: sample.time_ns,
        sector,
        bytes: u32::try_from(reported.sectors.saturating_mul(512)).unwrap_or(u32::MAX),
        device,
        action: reported.action,
        operation: reported.operation,
        flags: reported.flags,
        process: reported.process,
        cpu: sample.cpu,
        error: reported.error,
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_macros, reason = "a test tells what an event costs, and asserts none")]
mod tests {
    use std::time::Duration;

    use treering_sys::{TraceSample, thread_cpu};
    use treering_trace::{Action, DeviceNumber, TraceAnalyzer, TraceDevice};

    use super::{EventSource, PartBoundary, ProcessNames, RecordingThread};
    use crate::block_trace::TracedDevice;
    use crate::block_trace::layout::EventLayout;

    const REQUESTS: u32 = 100_000;
    /// Interval between requests: 240,000 per second, one after the other.
    const APART_NS: u64 = 4167;
    const TOOK_NS: u64 = 80_000;
    /// Number of requests between two drains of the rings.
    const AT_ONCE: u32 = 4800;

    const POINTS: [(u16, Action); 3] =
        [(1, Action::Queue), (2, Action::Issue), (3, Action::Complete)];

    fn layouts() -> Vec<EventLayout> {
        let layout = |(id, action): (u16, Action)| {
            let text = format!(
                "ID: {id}\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
                 \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
                 \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
                 \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
                 \tfield:char rwbs[8];\toffset:32;\tsize:8;\tsigned:0;\n\
                 \tfield:char comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
            );
            EventLayout::parse(&text, action).unwrap()
        };
        POINTS.map(layout).to_vec()
    }

    /// Rings of two CPUs: one issues, the other completes.
    struct TwoCpuRings {
        next: u32,
        lost: u64,
    }

    fn fields(id: u16, request: u32) -> [u8; 56] {
        let mut event = [0u8; 56];
        event[..2].copy_from_slice(&id.to_ne_bytes());
        event[4..8].copy_from_slice(&77u32.to_ne_bytes());
        event[8..12].copy_from_slice(&(7u32 << 20).to_ne_bytes());
        let sector = u64::from(request.wrapping_mul(0x9e37_79b9) >> 8) * 8;
        event[16..24].copy_from_slice(&sector.to_ne_bytes());
        event[24..28].copy_from_slice(&8u32.to_ne_bytes());
        event[32..33].copy_from_slice(b"R");
        event[40..43].copy_from_slice(b"fio");
        event
    }

    impl EventSource for TwoCpuRings {
        fn wait(&self, _at_most: Duration) {}

        fn drain(&mut self, each: &mut dyn FnMut(&TraceSample<'_>)) {
            let requests = self.next..(self.next + AT_ONCE).min(REQUESTS);
            self.next = requests.end;
            let mut tell = |cpu: u32, id: u16, after_ns: u64, request: u32| {
                let time_ns = 1_000_000 + u64::from(request) * APART_NS + after_ns;
                each(&TraceSample { cpu, time_ns, fields: &fields(id, request) });
            };
            for request in requests.clone() {
                tell(0, 1, 0, request);
                tell(0, 2, 900, request);
            }
            requests.for_each(|request| tell(1, 3, TOOK_NS, request));
        }

        fn reported_lost(&self) -> u64 {
            self.lost
        }

        fn lost(&self) -> u64 {
            self.lost + 2
        }
    }

    #[test]
    fn all_events_of_the_rings_are_analysed() {
        let number = DeviceNumber::new(7, 0);
        let device = TraceDevice { number, name: "loop0".to_owned(), sectors: 1 << 30 };
        let mut work = RecordingThread {
            source: Box::new(TwoCpuRings { next: 0, lost: 5 }),
            layouts: layouts(),
            devices: vec![TracedDevice { device, disk: number, first_sector: 0 }],
            analyst: TraceAnalyzer::new(0),
            sinks: Vec::new(),
            failed: Vec::new(),
            held: Vec::new(),
            named: ProcessNames::default(),
            lost: 0,
            missing_bytes: 0,
            counted_bytes: Some(0),
            round_ns: 0,
            before_ns: 0,
        };
        let cpu_ns = || thread_cpu().user_ns + thread_cpu().system_ns;
        let before_ns = cpu_ns();
        for request in (0..REQUESTS).step_by(usize::try_from(AT_ONCE).unwrap()) {
            work.drain();
            // What a completion of this look is earlier than may be in the next.
            work.pass(1_000_000 + u64::from(request) * APART_NS);
        }
        let ended_ns = 1_000_000 + u64::from(REQUESTS) * APART_NS + TOOK_NS;
        let counted = u64::from(REQUESTS) * 4096 + 777;
        let moment = PartBoundary { before: Some(counted), at_ns: ended_ns, after: None };
        let digest = work.cut(moment);
        let figures = digest.figures;
        let each = (cpu_ns() - before_ns) as f64 / figures.events as f64;
        println!("{each:.0} ns of CPU an event, with the making of the event");
        assert_eq!(figures.events, u64::from(REQUESTS) * 3);
        assert_eq!(figures.reads.requests, u64::from(REQUESTS));
        assert_eq!(figures.reads.bytes, u64::from(REQUESTS) * 4096);
        assert_eq!((figures.late_events, figures.unended), (0, 0));
        assert_eq!(figures.missing_bytes, 777, "the device's counters have more");
        let mut at_ns = Vec::new();
        for now_ns in [10_000_000, 16_000_000, 20_000_000, 35_000_000] {
            work.next_round(now_ns);
            at_ns.push(work.before_ns);
        }
        assert_eq!(at_ns, [0, 0, 0, 16_000_000]);
        assert_eq!(figures.lost_events, 7, "the kernel's own count is asked for at a cut");
        let took = &figures.reads.issue_to_complete;
        assert_eq!(took.samples, u64::from(REQUESTS));
        assert!(took.p50_ns.abs_diff(TOOK_NS - 900) < TOOK_NS / 50, "{took:?}");
        assert_eq!(figures.depth_max, (TOOK_NS - 900) / APART_NS + 1);
    }
}
