//! Page about a pack of trials: its contents, and the names that are left out.

use treering_model::{TrialEvent, Unit};

use crate::table::RowField;
use crate::{Cell, Report, Table};

/// Maximum number of names shown of each kind.
const NAMES_SHOWN: usize = 20;

/// Numbers of the packed records by kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct PackedCounts {
    /// Number of plans.
    pub plans: u64,
    /// Number of labels and exclusions.
    pub annotations: u64,
    trials: u64,
    facts: u64,
    tasks: u64,
    metrics: u64,
    artifacts: u64,
    /// Bytes of the artifacts.
    bytes: u64,
}

impl PackedCounts {
    /// Counts an event of a trial.
    pub fn count_event(&mut self, event: &TrialEvent) {
        match event {
            TrialEvent::Began(_) => self.trials += 1,
            TrialEvent::Environment { facts } => self.facts += facts.len() as u64,
            TrialEvent::TaskEnded(_) => self.tasks += 1,
            TrialEvent::Measured(_) => self.metrics += 1,
            TrialEvent::Produced(artifact) => {
                self.artifacts += 1;
                self.bytes += artifact.body.len() as u64;
            }
            _ => {}
        }
    }
}

/// Name that is left out of the pack.
#[derive(Clone, Debug)]
pub struct LeftOutName {
    /// Kind of the name.
    pub kind: &'static str,
    /// Name as found in the trials.
    pub name: String,
    /// Replacement for the name.
    pub instead: String,
    /// Number of replacements.
    pub times: u64,
}

/// Page about the packed and omitted contents. `names` holds the names that are left out; `None` if
/// all are written.
pub fn page(counts: &PackedCounts, names: Option<&[LeftOutName]>) -> Report {
    let mut page = Report::new("A pack of trials");
    let counts_of = [
        ("plans", counts.plans),
        ("trials", counts.trials),
        ("facts of the environment", counts.facts),
        ("tasks", counts.tasks),
        ("metrics", counts.metrics),
        ("labels given and exclusions", counts.annotations),
        ("what observers made", counts.artifacts),
    ];
    let size = Cell::measured(counts.bytes as f64, Unit::Bytes);
    let rows = counts_of
        .into_iter()
        .map(|(what, count)| (what, Cell::whole(count)))
        .chain([("size of it, not compressed", size)])
        .map(|(what, cell)| vec![RowField::text("what", what), RowField::mixed("amount", cell)]);
    page.table(Table::from_rows("written", "What is written", rows));
    let Some(left_out) = names else {
        page.paragraph("Names, paths and serial numbers are written as they are.");
        return page;
    };
    let kinds = || left_out.chunk_by(|one, other| one.kind == other.kind);
    let rows = kinds().flat_map(|of_kind| of_kind.iter().take(NAMES_SHOWN)).map(|name| {
        vec![
            RowField::text("what", name.kind),
            RowField::text("left out", &name.name),
            RowField::text("written instead", &name.instead),
            RowField::mixed("times", Cell::whole(name.times)),
        ]
    });
    page.table(Table::from_rows("left_out", "What is left out", rows));
    let hidden: usize = kinds().map(|of_kind| of_kind.len().saturating_sub(NAMES_SHOWN)).sum();
    if hidden > 0 {
        page.paragraph(format!("Left out likewise: {hidden} more names."));
    }
    page
}
