//! Parses the output of `cargo test -- --show-output`: counts the results, collects the reasons of
//! tests that skipped themselves (lines that begin with `skipped:`), and decides which lines to
//! show. Other output of passed tests is not shown.

use std::collections::BTreeSet;

use crate::tally::TestTally;

const SKIPPED: &str = "skipped:";

/// Parser of test output, line by line.
#[derive(Default)]
pub(super) struct OutputListener {
    /// True within the output of passed tests.
    in_successes: bool,
    /// Test whose output is being parsed.
    test: String,
    passed: usize,
    failed: usize,
    skipped_tests: BTreeSet<(usize, String)>,
    reasons: Vec<String>,
    /// Number of test programs so far, since names of tests repeat among them.
    programs: usize,
}

impl OutputListener {
    /// Parses one line, and reports whether to show it.
    pub(super) fn parse_line(&mut self, line: &str) -> bool {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.in_successes = false;
            self.passed += count(counts, "passed");
            self.failed += count(counts, "failed");
            self.programs += 1;
            return true;
        }
        if line == "successes:" || line == "failures:" {
            self.in_successes = line == "successes:";
            self.test.clear();
        }
        if let Some(test) = line.strip_prefix("---- ").and_then(|l| l.strip_suffix(" stdout ----"))
        {
            test.clone_into(&mut self.test);
        }
        if let Some(reason) = line.strip_prefix(SKIPPED) {
            let reason = reason.trim();
            if self.in_successes && !self.test.is_empty() {
                self.skipped_tests.insert((self.programs, self.test.clone()));
                self.reasons.push(format!("{}: {reason}", self.test));
            } else {
                self.reasons.push(reason.to_owned());
            }
            return true;
        }
        !self.in_successes
    }

    /// Counts of all results. A failure without a failed test (a crash, a compiler error) counts as
    /// one.
    pub(super) fn tally(self, succeeded: bool) -> TestTally {
        let failed = if succeeded { self.failed } else { self.failed.max(1) };
        let passed = self.passed.saturating_sub(self.skipped_tests.len());
        TestTally { passed, failed, skipped: self.reasons }
    }
}

/// Number before a word: `ok. 12 passed; 0 failed; …`.
fn count(counts: &str, word: &str) -> usize {
    let before = counts.split(word).next().filter(|before| before.len() < counts.len());
    let number = before.and_then(|before| before.trim_end().rsplit(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::OutputListener;

    const OUTPUT: &str = "
running 3 tests
test a ... ok
test b ... ok
test c ... FAILED

successes:

---- a stdout ----
a lot of talk
skipped: needs root to mount

---- b stdout ----
more talk

successes:
    a
    b

failures:

---- c stdout ----
why c failed

failures:
    c

test result: FAILED. 2 passed; 1 failed; 4 ignored; 0 measured; 0 filtered out; finished in 0.1s
";

    #[test]
    fn skipped_tests_are_not_counted_as_passed() {
        let mut listener = OutputListener::default();
        for line in OUTPUT.lines() {
            listener.parse_line(line);
        }
        let tally = listener.tally(false);
        assert_eq!((tally.passed, tally.failed), (1, 1));
        assert_eq!(tally.skipped, ["a: needs root to mount"]);
    }

    #[test]
    fn output_of_passed_tests_is_hidden_and_failures_are_shown() {
        let mut listener = OutputListener::default();
        let shown: Vec<&str> = OUTPUT.lines().filter(|line| listener.parse_line(line)).collect();
        let shown = shown.join("\n");
        assert!(!shown.contains("talk"), "{shown}");
        for kept in ["test b ... ok", "skipped: needs root", "why c failed", "test result: "] {
            assert!(shown.contains(kept), "{kept} in {shown}");
        }
    }

    #[test]
    fn a_crash_without_a_result_counts_as_one_failure() {
        assert_eq!(OutputListener::default().tally(false).failed, 1);
        assert_eq!(OutputListener::default().tally(true).failed, 0);
    }

    #[test]
    fn custom_test_programs_may_skip() {
        let mut listener = OutputListener::default();
        assert!(listener.parse_line("skipped: no loop devices"));
        assert_eq!(listener.tally(true).skipped, ["no loop devices"]);
    }
}
