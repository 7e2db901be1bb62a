//! Every reference value of `vectors.json` against this crate. The file says how each was computed.
//!
//! What does not live here: properties and edge cases (`properties.rs`) and the live cross-check
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
fn close(found: f64, expected: &Value, relative: f64) {
    let expected = number(expected);
    let room = relative * expected.abs().max(1e-6);
    assert!((found - expected).abs() <= room, "found {found}, expected {expected}");
}

#[track_caller]
fn ends(found: Interval, expected: &Value, relative: f64) {
    close(found.low, &expected[0], relative);
    close(found.high, &expected[1], relative);
}

/// The two datasets of a key such as "A5_B5".
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
fn descriptions() {
    let vectors = vectors();
    for (name, expected) in entries(&vectors["describe"]) {
        let values = list(&vectors["datasets"][name]);
        let found = stats::describe(&values).unwrap();
        assert_eq!(found.n, count(&expected["n"]));
        for (figure, key) in [
            (found.mean, "mean"),
            (found.standard_deviation.unwrap(), "sd"),
            (found.coefficient_of_variation.unwrap(), "cov"),
            (found.min, "min"),
            (found.max, "max"),
            (found.median, "median"),
            (found.quartile_low, "q25"),
            (found.quartile_high, "q75"),
            (found.p95, "p95"),
            (found.median_absolute_deviation, "mad_raw"),
            (found.geometric_mean.unwrap(), "gmean"),
            (found.harmonic_mean.unwrap(), "hmean"),
            (found.trimmed_mean, "trim20"),
            (found.skewness.unwrap(), "skew_g1"),
        ] {
            close(figure, &expected[key], 1e-11);
        }
        let interval = stats::mean_interval(&values, 0.95).unwrap().unwrap();
        ends(interval, &expected["ci95_mean_t"], 1e-11);
    }
}

#[test]
fn order_statistic_intervals() {
    let vectors = vectors();
    for (name, expected) in entries(&vectors["median_order_stat_ci95"]) {
        let values = list(&vectors["datasets"][name]);
        let ranks = stats::quantile_interval(&values, 0.5, 0.95).unwrap();
        assert_eq!(ranks.low_rank, count(&expected["r"]));
        match stats::median_interval(&values, 0.95).unwrap() {
            None => assert!(expected["ci"].is_null()),
            Some(found) => {
                ends(found, &expected["ci"], 0.0);
                close(found.achieved.unwrap(), &expected["coverage"], 1e-12);
            }
        }
    }
    for (confidence, smallest) in entries(&vectors["min_n_for_median_ci"]) {
        let confidence: f64 = confidence.parse().unwrap();
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let first = (1..=12)
            .find(|&n| stats::median_interval(&values[..n], confidence).unwrap().is_some())
            .unwrap();
        assert_eq!(first, count(smallest), "at {confidence}");
    }
}

#[test]
fn welch_and_fieller() {
    let vectors = vectors();
    for (key, expected) in entries(&vectors["welch"]) {
        let (a, b) = pair(&vectors, key);
        let found = stats::welch_test(&a, &b, 0.95).unwrap();
        close(found.estimate, &expected["diff_b_minus_a"], 1e-11);
        close(found.t, &expected["t"], 1e-11);
        close(found.freedom, &expected["df"], 1e-11);
        close(found.p_value, &expected["p"], 1e-10);
        ends(found.interval, &expected["ci95"], 1e-10);
    }
    for (key, expected) in entries(&vectors["fieller_ratio_b_over_a"]) {
        let (a, b) = pair(&vectors, key);
        let found = stats::fieller_ratio(&a, &b, 0.95).unwrap();
        close(found.ratio, &expected["ratio"], 1e-12);
        close(found.g, &expected["g"], 1e-10);
        ends(found.interval.unwrap(), &expected["ci"], 1e-10);
    }
    for (key, expected) in entries(&vectors["effect_size"]) {
        let (a, b) = pair(&vectors, key);
        let found = stats::effect_size(&a, &b).unwrap();
        close(found.cohens_d, &expected["cohens_d"], 1e-12);
        close(found.hedges_g, &expected["hedges_g"], 1e-12);
    }
}

#[test]
fn mann_whitney() {
    let vectors = vectors();
    for (key, expected) in entries(&vectors["mannwhitney"]) {
        let (a, b) = pair(&vectors, key);
        let found = stats::mann_whitney(&a, &b).unwrap();
        assert_eq!(found.method, TestMethod::Exact);
        close(found.u_a, &expected["U_a"], 0.0);
        close(found.u_b, &expected["U_b"], 0.0);
        close(found.probability_b_larger(), &expected["P_b_gt_a"], 1e-13);
        close(found.cliffs_delta(), &expected["cliffs_delta"], 1e-13);
        assert_eq!(Some(found.ties), expected["ties"].as_bool());
        close(found.p_value, &expected["p_exact_conditional_midrank"], 1e-12);
        if let Some(exact) = expected.get("p_exact") {
            close(found.p_value, exact, 1e-12);
        }
        // statrs' normal distribution function is good to about 1e-11 relative.
        let corrected = stats::mann_whitney_normal(&a, &b, true).unwrap();
        close(corrected.p_value, &expected["p_asym_cc_ties"], 1e-9);
        let plain = stats::mann_whitney_normal(&a, &b, false).unwrap();
        close(plain.p_value, &expected["p_asym_nocc_ties"], 1e-9);
    }
    for (key, expected) in entries(&vectors["mannwhitney_min_p"]) {
        let (m, n) = key.split_once('x').unwrap();
        let found = stats::mann_whitney_smallest_p(m.parse().unwrap(), n.parse().unwrap());
        close(found, expected, 1e-12);
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
        let found = stats::hodges_lehmann_shift(&a, &b, 0.95).unwrap();
        close(found.estimate, &expected["estimate"], 1e-12);
        assert_eq!(found.cut_rank, Some(count(&expected["k"])));
        assert_eq!(found.cut_rank, Some(count(&expected["k_normal"])));
        let interval = found.interval.unwrap();
        ends(interval, &expected["ci_exact"], 1e-12);
        ends(interval, &expected["ci_normal_rank"], 1e-12);
        close(interval.achieved.unwrap(), &expected["achieved"], 1e-12);
    }
    for (key, expected) in entries(&vectors["hodges_lehmann_log_ratio_b_over_a"]) {
        let (a, b) = pair(&vectors, key);
        let found = stats::compare_unpaired(&a, &b, Scale::Ratio, stats::ALPHA).unwrap();
        close(found.estimate, &expected["ratio"], 1e-12);
        ends(found.interval.unwrap(), &expected["ratio_ci_exact"], 1e-12);
    }
}

#[test]
fn paired_rounds() {
    let vectors = vectors();
    let expected = &vectors["paired_P10"];
    let (base, variant) = pair(&vectors, "P10a_P10b");
    let differences = stats::differences(&base, &variant).unwrap();
    for (found, wanted) in differences.iter().zip(expected["diff"].as_array().unwrap()) {
        close(*found, wanted, 1e-14);
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

    let flip = stats::sign_flip_test(&differences, 0).unwrap();
    close(flip.p_value, &expected["sign_flip_mean_exact_p"], 0.0);
    close(stats::sign_test(&differences).unwrap(), &expected["sign_test_p"], 1e-12);

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
fn permutations_of_the_mean() {
    let vectors = vectors();
    for (key, expected) in entries(&vectors["permutation_mean_diff_exact"]) {
        let (a, b) = pair(&vectors, key);
        let found = stats::permutation_test(&a, &b, 0).unwrap();
        close(found.p_value, &expected["p"], 1e-12);
        assert_eq!(Some(found.arrangements), expected["permutations"].as_u64());
    }
}

/// Ordered resamples of five values, all n^n of them, as positions.
fn resamples_of_five() -> impl Iterator<Item = [usize; 5]> {
    (0..3125_usize).map(|code| [1, 5, 25, 125, 625].map(|power| code / power % 5))
}

fn at(values: &[f64], places: &[usize]) -> Vec<f64> {
    places.iter().map(|&place| values[place]).collect()
}

#[test]
fn bca_of_the_full_enumeration() {
    type Statistic = fn(&[f64]) -> f64;
    let vectors = vectors();
    let cases: [(&str, &str, Statistic); 3] = [
        ("mean_A5", "A5", |values| stats::describe(values).unwrap().mean),
        ("median_B5", "B5", |values| stats::median(values).unwrap()),
        ("sd1_A5", "A5", |values| stats::describe(values).unwrap().standard_deviation.unwrap()),
    ];
    assert_eq!(vectors["bca_enumerated"].as_object().unwrap().len(), cases.len());
    for (key, name, statistic) in cases {
        let expected = &vectors["bca_enumerated"][key];
        let values = list(&vectors["datasets"][name]);
        let replicates: Vec<f64> =
            resamples_of_five().map(|places| statistic(&at(&values, &places))).collect();
        assert_eq!(replicates.len(), count(&expected["B"]));
        let jackknife: Vec<f64> = (0..5)
            .map(|left_out| (0..5).filter(|&place| place != left_out).collect::<Vec<_>>())
            .map(|places| statistic(&at(&values, &places)))
            .collect();
        let estimate = statistic(&values);
        close(estimate, &expected["theta"], 1e-12);
        let found = stats::bca_interval(estimate, &replicates, &jackknife, 0.95).unwrap();
        close(found.z0, &expected["z0"], 1e-9);
        close(found.acceleration, &expected["acceleration"], 1e-9);
        close(found.alpha_low, &expected["alpha1"], 1e-9);
        close(found.alpha_high, &expected["alpha2"], 1e-9);
        ends(found.interval, &expected["ci"], 1e-9);
        let percentile = stats::percentile_interval(&replicates, 0.95).unwrap();
        ends(percentile, &expected["percentile_ci"], 1e-9);
        let spread = stats::describe(&replicates).unwrap().standard_deviation.unwrap();
        // The reference divides by B, a description by B - 1.
        close(spread * (3124.0_f64 / 3125.0).sqrt(), &expected["boot_se"], 1e-10);
    }
}

/// scipy's Monte Carlo BCa against ours with another generator: within 1 % of the width.
#[test]
fn bca_by_sampling() {
    let vectors = vectors();
    let expected = &vectors["bca_scipy_200k_seed42"]["mean_paired_diff_P10"];
    let (base, variant) = pair(&vectors, "P10a_P10b");
    let differences = stats::differences(&base, &variant).unwrap();
    let (mut replicates, mut left_out) = (Vec::new(), Vec::new());
    let plan = stats::BootstrapPlan { resamples: 200_000, seed: 42, confidence: 0.95 };
    let found = stats::bootstrap_rounds(10, &plan, |places| {
        let mean =
            places.iter().map(|&place| differences[place]).sum::<f64>() / places.len() as f64;
        if places.len() == 10 {
            replicates.push(mean);
        } else {
            // The last ten jackknife calls are those of the observed rounds.
            left_out.push(mean);
        }
        Some(mean)
    })
    .unwrap();
    let jackknife = &left_out[left_out.len() - 10..];
    let bca = stats::bca_interval(found.estimate, &replicates[1..], jackknife, 0.95).unwrap();
    let width = number(&expected["ci"][1]) - number(&expected["ci"][0]);
    assert!((bca.interval.low - number(&expected["ci"][0])).abs() < 0.01 * width, "{bca:?}");
    assert!((bca.interval.high - number(&expected["ci"][1])).abs() < 0.01 * width, "{bca:?}");
    close(found.standard_error, &expected["se"], 0.01);
}

#[test]
fn multiplicity() {
    let vectors = vectors();
    let expected = &vectors["multiplicity"];
    type Adjust = fn(&[f64]) -> Result<Vec<f64>, stats::StatsError>;
    let cases: [(&str, &str, Adjust); 8] = [
        ("p", "bonferroni", stats::bonferroni),
        ("p", "holm", stats::holm),
        ("p", "simes-hochberg", stats::hochberg),
        ("p", "fdr_bh", stats::benjamini_hochberg),
        ("p", "fdr_by", stats::benjamini_yekutieli),
        ("p_unsorted", "holm_unsorted", stats::holm),
        ("p_unsorted", "fdr_bh_unsorted", stats::benjamini_hochberg),
        ("p_unsorted", "fdr_by_unsorted", stats::benjamini_yekutieli),
    ];
    for (from, to, adjust) in cases {
        let found = adjust(&list(&expected[from])).unwrap();
        let wanted = expected[to].as_array().unwrap();
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(wanted) {
            close(*found, wanted, 1e-12);
        }
    }
}

#[test]
fn rounds_by_variants() {
    let vectors = vectors();
    let expected = &vectors["blocked_K3_N8"];
    let rounds = table(&expected["rounds"]);
    let column = |variant: usize| rounds.iter().map(|round| round[variant]).collect::<Vec<f64>>();

    let found = stats::friedman(&rounds).unwrap();
    close(found.chi_squared, &expected["friedman_chi2"], 1e-12);
    close(found.p_value, &expected["friedman_p"], 1e-11);
    close(found.f.unwrap(), &expected["iman_davenport_F"], 1e-12);
    close(found.f_p_value, &expected["iman_davenport_p"], 1e-9);
    assert_eq!(found.mean_ranks, list(&expected["mean_ranks"]));

    let kruskal = stats::kruskal_wallis(&[column(0), column(1), column(2)]).unwrap();
    close(kruskal.h, &expected["kruskal_H"], 1e-12);
    close(kruskal.p_value, &expected["kruskal_p"], 1e-11);

    let anova = stats::block_anova(&rounds).unwrap();
    close(anova.residual_variance, &expected["two_way_anova"]["residual_var"], 1e-11);
    assert_eq!(anova.freedom, count(&expected["two_way_anova"]["df"]));
    close(anova.f.unwrap(), &expected["two_way_anova"]["F"], 1e-11);
    close(anova.p_value.unwrap(), &expected["two_way_anova"]["p"], 1e-7);

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
fn two_levels() {
    let vectors = vectors();
    let expected = &vectors["kalibera_jones_2level"];
    let runs = table(&expected["y"]);
    let found = stats::variance_components(&runs, 0.95).unwrap();
    close(found.within_runs, &expected["S1sq"], 1e-11);
    close(found.within_runs, &expected["T1sq"], 1e-11);
    close(found.of_run_means, &expected["S2sq"], 1e-11);
    close(found.between_runs, &expected["T2sq"], 1e-11);
    close(found.grand_mean, &expected["grand_mean"], 1e-12);
    close(found.standard_error, &expected["se"], 1e-11);
    close(found.share_between.unwrap(), &expected["icc"], 1e-11);
    ends(found.interval.unwrap(), &expected["ci95_t"], 1e-11);
    let (c1, c2) = (number(&expected["cost_iteration_c1"]), number(&expected["cost_run_c2"]));
    let real = found.best_iterations_real(c1, c2).unwrap().unwrap();
    close(real, &expected["optimal_n1_real"], 1e-11);
    let whole = found.best_iterations(c1, c2).unwrap().unwrap();
    assert_eq!(whole as usize, count(&expected["optimal_n1"]));
    // Pooling the twenty iterations as if they were runs: a third of the honest width.
    let naive = stats::mean_interval(&runs.concat(), 0.95).unwrap().unwrap();
    ends(naive, &expected["naive_ci95_treating_20_as_iid"], 1e-11);
    assert!(naive.half_width() < 0.4 * found.interval.unwrap().half_width());
}

#[test]
fn serial_statistics() {
    let vectors = vectors();
    let expected = &vectors["time_series_AR1"];
    let x = list(&expected["x"]);
    let acf = stats::autocorrelation(&x, 5).unwrap();
    for (found, wanted) in acf.iter().zip(expected["acf"].as_array().unwrap()) {
        close(*found, wanted, 1e-11);
    }
    close(acf[1], &expected["acf1"], 1e-11);
    let size = stats::effective_size(&x).unwrap();
    close(size.tau, &expected["geyer"]["tau"], 1e-11);
    close(size.samples, &expected["geyer"]["ess"], 1e-11);
    let ljung_box = stats::ljung_box(&x, 5).unwrap();
    close(ljung_box.q, &expected["ljungbox5"]["Q"], 1e-11);
    assert!((ljung_box.p_value / number(&expected["ljungbox5"]["p"]) - 1.0).abs() < 1e-6);
    close(stats::von_neumann_ratio(&x).unwrap(), &expected["von_neumann_ratio"], 1e-11);
    let trend = stats::mann_kendall(&x).unwrap();
    close(trend.s, &expected["mann_kendall"]["S"], 0.0);
    close(trend.variance, &expected["mann_kendall"]["var"], 1e-13);
    close(trend.z, &expected["mann_kendall"]["z"], 1e-12);
    close(trend.p_value, &expected["mann_kendall"]["p"], 1e-9);
    let slope = stats::theil_sen(&x, 0.95).unwrap();
    close(slope.slope, &expected["theil_sen_slope_per_index"], 1e-11);
    ends(slope.interval.unwrap(), &expected["theil_sen_ci95"], 1e-10);
    let block = stats::block_length(&x).unwrap();
    close(block.stationary, &expected["politis_white_block"]["stationary"], 1e-10);
    close(block.circular, &expected["politis_white_block"]["circular"], 1e-10);
    assert!(stats::serial_check(&x).unwrap().serial);
}

#[test]
fn circular_blocks_of_the_full_enumeration() {
    let vectors = vectors();
    let expected = &vectors["circular_block_bootstrap_enumerated"];
    let x = list(&expected["x"]);
    let block = count(&expected["block"]);
    let n = x.len();
    let means: Vec<f64> = (0..n * n)
        .map(|code| stats::circular_blocks(&x, block, &[code / n, code % n]))
        .map(|resample| stats::describe(&resample).unwrap().mean)
        .collect();
    assert_eq!(means.len(), 64);
    let spread = stats::describe(&means).unwrap().standard_deviation.unwrap();
    close(spread * (63.0_f64 / 64.0).sqrt(), &expected["se"], 1e-11);
    ends(stats::percentile_interval(&means, 0.95).unwrap(), &expected["percentile_ci95"], 1e-12);
    let own = stats::describe(&x).unwrap().standard_deviation.unwrap();
    close(own * (7.0_f64 / 8.0).sqrt() / 8.0_f64.sqrt(), &expected["iid_boot_se"], 1e-11);
    // The sampled form comes to the same.
    let sampled = stats::block_bootstrap_mean(&x, block, &stats::BootstrapPlan::default()).unwrap();
    close(sampled.standard_error, &expected["se"], 0.03);
}

#[test]
fn warm_up() {
    let vectors = vectors();
    let expected = &vectors["mser5_warmup"];
    let found = stats::mser5(&list(&expected["x"])).unwrap();
    assert_eq!(found.batches_dropped, count(&expected["batches_dropped"]));
    assert_eq!(found.samples_dropped, count(&expected["samples_dropped"]));
    close(found.statistic, &expected["stat"], 1e-9);
    assert!(!found.at_limit);
}

#[test]
fn change_points() {
    let vectors = vectors();
    let expected = &vectors["e_divisive_qhat"];
    let x = list(&expected["x"]);
    let found = stats::split_statistics(&x).unwrap();
    let wanted = expected["q"].as_array().unwrap();
    assert_eq!((found.len(), count(&expected["t_from"])), (wanted.len(), 2));
    for (found, wanted) in found.iter().zip(wanted) {
        close(*found, wanted, 1e-11);
    }
    let best = count(&expected["best_t"]);
    close(found[best - 2], &expected["best_q"], 1e-11);
    let changes = stats::change_points(&x, &stats::ChangePointPlan::default()).unwrap();
    assert_eq!(changes.iter().map(|change| change.index).collect::<Vec<_>>(), [best]);
    let split = stats::welch_test(&x[..best], &x[best..], 0.95).unwrap();
    assert!((split.p_value / number(&expected["welch_p_at_split"]) - 1.0).abs() < 1e-6);
}

/// A group that no test above reads would be a vector that guards nothing.
#[test]
fn every_group_is_tested() {
    let source = include_str!("vectors.rs");
    for (key, _) in entries(&vectors()) {
        let read = source.contains(&format!("[\"{key}\"]"));
        assert!(read || key.starts_with('_'), "{key} is never read");
    }
}
