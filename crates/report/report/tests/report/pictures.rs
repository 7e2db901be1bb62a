//! Rules of pictures on all pages: more to the right or above is better, a dot for each round,
//! dates on axes of time, text alternatives, the foot of a page, and the preset for papers.

use roxmltree::{Document, Node};
use treering_analysis::compare::Verdict;
use treering_analysis::history::{History, HistorySeries, HistoryTrend, SeriesPoint};
use treering_model::{
    Artifact, BetterDirection, FileLayout, LayoutMap, LayoutMapCell, LayoutMapGroup, PhaseTotals,
    RunMode, TaskTotals, Trial, TrialId, Unit,
};
use treering_report::pages::comparison::{ComparisonView, page};
use treering_report::pages::history::{self, HistoryView};
use treering_report::pages::trial::{self, TrialView};
use treering_report::{
    Block, Chart, DrawingPreset, Forest, ForestRow, PageOrigin, RatioVariant, Ratios, Report,
    drawings,
};

use crate::comparison::nine_rounds;
use crate::fixture;
use crate::html::{as_xml, assert_sound, html, with_class};

fn row(metric: &str, better: BetterDirection, rounds: &[f64]) -> ForestRow {
    let ratio = rounds.iter().sum::<f64>() / rounds.len() as f64;
    ForestRow {
        job: String::new(),
        metric: metric.to_owned(),
        contender: "xfs".to_owned(),
        ratio: Some(ratio),
        interval: Some((ratio * 0.95, ratio * 1.05)),
        rounds: rounds.to_vec(),
        unbounded: false,
        verdict: Verdict::Better,
        threshold: 0.03,
        better,
    }
}

fn page_with(chart: Chart) -> String {
    let mut report = Report::new("page");
    report.chart(chart);
    let text = html(&report);
    assert_sound(&text);
    text
}

/// Horizontal positions of the dots in each row of the wide drawing.
fn dots(text: &str) -> Vec<Vec<f64>> {
    let xml = as_xml(text);
    let document = Document::parse(&xml).unwrap();
    let wide = with_class(&document, "wide");
    let paths = wide[0].descendants().filter(|node| node.attribute("class") == Some("each"));
    let places = |path: Node<'_, '_>| {
        let dots = path.attribute("d").unwrap().split('M').skip(1);
        dots.map(|dot| dot.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    paths.map(places).collect()
}

#[test]
fn more_to_the_right_is_better_whatever_the_metric() {
    let rows = vec![
        row("create MiB/s", BetterDirection::Higher, &[1.25, 1.25]),
        row("read p99", BetterDirection::Lower, &[0.8, 0.8]),
        row("stat", BetterDirection::Higher, &[0.75, 0.75]),
    ];
    let text = page_with(Chart::Forest(Forest { baseline: "ext4".to_owned(), rows }));
    let dots = dots(&text);
    assert_eq!(dots[0], dots[1]);
    assert!(dots[2][0] < dots[0][0]);
    assert!(text.contains("◀ worse") && text.contains("better ▶"), "{text}");
    assert!(!text.contains("◀ better") && !text.contains("worse ▶"), "{text}");
    // Both rows occur in both drawings.
    assert_eq!(text.matches(">1.250 (").count(), 2 * 2, "{text}");
}

#[test]
fn a_row_has_a_dot_for_each_round() {
    let rows = vec![row("create", BetterDirection::Higher, &[1.1, 1.2, 1.3, 1.2, 1.1, 1.25, 1.15])];
    let text = page_with(Chart::Forest(Forest { baseline: "ext4".to_owned(), rows }));
    assert_eq!(dots(&text).iter().map(Vec::len).collect::<Vec<_>>(), [7]);

    // One contender lacks a round.
    let outcome = nine_rounds();
    let report = page(&outcome, &ComparisonView::default());
    let mut counts: Vec<usize> = dots(&html(&report)).iter().map(Vec::len).collect();
    let primary = outcome.comparisons.iter().filter(|comparison| comparison.primary);
    let mut rounds: Vec<usize> = primary.map(|comparison| comparison.rounds.len()).collect();
    counts.sort_unstable();
    rounds.sort_unstable();
    assert_eq!(counts, rounds);
    assert!(counts.contains(&8) && counts.contains(&9), "{counts:?}");
}

#[test]
fn intervals_of_contenders_stand_beside_one_another() {
    let variant = |name: &str, ratio: f64| RatioVariant {
        name: name.to_owned(),
        ratios: vec![Some(ratio), Some(ratio * 1.02)],
        ratio,
        interval: Some((ratio * 0.9, ratio * 1.1)),
        unbounded: false,
    };
    let text = page_with(Chart::Ratios(Ratios {
        metric: "create".to_owned(),
        baseline: "ext4".to_owned(),
        better: BetterDirection::Lower,
        threshold: 0.03,
        numbers: vec![1, 2],
        variants: vec![variant("xfs", 1.1), variant("btrfs", 0.9)],
        left_out: 0,
    }));
    assert!(!text.contains("class=\"swath\""));
    assert_eq!(text.matches("class=\"whisker\"").count(), 2 * 2);
    assert!(text.contains("1.111 (1.010–1.235)"), "{text}");
}

fn point(key: &str, started_unix_ms: i64, value: f64) -> SeriesPoint {
    SeriesPoint {
        key: key.to_owned(),
        started_unix_ms,
        trials: vec![TrialId::new()],
        value,
        interval: None,
        link: None,
    }
}

/// Series of imported seconds, in which nothing was found.
fn parse_series(points: Vec<SeriesPoint>) -> HistorySeries {
    HistorySeries {
        workload: "csv".to_owned(),
        mode: RunMode::Native,
        job: String::new(),
        variant: String::new(),
        metric: "parse".to_owned(),
        unit: Unit::Seconds,
        better: BetterDirection::Lower,
        points,
        shifts: Vec::new(),
        environment: Vec::new(),
        suspect: None,
        trend: None,
        noise: None,
        memory: None,
    }
}

#[test]
fn a_slow_trend_is_told_with_its_interval() {
    let days: Vec<SeriesPoint> =
        (0..20).map(|day| point("day", day * 86_400_000, 10.0 + 0.1 * day as f64)).collect();
    let trend = HistoryTrend {
        index: 0,
        levels: (10.0, 11.9),
        ratio: 1.19,
        interval: Some((1.15, 1.23)),
        p_value: 0.0001,
        is_worse: true,
        known: None,
    };
    let series = HistorySeries { trend: Some(trend), ..parse_series(days) };
    let history = History { series: vec![series], left_out: 0 };
    let view = HistoryView { by: "date", anchor: None, draws: false };
    let page = html(&history::page(&history, &view));
    let said =
        "slowly worse since day, point by point (+19 % over 20 points, interval +15 % to +23 %).";
    let page = page.replace('\u{a0}', " ");
    assert!(page.contains(said) && !page.contains("No change of level"), "{page}");
}

#[test]
fn a_history_by_date_has_dates_below_it_at_their_distances() {
    const DAY_MS: i64 = 86_400_000;
    let days = [20_395, 20_396, 20_500, 20_600];
    let points = days.map(|day| point("day", day * DAY_MS, day as f64));
    let history = History { series: vec![parse_series(points.to_vec())], left_out: 0 };
    let of = |by| {
        let page = history::page(&history, &HistoryView { by, anchor: None, draws: true });
        html(&page)
    };
    let by_date = of("date");
    assert_sound(&by_date);
    for date in ["2026-01", "2026-03", "2026-05"] {
        assert!(by_date.contains(&format!(">{date}</text>")), "{date}: {by_date}");
    }
    let xml = as_xml(&by_date);
    let document = Document::parse(&xml).unwrap();
    let circles = document.descendants().filter(|node| {
        node.has_tag_name("circle")
            && node.ancestors().any(|one| one.has_tag_name("figure"))
            && node.ancestors().all(|one| !one.has_tag_name("li"))
    });
    let x: Vec<f64> =
        circles.map(|circle| circle.attribute("cx").unwrap().parse().unwrap()).collect();
    assert_eq!(x.len(), 4);
    assert!(x[1] - x[0] < (x[2] - x[1]) / 50.0, "{x:?}");
    // Kernels are labelled by their names.
    assert!(of("kernel").contains(">day</text>"));
}

#[test]
fn every_drawing_has_a_text_alternative() {
    let trial = fixture::aging();
    let view = TrialView { short_id: fixture::SHORT_ID, charts: true, ..TrialView::default() };
    let comparison = page(&nine_rounds(), &ComparisonView::default());
    for report in [trial::page(&trial, &view), comparison] {
        let text = html(&report);
        let xml = as_xml(&text);
        let document = Document::parse(&xml).unwrap();
        let images = document.descendants().filter(|node| node.attribute("role") == Some("img"));
        let labels: Vec<&str> = images.map(|node| node.attribute("aria-label").unwrap()).collect();
        assert!(!labels.is_empty());
        assert!(labels.iter().all(|label| label.len() > 15), "{labels:?}");
    }
}

#[test]
fn a_page_ends_with_its_origin_and_the_command_that_repeats_it() {
    let origin = PageOrigin::of_trials([fixture::aging()].iter())
        .with_command("Measure the whole comparison again", "treering compare plan.toml");
    let view = ComparisonView { origin: Some(&origin), ..ComparisonView::default() };
    let text = html(&page(&nine_rounds(), &view));
    assert_sound(&text);
    let foot = text.split_once("class=\"origin\"").unwrap().1;
    for words in ["treering", "0.1.0", "kernel", "measured", "duration"] {
        assert!(foot.contains(words), "{words}: {foot}");
    }
    assert!(foot.contains("treering compare plan.toml"));

    let view = TrialView {
        short_id: fixture::SHORT_ID,
        command: Some("treering run compilebench --dir DIR"),
        ..TrialView::default()
    };
    let text = html(&trial::page(&fixture::aging(), &view));
    let (above, foot) = text.split_once("class=\"origin\"").unwrap();
    assert!(above.ends_with("treering run compilebench --dir DIR</pre></div><section "), "{above}");
    assert!(foot.contains("duration"), "{foot}");
}

/// Trial that filled a device and aged it in four steps.
fn aged() -> Trial {
    let phase =
        |phase, name: &str| PhaseTotals { phase, name: name.to_owned(), ..PhaseTotals::default() };
    let layout = |phase, name: &str, adjacent: f64| Artifact {
        kind: "layout".to_owned(),
        version: 1,
        phase: Some(phase),
        name: name.to_owned(),
        body: serde_json::to_string(&FileLayout {
            adjacent_siblings: Some(adjacent),
            ..FileLayout::default()
        })
        .unwrap(),
    };
    let map = |phase| Artifact {
        kind: "layout_map".to_owned(),
        version: 1,
        phase: Some(phase),
        name: String::new(),
        body: serde_json::to_string(&LayoutMap {
            cell_bytes: 1 << 20,
            cells: vec![LayoutMapCell { space: 1 << 20, free: 0, groups: vec![(0, 1 << 20)] }; 200],
            groups: vec![LayoutMapGroup { name: "age-0".to_owned(), bytes: 200 << 20 }],
        })
        .unwrap(),
    };
    let mut trial = fixture::aging();
    "age".clone_into(&mut trial.beginning.workload);
    trial.phases = vec![phase(0, "fill"), phase(1, "age")];
    let task = |phase, subject: &str| TaskTotals {
        phase,
        subject: subject.to_owned(),
        kind: "age".to_owned(),
        ..TaskTotals::default()
    };
    trial.tasks = std::iter::once(task(0, "message"))
        .chain((0..4).map(|_| task(1, "1500 operations")))
        .collect();
    trial.artifacts = vec![layout(0, "after task 1", 0.9), layout(0, "", 0.076), map(0)];
    let steps = (2..=5).map(|n| layout(1, &format!("after task {n}"), 0.05 - 0.009 * f64::from(n)));
    trial.artifacts.extend(steps);
    trial.artifacts.extend([layout(1, "", 0.014), map(1)]);
    trial
        .facts
        .push(treering_model::Fact { name: "age.operations".to_owned(), value: "6000".to_owned() });
    trial
}

#[test]
fn an_aging_run_opens_with_its_decay_and_both_maps() {
    let view = TrialView { short_id: fixture::SHORT_ID, charts: true, ..TrialView::default() };
    let page = trial::page(&aged(), &view);
    let Some(Block::Paragraph { text }) = page.blocks.first() else { panic!("{:?}", page.blocks) };
    assert!(text.starts_with("6,000 operations: adjacent siblings 7.6 → 1.4 %"), "{text}");
    let opening: Vec<&Block> = page.blocks.iter().skip(1).take(3).collect();
    let [Block::Chart(Chart::Map(fresh)), Block::Chart(Chart::Map(aged)), line] = opening[..]
    else {
        panic!("{opening:?}");
    };
    assert_eq!(
        (fresh.title.as_str(), aged.title.as_str()),
        ("Fresh: after fill", "Aged: after age")
    );
    assert!(fresh.is_small && aged.is_small);
    let Block::Chart(Chart::Layout(line)) = line else { panic!("{line:?}") };
    assert_eq!(line.by, "operations");
    let done: Vec<f64> = line.variants[0].points.iter().map(|(done, _)| *done).collect();
    assert_eq!(done, [0.0, 1500.0, 3000.0, 4500.0, 6000.0]);
    assert_sound(&html(&page));
}

#[test]
fn a_trial_opens_with_its_figures_and_the_time_of_each_kind() {
    let view = TrialView { short_id: fixture::SHORT_ID, charts: true, ..TrialView::default() };
    let page = trial::page(&fixture::aging(), &view);
    let [Block::Paragraph { text }, Block::Chart(Chart::Bars(bars)), ..] = &page.blocks[..] else {
        panic!("{:?}", page.blocks.first());
    };
    assert!(text.starts_with("compilebench on ext4: create 93.02 MiB/s"), "{text}");
    let longest = bars.bars.first().unwrap();
    assert!(bars.bars.iter().all(|bar| bar.value <= longest.value), "{bars:?}");
}

#[test]
fn a_chart_for_a_paper_is_three_and_a_half_inches_wide_and_light() {
    let report = page(&nine_rounds(), &ComparisonView::default());
    let paper = drawings(&report, DrawingPreset::Paper);
    let screen = drawings(&report, DrawingPreset::Screen);
    assert_eq!(paper.len(), screen.len());
    for (paper, screen) in paper.iter().zip(&screen) {
        assert_eq!(paper.name, screen.name);
        let document = Document::parse(&paper.svg).unwrap();
        let root = document.root_element();
        assert_eq!(root.attribute("width"), Some("3.5in"), "{}", paper.name);
        let units: f64 =
            root.attribute("viewBox").unwrap().split(' ').nth(2).unwrap().parse().unwrap();
        // Letters have 13 units; an inch has 72 points.
        let points = 13.0 / units * 3.5 * 72.0;
        assert!((7.5..9.0).contains(&points), "{}: {points}", paper.name);
        assert!(!paper.svg.contains("prefers-color-scheme"));
        assert!(screen.svg.contains("prefers-color-scheme"));
    }
}
