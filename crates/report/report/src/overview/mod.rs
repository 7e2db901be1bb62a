//! Overview of a whole store in one HTML file: all series, with detail pages for each series,
//! comparison and trial.
//!
//! The overview is markup that is readable without a script. The details are pages like those of
//! `treering history`, `report` and `show`, compressed (`packed`) so that ten thousand trials can
//! be mailed; a script unpacks the page named by the URL's fragment. Details beyond the size limit
//! are left out, the oldest trials first, with a note on the page.

mod comparisons;
mod matrix;
mod notable;
mod packed;
mod series;
mod trials;

use std::collections::HashMap;

use maud::{Markup, html};
use treering_analysis::history::{FEWEST_POINTS, History, HistorySeries};
use treering_model::TrialId;

pub use comparisons::{CampaignTrial, ComparedCampaign};
pub use trials::StoredTrial;

use self::packed::PagePack;
use crate::PageOrigin;
use crate::escape::visible;
use crate::formats::html::{frame, of_origin};
use crate::pages::history::HistoryView;

/// Approximate maximum size of a file, in bytes.
pub(crate) const MOST_BYTES: usize = 5_000_000;
/// Maximum number of trials in a file.
pub const MOST_TRIALS: usize = 10_000;
/// Maximum number of campaigns in a file.
pub const MOST_CAMPAIGNS: usize = 50;

const STYLE: &str = include_str!("overview.css");
const SCRIPT: &str = include_str!("overview.js");

/// Contents of an overview.
#[derive(Debug)]
pub struct Overview<'a> {
    /// Series with their explained changes.
    pub history: &'a History,
    /// Key that separates points: `date`.
    pub by: &'a str,
    /// Variant by which values are divided.
    pub anchor: Option<&'a str>,
    /// Number of newest points that count as recent.
    pub recent: usize,
    /// Newest comparable campaigns, newest first.
    pub campaigns: &'a [ComparedCampaign],
    /// Number of campaigns in the store.
    pub all_campaigns: usize,
    /// Newest trials with their short ids in the store, newest first.
    pub trials: &'a [(TrialId, String)],
    /// Number of trials in the store.
    pub all_trials: usize,
    /// Origin of the figures, the foot of the file.
    pub origin: &'a PageOrigin,
}

/// A rendered overview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedOverview {
    /// Text of the HTML file.
    pub html: String,
    /// Summary of all series in a sentence.
    pub summary: String,
    /// Number of trials included.
    pub trials: usize,
}

/// Renders the overview. Trials are loaded in batches of one pack.
///
/// # Errors
/// Errors of `load`.
pub fn render<E>(
    overview: &Overview<'_>,
    load: impl FnMut(&[(TrialId, String)]) -> Result<Vec<StoredTrial>, E>,
) -> Result<RenderedOverview, E> {
    let view = HistoryView { by: overview.by, anchor: overview.anchor, draws: true };
    let names = overview.trials.iter().map(|(trial, name)| (*trial, name.as_str()));
    let names: HashMap<TrialId, &str> = names.collect();
    let notable = notable::notable_series(overview.history, overview.recent);
    let matrix = matrix::Matrix::new(overview.history, &notable);
    let mut packs = series::packs(overview, &matrix, &view, &names);
    packs.extend(comparisons::packs(overview.campaigns));
    let is_judged = |series: &HistorySeries| series.points.len() >= FEWEST_POINTS;
    let top = html! {
        (comparisons::newest(overview))
        (notable::summary(overview, &notable))
        (comparisons::table(overview))
        @if overview.history.series.iter().any(is_judged) {
            (matrix.markup(&view))
        } @else {
            details { summary { "Series with too few points to be judged" } (matrix.markup(&view)) }
        }
    };
    let used: usize = packs.iter().map(PagePack::bytes).sum();
    let room = MOST_BYTES.saturating_sub(used + top.0.len() + FRAME_BYTES);
    let (of_trials, trials) = trials::packs(overview, load, room)?;
    packs.extend(of_trials);
    let body = body(overview, &top, &packs, trials);
    let html = frame("Overview of a store", STYLE, SCRIPT, &body).into_string() + "\n";
    Ok(RenderedOverview { html, summary: notable::sentence(overview, &notable), trials })
}

/// Size of the style, script and fixed text in every file, in bytes.
const FRAME_BYTES: usize = 40_000;

fn body(overview: &Overview<'_>, top: &Markup, packs: &[PagePack], trials: usize) -> Markup {
    html! {
        div id="overview" {
            h1 { "Overview of a store" }
            (top)
            (trials::table(overview, trials))
            h2 { "What is left out" }
            (left_out(overview, trials))
            (of_origin(overview.origin))
        }
        // Filled by the script, which moves the focus here.
        article id="detail" hidden tabindex="-1" {}
        noscript {
            p class="note" {
                "The details of series, comparisons and trials are shown by the script of this "
                "file. Without it, use " code { "treering history" } ", " code { "treering report" }
                " and " code { "treering show ID" } "."
            }
        }
        @for pack in packs { (pack.element()) }
    }
}

fn left_out(overview: &Overview<'_>, trials: usize) -> Markup {
    let omitted = overview.all_trials - trials;
    let campaigns = overview.all_campaigns - overview.campaigns.len();
    html! {
        ul {
            @if omitted > 0 {
                li {
                    "Details of " (omitted) " of " (overview.all_trials) " trials, the oldest and "
                    "those that still run: the file has at most " (MOST_TRIALS) " trials and about "
                    (MOST_BYTES / 1_000_000) " MB. Their values are in the series. "
                    code { "treering list -n " (overview.all_trials) } ", "
                    code { "treering show ID" }
                }
            }
            @if campaigns > 0 {
                li {
                    "Comparisons of " (campaigns) " of " (overview.all_campaigns) " campaigns: "
                    "older ones than the newest " (MOST_CAMPAIGNS)
                    ", and those with fewer than two variants that can be compared. "
                    code { "treering report --campaign ID" }
                }
            }
            @if overview.history.left_out > 0 {
                li {
                    (overview.history.left_out) " trials are in no series: they failed, are "
                    "excluded, belong to a watched series, or have no point by "
                    (visible(overview.by)) "."
                }
            }
            li {
                "Of every trial calls, tasks, seconds, charts, and facts of several lines: "
                code { "treering show ID --tasks --seconds --format html -o trial.html" }
            }
            li {
                "Of every comparison latencies, rates over time, aging, the whole environment and "
                "raw numbers: "
                code { "treering report --campaign ID --format html -o report.html" }
            }
            li {
                "Metrics that do not decide comparisons: "
                code { "treering store overview --metric NAME" }
            }
        }
    }
}
