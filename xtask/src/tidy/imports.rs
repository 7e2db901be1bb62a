//! Layers of packages and their imports: model <- sys, stats, trace <- engine <- tools, machine <-
//! conduct <- results <- cli. The store and the report import model, stats and trace only. The
//! folder of a package decides its layer. Dev-dependencies obey as well, except that any package
//! may use `testkit`, and that tests of a layer may use the layers below the command line that it
//! serves.

use super::Problem;
use super::tree::{CheckoutTree, Dependency, Package};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PackageLayer {
    Model,
    Sys,
    Stats,
    Trace,
    Engine,
    /// Code shared by the tools.
    Kit,
    /// A tool, by the name of its folder.
    Tool,
    /// The list of the tools.
    Registry,
    Machine,
    Conduct,
    Store,
    Report,
    /// Results in stores, as plans and comparisons ask for them.
    Results,
    Cli,
    /// The test library: a dev-dependency only.
    Testkit,
    /// xtask, fuzz targets, benches: they may import any package, and none imports them.
    Outside,
    /// A folder under `crates/` that belongs to no layer.
    Nowhere,
}

/// Tools that are composed of others.
const COMPOSED: [(&str, &[&str]); 2] = [("age", &["compilebench"]), ("io500", &["ior", "mdtest"])];

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in &tree.packages {
        if layer_of(&package.folder) == PackageLayer::Nowhere {
            let finding = format!("`{}` is in no layer", package.name);
            let advice = "move it into a layer of ARCHITECTURE.md; the command line is crates/cli";
            problems.push(Problem::new(&manifest(package), 1, finding, advice));
            continue;
        }
        for dependency in &package.dependencies {
            if let Some(advice) = fault(package, dependency) {
                let finding = format!("`{}` imports `{}`", package.name, dependency.name);
                let line = line_of(tree.text(&manifest(package)), &dependency.name);
                problems.push(Problem::new(&manifest(package), line, finding, advice));
            }
        }
    }
    problems
}

fn fault(package: &Package, dependency: &Dependency) -> Option<String> {
    let folder = dependency.folder.as_deref()?;
    let (from, to) = (layer_of(&package.folder), layer_of(folder));
    let is_allowed = match (from, to) {
        (PackageLayer::Outside, _) => true,
        (_, PackageLayer::Cli | PackageLayer::Outside | PackageLayer::Nowhere) => false,
        (PackageLayer::Testkit, _) => true,
        (_, PackageLayer::Testkit) => dependency.dev,
        (PackageLayer::Tool, PackageLayer::Tool) => is_composed(&package.folder, folder),
        (PackageLayer::Conduct, PackageLayer::Registry | PackageLayer::Kit) => dependency.dev,
        _ => from == to || allowed_layers(from).contains(&to),
    };
    if is_allowed {
        return None;
    }
    Some(match (from, to) {
        (_, PackageLayer::Testkit) => "testkit is a dev-dependency only".to_owned(),
        (_, PackageLayer::Cli | PackageLayer::Outside | PackageLayer::Nowhere) => {
            "nobody imports that one".to_owned()
        }
        (PackageLayer::Tool, PackageLayer::Tool) => "tools meet in `kit`".to_owned(),
        (from, _) => {
            let names =
                allowed_layers(from).iter().map(|layer| format!("{layer:?}").to_lowercase());
            let names: Vec<String> = names.collect();
            format!("{} imports only: {}", format!("{from:?}").to_lowercase(), names.join(" "))
        }
    })
}

/// Layers that a layer may import, besides itself.
fn allowed_layers(layer: PackageLayer) -> &'static [PackageLayer] {
    use PackageLayer::{
        Conduct, Engine, Kit, Machine, Model, Registry, Report, Results, Stats, Store, Sys, Tool,
        Trace,
    };
    match layer {
        Sys | Stats | Trace => &[Model],
        Store => &[Model, Stats, Trace],
        Report => &[Model, Stats, Trace],
        Engine => &[Model, Sys, Stats],
        Kit => &[Model, Sys, Engine],
        Tool => &[Model, Stats, Engine, Kit],
        Registry => &[Model, Engine, Kit, Tool],
        Machine => &[Model, Sys, Stats, Trace, Engine],
        Conduct => &[Model, Sys, Stats, Trace, Engine, Machine, Tool],
        Results => &[Model, Sys, Stats, Trace, Engine, Machine, Conduct, Registry, Store, Report],
        PackageLayer::Cli => &[
            Model, Sys, Stats, Trace, Engine, Kit, Tool, Registry, Machine, Conduct, Store, Report,
            Results,
        ],
        Model | PackageLayer::Testkit | PackageLayer::Outside | PackageLayer::Nowhere => &[],
    }
}

/// True if a tool is composed of another one.
fn is_composed(from: &str, to: &str) -> bool {
    let name = |folder: &str| folder.rsplit('/').next().unwrap_or_default().to_owned();
    let (from, to) = (name(from), name(to));
    COMPOSED.iter().any(|(tool, parts)| *tool == from && parts.contains(&to.as_str()))
}

fn layer_of(folder: &str) -> PackageLayer {
    let parts: Vec<&str> = folder.split('/').collect();
    match parts.as_slice() {
        ["crates", "model"] => PackageLayer::Model,
        ["crates", "sys"] => PackageLayer::Sys,
        ["crates", "stats"] => PackageLayer::Stats,
        ["crates", "trace"] => PackageLayer::Trace,
        ["crates", "engine", _] => PackageLayer::Engine,
        ["crates", "tools", "kit" | "datasets"] => PackageLayer::Kit,
        ["crates", "tools", "registry"] => PackageLayer::Registry,
        ["crates", "tools", _] => PackageLayer::Tool,
        ["crates", "machine", _] => PackageLayer::Machine,
        ["crates", "conduct"] => PackageLayer::Conduct,
        ["crates", "store", _] => PackageLayer::Store,
        ["crates", "report", _] => PackageLayer::Report,
        ["crates", "results"] => PackageLayer::Results,
        ["crates", "cli"] => PackageLayer::Cli,
        ["crates", ..] => PackageLayer::Nowhere,
        ["testkit"] => PackageLayer::Testkit,
        _ => PackageLayer::Outside,
    }
}

/// Path of a package's manifest.
pub(super) fn manifest(package: &Package) -> String {
    format!("{}/Cargo.toml", package.folder).trim_start_matches('/').to_owned()
}

/// Number of the line that begins with this key, or 1.
pub(super) fn line_of(manifest: Option<&str>, key: &str) -> usize {
    let begins = |line: &str| {
        let tail = line.trim_start().trim_start_matches('"').strip_prefix(key);
        tail.is_some_and(|tail| tail.starts_with([' ', '=', '.', '"']))
    };
    manifest.and_then(|text| text.lines().position(begins)).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::{check, line_of};
    use crate::tidy::tree::{CheckoutTree, Dependency, Package};

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
        let tree =
            CheckoutTree { packages: vec![package(folder, imports)], ..CheckoutTree::default() };
        check(&tree).into_iter().map(|problem| problem.advice).collect()
    }

    #[test]
    fn packages_may_import_lower_layers_and_their_own() {
        let imports = [("crates/model", false), ("crates/engine/script", false)];
        assert!(faults("crates/engine/engine", &imports).is_empty());
        assert!(faults("crates/trace", &[("crates/model", false)]).is_empty());
        assert!(faults("crates/tools/fio", &[("crates/tools/kit", false)]).is_empty());
        assert!(faults("crates/conduct", &[("crates/machine/lab", false)]).is_empty());
        assert!(faults("crates/engine/engine", &[("testkit", true)]).is_empty());
    }

    #[test]
    fn imports_of_higher_layers_and_neighbours_are_rejected_even_in_tests() {
        for other in ["crates/store/store", "crates/tools/fio", "crates/cli", "xtask"] {
            for dev in [false, true] {
                assert_eq!(faults("crates/engine/engine", &[(other, dev)]).len(), 1, "{other}");
            }
        }
        let faults_reported = faults("crates/report/report", &[("crates/store/store", true)]);
        assert_eq!(faults_reported, ["report imports only: model stats trace"]);
        assert_eq!(faults("crates/sys", &[("crates/stats", false)]).len(), 1);
        assert_eq!(faults("crates/model", &[("testkit", false)]).len(), 1);
    }

    #[test]
    fn tools_do_not_import_one_another_unless_they_are_composed() {
        assert!(faults("crates/tools/io500", &[("crates/tools/ior", false)]).is_empty());
        let faults_reported = faults("crates/tools/ior", &[("crates/tools/mdtest", false)]);
        assert_eq!(faults_reported, ["tools meet in `kit`"]);
    }

    #[test]
    fn the_cli_and_xtask_may_import_everything() {
        let dependencies = [("crates/engine/engine", false), ("crates/store/store", false)];
        assert!(faults("crates/cli", &dependencies).is_empty());
        assert!(faults("benches", &dependencies).is_empty());
    }

    #[test]
    fn packages_outside_all_layers_are_reported() {
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
