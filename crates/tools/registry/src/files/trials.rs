//! Trials of imported outputs: labels, values that the log lacks, and origin.

use std::collections::BTreeMap;

use treering_kit::import::trial::ForeignTrial;
use treering_model::{
    Fact, Fingerprint, IMPORT_FACT, Metric, ROUND_FACT, RunMode, Trial, TrialHeader, TrialId,
};
use treering_script::ConfigError;

use super::{ImportFile, ResultPosition};
use crate::{ImportedTrial, OutputOutline, PhaseRows};

/// Names of the facts about the origin of a trial.
const FILE_FACT: &str = "import.file";
const LINES_FACT: &str = "import.lines";
const DIGEST_FACT: &str = "import.digest";
const CONTENT_FACT: &str = "import.content";
const TEST_FACT: &str = "import.mmtests_test";
const ITERATION_FACT: &str = "import.mmtests_iteration";

/// Names of the facts that tell the origin of an imported trial.
pub const ORIGIN_FACTS: [&str; 4] = [IMPORT_FACT, DIGEST_FACT, LINES_FACT, CONTENT_FACT];

/// Remarks about the outputs of the files, each with its place.
pub fn remarks(files: &[ImportFile]) -> Vec<String> {
    let of = |file: &ImportFile| -> Vec<String> {
        let name = &file.name;
        if file.position.is_some() && file.scan.outlines.is_empty() {
            return vec![format!("{name}: no known output; skipped")];
        }
        let remarks = file.scan.remarks.iter();
        remarks.map(|remark| format!("{name}:{}: {}", remark.line, remark.what)).collect()
    };
    files.iter().flat_map(of).collect()
}

/// Assigns the labels of the command line: the first output of every tool gets the first label, the
/// second output the second, so that outputs of the same side share a label. In results of MMTests
/// all iterations of the first run get the first label. A single label is that of all files, if
/// none has several outputs of a tool.
///
/// # Errors
/// When there are fewer labels than outputs of a tool, and several.
pub fn labels(files: &[ImportFile], wanted: &[String]) -> Result<Vec<String>, ConfigError> {
    if wanted.is_empty() {
        return Ok(files.iter().flat_map(labels_by_file).collect());
    }
    let all = numbered(files);
    if let ([only], true) = (wanted, files.len() > 1 && files.iter().all(has_one_side)) {
        return Ok(vec![only.clone(); all.len()]);
    }
    let label =
        |(number, found): &(usize, &OutputOutline)| match (wanted.get(*number), &found.label) {
            (Some(label), _) | (None, Some(label)) => Ok(label.clone()),
            (None, None) => {
                let tool = found.tool;
                let numbers =
                    all.iter().filter(|(_, other)| other.tool == tool).map(|(of, _)| of + 1);
                let outputs = numbers.max().unwrap_or(0);
                let message =
                    format!("--label names {} of {outputs} outputs of {tool}", wanted.len());
                Err(ConfigError::new(message).hint(
                "give one label for each output of a tool (for MMTests, each run), separated by \
                 commas",
            ))
            }
        };
    all.iter().map(label).collect()
}

/// Labels of the trials in a file. Exports of treering keep their labels, and an output may have a
/// name in the log; others get the file name, with a number if the file holds several outputs of a
/// tool. Results of MMTests get the name of their run.
fn labels_by_file(file: &ImportFile) -> Vec<String> {
    if let Some(position) = &file.position {
        return vec![position.run.clone(); file.scan.outlines.len()];
    }
    let all = numbered(std::slice::from_ref(file));
    let are_alone = all.iter().all(|(number, _)| *number == 0);
    let label = |(number, found): (usize, &OutputOutline)| match &found.label {
        Some(label) => label.clone(),
        None if !found.name.is_empty() => found.name.clone(),
        None if are_alone => file.name.clone(),
        None => format!("{}#{}", file.name, number + 1),
    };
    all.into_iter().map(label).collect()
}

/// True if a file has no two outputs of one tool that are not rounds of one side.
fn has_one_side(file: &ImportFile) -> bool {
    file.position.is_some()
        || numbered(std::slice::from_ref(file)).iter().all(|(number, _)| *number == 0)
}

/// File, tool, first line and name of the trials that are rounds of one side.
type SideKey<'f> = (usize, &'f str, usize, &'f str);

/// Outputs with their numbers, counted from 0 for each tool; results have the number of their run,
/// rounds that of their side.
fn numbered(files: &[ImportFile]) -> Vec<(usize, &OutputOutline)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut sides: BTreeMap<SideKey<'_>, usize> = BTreeMap::new();
    let mut runs: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    for (number, file) in files.iter().enumerate() {
        for found in &file.scan.outlines {
            let side = (number, found.tool, found.lines.0, found.name.as_str());
            let number = if let Some(position) = &file.position {
                runs.iter().position(|run| *run == position.run).unwrap_or_else(|| {
                    runs.push(&position.run);
                    runs.len() - 1
                })
            } else if let Some(known) = sides.get(&side).filter(|_| found.is_round) {
                *known
            } else {
                let count = counts.entry(found.tool).or_default();
                *count += 1;
                sides.insert(side, *count - 1);
                *count - 1
            };
            all.push((number, found));
        }
    }
    all
}

/// Completes a trial with the values that the log lacks; also returns the rows of its table.
pub fn completed_trial(
    content: ImportedTrial,
    found: &OutputOutline,
    file: &ImportFile,
    label: &str,
    now_unix_ms: i64,
) -> (Trial, PhaseRows) {
    let mut foreign = match content {
        ImportedTrial::Own(mut trial) => {
            label.clone_into(&mut trial.beginning.label);
            return (*trial, PhaseRows::default());
        }
        ImportedTrial::Foreign(foreign) => *foreign,
    };
    let rows = std::mem::take(&mut foreign.rows);
    let began_ms = file.position.as_ref().and_then(|position| position.began_unix_ms);
    let beginning = TrialHeader {
        // Without a date in the log, that of the test, else that of the import.
        started_unix_ms: foreign.started_unix_ms.or(began_ms).unwrap_or(now_unix_ms),
        treering_version: env!("CARGO_PKG_VERSION").to_owned(),
        label: label.to_owned(),
        ..TrialHeader::new(TrialId::new(), foreign.workload, RunMode::Classic)
    };
    let content = foreign.stands_alone.then(|| row_digests(&foreign));
    let mut trial = foreign.with(beginning);
    let (first, last) = found.lines;
    let lines = match found.nth {
        0 => format!("{first}-{last}"),
        nth => format!("{first}-{last}#{}", nth + 1),
    };
    let mut facts = vec![
        (FILE_FACT, file.name.clone()),
        (LINES_FACT, lines),
        (DIGEST_FACT, file.digest.text()),
    ];
    facts.extend(content.map(|digest| (CONTENT_FACT, digest)));
    if let Some(ResultPosition { iteration, test, .. }) = &file.position {
        facts.push((TEST_FACT, test.clone()));
        facts.push((ITERATION_FACT, iteration.to_string()));
    }
    let facts = facts.into_iter().map(|(name, value)| Fact { name: name.to_owned(), value });
    trial.facts.extend(facts);
    (trial, rows)
}

/// Digests of the rows of a trial, in the order of its metrics, with spaces between: each of the
/// name, the time and the facts of the trial and of the value.
fn row_digests(trial: &ForeignTrial) -> String {
    let digests = trial.metrics.iter().map(|metric| row_digest(trial, metric));
    digests.collect::<Vec<String>>().join(" ")
}

fn row_digest(trial: &ForeignTrial, metric: &Metric) -> String {
    let mut digest = Fingerprint::new();
    let mut add = |part: &str| {
        digest.add(part.as_bytes());
        digest.add(&[0]);
    };
    add(&trial.name);
    add(&format!("{:?}", trial.started_unix_ms));
    // The first round is told only in a table that has a second one, which may come later.
    let is_told = |fact: &&Fact| fact.name != ROUND_FACT || fact.value != "1";
    let facts = trial.facts.iter().filter(is_told);
    facts.flat_map(|fact| [&fact.name, &fact.value]).for_each(|part| add(part));
    add(&metric.name);
    add(&metric.value.to_string());
    digest.text()
}

/// Origin of what was imported: the digest of a row, or that of a file and the lines of the output
/// in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TrialOrigin {
    /// A row of a table, which may stand in another file tomorrow.
    Row(String),
    /// An output of a tool.
    Place {
        /// Digest of the file.
        digest: String,
        /// Lines of the output in the file.
        lines: String,
    },
}

/// Origins of a trial with these facts: one for each row of a table, in the order of its metrics,
/// or that of an output; none if it was not imported.
pub fn origins_of<'f>(facts: impl Iterator<Item = &'f Fact> + Clone) -> Vec<TrialOrigin> {
    let fact =
        |name: &str| facts.clone().find(|fact| fact.name == name).map(|fact| fact.value.clone());
    if fact(IMPORT_FACT).is_none() {
        return Vec::new();
    }
    if let Some(rows) = fact(CONTENT_FACT) {
        return rows.split(' ').map(|row| TrialOrigin::Row(row.to_owned())).collect();
    }
    let place = fact(DIGEST_FACT).zip(fact(LINES_FACT));
    place.map(|(digest, lines)| TrialOrigin::Place { digest, lines }).into_iter().collect()
}

/// Leaves out the rows of a trial of a table whose origins are known.
pub fn without_rows(trial: &mut Trial, is_known: impl Fn(&TrialOrigin) -> bool) {
    let rows = origins_of(trial.facts.iter());
    let kept: Vec<bool> = rows.iter().map(|row| !is_known(row)).collect();
    let texts = rows.into_iter().zip(&kept).filter_map(|(row, kept)| match row {
        TrialOrigin::Row(digest) if *kept => Some(digest),
        _ => None,
    });
    let text = texts.collect::<Vec<String>>().join(" ");
    let Some(content) = trial.facts.iter_mut().find(|fact| fact.name == CONTENT_FACT) else {
        return;
    };
    content.value = text;
    let mut of_metrics = kept.into_iter();
    trial.metrics.retain(|_| of_metrics.next().unwrap_or(true));
}
