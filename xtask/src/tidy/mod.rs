//! `cargo xtask tidy`: the house rules as a test. Each file here is one check, which examines the
//! whole [`CheckoutTree`] and returns [`Problem`]s. CONTRIBUTING.md lists the rules.

mod below_the_cli;
mod book;
mod circles;
mod code_lines;
mod columns;
mod dependencies;
mod filesystem_names;
mod folders;
mod globs;
mod headers;
mod importers;
mod imports;
mod lengths;
mod links;
mod lints;
mod metric_names;
mod names;
mod openings;
mod plug_ins;
mod private_words;
mod public_items;
mod ratchet;
mod source;
mod string_errors;
mod titles;
mod tree;
mod unused_pub;
mod words;

use std::error::Error;
use std::fmt;
use std::fs;
use std::path::Path;

use ratchet::RATCHET;
use tree::CheckoutTree;

type TidyCheck = fn(&CheckoutTree) -> Vec<Problem>;

/// Every check, in the order of the list in CONTRIBUTING.md.
const CHECKS: &[TidyCheck] = &[
    importers::check,
    imports::check,
    lints::check,
    dependencies::check,
    openings::check,
    plug_ins::check,
    lengths::check,
    columns::check,
    folders::check,
    circles::check,
    headers::check,
    names::check,
    metric_names::check,
    filesystem_names::check,
    globs::check,
    string_errors::check,
    below_the_cli::check,
    unused_pub::check,
    titles::check,
    words::check,
    links::check,
    book::check,
    private_words::check,
];

/// Violation of a rule: location, finding and advice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    path: String,
    line: usize,
    finding: String,
    advice: String,
}

impl Problem {
    fn new(path: &str, line: usize, finding: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, finding: finding.into(), advice: advice.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.finding, self.advice)
    }
}

/// Prints every problem of the checkout; `update` lowers the ratchet first.
pub(crate) fn run(root: &Path, update: bool) -> Result<bool, Box<dyn Error>> {
    let mut tree = CheckoutTree::read(root)?;
    if update {
        let lowered = lengths::lowered(&tree)?;
        if tree.text(RATCHET) != Some(lowered.as_str()) {
            fs::write(root.join(RATCHET), lowered)?;
            println!("tidy: lowered {RATCHET}");
            tree = CheckoutTree::read(root)?;
        }
    }
    let problems = problems(&tree);
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => println!("tidy: {} files, no problem", tree.files.len()),
        1 => println!("tidy: 1 problem in {} files", tree.files.len()),
        many => println!("tidy: {many} problems in {} files", tree.files.len()),
    }
    Ok(problems.is_empty())
}

/// Table of the lines of code of each crate.
pub(crate) fn code_lines(root: &Path) -> Result<String, Box<dyn Error>> {
    Ok(code_lines::page(&CheckoutTree::read(root)?))
}

fn problems(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = tree.faults.clone();
    problems.extend(CHECKS.iter().flat_map(|check| check(tree)));
    problems.sort();
    problems.dedup();
    problems
}

#[cfg(test)]
mod tests {
    use super::tree::CheckoutTree;
    use super::{Problem, problems};

    #[test]
    fn problems_print_location_finding_and_advice() {
        let problem = Problem::new("a/b.rs", 7, "a fault", "fix it");
        assert_eq!(problem.to_string(), "a/b.rs:7: a fault; fix it");
    }

    #[test]
    fn problems_are_sorted_by_location() {
        let tree = CheckoutTree::from_texts(&[
            ("crates/engine/x/src/util.rs", "fn a() { println!(\"x\"); }\n"),
            ("README.md", "no title\n"),
        ]);
        let places: Vec<String> =
            problems(&tree).iter().map(|p| format!("{}:{}", p.path, p.line)).collect();
        assert_eq!(places[0], "README.md:1");
        assert_eq!(places[1..].len(), 3, "header, name and println: {places:?}");
    }

    #[test]
    fn an_empty_checkout_has_no_problem() {
        assert_eq!(problems(&CheckoutTree::from_texts(&[])), []);
    }

    #[test]
    fn unparsable_files_are_reported_and_others_still_checked() {
        let tree =
            CheckoutTree::from_texts(&[("xtask/src/a.rs", "//! Header.\nfn (\n"), ("A.md", "")]);
        let reported = problems(&tree);
        assert_eq!(reported.len(), 2);
        assert!(reported[1].finding.contains("does not parse"), "{}", reported[1]);
    }
}
