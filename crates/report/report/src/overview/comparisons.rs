//! Campaigns in the overview: a table row with the verdict, and a detail page with the whole
//! comparison, its plan and its trials.

use maud::{Markup, html};

use super::Overview;
use super::packed::{DetailPage, PagePack};
use crate::escape::visible;
use crate::formats::html::whole;
use crate::pages::identity::utc;
use crate::{Block, Chart, Report};

/// Number of comparisons in a pack.
const PACKED: usize = 4;

/// A compared campaign.
#[derive(Clone, Debug)]
pub struct ComparedCampaign {
    /// Short id of its first trial.
    pub name: String,
    /// Start time, in milliseconds since 1970 (UTC).
    pub started_unix_ms: i64,
    /// Name of the plan.
    pub plan: String,
    /// Text of the plan as written; empty if unknown.
    pub text: String,
    /// Page of the comparison.
    pub report: Report,
    /// Verdict of each contender in a sentence.
    pub verdicts: Vec<String>,
    /// Trials of the campaign in time order.
    pub trials: Vec<CampaignTrial>,
}

/// A trial of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignTrial {
    /// Short id of the trial; empty if it is not part of the file.
    pub name: String,
    /// Name of its variant.
    pub variant: String,
    /// Name of its job.
    pub job: String,
    /// Round number, or the trial's role outside the rounds.
    pub round: String,
    /// Word for how it ended.
    pub ending: &'static str,
}

impl ComparedCampaign {
    /// Page without the blocks for which only separate files have space.
    fn short(&self) -> Report {
        let blocks = self.report.blocks.iter();
        let kept =
            blocks.filter(|block| matches!(block, Block::Chart(_)) || !block.is_beside_text());
        let title = format!("{}: {}", self.plan, self.report.title);
        Report { blocks: kept.cloned().collect(), ..Report::new(title) }
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

/// Detail pages of the comparisons, packed.
pub(super) fn packs(campaigns: &[ComparedCampaign]) -> Vec<PagePack> {
    let detail = |campaign: &ComparedCampaign| DetailPage {
        name: format!("comparison-{}", campaign.name),
        markup: campaign.markup(),
    };
    let details: Vec<DetailPage> = campaigns.iter().map(detail).collect();
    details.chunks(PACKED).map(PagePack::new).collect()
}

/// Verdicts and picture of the newest comparison.
pub(super) fn newest(overview: &Overview<'_>) -> Markup {
    let campaign = overview.campaigns.first();
    let forest = campaign.and_then(|campaign| {
        campaign.report.blocks.iter().find_map(|block| match block {
            Block::Chart(chart @ Chart::Forest(_)) => Some(chart),
            _ => None,
        })
    });
    html! {
        @if let Some(campaign) = campaign {
            @for (place, verdict) in campaign.verdicts.iter().enumerate() {
                p class="lead" {
                    @if place == 0 { "Newest comparison, " (visible(&campaign.plan)) ": " }
                    (visible(verdict))
                }
            }
            @if let Some(chart) = forest { (chart.figure()) }
        }
    }
}

/// Table of the comparisons in the overview.
pub(super) fn table(overview: &Overview<'_>) -> Markup {
    html! {
        @if !overview.campaigns.is_empty() {
            h2 id="comparisons" { "Comparisons" }
            div class="scroll" tabindex="0" role="region" aria-label="Comparisons" {
                table {
                    thead {
                        tr {
                            th scope="col" { "plan" }
                            th scope="col" class="less" { "began (UTC)" }
                            th scope="col" class="r less" { "trials" }
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
                                td class="less" { (utc(campaign.started_unix_ms)) }
                                td class="r less" { (campaign.trials.len()) }
                                td class="wraps verdict" {
                                    @for verdict in &campaign.verdicts {
                                        div { (visible(verdict)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
