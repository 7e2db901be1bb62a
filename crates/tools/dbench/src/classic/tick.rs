//! Per-second progress, and the ticks from which the result is computed.

use serde::{Deserialize, Serialize};

/// Phase of a run, common to all clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunPhase {
    /// Warm-up: nothing is counted.
    WarmUp,
    /// Measured time.
    Measured,
    /// The run has ended; clients clean up.
    Over,
}

/// Progress of all clients at one second, as printed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProgressTick {
    /// Phase of the run at this tick.
    pub part: RunPhase,
    /// Active clients: during the warm-up those that have moved bytes, then all clients, and at the
    /// end those that are not done.
    pub active: u64,
    /// Mean number of lines played by a client.
    pub lines: u64,
    /// Bytes moved since the warm-up.
    pub bytes: u64,
    /// Seconds since the start of the phase; the final phase continues the measured time.
    pub seconds: f64,
    /// Maximum latency since the previous tick.
    pub latency_ns: u64,
    /// Start of the measured time, in nanoseconds since the start of the run.
    pub measured_ns: u64,
}

impl ProgressTick {
    /// Megabytes per second.
    pub(crate) fn megabytes(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 / 1e6 / self.seconds } else { 0.0 }
    }
}

/// Seconds before which no line is printed; slightly less than one, since ticks may come early.
pub(crate) const FIRST_SECOND: f64 = 0.9;

/// Ticks that determine the result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ResultTicks {
    /// Latest tick of the measured time.
    pub latest: Option<ProgressTick>,
    /// First tick after the end of the run.
    pub limit: Option<ProgressTick>,
    /// Maximum latency over all ticks of the measured time.
    pub latency_ns: u64,
}

impl ResultTicks {
    /// Adds a tick.
    pub(crate) fn add_tick(&mut self, tick: ProgressTick) {
        let counts = match tick.part {
            RunPhase::WarmUp => false,
            RunPhase::Measured => {
                if tick.seconds >= FIRST_SECOND {
                    self.latest = Some(tick);
                }
                true
            }
            RunPhase::Over if self.limit.is_none() => {
                self.limit = Some(tick);
                true
            }
            RunPhase::Over => false,
        };
        if counts {
            self.latency_ns = self.latency_ns.max(tick.latency_ns);
        }
    }

    /// Tick whose rate is the result: the one at the end if the load is played once.
    pub(crate) fn decisive(&self, once: bool) -> Option<ProgressTick> {
        self.latest.filter(|_| !once).or(self.limit)
    }
}
