//! Checks this crate against every reference value of `vectors.json`, which documents how each was
//! computed.
//!
//! Not here: properties and edge cases (`properties.rs`) and the live cross-check
//! against another implementation (`oracle.rs`).

use serde_json::Value;
use treering_stats as stats;
use treering_stats::{Interval, Scale, TestMethod};

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors.json")).expect("the vectors are valid JSON")
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(number).collect()
}

fn table(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().expect("an array of arrays").iter().map(list).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn count(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a count")).expect("a small count")
}

#[track_caller]
fn close(actual: f64, expected: &Value, relative: f64) {
    let expected = number(expected);
    let room = relative * expected.abs().max(1e-6);
    assert!((actual - expected).abs() <= room, "found {actual}, expected {expected}");
}

#[track_caller]
fn ends(actual: Interval, expected: &Value, relative: f64) {
    close(actual.low, &expected[0], relative);
    close(actual.high, &expected[1], relative);
}

/// Both data sets of a key such as "A5_B5".
fn pair(vectors: &Value, key: &str) -> (Vec<f64>, Vec<f64>) {
    if key == "SEPARATED_1to5_vs_6to10" {
        return ((1..=5).map(f64::from).collect(), (6..=10).map(f64::from).collect());
    }
    let (a, b) = key.split_once('_').expect("two names");
    (list(&vectors["datasets"][a]), list(&vectors["datasets"][b]))
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let object = value.as_object().expect("an object");
    assert!(!object.is_empty());
    object.iter()
}

#[test]
fn descriptions_match_the_vectors() {
    let vectors = vectors();
    for (name, expected) in entries(&vectors["describe"]) {
        let values = list(&vectors["datasets"][name]);
        let description = stats::describe(&values).unwrap();
        assert_eq!(description.n, count(&expected["n"]));
        for (figure, key) in [
            (description.mean, "mean"),
            (description.standard_deviation.unwrap(), "sd"),
            (description.coefficient_of_variation.unwrap(), "cov"),
            (description.min, "min"),
            (description.max, "max"),
            (description.median, "median"),
            (description.quartile_low, "q25"),
            (description.quartile_high, "q75"),
            (description.p95, "p95"),
            (description.median_absolute_deviation, "mad_raw"),
            (description.geometric_mean.unwrap(), "gmean"),
            (description.harmonic_mean.unwrap(), "hmean"),
            (description.trimmed_mean, "trim20"),
            (description.skewness.unwrap(), "skew_g1"),
        ] {
            close(figure, &expected[key], 1e-11);
        }
        let interval = stats::mean_interval(&values, 0.95).unwrap().unwrap();
        ends(interval, &expected["ci95_mean_t"], 1e-11);
    }
}

#[test]
fn mann_whitney() {
    let vectors = vectors();
    for (key, expected) in entries(&vectors["mannwhitney"]) {
        let (a, b) = pair(&vectors, key);
        let result = stats::mann_whitney(&a, &b).unwrap();
        assert_eq!(result.method, TestMethod::Exact);
        close(result.u_a, &expected["U_a"], 0.0);
        close(result.u_b, &expected["U_b"], 0.0);
        assert_eq!(Some(result.ties), expected["ties"].as_bool());
        close(result.p_value, &expected["p_exact_conditional_midrank"], 1e-12);
        if let Some(exact) = expected.get("p_exact") {
            close(result.p_value, exact, 1e-12);
        }
        // The normal distribution function of statrs is accurate to about 1e-11, relative.
        let corrected = stats::mann_whitney_normal(&a, &b, true).unwrap();
        close(corrected.p_value, &expected["p_asym_cc_ties"], 1e-9);
        let plain = stats::mann_whitney_normal(&a, &b, false).unwrap();
        close(plain.p_value, &expected["p_asym_nocc_ties"], 1e-9);
    }
    for (key, expected) in entries(&vectors["mannwhitney_min_p"]) {
        let (m, n) = key.split_once('x').unwrap();
        let result = stats::mann_whitney_smallest_p(m.parse().unwrap(), n.parse().unwrap());
        close(result, expected, 1e-12);
    }
    let counts = stats::rank_sum_counts(5, 5).unwrap();
    let expected = list(&vectors["U_null_counts_5x5"]);
    assert_eq!(counts.iter().map(|&count| count as f64).collect::<Vec<_>>(), expected);
}

#[test]
fn hodges_lehmann_shift() {
    let vectors = vectors();
    for (key, expected) in entries(&vectors["hodges_lehmann_two_sample_b_minus_a"]) {
        let (a, b) = pair(&vectors, key);
        let estimate = stats::hodges_lehmann_shift(&a, &b, 0.95).unwrap();
        close(estimate.estimate, &expected["estimate"], 1e-12);
        assert_eq!(estimate.cut_rank, Some(count(&expected["k"])));
        assert_eq!(estimate.cut_rank, Some(count(&expected["k_normal"])));
        let interval = estimate.interval.unwrap();
        ends(interval, &expected["ci_exact"], 1e-12);
        ends(interval, &expected["ci_normal_rank"], 1e-12);
        close(interval.achieved.unwrap(), &expected["achieved"], 1e-12);
    }
    for (key, expected) in entries(&vectors["hodges_lehmann_log_ratio_b_over_a"]) {
        let (a, b) = pair(&vectors, key);
        let estimate = stats::compare_unpaired(&a, &b, Scale::Ratio, stats::ALPHA).unwrap();
        close(estimate.estimate, &expected["ratio"], 1e-12);
        ends(estimate.interval.unwrap(), &expected["ratio_ci_exact"], 1e-12);
    }
}

#[test]
fn paired_rounds_match_the_vectors() {
    let vectors = vectors();
    let expected = &vectors["paired_P10"];
    let (base, variant) = pair(&vectors, "P10a_P10b");
    let differences = stats::differences(&base, &variant).unwrap();
    for (actual, wanted) in differences.iter().zip(expected["diff"].as_array().unwrap()) {
        close(*actual, wanted, 1e-14);
    }

    let t = stats::student_test(&differences, 0.95).unwrap();
    close(t.t, &expected["t_paired"]["t"], 1e-11);
    close(t.p_value, &expected["t_paired"]["p"], 1e-10);
    ends(t.interval, &expected["t_paired"]["ci95"], 1e-10);

    let rank = stats::signed_rank(&differences).unwrap();
    let signed = &expected["signed_rank"];
    assert_eq!((rank.n, rank.zeros), (count(&signed["n"]), count(&signed["zeros"])));
    assert_eq!(Some(rank.ties), signed["ties"].as_bool());
    close(rank.w_plus, &signed["W_plus"], 0.0);
    close(rank.p_value, &signed["p_exact_conditional_midrank"], 0.0);
    let normal = stats::signed_rank_normal(&differences, true).unwrap();
    close(normal.p_value, &signed["p_asym_cc"], 1e-9);

    let hl = stats::hodges_lehmann(&differences, 0.95).unwrap();
    close(hl.estimate, &expected["hl"]["pseudomedian"], 1e-12);
    assert_eq!(hl.cut_rank, Some(count(&expected["hl"]["k"])));
    ends(hl.interval.unwrap(), &expected["hl"]["ci_exact"], 1e-12);
    close(hl.interval.unwrap().achieved.unwrap(), &expected["hl"]["achieved"], 0.0);

    let ratio = stats::compare_paired(&base, &variant, Scale::Ratio, stats::ALPHA).unwrap();
    let logs = &expected["hl_log_ratio"];
    close(ratio.estimate, &logs["ratio"], 1e-12);
    ends(ratio.interval.unwrap(), &logs["ci"], 1e-12);
    close(ratio.p_value.unwrap(), &logs["signed_rank_p"], 0.0);

    for (n, smallest) in entries(&vectors["signed_rank_min_p"]) {
        close(stats::signed_rank_smallest_p(n.parse().unwrap()), smallest, 0.0);
    }
}

#[test]
fn adjusted_p_values_match() {
    let vectors = vectors();
    let expected = &vectors["multiplicity"];
    type Adjust = fn(&[f64]) -> Result<Vec<f64>, stats::StatsError>;
    let cases: [(&str, &str, Adjust); 4] = [
        ("p", "holm", stats::holm),
        ("p", "fdr_bh", stats::benjamini_hochberg),
        ("p_unsorted", "holm_unsorted", stats::holm),
        ("p_unsorted", "fdr_bh_unsorted", stats::benjamini_hochberg),
    ];
    for (from, to, adjust) in cases {
        let adjusted = adjust(&list(&expected[from])).unwrap();
        let wanted = expected[to].as_array().unwrap();
        assert_eq!(adjusted.len(), wanted.len());
        for (adjusted, wanted) in adjusted.iter().zip(wanted) {
            close(*adjusted, wanted, 1e-12);
        }
    }
}

#[test]
fn rounds_by_variants_match_the_vectors() {
    let vectors = vectors();
    let expected = &vectors["blocked_K3_N8"];
    let rounds = table(&expected["rounds"]);
    let column = |variant: usize| rounds.iter().map(|round| round[variant]).collect::<Vec<f64>>();

    let mut p_values = Vec::new();
    for (key, variant, base) in [("1-0", 1, 0), ("2-0", 2, 0), ("2-1", 2, 1)] {
        let wanted = &expected["pairwise_signed_rank"][key];
        let differences = stats::differences(&column(base), &column(variant)).unwrap();
        let rank = stats::signed_rank(&differences).unwrap();
        assert_eq!((rank.n, rank.zeros), (count(&wanted["n"]), count(&wanted["zeros"])));
        assert_eq!(Some(rank.ties), wanted["ties"].as_bool());
        close(rank.w_plus, &wanted["W_plus"], 0.0);
        close(rank.p_value, &wanted["p_exact_conditional_midrank"], 0.0);
        if let Some(exact) = wanted.get("p_exact") {
            close(rank.p_value, exact, 0.0);
        }
        let normal = stats::signed_rank_normal(&differences, true).unwrap();
        close(normal.p_value, &wanted["p_asym_cc"], 1e-9);
        let hl = stats::hodges_lehmann(&differences, 0.95).unwrap();
        close(hl.estimate, &wanted["hl"]["pseudomedian"], 1e-12);
        assert_eq!(hl.cut_rank, Some(count(&wanted["hl"]["k"])));
        ends(hl.interval.unwrap(), &wanted["hl"]["ci_exact"], 1e-12);
        close(hl.interval.unwrap().achieved.unwrap(), &wanted["hl"]["achieved"], 0.0);
        p_values.push(rank.p_value);
    }
    assert_eq!(stats::holm(&p_values).unwrap(), list(&expected["holm_pairs"]));
}

#[test]
fn serial_statistics_match() {
    let vectors = vectors();
    let expected = &vectors["time_series_AR1"];
    let x = list(&expected["x"]);
    let acf = stats::autocorrelation(&x, 5).unwrap();
    for (actual, wanted) in acf.iter().zip(expected["acf"].as_array().unwrap()) {
        close(*actual, wanted, 1e-11);
    }
    close(acf[1], &expected["acf1"], 1e-11);
    let ljung_box = stats::ljung_box(&x, 5).unwrap();
    close(ljung_box.q, &expected["ljungbox5"]["Q"], 1e-11);
    assert!((ljung_box.p_value / number(&expected["ljungbox5"]["p"]) - 1.0).abs() < 1e-6);
    let trend = stats::mann_kendall(&x).unwrap();
    close(trend.s, &expected["mann_kendall"]["S"], 0.0);
    close(trend.variance, &expected["mann_kendall"]["var"], 1e-13);
    close(trend.z, &expected["mann_kendall"]["z"], 1e-12);
    close(trend.p_value, &expected["mann_kendall"]["p"], 1e-9);
    let slope = stats::theil_sen(&x, 0.95).unwrap();
    close(slope.slope, &expected["theil_sen_slope_per_index"], 1e-11);
    ends(slope.interval.unwrap(), &expected["theil_sen_ci95"], 1e-10);
    assert!(stats::serial_check(&x).unwrap().serial);
}

#[test]
fn change_points() {
    let vectors = vectors();
    let expected = &vectors["e_divisive_qhat"];
    let x = list(&expected["x"]);
    let statistics = stats::split_statistics(&x).unwrap();
    let wanted = expected["q"].as_array().unwrap();
    assert_eq!((statistics.len(), count(&expected["t_from"])), (wanted.len(), 2));
    for (statistics, wanted) in statistics.iter().zip(wanted) {
        close(*statistics, wanted, 1e-11);
    }
    let best = count(&expected["best_t"]);
    close(statistics[best - 2], &expected["best_q"], 1e-11);
    let changes = stats::change_points(&x, &stats::ChangePointPlan::default()).unwrap();
    assert_eq!(changes.iter().map(|change| change.index).collect::<Vec<_>>(), [best]);
}

/// Checks that the tests above use every group of vectors.
#[test]
fn every_vector_group_is_tested() {
    let source = include_str!("vectors.rs");
    for (key, _) in entries(&vectors()) {
        let read = source.contains(&format!("[\"{key}\"]"));
        assert!(read || key.starts_with('_'), "{key} is never read");
    }
}
