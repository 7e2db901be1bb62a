//! Invalid data sets: the error names file, line and column, and no work is done.

use std::fs;

use treering_testkit::{FourLists, Program, tree_of};

use crate::program;

/// Invalid lines, with the column and the message of the error.
const WRONG: [(&[u8], u32, &str); 9] = [
    (b"../etc/passwd 1\n", 1, "must stay inside the tree"),
    (b"fs/../../x 1\n", 4, "must stay inside the tree"),
    (b"/etc/passwd 1\n", 1, "the path is absolute"),
    (b"a\0b 1\n", 2, "NUL byte"),
    (b"COPYING 5\nCOPYING 6\n", 1, "in this list already"),
    (b"fs 5\n", 1, "a file as a directory"),
    (b"big 9223372036854775808\n", 5, "the size is too big"),
    (b"most 9223372036854775807\nmore 1\n", 6, "more than 9223372036854775807 bytes"),
    (b"without/size\n", 13, "the size is missing"),
];

/// Appends lines to one list of a good data set.
fn spoil(program: &Program, file: &str, lines: &[u8]) -> usize {
    let dir = program.home().join("lists");
    FourLists::tiny().write_to(&dir);
    let mut text = fs::read(dir.join(file)).unwrap();
    text.retain(|byte| *byte != b'\r');
    // Several invalid lines replace the whole list.
    if lines.iter().filter(|byte| **byte == b'\n').count() > 1 {
        text = Vec::new();
    }
    text.extend_from_slice(lines);
    fs::write(dir.join(file), &text).unwrap();
    text.iter().filter(|byte| **byte == b'\n').count()
}

#[test]
fn an_invalid_line_is_reported_with_file_and_column() {
    let program = program();
    for (lines, column, what) in WRONG {
        for file in ["dataset-unpatched", "dataset-patched-compiled"] {
            let line = spoil(&program, file, lines);
            let place = format!("{file}:{line}:{column}: ");
            for verb in [
                &["compilebench", "-D", "w", "-s", "lists"][..],
                &["run", "compilebench", "--dir", "w", "--dataset", "./lists"],
                &["dataset", "import", "lists"],
            ] {
                let ran = program.run(verb).ends_with(2);
                assert!(ran.stderr.contains(&place), "{place}\n{ran}");
                assert!(ran.stderr.contains(what), "{what}\n{ran}");
                assert!(ran.stderr.contains(&format!("\n  {line} | ")), "the line\n{ran}");
                assert!(ran.stderr.starts_with("treering: "), "{ran}");
            }
        }
    }
    assert!(tree_of(&program.home().join("w")).is_empty(), "nothing was done");
    assert!(!program.data().exists(), "nothing was kept");
}

#[test]
fn a_missing_file_is_reported() {
    let program = program();
    spoil(&program, "dataset-unpatched", b"");
    fs::remove_file(program.home().join("lists/dataset-patched")).unwrap();
    let ran = program.run(["compilebench", "-D", "w", "-s", "lists"]).ends_with(2);
    assert!(ran.stderr.contains("dataset-patched is missing"), "{ran}");
}

#[test]
fn an_unknown_name_is_reported_with_the_known_ones() {
    let ran = program().run(["run", "compilebench", "--dir", "w", "--dataset", "linux-6.1-smal"]);
    let ran = ran.ends_with(2).complains("there is no dataset 'linux-6.1-smal'");
    assert!(ran.stderr.contains("did you mean 'linux-6.1-small'?"), "{ran}");
}

#[test]
fn an_imported_data_set_can_be_run_by_its_name() {
    let program = program();
    spoil(&program, "dataset-unpatched", b"");
    program.run(["dataset", "import", "lists", "--name", "mine"]).ends_with(0);
    assert!(program.data().join("datasets").is_dir());
    let listed = program.run(["dataset", "list"]).ends_with(0);
    assert!(listed.stdout.contains("mine"), "{listed}");
    program.run(["dataset", "show", "mine"]).ends_with(0);
    program.run(["dataset", "import", "lists", "--name", "mine"]).ends_with(2).complains("exists");
    program.run(["dataset", "import", "lists", "--name", "mine", "--replace"]).ends_with(0);
    let by_name = ["--dir", "w", "--dataset", "mine", "-i", "1", "-r", "2", "--dry-run"];
    let by_path = ["--dir", "w", "--dataset", "lists", "-i", "1", "-r", "2", "--dry-run"];
    let outline = |words: &[&str]| {
        program.run(["run", "compilebench"].iter().chain(words)).ends_with(0).stdout
    };
    assert_eq!(outline(&by_name), outline(&by_path));
}
