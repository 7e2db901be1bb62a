//! `treering store overview`: the whole store in one HTML file. This module chooses what is read
//! from the store and how much at a time; `treering_report` builds the file.

use std::collections::HashMap;
use std::io::{self, Write};
use std::process::ExitCode;

use treering_model::{CellRole, PLAN_FACT, TrialId};
use treering_report::overview::{
    CampaignTrial, ComparedCampaign, MOST_CAMPAIGNS, MOST_TRIALS, Overview, StoredTrial, render,
};
use treering_store::{Filter, LoadDetail, Store, TrialState, TrialSummary};

use super::output::with_writer;
use super::trial::known_command_line;
use super::typed::typed_again;
use super::{history, report};
use crate::arguments::OverviewArgs;
use crate::failure::Failure;
use crate::storage::{failure, no_results, open_to_read};

/// Writes the file, and prints its first section on standard error.
pub(crate) fn run(args: &OverviewArgs) -> Result<ExitCode, Failure> {
    let Some(store) = open_to_read(args.series.store.store.as_deref())? else {
        return Err(no_results());
    };
    let history = history::requested_history(&store, &args.series)?;
    let origin = history::origin_of(&store, &history)?
        .with_command("The same file", &typed_again(std::env::args_os()));
    let stored = OverviewTrials::read(&store, args)?;
    let campaigns = stored.campaigns()?;
    let trials = stored.newest();
    let overview = Overview {
        history: &history,
        by: &args.series.by,
        anchor: args.series.anchor.as_deref(),
        recent: args.recent,
        campaigns: &campaigns,
        all_campaigns: stored.by_campaign().len(),
        trials: &trials,
        all_trials: stored.summaries.len(),
        origin: &origin,
    };
    let rendered = render(&overview, |names| stored.load(names))?;
    with_writer(args.output.as_deref(), |out| out.write_all(rendered.html.as_bytes()))?;
    let (summary, count) = (rendered.summary, rendered.trials);
    let trial_count = stored.summaries.len();
    let written = writeln!(io::stderr(), "{summary} The file has {count} of {trial_count} trials.");
    // The file is complete even if standard error is closed.
    written.or(Ok(())).map(|()| ExitCode::SUCCESS)
}

/// Trials that the file covers.
struct OverviewTrials<'s> {
    store: &'s Store,
    /// Summaries of the trials, newest first.
    summaries: Vec<TrialSummary>,
    /// Short names of the newest trials in the store.
    names: HashMap<TrialId, String>,
}

impl<'s> OverviewTrials<'s> {
    fn read(store: &'s Store, args: &OverviewArgs) -> Result<Self, Failure> {
        let filter = Filter {
            workload: args.series.workload.clone(),
            plan: args.series.plan.clone(),
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

    /// Newest trials that have ended.
    fn newest(&self) -> Vec<(TrialId, String)> {
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

    fn campaigns(&self) -> Result<Vec<ComparedCampaign>, Failure> {
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
        let Some((report, verdicts)) = report::page_of_campaign(self.store, &name, own)? else {
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

    fn load(&self, names: &[(TrialId, String)]) -> Result<Vec<StoredTrial>, Failure> {
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
