//! Observer results of a comparison have a separate table and plots on one scale, and keep pages
//! small for any number of requests.

use treering_analysis::compare::{
    ComparedVariant, ComparisonTerms, Factor, ObservedJob, Outcome, compare_observed, observed_jobs,
};
use treering_model::{
    Artifact, BetterDirection, Cell, CellRole, FileLayout, LAYOUT_AFTER_TASK, LAYOUT_ARTIFACT,
    LAYOUT_MAP_ARTIFACT, LAYOUT_VERSION, LayoutMap, LayoutMapCell, Metric, PhaseTotals, Scope,
    Trial, TrialId, Unit,
};
use treering_report::pages::comparison::{ComparisonView, DataFormat, page};
use treering_report::{Block, Chart, Report};
use treering_trace::{ARTIFACT_KIND, ARTIFACT_VERSION, DeviceMap, TimeSlot, Timeline, TraceDigest};

use crate::comparison::trial;
use crate::html::{assert_sound, html};

const PHASES: [&str; 3] = ["initial", "aging", "final"];

/// A digest as large as that of a million requests, with the maximum number of cell runs in a map,
/// and a thousand time slices.
fn digest(seed: u64) -> TraceDigest {
    let mut digest = TraceDigest::default();
    let mut state = seed;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    digest.figures.span_ns = 60_000_000_000;
    digest.figures.writes.requests = 700_000;
    digest.figures.reads.requests = 300_000;
    digest.figures.seeks = 500_000 + seed;
    digest.figures.ordered = 1_000_000;
    let mut runs = |count: u64| -> Vec<u32> {
        let pairs = (0..count).flat_map(|_| [20 + random() % 100, 1 + random() % 4]);
        pairs.map(|number| u32::try_from(number).unwrap()).collect()
    };
    digest.maps = vec![DeviceMap {
        device: "loop7".to_owned(),
        device_sectors: 1 << 23,
        column_ns: 60_000_000,
        columns: 1024,
        first_sector: 0,
        row_sectors: 8192,
        rows: 1024,
        reads: runs(8_000),
        writes: runs(16_000),
        discards: Vec::new(),
    }];
    let slot = |_| TimeSlot {
        reads: 300 + random() % 50,
        read_bytes: 4096 * (300 + random() % 50),
        writes: 700 + random() % 50,
        write_bytes: 8192 * (700 + random() % 50),
        seeks: 500 + random() % 90,
        depth_ns: 30_000_000 + random() % 9_000_000,
        timed: 1000,
        latency_ns: 1_000_000_000 + random() % 90_000_000,
        ..TimeSlot::default()
    };
    digest.timeline = Timeline { slot_ns: 60_000_000, slots: (0..1000).map(slot).collect() };
    digest
}

fn layout(adjacent: f64) -> FileLayout {
    FileLayout { files: 10, adjacent_siblings: Some(adjacent), ..FileLayout::default() }
}

fn map() -> LayoutMap {
    let cell =
        |place: u64| LayoutMapCell { space: 1 << 20, free: (place % 8) << 17, groups: Vec::new() };
    LayoutMap { cell_bytes: 1 << 20, groups: Vec::new(), cells: (0..4096).map(cell).collect() }
}

/// A trial under observation.
fn watched(late: i64, name: &str, campaign: TrialId, role: CellRole) -> Trial {
    let mut trial = trial(0, late, 1.0, name);
    trial.beginning.cell = Some(Cell {
        campaign,
        plan: "p".to_owned(),
        digest: "d".to_owned(),
        variant: name.to_owned(),
        job: "compilebench".to_owned(),
        round: 1,
        role,
    });
    let phase = |(phase, name): (u32, &str)| PhaseTotals {
        phase,
        name: name.to_owned(),
        wall_ns: 60_000_000_000,
        ..PhaseTotals::default()
    };
    trial.phases = (0..).zip(PHASES).map(phase).collect();
    let seed = u64::try_from(late).unwrap();
    for (phase, name) in (0..).zip(PHASES) {
        let scope = || Scope::Phase(name.to_owned());
        let seeks = 500_000.0 + late as f64;
        let share = 60.0 + late as f64 / 100.0;
        trial.metrics.extend([
            Metric::new("trace_seeks", scope(), seeks, Unit::Count, BetterDirection::Lower),
            Metric::new(
                "trace_write_amplification",
                scope(),
                1.5,
                Unit::Count,
                BetterDirection::Lower,
            ),
            Metric::new(
                "layout_score_percent",
                scope(),
                share,
                Unit::Percent,
                BetterDirection::Higher,
            ),
        ]);
        let made = Artifact::new(ARTIFACT_KIND, ARTIFACT_VERSION, &digest(seed + phase)).unwrap();
        let phase = Some(u32::try_from(phase).unwrap());
        trial.artifacts.push(Artifact { phase, name: name.to_owned(), ..made });
    }
    for task in 1..=10u32 {
        let layout = layout(0.9 - f64::from(task) / 100.0);
        let made = Artifact::new(LAYOUT_ARTIFACT, LAYOUT_VERSION, &layout).unwrap();
        let name = format!("{LAYOUT_AFTER_TASK}{task}");
        trial.artifacts.push(Artifact { phase: Some(1), name, ..made });
    }
    let made = Artifact::new(LAYOUT_MAP_ARTIFACT, LAYOUT_VERSION, &map()).unwrap();
    trial.artifacts.push(Artifact { phase: Some(2), ..made });
    trial
}

fn compared_variant(name: &str, trial: Trial) -> ComparedVariant {
    ComparedVariant {
        name: name.to_owned(),
        factor: Factor::Variant,
        against: None,
        trials: vec![trial],
    }
}

/// A comparison of two variants with an observing round, and its page.
fn observed() -> (Outcome, Report) {
    let campaign = TrialId::new();
    let measured = |name: &str, late| {
        let mut trial = watched(late, name, campaign, CellRole::Round);
        trial.metrics.retain(|metric| !metric.name.contains('_') || metric.primary);
        trial.artifacts.clear();
        compared_variant(name, trial)
    };
    let (ext4, xfs) = (measured("ext4", 0), measured("x<s", 500));
    let variants = [("ext4", 900), ("x<s", 1400)].map(|(name, late)| {
        let trial = watched(late, name, campaign, CellRole::Observed);
        compared_variant(&format!("{name}{}", CellRole::Observed.suffix()), trial)
    });
    let outcome = compare_observed(&ext4, &[xfs], &variants, &ComparisonTerms::default()).unwrap();
    let mut jobs: Vec<ObservedJob> = observed_jobs(&variants[0], &variants[1..]);
    for (job_variant, variant) in jobs.iter_mut().flat_map(|job| &mut job.variants).zip(&variants) {
        assert_eq!(format!("{}{}", job_variant.name, CellRole::Observed.suffix()), variant.name);
        job_variant.seen = variant.trials.first().cloned();
    }
    let page = page(&outcome, &ComparisonView { observed: &jobs, ..ComparisonView::default() });
    (outcome, page)
}

#[test]
fn observer_results_have_their_own_section_on_one_scale() {
    let (_, page) = observed();
    let tables: Vec<_> = page
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
        .collect();
    let table = |name: &str| tables.iter().find(|table| table.name == name).unwrap();
    let seen: Vec<_> = tables.iter().filter(|table| table.name == "observed").collect();
    assert_eq!(seen.len(), 3, "one for each phase");
    assert!(seen.iter().all(|table| table.rows.len() == 3));
    assert!(seen[0].caption.starts_with("Observed, phase initial. In separate rounds"));
    assert_eq!(seen[0].columns.len(), 4, "nothing is inferred of one trial");
    let shown = format!("{:?} {:?}", table("figures"), table("exploratory"));
    assert!(!shown.contains("trace") && !shown.contains("layout"), "{shown}");
    let charts: Vec<&Chart> = page
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Chart(chart) => Some(chart),
            _ => None,
        })
        .collect();
    let traces: Vec<(&str, Vec<&str>)> = charts
        .iter()
        .filter_map(|chart| match chart {
            Chart::Trace(chart) => {
                let names = chart.runs.iter().map(|run| run.name.as_str()).collect();
                Some((chart.of.as_str(), names))
            }
            _ => None,
        })
        .collect();
    let of = |phase| (phase, vec!["ext4", "x<s"]);
    assert_eq!(traces, ["phase initial", "phase aging", "phase final"].map(of));
    let timelines = charts.iter().filter_map(|chart| match chart {
        Chart::Layout(timeline) => Some(timeline),
        _ => None,
    });
    let timelines: Vec<_> = timelines.collect();
    assert_eq!(timelines.len(), 1);
    assert_eq!(timelines[0].variants.len(), 2);
    assert_eq!(timelines[0].variants[1].points.len(), 10);
    let maps = charts.iter().filter(|chart| matches!(chart, Chart::Map(_))).count();
    assert_eq!(maps, 2, "the last of each variant");
}

#[test]
fn a_page_about_millions_of_requests_stays_small_and_sound() {
    let (_, page) = observed();
    let text = html(&page);
    assert_sound(&text);
    assert!(text.contains("Device activity in phase aging"));
    assert!(text.contains("x&lt;s on loop7") && !text.contains("x<s"));
    // Two variants in three phases represent six million requests.
    let drawn: usize = text.matches("class=\"cells").count();
    assert_eq!(drawn, 12, "reads and writes of each");
    assert!(text.len() < 500_000, "{} bytes", text.len());
}

#[test]
fn json_marks_metrics_of_observed_rounds() {
    let (outcome, _) = observed();
    let mut bytes = Vec::new();
    DataFormat::Json.write(&outcome, &mut bytes).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(document["baseline"]["observed"], 1);
    let comparisons = document["comparisons"].as_array().unwrap();
    let of = |is_observed: bool| {
        comparisons
            .iter()
            .filter(move |comparison| comparison["observed"] == is_observed)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(true).len(), 9);
    assert!(
        of(true)
            .iter()
            .all(|comparison| comparison["verdict"] == "single-run" && comparison["pairs"] == 1)
    );
    assert!(!of(false).is_empty());
    assert!(
        of(false)
            .iter()
            .all(|comparison| !comparison["name"].as_str().unwrap().starts_with("trace_"))
    );
}
