//! Checks that the embedded plans are those of `examples/plans`, and that docs/questions.md has a
//! row for each. `INSTA_UPDATE=always` writes the rows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use treering_conduct::plan::document::Known;
use treering_conduct::plan::{SHIPPED_PLANS_DIR, ShippedPlan, shipped_files, shipped_plan_lines};
use treering_lab::filesystems;

use crate::read_file;

/// Beginning of the table of plans, with its columns.
const HEADING: &str = "| question | plan | minutes | the answer here | elsewhere |\n\
                       |---|---|---|---|---|\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace above")
}

/// Field of a plan's head, with its indented continuation lines; empty if the head lacks it.
fn field(plan: &ShippedPlan, name: &str) -> String {
    let head = plan.text.lines().take_while(|line| line.starts_with('#'));
    let beginning = format!("# {name}: ");
    let mut words: Vec<&str> = Vec::new();
    for line in head.skip_while(|line| !line.starts_with(&beginning)) {
        match line.strip_prefix(&beginning).or_else(|| line.strip_prefix("#   ")) {
            Some(text) => words.push(text.trim()),
            None => break,
        }
    }
    words.join(" ")
}

/// Table of the plans for docs/questions.md.
fn table() -> String {
    let row = |plan: &ShippedPlan| {
        let cells = [plan.question(), format!("`{}`", plan.name)].into_iter();
        let mut fields = ["Minutes", "Answer", "Elsewhere"].map(|name| field(plan, name));
        if fields[1].is_empty() {
            "not measured yet".clone_into(&mut fields[1]);
        }
        let cells: Vec<String> = cells.chain(fields).map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rows: String = ShippedPlan::all().iter().map(row).collect();
    format!("{HEADING}{rows}")
}

#[test]
fn shipped_plans_are_exactly_the_files_of_the_examples() {
    let listed: BTreeSet<String> =
        ShippedPlan::all().iter().map(|plan| format!("{}.toml", plan.name)).collect();
    assert_eq!(listed.len(), ShippedPlan::all().len(), "each name once");
    let files: BTreeSet<String> = fs::read_dir(root().join("examples/plans"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(listed, files);
    for plan in ShippedPlan::all() {
        let minutes: u32 = plan.minutes().parse().unwrap_or_else(|_| panic!("{}", plan.name));
        assert!(minutes > 0, "{}", plan.name);
    }
    let lines = shipped_plan_lines();
    let mail = lines.iter().find(|line| line.starts_with("mail-server ")).unwrap();
    assert!(mail.ends_with("as a mail server does?"), "{mail}");
}

#[test]
fn shipped_plans_equal_their_files_and_need_no_others() {
    let names = filesystems::names();
    for plan in ShippedPlan::all() {
        let known = Known {
            workloads: treering_registry::workloads(),
            filesystems: &names,
            environment: vec![("PATH".to_owned(), "/usr/bin".to_owned())],
            ..Known::default()
        };
        let inside = plan.read(known, false).unwrap_or_else(|failure| panic!("{failure}"));
        let file = read_file(plan.text, &format!("{}.toml", plan.name)).unwrap();
        assert_eq!(inside.variants, file.variants, "{}", plan.name);
        assert_eq!(inside.question, plan.question(), "{}", plan.name);
        assert_eq!(inside.jobs.len(), file.jobs.len(), "{}", plan.name);
        for (own, other) in inside.jobs.iter().zip(&file.jobs) {
            assert_eq!(own.record.files, other.record.files, "{}", plan.name);
        }
    }
}

#[test]
fn a_wrong_name_gets_suggestions() {
    let failure = ShippedPlan::named("mailserver").unwrap_err();
    assert!(failure.hints()[0].starts_with("did you mean mail-server"), "{failure:?}");
    let failure = ShippedPlan::named("nope").unwrap_err();
    assert_eq!(failure.hints(), ["`treering plan list` lists all"]);
    assert!(ShippedPlan::named("demo").is_ok());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the variable of insta asks for the update")]
fn the_page_about_questions_has_a_row_for_each_plan() {
    let path = root().join("docs/questions.md");
    let page = fs::read_to_string(&path).unwrap();
    let begin = page.find(HEADING).expect("the table of plans");
    let end = page[begin..].find("\n\n").map_or(page.len(), |length| begin + length + 1);
    let table = table();
    if page[begin..end] == table {
        return;
    }
    let may_write = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    assert!(may_write, "INSTA_UPDATE=always writes the rows of {}:\n{table}", path.display());
    fs::write(&path, format!("{}{table}{}", &page[..begin], &page[end..])).unwrap();
}

#[test]
fn shipped_job_files_are_found_by_the_paths_in_trials() {
    let files = shipped_files();
    let path = Path::new(SHIPPED_PLANS_DIR).join("../ffsb/mail-server-small.ffsb");
    assert!(files[&path].contains("[filesystem0]"), "{:?}", files.keys());
}
