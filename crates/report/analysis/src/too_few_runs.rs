//! Labels with too few imported runs for any result to become significant.

use std::collections::{BTreeMap, BTreeSet};

use treering_model::{Ending, TrialHeader};
use treering_stats::{ALPHA, smallest_rounds};

/// Imported trial with the data that determine its comparisons.
#[derive(Clone, Copy, Debug)]
pub struct ImportedRun<'a> {
    /// Identity of the trial.
    pub beginning: &'a TrialHeader,
    /// End of the trial.
    pub ending: &'a Ending,
    /// Full names of its primary metrics.
    pub primary: &'a BTreeSet<String>,
}

/// Label with several runs, but too few to show a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooFewRuns {
    /// Label of the runs.
    pub label: String,
    /// Number of runs of the job with the fewest runs.
    pub runs: u32,
    /// Number of results of all jobs, which are corrected together.
    pub results: usize,
    /// Fewest runs with which one of these results can become significant.
    pub fewest: u32,
}

/// Finds labels with several runs, but too few for any of their results to become significant.
pub fn too_few_runs<'a>(runs: impl IntoIterator<Item = ImportedRun<'a>>) -> Vec<TooFewRuns> {
    let mut labels: BTreeMap<&str, BTreeMap<_, (u32, BTreeSet<&String>)>> = BTreeMap::new();
    for run in runs.into_iter().filter(|run| *run.ending == Ending::Completed) {
        let header = run.beginning;
        let jobs = labels.entry(header.label.as_str()).or_default();
        let (count, primary) = jobs.entry((&header.workload, &header.parameters)).or_default();
        *count += 1;
        primary.extend(run.primary);
    }
    let judged = |(label, jobs): (&str, BTreeMap<_, (u32, BTreeSet<&String>)>)| {
        let runs = jobs.values().map(|(runs, _)| *runs).min()?;
        let results: usize = jobs.values().map(|(_, primary)| primary.len()).sum();
        let fewest = smallest_rounds(u32::try_from(results).ok()?, ALPHA).ok()?;
        let few = TooFewRuns { label: label.to_owned(), runs, results, fewest };
        (results > 1 && (2..fewest).contains(&runs)).then_some(few)
    };
    labels.into_iter().filter_map(judged).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use treering_model::{Ending, RunMode, TrialHeader, TrialId};

    use super::{ImportedRun, TooFewRuns, too_few_runs};

    /// Runs of fs_mark, `times` of them for each number of threads.
    fn few(threads: &[&str], times: usize) -> Vec<TooFewRuns> {
        let header = |threads: &&str| TrialHeader {
            label: "base".to_owned(),
            parameters: vec![("threads".to_owned(), threads.to_string())],
            ..TrialHeader::new(TrialId::new(), "fs_mark", RunMode::Classic)
        };
        let headers: Vec<TrialHeader> = threads.repeat(times).iter().map(header).collect();
        let primary = BTreeSet::from(["create/files_per_second".to_owned()]);
        let run =
            |beginning| ImportedRun { beginning, ending: &Ending::Completed, primary: &primary };
        too_few_runs(headers.iter().map(run))
    }

    #[test]
    fn six_runs_of_two_thread_counts_are_too_few_and_of_one_are_enough() {
        let label = "base".to_owned();
        let expected = TooFewRuns { label, runs: 6, results: 2, fewest: 7 };
        assert_eq!(few(&["1", "16"], 6), [expected]);
        assert_eq!(few(&["1", "16"], 7), []);
        assert_eq!(few(&["1"], 6), []);
        assert_eq!(few(&["1", "16"], 1), [], "single runs are compared within the run");
    }
}
