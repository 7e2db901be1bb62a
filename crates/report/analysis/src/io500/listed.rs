//! Rates of IO500 runs side by side: rehearsals, installed runs and imported results.

use treering_model::metrics::rates::{IO500_SCORE, MIB_PER_SECOND, OPERATIONS_PER_SECOND};
use treering_model::workloads::io500::measured;
use treering_model::{Metric, RANKS_FACT, Scope, Trial};

use super::is_rehearsal;

/// Phase of a run with its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedPhase {
    /// Name of the phase.
    pub name: String,
    /// True if the unit of the rate is GiB/s, false if it is kIOPS.
    pub moves_data: bool,
    /// Rate in its unit.
    pub rate: f64,
}

/// Run of IO500 with the rates of its phases.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedRun {
    /// True for a rehearsal, which has no score.
    pub is_rehearsal: bool,
    /// Number of clients or ranks, in the words of the trial; empty if unknown.
    pub ranks: String,
    /// Phases in the order of the run.
    pub phases: Vec<ListedPhase>,
    /// Score of IO500; `None` for rehearsals and for results without one.
    pub score: Option<f64>,
}

impl ListedRun {
    /// Reads a run; `None` for a trial of another workload or without the rate of any phase.
    pub fn from_trial(trial: &Trial) -> Option<Self> {
        if trial.beginning.workload != "io500" {
            return None;
        }
        let parameter = |name: &str| {
            let own = trial.beginning.parameters.iter().find(|(own, _)| own == name);
            own.map(|(_, value)| value.clone())
        };
        let ranks = trial.fact(RANKS_FACT).map(str::to_owned);
        let ranks = ranks.or_else(|| parameter("ranks")).or_else(|| parameter("tasks"));
        let score = trial.metrics.iter().find(|metric| metric.name == IO500_SCORE.name);
        let run = Self {
            is_rehearsal: is_rehearsal(trial),
            ranks: ranks.or_else(|| parameter("workers")).unwrap_or_default(),
            phases: rates(trial),
            score: score.map(|metric| metric.value),
        };
        (!run.phases.is_empty()).then_some(run)
    }

    /// Rate of a phase.
    pub fn rate(&self, name: &str) -> Option<f64> {
        self.phases.iter().find(|phase| phase.name == name).map(|phase| phase.rate)
    }
}

fn rates(trial: &Trial) -> Vec<ListedPhase> {
    let phase = |metric: &Metric| {
        let Scope::Kind(name) = &metric.scope else { return None };
        let moves_data = metric.name == MIB_PER_SECOND.name;
        let is_rate = moves_data || metric.name == OPERATIONS_PER_SECOND.name;
        let unit = if moves_data { 1024.0 } else { 1000.0 };
        is_rate.then(|| ListedPhase { name: name.clone(), moves_data, rate: metric.value / unit })
    };
    trial.metrics.iter().filter_map(phase).collect()
}

/// Names of the phases of some runs, each with `true` if its rate is in GiB/s: those of IO500 in
/// their order, then others in theirs.
pub fn phases_of(runs: &[ListedRun]) -> Vec<(String, bool)> {
    let mut names: Vec<(String, bool)> = Vec::new();
    let phases = || runs.iter().flat_map(|run| &run.phases);
    let usual = measured().filter(|step| phases().any(|phase| phase.name == step.name));
    names.extend(usual.map(|step| (step.name.to_owned(), step.moves_data())));
    for phase in phases() {
        if names.iter().all(|(name, _)| *name != phase.name) {
            names.push((phase.name.clone(), phase.moves_data));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use treering_model::metrics::rates::{IO500_SCORE, MIB_PER_SECOND, OPERATIONS_PER_SECOND};
    use treering_model::{RunMode, Scope, Trial, TrialHeader, TrialId};

    use super::{ListedRun, phases_of};

    #[test]
    fn phases_of_imported_results_stand_in_the_order_of_io500_and_further_ones_follow() {
        let mut trial = Trial::new(TrialHeader::new(TrialId::new(), "io500", RunMode::Classic));
        assert_eq!(ListedRun::from_trial(&trial), None);
        let kind = |name: &str| Scope::Kind(name.to_owned());
        trial.metrics = vec![
            MIB_PER_SECOND.of(kind("ior-rnd4K-easy-read"), 512.0),
            OPERATIONS_PER_SECOND.of(kind("find"), 1_500_000.0),
            MIB_PER_SECOND.of(kind("ior-easy-write"), 2048.0),
            IO500_SCORE.of(Scope::Trial, 12.5),
        ];
        let run = ListedRun::from_trial(&trial).unwrap();
        assert_eq!((run.score, run.is_rehearsal), (Some(12.5), false));
        assert_eq!(run.rate("ior-easy-write"), Some(2.0));
        assert_eq!(run.rate("find"), Some(1500.0));
        let names = phases_of(&[run]);
        let names: Vec<(&str, bool)> =
            names.iter().map(|(name, data)| (name.as_str(), *data)).collect();
        assert_eq!(
            names,
            [("ior-easy-write", true), ("find", false), ("ior-rnd4K-easy-read", true)]
        );
    }
}
