//! Time of a trial around its work: mkfs, mount, layers, write-back and dropping caches.

use std::collections::BTreeMap;

use treering_model::filesystems::is_in_memory;
use treering_model::{DeviceSpec, TrialId, Variant};
use treering_stats::median;

use crate::failure::Failure;
use crate::host::{EarlierTrial, ResultStore};
use crate::plan::Plan;

/// Maximum number of earlier trials of a workload that are read.
const EARLIER_TRIALS_MAX: usize = 200;
/// Assumed seconds for a filesystem that is made on a device for each trial.
pub(super) const DEVICE_SECONDS: f64 = 1.0;
/// Assumed seconds for a directory or a filesystem in memory.
const MEMORY_SECONDS: f64 = 0.3;
/// Maximum seconds between two trials of one run; longer ones are interruptions.
const PAUSE_SECONDS_MAX: f64 = 120.0;

/// Time around the work of each trial of a plan, in seconds.
pub(super) struct Overhead {
    /// Median of the pauses between earlier trials of the plan, its warm-up included.
    measured: Option<f64>,
    /// Assumed time for each variant.
    assumed: Vec<f64>,
}

impl Overhead {
    /// Overhead of the trials of a plan, from its earlier ones if there are any.
    pub(super) fn new(plan: &Plan, digest: &str, store: &dyn ResultStore) -> Result<Self, Failure> {
        let mut workloads: Vec<&str> = plan.jobs.iter().map(|job| job.workload.as_str()).collect();
        workloads.sort_unstable();
        workloads.dedup();
        let mut earlier = Vec::new();
        for workload in workloads {
            earlier.extend(store.earlier(workload, EARLIER_TRIALS_MAX)?);
        }
        let pause = plan.conditions.settle_seconds;
        let assumed = plan.variants.iter().map(|variant| pause + assumed(variant)).collect();
        Ok(Self { measured: median(&pauses(&earlier, digest)).ok(), assumed })
    }

    /// Seconds around the work of a trial of this variant.
    pub(super) fn of(&self, variant: usize) -> f64 {
        self.measured.unwrap_or_else(|| self.assumed.get(variant).copied().unwrap_or_default())
    }
}

fn assumed(variant: &Variant) -> f64 {
    let is_made = !matches!(variant.device, DeviceSpec::Directory { .. })
        && !is_in_memory(&variant.filesystem);
    if is_made { DEVICE_SECONDS } else { MEMORY_SECONDS }
}

/// Seconds between the end of each trial of a plan and the beginning of the next one of its round.
fn pauses(earlier: &[EarlierTrial], digest: &str) -> Vec<f64> {
    let mut rounds: BTreeMap<(TrialId, u32), Vec<(i64, f64)>> = BTreeMap::new();
    for trial in earlier {
        if let Some(cell) = trial.cell.as_ref().filter(|cell| cell.digest == digest) {
            let times = rounds.entry((cell.campaign, cell.round)).or_default();
            times.push((trial.started_unix_ms, trial.seconds));
        }
    }
    let mut pauses = Vec::new();
    for times in rounds.values_mut() {
        times.sort_by_key(|(started, _)| *started);
        let pairs = times.windows(2).map(|pair| {
            let between = pair[1].0.saturating_sub(pair[0].0);
            between as f64 / 1e3 - pair[0].1
        });
        pauses.extend(pairs.filter(|pause| (0.0..PAUSE_SECONDS_MAX).contains(pause)));
    }
    pauses
}

#[cfg(test)]
mod tests {
    use super::pauses;
    use crate::host::EarlierTrial;
    use treering_model::{Cell, CellRole, TrialId};

    #[test]
    fn pauses_are_those_between_trials_of_one_round_of_the_plan() {
        let campaign = TrialId::new();
        let trial = |digest: &str, round: u32, started_unix_ms: i64, seconds: f64| EarlierTrial {
            parameters: Vec::new(),
            started_unix_ms,
            seconds,
            is_of_guest: false,
            cell: Some(Cell {
                campaign,
                plan: String::new(),
                digest: digest.to_owned(),
                variant: "a".to_owned(),
                job: "j".to_owned(),
                round,
                role: CellRole::Round,
            }),
        };
        let earlier = [
            trial("ours", 1, 2_500, 2.0),
            trial("ours", 1, 1_000, 1.0),
            trial("ours", 1, 900_000, 1.0),
            trial("ours", 2, 5_000, 1.0),
            trial("theirs", 1, 1_100, 0.0),
        ];
        assert_eq!(pauses(&earlier, "ours"), [0.5]);
    }
}
