//! Contents of the published program: every package that is compiled into it, as a list of
//! licences (`cargo xtask licenses`) and as an SBOM in CycloneDX (`cargo xtask sbom`).
//!
//! Both come from `cargo metadata` and the lock file, sorted and without a date, so that equal
//! sources give equal bytes. Packaging itself is in scripts/dist.sh.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId, Target};
use serde_json::{Value, json};

/// The package of the program.
const PROGRAM: &str = "treering";
/// Depth of folders searched for licences: bundled C libraries have theirs in their own folders.
const DEPTH: usize = 2;
/// Prefixes of names of licence files, in lower case.
const NAMES: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// Packages in the program for a target, including those of the workspace, by name and version.
struct ProgramPackages {
    packages: Vec<Package>,
    /// Direct dependencies of each package.
    uses: BTreeMap<PackageId, BTreeSet<PackageId>>,
}

impl ProgramPackages {
    fn read(root: &Path, target: &str) -> Result<Self, Box<dyn Error>> {
        let only = ["--locked", "--filter-platform", target].map(str::to_owned);
        let metadata = MetadataCommand::new().current_dir(root).other_options(only).exec()?;
        let uses = compiled_packages(&metadata).ok_or("cargo metadata has no dependency graph")?;
        let mut packages = metadata.packages;
        packages.retain(|package| uses.contains_key(&package.id));
        packages.sort_by(|a, b| (&*a.name, &a.version).cmp(&(&*b.name, &b.version)));
        Ok(Self { packages, uses })
    }

    fn foreign(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.source.is_some())
    }
}

/// Packages compiled into the program with their direct dependencies. Macros and build scripts only
/// run at build time and are left out.
fn compiled_packages(metadata: &Metadata) -> Option<BTreeMap<PackageId, BTreeSet<PackageId>>> {
    let nodes = &metadata.resolve.as_ref()?.nodes;
    let package = |id: &PackageId| metadata.packages.iter().find(|package| package.id == *id);
    let is_macro = |id: &PackageId| {
        package(id).is_some_and(|package| package.targets.iter().any(Target::is_proc_macro))
    };
    let first = metadata.packages.iter().find(|package| package.name == PROGRAM)?;
    let mut pending = vec![first.id.clone()];
    let mut packages_by_id = BTreeMap::new();
    while let Some(id) = pending.pop() {
        if packages_by_id.contains_key(&id) {
            continue;
        }
        let node = nodes.iter().find(|node| node.id == id)?;
        let is_compiled_in = |kinds: &[cargo_metadata::DepKindInfo]| {
            kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
        };
        let dependencies =
            node.deps.iter().filter(|dependency| is_compiled_in(&dependency.dep_kinds));
        let dependencies =
            dependencies.map(|dependency| dependency.pkg.clone()).filter(|id| !is_macro(id));
        let dependencies: BTreeSet<PackageId> = dependencies.collect();
        pending.extend(dependencies.iter().cloned());
        packages_by_id.insert(id, dependencies);
    }
    Some(packages_by_id)
}

/// Every third-party package with its licences, and each licence text once.
pub(crate) fn licenses(root: &Path, target: &str) -> Result<String, Box<dyn Error>> {
    let parts = ProgramPackages::read(root, target)?;
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut page = "The packages that treering is made of, and their licences.\n\n".to_owned();
    for package in parts.foreign() {
        let named = format!("{} {}", package.name, package.version);
        let license = package.license.as_deref().unwrap_or("see its text below");
        page += &format!("{named}: {license}\n");
        let folder = package.manifest_path.parent().ok_or("a manifest in no folder")?;
        for file in files(folder.as_std_path(), DEPTH)? {
            let text = String::from_utf8_lossy(&fs::read(&file)?).replace('\r', "");
            texts.entry(text.trim().to_owned()).or_default().insert(named.clone());
        }
    }
    for (text, of) in texts {
        let of: Vec<String> = of.into_iter().collect();
        page += &format!("\n{}\nOf {}:\n\n{text}\n", "=".repeat(72), of.join(", "));
    }
    Ok(page)
}

/// Licence files in a folder and below it.
fn files(folder: &Path, depth: usize) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut licences = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.file_type()?.is_dir() {
            if depth > 0 {
                licences.extend(files(&entry.path(), depth - 1)?);
            }
        } else if NAMES.iter().any(|begin| name.starts_with(begin)) {
            licences.push(entry.path());
        }
    }
    licences.sort();
    Ok(licences)
}

/// The packages as a CycloneDX 1.5 document, in JSON.
pub(crate) fn sbom(root: &Path, target: &str) -> Result<String, Box<dyn Error>> {
    let parts = ProgramPackages::read(root, target)?;
    let checksums = checksums(&fs::read_to_string(root.join("Cargo.lock"))?)?;
    let reference = |package: &Package| format!("pkg:cargo/{}@{}", package.name, package.version);
    let component = |package: &Package| {
        let kind = if package.name == PROGRAM { "application" } else { "library" };
        let mut component_json = json!({
            "type": kind,
            "bom-ref": reference(package),
            "name": package.name.as_str(),
            "version": package.version.to_string(),
            "purl": reference(package),
        });
        if let Some(license) = &package.license {
            // Older packages use a slash for OR.
            component_json["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
        }
        let named = (package.name.to_string(), package.version.to_string());
        if let Some(checksum) = checksums.get(&named) {
            component_json["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        component_json
    };
    let of = |id: &PackageId| parts.packages.iter().find(|package| package.id == *id);
    let dependencies = parts.packages.iter().map(|package| {
        let mut dependencies: Vec<String> =
            parts.uses[&package.id].iter().filter_map(of).map(reference).collect();
        dependencies.sort();
        json!({ "ref": reference(package), "dependsOn": dependencies })
    });
    let program = parts.packages.iter().find(|package| package.name == PROGRAM);
    let libraries = parts.packages.iter().filter(|package| package.name != PROGRAM);
    let page = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": program.map(component) },
        "components": libraries.map(component).collect::<Vec<Value>>(),
        "dependencies": dependencies.collect::<Vec<Value>>(),
    });
    Ok(format!("{page:#}\n"))
}

/// Checksums in the lock file, by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>, Box<dyn Error>> {
    let lock: toml::Table = lock.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let text = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let locked = |package: &toml::Value| {
        let named = (text(package, "name")?, text(package, "version")?);
        Some((named, text(package, "checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(locked).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{licenses, sbom};
    use crate::checkout::root;

    const TARGET: &str = "x86_64-unknown-linux-gnu";

    #[test]
    fn the_sbom_lists_exactly_the_compiled_packages_with_checksums() {
        let page: Value = serde_json::from_str(&sbom(&root().unwrap(), TARGET).unwrap()).unwrap();
        assert_eq!(page["metadata"]["component"]["name"], "treering");
        let components = page["components"].as_array().unwrap();
        let find = |name: &str| components.iter().find(|component| component["name"] == name);
        assert_eq!(find("rusqlite").unwrap()["hashes"][0]["alg"], "SHA-256");
        assert!(find("treering-model").unwrap().get("hashes").is_none());
        for absent in ["insta", "proptest", "cc", "clap_derive", "treering-testkit", "xtask"] {
            assert!(find(absent).is_none(), "{absent}");
        }
        let refs: Vec<&Value> = components.iter().map(|component| &component["bom-ref"]).collect();
        for dependency in page["dependencies"].as_array().unwrap() {
            for reference in dependency["dependsOn"].as_array().unwrap() {
                assert!(refs.contains(&reference), "{reference}");
            }
        }
    }

    #[test]
    fn every_licence_is_listed_once_with_the_packages_that_have_it() {
        let page = licenses(&root().unwrap(), TARGET).unwrap();
        for part in ["\nclap 4", "\nserde 1", "\nzstd-sys 2", "Permission is hereby granted"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("\ntreering"), "ours has files of its own");
    }
}
