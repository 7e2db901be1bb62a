//! `cargo xtask lines`: the lines of code of each crate. A line counts if it is in `src/`, outside
//! tests, and neither blank nor a comment.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::source::RustFile;
use super::tree::{CheckoutTree, TextFile};

/// A line per crate, the largest first, and the total.
pub(super) fn page(tree: &CheckoutTree) -> String {
    let mut lines_by_crate: BTreeMap<&str, usize> = BTreeMap::new();
    for (file, rust) in tree.rust() {
        if let Some((folder, _)) = file.path.split_once("/src/")
            && folder.starts_with("crates/")
        {
            *lines_by_crate.entry(folder).or_default() += count(file, rust);
        }
    }
    let total: usize = lines_by_crate.values().sum();
    let mut crates: Vec<_> = lines_by_crate.into_iter().collect();
    crates.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
    let mut page = String::new();
    for (folder, lines) in crates.into_iter().chain([("total", total)]) {
        let _memory_takes_it = writeln!(page, "{lines:>7} {folder}");
    }
    page
}

fn count(file: &TextFile, rust: &RustFile) -> usize {
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let numbered = (1..).zip(file.text.lines());
    numbered.filter(|(number, line)| is_code(line) && !rust.is_test(*number)).count()
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn tests_comments_and_blank_lines_are_not_counted() {
        let code = "//! Header.\n\n/// Word.\nfn a() {}\n#[cfg(test)]\nmod tests {\n}\n";
        let tree = CheckoutTree::from_texts(&[
            ("crates/x/y/src/lib.rs", code),
            ("crates/x/y/src/other.rs", "fn b() {\n    // Why.\n}\n"),
            ("crates/x/y/tests/all.rs", "fn c() {}\n"),
            ("xtask/src/main.rs", "fn d() {}\n"),
        ]);
        assert_eq!(page(&tree), "      3 crates/x/y\n      3 total\n");
    }
}
