//! No catch-all names: a file or folder of code is called by a noun of the glossary. A file
//! called `util` says nothing and collects everything.

use super::Problem;
use super::tree::CheckoutTree;

const CATCH_ALL: &[&str] =
    &["util", "utils", "utilities", "common", "misc", "imp", "helper", "helpers", "stuff"];

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, _) in tree.rust() {
        for part in file.path.split('/').map(|part| part.trim_end_matches(".rs")) {
            if CATCH_ALL.contains(&part) {
                let what = format!("`{part}` is a catch-all name");
                let right = "name it after what lives there, a noun of the glossary";
                problems.push(Problem::new(&file.path, 1, what, right));
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
        let tree = CheckoutTree::of(&[("a/src/util.rs", ""), ("a/tests/common/mod.rs", "")]);
        let found = check(&tree);
        assert_eq!(found.len(), 2);
        assert!(found[1].what.contains("common"));
    }

    #[test]
    fn nouns_pass_even_when_they_contain_such_a_word() {
        assert_eq!(check(&CheckoutTree::of(&[("a/src/utilisation.rs", ""), ("util.md", "")])), []);
    }
}
