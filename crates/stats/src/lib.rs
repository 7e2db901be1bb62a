//! Statistics of treering: ratios and shifts with exact intervals, rank tests, corrections for
//! multiple comparisons, equivalence, planning and stopping, series within a run, verdicts. No
//! files, clocks, environment, unseeded randomness, metric names or texts for users
//! (`docs/statistics.md` explains the method in plain words).
//!
//! Data flow: [`pair_rounds`] (failed runs drop their round) → [`compare_paired`] per metric →
//! [`judge_family`] over the report. The working scale is the log ratio: twice and half are equally
//! far from 1.
//!
//! No function panics. Input that is not finite, too short or out of range is rejected with a
//! [`StatsError`]; an undefined estimate is `None`.

mod describe;
mod distribution;
mod error;
mod generator;
mod inference;
mod input;
mod interval;
mod judging;
pub mod layout;
mod quantile;
mod rank;
mod series;

pub use describe::{Description, describe, mean_interval};
pub use error::StatsError;
pub use inference::block_anova::{BlockAnova, block_anova};
pub use inference::bootstrap::{
    BCA_FEWEST_ROUNDS, Bca, Bootstrap, BootstrapPlan, MOST_RESAMPLES, bca_interval,
    bootstrap_rounds, percentile_interval,
};
pub use inference::effect_size::{EffectSize, effect_size};
pub use inference::equivalence::{
    Equivalence, log_margin, tost_paired, tost_rank_sum, tost_signed_rank, tost_welch,
};
pub use inference::friedman::{Friedman, friedman};
pub use inference::hodges_lehmann::{
    FEWEST_ROUNDS, HodgesLehmann, hodges_lehmann, hodges_lehmann_shift,
};
pub use inference::kruskal_wallis::{KruskalWallis, kruskal_wallis};
pub use inference::mann_whitney::{
    MannWhitney, mann_whitney, mann_whitney_normal, mann_whitney_smallest_p,
};
pub use inference::null_counts::{
    MOST_SIGNED_RANKS, RANK_SUM_EXACT_LIMIT, RANK_SUM_TIED_LIMIT, SIGNED_RANK_EXACT_LIMIT,
    rank_sum_counts, signed_rank_probabilities,
};
pub use inference::permutation::{
    ARRANGEMENTS_COUNTED, ARRANGEMENTS_SAMPLED, Permutation, permutation_test, sign_flip_test,
    sign_test,
};
pub use inference::scaling::{FEWEST_SIZES, Scalability, scalability};
pub use inference::signed_rank::{
    SignedRank, signed_rank, signed_rank_at, signed_rank_normal, signed_rank_smallest_p,
};
pub use inference::student::{RatioOfMeans, StudentTest, fieller_ratio, student_test, welch_test};
pub use inference::variance_components::{VarianceComponents, variance_components};
pub use input::{LARGEST_VALUE, SMALLEST_RATIO_VALUE};
pub use interval::{Interval, IntervalMethod, TestMethod};
pub use judging::comparison::{
    ALPHA, Comparison, Design, RoundDrift, Scale, compare_paired, compare_unpaired,
};
pub use judging::confirm::confirm_repetitions;
pub use judging::control::{Control, FalseAlarms, check_control, false_alarms};
pub use judging::decision::{decision_interval, decision_levels};
pub use judging::load_search::{LoadAnswer, LoadProbe, LoadSearch, LoadTerms};
pub use judging::multiplicity::{
    benjamini_hochberg, benjamini_yekutieli, bonferroni, hochberg, holm,
};
pub use judging::power::{
    MOST_ROUNDS, PowerPlan, paired_power, rounds_needed, rounds_needed_for_equivalence,
    smallest_detectable, smallest_rounds, smallest_runs_per_side,
};
pub use judging::rounds::{
    LOG_RATIO_RESOLUTION, PairedRounds, RELATIVE_RESOLUTION, differences, log_ratios, pair_rounds,
};
pub use judging::stopping::{
    BoundaryShape, Look, Progress, RECOMMENDED_LOOK_ALPHA, RECOMMENDED_LOOKS, StoppingDecision,
    StoppingRule, group_sequential,
};
pub use judging::verdict::{
    Criteria, Direction, Finding, Question, Role, THRESHOLD_ERRORS, THRESHOLD_LATENCY_P99,
    THRESHOLD_THROUGHPUT, Verdict, judge, judge_family,
};
pub use quantile::{
    QuantileInterval, SAMPLES_BEYOND_QUANTILE, median, median_interval, quantile,
    quantile_interval, samples_needed_for_quantile,
};
pub use series::aggregate::{
    AggregateRatio, WithinRun, aggregate_ratio, aggregate_ratio_bootstrap, total_rate, within_run,
};
pub use series::autocorrelation::{
    EffectiveSize, autocorrelation, effective_size, von_neumann_ratio,
};
pub use series::block_bootstrap::{
    BlockBootstrap, BlockLength, LONGEST_SERIES, batch_means_interval, block_bootstrap_mean,
    block_length, circular_blocks,
};
pub use series::change_point::{
    ChangePoint, ChangePointPlan, LONGEST_CHANGE_SERIES, change_points, split_statistics,
};
pub use series::heat::{Access, Heat, concentration};
pub use series::knee::{KNEE_FEWEST_POINTS, Knee, knee};
pub use series::level_shift::{
    HistoryPoint, LevelShift, Newest, NoiseShift, SHIFT_PLAN, level_shifts, newest_differs,
    noise_shift, residuals,
};
pub use series::ljung_box::{LjungBox, ljung_box};
pub use series::mann_kendall::{MannKendall, mann_kendall};
pub use series::serial_check::{SerialCheck, serial_check};
pub use series::theil_sen::{TheilSen, theil_sen};
pub use series::warm_up::{WarmUp, mser5};
