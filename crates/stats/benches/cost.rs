//! Cost of the statistics: nanoseconds per call, the best of several batches. Prints a Markdown
//! table.
//!
//! Not here: correctness. The best of the batches is shown, since on a shared machine disturbances
//! only add time.
//!
//! Run: `cargo bench -p treering-stats`

#![expect(clippy::disallowed_macros, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::time::Instant;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treering_stats as stats;
use treering_stats::{Comparison, ComparisonQuestion, CorrectionRole, Criteria, Direction, Scale};

const BATCHES: usize = 7;

fn main() {
    println!("| what | cost |");
    println!("|---|---|");
    comparisons();
    large_inputs();
    inside_a_run();
    planning();
}

/// Positive values around 100.
fn series(n: usize, seed: u64) -> Vec<f64> {
    let mut source = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..n).map(|_| 95.0 + (source.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 * 10.0).collect()
}

fn measure<T>(label: &str, calls: u32, mut work: impl FnMut() -> T) {
    let batch = |_| {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(work());
        }
        start.elapsed().as_secs_f64() / f64::from(calls)
    };
    let best = (0..BATCHES).map(batch).fold(f64::INFINITY, f64::min);
    let shown = if best < 1e-3 {
        format!("{:.2} µs", best * 1e6)
    } else {
        format!("{:.2} ms", best * 1e3)
    };
    println!("| {label} | {shown} |");
}

fn compared(n: usize) -> Comparison {
    stats::compare_paired(&series(n, 1), &series(n, 2), Scale::Ratio, stats::ALPHA).expect("valid")
}

fn comparisons() {
    let criteria = Criteria {
        direction: Direction::HigherIsBetter,
        role: CorrectionRole::Primary,
        effect_threshold: stats::THRESHOLD_THROUGHPUT,
    };
    for n in [6, 10, 30, 50] {
        let (base, variant) = (series(n, 1), series(n, 2));
        let compare =
            || stats::compare_paired(black_box(&base), &variant, Scale::Ratio, stats::ALPHA);
        measure(&format!("paired comparison, {n} rounds"), 200, compare);
    }
    let (base, variant) = (series(10, 1), series(10, 2));
    let compare =
        || stats::compare_unpaired(black_box(&base), &variant, Scale::Ratio, stats::ALPHA);
    measure("unpaired comparison, 10 against 10", 200, compare);
    let question = ComparisonQuestion { comparison: compared(10), criteria };
    measure("verdict of one unclear comparison (with rounds needed)", 100, || {
        stats::judge(black_box(&question), stats::ALPHA)
    });
    let family = vec![question; 100];
    measure("verdicts of a family of 100", 5, || {
        stats::judge_family(black_box(&family), stats::ALPHA)
    });
}

fn large_inputs() {
    for n in [1_000, 10_000, 100_000] {
        let (a, b) = (series(n, 1), series(n, 2));
        let estimate = || stats::hodges_lehmann(black_box(&a), 0.95);
        measure(&format!("Hodges-Lehmann with interval, n = {n}"), 1, estimate);
        let two = || stats::hodges_lehmann_shift(black_box(&a), &b, 0.95);
        measure(&format!("Hodges-Lehmann shift with interval, {n} against {n}"), 1, two);
    }
    let (a, b) = (series(50, 1), series(50, 2));
    measure("exact Mann-Whitney, 50 against 50", 10, || stats::mann_whitney(black_box(&a), &b));
    let tied = |seed| series(20, seed).into_iter().map(f64::round).collect::<Vec<_>>();
    let (a, b) = (tied(1), tied(2));
    measure("exact Mann-Whitney with ties, 20 against 20", 10, || {
        stats::mann_whitney(black_box(&a), &b)
    });
}

fn inside_a_run() {
    let values = series(10_000, 3);
    measure("Mann-Kendall, n = 10000", 10, || stats::mann_kendall(black_box(&values)));
    measure("Theil-Sen with interval, n = 10000", 1, || stats::theil_sen(black_box(&values), 0.95));
    measure("serial check, n = 10000", 10, || stats::serial_check(black_box(&values)));
    let short = series(1_000, 3);
    let plan = stats::ChangePointPlan::default();
    measure("E-divisive, n = 1000, 199 permutations", 1, || {
        stats::change_points(black_box(&short), &plan)
    });
}

fn planning() {
    let plan = stats::PowerPlan::default();
    measure("rounds needed", 50, || stats::rounds_needed(black_box(0.05), 0.02, &plan));
    let looks = stats::RECOMMENDED_LOOKS;
    let shape = stats::BoundaryShape::Pocock;
    measure("group-sequential boundaries, 5 looks", 1, || {
        stats::group_sequential(black_box(&looks), stats::ALPHA, shape)
    });
}
