//! Files of a crate must not use one another in a circle of any length, so that a reader of a file
//! can first read the files that it uses.
//!
//! A file and those in the folder of its name form no circle: a `mod.rs` lists its children, which
//! use its definitions. A name that a file only reexports (`pub use`) counts for the file that
//! defines it. Test code is left out. The uses are read in `uses`.

mod uses;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Problem;
use super::tree::CheckoutTree;
use uses::{ModulePath, uses};

/// Modules used by each module of a crate.
type UseGraph = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut crates: BTreeSet<&str> = BTreeSet::new();
    for (file, _) in tree.rust().filter(|(file, _)| file.path.starts_with("crates/")) {
        crates.extend(file.path.split_once("/src/").map(|(folder, _)| folder));
    }
    crates.into_iter().flat_map(|folder| circles_of(tree, folder)).collect()
}

fn circles_of(tree: &CheckoutTree, folder: &str) -> Vec<Problem> {
    let inside = format!("{folder}/src/");
    let files = tree.rust().filter(|(file, rust)| file.path.starts_with(&inside) && !rust.all_test);
    let files: BTreeMap<ModulePath, (&str, _)> = files
        .map(|(file, rust)| (module(&file.path[inside.len()..]), (file.path.as_str(), rust)))
        .collect();
    let graph: UseGraph =
        uses(&files.iter().map(|(module, (_, rust))| (module.clone(), *rust)).collect());
    let mut problems = Vec::new();
    let mut reported: BTreeSet<&ModulePath> = BTreeSet::new();
    for module in graph.keys() {
        let Some(circle) = circle(&graph, module) else { continue };
        if !circle.iter().any(|module| reported.contains(module)) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            let finding = format!("files use one another in a circle: {}", names.join(" → "));
            let advice = "move what both need into a file of its own";
            problems.push(Problem::new(files[module].0, 1, finding, advice));
        }
        reported.extend(circle);
    }
    problems
}

/// Module of a file, by the path below `src`: `a/b.rs` and `a/b/mod.rs` are `a::b`, and `lib.rs` is
/// the top.
fn module(path: &str) -> ModulePath {
    let path = path.trim_end_matches(".rs");
    let mut names: ModulePath = path.split('/').map(str::to_owned).collect();
    let is_top = names.len() == 1 && matches!(path, "lib" | "main");
    if is_top || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names
}

/// True if the modules are equal or one contains the other.
fn is_within(left: &ModulePath, advice: &ModulePath) -> bool {
    left.starts_with(advice) || advice.starts_with(left)
}

/// Shortest path from a module back to itself, including both ends.
fn circle<'g>(graph: &'g UseGraph, from: &'g ModulePath) -> Option<Vec<&'g ModulePath>> {
    let mut before: BTreeMap<&ModulePath, &ModulePath> = BTreeMap::new();
    let mut next = VecDeque::from([from]);
    while let Some(module) = next.pop_front() {
        for used in graph.get(module)?.iter().filter(|used| !is_within(used, module)) {
            if used == from {
                let mut circle = vec![from, module];
                while let Some(earlier) = before.get(circle[circle.len() - 1]) {
                    circle.push(earlier);
                }
                circle.reverse();
                return Some(circle);
            }
            if !before.contains_key(used) {
                before.insert(used, module);
                next.push_back(used);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    fn circles_in(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(path, text)| (format!("crates/store/x/src/{path}"), *text))
            .collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        check(&CheckoutTree::from_texts(&files))
            .into_iter()
            .map(|problem| problem.finding)
            .collect()
    }

    #[test]
    fn circles_are_found_with_every_form_of_import() {
        let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\npub use c::{C, D as E};\n");
        let b = ("b.rs", "fn b() { super::c::c() }\n");
        for c in ["use crate::{a::A, b};", "use super::a::*;", "fn c() { crate::a::a() }"] {
            let files = [lib, ("a.rs", "use crate::b::{self, B};\n"), b, ("c.rs", c)];
            let circles = circles_in(&files);
            assert_eq!(circles, ["files use one another in a circle: a → b → c → a"]);
        }
    }

    #[test]
    fn reexported_names_count_for_their_defining_file() {
        let lib = "mod a;\nmod b;\nmod c;\npub use a::A;\npub use b::B as Other;\npub use c::*;\n";
        let files = [
            ("lib.rs", lib),
            ("a.rs", "use crate::Other;\nstruct A;\n"),
            ("b.rs", "use crate::A;\n"),
        ];
        assert_eq!(circles_in(&files).len(), 1);
        let files = [("lib.rs", lib), ("a.rs", "use crate::B2;\n"), ("b.rs", "use crate::A;\n")];
        assert_eq!(circles_in(&files).len(), 0);
    }

    #[test]
    fn parent_modules_and_tests_form_no_circle() {
        let files = [
            ("lib.rs", "mod a;\nstruct L;\nconst ALL: &[L] = &[a::A];\n"),
            ("a/mod.rs", "mod b;\nuse crate::L;\nuse b::B;\nstruct A;\n"),
            ("a/b.rs", "use super::A;\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n"),
            ("c.rs", "use crate::a::A;\n"),
        ];
        assert_eq!(circles_in(&files), [""; 0]);
    }
}
