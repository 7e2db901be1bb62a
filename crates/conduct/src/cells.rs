//! The cells of a plan in execution order. In each round every variant runs every job once; with a
//! control the baseline runs twice. The trials of a job are consecutive, and steps stay together in
//! the order of the plan. Observing rounds follow, with an order of their own.

use treering_model::CellRole;

use crate::plan::Plan;
use crate::schedule::schedule;

/// Cell of a plan, by the indices of its variant and job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlannedCell {
    /// Number of the round, counted from 1; 0 is the warm-up. Observing rounds are counted
    /// separately.
    pub round: u32,
    /// Role of the trial: measured round, control, warm-up or observed.
    pub role: CellRole,
    /// Index of the variant in the plan.
    pub variant: usize,
    /// Index of the job in the plan.
    pub job: usize,
}

impl PlannedCell {
    /// Name of the variant, followed by the role unless it is a measured round: `ext4 (again)`.
    pub fn label(&self, plan: &Plan) -> String {
        format!("{}{}", plan.variants[self.variant].name, self.role.suffix())
    }

    /// Round and label, with the job if there are several: `round 2: ext4, fs_mark`; `observing
    /// round 1: ext4`.
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

/// Cells of each round of a plan, beginning with the warm-up if any, up to the maximum of its
/// stopping rule. Adding rounds does not change the order of earlier ones.
///
/// The trials of a job are consecutive within a round, so that compared trials run close in time.
/// The order of the jobs is random and balanced, as is the order of the variants within a job.
pub fn rounds(plan: &Plan) -> Vec<Vec<PlannedCell>> {
    let first = u32::from(!plan.conditions.warm_up);
    let last = plan.stopping.most_rounds();
    let count = usize::try_from(last).unwrap_or(usize::MAX).saturating_add(usize::from(first == 0));
    let with_control = plan.conditions.control && (plan.variants.len() > 1 || plan.compares_jobs());
    let numbered = (first..).zip(order(plan, count, with_control, "schedule"));
    let cells = numbered.map(|(round, order)| {
        // The warm-up has no control, since it is not compared.
        let cells = order.into_iter().filter(|(role, ..)| round > 0 || *role == CellRole::Round);
        cells
            .map(|(role, variant, job)| {
                let role = match role {
                    _ if round == 0 => CellRole::WarmUp,
                    CellRole::Round if !plan.jobs[job].is_measured() => CellRole::Preparation,
                    role => role,
                };
                PlannedCell { round, role, variant, job }
            })
            .collect()
    });
    cells.collect()
}

/// Observing rounds of a plan: every variant runs every job once in each.
pub fn observing_rounds(plan: &Plan) -> Vec<Vec<PlannedCell>> {
    let observed = &plan.observing;
    if !observed.is_in_own_rounds() {
        return Vec::new();
    }
    let count = usize::try_from(observed.rounds).unwrap_or(usize::MAX);
    let cell =
        |round, (_, variant, job)| PlannedCell { round, role: CellRole::Observed, variant, job };
    (1..)
        .zip(order(plan, count, false, "observing"))
        .map(|(round, order)| order.into_iter().map(|one| cell(round, one)).collect())
        .collect()
}

/// Execution order of each of `rounds` rounds, as (role, variant, job). With a control the baseline
/// runs twice.
fn order(
    plan: &Plan,
    rounds: usize,
    with_control: bool,
    part: &str,
) -> Vec<Vec<(CellRole, usize, usize)>> {
    let seed = plan.conditions.seed;
    let runs = plan.variants.len() + usize::from(with_control);
    let blocks = blocks(plan);
    let order = schedule(blocks.len(), rounds, seed, &format!("{part} of jobs"));
    // The first block uses `part` alone as its name, so that plans of one job keep their order.
    let of_block = |block: usize| match block {
        0 => schedule(runs, rounds, seed, part),
        _ => schedule(runs, rounds, seed, &format!("{part} of job {block}")),
    };
    let within: Vec<Vec<Vec<usize>>> = (0..blocks.len()).map(of_block).collect();
    let cell = |run: usize, job: usize| match plan.variants.len() {
        variants if run == variants => (CellRole::Control, 0, job),
        _ => (CellRole::Round, run, job),
    };
    let of_round = |(round, order): (usize, Vec<usize>)| {
        let mut cells = Vec::new();
        for block in order {
            for &run in &within[block][round] {
                cells.extend(blocks[block].iter().map(|&job| cell(run, job)));
            }
        }
        cells
    };
    order.into_iter().enumerate().map(of_round).collect()
}

/// Groups jobs by filesystem: each job has one of its own, and all steps share one.
fn blocks(plan: &Plan) -> Vec<Vec<usize>> {
    let (steps, jobs): (Vec<usize>, Vec<usize>) =
        (0..plan.jobs.len()).partition(|&job| plan.jobs[job].step.is_some());
    let alone = jobs.into_iter().map(|job| vec![job]);
    alone.chain(Some(steps).filter(|steps| !steps.is_empty())).collect()
}

/// True if the next cell is a later step on the same filesystem.
pub(crate) fn is_next_step(plan: &Plan, cell: &PlannedCell, next: &PlannedCell) -> bool {
    let is_step = |cell: &PlannedCell| plan.jobs[cell.job].step.is_some();
    let is_control = |cell: &PlannedCell| cell.role == CellRole::Control;
    is_step(cell)
        && is_step(next)
        && cell.variant == next.variant
        && is_control(cell) == is_control(next)
        && cell.job < next.job
}
