//! Traces of each phase of a classic run, in the file format of blktrace.

use std::path::PathBuf;

use treering_model::{SinkError, TrialEvent, TrialSink};
use treering_observe::block_trace::{
    BlockRecorder, RecorderOptions, TracedDevice, blktrace_files, device_at, remove_blktrace_files,
};
use treering_script::ClassicTraces;
use treering_sys::monotonic_ns;
use treering_trace::losses;

use crate::classic_output::say;
use crate::failure::{Failure, Kind};

/// Records every phase into files of its own.
pub(crate) struct PhaseTraces {
    asked: ClassicTraces,
    devices: Vec<TracedDevice>,
    recorder: Option<BlockRecorder>,
}

impl PhaseTraces {
    /// Finds the device to trace.
    pub(crate) fn begin(asked: ClassicTraces) -> Result<Self, Failure> {
        let Some(device) = &asked.device else {
            return Err(Failure::new(Kind::Classic, "No blktrace device specified"));
        };
        let devices = device_at(device).map_err(|error| Failure::of(Kind::Classic, &error))?;
        Ok(Self { asked, devices, recorder: None })
    }

    /// File name stem of a phase's trace, without the number of the CPU.
    fn stem(&self, phase: &str, number: u32) -> String {
        let known = self.asked.names.iter().find(|(name, _)| *name == phase);
        let name = known.map_or_else(
            || format!("{}-{number}", phase.replace(|c: char| !c.is_ascii_alphanumeric(), "-")),
            |(_, name)| (*name).to_owned(),
        );
        format!("{}-{name}", self.asked.prefix)
    }

    fn phase_begins(&mut self, phase: &str, number: u32) {
        let stem = self.stem(phase, number);
        let several = self.devices.len() > 1;
        let stem = move |device: &str| {
            // In blktrace, a given name applies to one device.
            PathBuf::from(if several { format!("{stem}-{device}") } else { stem.clone() })
        };
        self.devices.iter().for_each(|device| remove_blktrace_files(&stem(&device.device.name)));
        let writer = blktrace_files(Some(monotonic_ns()), stem);
        let options = RecorderOptions::default();
        match BlockRecorder::begin(&self.devices, options, vec![Box::new(writer)]) {
            Ok(recorder) => self.recorder = Some(recorder),
            Err(error) => say(&error.to_string()),
        }
    }

    fn end(&mut self) {
        let Some(recorded) = self.recorder.take().and_then(BlockRecorder::stop) else { return };
        for error in recorded.failed {
            say(&format!("the trace is not stored: {error}"));
        }
        losses(recorded.lost_events, recorded.missing_bytes).iter().for_each(|losses| say(losses));
    }
}

impl TrialSink for PhaseTraces {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        match event {
            TrialEvent::PhaseBegan { phase, name, .. } => self.phase_begins(name, *phase),
            TrialEvent::PhaseEnded(_) | TrialEvent::Ended { .. } => self.end(),
            _ => {}
        }
        Ok(())
    }
}
