//! Follows a run against its rules: what was done, what the layout came to, and what stopped it.

use treering_model::{Caution, CautionCode, Fact, Op, TaskTotals};
use treering_script::{LayoutFeed, SessionError};

use super::rules::{Rule, Sofar};

/// After so many steps in which the filesystem became no fuller, it does not become fuller.
const STEPS_WITHOUT_GROWTH: u32 = 12;

/// How far a run is, and whether it is to end.
#[derive(Debug)]
pub(super) struct Ending {
    rules: Vec<Rule>,
    sofar: Sofar,
    feed: LayoutFeed,
    stopped: Option<String>,
    failure: Option<SessionError>,
    /// Whether a step was made whose layout was not looked at.
    awaits_layout: bool,
    /// The fullest it was, and the steps since.
    fullest: f64,
    steps_since: u32,
}

impl Ending {
    pub(super) fn new(rules: Vec<Rule>, capacity_bytes: u64) -> Self {
        let sofar = Sofar { capacity_bytes, ..Sofar::default() };
        Self {
            rules,
            sofar,
            feed: LayoutFeed::default(),
            stopped: None,
            failure: None,
            awaits_layout: false,
            fullest: 0.0,
            steps_since: 0,
        }
    }

    /// Where it hears layouts, if a rule needs them.
    pub(super) fn feed(&self) -> Option<LayoutFeed> {
        self.rules.iter().any(Rule::needs_layout).then(|| self.feed.clone())
    }

    /// A task has ended that carried out so many operations, and allocated so many more bytes
    /// than it wrote of those allocated before.
    pub(super) fn task_ended(&mut self, totals: &TaskTotals, operations: u64, ahead_bytes: i64) {
        self.sofar.operations += operations;
        let written = totals.ops.iter().filter(|op| op.op == Op::Write).map(|op| op.bytes);
        let written = self.sofar.written_bytes.saturating_add(written.sum());
        self.sofar.written_bytes = written.saturating_add_signed(ahead_bytes);
    }

    /// Operations that were carried out since it aged.
    pub(super) fn operations(&self) -> u64 {
        self.sofar.operations
    }

    /// The filesystem is full: what a rule about that waits for, and otherwise the end.
    pub(super) fn is_full(&mut self) {
        let operations = self.sofar.operations;
        if let Some(rule) = self.rules.iter().find(|rule| matches!(rule, Rule::Full(_))) {
            self.stopped = Some(format!("{rule}: no space is left"));
            return;
        }
        let what = format!("no space is left after {operations} operations; give a smaller --live");
        self.failure = Some(SessionError::new(what));
    }

    /// What is measured from here on is a step; what was before is where it began.
    pub(super) fn begins(&mut self) {
        if let Some(layout) = self.feed.take().pop() {
            self.sofar.layout = Some(layout);
        }
    }

    /// A step is over: its layout is to come.
    pub(super) fn stepped(&mut self) {
        self.awaits_layout = self.feed().is_some();
    }

    /// Whether the run is over, asked before each step.
    pub(super) fn is_over(&mut self) -> bool {
        if self.stopped.is_some() || self.failure.is_some() {
            return true;
        }
        if std::mem::take(&mut self.awaits_layout)
            && let Some(layout) = self.feed.take().pop()
        {
            self.sofar.scores.push((layout.traversal_score, layout.adjacent_siblings));
            self.notice_growth(layout.fullness.data.share().unwrap_or(0.0));
            self.sofar.layout = Some(layout);
        }
        self.stopped = self.rules.iter().find_map(|rule| rule.holds(&self.sofar));
        if self.stopped.is_none() && self.steps_since >= STEPS_WITHOUT_GROWTH {
            self.never_full();
        }
        self.stopped.is_some() || self.failure.is_some()
    }

    fn notice_growth(&mut self, share: f64) {
        self.steps_since = if share > self.fullest { 0 } else { self.steps_since + 1 };
        self.fullest = self.fullest.max(share);
    }

    /// Where nothing but its fullness would end it: a profile whose files stay as many never does.
    fn never_full(&mut self) {
        let is_full = |rule: &Rule| matches!(rule, Rule::Full(_));
        if let Some(rule) = self.rules.first().filter(|_| self.rules.iter().all(is_full)) {
            let percent = self.fullest * 100.0;
            let what = format!(
                "--until {rule} does not come: over {STEPS_WITHOUT_GROWTH} steps the filesystem \
                 stayed at {percent:.1} % and less, for the profile keeps the bytes of its files; \
                 give a larger --live"
            );
            self.failure = Some(SessionError::new(what));
        }
    }

    /// Why it cannot go on, asked when all was reported about a step.
    pub(super) fn failure(&self) -> Option<SessionError> {
        let is_blind = self.awaits_layout && self.feed.is_empty();
        let blind = || {
            let what = "the layout cannot be measured here: a rule that depends on it never holds; \
                        `treering layout DIR` says why";
            is_blind.then(|| SessionError::new(what))
        };
        self.failure.clone().or_else(blind)
    }

    /// Operations to the end, where a rule counts them.
    pub(super) fn operations_left(&self) -> Option<u64> {
        let left = |rule: &Rule| match rule {
            Rule::Operations(wanted) => Some(wanted.saturating_sub(self.sofar.operations)),
            _ => None,
        };
        self.rules.iter().filter_map(left).min()
    }

    /// What is known of the end.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
        let mut facts = vec![
            fact("age.operations", self.sofar.operations.to_string()),
            fact("age.written_bytes", self.sofar.written_bytes.to_string()),
        ];
        facts.extend(self.stopped.iter().map(|rule| fact("age.stopped_by", rule.clone())));
        facts
    }

    /// The caution about a profile that came to its end before any rule held.
    pub(super) fn cautions(&self) -> Vec<Caution> {
        let is_short = !self.rules.is_empty() && self.stopped.is_none() && self.failure().is_none();
        let message = format!("no rule held after {} operations", self.sofar.operations);
        let caution = Caution { code: CautionCode::TooFewOperations, message };
        is_short.then_some(caution).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use treering_model::{Layout, LayoutFullness, LayoutUse, TaskTotals};

    use super::{Ending, Rule, STEPS_WITHOUT_GROWTH};

    /// Steps until it is over, at most 1000, on a filesystem of 100 bytes with so many in use.
    fn steps(rules: &[Rule], used: impl Fn(u64) -> u64) -> (u64, Ending) {
        let mut ending = Ending::new(rules.to_vec(), 100);
        let mut steps = 0;
        while steps < 1000 && !ending.is_over() {
            ending.task_ended(&TaskTotals::default(), 10, 0);
            ending.stepped();
            let data = LayoutUse { used_bytes: used(steps), total_bytes: 100 };
            let fullness = LayoutFullness { data, ..LayoutFullness::default() };
            ending.feed.push(Layout { fullness, ..Layout::default() });
            steps += 1;
        }
        (steps, ending)
    }

    #[test]
    fn a_fullness_that_does_not_come_ends_the_run_in_words() {
        let full = Rule::Full(0.7);
        let (ran, ending) = steps(std::slice::from_ref(&full), |step| 50 + step % 3);
        assert_eq!(ran, 3 + u64::from(STEPS_WITHOUT_GROWTH));
        let why = ending.failure().unwrap().to_string();
        assert!(why.contains("full=70%") && why.contains("52.0 %"), "{why}");
        let (ran, ending) = steps(std::slice::from_ref(&full), |step| 50 + step);
        assert!(ran == 21 && ending.failure().is_none(), "{ran}");
        // Something else ends it.
        let (ran, ending) = steps(&[full, Rule::Operations(500)], |_| 50);
        assert!(ran == 50 && ending.failure().is_none(), "{ran}");
    }
}
