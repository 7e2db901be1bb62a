//! Test durations, derived from the times at which results were printed.
//!
//! The stable test harness prints no times. It starts tests in the order of their names, the next
//! as soon as one has ended, so the times of the results are also the start times.

use std::time::Duration;

/// A test with its duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestTime {
    pub(super) duration: Duration,
    /// Names of the program and the test.
    pub(super) name: String,
}

/// Times of the results of one program.
#[derive(Default)]
pub(super) struct TestTimes {
    /// Tests in the order in which they ended, with the time since the start of the program.
    ended: Vec<(String, Duration)>,
}

impl TestTimes {
    /// Parses a line that was printed at this time after the start.
    pub(super) fn parse_line(&mut self, line: &str, since_start: Duration) {
        if let Some(name) = result_of(line) {
            self.ended.push((name.to_owned(), since_start));
        }
    }

    /// Durations of all tests, if `threads` tests ran at a time.
    pub(super) fn durations(self, program: &str, threads: usize) -> Vec<TestTime> {
        let mut names: Vec<&str> = self.ended.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let starts = vec![Duration::ZERO; threads];
        let starts = starts.into_iter().chain(self.ended.iter().map(|(_, at)| *at));
        let started: Vec<(&str, Duration)> = names.into_iter().zip(starts).collect();
        let duration_of = |(name, ended): &(String, Duration)| {
            let at = started.binary_search_by_key(&name.as_str(), |(name, _)| name);
            let start = at.map_or(Duration::ZERO, |at| started[at].1);
            TestTime { duration: ended.saturating_sub(start), name: format!("{program} {name}") }
        };
        self.ended.iter().map(duration_of).collect()
    }
}

/// Name of the test in a line such as `test a::b ... ok`.
fn result_of(line: &str) -> Option<&str> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let is_over = ["ok", "FAILED"].iter().any(|word| result.starts_with(word));
    is_over.then(|| name.trim_end_matches(" - should panic"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::TestTimes;

    #[test]
    fn test_durations_begin_at_the_end_of_an_earlier_test() {
        let mut times = TestTimes::default();
        for (line, at) in [
            ("running 4 tests", 0),
            ("test b ... ok", 2),
            ("test a ... FAILED", 5),
            ("test d - should panic ... ok", 6),
            ("test c ... ok", 9),
            ("test result: FAILED. 3 passed; 1 failed", 9),
        ] {
            times.parse_line(line, Duration::from_secs(at));
        }
        let durations: Vec<(String, u64)> = times
            .durations("p", 2)
            .into_iter()
            .map(|test| (test.name, test.duration.as_secs()))
            .collect();
        let expected = [("p b", 2), ("p a", 5), ("p d", 1), ("p c", 7)];
        assert_eq!(durations, expected.map(|(name, seconds)| (name.to_owned(), seconds)));
    }
}
