//! Requirements of a full IO500 run, projected from a rehearsal: settings with which each test
//! writes for 300 seconds, space, time, and conditions that would make the run invalid.
//!
//! The projection assumes constant rates, since a rehearsal cannot show effects of a longer run,
//! such as full caches. None of the figures is a score.

mod figures;
mod need;
mod phase;
mod risk;

use treering_model::workloads::io500::{FULL_SECONDS, Io500Benchmark, STEPS, StepKind};
use treering_model::{Artifact, RANKS_ARTIFACT, RANKS_VERSION, RankPhase, RankTable, Trial};

pub use figures::{PhaseFigures, RateRange};
pub use need::TestRequirement;
pub use risk::FullRunRisk;

use phase::RehearsedPhase;
use risk::risks;

const GIB: f64 = (1_u64 << 30) as f64;

/// Reports whether a trial is an IO500 rehearsal with figures.
pub fn is_rehearsal(trial: &Trial) -> bool {
    trial.beginning.workload == "io500"
        && STEPS.iter().any(|step| trial.tasks.iter().any(|task| task.kind == step.name))
}

/// Client machines of the full run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientMachines {
    /// Number of machines.
    pub count: u64,
    /// Memory of one machine, in bytes; 0 if unknown.
    pub memory_bytes: u64,
    /// Free space of the filesystem, in bytes; 0 if unknown.
    pub free_bytes: u64,
}

/// Projection of a full run.
#[derive(Clone, Debug, PartialEq)]
pub struct FullRun {
    /// Measured phases in order.
    pub phases: Vec<PhaseFigures>,
    /// Requirements of the four tests, as far as they were measured.
    pub needs: Vec<TestRequirement>,
    /// Risks of the full run.
    pub risks: Vec<FullRunRisk>,
    /// Bytes written in the full run.
    pub bytes: u64,
    /// Files created in the full run.
    pub files: u64,
    /// Duration of all phases together, in seconds.
    pub seconds: f64,
    /// Write time of the rehearsal, in seconds.
    pub rehearsed_seconds: u64,
}

impl FullRun {
    /// Projects a rehearsal to a full run on these machines.
    pub fn project(trial: &Trial, clients: ClientMachines) -> Self {
        let seconds = trial.beginning.parameters.iter().find(|(name, _)| name == "seconds");
        let seconds: u64 = seconds.and_then(|(_, value)| value.parse().ok()).unwrap_or(1).max(1);
        let measured: Vec<RehearsedPhase<'_>> =
            STEPS.iter().filter_map(|step| RehearsedPhase::from_trial(trial, step)).collect();
        let ranks = rank_phases(trial);
        let phases = measured.iter().map(|phase| PhaseFigures::new(phase, &ranks)).collect();
        let needs: Vec<TestRequirement> = measured
            .iter()
            .filter_map(|phase| TestRequirement::from_phase(phase, seconds))
            .collect();
        let mut full = Self {
            phases,
            bytes: needs.iter().fold(0, |sum, need| sum.saturating_add(need.bytes)),
            files: needs.iter().fold(0, |sum, need| sum.saturating_add(need.files)),
            needs,
            risks: Vec::new(),
            seconds: 0.0,
            rehearsed_seconds: seconds,
        };
        full.seconds = measured.iter().map(|phase| full.length(phase)).sum();
        full.risks = risks(trial, &full, clients);
        full
    }

    /// Requirement of a test, if it was measured.
    fn need(&self, test: Io500Benchmark) -> Option<&TestRequirement> {
        self.needs.iter().find(|need| need.test == test)
    }

    /// Duration of a phase in the full run, in seconds.
    fn length(&self, phase: &RehearsedPhase<'_>) -> f64 {
        let items = match (phase.step.test(), phase.step.kind) {
            (Some(test), _) => self.need(test).map_or(0, TestRequirement::items),
            (None, StepKind::Find) => self.files,
            (None, _) => 0,
        };
        let length = items as f64 / phase.per_second().max(f64::MIN_POSITIVE);
        if phase.step.is_written() { length.max(FULL_SECONDS as f64) } else { length }
    }
}

fn rank_phases(trial: &Trial) -> Vec<RankPhase> {
    let read = |artifact: &Artifact| artifact.read::<RankTable>(RANKS_ARTIFACT, RANKS_VERSION);
    trial.artifacts.iter().find_map(read).unwrap_or_default().phases
}

#[cfg(test)]
mod tests {
    use super::{ClientMachines, FullRun};
    use treering_model::workloads::io500::{FOUND_FACT, Io500Benchmark};
    use treering_model::workloads::ior::TransferCounts;
    use treering_model::workloads::mdtest::ItemCounts;
    use treering_model::{
        Counters, Fact, IntervalTotals, PhaseTotals, RunMode, TaskTotals, Trial, TrialHeader,
        TrialId,
    };

    const SECOND: u64 = 1_000_000_000;

    fn task(kind: &str, worker: u16, seconds: u64, counters: Counters) -> TaskTotals {
        TaskTotals {
            kind: kind.to_owned(),
            worker,
            wall_ns: seconds * SECOND,
            counters,
            ..TaskTotals::default()
        }
    }

    /// Rehearsal of ten seconds, after which two workers had created 10,000 and 8000 files, and
    /// written 500 and 400 transfers. Then the second worker created the missing files, and both
    /// synced for two seconds.
    fn trial() -> Trial {
        let items = |done, is_wear_out: bool| {
            let ended_by_time = !is_wear_out;
            Counters::from_value(&ItemCounts {
                done,
                is_wear_out,
                ended_by_time,
                ..ItemCounts::default()
            })
        };
        let transfers = |transfers| {
            let counts = TransferCounts { transfers, ended_by_time: true, ..Default::default() };
            Counters::from_value(&counts)
        };
        let mut beginning = TrialHeader::new(TrialId::new(), "io500", RunMode::Native);
        beginning.parameters = vec![("seconds".to_owned(), "10".to_owned())];
        let worn_out = TaskTotals {
            began_ns: 12 * SECOND,
            ..task("mdtest-easy-write", 1, 1, items(2000, true))
        };
        let slices = (0..12).map(|second| IntervalTotals {
            second,
            calls: 3000 + 10 * u64::from(second),
            bytes: 0,
        });
        Trial {
            facts: vec![Fact { name: FOUND_FACT.to_owned(), value: "0".to_owned() }],
            phases: vec![PhaseTotals {
                name: "mdtest-easy-write".to_owned(),
                intervals: slices.collect(),
                ..PhaseTotals::default()
            }],
            tasks: vec![
                task("ior-easy-write", 0, 12, transfers(500)),
                task("ior-easy-write", 1, 12, transfers(400)),
                task("mdtest-easy-write", 0, 12, items(10_000, false)),
                task("mdtest-easy-write", 1, 12, items(8000, false)),
                worn_out,
            ],
            ..Trial::new(beginning)
        }
    }

    #[test]
    fn need_is_projected_from_the_fastest_worker() {
        let clients = ClientMachines { count: 1, memory_bytes: 64 << 30, free_bytes: 16 << 30 };
        let full = FullRun::project(&trial(), clients);
        let names: Vec<&str> = full.phases.iter().map(|phase| phase.name).collect();
        assert_eq!(names, ["ior-easy-write", "mdtest-easy-write"]);
        let [ior, mdtest] = full.needs.as_slice() else { panic!("{:?}", full.needs) };
        assert_eq!((ior.test, ior.option), (Io500Benchmark::IorEasy, "blockSize"));
        // In 300 seconds, 50 transfers of 2 MiB a second take 30,000 MiB, and the proposal is twice
        // as much.
        assert_eq!((ior.reached, ior.proposed), (30_000, 60_000));
        assert_eq!((ior.value().as_str(), ior.bytes), ("60000m", (2 * 30_000) << 20));
        assert_eq!((mdtest.reached, mdtest.proposed, mdtest.files), (300_000, 600_000, 600_000));
        assert!(mdtest.was_ended_by_time);
        let mdtest = &full.phases[1];
        // Both workers created 20,000 files until the end of the wear-out, 13 seconds after the
        // start.
        assert!((mdtest.rate - 20.0 / 13.0).abs() < 1e-9 && !mdtest.moves_data);
        assert_eq!(mdtest.spread.map(|spread| spread.seconds), Some(10));
        assert_eq!(full.phases[0].spread.map(|spread| spread.seconds), Some(0), "the workers");
    }

    #[test]
    fn risks_of_a_full_run_name_their_source() {
        let clients = ClientMachines { count: 1, memory_bytes: 64 << 30, free_bytes: 16 << 30 };
        let full = FullRun::project(&trial(), clients);
        let warnings: Vec<(&str, bool)> =
            full.risks.iter().map(|risk| (risk.phase, risk.is_invalid)).collect();
        assert_eq!(warnings, [("find", true), ("", false), ("ior-easy-read", false)]);
        let clients = ClientMachines { count: 8, memory_bytes: 4 << 30, free_bytes: 0 };
        let full = FullRun::project(&trial(), clients);
        assert_eq!(full.risks.len(), 1, "{:?}", full.risks);
    }
}
