//! Counts of passed, failed and skipped tests and steps.

use std::fmt;

/// Counts of one step, or of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestTally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Tests that skipped themselves, with their reasons.
    pub(crate) skipped: Vec<String>,
}

impl TestTally {
    pub(crate) fn from_result(passed: bool) -> Self {
        Self { passed: usize::from(passed), failed: usize::from(!passed), skipped: Vec::new() }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
    }
}

impl fmt::Display for TestTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        match self.skipped.len() {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TestTally;

    #[test]
    fn the_summary_mentions_skips_only_if_there_are_any() {
        let mut tally = TestTally { passed: 3, failed: 0, skipped: Vec::new() };
        assert_eq!(tally.to_string(), "3 passed, 0 failed");
        tally.skipped.push("a: not root".to_owned());
        assert_eq!(tally.to_string(), "3 passed, 0 failed, 1 skipped");
    }
}
