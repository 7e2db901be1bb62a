//! What is seen each second, and what of it the result is made of.

use serde::{Deserialize, Serialize};

/// What all clients are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// Nothing counts yet.
    WarmUp,
    /// What counts.
    Measured,
    /// It is over.
    Over,
}

/// What a tick says, for the output.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tick {
    /// What the clients are to do.
    pub part: Part,
    /// Clients that have moved bytes in the warm-up, all of them afterwards, and at the end those
    /// that are not done.
    pub active: u64,
    /// The mean of the clients' lines.
    pub lines: u64,
    /// Bytes moved since the warm-up.
    pub bytes: u64,
    /// Seconds since the part's beginning; those of the end go on from the measured ones.
    pub seconds: f64,
    /// The longest wait since the tick before.
    pub latency_ns: u64,
    /// When the measured time began, from the start.
    pub measured_ns: u64,
}

impl Tick {
    /// Megabytes per second.
    pub(crate) fn megabytes(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 / 1e6 / self.seconds } else { 0.0 }
    }
}

/// Before this there is no line; a second may be cut a little short.
pub(crate) const FIRST_SECOND: f64 = 0.9;

/// What of the ticks the result is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// The latest second that counted.
    pub latest: Option<Tick>,
    /// The one in which it was over.
    pub limit: Option<Tick>,
    /// The longest wait of all that counted.
    pub latency_ns: u64,
}

impl Seen {
    /// One more.
    pub(crate) fn hear(&mut self, tick: Tick) {
        let counts = match tick.part {
            Part::WarmUp => false,
            Part::Measured => {
                if tick.seconds >= FIRST_SECOND {
                    self.latest = Some(tick);
                }
                true
            }
            Part::Over if self.limit.is_none() => {
                self.limit = Some(tick);
                true
            }
            Part::Over => false,
        };
        if counts {
            self.latency_ns = self.latency_ns.max(tick.latency_ns);
        }
    }

    /// The tick whose rate is the result: with a single pass that of the end.
    pub(crate) fn decisive(&self, once: bool) -> Option<Tick> {
        self.latest.filter(|_| !once).or(self.limit)
    }
}
