//! The checkout: its root directory, and the files that belong to it. File contents are read in
//! `tidy`.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that the directory walk omits, for a checkout without git.
const SKIPPED_FOLDERS: &[&str] =
    &["target", "fuzz/target", "fuzz/corpus", "fuzz/artifacts", ".git"];

/// Root folder of the workspace: the parent of this package, found at run time so that a checkout
/// may move between builds.
pub(crate) fn root() -> Result<PathBuf, Box<dyn Error>> {
    if let Some(package) = env::var_os("CARGO_MANIFEST_DIR")
        && let Some(parent) = Path::new(&package).parent()
    {
        return Ok(parent.to_path_buf());
    }
    let here = env::current_dir()?;
    here.ancestors()
        .find(|folder| folder.join("xtask/Cargo.toml").is_file())
        .map(Path::to_path_buf)
        .ok_or_else(|| "not inside a checkout: no folder above holds xtask/Cargo.toml".into())
}

/// Build directory of cargo.
pub(crate) fn target_dir(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}

/// The cargo that runs this program, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Every file that is tracked, or new and not ignored, relative to the root and sorted.
pub(crate) fn files(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut paths = match git_files(root) {
        Some(paths) => paths,
        None => walk(root)?,
    };
    paths.retain(|path| root.join(path).is_file());
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// True if the file name has this extension, case-sensitively.
pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|actual| actual == extension)
}

/// Files listed by git; `None` without git or a repository, as in an unpacked archive.
fn git_files(root: &Path) -> Option<Vec<String>> {
    // git refuses a checkout of another user unless told that it is safe.
    let out = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    let names = String::from_utf8(out.stdout).ok()?;
    let tracked: Vec<String> =
        names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    (out.status.success() && !tracked.is_empty()).then_some(tracked)
}

fn walk(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut paths = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) else {
                continue;
            };
            if SKIPPED_FOLDERS.contains(&name) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                paths.push(name.to_owned());
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::{files, root, walk};

    #[test]
    fn the_checkout_contains_its_own_source() {
        let root = root().unwrap();
        assert!(files(&root).unwrap().contains(&"xtask/src/checkout.rs".to_owned()));
    }

    #[test]
    fn the_directory_walk_excludes_build_output() {
        let paths = walk(&root().unwrap()).unwrap();
        assert!(paths.contains(&"xtask/src/checkout.rs".to_owned()));
        assert!(!paths.iter().any(|path| path.starts_with("target/")));
    }
}
