//! Order of the cells: compared cells are consecutive within a round, and no position is favoured.

use treering_conduct::plan::Plan;
use treering_conduct::{PlannedCell, observing_rounds, rounds};
use treering_model::CellRole;

use crate::read_plan;

const THREE_BY_THREE: &str = "control = true\nrounds = 12\n\
    [[variant]]\nname = \"a\"\nfilesystem = \"ext4\"\n\
    [[variant]]\nname = \"b\"\nfilesystem = \"xfs\"\n\
    [[variant]]\nname = \"c\"\nfilesystem = \"btrfs\"\n\
    [[job]]\nworkload = \"fs_mark\"\n\
    [[job]]\nworkload = \"bonnie++\"\n\
    [[job]]\nworkload = \"compilebench\"\noptions = { dataset = \"linux-6.1-small\" }\n\
    [observe]\nlayout = true\nrounds = 3\n";

fn plan() -> Plan {
    read_plan(THREE_BY_THREE).unwrap()
}

/// Jobs of a round in their order, consecutive cells of a job counted once.
fn blocks(round: &[PlannedCell]) -> Vec<usize> {
    let mut jobs: Vec<usize> = round.iter().map(|cell| cell.job).collect();
    jobs.dedup();
    jobs
}

#[test]
fn trials_of_a_job_are_consecutive_in_every_round() {
    let plan = plan();
    for round in rounds(&plan).iter().chain(&observing_rounds(&plan)) {
        let mut jobs = blocks(round);
        assert_eq!(jobs.len(), 3, "{round:?}");
        jobs.sort_unstable();
        assert_eq!(jobs, [0, 1, 2]);
    }
}

#[test]
fn jobs_and_variants_take_each_position_equally_often() {
    let plan = plan();
    let measured: Vec<_> = rounds(&plan).into_iter().skip(1).collect();
    let mut first_jobs = [0; 3];
    let mut first_of_job = [[0; 4]; 3];
    for round in &measured {
        assert_eq!(round.len(), 12, "three variants and a control, by three jobs");
        first_jobs[blocks(round)[0]] += 1;
        for (job, places) in first_of_job.iter_mut().enumerate() {
            let first = round.iter().find(|cell| cell.job == job).unwrap();
            let place = if first.role == CellRole::Control { 3 } else { first.variant };
            places[place] += 1;
        }
    }
    // The twelve rounds begin at the second, so the first and last Latin squares may be incomplete.
    assert!(first_jobs.iter().all(|count| (3..=5).contains(count)), "{first_jobs:?}");
    let flat = first_of_job.concat();
    assert!(flat.iter().all(|count| (2..=4).contains(count)), "{first_of_job:?}");
    let orders: std::collections::BTreeSet<Vec<usize>> =
        measured.iter().map(|round| blocks(round)).collect();
    assert!(orders.len() > 1, "the order of the jobs changes too");
}

#[test]
fn additional_rounds_do_not_change_the_order_of_earlier_ones() {
    let longer = read_plan(&THREE_BY_THREE.replace("rounds = 12", "rounds = 15")).unwrap();
    assert_eq!(rounds(&plan())[..], rounds(&longer)[..13]);
}

#[test]
fn a_control_runs_only_on_request() {
    let controls = |text: &str| {
        let cells = rounds(&read_plan(text).unwrap()).concat();
        cells.iter().filter(|cell| cell.role == CellRole::Control).count()
    };
    assert_eq!(controls(THREE_BY_THREE), 12 * 3);
    assert_eq!(controls(&THREE_BY_THREE.replace("control = true", "control = false")), 0);
    assert_eq!(controls(&THREE_BY_THREE.replace("control = true\n", "")), 0);
}
