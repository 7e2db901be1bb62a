//! Where a user's things are: the data directory, the store, data sets of their own.

use std::ffi::OsString;
use std::path::PathBuf;

use treering_script::Machine;

use crate::failure::{Failure, Kind};

/// The directory for a user's data: `$TREERING_DATA`, else `$XDG_DATA_HOME/treering`, else
/// `~/.local/share/treering`.
pub(crate) fn data_dir() -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let below = |root: OsString, rest: &str| PathBuf::from(root).join(rest);
    set("TREERING_DATA")
        .map(PathBuf::from)
        .or_else(|| set("XDG_DATA_HOME").map(|root| below(root, "treering")))
        .or_else(|| set("HOME").map(|root| below(root, ".local/share/treering")))
        .ok_or_else(|| {
            Failure::new(
                Kind::Environment,
                "no place for results: neither HOME nor XDG_DATA_HOME is set",
            )
            .hint("set TREERING_DATA to a directory, or name a file with --store FILE")
        })
}

/// The store used when none is named.
pub(crate) fn default_store() -> Result<PathBuf, Failure> {
    Ok(data_dir()?.join("results.treering"))
}

/// Where saved images are: beside the default store.
pub(crate) fn images_dir() -> Result<PathBuf, Failure> {
    Ok(data_dir()?.join("images"))
}

/// Where the user's own data sets are.
pub(crate) fn dataset_dirs() -> Vec<PathBuf> {
    data_dir().map(|dir| vec![dir.join("datasets")]).unwrap_or_default()
}

/// Variables of the environment that are text: what job files may put in.
pub(crate) fn environment() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// The memory filesystems in which results can wait while their place is under test.
pub(crate) fn staging_dirs() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.into_iter().chain([PathBuf::from("/dev/shm")]).filter(|dir| dir.is_dir()).collect()
}

/// What classic tools ask of the machine before they begin.
pub(crate) fn machine() -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let kib =
        memory.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split(' ').rev().nth(1));
    Machine {
        name: read("/proc/sys/kernel/hostname").trim().to_owned(),
        memory_bytes: kib.and_then(|kib| kib.parse().ok()).map_or(0, |kib: u64| kib << 10),
        is_root: treering_sys::is_root(),
        process: std::process::id(),
        nodes: Vec::new(),
    }
}
