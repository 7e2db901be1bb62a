//! A trial of a campaign as it is handed to the process that runs it, with its place in the
//! campaign and what is known of it here.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use treering_engine::{EngineOptions, PayloadKind};
use treering_model::{Caution, Cell, Fact, TrialId};
use treering_observe::Wanted;
use treering_observe::layout::LayoutWanted;
use treering_script::Job;

use crate::beginning::usual_latency;

/// A trial that another process runs for a campaign: in a guest, or on several ranks.
#[derive(Debug, Serialize, Deserialize)]
pub struct HandedTrial {
    /// The name of the workload.
    pub workload: String,
    /// The options of the workload, by name.
    pub options: Vec<(String, String)>,
    /// What the payload is drawn from.
    pub seed: u64,
    /// How much slower its calls are made on purpose.
    pub handicap_percent: u32,
    /// Its identity.
    pub trial: TrialId,
    /// Its place in the campaign.
    pub cell: Cell,
    /// Its label.
    pub label: String,
    /// Parameters of the engine, kept beside those of the job.
    pub parameters: Vec<(String, String)>,
    /// What is known of the place outside.
    pub facts: Vec<Fact>,
    /// Cautions about the place.
    pub cautions: Vec<Caution>,
    /// Whether block traces are recorded.
    pub trace: bool,
    /// Whether the layout is looked at, and after how many tasks again.
    pub layout_every: Option<u32>,
    /// Whether the filesystem is mounted anew between phases.
    pub remount: bool,
}

impl HandedTrial {
    /// How the engine runs its job.
    pub fn engine(&self, job: &dyn Job) -> EngineOptions {
        EngineOptions {
            handicap_percent: self.handicap_percent,
            ..EngineOptions::new(
                usual_latency(job),
                PayloadKind::Native { compressibility: 0 },
                self.seed,
            )
        }
    }

    /// What observers do beside what they always do.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            trace: self.trace,
            layout: self.layout_every.map(|every_tasks| LayoutWanted { every_tasks, map: true }),
            ..Wanted::default()
        }
    }
}

/// What launched ranks are to do.
#[derive(Debug, Serialize, Deserialize)]
pub struct RanksJob {
    /// The version of the treering that launched them, which has to be theirs.
    pub version: String,
    /// The machine that it runs on, where caches were dropped.
    pub host: String,
    /// The number of ranks.
    pub ranks: usize,
    /// A rank that is silent for longer ends the trial.
    pub timeout_seconds: u32,
    /// The trial; none where the ranks only have to meet.
    pub trial: Option<RanksTrial>,
}

/// A trial on several ranks, and where it takes place.
#[derive(Debug, Serialize, Deserialize)]
pub struct RanksTrial {
    /// The trial.
    pub handed: HandedTrial,
    /// The directory of all ranks; `{rank}` in it is the number of one.
    pub dir: PathBuf,
    /// Whether what was made in it stays.
    pub keep: bool,
}
