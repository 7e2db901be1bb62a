//! HTML pages are well-formed, complete, small, and immune to hostile text. Tests require or forbid
//! contents; no golden fixes the appearance.

use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use roxmltree::{Document, Node};
use treering_analysis::compare::{
    ComparedVariant, ComparisonTerms, Factor, Outcome, Verdict, compare,
};
use treering_model::{BetterDirection, Metric, Scope, Trial, Unit, is_unsafe};
use treering_report::formats::by_name;
use treering_report::pages::comparison::{ComparisonView, DataFormat, page};
use treering_report::{Block, Chart, Forest, ForestRow, RawList, Report, Rounds, RoundsVariant};

use crate::comparison::{nine_rounds, one_run, trial};
use crate::fixture::{self, HOSTILE};
use crate::goldens::{list, show};
use crate::hostile::is_harmless_csv;
use crate::mail::{block, text};
use crate::rendered;

/// Void elements of HTML in generated pages, all of them in the head.
const VOID: [&str; 2] = ["<meta ", "<link "];

pub(crate) fn html(report: &Report) -> String {
    rendered(report, by_name("html").unwrap())
}

fn of_outcome(outcome: &Outcome) -> String {
    html(&page(
        outcome,
        &ComparisonView { command: "treering report", ..ComparisonView::default() },
    ))
}

/// Converts a page to XML by removing the doctype, style, script and void elements.
pub(crate) fn as_xml(html: &str) -> String {
    let mut text = html.strip_prefix("<!DOCTYPE html>").unwrap().to_owned();
    for (from, to) in [("<style>", "</style>"), ("<script>", "</script>")] {
        let (before, tail) = text.split_once(from).unwrap();
        let (_, behind) = tail.split_once(to).unwrap();
        text = format!("{before}{behind}");
    }
    for void in VOID {
        while let Some((before, tail)) = text.split_once(void) {
            let (_, behind) = tail.split_once('>').unwrap();
            text = format!("{before}{behind}");
        }
    }
    text
}

/// Asserts the invariants of every page.
pub(crate) fn assert_sound(html: &str) {
    let xml = as_xml(html);
    let document = Document::parse(&xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
    for node in document.descendants() {
        let name = node.tag_name().name();
        assert!(!["script", "style", "img", "iframe", "object", "base"].contains(&name), "{name}");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "style" && name != "src", "{name}");
            assert!(name != "href" || value.starts_with("#part-"), "{value}");
            let drawn =
                ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "d", "viewBox", "width"];
            if drawn.contains(&name) {
                assert!(!value.contains("NaN") && !value.contains("inf"), "{name}={value}");
            }
        }
    }
    assert_eq!(html.matches("<script").count(), 1);
    assert_eq!(html.matches("<style").count(), 1);
    assert!(!html.contains("NaN"), "{html}");
    let strange = html.chars().find(|&c| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202e}' | '\u{200b}')
    });
    assert_eq!(strange, None);
}

pub(crate) fn text_of(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect()
}

pub(crate) fn with_class<'a, 'i>(document: &'a Document<'i>, class: &str) -> Vec<Node<'a, 'i>> {
    let has = |node: &Node<'_, '_>| {
        node.attribute("class").is_some_and(|classes| classes.split(' ').any(|name| name == class))
    };
    document.descendants().filter(has).collect()
}

#[test]
fn every_page_is_well_formed() {
    let trials = [
        fixture::aging(),
        fixture::failed_at_once(),
        fixture::interrupted(),
        fixture::extreme(),
        fixture::hostile(),
    ];
    for trial in &trials {
        assert_sound(&html(&show(trial, true)));
    }
    assert_sound(&html(&list()));
    for outcome in [nine_rounds(), one_run()] {
        assert_sound(&of_outcome(&outcome));
    }
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let text = of_outcome(&nine_rounds());
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                  img-src data:;";
    assert!(text.contains("http-equiv=\"Content-Security-Policy\""));
    assert!(text.contains(policy));
    assert!(!text.contains("url(") && !text.contains("@import") && !text.contains("fetch("));
    let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
    assert!(!elsewhere.contains("http://") && !elsewhere.contains("https://"));
}

#[test]
fn sections_of_the_page_are_in_order() {
    let text = of_outcome(&nine_rounds());
    let at = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("no {needle}"));
    let order = [
        at("class=\"lead\""),
        at("class=\"chart forest\""),
        at("class=\"caution\""),
        at("aria-label=\"primary\""),
        at("class=\"chart ratios\""),
        at("aria-label=\"exploratory\""),
        at("aria-label=\"variants\""),
        at("class=\"command\""),
        at("class=\"copied raw\""),
    ];
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn html_contains_every_table_cell() {
    let report = page(&nine_rounds(), &ComparisonView::default());
    let text = html(&report);
    let xml = as_xml(&text);
    let document = Document::parse(&xml).unwrap();
    let tables: Vec<Node<'_, '_>> =
        document.descendants().filter(|node| node.has_tag_name("table")).collect();
    assert_eq!(tables.len(), report.tables().count());
    for (shown, table) in tables.iter().zip(report.tables()) {
        let rows: Vec<Node<'_, '_>> =
            shown.descendants().filter(|node| node.has_tag_name("tr")).skip(1).collect();
        assert_eq!(rows.len(), table.rows.len());
        for (row, cells) in rows.iter().zip(&table.rows) {
            let texts: Vec<String> = row.children().map(text_of).collect();
            let wanted: Vec<String> =
                cells.iter().zip(&table.columns).map(|(cell, c)| cell.shown(&c.unit)).collect();
            assert_eq!(texts, wanted);
        }
    }
}

#[test]
fn charts_show_every_ratio_and_every_trial() {
    let outcome = nine_rounds();
    let text = of_outcome(&outcome);
    let xml = as_xml(&text);
    let document = Document::parse(&xml).unwrap();
    let primary: Vec<_> =
        outcome.comparisons.iter().filter(|comparison| comparison.primary).collect();
    // Each row occurs once in the wide and once in the narrow drawing, with its texts.
    let rows = with_class(&document, "row");
    assert_eq!(rows.len(), primary.len() * 2);
    for comparison in &primary {
        let reported = |row: &&Node<'_, '_>| {
            let title = row.children().find(|node| node.has_tag_name("title")).map(text_of);
            title.is_some_and(|title| {
                title.contains(&comparison.contender) && title.contains(comparison.verdict.name())
            })
        };
        assert!(rows.iter().filter(reported).count() >= 1);
    }
    // The wide drawings have three metrics with nine rounds of btrfs and eight of xfs, whose fourth
    // trial failed.
    let titles = document.descendants().filter(|node| node.has_tag_name("title")).map(text_of);
    let of_rounds = titles.filter(|title| title.contains(", round ")).count();
    assert_eq!(of_rounds, 3 * (8 + 9));
    assert!(!text.contains("xfs, round 4:") && text.contains("xfs, round 5:"));
    assert!(text.contains("btrfs, round 4:"));
}

#[test]
fn raw_numbers_are_all_there() {
    let outcome = nine_rounds();
    let text = of_outcome(&outcome);
    let xml = as_xml(&text);
    let document = Document::parse(&xml).unwrap();
    let raw = text_of(with_class(&document, "raw")[0]);
    for comparison in outcome.comparisons.iter().filter(|comparison| comparison.primary) {
        for (variant, values) in [
            (&comparison.baseline, &comparison.baseline_values),
            (&comparison.contender, &comparison.contender_values),
        ] {
            let is_present =
                raw.lines().filter(|line| line.split('\t').nth(3) == Some(variant)).any(|line| {
                    let numbers =
                        line.split('\t').skip(4).map(|field| field.parse::<f64>().unwrap());
                    let near = |(a, b): (f64, &f64)| (a / b - 1.0).abs() < 1e-8;
                    line.split('\t').count() == values.len() + 4 && numbers.zip(values).all(near)
                });
            assert!(is_present, "{variant}: {raw}");
        }
    }
}

/// Outcome with hostile variants, labels, metrics, kernels and mount options.
fn hostile_outcome() -> Outcome {
    let worst =
        format!("</title></svg></pre><script>alert('{}')</script>\" onload=\"x", HOSTILE[5]);
    let variant = |number: usize, factor: f64| {
        let mut trials: Vec<Trial> = (0..7).map(|round| trial(round, 0, factor, &worst)).collect();
        for (round, trial) in trials.iter_mut().enumerate() {
            trial.beginning.started_unix_ms += i64::try_from(round * 100 + number).unwrap();
            trial.beginning.workload = format!("{worst}{}", HOSTILE[0]);
            trial.beginning.parameters = vec![(worst.clone(), HOSTILE[4].to_owned())];
            trial.facts.iter_mut().for_each(|fact| fact.value = format!("{worst}{number}"));
            for (place, metric) in trial.metrics.iter_mut().enumerate() {
                metric.scope = Scope::Kind(format!("{worst}{}{place}", HOSTILE[1]));
            }
        }
        ComparedVariant {
            name: format!("{worst}{number}"),
            factor: Factor::Variant,
            against: None,
            trials,
        }
    };
    compare(&variant(0, 1.0), &[variant(1, 1.1), variant(2, 0.8)], &ComparisonTerms::default())
        .unwrap()
}

#[test]
fn hostile_names_are_harmless_in_machine_readable_formats() {
    let mut outcome = hostile_outcome();
    for format in DataFormat::ALL {
        let mut bytes = Vec::new();
        format.write(&outcome, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
        let unescaped = text.chars().find(|&c| c != '\n' && is_unsafe(c));
        assert_eq!(unescaped, None, "{}: {text}", format.name());
    }
    for comparison in &mut outcome.comparisons {
        HOSTILE[3].clone_into(&mut comparison.contender);
        HOSTILE[6].clone_into(&mut comparison.baseline);
        "+1\u{1b}".clone_into(&mut comparison.job);
    }
    let mut bytes = Vec::new();
    DataFormat::Csv.write(&outcome, &mut bytes).unwrap();
    is_harmless_csv(&String::from_utf8(bytes).unwrap());
}

#[test]
fn raw_numbers_for_a_spreadsheet_hold_no_formula() {
    let list = RawList {
        job: HOSTILE[3].to_owned(),
        metric: "-1+1".to_owned(),
        unit: "@x".to_owned(),
        variant: HOSTILE[0].to_owned(),
        values: vec![-1.5, 2.0],
    };
    let mut report = Report::new("page");
    report.blocks.push(Block::RawNumbers { lists: vec![list] });
    let text = rendered(&report, by_name("html").unwrap());
    assert!(text.contains("'=HYPERLINK"), "{text}");
    assert!(text.contains("\t'-1+1\t'@x\t\\x1b]0;owned\\x07"), "{text}");
    assert!(text.contains("\t-1.5\t2"), "{text}");
}

#[test]
fn hostile_names_are_text() {
    let outcome = hostile_outcome();
    let repeat = [(HOSTILE.concat(), format!("run --label {}", HOSTILE[2]))];
    let notes = [HOSTILE.concat()];
    let command = format!("treering report </pre><script>{}", HOSTILE[6]);
    let view = ComparisonView {
        command: &command,
        repeat: &repeat,
        notes: &notes,
        ..ComparisonView::default()
    };
    let text = html(&page(&outcome, &view));
    assert_sound(&text);
    assert!(text.contains("&lt;script&gt;alert("));
    assert!(text.contains("\\u{202e}"));
    assert!(text.contains("\\x1b"));
    assert!(!text.contains("\" onload"));
}

#[test]
fn a_chart_draws_extreme_values() {
    let row = |ratio, interval| ForestRow {
        job: HOSTILE.concat(),
        metric: HOSTILE.concat(),
        contender: String::new(),
        ratio,
        interval,
        rounds: vec![f64::MAX, 5e-324],
        unbounded: false,
        verdict: Verdict::Unclear,
        threshold: 0.0,
        better: BetterDirection::Lower,
    };
    let rows = vec![
        row(None, None),
        row(Some(1e-300), Some((5e-324, f64::MAX))),
        row(Some(f64::MAX), None),
        row(Some(1.0), Some((1.0, 1.0))),
    ];
    let variant = |values: &[Option<f64>]| RoundsVariant {
        name: "a".to_owned(),
        values: values.to_vec(),
        intervals: Vec::new(),
    };
    let rounds = |unit, variants| Rounds {
        metric: "m".to_owned(),
        unit,
        better: BetterDirection::Higher,
        paired: true,
        numbers: vec![7],
        variants,
        by: None,
        keys: Vec::new(),
        times: vec![i64::MAX],
        events: Vec::new(),
        left_out: 3,
    };
    let edges = [Some(f64::MAX), None, Some(-f64::MAX), Some(0.0), Some(5e-324), Some(f64::MIN)];
    let mut report = Report::new("charts");
    for chart in [
        Chart::Forest(Forest { baseline: String::new(), rows: Vec::new() }),
        Chart::Forest(Forest { baseline: HOSTILE.concat(), rows }),
        Chart::Rounds(rounds(Unit::Bytes, Vec::new())),
        Chart::Rounds(rounds(Unit::Count, vec![variant(&[])])),
        Chart::Rounds(rounds(Unit::Nanoseconds, vec![variant(&edges), variant(&[None])])),
        Chart::Rounds(rounds(Unit::Seconds, (0..9).map(|_| variant(&[Some(0.0)])).collect())),
    ] {
        report.chart(chart);
    }
    assert_sound(&html(&report));
}

#[test]
fn a_wide_interval_ends_in_an_arrow() {
    let row = |interval| ForestRow {
        job: String::new(),
        metric: "create MiB/s".to_owned(),
        contender: "xfs".to_owned(),
        ratio: Some(1.02),
        interval: Some(interval),
        rounds: Vec::new(),
        unbounded: false,
        verdict: Verdict::Unclear,
        threshold: 0.02,
        better: BetterDirection::Higher,
    };
    let drawn = |rows: Vec<ForestRow>| {
        let mut report = Report::new("page");
        report.chart(Chart::Forest(Forest { baseline: "ext4".to_owned(), rows }));
        html(&report)
    };
    let (narrow, wide) = (row((1.0, 1.04)), row((0.002, 900.0)));
    let arrow = "<path class=\"interval\"";
    let text = drawn(vec![narrow.clone()]);
    assert!(!text.contains("beyond the chart") && !text.contains(arrow));
    let text = drawn(vec![narrow, wide]);
    // Both ends are clipped in both drawings; the figures state the clipped values.
    assert!(text.contains("beyond the chart"));
    assert_eq!(text.matches(arrow).count(), 4);
    assert!(text.contains("1.020 (0.002–900)"), "{text}");
}

/// A large comparison, as from a long list of kernels or a grid of parameters.
fn large(contenders: usize, jobs: usize) -> Outcome {
    let variant = |name: usize| {
        let mut trials = Vec::new();
        for job in 0..jobs {
            for round in 0..10 {
                let noise = 1.0 + (round * 7 % 10) as f64 / 300.0 + (name % 13) as f64 / 100.0;
                let mut round_trial = trial(round % 9, i64::try_from(name).unwrap(), noise, "ext4");
                round_trial.beginning.started_unix_ms += i64::try_from(round * 100_000).unwrap();
                round_trial.beginning.parameters = vec![("files".to_owned(), format!("{job}000"))];
                trials.push(round_trial);
            }
        }
        ComparedVariant {
            name: format!("kernel-6.12.{name}"),
            factor: Factor::Label,
            against: None,
            trials,
        }
    };
    let others: Vec<ComparedVariant> = (1..=contenders).map(variant).collect();
    compare(&variant(0), &others, &ComparisonTerms::default()).unwrap()
}

#[test]
fn a_large_report_is_small_enough_to_be_mailed() {
    for (contenders, jobs) in [(50, 1), (1, 50)] {
        let outcome = large(contenders, jobs);
        assert!(outcome.comparisons.iter().filter(|comparison| comparison.primary).count() >= 150);
        let text = of_outcome(&outcome);
        assert!(text.len() < 2_000_000, "{contenders}, {jobs}: {} bytes", text.len());
        assert_sound(&text);
    }
}

#[test]
fn a_job_has_at_most_twelve_charts_of_rounds() {
    let report = page(&large(50, 1), &ComparisonView::default());
    let left_out: Vec<usize> = (report.blocks.iter())
        .filter_map(|block| match block {
            Block::Chart(Chart::Ratios(ratios)) => Some(ratios.left_out),
            _ => None,
        })
        .collect();
    // There are fifty contenders of three metrics, with five in each chart.
    assert_eq!(left_out.len(), 12);
    assert_eq!(left_out.iter().sum::<usize>(), 18);
    assert!(report.title.ends_with("kernel-6.12.6 and 44 more against kernel-6.12.0"));
}

#[test]
fn formats_of_text_leave_charts_out() {
    let report = page(&nine_rounds(), &ComparisonView::default());
    let mut bare = report.clone();
    bare.blocks.retain(|b| {
        !matches!(b, Block::Chart(_) | Block::Folded { .. } | Block::RawNumbers { .. })
    });
    assert!(bare.blocks.len() < report.blocks.len());
    for name in ["terminal", "plain", "markdown", "csv"] {
        let format = by_name(name).unwrap();
        assert_eq!(rendered(&report, format), rendered(&bare, format), "{name}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&rendered(&report, by_name("json").unwrap())).unwrap();
    let blocks: Vec<Block> = serde_json::from_value(json["blocks"].clone()).unwrap();
    assert_eq!(blocks, report.blocks);
}

fn positive() -> impl Strategy<Value = f64> {
    prop_oneof![
        90.0..110.0f64,
        1e-3..1e6f64,
        any::<f64>().prop_map(f64::abs).prop_filter("finite", |v| v.is_finite() && *v > 0.0),
        Just(f64::MIN_POSITIVE),
        Just(f64::MAX),
    ]
}

fn outcome_of(values: &[(f64, f64)], unit: Unit, better: BetterDirection) -> Option<Outcome> {
    let variant = |name: &str, late: i64, pick: fn(&(f64, f64)) -> f64| {
        let of = |(round, pair)| {
            let mut round_trial = trial(round % 9, late, 1.0, name);
            round_trial.beginning.started_unix_ms += i64::try_from(round).unwrap() * 100_000;
            let speed = Metric::new("speed", Scope::Trial, pick(pair), unit, better);
            round_trial.metrics = vec![speed.primary()];
            round_trial
        };
        let trials = values.iter().enumerate().map(of).collect();
        ComparedVariant { name: name.to_owned(), factor: Factor::Label, against: None, trials }
    };
    compare(&variant("a", 0, |v| v.0), &[variant("b", 5, |v| v.1)], &ComparisonTerms::default())
        .ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn any_document_is_well_formed(title in text(), blocks in vec(block(), 0..5)) {
        assert_sound(&html(&Report { blocks, ..Report::new(title) }));
    }

    #[test]
    fn any_positive_numbers_are_drawn(
        values in vec((positive(), positive()), 1..12),
        unit in 0..Unit::ALL.len(),
        higher in any::<bool>(),
    ) {
        let better = if higher { BetterDirection::Higher } else { BetterDirection::Lower };
        if let Some(outcome) = outcome_of(&values, Unit::ALL[unit], better) {
            assert_sound(&of_outcome(&outcome));
        }
    }
}
