//! A trial of a campaign as it is handed to the process that runs it, with its place in the
//! campaign and what is known of it here. `guest` is that process in a guest, `many/launched` on
//! several ranks.

pub(super) mod guest;

use serde::{Deserialize, Serialize};
use treering_engine::{EngineOptions, PayloadKind};
use treering_model::{Caution, Cell, Fact, TrialId};
use treering_observe::ObserverOptions;
use treering_observe::layout::LayoutSchedule;
use treering_script::Job;

use super::native::usual_latency;

/// A trial that another process runs for a campaign: in a guest, or on several ranks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HandedTrial {
    pub(super) workload: String,
    /// The options of the workload, by name.
    pub(super) options: Vec<(String, String)>,
    /// What the payload is drawn from.
    pub(super) seed: u64,
    pub(super) handicap_percent: u32,
    pub(super) trial: TrialId,
    pub(super) cell: Cell,
    pub(super) label: String,
    /// Parameters of the engine, kept beside those of the job.
    pub(super) parameters: Vec<(String, String)>,
    /// What is known of the place outside.
    pub(super) facts: Vec<Fact>,
    pub(super) cautions: Vec<Caution>,
    pub(super) trace: bool,
    /// Whether the layout is looked at, and after how many tasks again.
    pub(super) layout_every: Option<u32>,
    /// Whether the filesystem is mounted anew between phases.
    pub(super) remount: bool,
}

impl HandedTrial {
    /// How the engine runs its job.
    pub(super) fn engine(&self, job: &dyn Job) -> EngineOptions {
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
    pub(super) fn wanted(&self) -> ObserverOptions {
        ObserverOptions {
            trace: self.trace,
            layout: self.layout_every.map(|every_tasks| LayoutSchedule { every_tasks, map: true }),
            ..ObserverOptions::default()
        }
    }
}
