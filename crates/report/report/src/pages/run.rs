//! Page at the end of `treering run`: short summary, store location, suggested commands.

use treering_analysis::{KindSummary, Summary, summary};
use treering_model::{Ending, Scope, Trial, counted};

use super::figures::{few_beyond, kinds_in_short, requests};
use super::identity::ending_sentence;
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

/// Most rows of a table; the page of the trial has all.
const ROWS_MAX: usize = 5;

/// First caution, with the codes of the others. While the trial ran, each was printed.
fn first_caution(trial: &Trial) -> Option<Warning> {
    let (first, others) = trial.cautions.split_first()?;
    Some(Warning::from(first).before_others(others.iter().map(|other| other.code.name())))
}

/// Page at the end of a run, of at most some fifteen lines; `stored` is `None` when the trial was
/// not stored.
pub fn page(trial: &Trial, stored: Option<&StoreLocation<'_>>) -> Report {
    let beginning = &trial.beginning;
    let mut page = Report::answer(format!("{} ({})", beginning.workload, beginning.mode.name()));
    page.paragraph(sentence(trial));
    let caution = first_caution(trial);
    page.blocks.extend(caution.map(|first| Block::Cautions { cautions: vec![first] }));
    add_table(&mut page, trial, &summary(trial));
    let pair = |name: &str, words: String| (name.to_owned(), Cell::text(words));
    let mut pairs = Vec::new();
    if trial.ending != Ending::Completed {
        pairs.push(("ended".to_owned(), ending_sentence(&trial.ending)));
    }
    pairs.extend(layouts::aging_in_short(trial).map(|words| pair("aging", words)));
    pairs.extend(layouts::in_short(trial).map(|words| pair("layout", words)));
    pairs.extend(trace::in_short(trial).map(|words| pair("requests", words)));
    pairs.push(match stored {
        Some(StoreLocation { short_id, place }) => {
            pair("all figures", format!("treering show {short_id} (stored in {place})"))
        }
        None => pair("stored", "no".to_owned()),
    });
    page.key_values(pairs);
    page
}

/// The kinds of tasks that a screen holds, in the order of the run: those that decide a comparison
/// before others, and long ones before short ones.
fn most_important(trial: &Trial, kinds: &[KindSummary]) -> Vec<KindSummary> {
    let decides = |kind: &KindSummary| {
        let scope = Scope::Kind(kind.label());
        trial.metrics.iter().any(|metric| metric.primary && metric.scope == scope)
    };
    let seconds = |kind: &KindSummary| kind.seconds.median * kind.tasks as f64;
    let mut places: Vec<usize> = (0..kinds.len()).collect();
    places.sort_by(|&left, &right| {
        let (left, right) = (&kinds[left], &kinds[right]);
        let by_rank = decides(right).cmp(&decides(left));
        by_rank.then(seconds(right).total_cmp(&seconds(left)))
    });
    places.truncate(ROWS_MAX);
    places.sort_unstable();
    places.into_iter().map(|place| kinds[place].clone()).collect()
}

/// Adds the requests, or else the kinds of tasks, by rows that a screen holds.
fn add_table(page: &mut Report, trial: &Trial, summary: &Summary) {
    let (table, rows, all) = if summary.requests.is_empty() {
        let shown = most_important(trial, &summary.kinds);
        (kinds_in_short(&shown), summary.kinds.len(), "more kind")
    } else {
        (requests(&summary.requests), summary.requests.len(), "more row")
    };
    let more = rows.saturating_sub(ROWS_MAX);
    if table.rows.is_empty() {
        page.paragraph("No task completed, so there are no measurements.");
        return;
    }
    page.table(table.cut_to(ROWS_MAX));
    let shown = &summary.requests[..summary.requests.len().min(ROWS_MAX)];
    page.blocks.extend(few_beyond(shown).map(|text| Block::Note { text }));
    if more > 0 {
        page.note(format!("{} not shown", counted(more, all)));
    }
}
