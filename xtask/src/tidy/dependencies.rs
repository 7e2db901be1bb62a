//! Every dependency is a decision: xtask/dependencies.toml lists each with one line of reason under
//! `[direct]`. An entry that no package uses any more must be removed.

use std::collections::BTreeMap;

use super::Problem;
use super::imports::{line_of, manifest};
use super::tree::CheckoutTree;

const LIST: &str = "xtask/dependencies.toml";
const ROOT: &str = "Cargo.toml";
const FUZZ: &str = "fuzz/Cargo.toml";

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let used = used(tree);
    let Some(text) = tree.text(LIST) else {
        let missing = || Problem::new(LIST, 1, "missing", "list every dependency with its reason");
        return if used.is_empty() { Vec::new() } else { vec![missing()] };
    };
    let table = match text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => {
            let finding = format!("not TOML: {}", error.message());
            return vec![Problem::new(LIST, 1, finding, "write valid TOML")];
        }
    };
    let listed = table.get("direct").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let mut problems = Vec::new();
    for (name, place) in &used {
        if !listed.contains_key(name) {
            let finding = format!("dependency `{name}` is not in {LIST}");
            let advice = format!("give its reason in {LIST}, or do without it");
            problems.push(Problem::new(place, line_of(tree.text(place), name), finding, advice));
        }
    }
    for (name, reason) in &listed {
        let line = line_of(Some(text), name);
        if reason.as_str().is_none_or(|reason| reason.trim().is_empty() || reason.contains('\n')) {
            let finding = format!("`{name}` has no reason");
            problems.push(Problem::new(LIST, line, finding, "say in one line why we need it"));
        }
        if !used.contains_key(name) {
            let finding = format!("nothing depends on `{name}`");
            problems.push(Problem::new(LIST, line, finding, "remove the line"));
        }
    }
    problems
}

/// Each external dependency, with the manifest that names it.
fn used(tree: &CheckoutTree) -> BTreeMap<String, String> {
    let mut used = BTreeMap::new();
    for package in &tree.packages {
        for dependency in package.dependencies.iter().filter(|d| d.folder.is_none()) {
            used.insert(dependency.name.clone(), manifest(package));
        }
    }
    // The fuzz crate is a separate workspace, and cargo cannot describe it unless it has a target.
    let fuzz = tree.manifest(FUZZ);
    let root = tree.manifest(ROOT);
    let shared = root.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    for (place, table) in [(FUZZ, fuzz.get("dependencies")), (ROOT, shared)] {
        for name in table.and_then(toml::Value::as_table).into_iter().flat_map(external) {
            used.entry(name).or_insert_with(|| place.to_owned());
        }
    }
    used
}

/// Names of packages in a table of dependencies that are not in the workspace.
fn external(table: &toml::Table) -> impl Iterator<Item = String> {
    let ours = |value: &toml::Value| value.get("path").is_some();
    table.iter().filter(move |(_, value)| !ours(value)).map(|(key, value)| {
        // A renamed dependency counts by the name of its package.
        let package = value.get("package").and_then(toml::Value::as_str);
        package.unwrap_or(key).to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::{LIST, check};
    use crate::tidy::tree::{CheckoutTree, Dependency, Package};

    fn tree(list: &str, imports: &[&str]) -> CheckoutTree {
        let manifest = "[workspace.dependencies]\nours = { path = \"x\" }\ntoml = \"1\"\n";
        let mut tree = CheckoutTree::from_texts(&[(LIST, list), ("Cargo.toml", manifest)]);
        let dependency =
            |name: &&str| Dependency { name: (**name).to_owned(), folder: None, dev: true };
        tree.packages.push(Package {
            name: "a".to_owned(),
            folder: "crates/model".to_owned(),
            dependencies: imports.iter().map(dependency).collect(),
        });
        tree
    }

    #[test]
    fn unlisted_unreasoned_and_unused_dependencies_are_found() {
        let tree = tree("[direct]\ntoml = \"\"\nold = \"was nice\"\n", &["serde"]);
        let problems: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("`serde` is not in xtask/dependencies.toml"));
        assert!(problems[1].starts_with("xtask/dependencies.toml:3: nothing depends on `old`"));
        assert!(problems[2].starts_with("xtask/dependencies.toml:2: `toml` has no reason"));
    }

    #[test]
    fn listed_dependencies_pass() {
        let list = "[direct]\ntoml = \"plans are TOML\"\nserde = \"events are JSON\"\n";
        assert_eq!(check(&tree(list, &["serde"])), []);
    }

    #[test]
    fn a_missing_dependency_list_is_one_problem() {
        let mut tree = tree("", &["serde"]);
        tree.files.retain(|file| file.path != LIST);
        assert_eq!(check(&tree).len(), 1);
    }
}
