//! Sweeps: results of one job or variant over a range of values, as curves and maps. The values of
//! a trial are part of its job or variant name: `randread, iodepth=4, numjobs=2`.
//!
//! Plans define the form of such names. Not here: the layout of pages.

use std::collections::BTreeMap;

use treering_model::metrics::{MetricSpec, age, layout};
use treering_model::{BetterDirection, CellRole, Metric, Scope, Trial, Unit};
use treering_stats::{KNEE_FEWEST_POINTS, Knee, StatsError, knee, mean_interval};

use crate::compare::is_completed;
use crate::scaling::{Scaling, scaling};

const CONFIDENCE: f64 = 0.95;
/// Key of the ages of filesystems, in operations.
pub const AGE_KEY: &str = "age";
/// Metrics of an aged filesystem that are shown over its age beside the primary ones.
const OF_AGES: [MetricSpec; 10] = [
    layout::TRAVERSAL_SCORE_PERCENT,
    layout::ADJACENT_SIBLINGS_PERCENT,
    layout::EXTENTS_PER_FILE,
    layout::MODELLED_READ_SECONDS,
    layout::DIRECTORY_ORDER_PERCENT,
    layout::INODE_DISTANCE_MEDIAN,
    layout::GROUPS_PER_DIRECTORY,
    layout::FREE_EXTENTS,
    layout::FREE_MEAN_BYTES,
    age::AGING_WRITE_AMPLIFICATION,
];
/// Keys that denote concurrency in plans and workloads.
const COUNTS: [&str; 7] =
    ["ranks", "clients", "threads", "workers", "numjobs", "processes", "nthreads"];

/// A metric measured over the values of one or more keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Job name without the swept values.
    pub job: String,
    /// Variant name without the swept values.
    pub variant: String,
    /// Full name of the metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: Unit,
    /// Direction in which the metric is better.
    pub better: BetterDirection,
    /// Swept keys, in plan order.
    pub keys: Vec<String>,
    /// Points ordered by their values, the first key first.
    pub points: Vec<SweepPoint>,
    /// Knees over the first numeric key: of the whole curve, or for each combination of the other
    /// keys.
    pub knees: Vec<SweepKnee>,
    /// Scaling with concurrency, if a key denotes it: of the whole curve, or for each combination
    /// of the other keys.
    pub scalings: Vec<Scaling>,
}

/// Measurement at one combination of values.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// Values, one for each key.
    pub values: Vec<String>,
    /// Geometric mean over the rounds.
    pub mean: f64,
    /// 95 % confidence interval of the mean (Student's t on logarithms); `None` for a single round.
    pub interval: Option<(f64, f64)>,
    /// Number of rounds.
    pub rounds: usize,
}

/// Knee of a curve over the first numeric key.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepKnee {
    /// Key of the curve's axis.
    pub key: String,
    /// Values of the other keys, as `key=value`; empty without other keys.
    pub others: Vec<String>,
    /// Position of the knee; `None` where the curve has none.
    pub knee: Option<Knee>,
}

/// Splits a name into its base and its values by key.
fn split_name(name: &str) -> (String, Vec<(String, String)>) {
    let mut base = name;
    let mut values = Vec::new();
    while let Some((before, last)) = base.rsplit_once(", ") {
        let Some((key, value)) = last.split_once('=') else { break };
        if key.is_empty() || key.contains(' ') {
            break;
        }
        values.push((key.to_owned(), value.to_owned()));
        base = before;
    }
    values.reverse();
    (base.to_owned(), values)
}

/// Parses a number as plans write it: `16`, `4K`, `1.5`, `1GiB`.
fn number(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1_048_576.0,
        "g" | "gib" => 1_073_741_824.0,
        "t" | "tib" => 1_099_511_627_776.0,
        _ => return None,
    };
    digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * factor)
}

/// Values by round; for a cell that ran twice, the value of its last trial.
type RoundValues = BTreeMap<u32, f64>;
/// Values of the other keys, and the curve's points with their rounds.
type CurvePoints<'p> = (Vec<String>, Vec<(f64, &'p RoundValues)>);

/// A metric of one job on one variant, collected over all swept values.
struct GatheredSweep {
    sweep: Sweep,
    points: Vec<(Vec<String>, RoundValues)>,
}

/// Sweeps among the trials of one campaign, for the named metric or for the primary metrics.
///
/// # Errors
/// If a metric has a value that is invalid for the statistics.
pub fn sweeps(trials: &[Trial], metric: Option<&str>) -> Result<Vec<Sweep>, StatsError> {
    let mut gathered: Vec<GatheredSweep> = Vec::new();
    for trial in trials.iter().filter(|trial| is_completed(trial) && trial.exclusion().is_none()) {
        let cell = trial.beginning.cell.as_ref().filter(|cell| cell.role == CellRole::Round);
        let Some(cell) = cell else { continue };
        let (job, of_job) = split_name(&cell.job);
        let (variant, of_variant) = split_name(&cell.variant);
        let values = [of_variant, of_job].concat();
        if values.is_empty() {
            continue;
        }
        // The primary metrics come first.
        let (primary, others): (Vec<&Metric>, Vec<&Metric>) =
            trial.metrics.iter().partition(|metric| metric.primary);
        for metric_value in primary.into_iter().chain(others) {
            let name = metric_value.scope.metric_name(&metric_value.name);
            let is_of_age = values.iter().any(|(key, _)| key == AGE_KEY)
                && metric_value.scope == Scope::Trial
                && OF_AGES.iter().any(|spec| spec.name == metric_value.name);
            let is_wanted =
                metric.map_or(metric_value.primary || is_of_age, |metric| metric == name);
            if !is_wanted || metric_value.value <= 0.0 {
                continue;
            }
            let sweep = Sweep {
                job: job.clone(),
                variant: variant.clone(),
                metric: name,
                unit: metric_value.unit,
                better: metric_value.better,
                keys: values.iter().map(|(key, _)| key.clone()).collect(),
                points: Vec::new(),
                knees: Vec::new(),
                scalings: Vec::new(),
            };
            let values = values.iter().map(|(_, value)| value.clone()).collect();
            add(&mut gathered, sweep, values, cell.round, metric_value.value);
        }
    }
    let is_one = |metric_value: &GatheredSweep| metric_value.points.len() > 1;
    gathered.into_iter().filter(is_one).map(judged).collect()
}

fn add(sweeps: &mut Vec<GatheredSweep>, sweep: Sweep, values: Vec<String>, round: u32, value: f64) {
    let at = sweeps.iter().position(|gathered| gathered.sweep == sweep).unwrap_or_else(|| {
        sweeps.push(GatheredSweep { sweep, points: Vec::new() });
        sweeps.len() - 1
    });
    let points = &mut sweeps[at].points;
    match points.iter_mut().find(|(known, _)| *known == values) {
        Some((_, rounds)) => {
            rounds.insert(round, value.ln());
        }
        None => points.push((values, RoundValues::from([(round, value.ln())]))),
    }
}

fn judged(gathered: GatheredSweep) -> Result<Sweep, StatsError> {
    let GatheredSweep { mut sweep, mut points } = gathered;
    points.sort_by(|(left, _), (right, _)| in_order(left, right));
    for (values, rounds) in &points {
        let logs: Vec<f64> = rounds.values().copied().collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let interval = mean_interval(&logs, CONFIDENCE)?;
        sweep.points.push(SweepPoint {
            values: values.clone(),
            mean: mean.exp(),
            interval: interval
                .map(|log_interval| (log_interval.low.exp(), log_interval.high.exp())),
            rounds: logs.len(),
        });
    }
    sweep.knees = knees(&sweep.keys, &points);
    if sweep.better == BetterDirection::Higher && is_rate(sweep.unit) {
        sweep.scalings = scalings(&sweep.keys, &points)?;
    }
    Ok(sweep)
}

/// Orders numbers by value, and other words as text.
fn in_order(left: &[String], right: &[String]) -> std::cmp::Ordering {
    let pairs = left.iter().zip(right).map(|(left, right)| match (number(left), number(right)) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        _ => left.cmp(right),
    });
    pairs.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
}

/// Finds the knees over the first key that has enough positive numbers.
fn knees(keys: &[String], points: &[(Vec<String>, RoundValues)]) -> Vec<SweepKnee> {
    let is_numeric = |key: &usize| {
        let values = points.iter().map(|(values, _)| number(&values[*key]));
        values.into_iter().all(|value| value.is_some_and(|value| value > 0.0))
    };
    let enough = |key: &usize| {
        let mut values: Vec<&str> =
            points.iter().map(|(values, _)| values[*key].as_str()).collect();
        values.sort_unstable();
        values.dedup();
        values.len() >= KNEE_FEWEST_POINTS
    };
    let Some(key) = (0..keys.len()).find(|key| is_numeric(key) && enough(key)) else {
        return Vec::new();
    };
    let of_curve = |(others, curve): CurvePoints<'_>| {
        let at: Vec<f64> = curve.iter().map(|(at, _)| *at).collect();
        // Use only rounds that have every point.
        let first = curve.first().map(|(_, rounds)| rounds.keys().copied().collect::<Vec<_>>());
        let whole = first.into_iter().flatten().filter_map(|round| {
            curve
                .iter()
                .map(|(_, rounds)| rounds.get(&round).copied())
                .collect::<Option<Vec<f64>>>()
        });
        let whole: Vec<Vec<f64>> = whole.collect();
        SweepKnee { key: keys[key].clone(), others, knee: knee(&at, &whole).ok().flatten() }
    };
    curves(keys, points, key).into_iter().map(of_curve).collect()
}

/// Curves over a key, in ascending order of the key, for each combination of the other keys.
fn curves<'p>(
    keys: &[String],
    points: &'p [(Vec<String>, RoundValues)],
    key: usize,
) -> Vec<CurvePoints<'p>> {
    let mut curves: Vec<CurvePoints<'_>> = Vec::new();
    for (values, rounds) in points {
        let others = keys.iter().zip(values).enumerate().filter(|(at, _)| *at != key);
        let others: Vec<String> =
            others.map(|(_, (key, value))| format!("{key}={value}")).collect();
        let point = (number(&values[key]).unwrap_or_default(), rounds);
        match curves.iter_mut().find(|(known, _)| *known == others) {
            Some((_, curve)) => curve.push(point),
            None => curves.push((others, vec![point])),
        }
    }
    for (_, curve) in &mut curves {
        curve.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    }
    curves
}

/// Reports whether a unit is work per time.
fn is_rate(unit: Unit) -> bool {
    matches!(unit, Unit::MibPerSecond | Unit::FilesPerSecond | Unit::OpsPerSecond)
}

/// Computes the scalings over the first key that denotes concurrency.
fn scalings(
    keys: &[String],
    points: &[(Vec<String>, RoundValues)],
) -> Result<Vec<Scaling>, StatsError> {
    let counts = |key: &usize| {
        COUNTS.contains(&keys[*key].as_str())
            && points
                .iter()
                .all(|(values, _)| values[*key].parse::<u32>().is_ok_and(|count| count > 0))
    };
    let Some(key) = (0..keys.len()).find(counts) else { return Ok(Vec::new()) };
    let curves_over_key =
        curves(keys, points, key).into_iter().filter(|(_, curve)| curve.len() > 1);
    curves_over_key.map(|(others, curve)| scaling(keys[key].clone(), others, &curve)).collect()
}

#[cfg(test)]
mod tests {
    use treering_model::{
        Cell, CellRole, Ending, Metric, RunMode, Scope, Trial, TrialHeader, TrialId,
    };

    use super::{number, split_name, sweeps};
    use treering_model::{BetterDirection, Unit};

    #[test]
    fn numeric_values_are_split_from_their_suffix() {
        let (base, values) = split_name("read, hot, iodepth=4, bs=4K");
        assert_eq!(base, "read, hot");
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(values, [pair("iodepth", "4"), pair("bs", "4K")]);
        assert!(split_name("plain").1.is_empty());
        assert_eq!((number("4K"), number("1.5"), number("none")), (Some(4096.0), Some(1.5), None));
    }

    fn trial(job: &str, round: u32, value: f64) -> Trial {
        let id = TrialId::new();
        let cell = Cell {
            campaign: id,
            plan: "p".to_owned(),
            digest: String::new(),
            variant: "ext4".to_owned(),
            job: job.to_owned(),
            round,
            role: CellRole::Round,
        };
        Trial {
            metrics: vec![Metric {
                primary: true,
                ..Metric::new("speed", Scope::Trial, value, Unit::Count, BetterDirection::Higher)
            }],
            ending: Ending::Completed,
            ..Trial::new(TrialHeader {
                cell: Some(cell),
                ..TrialHeader::new(id, "fio", RunMode::Native)
            })
        }
    }

    #[test]
    fn a_curve_that_saturates_has_its_knee_and_its_intervals() {
        let depths = [1, 2, 4, 8, 16, 32, 64];
        let speed = |depth: i32, round: u32| {
            f64::from(depth.min(8))
                * (1.0 + f64::from((round * 7 + depth.unsigned_abs()) % 5) / 200.0)
        };
        let trials: Vec<Trial> = depths
            .iter()
            .rev()
            .flat_map(|depth| {
                (1..=5).map(move |round| {
                    trial(&format!("read, iodepth={depth}"), round, speed(*depth, round))
                })
            })
            .collect();
        let gathered = sweeps(&trials, None).unwrap();
        assert_eq!(gathered.len(), 1);
        let values: Vec<&str> =
            gathered[0].points.iter().map(|point| point.values[0].as_str()).collect();
        assert_eq!(values, ["1", "2", "4", "8", "16", "32", "64"]);
        assert!(
            gathered[0].points.iter().all(|point| point.rounds == 5 && point.interval.is_some())
        );
        let knee = gathered[0].knees[0].knee.unwrap();
        assert!((knee.at / 8.0).ln().abs() < 0.15, "{knee:?}");
        assert!(sweeps(&trials, Some("other")).unwrap().is_empty());
    }
}
