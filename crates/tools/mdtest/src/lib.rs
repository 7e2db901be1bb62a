//! mdtest: rates at which many ranks create, stat, rename, read and remove directories and files,
//! as the tool of that name.
//!
//! `shape` defines the tests and the owner of each rank's items, `tree` and `names` locate them,
//! `items` and `trees` work on them. Only the shape knows the number of ranks. Nothing here calls
//! the kernel.

mod classic;
pub mod composed;
mod config;
mod headline;
mod import;
mod items;
mod job;
mod names;
mod native;
mod options;
mod order;
mod output;
mod place;
mod session;
mod shape;
mod tree;
mod trees;

use treering_script::{
    ClassicMode, ConfigError, RankDistribution, Settings, Workload, WorkloadManifest,
};

use job::TestJob;
use treering_kit::imitation::{JobResult, with_dashes};

/// The line of mdtest in the registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&MdtestWorkload), importer: Some(&import::MdtestImporter) };

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct MdtestWorkload;

impl Workload for MdtestWorkload {
    fn manifest(&self) -> &'static WorkloadManifest {
        &options::MANIFEST
    }

    fn classic_words(&self, words: Vec<String>) -> Vec<String> {
        words.into_iter().flat_map(in_our_form).collect()
    }

    fn classic(&self, settings: &Settings) -> JobResult {
        Ok(Box::new(TestJob::classic(settings)?))
    }

    fn classic_mode(&self, settings: &Settings) -> Result<ClassicMode, ConfigError> {
        output::classic_mode(settings)
    }

    fn native(&self, settings: &Settings) -> JobResult {
        Ok(Box::new(TestJob::native(settings)?))
    }

    fn over_ranks(&self) -> RankDistribution {
        RankDistribution::Workers("workers")
    }

    fn ranks_option(&self) -> Option<&'static str> {
        Some("ranks")
    }
}

/// Converts a word to the declared form of options. `-V` takes a value here; elsewhere it prints a
/// version.
fn in_our_form(word: String) -> Vec<String> {
    match word.strip_prefix("-V") {
        Some(level) => {
            let level = level.trim_start_matches('=');
            let level = (!level.is_empty()).then(|| level.to_owned());
            std::iter::once("--verbosity".to_owned()).chain(level).collect()
        }
        None => match word.strip_prefix("--posix.odirect") {
            Some("" | "=1") => vec!["--direct".to_owned()],
            Some("=0") => Vec::new(),
            _ => vec![with_dashes(word)],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::in_our_form;
    use treering_kit::imitation::with_dashes;

    #[test]
    fn long_options_are_those_of_the_original() {
        for (typed, expected) in [
            ("--saveRankPerformanceDetails=A.csv", "--save-rank-performance-details=A.csv"),
            ("--savePerOpDataCSV", "--save-per-op-data-csv"),
            ("--print-all-procs", "--print-all-procs"),
            ("-L", "-L"),
        ] {
            assert_eq!(with_dashes(typed.to_owned()), expected);
        }
        assert_eq!(in_our_form("-V3".to_owned()), ["--verbosity", "3"]);
        assert_eq!(in_our_form("-V".to_owned()), ["--verbosity"]);
        assert_eq!(in_our_form("-vvv".to_owned()), ["-vvv"]);
        assert_eq!(in_our_form("--posix.odirect=1".to_owned()), ["--direct"]);
        assert!(in_our_form("--posix.odirect=0".to_owned()).is_empty());
    }
}
