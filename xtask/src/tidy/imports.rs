//! The import rule: everything may import `base`; `run`, `keep` and `tell` never import each
//! other; only the command line imports all. A package's room is read off the place of its
//! manifest. Dev-dependencies obey too, except that any package may use `testkit` in its tests.

use super::Problem;
use super::tree::{Dependency, Package, Tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Base,
    Run,
    Keep,
    Tell,
    Cli,
    /// The test library: for tests only.
    Testkit,
    /// Tools, fuzz targets, benches: nobody imports them, they import what they like.
    Outside,
    /// Under `crates/`, but in no room.
    Nowhere,
}

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in &tree.packages {
        if room(&package.folder) == Room::Nowhere {
            let what = format!("`{}` stands in no room", package.name);
            let right =
                "move it to crates/base, run, keep or tell; the command line is crates/treering";
            problems.push(Problem::new(&manifest(package), 1, what, right));
            continue;
        }
        for dependency in &package.dependencies {
            if let Some(right) = fault(package, dependency) {
                let what = format!("`{}` imports `{}`", package.name, dependency.name);
                let line = line_of(tree.text(&manifest(package)), &dependency.name);
                problems.push(Problem::new(&manifest(package), line, what, right));
            }
        }
    }
    problems
}

fn fault(package: &Package, dependency: &Dependency) -> Option<String> {
    let (from, to) = (room(&package.folder), room(dependency.folder.as_deref()?));
    let allowed = match (from, to) {
        (Room::Outside, _) | (Room::Testkit, Room::Base | Room::Run | Room::Keep | Room::Tell) => {
            true
        }
        (_, Room::Testkit) => dependency.dev,
        (_, Room::Cli | Room::Outside | Room::Nowhere) => false,
        (Room::Cli, _) | (_, Room::Base) => true,
        (from, to) => from == to,
    };
    let right = match (from, to) {
        _ if allowed => return None,
        (_, Room::Testkit) => "testkit is a dev-dependency only".to_owned(),
        (_, Room::Cli | Room::Outside | Room::Nowhere) => "nobody imports that one".to_owned(),
        (Room::Base, _) => "base imports nothing of ours outside base".to_owned(),
        (from, _) => {
            let name = format!("{from:?}").to_lowercase();
            format!("{name} imports base and {name}; the rooms meet in the model's words")
        }
    };
    Some(right)
}

fn room(folder: &str) -> Room {
    let parts: Vec<&str> = folder.split('/').collect();
    match parts.as_slice() {
        ["crates", "base", _] => Room::Base,
        ["crates", "run", _] => Room::Run,
        ["crates", "keep", _] => Room::Keep,
        ["crates", "tell", _] => Room::Tell,
        ["crates", "treering"] => Room::Cli,
        ["crates", ..] => Room::Nowhere,
        ["testkit"] => Room::Testkit,
        _ => Room::Outside,
    }
}

/// The manifest of a package.
pub(super) fn manifest(package: &Package) -> String {
    format!("{}/Cargo.toml", package.folder).trim_start_matches('/').to_owned()
}

/// The line that begins with this key, or the first.
pub(super) fn line_of(manifest: Option<&str>, key: &str) -> usize {
    let begins = |line: &str| {
        let rest = line.trim_start().trim_start_matches('"').strip_prefix(key);
        rest.is_some_and(|rest| rest.starts_with([' ', '=', '.', '"']))
    };
    manifest.and_then(|text| text.lines().position(begins)).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::{check, line_of};
    use crate::tidy::tree::{Dependency, Package, Tree};

    fn package(folder: &str, imports: &[(&str, bool)]) -> Package {
        let dependencies = imports
            .iter()
            .map(|(to, dev)| Dependency {
                name: to.rsplit('/').next().unwrap().to_owned(),
                folder: Some((*to).to_owned()),
                dev: *dev,
            })
            .collect();
        Package { name: folder.to_owned(), folder: folder.to_owned(), dependencies }
    }

    fn faults(folder: &str, imports: &[(&str, bool)]) -> Vec<String> {
        let tree = Tree { packages: vec![package(folder, imports)], ..Tree::default() };
        check(&tree).into_iter().map(|problem| problem.right).collect()
    }

    #[test]
    fn base_and_the_own_room_may_be_imported() {
        let imports = [("crates/base/model", false), ("crates/run/script", false)];
        assert!(faults("crates/run/engine", &imports).is_empty());
        assert!(faults("crates/base/sys", &[("crates/base/model", false)]).is_empty());
        assert!(faults("crates/run/engine", &[("testkit", true)]).is_empty());
    }

    #[test]
    fn the_rooms_never_import_each_other_not_even_in_tests() {
        for other in ["crates/keep/store", "crates/tell/report", "crates/treering", "xtask"] {
            assert_eq!(faults("crates/run/engine", &[(other, false)]).len(), 1, "{other}");
            assert_eq!(faults("crates/run/engine", &[(other, true)]).len(), 1, "{other}");
        }
        let found = faults("crates/tell/report", &[("crates/keep/store", true)]);
        assert!(found[0].starts_with("tell imports base and tell"), "{found:?}");
    }

    #[test]
    fn base_imports_base_only_and_testkit_is_for_tests_only() {
        assert_eq!(faults("crates/base/model", &[("crates/run/script", false)]).len(), 1);
        assert_eq!(faults("crates/base/model", &[("testkit", false)]).len(), 1);
    }

    #[test]
    fn the_cli_and_the_tools_import_all() {
        let all = [("crates/run/engine", false), ("crates/keep/store", false)];
        assert!(faults("crates/treering", &all).is_empty());
        assert!(faults("benches", &all).is_empty());
    }

    #[test]
    fn a_package_in_no_room_is_found() {
        assert_eq!(faults("crates/stray", &[]).len(), 1);
        assert_eq!(faults("crates/extra/stray", &[]).len(), 1);
    }

    #[test]
    fn the_line_of_a_dependency_is_found() {
        let text = Some("[dependencies]\nserde_json = \"1\"\nserde.workspace = true\n");
        assert_eq!((line_of(text, "serde"), line_of(text, "serde_json")), (3, 2));
        assert_eq!(line_of(text, "toml"), 1);
    }
}
