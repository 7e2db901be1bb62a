//! Origins of imported trials: which are in a store already, and which rows of a table have another
//! value than there.
//!
//! A row is known by everything but its value and its link. If a table says another value for it
//! than the store, the value was corrected: a trial with the new value takes the place of the old
//! one, and names it. A table that gains a column of labels, versions, commits or variants is
//! the same table, too.

use std::collections::{HashMap, HashSet};

use treering_kit::import::trial::ForeignTrial;
use treering_model::{
    Annotation, AnnotationKind, COMMIT_FACT, Fact, Fingerprint, IMPORT_FACT, LINK_FACT, Metric,
    ROUND_FACT, Trial, TrialId, VARIANT_FACT, VERSION_FACT,
};

/// Names of the facts about the origin of a trial.
pub(super) const LINES_FACT: &str = "import.lines";
pub(super) const DIGEST_FACT: &str = "import.digest";
/// Fact with the digests of the rows of a table.
pub(super) const CONTENT_FACT: &str = "import.content";
/// Fact with the keys of the rows of a table.
pub(super) const ROWS_FACT: &str = "import.rows";
/// Fact with the digests that the rows had if the table was without some of its columns before.
pub(super) const EARLIER_FACT: &str = "import.earlier";
/// Fact with the trials whose rows a trial corrects.
const CORRECTS_FACT: &str = "import.corrects";

/// Start of the reason why a corrected trial is excluded.
const CORRECTED_BY: &str = "corrected by ";

/// Names of the facts that tell the origin of an imported trial.
pub const ORIGIN_FACTS: [&str; 7] =
    [IMPORT_FACT, DIGEST_FACT, LINES_FACT, CONTENT_FACT, ROWS_FACT, EARLIER_FACT, CORRECTS_FACT];

/// Digest of a row: of the name, the time and the facts of the trial, and of the value.
pub(super) fn row_digest(trial: &ForeignTrial, metric: &Metric) -> String {
    let mut digest = digest_without_value((trial, &trial.name), metric, |_| true);
    add(&mut digest, &metric.value.to_string());
    digest.text()
}

/// Key of a row, which is a digest without its value and its link, and the meaning of the value.
pub(super) fn row_key(trial: &ForeignTrial, metric: &Metric) -> String {
    let digest = digest_without_value((trial, &trial.name), metric, |fact| fact.name != LINK_FACT);
    format!("{}/{:?}/{:?}", digest.text(), metric.unit, metric.better)
}

/// Columns that a table may gain after its rows were imported, by their facts, in the order in
/// which they name a trial without a label.
const GAINED: [&str; 3] = [VERSION_FACT, COMMIT_FACT, VARIANT_FACT];

/// Digests of a row, with its value, in tables without some of its label, version, commit and
/// variant; `-` if it has none of these.
pub(super) fn earlier_digests(trial: &ForeignTrial, metric: &Metric) -> String {
    let own = |name: &str| trial.facts.iter().find(|fact| fact.name == name);
    let first = |names: &[&str]| names.iter().find_map(|name| own(name)).map(|f| f.value.clone());
    let has_label = first(&GAINED).unwrap_or_default() != trial.name;
    let has: Vec<&str> = GAINED.into_iter().filter(|name| own(name).is_some()).collect();
    let key = |absent: &dyn Fn(&str) -> bool, is_unlabelled: bool| {
        let kept: Vec<&str> = has.iter().copied().filter(|name| !absent(name)).collect();
        let is_labelled = has_label && !is_unlabelled;
        let name = if is_labelled { Some(trial.name.clone()) } else { first(&kept) };
        let name = name.unwrap_or_default();
        let is_part = |fact: &Fact| fact.name != LINK_FACT && !absent(&fact.name);
        let mut digest = digest_without_value((trial, &name), metric, is_part);
        add(&mut digest, &metric.value.to_string());
        digest.text()
    };
    let keys = (1..1_u32 << (has.len() + usize::from(has_label))).map(|absent| {
        let is_absent = |name: &str| {
            has.iter().position(|own| *own == name).is_some_and(|at| absent >> at & 1 == 1)
        };
        key(&is_absent, absent >> has.len() & 1 == 1)
    });
    earlier_words(keys)
}

fn earlier_words(keys: impl Iterator<Item = String>) -> String {
    let keys: Vec<String> = keys.collect();
    if keys.is_empty() { "-".to_owned() } else { keys.join(",") }
}

fn digest_without_value(
    (trial, name): (&ForeignTrial, &str),
    metric: &Metric,
    is_part: impl Fn(&Fact) -> bool,
) -> Fingerprint {
    let mut digest = Fingerprint::new();
    add(&mut digest, name);
    add(&mut digest, &format!("{:?}", trial.started_unix_ms));
    // The first round is told only in a table that has a second one, which may come later.
    let is_told = |fact: &&Fact| fact.name != ROUND_FACT || fact.value != "1";
    for fact in trial.facts.iter().filter(is_told).filter(|fact| is_part(fact)) {
        add(&mut digest, &fact.name);
        add(&mut digest, &fact.value);
    }
    add(&mut digest, &metric.name);
    digest
}

fn add(digest: &mut Fingerprint, part: &str) {
    digest.add(part.as_bytes());
    digest.add(&[0]);
}

/// Row of a table in a trial.
#[derive(Clone, Debug)]
struct TableRow {
    /// Digest without the value and the link; empty in trials of older versions.
    key: String,
    /// Digests that the row may have had before.
    earlier: Vec<String>,
    /// Unit and better direction of the value.
    meaning: String,
    /// Digest of all.
    content: String,
}

/// Rows of a trial with these facts, in the order of its metrics.
fn rows_of(facts: &[&Fact]) -> Vec<TableRow> {
    let words = |name: &str| fact(facts, name).into_iter().flat_map(|text| text.split(' '));
    let mut keys = words(ROWS_FACT);
    let mut earlier = words(EARLIER_FACT);
    let row = |content: &str| {
        let (key, meaning) = keys.next().and_then(|key| key.split_once('/')).unwrap_or_default();
        TableRow {
            key: key.to_owned(),
            earlier: earlier
                .next()
                .into_iter()
                .flat_map(|e| e.split(','))
                .map(str::to_owned)
                .collect(),
            meaning: meaning.to_owned(),
            content: content.to_owned(),
        }
    };
    words(CONTENT_FACT).map(row).collect()
}

fn fact<'f>(facts: &[&'f Fact], name: &str) -> Option<&'f str> {
    facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

/// Sets a fact with a text for each row.
fn set_words(trial: &mut Trial, name: &str, words: &[String]) {
    let value = words.join(" ");
    match trial.facts.iter_mut().find(|fact| fact.name == name) {
        Some(fact) => fact.value = value,
        None => trial.facts.push(Fact { name: name.to_owned(), value }),
    }
}

fn set_rows(trial: &mut Trial, rows: &[TableRow]) {
    let contents: Vec<String> = rows.iter().map(|row| row.content.clone()).collect();
    let keys: Vec<String> = rows.iter().map(|row| format!("{}/{}", row.key, row.meaning)).collect();
    set_words(trial, CONTENT_FACT, &contents);
    let earlier = rows.iter().map(|row| earlier_words(row.earlier.iter().cloned()));
    set_words(trial, EARLIER_FACT, &earlier.collect::<Vec<_>>());
    if rows.iter().all(|row| !row.key.is_empty()) {
        set_words(trial, ROWS_FACT, &keys);
    }
}

/// State of an imported trial in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportState {
    /// Everything in it is in the store, in this trial for example.
    Known(TrialId),
    /// The trial is new, apart from rows that [`KnownOrigins::without_known`] leaves out.
    New,
    /// The trial has other values for rows of these trials of the store.
    Corrects(Vec<TrialId>),
}

/// Origins of the trials in a store.
#[derive(Debug, Default)]
pub struct KnownOrigins {
    trials: HashSet<TrialId>,
    /// Outputs by the digest of their file and their lines.
    outputs: HashMap<(String, String), TrialId>,
    /// Trials by the contents of their rows.
    contents: HashMap<String, TrialId>,
    /// Newest trial with each row, and the meaning of its value.
    rows: HashMap<String, (TrialId, String)>,
    /// Trials whose place another one has taken.
    corrected: HashSet<TrialId>,
    /// Trials that are in the imported files as they are: those with a further label or variant are
    /// others.
    current: HashSet<TrialId>,
}

impl KnownOrigins {
    /// Origins of these trials, with those of their facts that [`ORIGIN_FACTS`] names.
    pub fn new(trials: impl IntoIterator<Item = TrialId>, facts: &[(TrialId, Vec<&Fact>)]) -> Self {
        let mut known = Self { trials: trials.into_iter().collect(), ..Self::default() };
        for (_, facts) in facts {
            known.corrected.extend(corrects(facts));
        }
        for (trial, facts) in facts {
            known.add(*trial, facts);
        }
        known
    }

    /// Adds a trial that was stored just now.
    pub fn know(&mut self, trial: &Trial) {
        let facts: Vec<&Fact> = trial.facts.iter().collect();
        let id = trial.beginning.trial;
        self.trials.insert(id);
        self.current.insert(id);
        let corrected: Vec<TrialId> = corrects(&facts).collect();
        if !corrected.is_empty() {
            self.contents.retain(|_, trial| !corrected.contains(trial));
            self.rows.retain(|_, (trial, _)| !corrected.contains(trial));
            self.corrected.extend(corrected);
        }
        self.add(id, &facts);
    }

    fn add(&mut self, trial: TrialId, facts: &[&Fact]) {
        if fact(facts, IMPORT_FACT).is_none() || self.corrected.contains(&trial) {
            return;
        }
        if fact(facts, CONTENT_FACT).is_none() {
            let place = fact(facts, DIGEST_FACT).zip(fact(facts, LINES_FACT));
            if let Some((digest, lines)) = place {
                let place = (digest.to_owned(), lines.to_owned());
                self.outputs.entry(place).or_insert(trial);
            }
            return;
        }
        for row in rows_of(facts) {
            self.contents.entry(row.content).or_insert(trial);
            if !row.key.is_empty() {
                self.rows.entry(row.key).or_insert((trial, row.meaning));
            }
        }
    }

    /// Notes that a trial of the store is in the imported files as it is.
    pub fn note_current(&mut self, trial: TrialId) {
        self.current.insert(trial);
    }

    /// State of a trial that is to be imported.
    pub fn state(&self, trial: &Trial) -> ImportState {
        let id = trial.beginning.trial;
        if self.trials.contains(&id) {
            return ImportState::Known(id);
        }
        let facts: Vec<&Fact> = trial.facts.iter().collect();
        if fact(&facts, IMPORT_FACT).is_none() {
            return ImportState::New;
        }
        if fact(&facts, CONTENT_FACT).is_none() {
            let place = fact(&facts, DIGEST_FACT).zip(fact(&facts, LINES_FACT));
            let known = place.and_then(|(digest, lines)| {
                self.outputs.get(&(digest.to_owned(), lines.to_owned()))
            });
            return known.map_or(ImportState::New, |known| ImportState::Known(*known));
        }
        let rows = rows_of(&facts);
        let mut corrected: Vec<TrialId> =
            rows.iter().filter_map(|row| self.other_value(row)).collect();
        corrected.sort_unstable();
        corrected.dedup();
        if !corrected.is_empty() {
            return ImportState::Corrects(corrected);
        }
        let known = rows.iter().map(|row| self.contents.get(&row.content).copied());
        let known: Option<Vec<TrialId>> = known.collect();
        known.and_then(|known| known.first().copied()).map_or(ImportState::New, ImportState::Known)
    }

    /// Trial that has another value for a row, or the row without its label or commit.
    fn other_value(&self, row: &TableRow) -> Option<TrialId> {
        let Some((trial, meaning)) = self.rows.get(&row.key) else {
            let mut earlier = row.earlier.iter().filter_map(|digest| self.contents.get(digest));
            return earlier.find(|trial| !self.current.contains(trial)).copied();
        };
        let is_same = *meaning == row.meaning && self.contents.contains_key(&row.content);
        (!is_same).then_some(*trial)
    }

    /// Leaves out the rows of a trial of a table that are in the store with the same value.
    pub fn without_known(&self, trial: &mut Trial) {
        let rows = rows_of(&trial.facts.iter().collect::<Vec<_>>());
        if rows.is_empty() {
            return;
        }
        let is_new = |row: &TableRow| {
            !self.contents.contains_key(&row.content) || self.other_value(row).is_some()
        };
        let kept: Vec<bool> = rows.iter().map(is_new).collect();
        let mut of_rows = kept.iter();
        let rows: Vec<TableRow> =
            rows.into_iter().filter(|_| of_rows.next().copied().unwrap_or(true)).collect();
        set_rows(trial, &rows);
        let mut of_metrics = kept.into_iter();
        trial.metrics.retain(|_| of_metrics.next().unwrap_or(true));
    }
}

/// Trials that a trial with these facts corrects.
fn corrects<'f>(facts: &[&'f Fact]) -> impl Iterator<Item = TrialId> + use<'f> {
    let ids = fact(facts, CORRECTS_FACT).into_iter().flat_map(|ids| ids.split(' '));
    ids.filter_map(|id| id.parse().ok())
}

/// Makes a trial with new and corrected rows take the place of `old` ones: their other rows,
/// labels, exclusions and known changes become its own. Returns a sentence for each corrected
/// value.
pub fn take_place(trial: &mut Trial, old: &[Trial]) -> Vec<String> {
    let mut rows = rows_of(&trial.facts.iter().collect::<Vec<_>>());
    let own: HashMap<String, usize> =
        rows.iter().enumerate().map(|(at, row)| (row.key.clone(), at)).collect();
    let earlier: HashSet<String> =
        rows.iter().flat_map(|row| row.earlier.iter().cloned()).collect();
    let mut sentences = Vec::new();
    for old in old {
        let of_old = rows_of(&old.facts.iter().collect::<Vec<_>>());
        for (row, metric) in of_old.into_iter().zip(&old.metrics) {
            match (own.get(&row.key), earlier.contains(&row.content)) {
                (Some(at), _) => sentences.extend(correction(&trial.metrics[*at], metric)),
                (None, true) => sentences
                    .push(format!("{} has a label, version, commit or variant now", metric.name)),
                (None, false) => {
                    rows.push(row);
                    trial.metrics.push(metric.clone());
                }
            }
        }
        for annotation in &old.annotations {
            if let AnnotationKind::Relabelled { label, .. } = &annotation.change {
                trial.beginning.label.clone_from(label);
            }
        }
        let is_kept = |annotation: &&Annotation| match &annotation.change {
            AnnotationKind::Relabelled { .. } => false,
            AnnotationKind::Excluded { reason } => !reason.starts_with(CORRECTED_BY),
            _ => true,
        };
        trial.annotations.extend(old.annotations.iter().filter(is_kept).cloned());
    }
    set_rows(trial, &rows);
    let ids: Vec<String> = old.iter().map(|old| old.beginning.trial.text()).collect();
    set_words(trial, CORRECTS_FACT, &ids);
    sentences
}

/// Reason for the exclusion of the trials whose place `trial` takes.
pub fn correction_reason(file: &str, trial: &Trial, what: &str) -> String {
    format!("{CORRECTED_BY}{file}, see {}: {what}", trial.beginning.trial)
}

/// Sentence about a corrected value; `None` if only its link is another.
fn correction(new: &Metric, old: &Metric) -> Option<String> {
    let value = |metric: &Metric| {
        let text = format!("{} {}", metric.value, metric.unit.symbol());
        text.trim_end().to_owned()
    };
    let name = &new.name;
    if value(new) != value(old) {
        return Some(format!("{name} is {}, and was {}", value(new), value(old)));
    }
    (new.better != old.better).then(|| format!("{name} has the other better direction"))
}
