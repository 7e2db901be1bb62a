//! The import rule of the house: model <- sys, stats, trace <- engine <- tools, machine <- conduct
//! <- cli. The store and the report know model, stats and trace only. A package's room is read off
//! the place of its manifest. Dev-dependencies obey too, except that any package may use `testkit`,
//! and that the tests of a room may use the rooms below the command line that it serves.

use super::Problem;
use super::tree::{Dependency, Package, Tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Model,
    Sys,
    Stats,
    Trace,
    Engine,
    /// Shared by the tools.
    Kit,
    /// A tool, by the name of its folder.
    Tool,
    /// The list of the tools.
    Registry,
    Machine,
    Conduct,
    Store,
    Report,
    Cli,
    /// The test library: for tests only.
    Testkit,
    /// xtask, fuzz targets, benches: nobody imports them, they import anything.
    Outside,
    /// Under `crates/`, but in no room.
    Nowhere,
}

/// Tools that are made of others.
const COMPOSED: [(&str, &[&str]); 2] = [("age", &["compilebench"]), ("io500", &["ior", "mdtest"])];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in &tree.packages {
        if room(&package.folder) == Room::Nowhere {
            let what = format!("`{}` stands in no room", package.name);
            let right = "move it into a room of ARCHITECTURE.md; the command line is crates/cli";
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
    let folder = dependency.folder.as_deref()?;
    let (from, to) = (room(&package.folder), room(folder));
    let is_allowed = match (from, to) {
        (Room::Outside, _) => true,
        (_, Room::Cli | Room::Outside | Room::Nowhere) => false,
        (Room::Testkit, _) => true,
        (_, Room::Testkit) => dependency.dev,
        (Room::Tool, Room::Tool) => is_composed(&package.folder, folder),
        (Room::Conduct, Room::Registry | Room::Kit) => dependency.dev,
        _ => from == to || below(from).contains(&to),
    };
    if is_allowed {
        return None;
    }
    Some(match (from, to) {
        (_, Room::Testkit) => "testkit is a dev-dependency only".to_owned(),
        (_, Room::Cli | Room::Outside | Room::Nowhere) => "nobody imports that one".to_owned(),
        (Room::Tool, Room::Tool) => "tools meet in `kit`".to_owned(),
        (from, _) => {
            let names = below(from).iter().map(|room| format!("{room:?}").to_lowercase());
            let names: Vec<String> = names.collect();
            format!("{} imports only: {}", format!("{from:?}").to_lowercase(), names.join(" "))
        }
    })
}

/// The rooms that a room may import, beside itself.
fn below(room: Room) -> &'static [Room] {
    use Room::{
        Conduct, Engine, Kit, Machine, Model, Registry, Report, Stats, Store, Sys, Tool, Trace,
    };
    match room {
        Sys | Stats | Trace => &[Model],
        Store => &[Model, Stats, Trace],
        Report => &[Model, Stats, Trace],
        Engine => &[Model, Sys, Stats],
        Kit => &[Model, Sys, Engine],
        Tool => &[Model, Stats, Engine, Kit],
        Registry => &[Model, Engine, Kit, Tool],
        Machine => &[Model, Sys, Stats, Trace, Engine],
        Conduct => &[Model, Sys, Stats, Trace, Engine, Machine, Tool],
        Room::Cli => &[
            Model, Sys, Stats, Trace, Engine, Kit, Tool, Registry, Machine, Conduct, Store, Report,
        ],
        Model | Room::Testkit | Room::Outside | Room::Nowhere => &[],
    }
}

/// Whether a tool is made of another one.
fn is_composed(from: &str, to: &str) -> bool {
    let name = |folder: &str| folder.rsplit('/').next().unwrap_or_default().to_owned();
    let (from, to) = (name(from), name(to));
    COMPOSED.iter().any(|(tool, parts)| *tool == from && parts.contains(&to.as_str()))
}

fn room(folder: &str) -> Room {
    let parts: Vec<&str> = folder.split('/').collect();
    match parts.as_slice() {
        ["crates", "model"] => Room::Model,
        ["crates", "sys"] => Room::Sys,
        ["crates", "stats"] => Room::Stats,
        ["crates", "trace"] => Room::Trace,
        ["crates", "engine", _] => Room::Engine,
        ["crates", "tools", "kit" | "datasets"] => Room::Kit,
        ["crates", "tools", "registry"] => Room::Registry,
        ["crates", "tools", _] => Room::Tool,
        ["crates", "machine", _] => Room::Machine,
        ["crates", "conduct"] => Room::Conduct,
        ["crates", "store", _] => Room::Store,
        ["crates", "report", _] => Room::Report,
        ["crates", "cli"] => Room::Cli,
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
    fn lower_rooms_and_the_own_room_may_be_imported() {
        let imports = [("crates/model", false), ("crates/engine/script", false)];
        assert!(faults("crates/engine/engine", &imports).is_empty());
        assert!(faults("crates/trace", &[("crates/model", false)]).is_empty());
        assert!(faults("crates/tools/fio", &[("crates/tools/kit", false)]).is_empty());
        assert!(faults("crates/conduct", &[("crates/machine/lab", false)]).is_empty());
        assert!(faults("crates/engine/engine", &[("testkit", true)]).is_empty());
    }

    #[test]
    fn higher_rooms_and_neighbours_are_refused_also_in_tests() {
        for other in ["crates/store/store", "crates/tools/fio", "crates/cli", "xtask"] {
            for dev in [false, true] {
                assert_eq!(faults("crates/engine/engine", &[(other, dev)]).len(), 1, "{other}");
            }
        }
        let found = faults("crates/report/report", &[("crates/store/store", true)]);
        assert_eq!(found, ["report imports only: model stats trace"]);
        assert_eq!(faults("crates/sys", &[("crates/stats", false)]).len(), 1);
        assert_eq!(faults("crates/model", &[("testkit", false)]).len(), 1);
    }

    #[test]
    fn tools_do_not_import_one_another_unless_they_are_composed() {
        assert!(faults("crates/tools/io500", &[("crates/tools/ior", false)]).is_empty());
        let found = faults("crates/tools/ior", &[("crates/tools/mdtest", false)]);
        assert_eq!(found, ["tools meet in `kit`"]);
    }

    #[test]
    fn the_cli_and_the_tasks_of_the_project_import_all() {
        let all = [("crates/engine/engine", false), ("crates/store/store", false)];
        assert!(faults("crates/cli", &all).is_empty());
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
