//! Page at the end of `treering run`: short summary, store location, suggested commands.

use treering_analysis::summary;
use treering_model::{Metric, Scope, Trial, Unit, counted};

use super::figures::{few_beyond, kinds_in_short, requests};
use super::identity::{duration, ending_sentence, metric_words};
use super::trial::sentence;
use super::{layouts, trace};
use crate::{Block, Cell, Report, Warning};

/// Store location of a trial.
#[derive(Clone, Copy, Debug)]
pub struct StoreLocation<'s> {
    /// Shortest unique id of the trial in the store.
    pub short_id: &'s str,
    /// Path of the store's file.
    pub place: &'s str,
}

/// Most rows of a table of requests; the page of the trial has all.
const ROWS_MAX: usize = 6;

/// First caution, with the number of the others. While the trial ran, each was printed.
fn first_caution(trial: &Trial) -> Option<Warning> {
    let (first, others) = trial.cautions.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        more => format!("; and {}", counted(more, "more caution")),
    };
    Some(Warning {
        code: first.code.name().to_owned(),
        message: format!("{}{more}", first.message),
        advice: String::new(),
    })
}

/// Page at the end of a run; `stored` is `None` when the trial was not stored.
pub fn page(trial: &Trial, stored: Option<&StoreLocation<'_>>) -> Report {
    let beginning = &trial.beginning;
    let mut page = Report::new(format!("{} ({})", beginning.workload, beginning.mode.name()));
    page.paragraph(sentence(trial));
    let caution = first_caution(trial);
    page.blocks.extend(caution.map(|first| Block::Cautions { cautions: vec![first] }));
    let summary = summary(trial);
    if !summary.requests.is_empty() {
        let shown = &summary.requests[..summary.requests.len().min(ROWS_MAX)];
        page.table(requests(shown));
        page.blocks.extend(few_beyond(shown).map(|text| Block::Note { text }));
    } else if summary.kinds.is_empty() {
        page.paragraph("No task completed, so there are no measurements.");
    } else {
        page.table(kinds_in_short(&summary.kinds));
    }
    if layouts::is_aging(trial) {
        layouts::add_aging(&mut page, trial);
        layouts::add(&mut page, trial, false);
        page.heading("Run");
    } else {
        layouts::add_found(&mut page, trial);
        trace::add_found(&mut page, trial);
    }
    // Figures of the kinds are in the table above.
    let of_trial = trial.metrics.iter().filter(|m| m.primary && m.scope == Scope::Trial);
    let words = |metric: &Metric| match metric.unit {
        // A latency is printed in the unit that suits its size.
        Unit::Nanoseconds => metric_words(&metric.name, metric.unit),
        _ => metric.name.replace('_', " "),
    };
    let figures = of_trial.map(|metric| (words(metric), Cell::measured(metric.value, metric.unit)));
    let ending = [
        ("ended".to_owned(), ending_sentence(&trial.ending)),
        ("duration".to_owned(), duration(trial.wall_ns)),
        ("target".to_owned(), Cell::some_text(&beginning.target)),
        ("stored".to_owned(), stored.map_or_else(|| Cell::text("no"), |s| Cell::text(s.place))),
    ];
    page.key_values(figures.chain(ending));
    if let Some(stored) = stored {
        page.command("All figures", &format!("treering show {}", stored.short_id));
    }
    page
}
