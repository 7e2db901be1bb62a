//! Time limits of ranks: detection of ranks that are silent, or make no progress, for too long.
//!
//! Time is measured by the watcher: an interval between two checks counts as a fraction of the
//! limit at most. If the watcher was busy elsewhere, stopped, or without a CPU, that time is not
//! held against ranks whose messages it has not received yet.

use std::time::{Duration, Instant};

/// Reason why a rank counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SilenceKind {
    /// No message was received within the limit.
    Silent,
    /// The rank responds, but its call count does not change.
    Stuck { calls: u64 },
}

/// Watch over the other ranks.
#[derive(Debug)]
pub(crate) struct SilenceWatch {
    looked: Instant,
    /// Total watched time so far.
    watched: Duration,
    /// Watched time at the last message of each rank.
    heard: Vec<Duration>,
    /// Calls of each rank, and the watched time at their last change.
    calls: Vec<(u64, Duration)>,
}

/// Interval between two heartbeats of a rank with this limit.
pub(crate) fn beat_interval(limit: Duration) -> Duration {
    (limit / 10).min(Duration::from_secs(1))
}

impl SilenceWatch {
    pub(crate) fn new(ranks: usize, now: Instant) -> Self {
        let none = Duration::ZERO;
        Self { looked: now, watched: none, heard: vec![none; ranks], calls: vec![(0, none); ranks] }
    }

    /// Counts the time since the last check.
    pub(crate) fn advance(&mut self, now: Instant, limit: Duration) {
        let passed = now.saturating_duration_since(self.looked);
        self.watched += passed.min(2 * beat_interval(limit));
        self.looked = now;
    }

    /// Resets all ranks, since they begin a new step.
    pub(crate) fn restart(&mut self) {
        self.heard.fill(self.watched);
        self.calls.iter_mut().for_each(|(_, since)| *since = self.watched);
    }

    /// Records that a rank has sent a message.
    pub(crate) fn record_message(&mut self, rank: usize) {
        self.heard[rank] = self.watched;
    }

    /// Records the call count of a rank.
    pub(crate) fn count(&mut self, rank: usize, calls: u64) {
        if self.calls[rank].0 != calls {
            self.calls[rank] = (calls, self.watched);
        }
    }

    /// Reason why a rank counts as lost; `None` if it does not.
    pub(crate) fn overdue(&self, rank: usize, limit: Duration) -> Option<SilenceKind> {
        let (calls, since) = self.calls[rank];
        if self.watched.saturating_sub(self.heard[rank]) > limit {
            return Some(SilenceKind::Silent);
        }
        (self.watched.saturating_sub(since) > limit).then_some(SilenceKind::Stuck { calls })
    }
}

#[cfg(test)]
mod tests {
    use super::{SilenceKind, SilenceWatch, beat_interval};
    use std::time::{Duration, Instant};

    const LIMIT: Duration = Duration::from_secs(300);
    const STEP: Duration = Duration::from_millis(100);

    /// Number of checks until rank 1 is overdue; `hears` is called at each.
    fn looks(watch: &mut SilenceWatch, began: Instant, hears: fn(&mut SilenceWatch, u32)) -> u32 {
        (1..1_000_000)
            .find(|look| {
                watch.advance(began + STEP * *look, LIMIT);
                hears(watch, *look);
                watch.overdue(1, LIMIT).is_some()
            })
            .expect("it is overdue at some time")
    }

    #[test]
    fn a_silent_rank_is_overdue_at_the_first_check_after_the_limit() {
        let began = Instant::now();
        let mut watch = SilenceWatch::new(2, began);
        assert_eq!(looks(&mut watch, began, |_, _| ()), 3001);
        assert_eq!(watch.overdue(1, LIMIT), Some(SilenceKind::Silent));
    }

    #[test]
    fn heartbeats_without_progress_mean_a_stuck_rank() {
        let began = Instant::now();
        let mut watch = SilenceWatch::new(2, began);
        let beats = |watch: &mut SilenceWatch, look: u32| {
            watch.record_message(1);
            // Its calls end for the first thousand looks.
            watch.count(1, u64::from(look.min(1000)));
        };
        assert_eq!(looks(&mut watch, began, beats), 1000 + 3001);
        assert_eq!(watch.overdue(1, LIMIT), Some(SilenceKind::Stuck { calls: 1000 }));
    }

    #[test]
    fn unchecked_time_does_not_count_as_silence() {
        let began = Instant::now();
        let mut watch = SilenceWatch::new(2, began);
        watch.advance(began + 100 * LIMIT, LIMIT);
        assert_eq!(watch.overdue(1, LIMIT), None);
        let again = began + 100 * LIMIT;
        let counted = 2 * beat_interval(LIMIT);
        let left = looks(&mut watch, again, |_, _| ());
        assert_eq!(STEP * left, LIMIT.saturating_sub(counted) + STEP);
    }

    #[test]
    fn silence_before_a_restart_does_not_count() {
        let began = Instant::now();
        let mut watch = SilenceWatch::new(2, began);
        assert_eq!(looks(&mut watch, began, |_, _| ()), 3001);
        watch.restart();
        assert_eq!(watch.overdue(1, LIMIT), None);
    }
}
