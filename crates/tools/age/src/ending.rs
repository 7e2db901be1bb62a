//! State of a run against its rules: operations done, layouts measured, the rule that ended it.

use treering_model::{Caution, CautionCode, Fact, Op, TaskTotals};
use treering_script::{LayoutFeed, SessionError};

use super::rules::{EndRule, RunState, StepScores};

/// Steps without growth of the fullness after which a `full` rule gives up.
const STEPS_WITHOUT_GROWTH: u32 = 12;

/// Progress of a run, and the decision whether it ends.
#[derive(Debug)]
pub(super) struct EndingMonitor {
    rules: Vec<EndRule>,
    state: RunState,
    feed: LayoutFeed,
    stopped: Option<String>,
    failure: Option<SessionError>,
    /// True after a step whose layout has not been received yet.
    awaits_layout: bool,
    /// Largest fullness so far, and the steps since.
    fullest: f64,
    steps_since: u32,
    /// Number of operations that found no space, and of files deleted to make space.
    shortages: u64,
    deleted: u64,
    /// Number of operations of the interrupted run that this one continues; `None` for a new run.
    earlier: Option<u64>,
    /// Number of files restored or removed to continue an interrupted run.
    put_back: u64,
    /// Lowest and highest fullness after a step.
    levels: Option<(f64, f64)>,
}

impl EndingMonitor {
    pub(super) fn new(rules: Vec<EndRule>, capacity_bytes: u64) -> Self {
        let state = RunState { capacity_bytes, ..RunState::default() };
        Self {
            rules,
            state,
            feed: LayoutFeed::default(),
            stopped: None,
            failure: None,
            awaits_layout: false,
            fullest: 0.0,
            steps_since: 0,
            shortages: 0,
            deleted: 0,
            earlier: None,
            put_back: 0,
            levels: None,
        }
    }

    /// Feed of layouts, if a rule needs them.
    pub(super) fn feed(&self) -> Option<LayoutFeed> {
        self.rules.iter().any(EndRule::needs_layout).then(|| self.feed.clone())
    }

    /// Adds the totals of a task that carried out `operations`. `ahead_bytes` are bytes allocated
    /// for later writing, less those written that were allocated before.
    pub(super) fn task_ended(&mut self, totals: &TaskTotals, operations: u64, ahead_bytes: i64) {
        self.state.operations += operations;
        let written = totals.ops.iter().filter(|op| op.op == Op::Write).map(|op| op.bytes);
        let written = self.state.written_bytes.saturating_add(written.sum());
        self.state.written_bytes = written.saturating_add_signed(ahead_bytes);
    }

    /// Operations carried out in the aging phase.
    pub(super) fn operations(&self) -> u64 {
        self.state.operations
    }

    /// Ends the run because the filesystem is full: a success if there is a `full` rule, otherwise
    /// a failure.
    pub(super) fn end_full(&mut self) {
        let operations = self.state.operations;
        if let Some(rule) = self.rules.iter().find(|rule| matches!(rule, EndRule::Full(_))) {
            self.stopped = Some(format!("{rule}: no space is left"));
            return;
        }
        let message = format!(
            "no space is left after {operations} operations; give a smaller --live or --hold-full"
        );
        self.failure = Some(SessionError::new(message));
    }

    /// Counts the operations and bytes of the interrupted run that this one continues.
    pub(super) fn go_on_from(&mut self, operations: u64, written_bytes: u64) {
        self.state.operations += operations;
        self.state.written_bytes += written_bytes;
        self.earlier = Some(operations);
    }

    /// True if the run ends when the filesystem is full.
    pub(super) fn ends_full(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule, EndRule::Full(_)))
    }

    /// Counts files restored or removed before the run continued.
    pub(super) fn count_put_back(&mut self, files: u64) {
        self.put_back += files;
    }

    /// Counts operations that found no space, and files deleted to make space.
    pub(super) fn count_shortages(&mut self, shortages: u64, deleted: u64) {
        self.shortages += shortages;
        self.deleted += deleted;
    }

    /// Begins the first step: a layout received before it is the initial one.
    pub(super) fn begin_first_step(&mut self) {
        if let Some(layout) = self.feed.take().pop() {
            self.state.layout = Some(layout);
        }
    }

    /// Ends a step, whose layout is received later.
    pub(super) fn end_step(&mut self) {
        self.awaits_layout = self.feed().is_some();
    }

    /// True if the run is over; called before each step.
    pub(super) fn is_over(&mut self) -> bool {
        if self.stopped.is_some() || self.failure.is_some() {
            return true;
        }
        if std::mem::take(&mut self.awaits_layout)
            && let Some(layout) = self.feed.take().pop()
        {
            let scores = StepScores {
                traversal: layout.traversal_score,
                adjacent: layout.adjacent_siblings,
                large_free: layout.free_space.as_ref().and_then(|free| free.large_share),
            };
            self.state.add_scores(scores, &self.rules);
            if let Some(share) = layout.fullness.data.share() {
                let (least, most) = self.levels.unwrap_or((share, share));
                self.levels = Some((least.min(share), most.max(share)));
            }
            self.notice_growth(layout.fullness.data.share().unwrap_or(0.0));
            self.state.layout = Some(layout);
        }
        self.stopped = self.rules.iter().find_map(|rule| rule.holds(&self.state));
        self.fail_if_full_before_the_first();
        if self.stopped.is_none() && self.steps_since >= STEPS_WITHOUT_GROWTH {
            self.fail_if_never_full();
        }
        self.stopped.is_some() || self.failure.is_some()
    }

    /// Fails a run whose `full` rule held before the first operation, since nothing was aged.
    fn fail_if_full_before_the_first(&mut self) {
        let full =
            |rule: &&EndRule| matches!(rule, EndRule::Full(_)) && rule.holds(&self.state).is_some();
        if self.state.operations > 0 || self.stopped.is_none() {
            return;
        }
        let Some(rule) = self.rules.iter().find(full) else { return };
        let share = self.state.layout.as_ref().and_then(|layout| layout.fullness.data.share());
        let message = format!(
            "--until {rule} held before the first operation, with {:.1} % in use: nothing was \
             aged; give a smaller --live, or --hold-full with another rule to end it",
            share.unwrap_or(0.0) * 100.0
        );
        self.failure = Some(SessionError::new(message));
    }

    fn notice_growth(&mut self, share: f64) {
        self.steps_since = if share > self.fullest { 0 } else { self.steps_since + 1 };
        self.fullest = self.fullest.max(share);
    }

    /// Fails the run if only rules `full` could end it: a profile that keeps its number of files
    /// never fills the filesystem.
    fn fail_if_never_full(&mut self) {
        let is_full = |rule: &EndRule| matches!(rule, EndRule::Full(_));
        if let Some(rule) = self.rules.first().filter(|_| self.rules.iter().all(is_full)) {
            let percent = self.fullest * 100.0;
            let message = format!(
                "--until {rule} does not come: over {STEPS_WITHOUT_GROWTH} steps the filesystem \
                 stayed at {percent:.1} % and less, for the profile keeps the bytes of its files; \
                 give a larger --live"
            );
            self.failure = Some(SessionError::new(message));
        }
    }

    /// Error that ends the run, if any; called after all reports of a step.
    pub(super) fn failure(&self) -> Option<SessionError> {
        let is_blind = self.awaits_layout && self.feed.is_empty();
        let blind = || {
            let message = "the layout cannot be measured here: a rule that depends on it never holds; \
                        `treering layout DIR` says why";
            is_blind.then(|| SessionError::new(message))
        };
        self.failure.clone().or_else(blind)
    }

    /// Operations left until the end, if a rule counts them.
    pub(super) fn operations_left(&self) -> Option<u64> {
        let left = |rule: &EndRule| match rule {
            EndRule::Operations(wanted) => Some(wanted.saturating_sub(self.state.operations)),
            _ => None,
        };
        self.rules.iter().filter_map(left).min()
    }

    /// Facts about the end: operations, bytes written, the rule that held.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
        let mut facts = vec![
            fact("age.operations", self.state.operations.to_string()),
            fact("age.written_bytes", self.state.written_bytes.to_string()),
        ];
        if let Some(earlier) = self.earlier {
            facts.push(fact("age.earlier_operations", earlier.to_string()));
            facts.push(fact("age.put_back", self.put_back.to_string()));
        }
        if self.shortages > 0 {
            facts.push(fact("age.short_of_space", self.shortages.to_string()));
            facts.push(fact("age.deleted_for_space", self.deleted.to_string()));
        }
        if let Some((least, most)) = self.levels {
            let percent = |share: f64| format!("{:.1}", share * 100.0);
            facts.push(fact("age.full_percent", percent(least) + " to " + &percent(most)));
        }
        facts.extend(self.stopped.iter().map(|rule| fact("age.stopped_by", rule.clone())));
        facts
    }

    /// Caution about a profile that ended before any rule held.
    pub(super) fn cautions(&self) -> Vec<Caution> {
        let is_short = !self.rules.is_empty() && self.stopped.is_none() && self.failure().is_none();
        let message = format!("no rule held after {} operations", self.state.operations);
        let caution = Caution { code: CautionCode::TooFewOperations, message };
        let shortage = format!(
            "{} operations found no space, and {} files were deleted for it: the list of \
             operations follows the filesystem",
            self.shortages, self.deleted
        );
        let shortage = Caution { code: CautionCode::ShortOfSpace, message: shortage };
        let shortage = (self.shortages > 0).then_some(shortage);
        is_short.then_some(caution).into_iter().chain(shortage).collect()
    }
}

#[cfg(test)]
mod tests {
    use treering_model::{FileLayout, LayoutFullness, TaskTotals, UsedBytes};

    use super::{EndRule, EndingMonitor, STEPS_WITHOUT_GROWTH};

    /// Counts steps until the run is over, at most 1000, on a filesystem of 100 bytes of which
    /// `used(step)` are in use.
    fn steps(rules: &[EndRule], used: impl Fn(u64) -> u64) -> (u64, EndingMonitor) {
        let mut ending = EndingMonitor::new(rules.to_vec(), 100);
        let mut steps = 0;
        while steps < 1000 && !ending.is_over() {
            ending.task_ended(&TaskTotals::default(), 10, 0);
            ending.end_step();
            let data = UsedBytes { used_bytes: used(steps), total_bytes: 100 };
            let fullness = LayoutFullness { data, ..LayoutFullness::default() };
            ending.feed.push(FileLayout { fullness, ..FileLayout::default() });
            steps += 1;
        }
        (steps, ending)
    }

    #[test]
    fn an_unreachable_fullness_fails_the_run_with_a_message() {
        let full = EndRule::Full(0.7);
        let (ran, ending) = steps(std::slice::from_ref(&full), |step| 50 + step % 3);
        assert_eq!(ran, 3 + u64::from(STEPS_WITHOUT_GROWTH));
        let why = ending.failure().unwrap().to_string();
        assert!(why.contains("full=70%") && why.contains("52.0 %"), "{why}");
        let (ran, ending) = steps(std::slice::from_ref(&full), |step| 50 + step);
        assert!(ran == 21 && ending.failure().is_none(), "{ran}");
        // Another rule ends the run.
        let (ran, ending) = steps(&[full, EndRule::Operations(500)], |_| 50);
        assert!(ran == 50 && ending.failure().is_none(), "{ran}");
    }
}
