//! Clock of a trial: nanoseconds since its start.

use treering_sys::monotonic_ns;

/// Clock that counts from the start of a trial. Copies share the same start.
#[derive(Clone, Copy, Debug)]
pub struct TrialClock {
    origin_ns: u64,
}

impl TrialClock {
    /// Starts the clock of a trial that begins now.
    pub fn begin() -> Self {
        Self { origin_ns: monotonic_ns() }
    }

    /// Nanoseconds since the trial began.
    pub fn now_ns(self) -> u64 {
        self.at_ns(monotonic_ns())
    }

    /// Converts a reading of the monotonic clock to nanoseconds since the start of the trial.
    pub(crate) const fn at_ns(self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.origin_ns)
    }

    /// Clock of a trial that started at this reading of the monotonic clock.
    pub(crate) const fn since(origin_ns: u64) -> Self {
        Self { origin_ns }
    }

    /// Start of the trial, by the monotonic clock.
    pub(crate) const fn origin_ns(self) -> u64 {
        self.origin_ns
    }
}
