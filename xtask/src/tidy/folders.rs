//! A folder of code has at most 20 files; in a larger one, the files on one subject get their own
//! folder.

use std::collections::BTreeMap;

use super::Problem;
use super::tree::CheckoutTree;

const FILES_MAX: usize = 20;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for path in tree.paths.iter().filter(|path| path.starts_with("crates/")) {
        if let Some((folder, _)) = path.rsplit_once('/')
            && format!("{folder}/").contains("/src/")
        {
            *folders.entry(folder).or_default() += 1;
        }
    }
    let full = folders.into_iter().filter(|(_, files)| *files > FILES_MAX);
    full.map(|(folder, files)| {
        let finding = format!("{files} files in a folder; at most {FILES_MAX}");
        Problem::new(folder, 1, finding, "make folders by subject")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{FILES_MAX, check};
    use crate::tidy::tree::CheckoutTree;

    fn problems(folder: &str, files: usize) -> usize {
        let paths: Vec<String> = (0..files).map(|n| format!("{folder}/f{n}.rs")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        check(&CheckoutTree::from_texts(&files)).len()
    }

    #[test]
    fn overfull_code_folders_are_reported() {
        assert_eq!(problems("crates/sys/src", FILES_MAX), 0);
        assert_eq!(problems("crates/sys/src/y", FILES_MAX + 1), 1);
        assert_eq!(problems("crates/sys/tests", FILES_MAX + 1), 0);
        assert_eq!(problems("crates/cli/src", FILES_MAX + 1), 1);
    }
}
