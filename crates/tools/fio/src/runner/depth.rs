//! Queue depth controlled by latencies: `latency_target`.
//!
//! As in the original, the depth is doubled as long as enough requests are fast enough; then the
//! largest such depth is searched by bisection.

use crate::language::{LatencyTarget, Section};

/// Transition after an evaluation of the latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowTransition {
    /// Requests in flight end, then another window begins.
    Window,
    /// Requests in flight end, all counters are reset, and the last window begins.
    LastWindow,
}

/// Outcome of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowVerdict {
    GoOn,
    Settle(WindowTransition),
    Done,
}

/// Search for the largest queue depth that meets the latency target.
#[derive(Debug)]
pub(super) struct DepthControl {
    target: LatencyTarget,
    most: u64,
    depth: u64,
    high: u64,
    low: u64,
    /// Number of requests of this window above the limit.
    late: u64,
    /// Number of consecutive windows that changed nothing.
    stable: u32,
    /// Requests completed before this window, and its start.
    before: u64,
    since_ns: u64,
    is_last: bool,
    /// Transition that is due once the requests in flight have ended.
    pub(super) transition: Option<WindowTransition>,
}

impl DepthControl {
    pub(super) fn from_job(job: &Section) -> Option<Box<Self>> {
        let target = job.extras.latency;
        (target.ns > 0).then(|| {
            Box::new(Self {
                target,
                most: job.depth,
                depth: 1,
                high: job.depth,
                low: 1,
                late: 0,
                stable: 0,
                before: 0,
                since_ns: 0,
                is_last: false,
                transition: None,
            })
        })
    }

    /// Maximum requests in flight.
    pub(super) const fn depth(&self) -> u64 {
        self.depth
    }

    /// Begins the search.
    pub(super) fn begin(&mut self, now_ns: u64, requests: u64) {
        if !self.is_last {
            (self.depth, self.high, self.low) = (1, self.most, 1);
        }
        self.begin_window(now_ns, requests);
    }

    /// Begins another window.
    pub(super) fn begin_window(&mut self, now_ns: u64, requests: u64) {
        (self.since_ns, self.before, self.late) = (now_ns, requests, 0);
    }

    /// Evaluates a request's latency; true if the job ends with an error.
    pub(super) fn is_too_late(&mut self, latency_ns: u64) -> bool {
        let verdict = self.ended(latency_ns);
        if let WindowVerdict::Settle(transition) = verdict {
            self.transition.get_or_insert(transition);
        }
        verdict == WindowVerdict::Done
    }

    /// Evaluates the window, unless a transition is due; true if the job ends.
    pub(super) fn is_done(&mut self, now_ns: u64, requests: u64) -> bool {
        if self.transition.is_some() {
            return false;
        }
        let verdict = self.evaluate(now_ns, requests);
        if let WindowVerdict::Settle(transition) = verdict {
            self.transition = Some(transition);
        }
        verdict == WindowVerdict::Done
    }

    /// Evaluates a request's latency. `Done` ends the job with an error: the limit applies to all
    /// requests, and was missed at depth 1.
    fn ended(&mut self, latency_ns: u64) -> WindowVerdict {
        if latency_ns <= self.target.ns {
            return WindowVerdict::GoOn;
        }
        if self.target.percentile < 100.0 {
            self.late += 1;
            return WindowVerdict::GoOn;
        }
        if self.depth == 1 { WindowVerdict::Done } else { self.lower() }
    }

    fn lower(&mut self) -> WindowVerdict {
        if self.depth == 1 {
            return WindowVerdict::GoOn;
        }
        self.high = self.depth;
        if self.depth == self.low {
            self.low -= 1;
        }
        self.depth = self.depth.midpoint(self.low);
        self.stable = 0;
        WindowVerdict::Settle(WindowTransition::Window)
    }

    fn raise(&mut self, now_ns: u64, requests: u64) -> WindowVerdict {
        let before = self.depth;
        self.low = self.depth;
        if self.depth + 1 == self.high {
            self.stable += 1;
            if self.stable >= 3 {
                (self.high, self.stable) = (self.high + 1, 0);
            }
        }
        let next =
            if self.high == self.most { self.depth * 2 } else { self.depth.midpoint(self.high) };
        self.depth = next.min(self.most);
        let is_found = !self.target.runs && self.depth == before;
        if is_found && self.is_last {
            return WindowVerdict::Done;
        }
        if is_found {
            self.is_last = true;
            return WindowVerdict::Settle(WindowTransition::LastWindow);
        }
        self.begin_window(now_ns, requests);
        WindowVerdict::GoOn
    }

    /// Evaluates the window if it is complete.
    fn evaluate(&mut self, now_ns: u64, requests: u64) -> WindowVerdict {
        if now_ns.saturating_sub(self.since_ns) < self.target.window_us * 1000 {
            return WindowVerdict::GoOn;
        }
        let ended = requests.saturating_sub(self.before);
        let fast = ended.saturating_sub(self.late) as f64 / ended as f64 * 100.0;
        if fast >= self.target.percentile { self.raise(now_ns, requests) } else { self.lower() }
    }
}

#[cfg(test)]
mod tests {
    use super::{DepthControl, LatencyTarget, Section, WindowTransition, WindowVerdict};

    const SECOND: u64 = 1_000_000_000;

    fn control(depth: u64, percentile: f64) -> DepthControl {
        let mut job = Section::default();
        job.depth = depth;
        job.extras.latency =
            LatencyTarget { ns: 1000, window_us: 1_000_000, percentile, runs: false };
        *DepthControl::from_job(&job).unwrap()
    }

    /// Depths of the windows if requests are late from this depth on.
    fn search(mut control: DepthControl, late_from: u64) -> (Vec<u64>, u64) {
        let (mut depths, mut requests) = (Vec::new(), 0);
        for second in 1..40 {
            depths.push(control.depth());
            let is_late = control.depth() >= late_from;
            for _ in 0..100 {
                assert_eq!(control.ended(if is_late { 2000 } else { 500 }), WindowVerdict::GoOn);
            }
            requests += 100;
            match control.evaluate(second * SECOND, requests) {
                WindowVerdict::GoOn => {}
                WindowVerdict::Settle(WindowTransition::Window) => {
                    control.begin_window(second * SECOND, requests);
                }
                WindowVerdict::Settle(WindowTransition::LastWindow) => {
                    requests = 0;
                    control.begin_window(second * SECOND, 0);
                }
                WindowVerdict::Done => return (depths, control.depth()),
            }
        }
        (depths, control.depth())
    }

    #[test]
    fn depth_is_doubled_then_bisected() {
        let (depths, found) = search(control(32, 99.0), 11);
        assert_eq!(depths[..8], [1, 2, 4, 8, 16, 12, 10, 11]);
        assert_eq!(found, 10);
        let (depths, found) = search(control(8, 99.0), 100);
        assert_eq!((depths, found), (vec![1, 2, 4, 8, 8], 8));
    }

    #[test]
    fn a_late_request_at_depth_one_ends_a_job_with_a_limit_for_all_requests() {
        let mut control = control(8, 100.0);
        assert_eq!(control.ended(1001), WindowVerdict::Done);
        control.depth = 4;
        assert_eq!(control.ended(1001), WindowVerdict::Settle(WindowTransition::Window));
        assert_eq!(control.depth(), 2);
    }
}
