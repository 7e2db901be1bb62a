//! Simulates data with known truth to measure the coverage of the intervals, and the false alarms
//! and missed differences of the verdicts. Prints the Markdown tables of
//! `docs/evidence/statistics.md`.
//!
//! Not here: the statistics themselves. The program calls public functions of the crate, except for
//! the methods in the comparison columns (`bca`, `welch`). It is seeded: two runs print the same.
//!
//! Run: `cargo run --release -p treering-stats --example coverage [repetitions]`

#![expect(clippy::disallowed_macros, reason = "an example prints its tables")]
#![expect(clippy::disallowed_methods, reason = "an example reads its one argument")]

mod bca;
mod noise;
mod welch;

use bca::bca_interval;
use noise::{Noise, RandomSource};
use treering_stats as stats;
use treering_stats::{
    ALPHA, CampaignProgress, Comparison, ComparisonQuestion, CorrectionRole, Criteria, Direction,
    Finding, Scale, StoppingDecision, StoppingRule,
};
use welch::welch_p;

/// The numbers of rounds shown.
const ROUNDS: [usize; 4] = [5, 6, 10, 20];

/// Resamples of the bootstrap in the comparison column.
const RESAMPLES: usize = 500;

fn main() {
    let repetitions: usize =
        std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    println!(
        "{repetitions} repetitions per figure (a fifth of them for bootstrap and families).\n"
    );
    interval_coverage(repetitions);
    false_alarms(repetitions);
    family_alarms(repetitions / 5);
    slowdowns(repetitions);
    at_the_threshold(repetitions);
    pairing(repetitions);
    stopping(repetitions);
    inside_a_run(repetitions);
    planning();
}

fn share(count: usize, of: usize) -> String {
    let percent = 100.0 * count as f64 / of as f64;
    format!("{percent:.1} %")
}

fn fraction(count: usize, of: usize) -> String {
    format!("{:.3}", count as f64 / of as f64).trim_start_matches('0').to_owned()
}

fn interval_coverage(repetitions: usize) {
    println!("### Coverage of a nominal 95 % interval\n");
    println!("| noise | N | Student's t | treering | bootstrap BCa | half width, treering / t |");
    println!("|---|---|---|---|---|---|");
    for (kind, noise) in
        [Noise::Normal, Noise::Skewed, Noise::Outliers, Noise::Serial].into_iter().enumerate()
    {
        let (mean, pseudomedian) = noise.true_locations();
        for rounds in ROUNDS {
            let mut source = RandomSource::seeded(100 + kind as u64);
            let (mut t, mut ours, mut bca, mut bootstraps) = (0, 0, 0, 0);
            let (mut width_t, mut width_ours) = (0.0, 0.0);
            for repetition in 0..repetitions {
                let series = noise.series(rounds, &mut source);
                let student = stats::mean_interval(&series, 0.95).ok().flatten();
                let shift =
                    stats::hodges_lehmann(&series, 0.95).ok().and_then(|shift| shift.interval);
                let (Some(student), Some(shift)) = (student, shift) else { continue };
                t += usize::from(student.contains(mean));
                // Below six rounds the interval is Student's t interval of the mean.
                let target = if rounds < stats::FEWEST_ROUNDS { mean } else { pseudomedian };
                ours += usize::from(shift.contains(target));
                width_t += student.half_width();
                width_ours += shift.half_width();
                if repetition % 5 == 0
                    && let Some(interval) = bca_of_the_mean(&series, &mut source)
                {
                    bootstraps += 1;
                    bca += usize::from(interval.0 <= mean && mean <= interval.1);
                }
            }
            println!(
                "| {} | {rounds} | {} | {}{} | {} | {:.2} |",
                if noise == Noise::Serial { "serial, AR(1) phi .5" } else { noise.name() },
                fraction(t, repetitions),
                fraction(ours, repetitions),
                if rounds < stats::FEWEST_ROUNDS { " (t, flagged)" } else { "" },
                fraction(bca, bootstraps),
                width_ours / width_t,
            );
        }
    }
    println!();
}

fn bca_of_the_mean(series: &[f64], source: &mut RandomSource) -> Option<(f64, f64)> {
    let n = series.len();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut draw = || {
        let place =
            |unit: f64| (0..n).find(|&i| unit * (n as f64) < (i + 1) as f64).unwrap_or(n - 1);
        series[place(source.unit())]
    };
    let replicates: Vec<f64> =
        (0..RESAMPLES).map(|_| mean(&(0..n).map(|_| draw()).collect::<Vec<_>>())).collect();
    let total: f64 = series.iter().sum();
    let left_out: Vec<f64> = series.iter().map(|value| (total - value) / (n - 1) as f64).collect();
    bca_interval(mean(series), &replicates, &left_out)
}

fn criteria() -> Criteria {
    let direction = Direction::LowerIsBetter;
    Criteria {
        direction,
        role: CorrectionRole::Primary,
        effect_threshold: stats::THRESHOLD_THROUGHPUT,
    }
}

fn compared(rounds: &[Vec<f64>; 2]) -> Comparison {
    stats::compare_paired(&rounds[0], &rounds[1], Scale::Ratio, ALPHA).expect("valid rounds")
}

fn judged(rounds: &[Vec<f64>; 2]) -> Finding {
    let question = ComparisonQuestion { comparison: compared(rounds), criteria: criteria() };
    stats::judge(&question, ALPHA).expect("valid rounds").finding
}

/// Counts of findings by category; better and worse are counted together.
#[derive(Default)]
struct FindingCounts {
    alarms: usize,
    small: usize,
    same: usize,
    unclear: usize,
}

impl FindingCounts {
    fn add(&mut self, finding: Finding) {
        match finding {
            Finding::Better | Finding::Worse => self.alarms += 1,
            Finding::Small => self.small += 1,
            Finding::Same => self.same += 1,
            Finding::Unclear { .. } | Finding::SingleRun => self.unclear += 1,
        }
    }
}

fn false_alarms(repetitions: usize) {
    println!("### The same thing twice (A/A): what the verdict says\n");
    println!("Each run varies by 2 % (coefficient of variation), threshold 2 %, one comparison.\n");
    println!(
        "| noise of each run | N | better or worse | small | same | unclear | unpaired p < .05 |"
    );
    println!("|---|---|---|---|---|---|---|");
    let kinds = [
        Noise::Normal,
        Noise::Skewed,
        Noise::Outliers,
        Noise::SharedDrift,
        Noise::SerialInterleaved,
        Noise::SerialBlocks,
        Noise::Serial,
    ];
    for (kind, noise) in kinds.into_iter().enumerate() {
        for n in ROUNDS {
            let mut source = RandomSource::seeded(200 + kind as u64);
            let mut tally = FindingCounts::default();
            let mut unpaired = 0;
            for _ in 0..repetitions {
                let rounds = source.rounds(n, noise, 0.02, 1.0);
                tally.add(judged(&rounds));
                let test = stats::mann_whitney(&rounds[0], &rounds[1]).expect("valid rounds");
                unpaired += usize::from(test.p_value < ALPHA);
            }
            println!(
                "| {} | {n} | {} | {} | {} | {} | {} |",
                noise.name(),
                share(tally.alarms, repetitions),
                share(tally.small, repetitions),
                share(tally.same, repetitions),
                share(tally.unclear, repetitions),
                share(unpaired, repetitions),
            );
        }
    }
    println!();
}

fn family_alarms(repetitions: usize) {
    println!(
        "### Ten metrics, none of which changed: how often is any called better, worse or small?\n"
    );
    println!("| N | each metric on its own | Holm over the ten (treering) |");
    println!("|---|---|---|");
    for n in [6, 10, 20] {
        let mut source = RandomSource::seeded(300);
        let (mut alone, mut together) = (0, 0);
        for _ in 0..repetitions {
            let questions: Vec<ComparisonQuestion> = (0..10)
                .map(|_| compared(&source.rounds(n, Noise::Normal, 0.02, 1.0)))
                .map(|comparison| ComparisonQuestion { comparison, criteria: criteria() })
                .collect();
            let alarm = |finding: Finding| {
                matches!(finding, Finding::Better | Finding::Worse | Finding::Small)
            };
            let single = |question: &ComparisonQuestion| {
                stats::judge(question, ALPHA).expect("valid").finding
            };
            alone += usize::from(questions.iter().any(|question| alarm(single(question))));
            let verdicts = stats::judge_family(&questions, ALPHA).expect("valid");
            together += usize::from(verdicts.iter().any(|verdict| alarm(verdict.finding)));
        }
        println!("| {n} | {} | {} |", share(alone, repetitions), share(together, repetitions));
    }
    println!();
}

fn slowdowns(repetitions: usize) {
    println!("### A true slowdown of 5 %: is it found?\n");
    println!("Normal noise, threshold 2 %, one comparison.\n");
    println!("| run varies by | N | worse | small | same (wrong) | better (wrong) | unclear |");
    println!("|---|---|---|---|---|---|---|");
    for variation in [0.01, 0.02, 0.03, 0.05] {
        for n in [6, 10, 20] {
            let mut source = RandomSource::seeded(400);
            let (mut worse, mut better) = (0, 0);
            let mut tally = FindingCounts::default();
            for _ in 0..repetitions {
                let finding = judged(&source.rounds(n, Noise::Normal, variation, 1.05));
                tally.add(finding);
                match finding {
                    Finding::Worse => worse += 1,
                    Finding::Better => better += 1,
                    _ => {}
                }
            }
            println!(
                "| {:.0} % | {n} | {} | {} | {} | {} | {} |",
                variation * 100.0,
                share(worse, repetitions),
                share(tally.small, repetitions),
                share(tally.same, repetitions),
                share(better, repetitions),
                share(tally.unclear, repetitions),
            );
        }
    }
    println!();
}

fn at_the_threshold(repetitions: usize) {
    println!(
        "### A true slowdown of exactly the threshold, 2 %: how often is it called the same?\n"
    );
    println!("| run varies by | N | same (wrong) | worse | small | unclear |");
    println!("|---|---|---|---|---|---|");
    for variation in [0.005, 0.01] {
        for n in [6, 10, 20, 40] {
            let mut source = RandomSource::seeded(450);
            let mut tally = FindingCounts::default();
            for _ in 0..repetitions {
                tally.add(judged(&source.rounds(n, Noise::Normal, variation, 1.02)));
            }
            println!(
                "| {:.1} % | {n} | {} | {} | {} | {} |",
                variation * 100.0,
                share(tally.same, repetitions),
                share(tally.alarms, repetitions),
                share(tally.small, repetitions),
                share(tally.unclear, repetitions),
            );
        }
    }
    println!();
}

fn planning() {
    println!("\n### Rounds needed to find a difference four times out of five\n");
    let thresholds = [0.01, 0.02, 0.03, 0.05, 0.10];
    let columns = thresholds.map(|delta: f64| format!("{:.0} %", delta * 100.0)).join(" | ");
    println!("One comparison, and as one of ten corrected together.\n");
    println!("| a run varies by | {columns} | smallest found with 10 rounds |");
    println!("|---|---|---|---|---|---|---|");
    for variation in [0.005, 0.01, 0.02, 0.03, 0.05, 0.10] {
        let spread = variation * std::f64::consts::SQRT_2;
        let needed = |delta: f64, comparisons: u32| {
            let plan = stats::PowerPlan { comparisons, ..stats::PowerPlan::default() };
            match stats::rounds_needed(spread, delta.ln_1p(), &plan) {
                Ok(Some(rounds)) => rounds.to_string(),
                _ => "–".to_owned(),
            }
        };
        let cells = thresholds
            .map(|delta| format!("{} ({})", needed(delta, 1), needed(delta, 10)))
            .join(" | ");
        let smallest = stats::smallest_detectable(10, spread, &stats::PowerPlan::default());
        let smallest = smallest.ok().flatten().map_or(f64::NAN, f64::exp_m1);
        println!("| {:.1} % | {cells} | {:.1} % |", variation * 100.0, smallest * 100.0);
    }
}

fn pairing(repetitions: usize) {
    println!("### What pairs are worth: a true difference of 1.5 %, ten rounds, p < .05\n");
    println!("Each run varies by 1 % of its own; the round adds noise that both sides share.\n");
    println!("| noise shared by the round | found, paired | found, unpaired |");
    println!("|---|---|---|");
    for shared in [0.0, 0.01, 0.03] {
        let mut source = RandomSource::seeded(470);
        let (mut paired, mut unpaired) = (0, 0);
        for _ in 0..repetitions {
            let common: Vec<f64> = (0..10).map(|_| shared * source.normal()).collect();
            let mut side = |level: f64| -> Vec<f64> {
                common
                    .iter()
                    .map(|common| level * (common + 0.01 * source.normal()).exp())
                    .collect()
            };
            let rounds = [side(100.0), side(101.5)];
            paired += usize::from(compared(&rounds).p_value.is_some_and(|p| p < ALPHA));
            let test = stats::mann_whitney(&rounds[0], &rounds[1]).expect("valid rounds");
            unpaired += usize::from(test.p_value < ALPHA);
        }
        println!(
            "| {:.0} % | {} | {} |",
            shared * 100.0,
            share(paired, repetitions),
            share(unpaired, repetitions)
        );
    }
    println!();
}

fn inside_a_run(repetitions: usize) {
    println!("\n### Inside one run: two series of 30 samples of the same thing, p < .05\n");
    println!("| dependence, AR(1) | Welch's t | Mann-Whitney | Welch's t on 6 batches of 5 |");
    println!("|---|---|---|---|");
    for phi in [0.0, 0.3, 0.6] {
        let mut source = RandomSource::seeded(700);
        let mut alarms = [0; 3];
        for _ in 0..repetitions {
            let series = [0; 2].map(|_| source.autoregressive(30, phi));
            let [first, second] = &series;
            let batches = series.each_ref().map(|series| {
                series.chunks_exact(5).map(|batch| batch.iter().sum::<f64>()).collect::<Vec<f64>>()
            });
            let p_values = [
                welch_p(first, second),
                stats::mann_whitney(first, second).expect("valid series").p_value,
                welch_p(&batches[0], &batches[1]),
            ];
            for (count, p) in alarms.iter_mut().zip(p_values) {
                *count += usize::from(p < ALPHA);
            }
        }
        let cells = alarms.map(|count| share(count, repetitions)).join(" | ");
        println!("| phi {phi} | {cells} |");
    }
}

/// Stopping test of a campaign.
#[derive(Clone, Copy)]
enum StoppingTest {
    SignedRank,
    Student,
}

impl StoppingTest {
    fn p_value(self, differences: &[f64]) -> Option<f64> {
        match self {
            Self::SignedRank => stats::signed_rank(differences).ok().map(|test| test.p_value),
            Self::Student => stats::student_test(differences, 0.95).ok().map(|test| test.p_value),
        }
    }
}

/// Runs one campaign by a rule; returns the decision that ended it and the rounds.
fn campaign(
    rule: &StoppingRule,
    test: StoppingTest,
    differences: &[f64],
) -> (StoppingDecision, usize) {
    let mut rounds = 6;
    loop {
        let seen = &differences[..rounds];
        let half_width = match rule {
            StoppingRule::Precision { .. } => stats::hodges_lehmann(seen, 0.95)
                .ok()
                .and_then(|shift| shift.interval)
                .map(|interval| interval.half_width()),
            _ => None,
        };
        let p_value = test.p_value(seen);
        let done = u32::try_from(rounds).expect("few rounds");
        match rule.decide(&CampaignProgress { rounds: done, half_width, p_value }) {
            StoppingDecision::Continue { next_look } => rounds = next_look as usize,
            decision => return (decision, rounds),
        }
    }
}

fn stopping(repetitions: usize) {
    println!("### Looking while it runs: false alarms over a whole campaign of up to 30 rounds\n");
    println!("| rule | signed-rank | Student's t |");
    println!("|---|---|---|");
    let every = StoppingRule::Sequential {
        looks: (6..=30).map(|rounds| stats::PlannedLook { rounds, alpha: ALPHA }).collect(),
    };
    let looks = |alpha: f64| StoppingRule::Sequential {
        looks: stats::RECOMMENDED_LOOKS.map(|rounds| stats::PlannedLook { rounds, alpha }).to_vec(),
    };
    let theory =
        stats::group_sequential(&stats::RECOMMENDED_LOOKS, ALPHA, stats::BoundaryShape::Pocock)
            .expect("rising looks")[0]
            .alpha;
    let rules = [
        ("p < .05 after every round from 6 (wrong)".to_owned(), every),
        ("looks at 6, 10, 15, 20, 30, p < .05 (wrong)".to_owned(), looks(ALPHA)),
        (format!("the same looks, p < {theory:.4} (normal theory)"), looks(theory)),
        (
            "the same looks, p < .0138 (treering)".to_owned(),
            StoppingRule::sequential(&stats::RECOMMENDED_LOOKS),
        ),
        ("the same looks, p < .01 (Bonferroni)".to_owned(), looks(0.01)),
        (
            "30 rounds, one test".to_owned(),
            StoppingRule::Sequential {
                looks: vec![stats::PlannedLook { rounds: 30, alpha: ALPHA }],
            },
        ),
    ];
    for (name, rule) in rules {
        let crossed = [StoppingTest::SignedRank, StoppingTest::Student].map(|test| {
            let mut source = RandomSource::seeded(500);
            let crossed = (0..repetitions)
                .filter(|_| {
                    let differences = Noise::Normal.series(30, &mut source);
                    campaign(&rule, test, &differences).0 == StoppingDecision::Crossed
                })
                .count();
            share(crossed, repetitions)
        });
        println!("| {name} | {} | {} |", crossed[0], crossed[1]);
    }
    println!();
    println!("Stopping by precision (half width of half a threshold of 2 %, cap 40 rounds):\n");
    println!("| differences vary by | rounds, median | coverage at the end |");
    println!("|---|---|---|");
    let rule = StoppingRule::precision(0.02_f64.ln_1p(), 40).expect("a positive threshold");
    for spread in [0.01, 0.015, 0.02] {
        let mut source = RandomSource::seeded(600);
        let (mut covered, mut ended) = (0, Vec::new());
        for _ in 0..repetitions {
            let differences: Vec<f64> =
                Noise::Normal.series(40, &mut source).iter().map(|value| value * spread).collect();
            let rounds = campaign(&rule, StoppingTest::SignedRank, &differences).1;
            ended.push(rounds as f64);
            let shift = stats::hodges_lehmann(&differences[..rounds], 0.95).expect("valid");
            covered += usize::from(shift.interval.is_some_and(|interval| interval.contains(0.0)));
        }
        let median = stats::median(&ended).unwrap_or(f64::NAN);
        println!("| {:.1} % | {median:.0} | {} |", spread * 100.0, fraction(covered, repetitions));
    }
}
