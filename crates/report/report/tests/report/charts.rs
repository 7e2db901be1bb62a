//! Charts of trial profiles, on pages and as files: all variants and values are drawn, hostile
//! names stay text, and a page with many charts stays small.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, proptest};
use roxmltree::{Document, Node};
use treering_analysis::compare::{
    ComparedVariant, ComparisonTerms, Factor, JobProfile, compare, environment, profiles,
};
use treering_model::{
    BetterDirection, Fact, IntervalTotals, Latency, Op, OpTotals, PhaseTotals, TaskTotals, Trial,
    Unit,
};
use treering_report::formats::by_name;
use treering_report::pages::comparison::{ComparisonView, page};
use treering_report::{
    Aging, AgingVariant, Block, Chart, DrawingPreset, Latencies, LatencyVariant, Report, Rounds,
    RoundsVariant, Timeline, TimelineVariant, drawings, is_drawing,
};

use crate::comparison::trial;
use crate::fixture::{self, HOSTILE};
use crate::html::{as_xml, assert_sound, html, text_of, with_class};
use crate::rendered;

/// Duration of the long phase in seconds.
const SECONDS: u32 = 40;

fn op(op: Op, ns: u64) -> OpTotals {
    let mut latency = Latency::new();
    (0..200).for_each(|call| latency.record(ns * (100 + call) / 100));
    OpTotals { op, calls: 200, errors: 0, bytes: 0, latency }
}

/// A trial with calls, seconds and tasks, all slowed down by the factor `slow`.
fn detailed(round: usize, late: i64, slow: u64, filesystem: &str) -> Trial {
    let mut trial = trial(round % 9, late, 1.0 + (slow as f64) / 50.0, filesystem);
    trial.beginning.started_unix_ms += i64::try_from(round).unwrap() * 100_000;
    let fact = |name: &str, value: &str| Fact { name: name.to_owned(), value: value.to_owned() };
    trial.facts.push(fact("filesystem.mount_options", &format!("rw,{filesystem}")));
    trial.facts.push(fact("memory.bytes", "8589934592"));
    // The eleventh second is a stall.
    let seconds = (0..SECONDS).filter(|second| *second != 10);
    let interval = |second| IntervalTotals { second, calls: 100, bytes: (300 << 20) / slow };
    let short = PhaseTotals { name: "warming".to_owned(), wall_ns: 1, ..PhaseTotals::default() };
    let aging = PhaseTotals {
        phase: 1,
        name: "aging".to_owned(),
        wall_ns: u64::from(SECONDS) * 1_000_000_000,
        bytes: 5,
        ops: vec![
            op(Op::Create, 9_000 * slow),
            op(Op::Write, 4_000 * slow),
            op(Op::Close, 3),
            // Other calls are drawn even if a sync takes much longer.
            op(Op::Sync, 9_000_000_000),
        ],
        intervals: seconds.map(interval).collect(),
        ..PhaseTotals::default()
    };
    trial.phases = vec![short, aging];
    let task = |task: u32| TaskTotals {
        task,
        phase: 1,
        kind: (if task.is_multiple_of(3) { "read" } else { "create" }).to_owned(),
        wall_ns: slow * 1_000_000 * u64::from(100 + task),
        bytes: 1 << 20,
        ..TaskTotals::default()
    };
    trial.tasks = (0..30).map(task).collect();
    trial
}

fn variant(name: &str, late: i64, slow: u64, rounds: usize) -> ComparedVariant {
    let trials = (0..rounds).map(|round| detailed(round, late, slow, name)).collect();
    ComparedVariant { name: name.to_owned(), factor: Factor::Filesystem, against: None, trials }
}

/// Profiles of the variants, filled with the trials of each job.
fn filled(variants: &[ComparedVariant]) -> Vec<JobProfile> {
    let mut jobs = profiles(&variants[0], &variants[1..]);
    for job in &mut jobs {
        for profile in &mut job.variants {
            let variant = variants.iter().find(|variant| variant.name == profile.name).unwrap();
            let of_job = variant.trials.iter().filter(|trial| {
                let parameters = &trial.beginning.parameters;
                job.job.is_empty() || parameters.iter().any(|(n, v)| job.job == format!("{n}={v}"))
            });
            of_job.for_each(|trial| profile.add(trial));
        }
    }
    jobs
}

fn page_of(variants: &[ComparedVariant]) -> Report {
    let outcome = compare(&variants[0], &variants[1..], &ComparisonTerms::default()).unwrap();
    let (environment, profiles) = (environment(&variants[0], &variants[1..]), filled(variants));
    page(
        &outcome,
        &ComparisonView {
            environment: &environment,
            profiles: &profiles,
            ..ComparisonView::default()
        },
    )
}

fn three() -> Vec<ComparedVariant> {
    vec![variant("ext4", 0, 1, 6), variant("xfs", 500, 2, 6), variant("btrfs", 900, 3, 6)]
}

fn charts(report: &Report) -> impl Iterator<Item = &Chart> {
    report.blocks.iter().filter_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    })
}

fn titles(xml: &Document<'_>) -> Vec<String> {
    xml.descendants().filter(|node| node.has_tag_name("title")).map(text_of).collect()
}

#[test]
fn every_variant_has_a_curve_with_its_percentiles() {
    let report = page_of(&three());
    let calls: Vec<&str> = charts(&report)
        .filter_map(|chart| match chart {
            Chart::Latencies(latencies) => Some(latencies.call.as_str()),
            _ => None,
        })
        .collect();
    // Closing takes a negligible share of the time.
    assert_eq!(calls, ["sync", "create", "write"]);
    let text = html(&report);
    assert!(text.contains("Omitted because they take little time: close."));
    assert_sound(&text);
    let xml = as_xml(&text);
    let document = Document::parse(&xml).unwrap();
    for chart in with_class(&document, "latencies") {
        let curves = chart.descendants().filter(|node| node.attribute("class") == Some("curve"));
        assert_eq!(curves.count(), 3);
    }
    // Latencies are 9 µs and up to three times as long, with 1,200 calls in six trials.
    let titles = titles(&document);
    let reported = |start: &str| titles.iter().filter(|title| title.starts_with(start)).count();
    for variant in ["ext4", "xfs", "btrfs"] {
        for word in ["p50", "p90", "p99"] {
            assert_eq!(reported(&format!("{variant}: {word} ")), 3, "{variant} {word}");
        }
        assert_eq!(reported(&format!("{variant}: p99.9 ")), 0, "too few calls");
    }
    assert!(titles.iter().any(|title| title.contains("(1,200 calls timed)")), "{titles:?}");
}

#[test]
fn a_phase_is_drawn_with_its_stall_and_a_short_one_is_named() {
    let report = page_of(&three());
    let timelines: Vec<&Timeline> = charts(&report)
        .filter_map(|chart| match chart {
            Chart::Timeline(timeline) => Some(timeline),
            _ => None,
        })
        .collect();
    let [timeline] = timelines.as_slice() else { panic!("{timelines:?}") };
    assert_eq!((timeline.phase.as_str(), timeline.unit.as_str()), ("aging", "MiB/s"));
    for (place, variant) in timeline.variants.iter().enumerate() {
        let rate = [300.0, 150.0, 100.0][place];
        assert_eq!((variant.rounds, variant.slices.len()), (6, 40));
        assert_eq!(variant.slices[10].0, 0.0);
        assert_eq!(variant.slices[9], (rate, rate, rate));
    }
    let text = html(&report);
    assert!(text.contains("s or without figures per second: warming."));
    // Each tooltip area lists all variants.
    assert!(text.contains("ext4: 300.0 MiB/s; xfs: 150.0 MiB/s; btrfs: 100.0 MiB/s"), "{text}");
}

#[test]
fn tasks_are_dots_and_trends_lines() {
    let report = page_of(&three());
    let aging: Vec<&Aging> = charts(&report)
        .filter_map(|chart| match chart {
            Chart::Aging(aging) => Some(aging),
            _ => None,
        })
        .collect();
    let kinds: Vec<&str> = aging.iter().map(|series| series.kind.as_str()).collect();
    assert_eq!(kinds, ["read", "create"]);
    for series in aging {
        assert_eq!(series.basis, "MiB");
        let tasks = if series.kind == "read" { 10 } else { 20 };
        for (place, variant) in series.variants.iter().enumerate() {
            assert_eq!((variant.points.len(), variant.line.len()), (6 * tasks, tasks));
            assert!(variant.percent_per_10_tasks > 5.0, "{variant:?}");
            let slow = place as f64 + 1.0;
            let (number, first) = variant.line[0];
            assert_eq!(number, if series.kind == "read" { 1 } else { 2 });
            assert!((first / (slow * 1e8) - 1.0).abs() < 0.05, "{first}");
        }
    }
}

#[test]
fn single_trial_page_has_charts_in_html_only() {
    let trial = detailed(0, 0, 2, "ext4");
    let view = treering_report::pages::trial::TrialView {
        short_id: "0193",
        charts: true,
        ..treering_report::pages::trial::TrialView::default()
    };
    let report = treering_report::pages::trial::page(&trial, &view);
    let text = html(&report);
    assert_sound(&text);
    let xml = as_xml(&text);
    let document = Document::parse(&xml).unwrap();
    for (class, count) in [("latencies", 3), ("timeline", 1), ("aging", 2)] {
        assert_eq!(with_class(&document, class).len(), count, "{class}");
    }
    // Each of the thirty tasks has a tooltip.
    let dots = titles(&document).iter().filter(|title| title.contains(", task ")).count();
    assert_eq!(dots, 30);
    for trial in [fixture::aging(), fixture::extreme(), fixture::hostile(), fixture::interrupted()]
    {
        let text = html(&treering_report::pages::trial::page(&trial, &view));
        assert_sound(&text);
    }
}

#[test]
fn differences_are_shown_and_other_facts_collapsed() {
    let report = page_of(&three());
    for name in ["terminal", "plain", "markdown", "html"] {
        let text = rendered(&report, by_name(name).unwrap());
        assert!(text.contains("filesystem.type"), "{name}: {text}");
        assert_eq!(text.contains("8589934592"), name == "html", "{name}");
    }
    let text = html(&report);
    let xml = as_xml(&text);
    let document = Document::parse(&xml).unwrap();
    let folded: Vec<Node<'_, '_>> =
        document.descendants().filter(|node| node.has_tag_name("details")).collect();
    let whole = folded.iter().find(|fold| text_of(**fold).starts_with("The whole environment"));
    let rows = whole.unwrap().descendants().filter(|node| node.has_tag_name("tr")).count();
    assert_eq!(rows, 1 + 4, "a fact a row");
}

/// Variants with hostile kinds, phases, facts and mount options.
fn hostile() -> Vec<ComparedVariant> {
    let worst = format!("</style></svg><script>alert('{}')</script>\" onload=\"x", HOSTILE[5]);
    let mut variants = three();
    for (place, variant) in variants.iter_mut().enumerate() {
        variant.name = format!("{worst}{place}{}", HOSTILE[0]);
        for trial in &mut variant.trials {
            for (number, fact) in trial.facts.iter_mut().enumerate() {
                fact.name = format!("{worst}{number}{}", HOSTILE[4]);
                fact.value = format!("{worst}{place}{}", HOSTILE[2]);
            }
            trial.phases.iter_mut().for_each(|phase| phase.name = worst.clone() + HOSTILE[1]);
            trial.tasks.iter_mut().for_each(|task| task.kind = worst.clone() + HOSTILE[7]);
            for metric in &mut trial.metrics {
                metric.scope = treering_model::Scope::Kind(worst.clone() + HOSTILE[7]);
            }
        }
    }
    variants
}

#[test]
fn hostile_names_are_text_in_charts_and_environments() {
    let report = page_of(&hostile());
    let text = html(&report);
    assert_sound(&text);
    assert!(text.contains("&lt;/svg&gt;&lt;script&gt;alert("));
    assert!(!text.contains("\" onload") && !text.contains("<script>alert"));
    for class in ["latencies", "timeline", "aging"] {
        assert!(text.contains(&format!("class=\"chart {class}\"")), "{class}");
    }
}

/// Asserts the invariants of every drawing.
fn assert_drawing(svg: &str) {
    assert!(is_drawing(svg.as_bytes()));
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
    let child = |name: &str| {
        root.children().find(|node| node.has_tag_name(("http://www.w3.org/2000/svg", name)))
    };
    assert!(!text_of(child("title").unwrap()).is_empty());
    assert!(text_of(child("style").unwrap()).contains("prefers-color-scheme: dark"));
    for node in document.descendants().filter(Node::is_element) {
        assert_ne!(node.tag_name().name(), "script");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "href" && name != "src", "{name}");
            assert!(
                name == "aria-label" || !value.contains("NaN") && !value.contains("inf"),
                "{name}={value}"
            );
        }
    }
    let style = text_of(child("style").unwrap());
    assert!(!style.contains("http") && !style.contains("url(") && !style.contains("@import"));
}

#[test]
fn every_chart_is_a_file_of_its_own() {
    let report = page_of(&three());
    let files = drawings(&report, DrawingPreset::Screen);
    let drawn = charts(&report).filter(|chart| !matches!(chart, Chart::Remark { .. })).count();
    assert_eq!(files.len(), drawn);
    files.iter().for_each(|file| assert_drawing(&file.svg));
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    for name in [
        "ratios.svg",
        "compilebench-native-ratio-by-round-create-mib-s.svg",
        "compilebench-native-latency-create.svg",
        "compilebench-native-rate-aging.svg",
        "compilebench-native-aging-read.svg",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    // A chart in a separate file names its variants, too.
    let latency = files.iter().find(|file| file.name.contains("latency-create")).unwrap();
    for word in ["ext4", "xfs", "btrfs", "Latency of create", "p99"] {
        assert!(latency.svg.contains(word), "{word}");
    }
}

#[test]
fn hostile_names_make_safe_file_names() {
    let files = drawings(&page_of(&hostile()), DrawingPreset::Screen);
    assert!(files.len() > 4);
    let mut names: Vec<&String> = files.iter().map(|file| &file.name).collect();
    for file in &files {
        assert_drawing(&file.svg);
        assert!(file.name.len() < 128);
        let stem = file.name.strip_suffix(".svg").unwrap();
        let tame = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(!stem.is_empty() && stem.chars().all(tame), "{stem}");
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), files.len());
    assert!(!is_drawing(b"<svg/>") && !is_drawing(b""));
}

#[test]
fn fifty_contenders_or_jobs_with_charts_stay_small_enough_to_be_mailed() {
    let contenders: Vec<ComparedVariant> =
        (0..51).map(|name| variant(&format!("kernel-6.12.{name}"), name, 1, 6)).collect();
    let grid = |name: &str, late: i64| {
        let mut variant = variant(name, late, 2, 0);
        for job in 0..50 {
            for round in 0..6 {
                let mut trial = detailed(round, late, 2, name);
                trial.beginning.parameters = vec![("files".to_owned(), format!("{job}000"))];
                variant.trials.push(trial);
            }
        }
        variant
    };
    for variants in [contenders, vec![grid("ext4", 0), grid("xfs", 500)]] {
        let report = page_of(&variants);
        for sort in ["Latencies", "Timeline", "Aging"] {
            let is = |chart: &&Chart| format!("{chart:?}").starts_with(sort);
            assert!(charts(&report).filter(is).count() >= 10, "{sort}");
        }
        let text = html(&report);
        assert!(text.len() < 2_000_000, "{} variants: {} bytes", variants.len(), text.len());
        assert_sound(&text);
    }
}

#[test]
fn thousands_of_rounds_are_dots() {
    let values = (0..4000).map(|round| Some(100.0 + f64::from(round % 7))).collect();
    let variant = RoundsVariant { name: "ext4".to_owned(), values, intervals: Vec::new() };
    let rounds = Rounds {
        metric: "create MiB/s".to_owned(),
        unit: Unit::MibPerSecond,
        better: BetterDirection::Higher,
        paired: true,
        numbers: Vec::new(),
        variants: vec![variant.clone(), variant],
        by: None,
        keys: Vec::new(),
        times: Vec::new(),
        events: Vec::new(),
        left_out: 0,
    };
    let mut report = Report::new("rounds");
    report.chart(Chart::Rounds(rounds));
    let text = html(&report);
    assert_sound(&text);
    assert_eq!(text.matches("h0").count(), 8000);
    assert!(text.len() < 250_000, "{} bytes", text.len());
}

fn edge() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |value| value.is_finite())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn charts_accept_extreme_values(
        curve in vec((edge(), edge()), 0..6),
        slices in vec((edge(), edge(), edge()), 0..6),
        points in vec((any::<u32>(), edge()), 0..6),
        percent in edge(),
        slice_seconds in any::<u64>(),
        variants in 0..9usize,
    ) {
        let mut report = Report::new("charts");
        let name = || HOSTILE.concat();
        let latency = LatencyVariant { name: name(), timed: u64::MAX, curve };
        let latencies = Latencies { call: name(), variants: vec![latency; variants] };
        report.chart(Chart::Latencies(latencies));
        let timeline = TimelineVariant { name: name(), rounds: 2, slices };
        report.chart(Chart::Timeline(Timeline {
            phase: name(),
            unit: name(),
            slice_seconds,
            variants: vec![timeline; variants],
        }));
        let aging = AgingVariant {
            name: name(),
            points: points.clone(),
            line: points,
            percent_per_10_tasks: percent,
            range: Some((percent, -percent)),
        };
        report.chart(Chart::Aging(Aging {
            kind: name(),
            basis: name(),
            variants: vec![aging; variants],
        }));
        report.chart(Chart::Remark { title: name(), text: name() });
        assert_sound(&html(&report));
        let files = drawings(&report, DrawingPreset::Screen);
        assert_eq!(files.len(), 3);
        files.iter().for_each(|file| assert_drawing(&file.svg));
    }
}
