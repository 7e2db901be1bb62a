//! Trials of imported outputs: labels, values that the log lacks, and origin.

use std::collections::BTreeMap;

use treering_kit::import::trial::ForeignTrial;
use treering_model::{
    CONFIGURATION_PARAMETER, Fact, Metric, RunMode, Trial, TrialHeader, TrialId, counted,
};
use treering_script::ConfigError;

use super::origins::{
    CONTENT_FACT, DIGEST_FACT, EARLIER_FACT, LINES_FACT, ROWS_FACT, earlier_digests, row_digest,
    row_key,
};
use super::{ImportFile, ResultPosition};
use crate::{ImportedTrial, OutputOutline, PhaseRows};

/// Names of facts about the file of a trial.
const FILE_FACT: &str = "import.file";
const TEST_FACT: &str = "import.mmtests_test";
const ITERATION_FACT: &str = "import.mmtests_iteration";

/// Remarks about the outputs of the files, each with its place; also about files without any, if
/// others have some. The same remark about several places stands at the first one, unless all are
/// wanted.
pub fn remarks(files: &[ImportFile], is_whole: bool) -> Vec<String> {
    let has_outputs = |file: &ImportFile| !file.scan.outlines.is_empty();
    let is_partial = files.iter().any(has_outputs);
    let mut remarks: Vec<(String, &str, usize)> = Vec::new();
    for file in files {
        let name = &file.name;
        for remark in &file.scan.remarks {
            let is_same = |known: &&mut (String, &str, usize)| known.1 == remark.what;
            match remarks.iter_mut().find(is_same).filter(|_| !is_whole) {
                Some((.., count)) => *count += 1,
                None => remarks.push((format!("{name}:{}", remark.line), &remark.what, 1)),
            }
        }
        if file.scan.remarks.is_empty() && is_partial && !has_outputs(file) {
            remarks.push((name.clone(), "no known output; skipped", 1));
        }
    }
    let text = |(place, what, count): (String, &str, usize)| match count {
        1 => format!("{place}: {what}"),
        count => format!("{place}, and {}: {what}", counted(count as u64 - 1, "more place")),
    };
    remarks.into_iter().map(text).collect()
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
    let rows_of_table = foreign.stands_alone.then(|| {
        let each = |digest: fn(&ForeignTrial, &Metric) -> String| {
            let digests = foreign.metrics.iter().map(|metric| digest(&foreign, metric));
            digests.collect::<Vec<String>>().join(" ")
        };
        [
            (CONTENT_FACT, each(row_digest)),
            (ROWS_FACT, each(row_key)),
            (EARLIER_FACT, each(earlier_digests)),
        ]
    });
    if let Some(configuration) = file.position.as_ref().and_then(|of| of.configuration.as_ref()) {
        foreign.parameter(CONFIGURATION_PARAMETER, configuration);
    }
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
    facts.extend(rows_of_table.into_iter().flatten());
    if let Some(ResultPosition { iteration, test, .. }) = &file.position {
        facts.push((TEST_FACT, test.clone()));
        facts.push((ITERATION_FACT, iteration.to_string()));
    }
    let facts = facts.into_iter().map(|(name, value)| Fact { name: name.to_owned(), value });
    trial.facts.extend(facts);
    (trial, rows)
}
