//! Results of fio and of treering side by side: work, requests, rates.

use std::collections::BTreeMap;

use treering_fio::check::{Logged, Moved, done};
use treering_model::{Scope, Trial, Unit};
use treering_report::{Cell, Column, Report, Table};
use treering_stats::student_test;

/// Confidence level of the test for a difference of rates.
const CONFIDENCE: f64 = 0.95;
/// Relative difference of rates below which they count as the same.
const RATE_SLACK: f64 = 0.05;

/// A turn: the trials of treering and of fio.
pub(super) struct Turn {
    pub(super) ours: Trial,
    pub(super) theirs: Trial,
}

/// Comparison of the request sequences of a job.
pub(super) struct Sequence {
    name: String,
    compared: usize,
    verdict: Verdict,
}

/// Result of one comparison.
#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    Same,
    /// No difference is seen beyond the noise.
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

impl Sequence {
    pub(super) fn new(job: Logged, ours: &[Moved], theirs: &[Moved]) -> Self {
        let pairs = ours.iter().zip(theirs).enumerate();
        let first = pairs.clone().find(|(_, (ours, theirs))| ours != theirs);
        let verdict = match (job.differs, first) {
            (Some(why), _) => Verdict::NotCompared(why),
            _ if theirs.is_empty() => Verdict::NotCompared("fio logged none"),
            (None, Some((number, (ours, theirs)))) => {
                let number = number + 1;
                Verdict::Differ(format!(
                    "no. {number}: fio {}, treering {}",
                    one(theirs),
                    one(ours)
                ))
            }
            (None, None) if ours.len() < theirs.len() => {
                Verdict::Differ(format!("treering ends after {}, fio goes on", ours.len()))
            }
            (None, None) => Verdict::Same,
        };
        Self { name: job.name, compared: ours.len().min(theirs.len()), verdict }
    }
}

fn one(request: &Moved) -> String {
    let Moved { file, writes, offset, bytes } = request;
    format!("{} {bytes} at {offset} of {file}", if *writes { "write" } else { "read" })
}

/// Bytes and requests of a job's clones, by job name and direction.
type Work = BTreeMap<(String, &'static str), [u64; 2]>;

fn work(trial: &Trial) -> Work {
    let mut all = Work::new();
    for task in &trial.tasks {
        let Some(done) = done(task) else { continue };
        for (way, word) in ["read", "write"].into_iter().enumerate() {
            if done.requests[way] > 0 {
                let [bytes, requests] = all.entry((task.kind.clone(), word)).or_default();
                *bytes = bytes.saturating_add(done.bytes[way]);
                *requests = requests.saturating_add(done.requests[way]);
            }
        }
    }
    all
}

struct Worked {
    what: (String, &'static str),
    /// Bytes and requests of the last turn: fio's, then treering's.
    both: [[u64; 2]; 2],
    verdict: Verdict,
}

struct Rated {
    what: String,
    /// Rates in MiB/s of each turn: fio's, then treering's.
    both: Vec<[f64; 2]>,
    /// Ratio of treering's rate to fio's.
    ratio: f64,
    extremes: [f64; 2],
    verdict: Verdict,
}

/// Results of every comparison of the check.
pub(super) struct Checked {
    work: Vec<Worked>,
    sequences: Vec<Sequence>,
    rates: Vec<Rated>,
    fio: String,
    turns: usize,
}

impl Checked {
    pub(super) fn new(turns: &[Turn], sequences: Vec<Sequence>) -> Self {
        let fio = turns.first().and_then(|turn| {
            let mut facts = turn.theirs.facts.iter();
            facts.find(|fact| fact.name == "fio.version").map(|fact| fact.value.clone())
        });
        let fio = fio.unwrap_or_default();
        let rates = rated(turns);
        Self { work: worked(turns), sequences, rates, fio, turns: turns.len() }
    }

    /// True if no verdict is [`Verdict::Differ`].
    pub(super) fn agree(&self) -> bool {
        let work = self.work.iter().map(|one| &one.verdict);
        let sequences = self.sequences.iter().map(|one| &one.verdict);
        let rates = self.rates.iter().map(|one| &one.verdict);
        !work.chain(sequences).chain(rates).any(|verdict| matches!(verdict, Verdict::Differ(_)))
    }

    /// Formats the results as a page.
    pub(super) fn page(&self) -> Report {
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
        let columns = vec![
            Column::text("job"),
            Column::count("fio: requests"),
            Column::number("fio: bytes", Unit::Bytes),
            Column::count("treering: requests"),
            Column::number("treering: bytes", Unit::Bytes),
            Column::long_text("work"),
        ];
        let mut table = Table::new("work", "What was done, in the last turn", columns);
        for Worked { what: (job, way), both: [theirs, ours], verdict } in &self.work {
            let bytes = |count: u64| Cell::measured(count as f64, Unit::Bytes);
            table.rows.push(vec![
                Cell::text(format!("{job} {way}")),
                Cell::whole(theirs[1]),
                bytes(theirs[0]),
                Cell::whole(ours[1]),
                bytes(ours[0]),
                verdict.cell(),
            ]);
        }
        table
    }

    fn sequence_table(&self) -> Table {
        let columns =
            vec![Column::text("job"), Column::count("compared"), Column::long_text("requests")];
        let caption = "Files, places and lengths of the requests in their order";
        let mut table = Table::new("requests", caption, columns);
        for Sequence { name, compared, verdict } in &self.sequences {
            let row = vec![Cell::text(name), Cell::whole(*compared as u64), verdict.cell()];
            table.rows.push(row);
        }
        table
    }

    fn rate_table(&self) -> Table {
        let columns = vec![
            Column::text("job"),
            Column::number("fio", Unit::MibPerSecond),
            Column::number("treering", Unit::MibPerSecond),
            Column::number("treering/fio", Unit::Count),
            Column::number("least", Unit::Count),
            Column::number("most", Unit::Count),
            Column::long_text("rate"),
        ];
        let mut table = Table::new("rates", "How fast it was, means of the turns", columns);
        for Rated { what, both, ratio, extremes: [least, most], verdict } in &self.rates {
            let side = |side: usize| geometric_mean(both.iter().map(|turn| turn[side]));
            table.rows.push(vec![
                Cell::text(what),
                Cell::measured(side(0), Unit::MibPerSecond),
                Cell::measured(side(1), Unit::MibPerSecond),
                Cell::measured(*ratio, Unit::Count),
                Cell::measured(*least, Unit::Count),
                Cell::measured(*most, Unit::Count),
                verdict.cell(),
            ]);
        }
        table
    }
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp()
}

/// Compares the work of each job. Fixed work must be the same in every turn; for jobs that end by
/// time only the rates are compared.
fn worked(turns: &[Turn]) -> Vec<Worked> {
    let pairs: Vec<[Work; 2]> =
        turns.iter().map(|turn| [work(&turn.theirs), work(&turn.ours)]).collect();
    let Some(last) = pairs.last() else { return Vec::new() };
    let mut names: Vec<_> = last.iter().flat_map(BTreeMap::keys).cloned().collect();
    names.sort();
    names.dedup();
    let side =
        |work: &Work, what: &(String, &'static str)| work.get(what).copied().unwrap_or_default();
    let one = |what: (String, &'static str)| {
        let both = last.each_ref().map(|work| side(work, &what));
        let all = pairs.iter().map(|pair| pair.each_ref().map(|work| side(work, &what)));
        let other = all.clone().find(|[theirs, ours]| theirs != ours);
        let verdict = match other {
            None => Verdict::Same,
            Some(_) if is_timed(&turns[0].ours, &what.0) => Verdict::NotCompared("it has a time"),
            Some([theirs, ours]) => Verdict::Differ(format!(
                "fio {} requests, {} bytes; treering {}, {}",
                theirs[1], theirs[0], ours[1], ours[0]
            )),
        };
        Worked { what, both, verdict }
    };
    names.into_iter().map(one).collect()
}

/// True if a job ends by time.
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

fn rated(turns: &[Turn]) -> Vec<Rated> {
    let mut all: BTreeMap<(String, String), Vec<[f64; 2]>> = BTreeMap::new();
    for turn in turns {
        for theirs in super::rates(&turn.theirs) {
            let same = super::rates(&turn.ours)
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

fn rated_one(what: String, both: Vec<[f64; 2]>) -> Rated {
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
    Rated { what, both, ratio, extremes, verdict }
}

#[cfg(test)]
mod tests {
    use treering_fio::check::{Logged, Moved};

    use super::{Sequence, Verdict, rated_one};

    fn logged(differs: Option<&'static str>) -> Logged {
        Logged { name: "a".to_owned(), log: String::new(), differs }
    }

    fn at(offset: u64) -> Moved {
        Moved { file: "f".to_owned(), writes: false, offset, bytes: 4096 }
    }

    #[test]
    fn requests_differ_where_the_first_one_does() {
        let of = |differs, ours: &[Moved], theirs: &[Moved]| {
            Sequence::new(logged(differs), ours, theirs).verdict
        };
        assert_eq!(of(None, &[at(0), at(1)], &[at(0)]), Verdict::Same);
        let how = "no. 2: fio read 4096 at 2 of f, treering read 4096 at 1 of f";
        assert_eq!(of(None, &[at(0), at(1)], &[at(0), at(2)]), Verdict::Differ(how.to_owned()));
        assert!(matches!(of(None, &[at(0)], &[at(0), at(1)]), Verdict::Differ(_)));
        assert_eq!(of(None, &[at(0)], &[]), Verdict::NotCompared("fio logged none"));
        assert_eq!(of(Some("why"), &[at(0)], &[at(1)]), Verdict::NotCompared("why"));
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
