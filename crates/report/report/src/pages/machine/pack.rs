//! Page about a pack of trials: its contents, and the names that are left out.

use treering_model::{TrialEvent, Unit};

use crate::{Cell, Column, Report, Table};

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
    let columns = vec![Column::text("what"), Column::mixed("amount")];
    let mut table = Table::new("written", "What is written", columns);
    let rows = [
        ("plans", counts.plans),
        ("trials", counts.trials),
        ("facts of the environment", counts.facts),
        ("tasks", counts.tasks),
        ("metrics", counts.metrics),
        ("labels given and exclusions", counts.annotations),
        ("what observers made", counts.artifacts),
    ];
    table.rows.extend(rows.map(|(what, count)| vec![Cell::text(what), Cell::whole(count)]));
    let size = Cell::measured(counts.bytes as f64, Unit::Bytes);
    table.rows.push(vec![Cell::text("size of it, not compressed"), size]);
    page.table(table);
    let Some(left_out) = names else {
        page.paragraph("Names, paths and serial numbers are written as they are.");
        return page;
    };
    let columns = ["what", "left out", "written instead"].map(Column::text);
    let columns = columns.into_iter().chain([Column::mixed("times")]).collect();
    let mut table = Table::new("left_out", "What is left out", columns);
    let mut hidden = 0;
    for of_kind in left_out.chunk_by(|one, other| one.kind == other.kind) {
        hidden += of_kind.len().saturating_sub(NAMES_SHOWN);
        table.rows.extend(of_kind.iter().take(NAMES_SHOWN).map(|one| {
            let texts = [one.kind, &one.name, &one.instead].map(Cell::text);
            texts.into_iter().chain([Cell::whole(one.times)]).collect()
        }));
    }
    page.table(table);
    if hidden > 0 {
        page.paragraph(format!("Left out likewise: {hidden} more names."));
    }
    page
}
