//! Results of fio and of treering side by side: work, requests, rates.

use std::collections::BTreeMap;
use std::fmt::Display;

use treering_model::{Metric, Scope, Trial, Unit};
use treering_stats::student_test;

use crate::table::RowField;
use crate::{Cell, Column, Report, Table};

/// Confidence level of the test for a difference of rates.
const CONFIDENCE: f64 = 0.95;
/// Relative difference of rates below which they count as the same.
const RATE_SLACK: f64 = 0.05;

/// Trial of a turn, with the work of its jobs.
pub struct CheckedTrial {
    /// Trial of the turn.
    pub trial: Trial,
    /// Bytes and requests of each job.
    pub work: JobWork,
}

/// Turn with a trial of treering and one of fio.
pub struct CheckTurn {
    /// Trial of treering.
    pub ours: CheckedTrial,
    /// Trial of fio.
    pub theirs: CheckedTrial,
}

/// Comparison of the request sequences of a job.
pub struct SequenceComparison {
    name: String,
    compared: usize,
    verdict: Verdict,
}

/// Result of one comparison.
#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    Same,
    /// No difference beyond the noise.
    WithinNoise,
    /// The two differ; holds a description of the difference.
    Differ(String),
    /// The two were not compared; holds the reason.
    NotCompared(&'static str),
}

impl Verdict {
    fn cell(&self) -> Cell {
        Cell::text(match self {
            Self::Same => "same".to_owned(),
            Self::WithinNoise => "within noise".to_owned(),
            Self::Differ(how) => format!("differ: {how}"),
            Self::NotCompared(why) => format!("not compared: {why}"),
        })
    }
}

impl SequenceComparison {
    /// Compares the requests of a job. `differs` is the reason if they cannot be equal.
    pub fn new<R: PartialEq + Display>(
        name: String,
        differs: Option<&'static str>,
        ours: &[R],
        theirs: &[R],
    ) -> Self {
        let pairs = ours.iter().zip(theirs).enumerate();
        let first = pairs.clone().find(|(_, (ours, theirs))| ours != theirs);
        let verdict = match (differs, first) {
            (Some(why), _) => Verdict::NotCompared(why),
            _ if theirs.is_empty() => Verdict::NotCompared("fio logged none"),
            (None, Some((number, (ours, theirs)))) => {
                let number = number + 1;
                Verdict::Differ(format!("no. {number}: fio {theirs}, treering {ours}"))
            }
            (None, None) if ours.len() < theirs.len() => {
                Verdict::Differ(format!("treering ends after {}, fio goes on", ours.len()))
            }
            (None, None) => Verdict::Same,
        };
        Self { name, compared: ours.len().min(theirs.len()), verdict }
    }
}

/// Bytes and requests of a job's clones, by job name and direction.
type JobWork = BTreeMap<(String, &'static str), [u64; 2]>;

struct WorkComparison {
    what: (String, &'static str),
    /// Bytes and requests of the last turn: fio's, then treering's.
    both: [[u64; 2]; 2],
    verdict: Verdict,
}

struct RateComparison {
    what: String,
    /// Rates in MiB/s of each turn: fio's, then treering's.
    both: Vec<[f64; 2]>,
    /// Ratio of treering's rate to fio's.
    ratio: f64,
    extremes: [f64; 2],
    verdict: Verdict,
}

/// Results of every comparison of the check.
pub struct FioComparison {
    work: Vec<WorkComparison>,
    sequences: Vec<SequenceComparison>,
    rates: Vec<RateComparison>,
    fio: String,
    turns: usize,
}

impl FioComparison {
    /// Compares the turns.
    pub fn new(turns: &[CheckTurn], sequences: Vec<SequenceComparison>) -> Self {
        let fio = turns.first().and_then(|turn| {
            let mut facts = turn.theirs.trial.facts.iter();
            facts.find(|fact| fact.name == "fio.version").map(|fact| fact.value.clone())
        });
        let fio = fio.unwrap_or_default();
        let rates = rated(turns);
        Self { work: worked(turns), sequences, rates, fio, turns: turns.len() }
    }

    /// True if no comparison shows a difference.
    pub fn agree(&self) -> bool {
        let work = self.work.iter().map(|one| &one.verdict);
        let sequences = self.sequences.iter().map(|one| &one.verdict);
        let rates = self.rates.iter().map(|one| &one.verdict);
        !work.chain(sequences).chain(rates).any(|verdict| matches!(verdict, Verdict::Differ(_)))
    }

    /// Formats the results as a page.
    pub fn page(&self) -> Report {
        let mut page = Report::new("fio and treering");
        page.paragraph(if self.agree() { "They agree." } else { "They differ." });
        page.table(self.work_table());
        page.table(self.sequence_table());
        page.table(self.rate_table());
        page.note(format!(
            "{} turns with fio {}. The requests are those of each job's first clone. Rates differ \
             where the mean of the ratios' logarithms is not that of equal rates, at {} % \
             confidence (Student's t), and by more than {} %.",
            self.turns,
            self.fio,
            CONFIDENCE * 100.0,
            RATE_SLACK * 100.0
        ));
        page
    }

    fn work_table(&self) -> Table {
        let rows = self.work.iter().map(|compared| {
            let WorkComparison { what: (job, way), both: [theirs, ours], verdict } = compared;
            vec![
                RowField::text("job", format!("{job} {way}")),
                RowField::count("fio: requests", theirs[1]),
                RowField::bytes("fio: bytes", theirs[0]),
                RowField::count("treering: requests", ours[1]),
                RowField::bytes("treering: bytes", ours[0]),
                RowField::new(Column::long_text("work"), verdict.cell()),
            ]
        });
        Table::from_rows("work", "What was done, in the last turn", rows)
    }

    fn sequence_table(&self) -> Table {
        let rows = self.sequences.iter().map(|SequenceComparison { name, compared, verdict }| {
            vec![
                RowField::text("job", name),
                RowField::count("compared", *compared as u64),
                RowField::new(Column::long_text("requests"), verdict.cell()),
            ]
        });
        let caption = "Files, places and lengths of the requests in their order";
        Table::from_rows("requests", caption, rows)
    }

    fn rate_table(&self) -> Table {
        let rows = self.rates.iter().map(|compared| {
            let RateComparison { what, both, ratio, extremes: [least, most], verdict } = compared;
            let side = |side: usize| geometric_mean(both.iter().map(|turn| turn[side]));
            vec![
                RowField::text("job", what),
                RowField::number("fio", Unit::MibPerSecond, side(0)),
                RowField::number("treering", Unit::MibPerSecond, side(1)),
                RowField::number("treering/fio", Unit::Count, *ratio),
                RowField::number("least", Unit::Count, *least),
                RowField::number("most", Unit::Count, *most),
                RowField::new(Column::long_text("rate"), verdict.cell()),
            ]
        });
        Table::from_rows("rates", "How fast it was, means of the turns", rows)
    }
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp()
}

/// Compares the work of each job. Fixed work must be the same in every turn; jobs with a time limit
/// are compared only by their rates.
fn worked(turns: &[CheckTurn]) -> Vec<WorkComparison> {
    let pairs: Vec<[&JobWork; 2]> =
        turns.iter().map(|turn| [&turn.theirs.work, &turn.ours.work]).collect();
    let Some(last) = pairs.last() else { return Vec::new() };
    let mut names: Vec<_> = last.iter().flat_map(|work| work.keys()).cloned().collect();
    names.sort();
    names.dedup();
    let side =
        |work: &JobWork, what: &(String, &'static str)| work.get(what).copied().unwrap_or_default();
    let one = |what: (String, &'static str)| {
        let both = last.map(|work| side(work, &what));
        let all = pairs.iter().map(|pair| pair.map(|work| side(work, &what)));
        let other = all.clone().find(|[theirs, ours]| theirs != ours);
        let verdict = match other {
            None => Verdict::Same,
            Some(_) if is_timed(&turns[0].ours.trial, &what.0) => {
                Verdict::NotCompared("it has a time")
            }
            Some([theirs, ours]) => Verdict::Differ(format!(
                "fio {} requests, {} bytes; treering {}, {}",
                theirs[1], theirs[0], ours[1], ours[0]
            )),
        };
        WorkComparison { what, both, verdict }
    };
    names.into_iter().map(one).collect()
}

/// True if a job has a time limit.
fn is_timed(trial: &Trial, job: &str) -> bool {
    let parameters = &trial.beginning.parameters;
    let named = parameters.iter().filter(|(_, value)| value == job);
    let mut runtimes = named.filter_map(|(name, _)| {
        let number = name.strip_prefix("jobfile.")?.strip_suffix(".name")?;
        let runtime = format!("jobfile.{number}.runtime");
        parameters.iter().find(|(name, _)| *name == runtime)
    });
    runtimes.any(|(_, value)| value != "0us")
}

/// Primary metrics of a trial, which are its rates.
fn rates(trial: &Trial) -> impl Iterator<Item = &Metric> {
    trial.metrics.iter().filter(|metric| metric.primary)
}

fn rated(turns: &[CheckTurn]) -> Vec<RateComparison> {
    let mut all: BTreeMap<(String, String), Vec<[f64; 2]>> = BTreeMap::new();
    for turn in turns {
        for theirs in rates(&turn.theirs.trial) {
            let same = rates(&turn.ours.trial)
                .find(|ours| ours.name == theirs.name && ours.scope == theirs.scope);
            let Scope::Kind(job) = &theirs.scope else { continue };
            let way = theirs.name.split('_').next().unwrap_or_default().to_owned();
            if let Some(ours) = same.filter(|ours| ours.value > 0.0 && theirs.value > 0.0) {
                all.entry((job.clone(), way)).or_default().push([theirs.value, ours.value]);
            }
        }
    }
    all.into_iter().map(|((job, way), both)| rated_one(format!("{job} {way}"), both)).collect()
}

fn rated_one(what: String, both: Vec<[f64; 2]>) -> RateComparison {
    let logarithms: Vec<f64> = both.iter().map(|[theirs, ours]| (ours / theirs).ln()).collect();
    let ratio = geometric_mean(both.iter().map(|[theirs, ours]| ours / theirs));
    let of =
        |pick: fn(f64, f64) -> f64, first: f64| logarithms.iter().copied().fold(first, pick).exp();
    let extremes = [of(f64::min, f64::INFINITY), of(f64::max, f64::NEG_INFINITY)];
    let is_large = (ratio - 1.0).abs() > RATE_SLACK;
    let verdict = match student_test(&logarithms, CONFIDENCE) {
        Err(_) if logarithms.len() < 2 => Verdict::NotCompared("one turn only"),
        Ok(test) if test.p_value <= 1.0 - CONFIDENCE && is_large => {
            let word = if ratio > 1.0 { "faster" } else { "slower" };
            Verdict::Differ(format!("treering is {word}"))
        }
        Err(_) if is_large => Verdict::Differ("without any spread".to_owned()),
        _ => Verdict::WithinNoise,
    };
    RateComparison { what, both, ratio, extremes, verdict }
}

#[cfg(test)]
mod tests {
    use super::{SequenceComparison, Verdict, rated_one};

    #[test]
    fn requests_differ_where_the_first_one_does() {
        let of = |differs, ours: &[u64], theirs: &[u64]| {
            SequenceComparison::new("a".to_owned(), differs, ours, theirs).verdict
        };
        assert_eq!(of(None, &[0, 1], &[0]), Verdict::Same);
        let how = "no. 2: fio 2, treering 1";
        assert_eq!(of(None, &[0, 1], &[0, 2]), Verdict::Differ(how.to_owned()));
        assert!(matches!(of(None, &[0], &[0, 1]), Verdict::Differ(_)));
        assert_eq!(of(None, &[0], &[]), Verdict::NotCompared("fio logged none"));
        assert_eq!(of(Some("why"), &[0], &[1]), Verdict::NotCompared("why"));
    }

    #[test]
    fn rates_differ_beyond_their_noise_and_by_enough() {
        let verdict = |all: &[[f64; 2]]| rated_one(String::new(), all.to_vec()).verdict;
        assert_eq!(verdict(&[[100.0, 120.0], [110.0, 90.0], [95.0, 99.0]]), Verdict::WithinNoise);
        assert!(matches!(
            verdict(&[[100.0, 151.0], [100.0, 149.0], [100.0, 150.0]]),
            Verdict::Differ(_)
        ));
        assert_eq!(
            verdict(&[[100.0, 102.1], [100.0, 102.0], [100.0, 102.1]]),
            Verdict::WithinNoise
        );
        assert_eq!(verdict(&[[100.0, 200.0]]), Verdict::NotCompared("one turn only"));
        let rated = rated_one(String::new(), vec![[2.0, 1.0], [1.0, 2.0]]);
        assert!((rated.ratio - 1.0).abs() < 1e-9);
        assert!((rated.extremes[0] - 0.5).abs() < 1e-9 && (rated.extremes[1] - 2.0).abs() < 1e-9);
    }
}
