//! Statistics of treering: ratios and shifts with exact intervals, rank tests, corrections for
//! multiple comparisons, planning and stopping, series within a run, verdicts. `docs/statistics.md`
//! explains the method in plain words. Not here: files, clocks, environment, unseeded randomness,
//! metric names, and texts for users.
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

pub use describe::{SeriesDescription, describe, mean_interval};
pub use error::StatsError;
pub use inference::fisher::fisher_exact;
pub use inference::hodges_lehmann::{
    FEWEST_ROUNDS, HodgesLehmann, hodges_lehmann, hodges_lehmann_shift,
};
pub use inference::mann_whitney::{
    MannWhitney, mann_whitney, mann_whitney_normal, mann_whitney_smallest_p,
};
pub use inference::null_counts::{
    MOST_SIGNED_RANKS, RANK_SUM_EXACT_LIMIT, RANK_SUM_TIED_LIMIT, SIGNED_RANK_EXACT_LIMIT,
    rank_sum_counts, signed_rank_probabilities,
};
pub use inference::scaling::{FEWEST_SIZES, Scalability, paired_scalability};
pub use inference::signed_rank::{
    SignedRank, signed_rank, signed_rank_at, signed_rank_normal, signed_rank_smallest_p,
};
pub use inference::student::{StudentTest, student_test};
pub use input::{LARGEST_VALUE, SMALLEST_RATIO_VALUE};
pub use interval::{Interval, IntervalMethod, TestMethod};
pub use judging::comparison::{
    ALPHA, Comparison, RoundDrift, RunPairing, Scale, compare_paired, compare_unpaired,
};
pub use judging::control::{ControlResult, check_control};
pub use judging::decision::{decision_interval, decision_levels};
pub use judging::load_search::{LoadAnswer, LoadProbe, LoadSearch, LoadTerms};
pub use judging::multiplicity::{benjamini_hochberg, holm};
pub use judging::power::{
    MOST_ROUNDS, PowerPlan, paired_power, rounds_needed, smallest_detectable, smallest_rounds,
    smallest_runs_per_side,
};
pub use judging::rounds::{
    LOG_RATIO_RESOLUTION, PairedRounds, RELATIVE_RESOLUTION, differences, pair_rounds,
};
pub use judging::stopping::{
    BoundaryShape, CampaignProgress, PlannedLook, RECOMMENDED_LOOK_ALPHA, RECOMMENDED_LOOKS,
    StoppingDecision, StoppingRule, group_sequential, level_of_next_look,
};
pub use judging::tails::TailComparison;
pub use judging::verdict::{
    ComparisonQuestion, CorrectionRole, Criteria, Direction, Finding, THRESHOLD_ERRORS,
    THRESHOLD_LATENCY_P99, THRESHOLD_THROUGHPUT, Verdict, judge, judge_family,
};
pub use quantile::{median, quantile};
pub use series::autocorrelation::autocorrelation;
pub use series::change_point::{
    ChangePoint, ChangePointPlan, LONGEST_CHANGE_SERIES, change_points, split_statistics,
};
pub use series::heat::{Access, HeatStatistics, concentration};
pub use series::knee::{KNEE_FEWEST_POINTS, Knee, knee};
pub use series::lasting_trend::{LastingTrend, lasting_trend};
pub use series::level_shift::{
    HistoryPoint, LevelShift, NOISE_PLAN, NewestPoint, NoiseShift, SHIFT_PLAN, ShiftPlan, count_at,
    count_scale, history_memory, level_shifts, newest_differs, noise_shift, points_to_decide,
};
pub use series::ljung_box::{LjungBox, ljung_box};
pub use series::mann_kendall::{MannKendall, mann_kendall};
pub use series::noise::SeriesMemory;
pub use series::serial_check::{SerialCheck, serial_check};
pub use series::settle::RoundsNeeded;
pub use series::theil_sen::{TheilSen, theil_sen};
