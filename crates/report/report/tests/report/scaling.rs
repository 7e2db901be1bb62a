//! Sweeps over ranks: ideal, efficiency and the Universal Scalability Law, as far as sizes and
//! noise determine them.

use treering_analysis::sweep::sweeps;
use treering_model::{
    BetterDirection, Cell, CellRole, Ending, Metric, RunMode, Scope, Trial, TrialHeader, TrialId,
    Unit,
};
use treering_report::formats::plain::Plain;
use treering_report::pages::history::sweep::page;
use treering_report::{Block, Chart, Report};

use crate::html::html;
use crate::rendered;

fn trial(job: &str, round: u32, value: f64) -> Trial {
    let id = TrialId::new();
    let cell = Cell {
        campaign: id,
        plan: "clients".to_owned(),
        digest: String::new(),
        variant: "shm".to_owned(),
        job: job.to_owned(),
        round,
        role: CellRole::Round,
    };
    let metric = Metric::new(
        "files_per_second",
        Scope::Trial,
        value,
        Unit::FilesPerSecond,
        BetterDirection::Higher,
    );
    Trial {
        metrics: vec![Metric { primary: true, ..metric }],
        ending: Ending::Completed,
        ..Trial::new(TrialHeader {
            cell: Some(cell),
            ..TrialHeader::new(id, "fs_mark", RunMode::Native)
        })
    }
}

/// Page of a sweep over these ranks; the rounds deviate from the throughput by `noise`, alternately
/// upwards and downwards.
fn swept(ranks: &[u32], noise: f64, throughput: impl Fn(f64) -> f64) -> Report {
    let of = |(place, ranks): (usize, &u32)| -> Vec<Trial> {
        let trial_of = |round: u32| {
            let sign = if (round + u32::try_from(place).unwrap()).is_multiple_of(2) {
                noise
            } else {
                -noise
            };
            let value = throughput(f64::from(*ranks)) * (1.0 + sign);
            trial(&format!("make, ranks={ranks}"), round, value)
        };
        (1..=6).map(trial_of).collect()
    };
    let trials: Vec<Trial> = ranks.iter().enumerate().flat_map(of).collect();
    page("clients", &sweeps(&trials, None).unwrap(), true)
}

fn model(n: f64) -> f64 {
    10_000.0 * n / (1.0 + 0.08 * (n - 1.0) + 0.004 * n * (n - 1.0))
}

fn text(report: &Report) -> String {
    // Lines are joined, since the wrapping may vary.
    rendered(report, &Plain { width: 100 }).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_planted_model_is_described_drawn_and_listed() {
    let report = swept(&[1, 2, 4, 8, 16, 32], 0.01, model);
    insta::assert_snapshot!("scaling_plain", rendered(&report, &Plain { width: 100 }));
    let page = html(&report);
    assert!(page.contains("figure class=\"chart scaling\""), "{page}");
    assert!(page.contains("Dashed: the ideal. Curve: the Universal Scalability Law."), "{page}");
    let drawn = report.blocks.iter().find_map(|block| match block {
        Block::Chart(Chart::Scaling(chart)) => Some(chart),
        _ => None,
    });
    let chart = drawn.unwrap();
    assert_eq!((chart.key.as_str(), chart.curves.len()), ("ranks", 1));
    let curve = &chart.curves[0];
    assert_eq!((curve.points.len(), curve.model.len()), (6, 41));
    let last = curve.points[5];
    assert!((last.ideal / (32.0 * curve.points[0].mean) - 1.0).abs() < 1e-9, "{last:?}");
}

#[test]
fn undetermined_models_are_not_reported() {
    let few = text(&swept(&[1, 2, 4, 8], 0.01, model));
    assert!(
        few.contains("Universal Scalability Law is fitted from 5 sizes on, and there are 4."),
        "{few}"
    );
    assert!(!few.contains("lack of fit"), "{few}");
    let ideal = text(&swept(&[1, 2, 4, 8, 16], 0.02, |n| 1000.0 * n));
    assert!(ideal.contains("contention is not told from none (at most "), "{ideal}");
    assert!(ideal.contains("whether there is a peak, and where, these ranks do not"), "{ideal}");
    let noisy = text(&swept(&[1, 2, 4, 8, 16], 0.7, model));
    assert!(noisy.contains("contention is not determined"), "{noisy}");
    let faster = text(&swept(&[1, 2, 4, 8, 16], 0.01, |n| 1000.0 * n.powf(1.2)));
    assert!(faster.contains("throughput grows faster than ranks"), "{faster}");
    let two = text(&swept(&[1, 2, 4, 8, 16], 0.01, |n| 1000.0 * n.min(2.0)));
    assert!(two.contains("These sizes do not follow the model (at ranks="), "{two}");
    let beyond = text(&swept(&[1, 2, 3, 4, 5, 6, 8], 0.001, model));
    assert!(beyond.contains("beyond the 8 that were measured"), "{beyond}");
}

/// Page of a sweep with `rounds` rounds over two keys, neither of which denotes concurrency.
fn over_two_keys(rounds: u32) -> Report {
    let cells = [8, 16].into_iter().flat_map(|depth| ["4K", "1M", "0"].map(|size| (depth, size)));
    let of = |(depth, size): (u32, &str)| -> Vec<Trial> {
        let trial_of = |round: u32| {
            let value = f64::from(depth) * size.len() as f64 * (1.0 + f64::from(round) / 100.0);
            trial(&format!("make, iodepth={depth}, size={size}"), round, value)
        };
        (1..=rounds).map(trial_of).collect()
    };
    let trials: Vec<Trial> = cells.flat_map(of).collect();
    page("clients", &sweeps(&trials, None).unwrap(), true)
}

#[test]
fn two_noisy_rounds_determine_neither_growth_nor_knee() {
    let noisy = |threads: u32, round: u32| {
        let factor = if round == 2 && threads > 3 { 9.0 } else { 1.0 };
        trial(&format!("make, threads={threads}"), round, f64::from(threads) * factor)
    };
    let cells = [2, 3, 4, 5, 8].into_iter().flat_map(|threads| [(threads, 1), (threads, 2)]);
    let trials: Vec<Trial> = cells.map(|(threads, round)| noisy(threads, round)).collect();
    let text = text(&page("clients", &sweeps(&trials, None).unwrap(), true));
    assert!(text.contains("8 threads give than 2 is not determined by 2 rounds"), "{text}");
    assert!(!text.contains("the knee is at") && !text.contains("e11"), "{text}");
    assert!(text.contains("Intervals whose ends differ by more than a factor of 20"), "{text}");
}

#[test]
fn curves_have_the_intervals_of_their_points_and_two_keys_a_picture() {
    let report = over_two_keys(6);
    let charts = || report.blocks.iter().filter(|block| matches!(block, Block::Chart(_)));
    assert_eq!(charts().count(), 2);
    let page = html(&report);
    // Each of the six points has a line and two caps.
    assert_eq!(page.matches("class=\"whisker\"").count(), 18, "{page}");
    assert!(page.contains("iodepth=16, size 1M: "), "each point can be read: {page}");
    assert_eq!(page.matches("fill-opacity=\"0.75\"").count(), 2, "the best cells: {page}");
    assert!(page.contains(">100<") && page.contains(">25<"), "shares of the best: {page}");
    let alone = html(&over_two_keys(1));
    assert!(!alone.contains("class=\"whisker\""), "of one round there is no interval");
}
