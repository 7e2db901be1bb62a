//! The thread that records: it empties the rings, puts the events of all CPUs in order, and gives
//! them to what analyses and keeps them.
//!
//! It holds the events of the last three rounds only, each at most what the rings hold.

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use treering_sys::{TraceSample, monotonic_ns};
use treering_trace::{Analyst, Digest, Entry, EntrySink, Event};

use super::layout::Layout;
use super::source::{Opened, Source, open};
use super::{BlockTraceError, TracedDevice, Way};

/// Bytes of the ring of a CPU, and of all rings at most. An event takes some 80: at 240,000 requests
/// a second, each queued, issued and completed, one CPU that does it all fills its ring in 70 ms.
const RING_BYTES: usize = 4 << 20;
const RINGS_BYTES_MAX: usize = 512 << 20;

/// How long the thread sleeps where nothing happens.
const PAUSE: Duration = Duration::from_millis(20);

/// Processes that are named.
const NAMES_MAX: usize = 65_536;

/// Processes seen last that are known without a search.
const RECENT: usize = 32;

/// How it is recorded.
#[derive(Clone, Copy, Debug)]
pub struct RecorderOptions {
    /// Bytes of the ring of a CPU.
    pub ring_bytes: usize,
    /// The only way to be tried, where one is wanted.
    pub way: Option<Way>,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self { ring_bytes: RING_BYTES, way: None }
    }
}

/// A sink of entries on another thread.
pub type SharedSink = Box<dyn EntrySink + Send>;

/// What a recording gives at its end.
#[derive(Debug)]
pub struct Recorded {
    /// What was seen since the last cut.
    pub digest: Digest,
    /// Why sinks took no more, if any did not.
    pub failed: Vec<io::Error>,
    /// Events that were lost in all.
    pub lost_events: u64,
}

/// What the recording is told.
enum Command {
    /// A phase begins, or ends where it has no name.
    Phase { at_ns: u64, name: String },
    /// Ends a part, and tells what was seen.
    Cut { at_ns: u64, to: Sender<Digest> },
    /// Ends it.
    Stop { at_ns: u64 },
}

/// A recording.
#[derive(Debug)]
pub struct BlockRecorder {
    commands: Sender<Command>,
    thread: JoinHandle<Recorded>,
    way: Way,
}

impl BlockRecorder {
    /// Begins to record the requests of devices. Sinks hear every entry in the order of time.
    ///
    /// # Errors
    /// What is missing for it.
    pub fn begin(
        devices: &[TracedDevice],
        options: RecorderOptions,
        sinks: Vec<SharedSink>,
    ) -> Result<Self, BlockTraceError> {
        let cpus = treering_sys::online_cpus().len().max(1);
        let ring_bytes = options.ring_bytes.min(RINGS_BYTES_MAX / cpus);
        let Opened { source, layouts, way } = open(devices, ring_bytes, options.way)?;
        let (commands, heard) = channel();
        let now = monotonic_ns();
        let work = Work {
            source,
            layouts,
            devices: devices.to_vec(),
            analyst: Analyst::new(now),
            sinks,
            failed: Vec::new(),
            held: Vec::new(),
            named: Names::default(),
            lost: 0,
            round_ns: now,
            before_ns: now,
        };
        let thread = std::thread::Builder::new()
            .name("block trace".to_owned())
            .spawn(move || work.run(&heard))
            .map_err(BlockTraceError::Thread)?;
        Ok(Self { commands, thread, way })
    }

    /// How events are got.
    pub fn way(&self) -> Way {
        self.way
    }

    /// A phase begins now; with an empty name the one before ends.
    pub fn phase(&self, name: &str) {
        let phase = Command::Phase { at_ns: monotonic_ns(), name: name.to_owned() };
        // Where nobody hears it the recording has ended, which its end tells.
        let _gone = self.commands.send(phase);
    }

    /// What was seen since the last cut; the next part begins.
    pub fn cut(&self) -> Option<Digest> {
        let (to, from) = channel();
        self.commands.send(Command::Cut { at_ns: monotonic_ns(), to }).ok()?;
        from.recv().ok()
    }

    /// Ends the recording. `None` when it broke down.
    pub fn stop(self) -> Option<Recorded> {
        let _gone = self.commands.send(Command::Stop { at_ns: monotonic_ns() });
        self.thread.join().ok()
    }
}

/// What the thread has.
struct Work {
    source: Box<dyn Source>,
    layouts: Vec<Layout>,
    devices: Vec<TracedDevice>,
    analyst: Analyst,
    sinks: Vec<SharedSink>,
    failed: Vec<io::Error>,
    /// Events that may still have earlier ones behind them.
    held: Vec<Event>,
    named: Names,
    lost: u64,
    /// When the rings were last looked at, and when the time before.
    round_ns: u64,
    before_ns: u64,
}

impl Work {
    fn run(mut self, commands: &Receiver<Command>) -> Recorded {
        for device in self.devices.clone() {
            self.tell(&Entry::Device(device.device));
        }
        loop {
            self.source.wait(PAUSE);
            // What happened before the rings were last looked at but one is in them by now, also
            // where a virtual CPU was stopped between taking the time and writing the event.
            let until = std::mem::replace(&mut self.before_ns, self.round_ns);
            self.drain();
            self.pass(until);
            loop {
                match commands.try_recv() {
                    Ok(Command::Phase { at_ns, name }) => self.phase(at_ns, name),
                    Ok(Command::Cut { at_ns, to }) => {
                        let digest = self.cut(at_ns);
                        let _nobody_waits = to.send(digest);
                    }
                    Ok(Command::Stop { at_ns }) => return self.end(at_ns),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return self.end(monotonic_ns()),
                }
            }
        }
    }

    /// Takes what is in the rings.
    fn drain(&mut self) {
        self.round_ns = monotonic_ns();
        let Self { source, layouts, devices, held, named, .. } = self;
        source.drain(&mut |sample| {
            held.extend(read(sample, layouts, devices, &mut |process, name| {
                named.hear(process, name);
            }));
        });
        // Each CPU's are in order, which makes it a merge.
        held.sort_by_key(|event| event.time_ns);
        for (process, name) in std::mem::take(&mut self.named.new) {
            self.tell(&Entry::Process { process, name });
        }
        self.tell_lost(self.source.told_lost());
    }

    /// Events were lost, in all so many.
    fn tell_lost(&mut self, lost: u64) {
        if lost > self.lost {
            self.tell(&Entry::Lost { events: lost - self.lost });
            self.lost = lost;
        }
    }

    /// Passes on the events up to a time.
    fn pass(&mut self, until_ns: u64) {
        let ready = self.held.partition_point(|event| event.time_ns <= until_ns);
        let held = self.held.split_off(ready);
        let ready = std::mem::replace(&mut self.held, held);
        for event in ready {
            self.tell(&Entry::Event(event));
        }
    }

    fn tell(&mut self, entry: &Entry) {
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

    /// Everything up to a time is there, and passed on.
    fn reach(&mut self, at_ns: u64) {
        self.drain();
        self.drain();
        self.tell_lost(self.source.lost());
        self.pass(at_ns);
    }

    fn phase(&mut self, at_ns: u64, name: String) {
        self.reach(at_ns);
        self.tell(&Entry::Phase { time_ns: at_ns, name });
    }

    fn cut(&mut self, at_ns: u64) -> Digest {
        self.reach(at_ns);
        self.analyst.cut(at_ns)
    }

    fn end(mut self, at_ns: u64) -> Recorded {
        let digest = self.cut(at_ns);
        for mut sink in std::mem::take(&mut self.sinks) {
            self.failed.extend(sink.end().err());
        }
        Recorded { digest, failed: self.failed, lost_events: self.lost }
    }
}

/// The names of processes, each told once.
#[derive(Default)]
struct Names {
    known: BTreeSet<u32>,
    /// Those seen last, by their lowest bits: nearly every event is of one of them.
    recent: [u32; RECENT],
    /// Those to be told.
    new: Vec<(u32, String)>,
}

impl Names {
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

/// Reads an event of one of the devices.
fn read(
    sample: &TraceSample<'_>,
    layouts: &[Layout],
    devices: &[TracedDevice],
    name: &mut impl FnMut(u32, &[u8]),
) -> Option<Event> {
    let id = u16::from_ne_bytes([*sample.fields.first()?, *sample.fields.get(1)?]);
    let layout = layouts.iter().find(|layout| layout.id == u32::from(id))?;
    let told = layout.read(sample.fields)?;
    let place = |device: &TracedDevice| device.place(told.device, told.sector, told.sectors);
    let (device, sector) =
        devices.iter().find_map(|device| Some((device.device.number, place(device)?)))?;
    if !told.name.is_empty() {
        name(told.process, told.name);
    }
    Some(Event {
        time_ns: sample.time_ns,
        sector,
        bytes: u32::try_from(told.sectors.saturating_mul(512)).unwrap_or(u32::MAX),
        device,
        action: told.action,
        operation: told.operation,
        flags: told.flags,
        process: told.process,
        cpu: sample.cpu,
        error: told.error,
    })
}
