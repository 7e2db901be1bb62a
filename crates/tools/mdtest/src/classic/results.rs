//! Times of each rank in each test of every iteration.

treering_model::named_enum! {
    /// A test, in the order of the original's table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Test {
        DirectoryCreation = "Directory creation",
        DirectoryStat = "Directory stat",
        DirectoryRead = "Directory read",
        DirectoryRename = "Directory rename",
        DirectoryRemoval = "Directory removal",
        FileCreation = "File creation",
        FileStat = "File stat",
        FileRead = "File read",
        FileRemoval = "File removal",
        TreeCreation = "Tree creation",
        TreeRemoval = "Tree removal",
    }
}

impl Test {
    /// Test of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|test| test.name() == name)
    }

    /// True for tests of which only rank 0 has a result.
    pub(crate) const fn is_tree_test(self) -> bool {
        matches!(self, Self::TreeCreation | Self::TreeRemoval)
    }
}

/// Times of a rank in a test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RankTime {
    /// Time until the rank reached the barrier after the test.
    pub seconds_before_barrier: f64,
    /// Time until all ranks reached the barrier.
    pub seconds: f64,
}

/// Results of a test in one iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TestResult {
    /// Number of items of each rank; for a tree, of its directories.
    pub items: u64,
    /// Times of each rank.
    pub ranks: Vec<RankTime>,
}

/// Items per second; 0 if there are none.
fn rate(items: u64, seconds: f64) -> f64 {
    if items == 0 { 0.0 } else { items as f64 / seconds }
}

impl TestResult {
    /// Times of a rank; 0 if it had no part in the test.
    pub(crate) fn of_rank(&self, rank: usize) -> RankTime {
        self.ranks.get(rank).copied().unwrap_or_default()
    }

    /// Rate of a rank, up to the time when all ranks reached the barrier.
    pub(crate) fn rate(&self, rank: usize) -> f64 {
        rate(self.items, self.of_rank(rank).seconds)
    }

    /// Rate of a rank, up to the time when it reached the barrier itself.
    pub(crate) fn rate_before_barrier(&self, rank: usize) -> f64 {
        rate(self.items, self.of_rank(rank).seconds_before_barrier)
    }
}

/// Results of one iteration; tests that were not run are empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct IterationResults {
    results: [TestResult; Test::ALL.len()],
}

impl IterationResults {
    /// The result of a test.
    pub(crate) fn result(&self, test: Test) -> &TestResult {
        &self.results[test as usize]
    }

    /// Sets the result of a test.
    pub(crate) fn set(&mut self, test: Test, result: TestResult) {
        self.results[test as usize] = result;
    }
}
