//! Kernels that were built from source, kept by commit, configuration and build command.
//!
//! An entry is made beside its place and renamed into it, so that one that is found is whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use treering_guest::copy_kernel;
use treering_model::Fingerprint;

use super::repository::Commit;
use crate::failure::Failure;

/// First words of every key; must change with the meaning of the others.
const VERSION: &[u8] = b"treering kernel 1";
/// Largest number of unfinished entries of one process number.
const NEW_FOLDERS_MOST: u32 = 1_000;
/// File in an entry with its origin.
const RECORD: &str = "treering-kernel.json";

/// Identity of a build.
#[derive(Clone, Debug)]
pub(super) struct BuildKey {
    pub(super) commit: Commit,
    /// Text of `.config`; empty for none.
    pub(super) configuration: Vec<u8>,
    /// Command for `sh -c`.
    pub(super) command: String,
    /// Changes since the commit, as a patch; empty for the commit itself.
    pub(super) changes: Vec<u8>,
}

/// Origin of a kernel in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BuildRecord {
    /// Whole hash of the commit.
    commit: String,
    /// True if uncommitted changes were built with it.
    has_changes: bool,
    /// Command that built it.
    command: String,
}

/// Directory of kernels that were built.
#[derive(Clone, Debug)]
pub(super) struct KernelCache {
    pub(super) directory: PathBuf,
}

impl BuildKey {
    /// Name of the entry. Comments of the configuration do not count: they name the version.
    fn name(&self) -> String {
        let mut print = Fingerprint::new();
        let mut add = |bytes: &[u8]| {
            print.add(&(bytes.len() as u64).to_le_bytes());
            print.add(bytes);
        };
        add(VERSION);
        add(self.command.as_bytes());
        add(&self.changes);
        self.configuration
            .split(|&byte| byte == b'\n')
            .filter(|line| is_option(line))
            .for_each(add);
        format!("{}-{}", self.commit.hash, print.text())
    }
}

/// Reports whether a line of a configuration says something about an option.
fn is_option(line: &[u8]) -> bool {
    line.starts_with(b"CONFIG_") || line.starts_with(b"# CONFIG_")
}

impl KernelCache {
    /// Kernel that was built like this; `None` if it was not built yet.
    pub(super) fn find(&self, key: &BuildKey) -> Option<PathBuf> {
        let entries = fs::read_dir(self.directory.join(key.name())).ok()?;
        let mut paths = entries.flatten().filter(|entry| entry.file_name() != RECORD);
        paths.next().map(|entry| entry.path())
    }

    /// Makes a folder for a new entry; one that was left by a kill is passed over.
    fn new_folder(&self) -> io::Result<PathBuf> {
        let process = std::process::id();
        for number in 0..NEW_FOLDERS_MOST {
            let new = self.directory.join(format!("new-{process}-{number}"));
            match fs::create_dir(&new) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| new),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Keeps a copy of a kernel; returns the copy.
    ///
    /// # Errors
    /// If the kernel cannot be read, or its copy cannot be written.
    pub(super) fn keep(&self, key: &BuildKey, kernel: &Path) -> Result<PathBuf, Failure> {
        let place = self.directory.join(key.name());
        let failed = |path: &Path, error: &io::Error| {
            Failure::of_path(path, error).context("the kernel that was built cannot be kept")
        };
        fs::create_dir_all(&self.directory).map_err(|error| failed(&self.directory, &error))?;
        let new = self.new_folder().map_err(|error| failed(&self.directory, &error))?;
        let record = BuildRecord {
            commit: key.commit.hash.clone(),
            has_changes: !key.changes.is_empty(),
            command: key.command.clone(),
        };
        let made = copy_kernel(kernel, &new, key.commit.short()).map_err(Failure::from).and_then(
            |_copy| {
                let text = serde_json::to_vec_pretty(&record).unwrap_or_default();
                let file = new.join(RECORD);
                fs::write(&file, text).map_err(|error| failed(&file, &error))?;
                fs::rename(&new, &place).map_err(|error| failed(&place, &error))
            },
        );
        // Another process may have made the same entry in the meantime.
        match (made, self.find(key)) {
            (made, Some(kept)) => {
                made.is_err().then(|| fs::remove_dir_all(&new));
                Ok(kept)
            }
            (made, None) => {
                let _stays_at_worst = fs::remove_dir_all(&new);
                made.and(Err(Failure::environment("the kernel that was built is gone")))
            }
        }
    }
}

/// Commit from which a kernel in a cache was built, with a `+` if there were changes; `None` for
/// any other kernel.
pub(crate) fn commit_of(kernel: &Path) -> Option<String> {
    let text = fs::read(kernel.parent()?.join(RECORD)).ok()?;
    let record: BuildRecord = serde_json::from_slice(&text).ok()?;
    Some(record.commit + if record.has_changes { "+" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::{BuildKey, KernelCache, commit_of};
    use crate::kernels::repository::Commit;

    fn key(configuration: &str, command: &str) -> BuildKey {
        BuildKey {
            commit: Commit { hash: "ab".repeat(20), name: "v1".to_owned() },
            configuration: configuration.as_bytes().to_vec(),
            command: command.to_owned(),
            changes: Vec::new(),
        }
    }

    #[test]
    fn a_key_is_of_commit_options_and_command() {
        let base = key("# Linux 6.1\nCONFIG_A=y\n# CONFIG_B is not set\n", "make").name();
        assert_eq!(key("# Linux 6.2\n\nCONFIG_A=y\n# CONFIG_B is not set\n", "make").name(), base);
        assert_ne!(key("CONFIG_A=m\n# CONFIG_B is not set\n", "make").name(), base);
        assert_ne!(key("CONFIG_A=y\n# CONFIG_B is not set\n", "make -j8").name(), base);
        let changed = BuildKey { changes: b"-a\n+b\n".to_vec(), ..key("CONFIG_A=y\n", "make") };
        assert_ne!(changed.name(), key("CONFIG_A=y\n", "make").name());
    }

    #[test]
    fn a_kept_kernel_is_found_with_its_commit() {
        let place = tempfile::tempdir().unwrap();
        let package = place.path().join("linux-image-6.1_1_amd64.deb");
        std::fs::write(&package, "!<arch>\n").unwrap();
        let cache = KernelCache { directory: place.path().join("kernels") };
        let key = key("CONFIG_A=y\n", "make");
        assert_eq!(cache.find(&key), None);
        let kept = cache.keep(&key, &package).unwrap();
        assert_eq!(cache.keep(&key, &package).unwrap(), kept);
        assert_eq!(cache.find(&key), Some(kept.clone()));
        assert_eq!(std::fs::read(&kept).unwrap(), b"!<arch>\n");
        assert_eq!(commit_of(&kept), Some("ab".repeat(20)));
        assert_eq!(commit_of(&package), None);
        let entries = std::fs::read_dir(&cache.directory).unwrap().count();
        assert_eq!(entries, 1);
    }
}
