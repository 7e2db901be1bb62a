//! No `unwrap` outside tests: an error is passed on, an invariant is `expect("why it holds")`.
//! Tests are test modules and folders, benches, examples, and the packages that exist for tests.

use super::Problem;
use super::tree::Tree;

/// Folders at the root whose code serves tests only.
const TEST_PACKAGES: &[&str] = &["testkit/", "benches/", "fuzz/"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, rust) in tree.rust() {
        let for_tests = TEST_PACKAGES.iter().any(|folder| file.path.starts_with(folder))
            || file.path.contains("/benches/")
            || file.path.contains("/examples/");
        if for_tests {
            continue;
        }
        for pattern in [".unwrap(", "::unwrap"] {
            for token in rust.find(pattern).into_iter().filter(|t| !rust.is_test(t.line)) {
                let right = "pass the error on, or `expect(\"why it cannot fail\")`";
                problems.push(Problem::new(
                    &file.path,
                    token.line,
                    "`unwrap` outside tests",
                    right,
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    #[test]
    fn unwraps_are_found_also_inside_macro_calls() {
        let text = "fn a() {\n    b().unwrap();\n    format!(\"{}\", b().unwrap());\n    \
                    c.map(Option::unwrap);\n}\n";
        let mut found: Vec<usize> =
            check(&Tree::of(&[("crates/a/src/lib.rs", text)])).iter().map(|p| p.line).collect();
        found.sort_unstable();
        assert_eq!(found, [2, 3, 4]);
    }

    #[test]
    fn tests_other_names_and_words_in_comments_pass() {
        let text = "fn a() {\n    b().unwrap_or(1); // .unwrap()\n}\n\
                    #[cfg(test)]\nmod tests {\n    fn c() { b().unwrap(); }\n}\n";
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", text),
            ("crates/a/tests/all.rs", "fn a() { b().unwrap(); }"),
            ("testkit/src/lib.rs", "fn a() { b().unwrap(); }"),
        ]);
        assert_eq!(check(&tree), []);
    }
}
