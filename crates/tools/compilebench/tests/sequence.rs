//! Classic sequence, compared with the published listings and the measured totals of the original.
//!
//! The original's dataset files and the published report are not part of the project. If they are
//! not found beside the checkout, these tests print that and pass.

use std::path::Path;

use treering_compilebench::Compilebench;
use treering_script::{Job, Settings, TargetFacts, Workload};
use treering_testkit::require_shared;

const LISTS: &str = "data/compilebench-0.6";

fn job(sources: &Path, options: &[(&str, &str)]) -> Box<dyn Job> {
    let mut pairs: Vec<(String, String)> =
        options.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    pairs.push(("sources".into(), sources.to_string_lossy().into_owned()));
    Compilebench.classic(&Settings::new(pairs)).expect("the original's files are read")
}

/// Operation lines in a published listing, without time and rate.
fn published(text: &str, listing: usize) -> Vec<String> {
    let start = text.match_indices("using working directory").nth(listing).expect("listing").0;
    let kinds = [
        "native ",
        "create dir ",
        "patch dir ",
        "compile dir ",
        "clean kernel",
        "delete kernel",
        "read dir ",
        "stat dir ",
    ];
    text[start..]
        .lines()
        .take_while(|line| !line.starts_with("run complete"))
        .filter(|line| kinds.iter().any(|kind| line.starts_with(kind)))
        .map(|line| line.split(" in ").next().unwrap_or(line).to_owned())
        .collect()
}

#[test]
fn the_default_run_equals_both_published_listings() {
    let job = job(&require_shared!(LISTS), &[]);
    let report = require_shared!("seeds/001_26b0cef4a741bd4e.txt");
    let report = std::fs::read_to_string(report).unwrap();
    let outline = job.outline(&TargetFacts::unknown());
    assert_eq!(outline.len(), 133);
    for listing in 0..2 {
        let expected = published(&report, listing);
        assert_eq!(outline, expected, "listing {listing}");
    }
}

#[test]
fn footprint_matches_a_replay_of_the_original() {
    let job = job(&require_shared!(LISTS), &[]);
    let footprint = job.footprint(&TargetFacts::unknown());
    assert_eq!(footprint.peak_bytes, 12_065_610_519);
    assert_eq!(footprint.peak_files, 783_997);
    assert!(footprint.peak_block_bytes > footprint.peak_bytes);
}

#[test]
fn a_run_without_operations_ends_after_the_initial_creates() {
    let job = job(&require_shared!(LISTS), &[("runs", "0"), ("initial-dirs", "2")]);
    assert_eq!(
        job.outline(&TargetFacts::unknown()),
        [
            "native unpatched native-0 222MB",
            "native patched native-0 109MB",
            "native patched compiled native-0 691MB",
            "create dir kernel-0 222MB",
            "create dir kernel-1 222MB",
        ]
    );
}

#[test]
fn makej_compiles_every_tree_and_deletes_it() {
    let job = job(&require_shared!(LISTS), &[("makej", "true"), ("initial-dirs", "4")]);
    let lines = job.outline(&TargetFacts::unknown());
    let count = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(
        [count("create dir"), count("compile dir"), count("read dir"), count("delete ")],
        [4, 4, 3, 4]
    );
    assert!(lines.iter().filter(|l| l.starts_with("compile")).all(|l| l.ends_with(" 680MB")));
}

#[test]
fn different_seeds_give_different_sequences() {
    let sources = require_shared!(LISTS);
    let (first, second) = (job(&sources, &[]), job(&sources, &[("seed", "556")]));
    let facts = TargetFacts::unknown();
    assert_ne!(first.outline(&facts), second.outline(&facts));
    assert_eq!(second.outline(&facts).len(), 133);
}

// Sequences from a replay in Python, written from the description of the original: its generator,
// hash and dictionaries. The initial lines are left out.
const FIVE_TREES_TWENTY_RUNS: [&str; 20] = [
    "patch dir kernel-2 109MB",
    "compile dir kernel-2 691MB",
    "compile dir kernel-4 680MB",
    "patch dir kernel-4 691MB",
    "read dir kernel-4",
    "read dir kernel-3",
    "create dir kernel-3116 222MB",
    "clean kernel-4 691MB",
    "read dir kernel-1",
    "stat dir kernel-0",
    "compile dir kernel-0 680MB",
    "clean kernel-2 691MB",
    "clean kernel-0 680MB",
    "patch dir kernel-0 109MB",
    "stat dir kernel-0",
    "create dir kernel-6231 222MB",
    "delete kernel-3",
    "compile dir kernel-0 691MB",
    "create dir kernel-70151 222MB",
    "clean kernel-0 691MB",
];

const FIVE_TREES_MAKEJ: [&str; 13] = [
    "compile dir kernel-2 680MB",
    "compile dir kernel-1 680MB",
    "compile dir kernel-4 680MB",
    "compile dir kernel-0 680MB",
    "compile dir kernel-3 680MB",
    "read dir kernel-3",
    "read dir kernel-4",
    "read dir kernel-2",
    "delete kernel-4",
    "delete kernel-3",
    "delete kernel-0",
    "delete kernel-2",
    "delete kernel-1",
];

const THREE_TREES_SEED_ONE: [&str; 12] = [
    "stat dir kernel-2",
    "create dir kernel-91406 222MB",
    "delete kernel-0",
    "stat dir kernel-2",
    "patch dir kernel-91406 109MB",
    "create dir kernel-22088 222MB",
    "patch dir kernel-1 109MB",
    "stat dir kernel-1",
    "delete kernel-1",
    "create dir kernel-76323 222MB",
    "patch dir kernel-2 109MB",
    "compile dir kernel-91406 691MB",
];

#[test]
fn other_tree_counts_and_seeds_match_the_replay() {
    let sources = require_shared!(LISTS);
    let operations = |options: &[(&str, &str)], initial: usize| {
        let lines = job(&sources, options).outline(&TargetFacts::unknown());
        lines[3 + initial..].to_vec()
    };
    let few = [("initial-dirs", "5"), ("runs", "20")];
    assert_eq!(operations(&few, 5), FIVE_TREES_TWENTY_RUNS);
    let makej = [("initial-dirs", "5"), ("makej", "true")];
    assert_eq!(operations(&makej, 5), FIVE_TREES_MAKEJ);
    let seed = [("initial-dirs", "3"), ("runs", "12"), ("seed", "1")];
    assert_eq!(operations(&seed, 3), THREE_TREES_SEED_ONE);
}
