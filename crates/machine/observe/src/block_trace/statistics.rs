//! Fallback without tracing: device counters in `/sys`, sampled ten times per second. They require
//! no privilege and provide rates and queue depth, but no offsets.

use std::fs::read_to_string;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use treering_sys::monotonic_ns;
use treering_trace::{CounterTimeline, DiskCounters, TraceDigest};

use super::{BlockTraceError, TracedDevice};

/// Sampling interval.
const PAUSE: Duration = Duration::from_millis(100);

/// Total bytes read, written and discarded by the devices since boot; `None` if a device does not
/// report them.
pub(super) fn moved_bytes(devices: &[TracedDevice]) -> Option<u64> {
    let bytes_of = |device: &TracedDevice| {
        let counters = DiskCounters::parse(&read_to_string(stat_path(device)).ok()?)?;
        Some(counters.read_bytes + counters.write_bytes + counters.discard_bytes)
    };
    devices.iter().map(bytes_of).sum()
}

/// Path of a device's counters.
fn stat_path(device: &TracedDevice) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{}/stat", device.device.number))
}

/// Samples counters on a thread of its own.
#[derive(Debug)]
pub struct StatisticsRecorder {
    cuts: Option<Sender<Sender<TraceDigest>>>,
    thread: Option<JoinHandle<()>>,
}

impl StatisticsRecorder {
    /// Starts sampling.
    ///
    /// # Errors
    /// If the counters cannot be read, or the thread cannot be started.
    pub fn begin(devices: &[TracedDevice]) -> Result<Self, BlockTraceError> {
        let stats: Vec<PathBuf> = devices.iter().map(stat_path).collect();
        let first = stats.iter().zip(devices).map(|(path, device)| {
            let unread =
                |source| BlockTraceError::Unreadable { device: path.display().to_string(), source };
            let text = read_to_string(path).map_err(unread)?;
            Ok((device.device.name.clone(), DiskCounters::parse(&text).unwrap_or_default()))
        });
        let first = first.collect::<Result<Vec<_>, BlockTraceError>>()?;
        let timeline = CounterTimeline::new(monotonic_ns(), first);
        let (cuts, received_cuts) = channel();
        let thread = std::thread::Builder::new()
            .name("block statistics".to_owned())
            .spawn(move || run(&stats, timeline, &received_cuts))
            .map_err(BlockTraceError::Thread)?;
        Ok(Self { cuts: Some(cuts), thread: Some(thread) })
    }

    /// Figures since the last cut; starts the next part.
    pub fn cut(&self) -> Option<TraceDigest> {
        let (to, from) = channel();
        self.cuts.as_ref()?.send(to).ok()?;
        from.recv().ok()
    }
}

impl Drop for StatisticsRecorder {
    fn drop(&mut self) {
        // Dropping the sender ends the thread.
        self.cuts = None;
        if let Some(thread) = self.thread.take() {
            let _it_has_nothing_to_tell = thread.join();
        }
    }
}

fn run(stats: &[PathBuf], mut timeline: CounterTimeline, cuts: &Receiver<Sender<TraceDigest>>) {
    loop {
        let request = cuts.recv_timeout(PAUSE);
        let look = |path: &PathBuf| {
            read_to_string(path)
                .ok()
                .and_then(|text| DiskCounters::parse(&text))
                .unwrap_or_default()
        };
        let counters: Vec<DiskCounters> = stats.iter().map(look).collect();
        timeline.look(monotonic_ns(), &counters);
        match request {
            Ok(to) => {
                let _nobody_waits = to.send(timeline.cut());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
