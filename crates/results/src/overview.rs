//! Trials and campaigns of a store for its overview: which are read, and how many at a time.

use std::collections::HashMap;

use treering_conduct::Failure;
use treering_model::{CellRole, PLAN_FACT, TrialId};
use treering_report::Report;
use treering_report::overview::{
    CampaignTrial, ComparedCampaign, MOST_CAMPAIGNS, MOST_TRIALS, StoredTrial,
};
use treering_report::pages::comparison::{PageDetail, sentences};
use treering_store::{Filter, LoadDetail, Store, TrialState, TrialSummary};

use crate::comparison::{ComparisonInput, ComparisonPage, StoredComparison};
use crate::comparison_request::ComparisonRequest;
use crate::history::SeriesRequest;
use crate::repeating::known_command_line;
use crate::store_error::failure;
use crate::trial_source::StoredTrials;

/// Trials that the file covers.
pub struct OverviewTrials<'s> {
    store: &'s Store,
    /// Summaries of the trials, newest first.
    summaries: Vec<TrialSummary>,
    /// Short names of the newest trials in the store.
    names: HashMap<TrialId, String>,
}

impl<'s> OverviewTrials<'s> {
    /// Reads the summaries of the trials of a workload and a plan, if these are named.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn read(store: &'s Store, series: &SeriesRequest<'_>) -> Result<Self, Failure> {
        let filter = Filter {
            workload: series.workload.map(str::to_owned),
            plan: series.plan.map(str::to_owned),
            ..Filter::default()
        };
        let summaries = store.trials(&filter).map_err(|error| failure(&error))?;
        let cells = summaries.iter().filter_map(|one| one.cell.as_ref());
        let mut ids: Vec<TrialId> = cells.map(|cell| cell.campaign).collect();
        ids.extend(summaries.iter().take(MOST_TRIALS).map(|one| one.trial));
        ids.sort_unstable();
        ids.dedup();
        let names = store.short_ids(&ids).map_err(|error| failure(&error))?;
        Ok(Self { store, summaries, names: ids.into_iter().zip(names).collect() })
    }

    fn name(&self, trial: TrialId) -> String {
        self.names.get(&trial).cloned().unwrap_or_default()
    }

    /// Number of the trials.
    pub fn count(&self) -> usize {
        self.summaries.len()
    }

    /// Newest trials that have ended, with their short names.
    pub fn newest(&self) -> Vec<(TrialId, String)> {
        let ended = self.summaries.iter().filter(|one| one.state != TrialState::Running);
        ended.take(MOST_TRIALS).map(|one| (one.trial, self.name(one.trial))).collect()
    }

    /// Trials of each campaign in the order of time, the newest campaign first.
    fn by_campaign(&self) -> Vec<(TrialId, Vec<&TrialSummary>)> {
        let mut campaigns: Vec<(TrialId, Vec<&TrialSummary>)> = Vec::new();
        let mut places: HashMap<TrialId, usize> = HashMap::new();
        for one in &self.summaries {
            let Some(cell) = &one.cell else { continue };
            let at = *places.entry(cell.campaign).or_insert_with(|| {
                campaigns.push((cell.campaign, Vec::new()));
                campaigns.len() - 1
            });
            campaigns[at].1.push(one);
        }
        campaigns.iter_mut().for_each(|(_, trials)| trials.reverse());
        campaigns
    }

    /// Number of campaigns of the trials.
    pub fn campaigns_count(&self) -> usize {
        self.by_campaign().len()
    }

    /// Newest campaigns, each with its page.
    ///
    /// # Errors
    /// When trials cannot be read.
    pub fn campaigns(&self) -> Result<Vec<ComparedCampaign>, Failure> {
        let mut campaigns = Vec::new();
        for (first, trials) in self.by_campaign().into_iter().take(MOST_CAMPAIGNS) {
            campaigns.extend(self.campaign(first, &trials)?);
        }
        Ok(campaigns)
    }

    fn campaign(
        &self,
        first: TrialId,
        trials: &[&TrialSummary],
    ) -> Result<Option<ComparedCampaign>, Failure> {
        let (name, own) = (self.name(first), trials.iter().map(|one| (*one).clone()).collect());
        let Some((report, verdicts)) = page_of_campaign(self.store, &name, own)? else {
            return Ok(None);
        };
        let Some((oldest, cell)) = trials.first().and_then(|one| Some((one, one.cell.as_ref()?)))
        else {
            return Ok(None);
        };
        let read = self.store.load_with_facts(&[oldest.trial], &[PLAN_FACT]);
        let read = read.map_err(|error| failure(&error))?;
        let text = read.iter().find_map(|trial| trial.fact(PLAN_FACT)).unwrap_or_default();
        Ok(Some(ComparedCampaign {
            name,
            started_unix_ms: oldest.started_unix_ms,
            plan: cell.plan.clone(),
            text: text.to_owned(),
            report,
            verdicts,
            trials: trials.iter().filter_map(|one| self.campaign_trial(one)).collect(),
        }))
    }

    fn campaign_trial(&self, one: &TrialSummary) -> Option<CampaignTrial> {
        let cell = one.cell.as_ref()?;
        let beside = cell.role.suffix();
        let round = match cell.role {
            CellRole::Round => cell.round.to_string(),
            _ => format!("{}{beside}", cell.round),
        };
        Some(CampaignTrial {
            name: self.name(one.trial),
            variant: cell.variant.clone(),
            job: cell.job.clone(),
            round,
            ending: one.state.name(),
        })
    }

    /// Loads trials with these short names.
    ///
    /// # Errors
    /// When trials cannot be read.
    pub fn load(&self, names: &[(TrialId, String)]) -> Result<Vec<StoredTrial>, Failure> {
        let ids: Vec<TrialId> = names.iter().map(|(trial, _)| *trial).collect();
        let trials = self.store.load_many(&ids, LoadDetail::Headlines);
        let trials = trials.map_err(|error| failure(&error))?;
        let stored = trials.into_iter().zip(names).map(|(trial, (_, name))| StoredTrial {
            name: name.clone(),
            campaign: trial
                .beginning
                .cell
                .as_ref()
                .map_or_else(String::new, |cell| self.name(cell.campaign)),
            command: known_command_line(&trial),
            trial,
        });
        Ok(stored.collect())
    }
}

/// Page of a campaign with the verdict on each contender in a sentence; `None` if its variants
/// cannot be compared. Trials are in the order of time.
fn page_of_campaign(
    store: &Store,
    campaign: &str,
    trials: Vec<TrialSummary>,
) -> Result<Option<(Report, Vec<String>)>, Failure> {
    let campaign = Some(campaign.to_owned());
    let request = ComparisonRequest { campaign, ..ComparisonRequest::default() };
    let source = StoredTrials(store);
    let read = StoredComparison::read(&source, trials, &request, true)?;
    let ComparisonInput::Variants(mut comparison) = read else { return Ok(None) };
    comparison.ignore_parameters()?;
    // The variants may have no job in common.
    let Ok(outcome) = comparison.outcome() else { return Ok(None) };
    let options =
        ComparisonPage { detail: PageDetail::Full, draws: false, store: None, typed: None };
    Ok(Some((comparison.page(&outcome, &options)?, sentences(&outcome))))
}
