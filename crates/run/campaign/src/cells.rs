//! The cells of a plan in their order: in each round every variant runs every job once, the
//! baseline a second time as a control, in a balanced random order. Rounds that only observe come
//! behind them, in an order of their own.

use treering_model::CellRole;

use crate::plan::Plan;
use crate::schedule::schedule;

/// One cell of a plan, by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlannedCell {
    /// The round, counted from 1, observing rounds for themselves; 0 is the warm-up.
    pub round: u32,
    /// What it is for.
    pub role: CellRole,
    /// Which of the plan's variants.
    pub variant: usize,
    /// Which of its jobs.
    pub job: usize,
}

impl PlannedCell {
    /// Its variant's name, with what it is for where that is no round: `ext4 (again)`.
    pub fn label(&self, plan: &Plan) -> String {
        format!("{}{}", plan.variants[self.variant].name, self.role.suffix())
    }

    /// The round, the label, and the job where there are several: `round 2: ext4, fs_mark`;
    /// `observing round 1: ext4`.
    pub fn words(&self, plan: &Plan) -> String {
        let job = match plan.jobs.as_slice() {
            [_] => String::new(),
            jobs => format!(", {}", jobs[self.job].name),
        };
        if self.role == CellRole::Observed {
            let variant = &plan.variants[self.variant].name;
            return format!("observing round {}: {variant}{job}", self.round);
        }
        format!("round {}: {}{job}", self.round, self.label(plan))
    }
}

/// The rounds of a plan, the warm-up first where there is one, up to the most that its stopping
/// rule can take. More rounds leave the order of the earlier ones as it is.
pub fn rounds(plan: &Plan) -> Vec<Vec<PlannedCell>> {
    let arms = arms(plan);
    let first = u32::from(!plan.conditions.warm_up);
    let last = plan.stopping.most_rounds();
    let count = usize::try_from(last).unwrap_or(usize::MAX).saturating_add(usize::from(first == 0));
    let order = schedule(arms.len(), count, plan.conditions.seed, "schedule");
    let numbered = (first..).zip(order);
    let cells = numbered.map(|(round, order)| {
        let cells = order.into_iter().map(|arm| arms[arm]);
        // A control is no use where nothing is compared.
        let cells = cells.filter(|(role, ..)| round > 0 || *role == CellRole::Round);
        cells
            .map(|(role, variant, job)| {
                let role = if round == 0 { CellRole::WarmUp } else { role };
                PlannedCell { round, role, variant, job }
            })
            .collect()
    });
    cells.collect()
}

/// The rounds in which a plan only observes: every variant runs every job once in each.
pub fn observing_rounds(plan: &Plan) -> Vec<Vec<PlannedCell>> {
    let observed = &plan.observing;
    if !observed.is_in_own_rounds() {
        return Vec::new();
    }
    let arms: Vec<(usize, usize)> = (0..plan.jobs.len())
        .flat_map(|job| (0..plan.variants.len()).map(move |variant| (variant, job)))
        .collect();
    let count = usize::try_from(observed.rounds).unwrap_or(usize::MAX);
    let order = schedule(arms.len(), count, plan.conditions.seed, "observing");
    let cell = |round, arm: usize| {
        let (variant, job) = arms[arm];
        PlannedCell { round, role: CellRole::Observed, variant, job }
    };
    (1..)
        .zip(order)
        .map(|(round, order)| order.into_iter().map(|arm| cell(round, arm)).collect())
        .collect()
}

/// What runs once in each round.
fn arms(plan: &Plan) -> Vec<(CellRole, usize, usize)> {
    let variants = plan.variants.len();
    let control = plan.conditions.control && variants > 1;
    let of_job = |job: usize| {
        let rounds = (0..variants).map(move |variant| (CellRole::Round, variant, job));
        rounds.chain(control.then_some((CellRole::Control, 0, job)))
    };
    (0..plan.jobs.len()).flat_map(of_job).collect()
}
