//! Head of a comparison page: one verdict for each quantity, a headline that names jobs, intervals
//! that agree with verdicts, an overview before the details, and a brief page for mails.

use std::time::Duration;

use treering_analysis::compare::{
    ComparedVariant, ComparisonTerms, Factor, MetricComparison, Outcome, Verdict, compare,
};
use treering_model::{
    BetterDirection, Cell, CellRole, Fact, Metric, Scope, Trial, TrialId, Unit, WorkLimit,
};
use treering_report::formats::plain::Plain;
use treering_report::formats::terminal::Terminal;
use treering_report::pages::comparison::{ComparisonView, PageDetail, page};
use treering_report::{Block, Cell as TableCell, Chart, Column, Report, Table};

use crate::comparison::{nine_rounds, trial, variant};
use crate::html::html;
use crate::rendered;

/// Three jobs of a plan with three variants, as `[job]` names them. The last job is noisy.
fn three_by_three(rounds: usize) -> Outcome {
    let jobs = ["small files", "large files", "mail"];
    let variant = |name: &str, late: i64, factor: f64| {
        let of_job = |(place, job): (usize, &&str)| -> Vec<Trial> {
            let round_of = |round: usize| {
                let wild = [1.3, 0.7, 1.0, 1.5, 0.8, 1.2, 0.6, 1.1, 0.9][(round + place * 2) % 9];
                let wild = if place == 2 && late > 0 { wild } else { 1.0 };
                let mut trial = trial(round % 9, late, 1.0, "ext4");
                trial.beginning.started_unix_ms += i64::try_from(round * 9 + place).unwrap() * 3000;
                trial.beginning.parameters = vec![("job".to_owned(), (*job).to_owned())];
                let campaign: TrialId = "0193a1b2-c3d4-7000-8000-000000000001".parse().unwrap();
                trial.beginning.cell = Some(Cell {
                    campaign,
                    plan: "filesystems".to_owned(),
                    digest: "d".to_owned(),
                    variant: name.to_owned(),
                    job: (*job).to_owned(),
                    round: u32::try_from(round).unwrap() + 1,
                    role: CellRole::Round,
                });
                let factor = factor.powi(i32::try_from(place).unwrap() + 1) * wild;
                for metric in &mut trial.metrics {
                    match metric.unit {
                        Unit::MibPerSecond => metric.value *= factor,
                        _ => metric.value /= factor,
                    }
                }
                trial
            };
            (0..rounds).map(round_of).collect()
        };
        let trials = jobs.iter().enumerate().flat_map(of_job).collect();
        ComparedVariant { name: name.to_owned(), factor: Factor::Variant, against: None, trials }
    };
    let contenders = [variant("xfs", 500, 1.12), variant("btrfs", 900, 0.9)];
    compare(&variant("ext4", 0, 1.0), &contenders, &ComparisonTerms::default()).unwrap()
}

fn comparison_of<'o>(outcome: &'o Outcome, metric: &str) -> &'o MetricComparison {
    outcome.comparisons.iter().find(|comparison| comparison.metric() == metric).unwrap()
}

#[test]
fn one_quantity_has_one_verdict_in_all_its_units() {
    let outcome = nine_rounds();
    for comparison in outcome.comparisons.iter().filter(|comparison| comparison.name == "seconds") {
        let leader = outcome.comparisons.iter().find(|other| {
            other.contender == comparison.contender && Some(other.metric()) == comparison.same_as
        });
        let leader = leader.unwrap();
        assert!(leader.primary && leader.name == "mib_per_second" && !comparison.primary);
        assert_eq!(
            (comparison.verdict, comparison.p, comparison.p_adjusted),
            (leader.verdict, None, None)
        );
    }
    // CPU time is a separate quantity.
    assert_eq!(comparison_of(&outcome, "create/cpu_seconds").same_as, None);
}

/// Time-limited runs all have the same duration, which is independent of the rate.
#[test]
fn rates_and_seconds_of_unequal_work_are_different_quantities() {
    let timed = |name: &str, late: i64, factor: f64, limit: bool| {
        let mut variant = variant(name, late, 1.0, 9);
        for (round, trial) in variant.trials.iter_mut().enumerate() {
            let noise = 1.0 + round as f64 / 1000.0;
            let rate = Metric::new(
                "operations_per_second",
                Scope::Trial,
                900.0 * factor * noise,
                Unit::OpsPerSecond,
                BetterDirection::Higher,
            );
            trial.metrics = vec![rate.primary()];
            let seconds = if limit { 30.0 } else { 30.0 / factor / noise };
            trial.wall_ns = u64::try_from(Duration::from_secs_f64(seconds).as_nanos()).unwrap();
            if limit {
                let (name, value) =
                    (WorkLimit::FACT.to_owned(), WorkLimit::Timed.name().to_owned());
                trial.facts.push(Fact { name, value });
            }
        }
        variant
    };
    for (limit, factor) in [(true, 1.01), (true, 1.2)] {
        let variants = (timed("a", 0, 1.0, limit), timed("b", 500, factor, limit));
        let outcome = compare(&variants.0, &[variants.1], &ComparisonTerms::default()).unwrap();
        assert_eq!(comparison_of(&outcome, "elapsed_seconds").same_as, None, "{factor}");
    }
    let variants = (timed("a", 0, 1.0, false), timed("b", 500, 1.2, false));
    let outcome = compare(&variants.0, &[variants.1], &ComparisonTerms::default()).unwrap();
    let same = comparison_of(&outcome, "elapsed_seconds").same_as.clone();
    assert_eq!(same.as_deref(), Some("operations_per_second"));
}

#[test]
fn the_selected_metric_leads_its_quantity() {
    let terms = ComparisonTerms {
        primary: vec!["create/seconds".to_owned()],
        ..ComparisonTerms::default()
    };
    let outcome =
        compare(&variant("ext4", 0, 1.0, 9), &[variant("xfs", 500, 1.08, 9)], &terms).unwrap();
    assert!(comparison_of(&outcome, "create/seconds").primary);
    let other = comparison_of(&outcome, "create/mib_per_second");
    assert_eq!(other.same_as.as_deref(), Some("create/seconds"));
    assert_eq!(other.verdict, Verdict::Better);
}

#[test]
fn headline_names_jobs_and_the_typical_change() {
    let outcome = three_by_three(12);
    let text = rendered(&page(&outcome, &ComparisonView::default()), &Plain { width: 400 });
    let xfs = text.lines().find(|line| line.starts_with("xfs against ext4")).unwrap();
    assert!(xfs.contains("better at"), "{xfs}");
    assert!(
        xfs.contains(
            "typically +12 % (create of small files), at most +25 % (create of large files)"
        ),
        "{xfs}"
    );
    assert!(xfs.contains("unclear at 3 of 9 (about "), "{xfs}");
    // A single job is named once, after the variants.
    let text = rendered(&page(&nine_rounds(), &ComparisonView::default()), &Plain { width: 400 });
    assert!(text.contains(
        "xfs against ext4, compilebench: worse at read (-8.0 %); better at create (+8.0 %); the \
         same at delete."
    ));
}

#[test]
fn headline_says_which_metric_of_a_phase_differs() {
    let mut outcome = nine_rounds();
    for comparison in outcome.comparisons.iter_mut().filter(|one| one.name == "mib_per_second") {
        comparison.scope = Scope::Phase("logs".to_owned());
        comparison.name = "layout_extents_per_file".to_owned();
    }
    let text = rendered(&page(&outcome, &ComparisonView::default()), &Plain { width: 400 });
    assert!(text.contains("layout extents per file in logs (-8.0 %)"), "{text}");
}

#[test]
fn shown_intervals_agree_with_corrected_verdicts() {
    for outcome in [nine_rounds(), three_by_three(8), three_by_three(12)] {
        for comparison in
            outcome.comparisons.iter().filter(|comparison| comparison.same_as.is_none())
        {
            let decided = comparison.decided.unwrap();
            let leaves_out = decided.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0);
            let differs =
                matches!(comparison.verdict, Verdict::Better | Verdict::Worse | Verdict::Small);
            assert_eq!(leaves_out, differs, "{comparison:?}");
        }
    }
}

#[test]
fn the_overview_comes_first_and_the_gravest_caution_is_open() {
    let outcome = three_by_three(12);
    let report = page(&outcome, &ComparisonView::default());
    let primary = outcome.comparisons.iter().filter(|comparison| comparison.primary).count();
    let rows: Vec<usize> = report
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Chart(Chart::Forest(forest)) => Some(forest.rows.len()),
            _ => None,
        })
        .collect();
    assert_eq!(rows, [primary]);
    let text = html(&report);
    let cautions = text.matches("<details class=\"caution\"").count();
    assert_eq!(text.matches("<details class=\"caution\" open=\"\">").count(), cautions.min(1));
    let at = |needle: &str| text.find(needle).unwrap();
    assert!(at("class=\"chart forest\"") < at("<table>"));
    assert!(at("aria-label=\"primary\"") < at("aria-label=\"variants\""));
}

#[test]
fn the_brief_page_fits_a_mail_and_splits_no_table() {
    for outcome in [nine_rounds(), three_by_three(12), three_by_three(3)] {
        let view = ComparisonView {
            command: "treering report --plan filesystems",
            detail: PageDetail::Brief,
            ..ComparisonView::default()
        };
        let text = rendered(&page(&outcome, &view), &Plain { width: 72 });
        assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 72), "{text}");
        let jobs = text.lines().filter(|line| line.starts_with("metric")).count();
        let known: std::collections::BTreeSet<&str> =
            outcome.comparisons.iter().map(|comparison| comparison.title.as_str()).collect();
        assert_eq!(jobs, known.len(), "{text}");
        assert!(!text.contains("advice:") && !text.contains("Exploratory"), "{text}");
        assert!(text.lines().count() < 80, "{text}");
    }
}

#[test]
fn a_table_of_verdicts_is_whole_in_a_hundred_columns() {
    let report = page(&three_by_three(12), &ComparisonView::default());
    for text in [
        rendered(&report, &Plain { width: 100 }),
        rendered(&report, &Terminal { width: 100, colour: false }),
    ] {
        let heads = text.lines().filter(|line| line.starts_with("metric"));
        assert!(
            heads.clone().all(|head| head.contains("verdict") && head.contains("new")),
            "{text}"
        );
    }
}

#[test]
fn control_states_the_smallest_detectable_difference() {
    let terms = ComparisonTerms::default();
    let (base, again) = (variant("ext4", 0, 1.0, 9), variant("ext4 again", 300, 1.001, 9));
    let mut outcome = compare(&base, &[variant("xfs", 500, 1.08, 9)], &terms).unwrap();
    outcome.check_control(&base, &again, &terms).unwrap();
    assert_eq!(outcome.control.len(), 3);
    let text = rendered(&page(&outcome, &ComparisonView::default()), &Plain { width: 400 });
    let control = text.lines().find(|line| line.starts_with("Control: ")).unwrap();
    assert!(control.contains("ext4 against itself, 9 rounds: differences below "), "{control}");
    assert!(control.contains("could not have been detected"), "{control}");
}

#[test]
fn a_long_word_stays_whole_when_another_column_can_shrink() {
    let word = "a-word-of-more-than-half-of-a-line-of-mail";
    let mut report = Report::new("Words");
    let columns = vec![Column::long_text("what"), Column::long_text("why"), Column::count("n")];
    let mut table = Table::new("words", "", columns);
    let why = "short words that go on for longer than a line has room for";
    table.rows.push(vec![TableCell::text(word), TableCell::text(why), TableCell::whole(3)]);
    report.table(table);
    let text = rendered(&report, &Plain { width: 72 });
    assert!(text.contains(word) && text.lines().all(|line| line.len() <= 72), "{text}");
    assert_eq!(text.matches("---  ").count(), 2, "one table: {text}");
}
