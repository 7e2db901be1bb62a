//! The campaigns of a store: in the overview a row with the verdict, behind it the whole comparison
//! with its plan and its trials.

use maud::{Markup, html};

use super::Overview;
use super::packed::{Detail, Packed};
use crate::escape::visible;
use crate::formats::html::whole;
use crate::pages::identity::utc;
use crate::{Block, Report};

/// Comparisons in a pack.
const PACKED: usize = 4;

/// A campaign that was compared.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The short name of its first trial.
    pub name: String,
    /// Milliseconds since 1970 (UTC) when it began.
    pub started_unix_ms: i64,
    /// The plan's name.
    pub plan: String,
    /// The plan as it was written; empty where it is not known.
    pub text: String,
    /// The comparison.
    pub report: Report,
    /// Its trials in the order of time.
    pub trials: Vec<CampaignTrial>,
}

/// A trial of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignTrial {
    /// The short name of the trial; empty where it is not in the file.
    pub name: String,
    /// Its variant.
    pub variant: String,
    /// Its job.
    pub job: String,
    /// Its round, or what it was beside the rounds.
    pub round: String,
    /// How it ended.
    pub ending: &'static str,
}

impl Campaign {
    /// What its page says first.
    fn verdict(&self) -> &str {
        let mut paragraphs = self.report.blocks.iter().filter_map(|block| match block {
            Block::Paragraph { text } => Some(text.as_str()),
            _ => None,
        });
        paragraphs.next().unwrap_or_default()
    }

    /// Everything but what only files of their own have room for.
    fn short(&self) -> Report {
        let blocks = self.report.blocks.iter();
        let kept =
            blocks.filter(|block| matches!(block, Block::Chart(_)) || !block.is_beside_text());
        let title = format!("{}: {}", self.plan, self.report.title);
        Report { title, blocks: kept.cloned().collect() }
    }

    fn markup(&self) -> Markup {
        html! {
            (whole(&self.short()))
            p class="aside" { "Campaign " (self.name) ", begun " (utc(self.started_unix_ms)) "." }
            h2 { "Trials" }
            div class="scroll" tabindex="0" role="region" aria-label="Trials of the campaign" {
                table {
                    thead {
                        tr {
                            @for name in ["trial", "round", "variant", "job", "ending"] {
                                th scope="col" { (name) }
                            }
                        }
                    }
                    tbody { @for trial in &self.trials { (row(trial)) } }
                }
            }
            @if !self.text.is_empty() {
                h2 { "Plan" }
                pre class="copied" {
                    @for line in self.text.lines() { (visible(line)) "\n" }
                }
            }
        }
    }
}

fn row(trial: &CampaignTrial) -> Markup {
    html! {
        tr {
            th scope="row" {
                @if trial.name.is_empty() { "–" } @else {
                    a href=(format!("#trial-{}", trial.name)) { (trial.name) }
                }
            }
            td { (trial.round) }
            td { (visible(&trial.variant)) }
            td class="wraps" { (visible(&trial.job)) }
            td { (trial.ending) }
        }
    }
}

/// The comparisons, packed.
pub(super) fn packs(campaigns: &[Campaign]) -> Vec<Packed> {
    let detail = |campaign: &Campaign| Detail {
        name: format!("comparison-{}", campaign.name),
        markup: campaign.markup(),
    };
    let details: Vec<Detail> = campaigns.iter().map(detail).collect();
    details.chunks(PACKED).map(Packed::of).collect()
}

/// The comparisons in the overview.
pub(super) fn table(overview: &Overview<'_>) -> Markup {
    html! {
        @if !overview.campaigns.is_empty() {
            h2 id="comparisons" { "Comparisons" }
            div class="scroll" tabindex="0" role="region" aria-label="Comparisons" {
                table {
                    thead {
                        tr {
                            th scope="col" { "plan" }
                            th scope="col" { "began (UTC)" }
                            th scope="col" class="r" { "trials" }
                            th scope="col" { "verdict" }
                        }
                    }
                    tbody {
                        @for campaign in overview.campaigns {
                            tr {
                                th scope="row" {
                                    a href=(format!("#comparison-{}", campaign.name)) {
                                        (visible(&campaign.plan))
                                    }
                                }
                                td { (utc(campaign.started_unix_ms)) }
                                td class="r" { (campaign.trials.len()) }
                                td class="wraps verdict" { (visible(campaign.verdict())) }
                            }
                        }
                    }
                }
            }
        }
    }
}
