//! Every .rs file begins with `//!`, 1 to 12 lines: the content of the file, related content
//! elsewhere, and reasons.

use super::Problem;
use super::tree::CheckoutTree;

const LINES_MAX: usize = 12;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, _) in tree.rust() {
        let header: Vec<&str> =
            file.text.lines().take_while(|line| line.starts_with("//!")).collect();
        let advice = format!("begin with `//!`, 1 to {LINES_MAX} lines: what lives here");
        if header.is_empty() {
            problems.push(Problem::new(&file.path, 1, "no header", advice));
        } else if header.iter().all(|line| line.trim_start_matches("//!").trim().is_empty()) {
            problems.push(Problem::new(&file.path, 1, "the header is empty", advice));
        } else if header.len() > LINES_MAX {
            let finding = format!("the header has {} lines", header.len());
            problems.push(Problem::new(&file.path, LINES_MAX + 1, finding, advice));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn missing_empty_and_long_headers_are_reported() {
        let long = "//! Word.\n".repeat(13);
        let tree = CheckoutTree::from_texts(&[
            ("a.rs", "use std::fs;\n"),
            ("b.rs", "//!\n\nfn b() {}\n"),
            ("c.rs", &long),
            ("d.rs", ""),
        ]);
        let places: Vec<String> =
            check(&tree).iter().map(|p| format!("{}:{} {}", p.path, p.line, p.finding)).collect();
        let expected = [
            "a.rs:1 no header",
            "b.rs:1 the header is empty",
            "c.rs:13 the header has 13 lines",
            "d.rs:1 no header",
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn one_to_twelve_lines_pass() {
        let twelve = "//! Word.\n".repeat(12);
        let tree = CheckoutTree::from_texts(&[
            ("a.rs", "//! What lives here.\n\nfn a() {}\n"),
            ("b.rs", &twelve),
        ]);
        assert_eq!(check(&tree), []);
    }
}
