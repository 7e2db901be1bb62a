//! Interim reports while jobs work: at an interval (`--status-interval`), or on a signal (SIGUSR1).
//!
//! The session asks the clones at work for their tallies; the output formats a report from these
//! and from the tallies of clones that have ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::language::time_us;
use serde::{Deserialize, Serialize};
use treering_model::Counters;
use treering_script::{ConfigError, Settings, StatusText};

use super::options::STATUS_INTERVAL;
use super::run_plan::RunPlan;
use super::tally::Tally;

/// Poll periods for a due report, with an interval and without one.
const LOOKS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(100)];
/// Time to wait for a snapshot of a clone that is busy with one call; after that its previous
/// snapshot is used.
const PATIENCE: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(1);
/// Remaining time, in seconds, if it cannot be estimated.
const UNKNOWN_S: u64 = i32::MAX as u64;

/// Triggers of interim reports: an interval, a signal.
#[derive(Clone, Debug)]
pub(super) struct StatusTriggers {
    every_ns: Option<u64>,
    by_signal: Arc<AtomicBool>,
}

impl StatusTriggers {
    /// Reads the interval of the command line.
    pub(super) fn from_settings(settings: &Settings) -> Result<Self, ConfigError> {
        let typed = settings.text(STATUS_INTERVAL);
        let every_ns = typed.map(interval_ns).transpose()?;
        Ok(Self { every_ns, by_signal: Arc::clone(&settings.report_asked) })
    }

    /// Poll period for a due report.
    pub(super) fn look_every(&self) -> Duration {
        LOOKS[usize::from(self.every_ns.is_none())]
    }
}

/// Parses an interval as the original does: a plain number is seconds, and the minimum is one
/// millisecond.
fn interval_ns(typed: &str) -> Result<u64, ConfigError> {
    let hint = "an interval is a time from 1ms, such as 1 or 1s, 500ms, 2m";
    let typed = typed.trim();
    match time_us(typed, 1_000_000) {
        Some(us) if us >= 1000 => Ok(us.saturating_mul(1000)),
        Some(_) => Err(ConfigError::new("status interval too small").hint(hint)),
        None => {
            Err(ConfigError::new(format!("failed parsing time {}", typed.escape_debug()))
                .hint(hint))
        }
    }
}

/// Snapshots of the clones at work: their numbers, and the JSON of their tallies.
#[derive(Debug, Default, Serialize, Deserialize)]
struct StatusSnapshot {
    clones: Vec<(usize, String)>,
}

/// State of a run's interim reports.
#[derive(Debug)]
pub(super) struct Status {
    asked: StatusTriggers,
    /// Total time of earlier groups, and the due time of the next report, both from the start of
    /// the first group.
    before_ns: u64,
    next_ns: u64,
    /// Snapshots of the clones at work, with their numbers.
    working: Vec<(usize, StatusText)>,
}

impl Status {
    pub(super) fn new(asked: StatusTriggers) -> Self {
        let next_ns = asked.every_ns.unwrap_or(u64::MAX);
        Self { asked, before_ns: 0, next_ns, working: Vec::new() }
    }

    /// Registers the clones of a group that begins.
    pub(super) fn begin(&mut self, working: Vec<(usize, StatusText)>) {
        self.working = working;
    }

    /// Ends a group that worked for `wall_ns`.
    pub(super) fn ended(&mut self, wall_ns: u64) {
        self.before_ns += wall_ns;
        self.working.clear();
    }

    /// Snapshots of the clones if a report is due `elapsed_ns` after the start of the group, else
    /// empty counters.
    pub(super) fn tick(&mut self, elapsed_ns: u64) -> Counters {
        let now_ns = self.before_ns.saturating_add(elapsed_ns);
        let is_due = now_ns >= self.next_ns;
        if let Some(every_ns) = self.asked.every_ns.filter(|_| is_due) {
            // Missed reports are not made up for.
            self.next_ns = (now_ns / every_ns + 1).saturating_mul(every_ns);
        }
        if !is_due && !self.asked.by_signal.swap(false, Ordering::Relaxed) {
            return Counters::default();
        }
        self.working.iter().for_each(|(_, snapshot)| snapshot.ask());
        let until = Instant::now() + PATIENCE;
        let is_answered = || self.working.iter().all(|(_, snapshot)| snapshot.is_answered());
        while !is_answered() && Instant::now() < until {
            sleep(POLL);
        }
        let shown = self.working.iter().filter_map(|(number, one)| Some((*number, one.text()?)));
        Counters::from_value(&StatusSnapshot { clones: shown.collect() })
    }
}

/// Tallies of all clones: final ones, snapshots of those at work, and `None` for those not started.
/// `None` if the tick holds no snapshot.
pub(super) fn so_far(done: &[Option<Tally>], tick: &Counters) -> Option<Vec<Option<Tally>>> {
    let shown: StatusSnapshot = tick.read()?;
    let mut tallies = done.to_vec();
    for (number, json) in shown.clones {
        if let Some(tally) = tallies.get_mut(number).filter(|tally| tally.is_none()) {
            *tally = Tally::read(&Counters::from_json(json));
        }
    }
    let begun = |tally: Option<Tally>| Some(tally.unwrap_or_default());
    Some(tallies.into_iter().map(begun).collect())
}

/// Estimated remaining seconds: the longest of the clones of a batch, summed over batches.
pub(super) fn seconds_left(plan: &RunPlan, done: &[Option<Tally>], now: &[Option<Tally>]) -> u64 {
    let of_batch = |batch: usize| {
        let clones = plan.batch(batch).filter(|(number, _)| done[*number].is_none());
        let mut left = clones.map(|(number, worker)| {
            let job = &worker.job;
            let tally = now[number].as_ref();
            let worked_ms = tally.map_or(0, |tally| tally.runtime_ms);
            let timed_ms = Some(job.runtime_us / 1000).filter(|ms| *ms > 0);
            let timed_ms = timed_ms.map(|ms| ms.saturating_sub(worked_ms));
            let bytes = tally.map_or(0, Tally::bytes);
            let whole = job.io_bytes(job.stated_bytes()).unwrap_or_else(|| job.stated_bytes());
            let whole = whole.saturating_mul(job.loops);
            let by_bytes = || {
                let left = u128::from(whole.saturating_sub(bytes)) * u128::from(worked_ms);
                (bytes > 0).then(|| u64::try_from(left / u128::from(bytes)).unwrap_or(u64::MAX))
            };
            let sized_ms = if job.is_timed() { None } else { by_bytes() };
            match (timed_ms, sized_ms) {
                (Some(timed_ms), Some(sized_ms)) => Some(timed_ms.min(sized_ms)),
                (timed_ms, sized_ms) => timed_ms.or(sized_ms),
            }
        });
        left.try_fold(0, |most, left_ms| left_ms.map(|left_ms| left_ms.max(most)))
    };
    let left_ms: Option<u64> = (0..plan.batches).map(of_batch).sum();
    left_ms.map_or(UNKNOWN_S, |ms| (ms / 1000).min(UNKNOWN_S))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use treering_model::Counters;
    use treering_script::StatusText;

    use super::{Status, StatusTriggers, Tally, interval_ns, so_far};

    #[test]
    fn intervals_without_unit_are_seconds() {
        let parsed = |text| interval_ns(text).map_err(|error| error.message);
        assert_eq!(parsed("1"), Ok(1_000_000_000));
        assert_eq!(parsed("500ms"), Ok(500_000_000));
        assert_eq!(parsed("1m"), Ok(60_000_000_000));
        assert_eq!(parsed("999us"), Err("status interval too small".to_owned()));
        assert_eq!(parsed("0"), Err("status interval too small".to_owned()));
        assert_eq!(parsed("abc"), Err("failed parsing time abc".to_owned()));
    }

    #[test]
    fn reports_are_due_at_multiples_and_on_request() {
        let by_signal = Arc::new(AtomicBool::new(false));
        let triggers = StatusTriggers { every_ns: Some(1000), by_signal: Arc::clone(&by_signal) };
        let mut status = Status::new(triggers);
        let snapshot = StatusText::default();
        snapshot.show(Tally { runtime_ms: 7, ..Tally::default() }.counters().json());
        snapshot.end();
        status.begin(vec![(1, snapshot)]);
        assert!(status.tick(999).is_empty());
        let shown = so_far(&[None, None], &status.tick(1000)).unwrap();
        assert_eq!(shown[1].as_ref().map(|tally| tally.runtime_ms), Some(7));
        assert_eq!(shown[0], Some(Tally::default()));
        assert!(status.tick(1999).is_empty());
        assert!(!status.tick(4500).is_empty() && status.tick(4999).is_empty());
        by_signal.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(!status.tick(4999).is_empty() && status.tick(4999).is_empty());
        status.ended(4999);
        assert!(!status.tick(1).is_empty(), "groups follow one another");
        assert_eq!(so_far(&[None], &Counters::default()), None);
    }
}
