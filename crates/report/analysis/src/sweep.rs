//! Sweeps: the same job or variant with other values, as curves and maps. A name tells where a
//! trial stands: `randread, iodepth=4, numjobs=2`.
//!
//! How such names are made is the business of plans; nothing is laid out here.

use std::collections::BTreeMap;

use treering_model::{Better, CellRole, Trial, Unit};
use treering_stats::{KNEE_FEWEST_POINTS, Knee, StatsError, knee, mean_interval};

use crate::compare::is_completed;
use crate::scaling::{Scaling, scaling};

const CONFIDENCE: f64 = 0.95;
/// Keys that say how many work at once, as plans and workloads call them.
const COUNTS: [&str; 7] =
    ["ranks", "clients", "threads", "workers", "numjobs", "processes", "nthreads"];

/// What was measured over the values of one or several keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The job without its values.
    pub job: String,
    /// The variant without its values.
    pub variant: String,
    /// The full name of the metric.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Its better direction.
    pub better: Better,
    /// The keys that were swept over, as the plan has them.
    pub keys: Vec<String>,
    /// The points in the order of their values, the first key first.
    pub points: Vec<SweepPoint>,
    /// The knees, where one key has numbers: of the whole curve, or for each value of the other
    /// keys.
    pub knees: Vec<SweepKnee>,
    /// How throughput grows with the number of those who work at once, where a key counts them: of
    /// the whole curve, or for each value of the other keys.
    pub scalings: Vec<Scaling>,
}

/// One combination of values.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// The values, one for each key.
    pub values: Vec<String>,
    /// The geometric mean of the rounds.
    pub mean: f64,
    /// Its 95 % interval (Student's t on logarithms); `None` for a single round.
    pub interval: Option<(f64, f64)>,
    /// How many rounds there are.
    pub rounds: usize,
}

/// The knee of a curve over the first key that has numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepKnee {
    /// The key.
    pub key: String,
    /// The values of the other keys, as `key=value`; empty without others.
    pub others: Vec<String>,
    /// Where it is; `None` where the curve has none.
    pub knee: Option<Knee>,
}

/// A name without its values, and the values by their keys.
fn taken_apart(name: &str) -> (String, Vec<(String, String)>) {
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

/// A number as plans write it: `16`, `4K`, `1.5`, `1GiB`.
fn number(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|one: char| one.is_ascii_alphabetic());
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

/// What the rounds measured, by round; a cell that ran twice counts with its last trial.
type Rounds = BTreeMap<u32, f64>;
/// The values of the other keys, and the points of a curve with their rounds.
type CurvePoints<'p> = (Vec<String>, Vec<(f64, &'p Rounds)>);

/// A metric of one job on one variant over all values.
struct Gathered {
    sweep: Sweep,
    points: Vec<(Vec<String>, Rounds)>,
}

/// The sweeps among the trials of one campaign: of this metric, or of those that decide.
///
/// # Errors
/// When a metric has a value that cannot be treated.
pub fn sweeps(trials: &[Trial], metric: Option<&str>) -> Result<Vec<Sweep>, StatsError> {
    let mut all: Vec<Gathered> = Vec::new();
    for trial in trials.iter().filter(|trial| is_completed(trial) && trial.exclusion().is_none()) {
        let cell = trial.beginning.cell.as_ref().filter(|cell| cell.role == CellRole::Round);
        let Some(cell) = cell else { continue };
        let (job, of_job) = taken_apart(&cell.job);
        let (variant, of_variant) = taken_apart(&cell.variant);
        let values = [of_variant, of_job].concat();
        if values.is_empty() {
            continue;
        }
        for one in &trial.metrics {
            let name = one.scope.metric_name(&one.name);
            let is_wanted = metric.map_or(one.primary, |metric| metric == name);
            if !is_wanted || one.value <= 0.0 {
                continue;
            }
            let sweep = Sweep {
                job: job.clone(),
                variant: variant.clone(),
                metric: name,
                unit: one.unit,
                better: one.better,
                keys: values.iter().map(|(key, _)| key.clone()).collect(),
                points: Vec::new(),
                knees: Vec::new(),
                scalings: Vec::new(),
            };
            let values = values.iter().map(|(_, value)| value.clone()).collect();
            add(&mut all, sweep, values, cell.round, one.value);
        }
    }
    let is_one = |one: &Gathered| one.points.len() > 1;
    all.into_iter().filter(is_one).map(judged).collect()
}

fn add(all: &mut Vec<Gathered>, sweep: Sweep, values: Vec<String>, round: u32, value: f64) {
    let at = all.iter().position(|one| one.sweep == sweep).unwrap_or_else(|| {
        all.push(Gathered { sweep, points: Vec::new() });
        all.len() - 1
    });
    let points = &mut all[at].points;
    match points.iter_mut().find(|(known, _)| *known == values) {
        Some((_, rounds)) => {
            rounds.insert(round, value.ln());
        }
        None => points.push((values, Rounds::from([(round, value.ln())]))),
    }
}

fn judged(gathered: Gathered) -> Result<Sweep, StatsError> {
    let Gathered { mut sweep, mut points } = gathered;
    points.sort_by(|(one, _), (other, _)| in_order(one, other));
    for (values, rounds) in &points {
        let logs: Vec<f64> = rounds.values().copied().collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let interval = mean_interval(&logs, CONFIDENCE)?;
        sweep.points.push(SweepPoint {
            values: values.clone(),
            mean: mean.exp(),
            interval: interval.map(|it| (it.low.exp(), it.high.exp())),
            rounds: logs.len(),
        });
    }
    sweep.knees = knees(&sweep.keys, &points);
    if sweep.better == Better::Higher && is_rate(sweep.unit) {
        sweep.scalings = scalings(&sweep.keys, &points)?;
    }
    Ok(sweep)
}

/// Numbers by their size, other words as they are.
fn in_order(one: &[String], other: &[String]) -> std::cmp::Ordering {
    let pairs = one.iter().zip(other).map(|(one, other)| match (number(one), number(other)) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => one.cmp(other),
    });
    pairs.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
}

/// The knees over the first key that has enough numbers above zero.
fn knees(keys: &[String], points: &[(Vec<String>, Rounds)]) -> Vec<SweepKnee> {
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
        // Only rounds that have every point.
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

/// The curves over a key, one for each value of the others, in the order of its numbers.
fn curves<'p>(
    keys: &[String],
    points: &'p [(Vec<String>, Rounds)],
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
        curve.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    }
    curves
}

/// Whether a unit is of work in a time.
fn is_rate(unit: Unit) -> bool {
    matches!(unit, Unit::MibPerSecond | Unit::FilesPerSecond | Unit::OpsPerSecond)
}

/// The scalings over the first key that counts those who work at once.
fn scalings(keys: &[String], points: &[(Vec<String>, Rounds)]) -> Result<Vec<Scaling>, StatsError> {
    let counts = |key: &usize| {
        COUNTS.contains(&keys[*key].as_str())
            && points.iter().all(|(values, _)| values[*key].parse::<u32>().is_ok_and(|it| it > 0))
    };
    let Some(key) = (0..keys.len()).find(counts) else { return Ok(Vec::new()) };
    let all = curves(keys, points, key).into_iter().filter(|(_, curve)| curve.len() > 1);
    all.map(|(others, curve)| scaling(keys[key].clone(), others, &curve)).collect()
}

#[cfg(test)]
mod tests {
    use treering_model::{Beginning, Cell, CellRole, Ending, Metric, Mode, Scope, Trial, TrialId};

    use super::{number, sweeps, taken_apart};
    use treering_model::{Better, Unit};

    #[test]
    fn names_and_values_are_taken_apart() {
        let (base, values) = taken_apart("read, hot, iodepth=4, bs=4K");
        assert_eq!(base, "read, hot");
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(values, [pair("iodepth", "4"), pair("bs", "4K")]);
        assert!(taken_apart("plain").1.is_empty());
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
                ..Metric::new("speed", Scope::Trial, value, Unit::Count, Better::Higher)
            }],
            ending: Ending::Completed,
            ..Trial::new(Beginning { cell: Some(cell), ..Beginning::new(id, "fio", Mode::Native) })
        }
    }

    #[test]
    fn a_curve_that_saturates_has_its_knee_and_its_intervals() {
        let depths = [1, 2, 4, 8, 16, 32, 64];
        let speed = |depth: i32, round: u32| {
            f64::from(depth.min(8))
                * (1.0 + f64::from((round * 7 + depth.unsigned_abs()) % 5) / 200.0)
        };
        let all: Vec<Trial> = depths
            .iter()
            .rev()
            .flat_map(|depth| {
                (1..=5).map(move |round| {
                    trial(&format!("read, iodepth={depth}"), round, speed(*depth, round))
                })
            })
            .collect();
        let found = sweeps(&all, None).unwrap();
        assert_eq!(found.len(), 1);
        let values: Vec<&str> =
            found[0].points.iter().map(|point| point.values[0].as_str()).collect();
        assert_eq!(values, ["1", "2", "4", "8", "16", "32", "64"]);
        assert!(found[0].points.iter().all(|point| point.rounds == 5 && point.interval.is_some()));
        let knee = found[0].knees[0].knee.unwrap();
        assert!((knee.at / 8.0).ln().abs() < 0.15, "{knee:?}");
        assert!(sweeps(&all, Some("other")).unwrap().is_empty());
    }
}
