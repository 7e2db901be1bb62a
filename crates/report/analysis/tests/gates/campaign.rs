//! Campaigns of synthetic trials in any order, and counts of gate verdicts.

use treering_analysis::compare::{
    ComparedVariant, ComparisonCautionCode as Code, ComparisonTerms, Factor, Gate, Outcome, compare,
};
use treering_model::{
    BetterDirection, Cell, CellRole, Ending, Fact, Metric, RunMode, Scope, Trial, TrialHeader,
    TrialId, Unit,
};

/// A completed trial that began at minute `started` and took one minute, with these primary rates.
pub(crate) fn trial(started: usize, rates: &[f64]) -> Trial {
    let metric = |(number, rate): (usize, &f64)| {
        let (scope, better) = (Scope::Kind(format!("create{number}")), BetterDirection::Higher);
        let metric = Metric::new("mib_per_second", scope, *rate, Unit::MibPerSecond, better);
        metric.primary_if(true).of_tasks(3)
    };
    let fact = |name: &str, value: &str| Fact { name: name.to_owned(), value: value.to_owned() };
    Trial {
        facts: vec![fact("kernel.release", "6.1.0"), fact("filesystem.type", "ext4")],
        metrics: rates.iter().enumerate().map(metric).collect(),
        ending: Ending::Completed,
        wall_ns: 60_000_000_000,
        ..Trial::new(TrialHeader {
            started_unix_ms: 60_000 * i64::try_from(started).unwrap(),
            treering_version: "0.1.0".to_owned(),
            target: "/mnt".to_owned(),
            ..TrialHeader::new(TrialId::new(), "compilebench", RunMode::Native)
        })
    }
}

/// Order of the trials in a campaign: `true` for a trial of the contender.
pub(crate) type TrialOrder = Vec<bool>;

/// Alternating blocks of `of` trials of one variant; the last blocks may be shorter.
pub(crate) fn blocks(of: usize, rounds: usize) -> TrialOrder {
    let sizes = (0..rounds).step_by(of).map(|done| of.min(rounds - done));
    sizes.flat_map(|size| [vec![false; size], vec![true; size]].concat()).collect()
}

/// Rounds with one trial of each variant, in random order.
pub(crate) fn rounds(count: usize, mut coin: impl FnMut() -> bool) -> TrialOrder {
    let round = |_| if coin() { [true, false] } else { [false, true] };
    (0..count).flat_map(round).collect()
}

/// Compares trials that ran in this order, with their rates in time order.
pub(crate) fn compared(order: &TrialOrder, rates: &[f64]) -> Outcome {
    let [base, other] = variants(order, rates);
    compare(&base, &[other], &ComparisonTerms::default()).unwrap()
}

/// Both variants from trials that ran in this order, with their rates in time order.
pub(crate) fn variants(order: &TrialOrder, rates: &[f64]) -> [ComparedVariant; 2] {
    let side_of = |name: &str, side: bool| {
        let own = order.iter().zip(rates).enumerate().filter(|(_, (is_own, _))| **is_own == side);
        let trials = own.map(|(started, (_, rate))| trial(started, &[*rate])).collect();
        ComparedVariant { name: name.to_owned(), factor: Factor::Label, against: None, trials }
    };
    [side_of("old", false), side_of("new", true)]
}

/// Turns both variants into variants of a plan, with their k-th trials as round k.
pub(crate) fn planned(variants: [ComparedVariant; 2]) -> [ComparedVariant; 2] {
    let campaign = TrialId::new();
    variants.map(|mut variant| {
        variant.factor = Factor::Variant;
        for (round, trial) in (1..).zip(&mut variant.trials) {
            trial.beginning.cell = Some(Cell {
                campaign,
                plan: "patch".to_owned(),
                digest: "d".to_owned(),
                variant: variant.name.clone(),
                job: "create".to_owned(),
                round,
                role: CellRole::Round,
            });
        }
        variant
    })
}

/// Counts of gate verdicts over many campaigns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    pub(crate) pass: usize,
    pub(crate) worse: usize,
    pub(crate) unclear: usize,
}

impl Answers {
    /// Counts the gate verdict of an outcome, with these cautions accepted.
    pub(crate) fn count(&mut self, mut outcome: Outcome, accepted: &[Code]) {
        outcome.accepted = accepted.to_vec();
        match Gate::decide(&outcome) {
            Gate::Pass => self.pass += 1,
            Gate::Worse => self.worse += 1,
            Gate::Unclear => self.unclear += 1,
        }
    }
}
