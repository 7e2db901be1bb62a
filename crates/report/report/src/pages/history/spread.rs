//! Page about the spread of layouts among runs that executed the same list of operations on equal
//! filesystems.

use std::collections::BTreeMap;

use treering_model::metrics::MetricSpec;
use treering_model::metrics::layout::{
    ADJACENT_SIBLINGS_PERCENT, EXTENTS_PER_FILE, FREE_EXTENTS, GAP_BYTES_P90,
    MODELLED_READ_SECONDS, SCORE_PERCENT, TRAVERSAL_SCORE_PERCENT,
};
use treering_model::{Metric, Scope, Trial};

use crate::table::RowField;
use crate::{Cell, Report, Table};

/// Metrics of a run's last layout, with their column names.
const MEASURES: [(&MetricSpec, &str); 7] = [
    (&EXTENTS_PER_FILE, "extents per file"),
    (&SCORE_PERCENT, "layout score"),
    (&TRAVERSAL_SCORE_PERCENT, "traversal score"),
    (&ADJACENT_SIBLINGS_PERCENT, "adjacent siblings"),
    (&GAP_BYTES_P90, "gap p90"),
    (&FREE_EXTENTS, "free extents"),
    (&MODELLED_READ_SECONDS, "read on hdd-7200"),
];
/// Fact with the fingerprint of a run's operations.
const LIST_FACT: &str = "age.fingerprint";
/// Facts that must be the same in equal filesystems, with their names on the page.
const EQUAL_FACTS: [(&str, &str); 6] = [
    ("filesystem.type", "filesystem"),
    ("filesystem.capacity_bytes", "bytes"),
    ("filesystem.geometry", "geometry"),
    ("filesystem.super_options", "mounted with"),
    ("image.fingerprint", "from the image"),
    ("kernel.release", "kernel"),
];
const FAST_FORWARD: &str = "fast-forward";

/// Facts (name, value) shared by the runs of one table.
type SharedFacts = Vec<(&'static str, String)>;

fn shared_facts(trial: &Trial) -> Option<SharedFacts> {
    let list = vec![("list of operations", trial.fact(LIST_FACT)?.to_owned())];
    let alike =
        EQUAL_FACTS.iter().filter_map(|&(fact, name)| Some((name, trial.fact(fact)?.to_owned())));
    let given = trial.beginning.parameters.iter();
    let given = given.filter(|(name, _)| name == FAST_FORWARD || name == "profile");
    let given = given.map(|(name, value)| {
        (if name == FAST_FORWARD { FAST_FORWARD } else { "profile" }, value.clone())
    });
    Some(list.into_iter().chain(alike).chain(given).collect())
}

/// Value of a metric in the last measured layout.
fn last(trial: &Trial, spec: &MetricSpec) -> Option<f64> {
    let of_phase =
        |metric: &&Metric| metric.name == spec.name && matches!(metric.scope, Scope::Phase(_));
    trial.metrics.iter().rfind(of_phase).map(|metric| metric.value)
}

/// Page with a table for each set of equal runs.
pub fn page(trials: &[Trial]) -> Report {
    let mut page = Report::new("Layouts of equal runs");
    let mut alike: BTreeMap<SharedFacts, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        if let Some(facts) = shared_facts(trial) {
            alike.entry(facts).or_default().push(trial);
        }
    }
    let alone = alike.values().filter(|trials| trials.len() == 1).count();
    for (number, (facts, trials)) in
        (1..).zip(alike.into_iter().filter(|(_, trials)| trials.len() > 1))
    {
        page.heading(&format!("{} runs", trials.len()));
        let row =
            |(name, value)| vec![RowField::text("what", name), RowField::long_text("value", value)];
        let caption = "What is equal in them.";
        let about = facts.into_iter().map(row);
        page.table(Table::from_rows(&format!("runs_{number}"), caption, about));
        page.table(spread(number, &trials));
    }
    if page.tables().next().is_none() {
        page.paragraph(
            "No list of operations was carried out twice on equal filesystems: repeat `treering \
             age` on a fresh one, or run a plan of one variant with `workload = \"age\"`.",
        );
    } else if alone > 0 {
        page.note(format!("{alone} runs have no equal one, and are left out"));
    }
    page
}

fn spread(number: u32, trials: &[&Trial]) -> Table {
    let caption = "The layout at the end of each run, over all of them; docs/layout.md defines the \
                   measures.";
    let row = |(spec, name): (&MetricSpec, &str)| {
        let values = trials.iter().filter_map(|trial| last(trial, spec));
        let mut values: Vec<f64> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let (one, other) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        let cell = |value: f64| Cell::measured(value, spec.unit);
        Some(vec![
            RowField::text("measure", name),
            RowField::count("n", values.len() as u64),
            RowField::mixed("lowest", cell(low)),
            RowField::mixed("median", cell(f64::midpoint(one, other))),
            RowField::mixed("highest", cell(high)),
        ])
    };
    Table::from_rows(&format!("spread_{number}"), caption, MEASURES.into_iter().filter_map(row))
}
