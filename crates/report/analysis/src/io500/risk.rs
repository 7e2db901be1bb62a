//! Risks, found in a rehearsal, that make a full run invalid, failing or less meaningful.

use treering_model::Trial;
use treering_model::workloads::io500::{
    FIND, FOUND_FACT, FULL_SECONDS, Io500Phase, STEPS, StepKind,
};

use super::figures::PhaseFigures;
use super::{ClientMachines, FullRun, GIB};

/// Risk that the full run is invalid, fails, or is less meaningful than it seems.
#[derive(Clone, Debug, PartialEq)]
pub struct FullRunRisk {
    /// Name of the phase; empty for the whole run.
    pub phase: &'static str,
    /// True when IO500 itself would report INVALID. Otherwise the run fails, or is valid but
    /// measures something else.
    pub is_invalid: bool,
    /// Consequence and its cause, for the user.
    pub why: String,
}

/// Risks of the full run, as far as they are known.
pub(super) fn risks(trial: &Trial, full: &FullRun, clients: ClientMachines) -> Vec<FullRunRisk> {
    let risks = [
        early_ends(full),
        faults(full),
        nothing_found(trial).into_iter().collect(),
        no_space(full, clients).into_iter().collect(),
        from_memory(full, clients),
    ];
    risks.into_iter().flatten().collect()
}

/// Risk of tests that write all their data before the end of the time with the default setting.
fn early_ends(full: &FullRun) -> Vec<FullRunRisk> {
    let risk = |step: &'static Io500Phase| {
        let StepKind::Write(test) = step.kind else { return None };
        let need = full.need(test)?;
        let why = format!(
            "the default {} = {} is written before {FULL_SECONDS} s are over: about {} are \
             reached by then",
            need.option, need.default, need.reached
        );
        (need.reached > need.default).then_some(FullRunRisk {
            phase: step.name,
            is_invalid: true,
            why,
        })
    };
    STEPS.iter().filter_map(risk).collect()
}

fn faults(full: &FullRun) -> Vec<FullRunRisk> {
    let with_faults = full.phases.iter().filter(|phase| phase.faults > 0);
    let risk = |phase: &PhaseFigures| {
        let why = format!("{} items were not there, or had other data", phase.faults);
        FullRunRisk { phase: phase.name, is_invalid: true, why }
    };
    with_faults.map(risk).collect()
}

fn nothing_found(trial: &Trial) -> Option<FullRunRisk> {
    let matches: u64 = trial.fact(FOUND_FACT)?.parse().ok()?;
    let why = "the search found no file; too few were made here, or its answer is wrong".to_owned();
    (matches == 0).then_some(FullRunRisk { phase: FIND, is_invalid: true, why })
}

fn no_space(full: &FullRun, clients: ClientMachines) -> Option<FullRunRisk> {
    let is_too_little = clients.free_bytes > 0 && full.bytes > clients.free_bytes;
    let why = format!(
        "{:.1} GiB are written, and {:.1} GiB are free: the run fails when it is full",
        full.bytes as f64 / GIB,
        clients.free_bytes as f64 / GIB
    );
    is_too_little.then_some(FullRunRisk { phase: "", is_invalid: false, why })
}

/// Risk of reads that are served from the memory of the clients.
fn from_memory(full: &FullRun, clients: ClientMachines) -> Vec<FullRunRisk> {
    let risk = |step: &'static Io500Phase| {
        let StepKind::Read(test) = step.kind else { return None };
        let each = full.need(test)?.bytes / clients.count.max(1);
        let why = format!(
            "each client has written {:.1} GiB and has {:.1} GiB of memory, which can answer the \
             reads; IO500 does not look at that",
            each as f64 / GIB,
            clients.memory_bytes as f64 / GIB
        );
        let is_enough = clients.memory_bytes > each;
        is_enough.then_some(FullRunRisk { phase: step.name, is_invalid: false, why })
    };
    STEPS.iter().filter_map(risk).collect()
}
