//! Trees left on disk by a classic run, compared with a replay of the run's output on a model.

use std::collections::BTreeSet;
use std::path::Path;

use treering_testkit::{FinishedCommand, FourLists, Program, tree_of};

use crate::classic_model::Model;
use crate::program;
use crate::trial::{cautions, last};

fn run(program: &Program, words: &[&str]) -> FinishedCommand {
    program.run(["compilebench", "-s", "lists"].iter().chain(words)).ends_with(0)
}

/// Replays the lines of a run, leaving out those of treering's own.
fn replay(model: &mut Model, ran: &FinishedCommand) {
    ran.stderr.lines().filter(|line| !line.starts_with("treering: ")).for_each(|l| model.line(l));
}

fn assert_standing(model: &Model, dir: &Path, when: &str) {
    assert_eq!(tree_of(dir), model.files, "{when}");
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let tops: BTreeSet<String> = names.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(tops, model.tops, "{when}");
}

#[test]
fn files_equal_the_lists_after_each_operation() {
    let program = program();
    let lists = FourLists::tiny();
    lists.write_to(&program.home().join("lists"));
    let mut last_kinds = BTreeSet::new();
    // A seed determines the sequence of operations: each run is the previous one with one operation
    // more.
    for runs in 0..48 {
        let (dir, runs) = (format!("w{runs}"), runs.to_string());
        let ran = run(&program, &["-D", &dir, "-i", "3", "-r", &runs, "-n", "--no-store"]);
        let mut model = Model::new(&lists);
        replay(&mut model, &ran);
        let last_line = ran.stderr.lines().last().unwrap();
        assert_standing(&model, &program.home().join(&dir), last_line);
        last_kinds.extend(last_line.split(' ').next().map(str::to_owned));
    }
    let kinds = ["clean", "compile", "create", "delete", "patch", "read", "stat"];
    assert_eq!(last_kinds.iter().map(String::as_str).collect::<Vec<_>>(), kinds);
}

#[test]
fn every_byte_is_the_letter_a() {
    let program = program();
    FourLists::tiny().write_to(&program.home().join("lists"));
    run(&program, &["-D", "w", "-i", "3", "-r", "12", "-n"]);
    let dir = program.home().join("w");
    let files = tree_of(&dir);
    assert!(files.len() > 10);
    for (path, size) in files {
        let content = std::fs::read(dir.join(&path)).unwrap();
        assert_eq!(content.len() as u64, size);
        assert!(content.iter().all(|&byte| byte == b'a'), "{path}");
    }
}

#[test]
fn a_second_run_in_a_directory_appends_and_reports_it() {
    let program = program();
    let lists = FourLists::tiny();
    lists.write_to(&program.home().join("lists"));
    let words = ["-D", "w", "-i", "2", "-r", "0"];
    let dir = program.home().join("w");
    let mut model = Model::new(&lists);
    replay(&mut model, &run(&program, &words));
    let before = tree_of(&dir);
    let ran = run(&program, &words);
    model.begin_again();
    replay(&mut model, &ran);
    assert_standing(&model, &dir, "after the second run");
    for (path, size) in tree_of(&dir) {
        assert_eq!(size, before[&path] * 2, "{path}");
    }
    let cautious: Vec<&str> =
        ran.stderr.lines().filter(|line| line.starts_with("treering: ")).collect();
    assert_eq!(
        cautious,
        ["treering: kernel-0 and 1 more trees are there already; as in the original, files will \
          be appended to"]
    );
    assert!(cautions(&last(&program)).contains(&"appended_to_existing"));
    assert!(!ran.stderr.contains("creating"), "the directory was there");
}

#[test]
fn top_directories_of_deleted_trees_stay_and_are_not_reused() {
    let program = program();
    let lists = FourLists::tiny();
    lists.write_to(&program.home().join("lists"));
    let ran = run(&program, &["-D", "w", "-i", "4", "-m", "-n"]);
    let dir = program.home().join("w");
    assert!(tree_of(&dir).is_empty(), "all trees are deleted");
    for number in 0..4 {
        let top = dir.join(format!("kernel-{number}"));
        assert_eq!(std::fs::read_dir(top).unwrap().count(), 0, "the empty top stays");
    }
    assert!(!dir.join("native-0").exists());
    let mut model = Model::new(&lists);
    replay(&mut model, &ran);
    assert_standing(&model, &dir, "makej");
}

#[test]
fn a_temporary_tree_takes_the_first_free_number() {
    let program = program();
    FourLists::tiny().write_to(&program.home().join("lists"));
    std::fs::create_dir_all(program.home().join("w/native-0")).unwrap();
    let ran = run(&program, &["-D", "w", "-i", "1", "-r", "0"]);
    assert!(ran.stderr.contains("native unpatched native-1 0MB in "), "{ran}");
    assert!(program.home().join("w/native-0").is_dir(), "somebody else's stays");
    assert!(!program.home().join("w/native-1").exists());
}
