//! Files have no catch-all names: a file or folder of code is named by a noun of the glossary. A
//! file named `util` says nothing and collects everything.

use super::Problem;
use super::tree::CheckoutTree;

const CATCH_ALL: &[&str] =
    &["util", "utils", "utilities", "common", "misc", "imp", "helper", "helpers", "stuff"];

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, _) in tree.rust() {
        for part in file.path.split('/').map(|part| part.trim_end_matches(".rs")) {
            if CATCH_ALL.contains(&part) {
                let finding = format!("`{part}` is a catch-all name");
                let advice = "name it after what lives there, a noun of the glossary";
                problems.push(Problem::new(&file.path, 1, finding, advice));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn catch_all_files_and_folders_are_found() {
        let tree =
            CheckoutTree::from_texts(&[("a/src/util.rs", ""), ("a/tests/common/mod.rs", "")]);
        let problems = check(&tree);
        assert_eq!(problems.len(), 2);
        assert!(problems[1].finding.contains("common"));
    }

    #[test]
    fn nouns_containing_a_catch_all_word_pass() {
        assert_eq!(
            check(&CheckoutTree::from_texts(&[("a/src/utilisation.rs", ""), ("util.md", "")])),
            []
        );
    }
}
