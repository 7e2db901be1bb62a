//! Outputs of `testkit/corpus/import`: the figures that its tables want of each, nothing lost, and
//! nothing made up of what is refused.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use treering_model::{Metric, RunMode, Trial, TrialHeader, TrialId};
use treering_registry::{
    ImportReader, ImportedTrial, LostNumber, PhaseRows, StoredNumbers, TextSource, import,
};

const TABLE: &str = include_str!("../../../../../testkit/corpus/import.txt");
const REFUSED: &str = include_str!("../../../../../testkit/corpus/refused.txt");
/// Largest relative difference of a figure, which the table has with five digits at least.
const NEAR: f64 = 1e-4;

fn corpus(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testkit/corpus").join(folder)
}

fn directory() -> PathBuf {
    corpus("import")
}

/// Names of the files in a folder of the corpus.
fn files(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(corpus(folder)).unwrap();
    let mut files: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    files
}

struct MemoryText(Vec<u8>);

impl TextSource for MemoryText {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> std::io::Result<usize> {
        let tail = self.0.get(usize::try_from(offset).unwrap()..).unwrap_or(&[]);
        let count = tail.len().min(into.len());
        into[..count].copy_from_slice(&tail[..count]);
        Ok(count)
    }
}

/// Figure of an output, and the number of the output, from 0.
struct WantedFigure {
    output: usize,
    name: &'static str,
    value: f64,
}

/// A row of the table: a file, its tool, the number of its outputs, and figures.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, usize, Vec<WantedFigure>)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let fields: Vec<&str> = line.split("; ").collect();
        let (tool, outputs) = match fields[1].split_once(" x") {
            Some((tool, outputs)) => (tool, outputs.parse().unwrap()),
            None => (fields[1], 1),
        };
        let figures = fields[2..].iter().map(|figure| {
            let (name, value) = figure.rsplit_once(' ').unwrap();
            let (output, name) = match name.split_once(": ") {
                Some((number, name)) => (number.parse::<usize>().unwrap() - 1, name),
                None => (0, name),
            };
            WantedFigure { output, name, value: value.parse().unwrap() }
        });
        (fields[0], tool, outputs, figures.collect())
    })
}

/// Files that are refused, and words of the remark that says why.
fn refused() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = REFUSED.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once("; ").unwrap())
}

/// Numbers that an import of the text loses, after `thin` has taken metrics from its trials.
fn lost(text: &[u8], thin: impl Fn(&mut Vec<Metric>)) -> Vec<LostNumber> {
    let source = MemoryText(text.to_vec());
    let mut reader = ImportReader::new(&source).unwrap();
    let scan = reader.scan().unwrap();
    let mut lost = Vec::new();
    for outline in &scan.outlines {
        let mut stored = StoredNumbers::default();
        reader
            .read(outline, &mut |content| {
                let ImportedTrial::Foreign(mut trial) = content else { panic!("an export") };
                trial.unfold();
                thin(&mut trial.metrics);
                let head = TrialHeader::new(TrialId::new(), trial.workload, RunMode::Classic);
                let trial: Trial = trial.with(head);
                stored.add(&trial, &PhaseRows::default());
                ControlFlow::Continue(())
            })
            .unwrap();
        lost.extend(reader.lost_numbers(outline, &mut stored));
    }
    for empty in &scan.empty {
        lost.extend(reader.numbers_of_empty(empty));
    }
    lost
}

#[test]
fn each_output_has_the_figures_of_the_table() {
    for (file, tool, outputs, figures) in rows() {
        let imported = import(&fs::read(directory().join(file)).unwrap());
        let tools: Vec<&str> = imported.found.iter().map(|found| found.tool).collect();
        assert_eq!(tools, vec![tool; outputs], "{file}");
        for WantedFigure { output, name, value } in figures {
            let found = &imported.found[output];
            let ImportedTrial::Foreign(trial) = &found.content else { panic!("{file}") };
            let is_it = |metric: &&Metric| metric.scope.metric_name(&metric.name) == name;
            let metric = trial.metrics.iter().find(is_it);
            let metric = metric.unwrap_or_else(|| panic!("{file}: no {name}"));
            let difference = (metric.value - value).abs() / value;
            assert!(difference < NEAR, "{file}: {name} is {}, not {value}", metric.value);
        }
    }
}

#[test]
fn no_output_loses_a_number() {
    for (file, ..) in rows() {
        let lost = lost(&fs::read(directory().join(file)).unwrap(), |_| {});
        assert!(lost.is_empty(), "{file}: {lost:?}");
    }
}

#[test]
fn what_is_refused_makes_no_trial_and_names_its_line() {
    for (file, words) in refused() {
        let imported = import(&fs::read(corpus("refused").join(file)).unwrap());
        assert!(imported.found.is_empty(), "{file}: {:?}", imported.found);
        let why: Vec<String> =
            imported.remarks.iter().map(|it| format!("{}: {}", it.line, it.what)).collect();
        assert!(why.iter().any(|why| why.starts_with(words)), "{file}: {why:?}");
    }
}

#[test]
fn each_file_is_in_its_table() {
    let mut kept: Vec<&str> = rows().map(|(file, ..)| file).collect();
    kept.sort_unstable();
    assert_eq!(files("import"), kept);
    let mut others: Vec<&str> = refused().map(|(file, _)| file).collect();
    others.sort_unstable();
    assert_eq!(files("refused"), others);
}

#[test]
fn numbers_of_a_metric_that_is_not_stored_are_named_with_their_line() {
    let text = fs::read(directory().join("ior-4.txt")).unwrap();
    let lost = lost(&text, |metrics| metrics.retain(|metric| metric.name != "close_seconds"));
    let places: Vec<(usize, &str)> =
        lost.iter().map(|lost| (lost.line, lost.number.as_str())).collect();
    let wanted = [(45, "0.213877"), (47, "0.071466"), (50, "0.198243"), (52, "0.069351")];
    assert_eq!(places, wanted);
    assert!(lost[0].text.starts_with("`write"), "{}", lost[0].text);
}

#[test]
fn an_output_without_a_result_loses_its_numbers() {
    let text = fs::read(directory().join("ior-4.txt")).unwrap();
    let head: Vec<&str> = std::str::from_utf8(&text).unwrap().lines().take(30).collect();
    let lost = lost(head.join("\n").as_bytes(), |_| {});
    assert!(lost.iter().any(|lost| (lost.line, lost.number.as_str()) == (8, "731.9")), "{lost:?}");
}
