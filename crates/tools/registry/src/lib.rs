//! Registry of the tools in `TOOLS`, and the import that asks each of them.
//!
//! The registry also imports treering's own exports (`own`), results of programs that measure
//! anything (`general`), and result directories of MMTests.

mod files;
mod general;
mod import;
mod mmtests;
mod near_miss;
mod own;
mod strict;

use std::sync::LazyLock;

use treering_kit::Tool;
use treering_kit::import::Importer;
use treering_script::Workload;

pub use files::{
    ImportFile, ImportFileError, ImportFiles, ImportState, KnownOrigins, ORIGIN_FACTS,
    completed_trial, correction_reason, labels, read_files, remarks, take_place,
};
pub use import::{
    EmptyOutput, FileScan, ImportReader, ImportResult, OutputOutline, ToolOutput, import, tools,
};
use mmtests::{ResultFile, beginnings, results, tests};
pub use strict::{LostNumber, StoredNumbers};
pub use treering_kit::import::Remark;
pub use treering_kit::import::rows::PhaseRows;
pub use treering_kit::import::source::{ImportError, TextSource};
pub use treering_kit::import::trial::{ForeignTrial, ImportedTrial, events_of};

/// All tools, in the order in which they are listed and asked about a log.
const TOOLS: &[Tool] = &[
    own::TOOL,
    treering_compilebench::TOOL,
    treering_fs_mark::TOOL,
    treering_ffsb::TOOL,
    treering_fio::TOOL,
    treering_filebench::TOOL,
    treering_bonnie::TOOL,
    treering_dbench::TOOL,
    treering_blogbench::TOOL,
    treering_mdtest::TOOL,
    treering_ior::TOOL,
    treering_io500::TOOL,
    treering_postmark::TOOL,
    treering_age::TOOL,
    treering_command::TOOL,
    general::HYPERFINE,
    general::GOOGLE_BENCHMARK,
    general::LKP,
    general::FSPERF,
    general::MD_WORKBENCH,
    general::TABLE,
];

/// All workloads.
pub fn workloads() -> &'static [&'static dyn Workload] {
    static WORKLOADS: LazyLock<Vec<&'static dyn Workload>> =
        LazyLock::new(|| TOOLS.iter().filter_map(|tool| tool.workload).collect());
    &WORKLOADS
}

/// All importers.
fn importers() -> &'static [&'static dyn Importer] {
    static IMPORTERS: LazyLock<Vec<&'static dyn Importer>> =
        LazyLock::new(|| TOOLS.iter().filter_map(|tool| tool.importer).collect());
    &IMPORTERS
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::workloads;

    #[test]
    fn spellings_are_unique_and_documented() {
        for manifest in workloads().iter().map(|workload| workload.manifest()) {
            for specs in [manifest.classic, manifest.native] {
                let mut names = HashSet::new();
                let mut shorts = HashSet::new();
                for spec in specs {
                    let about = format!("{} --{}", manifest.name, spec.name);
                    assert!(names.insert(spec.name), "{about}");
                    assert!(spec.short.is_none_or(|short| shorts.insert(short)), "{about}");
                    assert!(spec.doc.ends_with('.'), "{about}");
                }
            }
        }
    }
}
