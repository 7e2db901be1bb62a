//! Watch over worker processes: one that is stopped, or does not end after it was asked to, is
//! continued, terminated or killed.
//!
//! Only decisions are made here. Time is counted in checks: an interval between two checks counts
//! as [`COUNTED_MAX`] at most, so that time in which the watcher itself was stopped or got no CPU
//! is not held against the processes.

use std::time::Duration;

/// Interval between two checks.
pub(crate) const CHECK_EVERY: Duration = Duration::from_millis(200);
/// Longest time that counts for one interval between two checks.
const COUNTED_MAX: Duration = Duration::from_millis(400);
/// Time from the request to end to SIGTERM, and from SIGTERM to SIGKILL.
const LEAVING_MAX: Duration = Duration::from_secs(20);

/// State of a process at a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessState {
    /// The process was stopped by a signal.
    pub(crate) is_stopped: bool,
    /// The process may go on: the run has not been asked to end, or the process is to finish its
    /// task first.
    pub(crate) may_work: bool,
    /// The stop flag is raised.
    pub(crate) is_flagged: bool,
}

/// Signals for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessAction {
    /// Ends the run: the task of the process is lost.
    Halt,
    /// SIGCONT.
    Resume,
    /// SIGTERM, then SIGCONT.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// Watch over one process.
#[derive(Debug)]
pub(crate) struct ProcessWatch {
    limit: Duration,
    stopped: Duration,
    leaving: Duration,
    is_terminated: bool,
    fault: Option<String>,
}

impl ProcessWatch {
    /// Allows a process to be stopped for this long.
    pub(crate) fn new(limit: Duration) -> Self {
        let none = Duration::ZERO;
        Self { limit, stopped: none, leaving: none, is_terminated: false, fault: None }
    }

    /// Counts the time since the last check and decides what is done.
    pub(crate) fn check(
        &mut self,
        state: ProcessState,
        since_last: Duration,
    ) -> Option<ProcessAction> {
        let passed = since_last.min(COUNTED_MAX);
        self.stopped = if state.is_stopped { self.stopped + passed } else { Duration::ZERO };
        self.leaving = if state.may_work { Duration::ZERO } else { self.leaving + passed };
        if self.leaving >= 2 * LEAVING_MAX {
            let seconds = self.leaving.as_secs();
            let stopped = if state.is_stopped { "it was stopped by a signal, and " } else { "" };
            self.fault.get_or_insert_with(|| {
                format!("{stopped}did not end within {seconds} s of being asked to")
            });
            return Some(ProcessAction::Kill);
        }
        if self.leaving >= LEAVING_MAX && !self.is_terminated {
            self.is_terminated = true;
            return Some(ProcessAction::Terminate);
        }
        if !state.is_stopped {
            return None;
        }
        if state.is_flagged {
            return Some(ProcessAction::Resume);
        }
        if self.stopped >= self.limit && self.fault.is_none() {
            let seconds = self.limit.as_secs_f64();
            self.fault = Some(format!(
                "it was stopped by a signal (SIGSTOP or the like) for {seconds} s (--rank-timeout)"
            ));
            return Some(ProcessAction::Halt);
        }
        None
    }

    /// Reason why the process counts as lost; `None` if it does not.
    pub(crate) fn into_fault(self) -> Option<String> {
        self.fault
    }
}

#[cfg(test)]
mod tests {
    use super::{CHECK_EVERY, LEAVING_MAX, ProcessAction, ProcessState, ProcessWatch};
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(300);
    const WORKS: ProcessState =
        ProcessState { is_stopped: false, may_work: true, is_flagged: false };
    const STOPPED: ProcessState = ProcessState { is_stopped: true, ..WORKS };
    const LEAVES: ProcessState =
        ProcessState { is_stopped: false, may_work: false, is_flagged: true };

    /// Number of checks until the first remedy, and the remedy.
    fn checks(watch: &mut ProcessWatch, state: ProcessState) -> (u128, ProcessAction) {
        (1..1 << 20)
            .find_map(|number| Some((number, watch.check(state, CHECK_EVERY)?)))
            .expect("a remedy")
    }

    fn times(period: Duration) -> u128 {
        period.as_nanos().div_ceil(CHECK_EVERY.as_nanos())
    }

    #[test]
    fn a_process_stopped_beyond_the_limit_halts_the_run() {
        let mut watch = ProcessWatch::new(LIMIT);
        assert_eq!(checks(&mut watch, STOPPED), (times(LIMIT), ProcessAction::Halt));
        let halted = ProcessState { is_stopped: true, ..LEAVES };
        assert_eq!(watch.check(halted, CHECK_EVERY), Some(ProcessAction::Resume));
        let fault = watch.into_fault().unwrap();
        assert_eq!(
            fault,
            "it was stopped by a signal (SIGSTOP or the like) for 300 s (--rank-timeout)"
        );
    }

    #[test]
    fn a_process_continued_in_time_is_left_alone() {
        let mut watch = ProcessWatch::new(LIMIT);
        for _ in 0..10 {
            for _ in 1..times(LIMIT) {
                assert_eq!(watch.check(STOPPED, CHECK_EVERY), None);
            }
            assert_eq!(watch.check(WORKS, CHECK_EVERY), None);
        }
        assert_eq!(watch.into_fault(), None);
    }

    #[test]
    fn time_while_the_watcher_was_stopped_does_not_count() {
        let mut watch = ProcessWatch::new(LIMIT);
        assert_eq!(watch.check(STOPPED, 100 * LIMIT), None);
        assert_eq!(watch.check(LEAVES, 100 * LIMIT), None);
    }

    #[test]
    fn a_lingering_process_is_terminated_then_killed() {
        let mut watch = ProcessWatch::new(LIMIT);
        let leaving = times(LEAVING_MAX);
        assert_eq!(checks(&mut watch, LEAVES), (leaving, ProcessAction::Terminate));
        assert_eq!(checks(&mut watch, LEAVES), (leaving, ProcessAction::Kill));
        assert_eq!(watch.into_fault().unwrap(), "did not end within 40 s of being asked to");
    }

    #[test]
    fn a_repeatedly_stopped_exiting_process_is_killed() {
        let mut watch = ProcessWatch::new(LIMIT);
        let stopped = ProcessState { is_stopped: true, ..LEAVES };
        let actions: Vec<_> =
            (0..2 * times(LEAVING_MAX)).map(|_| watch.check(stopped, CHECK_EVERY)).collect();
        let count = |wanted| actions.iter().filter(|action| **action == Some(wanted)).count();
        assert_eq!(
            (
                count(ProcessAction::Terminate),
                count(ProcessAction::Kill),
                count(ProcessAction::Halt)
            ),
            (1, 1, 0)
        );
        assert_eq!(actions[0], Some(ProcessAction::Resume));
        assert!(watch.into_fault().unwrap().starts_with("it was stopped by a signal, and"));
    }

    #[test]
    fn a_process_finishing_its_task_is_continued_without_timeout() {
        let mut watch = ProcessWatch::new(LIMIT);
        let finishes = ProcessState { is_stopped: true, may_work: true, is_flagged: true };
        assert_eq!(watch.check(finishes, CHECK_EVERY), Some(ProcessAction::Resume));
        let works = ProcessState { is_stopped: false, ..finishes };
        for _ in 0..4 * times(LEAVING_MAX) {
            assert_eq!(watch.check(works, CHECK_EVERY), None);
        }
    }
}
