//! Import of what programs write that measure anything: hyperfine, Google Benchmark, the kernel
//! test robot, fsperf, md-workbench, and tables of numbers (CSV). They are recognized by their
//! structure, whatever the file is called.

pub(crate) mod fsperf;
mod google_benchmark;
mod hyperfine;
mod lkp;
mod md_workbench;
mod table;

use serde::de::DeserializeOwned;
use treering_kit::Tool;
use treering_kit::import::Remark;
use treering_kit::import::document::{BYTES_MOST, extent};
use treering_kit::import::log::Log;

/// Entry of hyperfine in the tool registry.
pub(crate) const HYPERFINE: Tool =
    Tool { workload: None, importer: Some(&hyperfine::HyperfineImporter) };
/// Entry of Google Benchmark in the tool registry.
pub(crate) const GOOGLE_BENCHMARK: Tool =
    Tool { workload: None, importer: Some(&google_benchmark::GoogleBenchmarkImporter) };
/// Entry of the kernel test robot's tables in the tool registry.
pub(crate) const LKP: Tool = Tool { workload: None, importer: Some(&lkp::LkpImporter) };
/// Entry of fsperf's results in the tool registry.
pub(crate) const FSPERF: Tool = Tool { workload: None, importer: Some(&fsperf::FsperfImporter) };
/// Entry of md-workbench in the tool registry.
pub(crate) const MD_WORKBENCH: Tool =
    Tool { workload: None, importer: Some(&md_workbench::MdWorkbenchImporter) };
/// Entry of tables of numbers in the tool registry.
pub(crate) const TABLE: Tool = Tool { workload: None, importer: Some(&table::TableImporter) };

/// Document of a program and the line after it, or the remark why it cannot be read.
struct ParsedDocument<T> {
    end: usize,
    content: Result<T, Remark>,
}

/// Reads the JSON document of a program that begins at this line.
fn document<T: DeserializeOwned>(
    log: &Log<'_>,
    at: usize,
    program: &str,
    begins: impl Fn(usize) -> bool,
) -> ParsedDocument<T> {
    let (text, end) = extent(log, at, begins);
    if text.len() > BYTES_MOST {
        let what = format!("a document of {program} has at most {} MiB", BYTES_MOST >> 20);
        return ParsedDocument { end, content: Err(Remark { line: at + 1, what }) };
    }
    let read = serde_json::from_str(&text).or_else(|error| {
        // Google Benchmark writes numbers that are none as words, which is no JSON.
        let repaired = text
            .replace(": NaN", ": null")
            .replace(": Infinity", ": null")
            .replace(": -Infinity", ": null");
        if repaired == text { Err(error) } else { serde_json::from_str(&repaired) }
    });
    let content = read.map_err(|error| {
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or_default();
        let line = (at + error.line().max(1)).min(end.max(1));
        let column = error.column();
        let what = format!("column {column}: this JSON of {program} cannot be read: {words}");
        Remark { line, what }
    });
    ParsedDocument { end, content }
}

/// Value that a trial can hold: finite and not negative.
fn measured(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite() && *value >= 0.0)
}
