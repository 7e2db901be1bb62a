//! The vocabulary as a page for users, docs/metrics.md.

mod sections;

use std::fmt::Write as _;

use super::spec::MetricSpec;
use crate::Unit;
use sections::SECTIONS;

const HEAD: &str = "\
# Metrics

Every number by which trials are compared: its name, unit, better direction and meaning. Native
runs, classic runs and imported logs use the same name where the number is defined in the same way,
and different names where it is not.

In JSON and in plans a metric has the part of the trial before its name: `create/mib_per_second` of
a kind of task (or of a job of fio, an operation of dbench), `phase create/elapsed_seconds` of a
phase, `elapsed_seconds` of the whole trial. `*` in a name stands for a word that its meaning
explains.

`crates/model/src/metrics` declares them, and this page is made from it by
`cargo run -p treering-model --example metrics_page > docs/metrics.md`.
";

/// Renders docs/metrics.md.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for (title, specs) in SECTIONS {
        // Writing to a string does not fail.
        let _ =
            write!(page, "\n## {title}\n\n| name | unit | better | meaning |\n|---|---|---|---|\n");
        specs.iter().for_each(|spec| page += &row(spec));
    }
    page
}

fn row(spec: &MetricSpec) -> String {
    let name = spec.name.replace("{}", "*");
    let unit = match spec.unit {
        Unit::Count => "number",
        unit => unit.symbol(),
    };
    let better = spec.better.word();
    format!("| `{name}` | {unit} | {better} | {} |\n", spec.meaning.trim())
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn docs_metrics_md_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        let written = std::fs::read_to_string(path).unwrap();
        let is_same = written == page();
        let how = "cargo run -p treering-model --example metrics_page > docs/metrics.md";
        assert!(is_same, "docs/metrics.md is stale: {how}");
    }
}
