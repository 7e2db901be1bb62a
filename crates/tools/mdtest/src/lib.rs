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
use treering_kit::imitation::JobResult;
use treering_kit::imitation::option_words::OptionNames;

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
        NAMES.declared_words(words)
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

/// Names that mdtest spells otherwise. `-V` takes a value here; elsewhere it prints a version.
static NAMES: OptionNames = OptionNames {
    declared: options::MANIFEST.classic,
    long: &[("posix.odirect", "direct")],
    letters: &[('V', "verbosity")],
    counted: &[],
    numbers: &["data-offset"],
};

#[cfg(test)]
mod tests {
    use super::NAMES;

    #[test]
    fn options_are_those_of_the_original() {
        for (typed, expected) in [
            ("--saveRankPerformanceDetails=A.csv", "--save-rank-performance-details=A.csv"),
            ("--savePerOpDataCSV op", "--save-per-op-data-csv=op"),
            ("--print-all-procs -L", "--print-all-procs --leaf-only"),
            ("-V3", "--verbosity=3"),
            ("-V=2 -vvv", "--verbosity=2 --verbose"),
            (
                "-FCu -n 1k -G=-5",
                "--items=1024 --data-offset=-5 --only-files --only-create \
                                  --unique-dir",
            ),
            ("--posix.odirect=1", "--direct"),
            ("--posix.odirect=0", ""),
            ("--dataPacketType=incompressible", "--data-packet-type=incompressible"),
        ] {
            let words = typed.split(' ').map(str::to_owned).collect();
            assert_eq!(NAMES.declared_words(words).join(" "), expected, "{typed}");
        }
    }
}
