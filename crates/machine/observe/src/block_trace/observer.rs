//! Block trace observer: requests per phase as metrics and an artifact.

use std::path::PathBuf;
use std::time::Duration;

use treering_model::{
    Artifact, Caution, CautionCode, HeatReport, LayoutHeat, Op, PhaseTotals, Scope,
};
use treering_trace::{ARTIFACT_KIND, ARTIFACT_VERSION, TraceDigest, losses};

use super::SharedSink;
use super::statistics::StatisticsRecorder;
use super::{BlockRecorder, BlockTraceError, RecorderOptions, devices_under};
use crate::environment::fact;
use crate::hot::{DeviceHeat, HotError, HotRequests};
use crate::{Findings, Observer, ObserverContext, TrialWatch};

/// Observer of device requests, if requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockTrace;

impl Observer for BlockTrace {
    fn name(&self) -> &'static str {
        "block_trace"
    }

    fn look(&self, _scene: &ObserverContext<'_>) -> Findings {
        Findings::default()
    }

    fn watch(&self, scene: &ObserverContext<'_>) -> Option<Box<dyn TrialWatch>> {
        scene.options.trace.then(|| Box::new(TraceWatch::begin(scene)) as Box<dyn TrialWatch>)
    }
}

/// Active recorder.
enum ActiveRecorder {
    Events(BlockRecorder),
    Counters(StatisticsRecorder),
    Nothing,
}

struct TraceWatch {
    recorder: ActiveRecorder,
    /// Device names.
    devices: Vec<String>,
    /// Reason why events cannot be recorded.
    missing: Option<BlockTraceError>,
    lost: u64,
    missing_bytes: u64,
    hot: Option<HotData>,
    /// Reason why requests cannot be attributed to files.
    cold: Option<HotError>,
}

/// Attribution of requests to files, if requested.
struct HotData {
    requests: HotRequests,
    target: PathBuf,
    half_life: Duration,
}

impl HotData {
    /// Artifacts of a phase.
    fn artifacts(&self, phase: u32) -> Result<Vec<Artifact>, HotError> {
        let Some(DeviceHeat { report, map }) = self.requests.take(&self.target, self.half_life)?
        else {
            return Ok(Vec::new());
        };
        let made = [
            Artifact::new(HeatReport::KIND, HeatReport::VERSION, &report),
            Artifact::new(LayoutHeat::KIND, LayoutHeat::VERSION, &map),
        ];
        let name = LayoutHeat::REQUESTS.to_owned();
        let named = |made| Artifact { phase: Some(phase), name: name.clone(), ..made };
        Ok(made.into_iter().flatten().map(named).collect())
    }
}

impl TraceWatch {
    fn begin(scene: &ObserverContext<'_>) -> Self {
        let mut watching = Self {
            recorder: ActiveRecorder::Nothing,
            devices: Vec::new(),
            missing: None,
            lost: 0,
            missing_bytes: 0,
            hot: None,
            cold: None,
        };
        let devices = match devices_under(scene.target) {
            Ok(devices) => devices,
            Err(error) => return Self { missing: Some(error), ..watching },
        };
        watching.devices = devices.iter().map(|device| device.device.name.clone()).collect();
        let mut sinks: Vec<SharedSink> = Vec::new();
        if let Some(half_life) = scene.options.heat_half_life {
            match HotRequests::for_directory(scene.target) {
                Ok(requests) => {
                    sinks.push(Box::new(requests.clone()));
                    let target = scene.target.to_owned();
                    watching.hot = Some(HotData { requests, target, half_life });
                }
                Err(why) => watching.cold = Some(why),
            }
        }
        match BlockRecorder::begin(&devices, RecorderOptions::default(), sinks) {
            Ok(recorder) => watching.recorder = ActiveRecorder::Events(recorder),
            Err(error) => {
                watching.missing = Some(error);
                if let Ok(recorder) = StatisticsRecorder::begin(&devices) {
                    watching.recorder = ActiveRecorder::Counters(recorder);
                }
            }
        }
        watching
    }

    fn cut(&self) -> Option<TraceDigest> {
        match &self.recorder {
            ActiveRecorder::Events(recorder) => recorder.cut(),
            ActiveRecorder::Counters(recorder) => recorder.cut(),
            ActiveRecorder::Nothing => None,
        }
    }
}

/// Bytes written by the workload in a phase; `None` without writes.
fn written(totals: &PhaseTotals) -> Option<u64> {
    let writes = totals.ops.iter().filter(|totals| totals.op == Op::Write);
    Some(writes.map(|totals| totals.bytes).sum()).filter(|bytes| *bytes > 0)
}

impl TrialWatch for TraceWatch {
    fn phase_begins(&mut self, _phase: u32, _name: &str) {
        // Requests between two phases belong to neither.
        if let Some(between) = self.cut() {
            self.lost += between.figures.lost_events;
        }
        if let Some(hot) = &self.hot {
            hot.requests.forget();
        }
    }

    fn phase_ended(&mut self, totals: &PhaseTotals) -> Findings {
        let Some(mut digest) = self.cut() else { return Findings::default() };
        self.lost += digest.figures.lost_events;
        self.missing_bytes += digest.figures.missing_bytes;
        digest.figures.program_write_bytes = written(totals);
        let metrics = digest.figures.metrics(&Scope::Phase(totals.name.clone()));
        // A digest is always representable in JSON.
        let made = Artifact::new(ARTIFACT_KIND, ARTIFACT_VERSION, &digest).ok();
        let (phase, name) = (Some(totals.phase), totals.name.clone());
        let artifacts = made.map(|made| Artifact { phase, name, ..made }).into_iter().collect();
        let mut seen = Findings { metrics, artifacts, ..Findings::default() };
        match self.hot.as_ref().map(|hot| hot.artifacts(totals.phase)) {
            Some(Ok(artifacts)) => seen.artifacts.extend(artifacts),
            Some(Err(why)) => seen.facts.push(fact("heat.problem", why)),
            None => {}
        }
        seen
    }

    fn end(self: Box<Self>) -> Findings {
        let mut seen = Findings::default();
        let method = match &self.recorder {
            ActiveRecorder::Events(recorder) => recorder.method().to_string(),
            ActiveRecorder::Counters(_) => "statistics".to_owned(),
            ActiveRecorder::Nothing => "none".to_owned(),
        };
        seen.facts.push(fact("trace.way", method));
        seen.facts.push(fact("trace.devices", self.devices.join(" ")));
        let mut caution =
            |message| seen.cautions.push(Caution { code: CautionCode::TraceIncomplete, message });
        if let Some(missing) = &self.missing {
            let instead = match &self.recorder {
                ActiveRecorder::Counters(_) => "; the device's counters give rates only",
                _ => "",
            };
            caution(format!("{missing}{instead}"));
        }
        if let Some(why) = &self.cold {
            caution(format!("hot data are reported from system calls only: {why}"));
        }
        let mut lost = self.lost;
        if let ActiveRecorder::Events(recorder) = self.recorder
            && let Some(recorded) = recorder.stop()
        {
            lost = lost.max(recorded.lost_events);
        }
        losses(lost, self.missing_bytes).into_iter().for_each(caution);
        seen.facts.push(fact("trace.lost_events", lost));
        seen
    }
}
