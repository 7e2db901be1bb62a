//! `cargo xtask check`: the checks that a developer runs between two edits: formatting, clippy, the
//! house rules, and the tests of the changed packages and of those that import them.
//!
//! Tests that hold loop devices take minutes and are left to `cargo xtask ci`; of the command line
//! only the golden tests run.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::thread;

use cargo_metadata::{MetadataCommand, Package};

use crate::ci::{self, CiStep};
use crate::fmt;

/// Files outside all packages that every package depends on.
const SHARED_FILES: [&str; 4] = ["Cargo.toml", "Cargo.lock", "clippy.toml", ".cargo/config.toml"];
/// Folders outside all packages that the command line embeds or tests.
const COMMAND_LINE_FOLDERS: [&str; 2] = ["docs/", "examples/"];
const COMMAND_LINE: &str = "treering";
/// Test programs that need loop devices, each with a filter for its tests that need none.
const TESTS_WITHOUT_DEVICES: [(&str, &str); 1] = [("cli", "reference::")];

/// Checks the files that differ from the commit `base`; without one, from the commit at which the
/// branch left `main`, or on `main` from the last commit.
pub(crate) fn run(root: &Path, base: Option<&str>) -> Result<bool, Box<dyn Error>> {
    let files = changed_files(root, base)?;
    let metadata = MetadataCommand::new().current_dir(root).no_deps().exec()?;
    let affected = affected(root, &metadata.packages, &files);
    let list = affected.iter().copied().collect::<Vec<_>>().join(", ");
    println!("{} files changed; tests of: {list}", files.len());
    let mut programs = ci::build(root)?;
    programs.retain(|program| affected.contains(program.package.as_str()));
    let mut quick = Vec::new();
    for program in programs {
        match TESTS_WITHOUT_DEVICES.iter().find(|(target, _)| *target == program.target) {
            Some((_, filter)) => quick.push(program.only(filter)),
            None if program.is_on_devices() => {}
            None => quick.push(program),
        }
    }
    let formatted = fmt::run_on(root, &files, true)?;
    // clippy checks one crate after the other, and tests wait, so each uses CPU time that the other
    // leaves.
    let (rules, tally) = thread::scope(|scope| {
        let rules = scope.spawn(|| ci::run(root, 0, &[CiStep::Clippy, CiStep::Tidy]));
        let tally = ci::run_some(&quick);
        (rules.join().expect("a step that fails does not panic"), tally)
    });
    println!("{tally}; tests on loop devices are left to `make test`");
    Ok(formatted && rules && tally.failed == 0)
}

/// Files that differ from the base, and new files that git does not ignore.
fn changed_files(root: &Path, base: Option<&str>) -> Result<Vec<String>, Box<dyn Error>> {
    let git = |arguments: &[&str]| -> Result<String, Box<dyn Error>> {
        let mut command = Command::new("git");
        let out = command.args(["-c", "safe.directory=*"]).args(arguments).current_dir(root);
        let out = out.output()?;
        if !out.status.success() {
            return Err(format!("git {}: {}", arguments.join(" "), text(&out.stderr)).into());
        }
        Ok(text(&out.stdout))
    };
    let base = match base {
        Some(base) => base.to_owned(),
        None => git(&["merge-base", "HEAD", "main"]).unwrap_or_else(|_| "HEAD".to_owned()),
    };
    let mut names = git(&["diff", "--name-only", &base])?;
    names.push('\n');
    names += &git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(names.lines().filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

/// Packages that these files belong to, and all that import them.
fn affected<'p>(root: &Path, packages: &'p [Package], files: &[String]) -> BTreeSet<&'p str> {
    let folder = |package: &Package| {
        let folder = package.manifest_path.parent()?.as_std_path().strip_prefix(root).ok()?;
        folder.to_str().map(|folder| format!("{folder}/"))
    };
    let is_of = |package: &Package, file: &String| {
        SHARED_FILES.contains(&file.as_str())
            || folder(package).is_some_and(|folder| file.starts_with(&folder))
            || package.name == COMMAND_LINE
                && COMMAND_LINE_FOLDERS.iter().any(|folder| file.starts_with(folder))
    };
    let mut affected: BTreeSet<&str> = packages
        .iter()
        .filter(|package| files.iter().any(|file| is_of(package, file)))
        .map(|package| package.name.as_str())
        .collect();
    loop {
        let before = affected.len();
        for package in packages {
            if package
                .dependencies
                .iter()
                .any(|dependency| affected.contains(dependency.name.as_str()))
            {
                affected.insert(package.name.as_str());
            }
        }
        if affected.len() == before {
            return affected;
        }
    }
}

#[cfg(test)]
mod tests {
    use cargo_metadata::MetadataCommand;

    use super::affected;
    use crate::checkout;

    #[test]
    fn a_change_affects_its_package_and_all_importers() {
        let root = checkout::root().unwrap();
        let packages = MetadataCommand::new().current_dir(&root).no_deps().exec().unwrap().packages;
        let of = |file: &str| affected(&root, &packages, &[file.to_owned()]);
        let stats = of("crates/stats/src/lib.rs");
        for name in ["treering-stats", "treering-analysis", "treering-report", "treering"] {
            assert!(stats.contains(name), "{name} in {stats:?}");
        }
        assert!(!stats.contains("treering-script") && !stats.contains("xtask"), "{stats:?}");
        assert_eq!(of("docs/plan.md").len(), 1);
        assert!(of("README.md").is_empty());
        assert_eq!(of("Cargo.lock").len(), packages.len());
    }
}
