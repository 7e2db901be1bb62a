//! Paths of the user's files: the data directory, the store, the user's own data sets.

use std::ffi::OsString;
use std::path::PathBuf;

use treering_script::MachineFacts;
use treering_sys::{is_root, user_id};

use crate::failure::Failure;

/// Directory for a user's data: `$TREERING_DATA`, else `$XDG_DATA_HOME/treering`, else
/// `~/.local/share/treering`.
pub(crate) fn data_dir() -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let below = |root: OsString, rest: &str| PathBuf::from(root).join(rest);
    set("TREERING_DATA")
        .map(PathBuf::from)
        .or_else(|| set("XDG_DATA_HOME").map(|root| below(root, "treering")))
        .or_else(|| set("HOME").map(|root| below(root, ".local/share/treering")))
        .ok_or_else(|| {
            Failure::environment("no place for results: neither HOME nor XDG_DATA_HOME is set")
                .hint("set TREERING_DATA to a directory, or name a file with --store FILE")
        })
}

/// Path of the store that is used if none is named.
pub(crate) fn default_store() -> Result<PathBuf, Failure> {
    Ok(data_dir()?.join("results.treering"))
}

/// Directory of saved images, beside the default store.
pub(crate) fn images_dir() -> Result<PathBuf, Failure> {
    Ok(data_dir()?.join("images"))
}

/// Directory of the kernels that were built from source.
pub(crate) fn kernels_dir() -> Result<PathBuf, Failure> {
    Ok(data_dir()?.join("kernels"))
}

/// Directories of the user's own data sets; empty if the data directory is unknown.
pub(crate) fn dataset_dirs() -> Vec<PathBuf> {
    data_dir().map(|dir| vec![dir.join("datasets")]).unwrap_or_default()
}

/// Environment variables whose names and values are UTF-8, for substitution in job files.
pub(crate) fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Candidate directories for the records of the lab, best first: only `$TREERING_LAB` if that is
/// set; for root `/run/treering`; then a directory for this user in the directory for temporary
/// files (`$TMPDIR`), which outlives a login; and, in case another user has taken that name,
/// directories that only this user can write to.
pub(crate) fn lab_dirs() -> Vec<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(named) = set("TREERING_LAB") {
        return vec![absolute(PathBuf::from(named))];
    }
    let name = format!("treering-lab-{}", user_id());
    let mut dirs = Vec::new();
    if is_root() {
        dirs.push(PathBuf::from("/run/treering"));
    }
    dirs.push(absolute(std::env::temp_dir()).join(name));
    dirs.extend(set("XDG_RUNTIME_DIR").map(|dir| absolute(dir.into()).join("treering-lab")));
    dirs.extend(data_dir().ok().map(|dir| absolute(dir).join("lab")));
    dirs
}

/// Further directories that may hold records of this user: those of another `$TMPDIR`, and those of
/// earlier versions. Directories of other users are not opened.
pub(crate) fn older_lab_dirs() -> Vec<PathBuf> {
    if std::env::var_os("TREERING_LAB").is_some_and(|value| !value.is_empty()) {
        return Vec::new();
    }
    let own = format!("/tmp/treering-lab-{}", user_id());
    vec![PathBuf::from(own), PathBuf::from("/tmp/treering-lab")]
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// Memory filesystems in which results can wait while their store is on the filesystem under test.
pub(crate) fn staging_dirs() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.into_iter().chain([PathBuf::from("/dev/shm")]).filter(|dir| dir.is_dir()).collect()
}

/// Facts about the machine that classic tools read before they start.
pub(crate) fn machine() -> MachineFacts {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let kib =
        memory.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split(' ').rev().nth(1));
    MachineFacts {
        name: read("/proc/sys/kernel/hostname").trim().to_owned(),
        memory_bytes: kib.and_then(|kib| kib.parse().ok()).map_or(0, |kib: u64| kib << 10),
        is_root: is_root(),
        process: std::process::id(),
        nodes: Vec::new(),
    }
}
