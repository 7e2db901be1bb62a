//! The checkout in memory, as input of every check: texts, parsed Rust, packages with their
//! dependencies. Only this file reads from disk, so checks can be tested on a few lines.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use super::Problem;
use super::source::RustFile;
use crate::checkout;

/// Folders with data for tests, which are neither code nor documents of the project.
const DATA_FOLDERS: &[&str] = &["fixtures", "snapshots", "seeds", "testdata"];

/// Checkout as input of the checks.
#[derive(Default)]
pub(super) struct CheckoutTree {
    /// Absolute path of the checkout; empty for a tree made of a few texts.
    pub(super) root: String,
    /// Paths of all files of the checkout, including those that are not text.
    pub(super) paths: BTreeSet<String>,
    pub(super) files: Vec<TextFile>,
    pub(super) packages: Vec<Package>,
    /// Errors while reading, reported like other problems.
    pub(super) faults: Vec<Problem>,
}

/// One text file.
pub(super) struct TextFile {
    /// Path relative to the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// Parsed file, if it is Rust, is not test data, and parses.
    pub(super) rust: Option<RustFile>,
}

/// One package of the workspace, as cargo understands its manifest.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub(super) name: String,
    /// Folder of the manifest, relative to the root.
    pub(super) folder: String,
    pub(super) dependencies: Vec<Dependency>,
}

#[derive(Clone, Debug)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// Folder of the dependency, if it is in the workspace.
    pub(super) folder: Option<String>,
    /// True if only tests, examples and benches use it.
    pub(super) dev: bool,
}

impl CheckoutTree {
    /// Reads the checkout. Files that are not UTF-8 are known by path only.
    pub(super) fn read(root: &Path) -> Result<Self, Box<dyn Error>> {
        let mut tree = Self { root: root.display().to_string(), ..Self::default() };
        for path in checkout::files(root)? {
            if let Ok(text) = fs::read_to_string(root.join(&path)) {
                tree.add(&path, &text);
            }
            tree.paths.insert(path);
        }
        tree.add_packages(root);
        tree.mark_test_modules();
        Ok(tree)
    }

    /// Builds a checkout from a few texts, for the tests of the checks.
    #[cfg(test)]
    pub(super) fn from_texts(texts: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in texts {
            tree.add(path, text);
            tree.paths.insert((*path).to_owned());
        }
        tree.mark_test_modules();
        tree
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// The Rust files with their parsed form.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&TextFile, &RustFile)> {
        self.files.iter().filter_map(|file| file.rust.as_ref().map(|rust| (file, rust)))
    }

    /// The manifest at this path as a table; empty if it does not exist or is no TOML.
    pub(super) fn manifest(&self, path: &str) -> toml::Table {
        let table = self.text(path).map(str::parse::<toml::Table>);
        table.and_then(Result::ok).unwrap_or_default()
    }

    /// Documents, without test data.
    pub(super) fn documents(&self) -> impl Iterator<Item = &TextFile> {
        let is_document = |path: &str| checkout::has_extension(path, "md") && !is_data(path);
        self.files.iter().filter(move |file| is_document(&file.path))
    }

    /// True if this folder contains at least one file.
    pub(super) fn has_folder(&self, folder: &str) -> bool {
        let inside = format!("{}/", folder.trim_end_matches('/'));
        let after = self.paths.range(inside.clone()..).next();
        after.is_some_and(|path| path.starts_with(&inside))
    }

    /// Folders with a Cargo.toml, except the root.
    pub(super) fn package_folders(&self) -> impl Iterator<Item = &str> {
        self.paths
            .iter()
            .filter(|path| !is_data(path))
            .filter_map(|p| p.strip_suffix("/Cargo.toml"))
    }

    fn add(&mut self, path: &str, text: &str) {
        let mut rust = None;
        if checkout::has_extension(path, "rs") && !is_data(path) {
            match RustFile::parse(text) {
                Ok(parsed) => rust = Some(parsed),
                Err(error) => {
                    let line = error.span().start().line;
                    let finding = format!("does not parse: {error}");
                    self.faults.push(Problem::new(path, line, finding, "write valid Rust"));
                }
            }
        }
        self.files.push(TextFile { path: path.to_owned(), text: text.to_owned(), rust });
    }

    /// Marks files that their parent declares under `#[cfg(test)]` as test code.
    fn mark_test_modules(&mut self) {
        let declared: Vec<String> =
            self.rust().flat_map(|(file, rust)| rust.test_files(&file.path)).collect();
        for file in &mut self.files {
            let in_tests = file.path.split('/').any(|part| part == "tests" || part == "tests.rs");
            let below = |name: &String| {
                let folder = name.trim_end_matches("/mod.rs").trim_end_matches(".rs");
                file.path == *name || file.path.starts_with(&format!("{folder}/"))
            };
            if let Some(rust) = &mut file.rust
                && (in_tests || declared.iter().any(below))
            {
                rust.all_test = true;
            }
        }
    }

    fn add_packages(&mut self, root: &Path) {
        let manifest = "Cargo.toml";
        match MetadataCommand::new().manifest_path(root.join(manifest)).no_deps().exec() {
            Ok(metadata) => self.packages.extend(packages(root, &metadata)),
            Err(error) => {
                let finding = format!("cargo cannot read the workspace: {error}");
                let finding = finding.trim().replace('\n', " ");
                self.faults.push(Problem::new(manifest, 1, finding, "fix the manifest it names"));
            }
        }
    }
}

/// True for test data, which need not follow the rules.
fn is_data(path: &str) -> bool {
    path.split('/').any(|part| DATA_FOLDERS.contains(&part))
}

fn packages(root: &Path, metadata: &Metadata) -> Vec<Package> {
    let relative = |path: &Path| {
        path.strip_prefix(root).ok().and_then(Path::to_str).unwrap_or_default().to_owned()
    };
    let package = |package: &cargo_metadata::Package| Package {
        name: package.name.to_string(),
        folder: package.manifest_path.parent().map(|p| relative(p.as_ref())).unwrap_or_default(),
        dependencies: package
            .dependencies
            .iter()
            .map(|dependency| Dependency {
                name: dependency.name.clone(),
                folder: dependency.path.as_ref().map(|path| relative(path.as_ref())),
                dev: dependency.kind == DependencyKind::Development,
            })
            .collect(),
    };
    metadata.packages.iter().map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::CheckoutTree;
    use crate::checkout;

    #[test]
    fn test_modules_and_their_submodules_are_test_code() {
        let tree = CheckoutTree::from_texts(&[
            ("x/src/lib.rs", "#[cfg(test)]\nmod oracle;\nmod kept;\n"),
            ("x/src/oracle.rs", "mod deep;\n"),
            ("x/src/oracle/deep.rs", ""),
            ("x/src/kept.rs", ""),
            ("x/tests/a.rs", ""),
        ]);
        let tests: Vec<&str> =
            tree.rust().filter(|(_, r)| r.all_test).map(|(f, _)| f.path.as_str()).collect();
        assert_eq!(tests, ["x/src/oracle.rs", "x/src/oracle/deep.rs", "x/tests/a.rs"]);
    }

    #[test]
    fn samples_are_not_parsed() {
        let tree = CheckoutTree::from_texts(&[("x/tests/fixtures/bad.rs", "fn (")]);
        assert!(tree.faults.is_empty());
        assert!(tree.files[0].rust.is_none());
    }

    #[test]
    fn folders_exist_if_they_contain_a_file() {
        let tree = CheckoutTree::from_texts(&[("a/b/c.md", "")]);
        assert!(tree.has_folder("a/b") && tree.has_folder("a"));
        assert!(!tree.has_folder("a/bb") && !tree.has_folder("b"));
    }

    #[test]
    fn the_real_checkout_can_be_read() {
        let tree = CheckoutTree::read(&checkout::root().unwrap()).unwrap();
        assert!(tree.text("xtask/Cargo.toml").is_some());
        assert!(tree.rust().any(|(file, _)| file.path == "xtask/src/tidy/tree.rs"));
    }
}
