//! Trials in the overview: detail pages with figures, cautions, parameters and environment, and
//! lists of trials.

use maud::{Markup, html};
use treering_model::{Trial, TrialId};

use super::Overview;
use super::packed::{DetailPage, PagePack};
use crate::escape::visible;
use crate::formats::html::{tone_class, whole};
use crate::pages::identity::{ending_word, in_short, utc};
use crate::pages::trial::{TrialView, page};

/// Number of trials in a pack, and in a list.
const PACKED: usize = 500;
const COLUMNS: [&str; 7] =
    ["trial", "started (UTC)", "workload", "variant", "label", "ending", "measured"];
/// Maximum number of metrics in a list row.
const METRICS: usize = 2;

/// A trial as read from a store.
#[derive(Clone, Debug)]
pub struct StoredTrial {
    /// Short id of the trial in the store.
    pub name: String,
    /// Trial without tasks and calls.
    pub trial: Trial,
    /// Short id of its campaign's first trial; empty outside campaigns.
    pub campaign: String,
    /// Command line that repeats the trial.
    pub command: Option<String>,
}

/// Packs the newest trials as far as the size limit allows; returns the packs and the number of
/// trials in them.
pub(super) fn packs<E>(
    overview: &Overview<'_>,
    mut load: impl FnMut(&[(TrialId, String)]) -> Result<Vec<StoredTrial>, E>,
    room: usize,
) -> Result<(Vec<PagePack>, usize), E> {
    let (mut packs, mut used, mut count) = (Vec::new(), 0, 0);
    for (list, names) in overview.trials.chunks(PACKED).enumerate() {
        let trials = load(names)?;
        let has_more = count + trials.len() < overview.trials.len();
        let mut details: Vec<DetailPage> = trials.iter().map(detail).collect();
        let markup = list_of(list, &trials, has_more);
        details.push(DetailPage { name: list_name(list), markup });
        let pack = PagePack::new(&details);
        used += pack.bytes();
        if used > room {
            break;
        }
        count += trials.len();
        packs.push(pack);
    }
    Ok((packs, count))
}

fn list_name(list: usize) -> String {
    format!("trials-{}", list + 1)
}

fn detail(stored: &StoredTrial) -> DetailPage {
    let StoredTrial { name, trial, campaign, command } = stored;
    let view = TrialView { short_id: name, command: command.as_deref(), ..TrialView::default() };
    let mut shown = trial.clone();
    // A value of several lines is a document, which is too long for a list.
    shown.facts.retain(|fact| !fact.value.contains('\n'));
    let markup = html! {
        (whole(&page(&shown, &view)))
        @if !campaign.is_empty() {
            p { "A trial of " a href=(format!("#comparison-{campaign}")) { "its campaign" } "." }
        }
        p class="aside" {
            "Calls, tasks and charts: "
            code { "treering show ID --tasks --format html -o trial.html" }
        }
    };
    DetailPage { name: format!("trial-{name}"), markup }.without_sort_keys()
}

fn list_of(list: usize, trials: &[StoredTrial], has_more: bool) -> Markup {
    html! {
        h1 { "Trials " (list * PACKED + 1) " to " (list * PACKED + trials.len()) ", newest first" }
        p {
            @if list > 0 { a href=(format!("#{}", list_name(list - 1))) { "Newer trials" } " " }
            @if has_more { a href=(format!("#{}", list_name(list + 1))) { "Older trials" } }
        }
        div class="scroll" tabindex="0" role="region" aria-label="Trials" {
            table {
                thead {
                    tr {
                        @for name in COLUMNS {
                            th scope="col" { (name) }
                        }
                    }
                }
                tbody { @for trial in trials { (row(trial)) } }
            }
        }
    }
}

fn row(stored: &StoredTrial) -> Markup {
    let beginning = &stored.trial.beginning;
    let variant = beginning.cell.as_ref().map(|cell| cell.variant.as_str());
    let variant = variant.or_else(|| stored.trial.fact("filesystem.type")).unwrap_or("–");
    let ending = ending_word(Some(&stored.trial.ending), stored.trial.exclusion().is_some());
    let primary = stored.trial.metrics.iter().filter(|metric| metric.primary);
    let measured: Vec<String> = primary.take(METRICS).map(in_short).collect();
    html! {
        tr {
            th scope="row" { a href=(format!("#trial-{}", stored.name)) { (stored.name) } }
            td { (utc(beginning.started_unix_ms)) }
            td { (visible(&beginning.workload)) " (" (beginning.mode.name()) ")" }
            td { (visible(variant)) }
            td class="wraps" { (visible(&beginning.label)) }
            td { span class=(format!("tone {}", tone_class(ending.tone()))) { (ending.shown("")) } }
            td { (visible(&measured.join(", "))) }
        }
    }
}

/// Trial lists in the overview.
pub(super) fn table(overview: &Overview<'_>, trials: usize) -> Markup {
    html! {
        @if trials > 0 {
            h2 id="trials" { "Trials" }
            p {
                (trials) " of " (overview.all_trials) " trials are in this file, newest first: "
                @for list in 0..trials.div_ceil(PACKED) {
                    a href=(format!("#{}", list_name(list))) {
                        (list * PACKED + 1) "–" ((list * PACKED + PACKED).min(trials))
                    }
                    " "
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use treering_analysis::history::History;
    use treering_model::{Ending, RunMode, Trial, TrialHeader, TrialId};

    use super::{StoredTrial, packs};
    use crate::PageOrigin;
    use crate::overview::{MOST_BYTES, Overview, render};

    fn load(names: &[(TrialId, String)]) -> Vec<StoredTrial> {
        let stored = |(id, name): &(TrialId, String)| StoredTrial {
            name: name.clone(),
            trial: Trial {
                ending: Ending::Completed,
                wall_ns: 1,
                ..Trial::new(TrialHeader::new(*id, "fs_mark", RunMode::Native))
            },
            campaign: String::new(),
            command: Some("treering run fs_mark --dir /mnt".to_owned()),
        };
        names.iter().map(stored).collect()
    }

    #[test]
    fn oldest_trials_are_dropped_and_counted() {
        let history = History { series: Vec::new(), left_out: 0 };
        let named = |number| (TrialId::new(), format!("{number:08}"));
        let trials: Vec<(TrialId, String)> = (0..1200).map(named).collect();
        let origin = PageOrigin::default();
        let overview = Overview {
            history: &history,
            by: "date",
            anchor: None,
            recent: 20,
            campaigns: &[],
            all_campaigns: 0,
            trials: &trials,
            all_trials: 1300,
            origin: &origin,
        };
        let loads = |names: &[(TrialId, String)]| Ok::<_, Infallible>(load(names));
        let Ok((whole, count)) = packs(&overview, loads, MOST_BYTES);
        assert_eq!((whole.len(), count), (3, 1200));
        let Ok((newest, count)) = packs(&overview, loads, whole[0].bytes() + 10);
        assert_eq!((newest.len(), count), (1, 500));
        assert!(newest[0].element().0.contains("trial-00000000 "), "the newest");
        let Ok(page) = render(&overview, loads);
        assert!(page.html.contains("Details of 100 of 1300 trials"), "{}", page.summary);
        assert!(page.html.contains("treering list -n 1300"), "the command that shows them");
    }
}
