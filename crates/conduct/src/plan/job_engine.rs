//! Options of a job for the engine: contents of files, timed calls, and recording of hot data. Runs
//! and plans have the same options.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use treering_engine::{EngineOptions, LatencyMode, PayloadKind};
use treering_script::{ClassicPayload, Job};

use crate::trial::beginning::usual_latency;

/// Contents of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobPayload {
    /// Random bytes.
    #[default]
    Random,
    /// Letters `a`, the classic payload of some imitated tools.
    LetterA,
    /// Zeros, the classic payload of other imitated tools.
    Zeros,
}

impl JobPayload {
    /// Contents that the imitated tool writes.
    pub(crate) const fn classic(payload: ClassicPayload) -> Self {
        match payload {
            ClassicPayload::LetterA => Self::LetterA,
            ClassicPayload::Zeros => Self::Zeros,
        }
    }

    /// Name in plans and on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::LetterA | Self::Zeros => "classic",
        }
    }
}

treering_model::named_enum! {
    /// Calls that are timed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TimedCalls {
        /// Every call.
        All = "all",
        /// A sample of the calls, or every call if the job requires it.
        #[default]
        Sampled = "sampled",
        /// No call.
        Off = "off",
    }
}

impl TimedCalls {
    /// Value with this name; `Sampled` for an unknown name.
    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|choice| choice.name() == name).unwrap_or_default()
    }
}

/// Options of a job for the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobEngine {
    /// Contents of files.
    pub payload: JobPayload,
    /// Percent of random contents that a compressing filesystem can save.
    pub compressibility: u8,
    /// Calls that are timed.
    pub latency: TimedCalls,
    /// Half-life of an access's contribution to the temperature, in seconds; `None` if hot data is
    /// not recorded.
    pub heat_half_life_seconds: Option<f64>,
}

/// Default half-life of hot data, in seconds.
pub(crate) const HEAT_HALF_LIFE_SECONDS: f64 = 60.0;

impl JobEngine {
    /// Engine options of a job.
    pub(crate) fn options(&self, job: &dyn Job, seed: u64) -> EngineOptions {
        let latency = match self.latency {
            TimedCalls::All => LatencyMode::All,
            TimedCalls::Off => LatencyMode::Off,
            TimedCalls::Sampled => usual_latency(job),
        };
        let payload = match self.payload {
            JobPayload::Random => PayloadKind::Native { compressibility: self.compressibility },
            JobPayload::LetterA => PayloadKind::Classic,
            JobPayload::Zeros => PayloadKind::Zeros,
        };
        EngineOptions::new(latency, payload, seed)
    }

    /// Half-life of hot data, if it is recorded.
    pub(crate) fn heat_half_life(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.heat_half_life_seconds?).ok()
    }

    /// Options with non-default values, in the form used by plans and stored with a trial.
    pub(crate) fn parameters(&self) -> Vec<(String, String)> {
        let defaults = Self::default();
        let percent = format!("{}%", self.compressibility);
        let heat = self.heat_half_life_seconds;
        let half_life = heat.filter(|seconds| *seconds != HEAT_HALF_LIFE_SECONDS);
        let parameters = [
            ("payload", (self.payload != defaults.payload).then(|| self.payload.name().to_owned())),
            ("compressibility", (self.compressibility > 0).then_some(percent)),
            ("latency", (self.latency != defaults.latency).then(|| self.latency.name().to_owned())),
            ("heat", heat.map(|_| "true".to_owned())),
            ("heat-half-life", half_life.map(|seconds| seconds.to_string())),
        ];
        let given = parameters.into_iter();
        given.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}
